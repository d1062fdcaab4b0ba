//! CPU time of the default fit by its stages, on made data: `cargo run --release -p properloss --example
//! default_time [dense|sparse] ROWS COLUMNS [TIMES]`.
//!
//! Dense columns are normal, sparse rows are 60 words by Zipf's law and of unit length: the shapes of
//! bench/quality/timing.py. `RAYON_NUM_THREADS=1` for one thread. On Linux the time is that of the
//! processor, elsewhere that of the clock.

#[path = "../tests/congruence/mod.rs"]
mod congruence;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use congruence::Congruence as Random;
use properloss::proper::ProperLoss;
use properloss::rows::Local;
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};
use properloss::train::{Iteration, Observer, Stage, run};

/// Seconds of all threads of this process.
fn cpu_seconds(since: Instant) -> f64 {
    let of_task = |path: std::path::PathBuf| -> Option<f64> {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
    };
    match std::fs::read_dir("/proc/self/task") {
        Ok(tasks) => tasks.filter_map(|task| of_task(task.ok()?.path())).sum(),
        Err(_) => since.elapsed().as_secs_f64(),
    }
}

/// Adds up the time between the beginnings of stages.
struct Clock {
    since: Instant,
    last: f64,
    name: String,
    times: BTreeMap<String, (f64, usize)>,
    each: bool,
}

impl Clock {
    fn turn(&mut self, name: &str) {
        let now = cpu_seconds(self.since);
        let spent = self.times.entry(self.name.clone()).or_default();
        spent.0 += now - self.last;
        spent.1 += 1;
        if self.each {
            println!("    {:8.2} ms {}", 1e3 * (now - self.last), self.name);
        }
        (self.last, self.name) = (now, name.to_owned());
    }
}

impl Observer for Clock {
    fn observe(&mut self, _: &Iteration) -> ControlFlow<()> {
        self.turn("observed");
        ControlFlow::Continue(())
    }

    fn begin(&mut self, stage: &Stage) {
        let words = stage.name.split(" (").next().unwrap_or_default().to_owned();
        self.turn(&words);
    }
}

fn main() -> properloss::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let number = |k: usize, default| numbers.get(k).copied().unwrap_or(default);
    let (rows, columns, times) = (number(0, 2_000), number(1, 20), number(2, 3));
    let mut random = Random(1);
    if words.iter().any(|word| word == "sparse") {
        let scale: Vec<f64> = (0..columns).map(|_| 6.0 * random.normal()).collect();
        let (mut offsets, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        let mut y = Vec::new();
        for _ in 0..rows {
            let mut row = BTreeMap::<usize, f64>::new();
            for _ in 0..60 {
                let word = (random.uniform() * (columns as f64).ln()).exp() as usize;
                let value = 0.1 - random.uniform().max(1e-12).ln();
                *row.entry(word.clamp(1, columns) - 1).or_default() += value;
            }
            let norm = row.values().map(|v| v * v).sum::<f64>().sqrt();
            let z: f64 = row.iter().map(|(&j, v)| scale[j] * v / norm).sum();
            y.push(u8::from(random.uniform() < 1.0 / (1.0 + (-z).exp())));
            for (j, v) in row {
                indices.push(j as i32);
                values.push(v / norm);
            }
            offsets.push(indices.len() as i64);
        }
        let (offsets, indices) = (Offsets::I64(&offsets), Indices::I32(&indices));
        let matrix = Matrix::csr(offsets, indices, Values::F64(&values), columns)?;
        return measure(matrix, &y, times, &words);
    }
    let w: Vec<f64> =
        (0..columns).map(|_| 2.0 * random.normal() / (columns as f64).sqrt()).collect();
    let (mut x, mut y) = (Vec::with_capacity(rows * columns), Vec::with_capacity(rows));
    for _ in 0..rows {
        let row: Vec<f64> = (0..columns).map(|_| random.normal()).collect();
        let z: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum();
        y.push(u8::from(random.uniform() < 1.0 / (1.0 + (-z).exp())));
        x.extend(row);
    }
    measure(Matrix::dense_f64(&x, rows, columns)?, &y, times, &words)
}

fn measure(matrix: Matrix<'_>, y: &[u8], times: usize, words: &[String]) -> properloss::Result<()> {
    let sample = Sample::new(matrix, y, None)?;
    for number in 0..times {
        let since = Instant::now();
        let each = number + 1 == times && words.iter().any(|word| word == "each");
        let mut clock = Clock {
            since,
            last: cpu_seconds(since),
            name: "start".to_owned(),
            times: BTreeMap::new(),
            each,
        };
        let begin = clock.last;
        let fit = run(&ProperLoss::default(), &mut Local::new(&sample), None, &mut clock)?;
        clock.turn("end");
        let Some(proper) = fit.proper else { continue };
        println!(
            "{:.2} ms: {} passes, {} points, held-out {:.6?}, scalings {:.3?}, tau {:.2}, refit {:.2}",
            1e3 * (clock.last - begin),
            proper.passes,
            proper.path.len(),
            proper.held_out_log_loss,
            proper.scaling_weights,
            proper.slope_ratio,
            proper.refit_share,
        );
        if number + 1 == times {
            for (name, (seconds, turns)) in &clock.times {
                println!("{:10.2} ms {turns:4} {name}", 1e3 * seconds);
            }
            if each {
                for point in &proper.path {
                    println!(
                        "a {:.1} C {:9.3e} S {:10.3} weight {:.3}",
                        point.scaling, point.c, point.score, point.weight
                    );
                }
            }
        }
    }
    Ok(())
}
