//! What a certificate costs: an iteration of certified mode against one of plain BregmanTron with the
//! same data, scaling and candidate (`labels`).
//!
//! The two runs take turns, one iteration each, so that whatever else the machine does slows both.
//! Starting up (reading, the curvature of the data) is not counted. For each iteration the least time
//! of some rounds is taken; printed are the least and the median ratio over the iterations and the
//! ratio of their sums.
//!
//! `cargo run --release -p properloss-data --example certified_cost`

#[path = "../tests/image_sets/mod.rs"]
mod image_sets;

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use properloss::design::Scaling;
use properloss::sample::Sample;
use properloss::train::{BregmanTron, Certified, Iteration, Observer, Target};
use properloss_data::synthetic::{Means, gaussians};
use properloss_data::{Classes, Dataset, ReadOptions, Result, read};

use image_sets::find_image_set;

const ITERATIONS: usize = 60;
const ROUNDS: usize = 7;

fn main() -> Result<()> {
    let mut sets = vec![("synth", gaussians(20_000, Means::Stated, 1)?.dataset)];
    let digits = Classes::new(vec!["0".into()], vec!["8".into()])?;
    for (name, classes) in [("mnist 0 v 8", digits), ("fashion-mnist", Classes::odd_v_even())] {
        let Ok(path) = find_image_set(name.split(' ').next().unwrap_or(name), "train") else {
            continue;
        };
        let options =
            ReadOptions::default().with_negative(classes.negative).with_positive(classes.positive);
        let data = read(&path.as_path().into(), &options)?;
        sets.push((name, data.select(&(0..data.rows().min(12_000)).collect::<Vec<_>>())));
    }
    for (name, data) in &sets {
        report(name, data)?;
    }
    Ok(())
}

/// Runs both in turns and prints the ratios.
fn report(name: &str, data: &Dataset) -> Result<()> {
    let sample = data.sample()?;
    let (mut plain, mut certified) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (a, b) = in_turns(&sample)?;
        keep_least(&mut plain, a);
        keep_least(&mut certified, b);
    }
    // A closed gap ends the certified run early: only what both did is compared.
    let both = plain.len().min(certified.len());
    plain.truncate(both);
    certified.truncate(both);
    let each = plain.iter().zip(&certified);
    let mut ratios: Vec<f64> = each.map(|(plain, certified)| certified / plain).collect();
    ratios.sort_by(f64::total_cmp);
    let mean = |seconds: &[f64]| seconds.iter().sum::<f64>() / seconds.len() as f64;
    println!(
        "{name:14} m {:6} d {:4}: plain {:7.1} us, certified {:7.1} us an iteration; \
         ratio least {:.2}, median {:.2}, of the sums {:.2}",
        data.rows(),
        data.columns(),
        1e6 * mean(&plain),
        1e6 * mean(&certified),
        ratios[0],
        ratios[ratios.len() / 2],
        mean(&certified) / mean(&plain),
    );
    Ok(())
}

fn keep_least(least: &mut Vec<f64>, seconds: Vec<f64>) {
    if least.is_empty() {
        *least = seconds;
    } else {
        for (least, seconds) in least.iter_mut().zip(seconds) {
            *least = least.min(seconds);
        }
    }
}

/// Seconds of every iteration but the first, whose start is not seen, of both runs.
fn in_turns(sample: &Sample<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let plain = BregmanTron::new(Target::Labels)
        .with_max_iter(ITERATIONS)
        .with_tol(0.0)
        .with_scaling(Scaling::UnitRows);
    let certified = Certified::default().with_max_iter(ITERATIONS).with_scaling(Scaling::UnitRows);
    let (to_plain, from_certified) = channel();
    let (to_certified, from_plain) = channel();
    let mut plain_turn = Turn::new(from_certified, to_certified, true);
    let mut certified_turn = Turn::new(from_plain, to_plain, false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let fit = certified.fit(sample, &mut certified_turn);
            certified_turn.leave();
            fit
        });
        let fit = plain.fit(sample, &mut plain_turn);
        plain_turn.leave();
        let _ = other.join().expect("no panic")?;
        fit
    })?;
    Ok((plain_turn.seconds, certified_turn.seconds))
}

/// Times its own iterations and hands the turn to the other run after each.
struct Turn {
    mine: Receiver<()>,
    other: Sender<()>,
    /// Hands over the first turn, when its own first iteration is done.
    opens: bool,
    start: Option<Instant>,
    seconds: Vec<f64>,
}

impl Turn {
    fn new(mine: Receiver<()>, other: Sender<()>, opens: bool) -> Self {
        Self { mine, other, opens, start: None, seconds: Vec::new() }
    }

    /// The run is over: the other needs to wait no longer.
    fn leave(&self) {
        for _ in 0..=ITERATIONS {
            let _ = self.other.send(());
        }
    }
}

impl Observer for Turn {
    fn observe(&mut self, _: &Iteration) -> ControlFlow<()> {
        if let Some(start) = self.start {
            self.seconds.push(start.elapsed().as_secs_f64());
        }
        if self.opens || self.start.is_some() {
            let _ = self.other.send(());
        }
        let _ = self.mine.recv();
        self.start = Some(Instant::now());
        ControlFlow::Continue(())
    }
}
