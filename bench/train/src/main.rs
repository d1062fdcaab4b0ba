//! The worker of the training benchmark: holds one data set, runs passes over it on request.
//!
//! `bench.py` starts one worker per number of threads and asks it and numpy in turn, so both see
//! the same machine at the same time. One request per line on stdin, one answer per line on stdout:
//!
//! ```text
//! dense f32|f64 FILE ROWS COLUMNS       load raw values of this machine, row after row
//! csr f32|f64 OFFSETS INDICES VALUES ROWS COLUMNS   int32 offsets and indices
//! synthetic ROWS COLUMNS                f32 values and labels of a noisy linear rule
//! labels FILE                           one byte a row
//! passes none|unit-rows|max-norm|standardise        seconds of scores and of adjoint
//! iterations previous|approx|labels|refit paper|auto COUNT
//!                                       BregmanTron on unit rows: least and median seconds of an
//!                                       iteration, loss
//! minimise SCALING L2 auto|dense|cg     logistic loss: seconds, iterations, passes, gradient norm
//! check                                 seconds of the checks of a sample
//! memory                                peak and current resident kilobytes
//! ```

use std::io::{BufRead, Read, Write};
use std::marker::PhantomData;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::LazyLock;
use std::time::Instant;

use bytemuck::{AnyBitPattern, NoUninit};
use memmap2::MmapMut;
use properloss::design::{Design, Intercept, Scaling};
use properloss::link::Sigmoid;
use properloss::loss::LossKind;
use properloss::optimize::{Options, Problem, Solver, minimise};
use properloss::rows::{Local, Rows};
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};
use properloss::train::{BregmanTron, Iteration, Step, Target};

/// The data a request loaded.
#[derive(Default)]
struct Data {
    f32s: Numbers<f32>,
    f64s: Numbers<f64>,
    offsets: Vec<i32>,
    indices: Vec<i32>,
    labels: Vec<u8>,
    rows: usize,
    columns: usize,
}

/// Seconds by the wall clock; with `BENCH_CLOCK=cpu` those the processor has given to this process,
/// which is what a busy machine can be compared by (one thread only).
fn now() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    static CPU: LazyLock<bool> =
        LazyLock::new(|| std::env::var("BENCH_CLOCK").is_ok_and(|clock| clock == "cpu"));
    if !*CPU {
        return START.elapsed().as_secs_f64();
    }
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds: f64 = tasks
        .filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        })
        .sum();
    1e-9 * nanoseconds
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut data = Data::default();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["dense", kind, file, rows, columns] => {
                data = Data::default();
                data.load_values(kind, file)?;
                data.shape(rows, columns)?
            }
            ["csr", kind, offsets, indices, values, rows, columns] => {
                data = Data::default();
                data.load_values(kind, values)?;
                data.offsets = read(offsets, i32::from_le_bytes)?;
                data.indices = read(indices, i32::from_le_bytes)?;
                data.shape(rows, columns)?
            }
            ["synthetic", rows, columns] => {
                data = Data::default();
                let answer = data.shape(rows, columns)?;
                data.synthesise()?;
                answer
            }
            ["labels", file] => {
                data.labels = std::fs::read(file)?;
                "ok".to_owned()
            }
            ["passes", scaling] => data.passes(scaling)?,
            ["iterations", target, step, count] => data.iterations(target, step, count.parse()?)?,
            ["minimise", scaling, l2, solver] => data.minimise(scaling, l2.parse()?, solver)?,
            ["check"] => {
                let start = now();
                data.sample()?;
                (now() - start).to_string()
            }
            ["memory"] => memory()?,
            _ => return Err(format!("unknown request: {line}").into()),
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Numbers on large pages where the system offers them on request, as numpy's arrays are: a pass
/// over the same data on small pages takes up to a third longer.
struct Numbers<T> {
    bytes: Option<MmapMut>,
    kind: PhantomData<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { bytes: None, kind: PhantomData }
    }
}

impl<T: AnyBitPattern + NoUninit> Numbers<T> {
    /// Zeros.
    fn new(count: usize) -> Outcome<Self> {
        let bytes = MmapMut::map_anon(count * size_of::<T>())?;
        // A system without large pages refuses, which is no error.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        Ok(Self { bytes: Some(bytes), kind: PhantomData })
    }

    fn read(file: &str) -> Outcome<Self> {
        let length = std::fs::metadata(file)?.len() as usize;
        let mut numbers = Self::new(length / size_of::<T>())?;
        if let Some(bytes) = &mut numbers.bytes {
            std::fs::File::open(file)?.read_exact(bytes)?;
        }
        Ok(numbers)
    }
}

impl<T: AnyBitPattern + NoUninit> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.bytes.as_deref().map_or(&[], bytemuck::cast_slice)
    }
}

impl<T: AnyBitPattern + NoUninit> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.bytes.as_deref_mut().map_or(&mut [], bytemuck::cast_slice_mut)
    }
}

/// Reads numbers of `N` bytes.
fn read<T, const N: usize>(file: &str, convert: fn([u8; N]) -> T) -> Outcome<Vec<T>> {
    // In pieces, so that the peak of memory is that of the data.
    let mut reader = std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(file)?);
    let length = std::fs::metadata(file)?.len() as usize / N;
    let mut numbers = Vec::with_capacity(length);
    let mut bytes = [0; N];
    for _ in 0..length {
        reader.read_exact(&mut bytes)?;
        numbers.push(convert(bytes));
    }
    Ok(numbers)
}

impl Data {
    fn load_values(&mut self, kind: &str, file: &str) -> Outcome<()> {
        match kind {
            "f32" => self.f32s = Numbers::read(file)?,
            "f64" => self.f64s = Numbers::read(file)?,
            _ => return Err(format!("unknown number type {kind}").into()),
        }
        Ok(())
    }

    fn shape(&mut self, rows: &str, columns: &str) -> Outcome<String> {
        (self.rows, self.columns) = (rows.parse()?, columns.parse()?);
        self.labels = (0..self.rows).map(|i| (i % 2) as u8).collect();
        Ok("ok".to_owned())
    }

    fn matrix(&self) -> properloss::Result<Matrix<'_>> {
        let single = self.f64s.is_empty();
        if !self.offsets.is_empty() {
            let values = if single { Values::F32(&self.f32s) } else { Values::F64(&self.f64s) };
            let offsets = Offsets::I32(&self.offsets);
            return Matrix::csr(offsets, Indices::I32(&self.indices), values, self.columns);
        }
        if single {
            Matrix::dense_f32(&self.f32s, self.rows, self.columns)
        } else {
            Matrix::dense_f64(&self.f64s, self.rows, self.columns)
        }
    }

    fn sample(&self) -> properloss::Result<Sample<'_>> {
        Sample::new(self.matrix()?, &self.labels, None)
    }

    /// Values in [-1, 1) from a fixed congruence; the label is the sign of a noisy linear score.
    fn synthesise(&mut self) -> Outcome<()> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 40) as f32 / (1u32 << 23) as f32 - 1.0
        };
        self.f32s = Numbers::new(self.rows * self.columns)?;
        self.f32s.iter_mut().for_each(|x| *x = next());
        let rows = self.f32s.chunks_exact(self.columns);
        let spread = (self.columns as f32).sqrt();
        self.labels = rows
            .map(|row| {
                let sum: f32 = row.iter().sum();
                u8::from(sum / spread + next() > 0.0)
            })
            .collect();
        Ok(())
    }

    fn iterations(&self, target: &str, step: &str, count: usize) -> Outcome<String> {
        let target = match target {
            "previous" => Target::Previous,
            "approx" => Target::Approx,
            "labels" => Target::Labels,
            "refit" => Target::PreviousLink,
            _ => return Err(format!("unknown target {target}").into()),
        };
        let step = match step {
            "paper" => Step::Paper,
            "auto" => Step::Auto,
            _ => return Err(format!("unknown step {step}").into()),
        };
        let (max_iter, tol, scaling) = (count, 0.0, Scaling::UnitRows);
        let trainer = BregmanTron::new(target)
            .with_max_iter(max_iter)
            .with_tol(tol)
            .with_step(step)
            .with_scaling(scaling);
        let sample = self.sample()?;
        let (mut ends, mut loss) = (Vec::with_capacity(count), f64::NAN);
        trainer.fit(&sample, &mut |iteration: &Iteration| {
            ends.push(now());
            loss = iteration.loss;
            ControlFlow::Continue(())
        })?;
        let mut seconds: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        seconds.sort_by(f64::total_cmp);
        Ok(format!("{} {} {loss}", seconds[0], seconds[seconds.len() / 2]))
    }

    fn minimise(&self, scaling: &str, l2: f64, solver: &str) -> Outcome<String> {
        let solver = match solver {
            "auto" => Solver::Auto,
            "dense" => Solver::Dense,
            "cg" => Solver::ConjugateGradient,
            _ => return Err(format!("unknown solver {solver}").into()),
        };
        let mut local = Local::new(&self.sample()?);
        let rows: &mut dyn Rows = &mut local;
        rows.scale(scaling_of(scaling)?, Intercept::Learned)?;
        let problem = Problem { link: &Sigmoid, kind: LossKind::Canonical, l2 };
        let options = Options::default().with_solver(solver);
        let start = now();
        let zeros = vec![0.0; rows.dimension()];
        let minimum =
            minimise(&problem, rows, &zeros, &options, &mut |_, _| ControlFlow::Continue(()))?;
        let (seconds, last) = (now() - start, minimum.last);
        let (iterations, passes) = (last.iteration, last.passes);
        Ok(format!("{seconds} {iterations} {passes} {:e} {:?}", last.gradient_norm, minimum.stop))
    }

    fn passes(&self, scaling: &str) -> Outcome<String> {
        let design = Design::new(&self.sample()?, scaling_of(scaling)?, Intercept::Zero);
        let w: Vec<f64> = (0..design.dimension()).map(|j| 1e-3 * (j % 7) as f64).collect();
        let mut z = vec![0.0; design.rows()];
        let mut g = vec![0.0; design.dimension()];
        // The best of five: the first pays for pages and threads.
        let mut best = [f64::INFINITY; 2];
        for _ in 0..5 {
            let start = now();
            design.scores(&w, &mut z);
            best[0] = best[0].min(now() - start);
            let start = now();
            design.adjoint(&z, &mut g);
            best[1] = best[1].min(now() - start);
        }
        Ok(format!("{} {} {:e}", best[0], best[1], g[0]))
    }
}

fn scaling_of(name: &str) -> Outcome<Scaling> {
    match name {
        "none" => Ok(Scaling::None),
        "unit-rows" => Ok(Scaling::UnitRows),
        "max-norm" => Ok(Scaling::MaxNorm),
        "standardise" => Ok(Scaling::Standardise),
        _ => Err(format!("unknown scaling {name}").into()),
    }
}

/// Peak and current resident memory in kilobytes, as Linux counts them.
fn memory() -> Outcome<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("0").to_owned()
    };
    Ok(format!("{} {}", field("VmHWM:"), field("VmRSS:")))
}
