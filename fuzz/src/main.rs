//! `fuzz-inputs [--minutes M] [--executions N] [--seed S] [--out DIR] [--loud] [TARGET...]`
//!
//! Runs the targets one after the other, over and over, until the time or the executions are used
//! up; each has its turn of as many executions or of as much time as the others, whichever ends later. A panic, or an execution of more than five seconds, is written to the folder of findings
//! and ends the run with status 1; `--loud` shows where it panicked. The peak of the resident memory
//! is said at the end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fuzz_inputs::{Target, corpus, input, targets};

/// More seconds of the processor than this are a hang. (A clock on the wall also counts what other
/// programs take.)
const HANG: f64 = 5.0;

/// The least time of a turn.
const TURN: Duration = Duration::from_millis(20);

/// Where the last panic was.
static PLACE: Mutex<String> = Mutex::new(String::new());

struct Options {
    minutes: f64,
    executions: u64,
    seed: u64,
    out: PathBuf,
    loud: bool,
    chosen: Vec<String>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(1);
        }
    };
    let usual = std::panic::take_hook();
    let loud = options.loud;
    std::panic::set_hook(Box::new(move |info| {
        if loud {
            usual(info);
        }
        let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
        *PLACE.lock().unwrap() = place.unwrap_or_default();
    }));
    let chosen =
        |target: &Target| options.chosen.is_empty() || options.chosen.contains(&target.name.into());
    let mut runs: Vec<Run> = targets().into_iter().filter(chosen).map(Run::new).collect();
    let current = Arc::new(Mutex::new((0, String::new(), Vec::new())));
    watch(Arc::clone(&current), options.out.clone());
    let (start, mut seed, mut findings) = (Instant::now(), options.seed, 0);
    let limit = Duration::from_secs_f64(60.0 * options.minutes);
    let mut total = 0;
    'turns: loop {
        for run in &mut runs {
            // A target that takes long per execution would else hardly be tried.
            let (turn, mut made) = (Instant::now(), 0);
            while made < run.target.turn || turn.elapsed() < TURN {
                made += 1;
                if total >= options.executions || start.elapsed() >= limit {
                    break 'turns;
                }
                let bytes = input(&run.target, &run.corpus, seed);
                *current.lock().unwrap() = (total + 1, run.target.name.to_owned(), bytes.clone());
                match catch_unwind(AssertUnwindSafe(|| (run.target.run)(&bytes))) {
                    Ok(accepted) => run.accepted += u64::from(accepted),
                    Err(panic) => {
                        findings += 1;
                        let text = panic.downcast_ref::<String>().cloned();
                        let text =
                            text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).into()));
                        let text = text.unwrap_or_default();
                        let what = format!("{text} ({})", PLACE.lock().unwrap());
                        report(&options.out, run.target.name, seed, &bytes, &what);
                    }
                }
                run.executions += 1;
                total += 1;
                seed = seed.wrapping_add(1);
            }
        }
    }
    println!("{:<10} {:>12} {:>12}", "target", "executions", "accepted");
    for run in &runs {
        println!("{:<10} {:>12} {:>12}", run.target.name, run.executions, run.accepted);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{total} executions in {seconds:.0} s, {findings} findings, peak {}", peak());
    ExitCode::from(u8::from(findings > 0))
}

struct Run {
    target: Target,
    corpus: Vec<(PathBuf, Vec<u8>)>,
    executions: u64,
    accepted: u64,
}

impl Run {
    fn new(target: Target) -> Self {
        Self { corpus: corpus(target.name), target, executions: 0, accepted: 0 }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        minutes: 1.0,
        executions: u64::MAX,
        seed: 0,
        out: "target/fuzz-findings".into(),
        loud: false,
        chosen: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let bad = |_| format!("{word}: not a number");
        match word.as_str() {
            "--minutes" => options.minutes = value()?.parse().map_err(|_| bad(()))?,
            "--executions" => options.executions = value()?.parse().map_err(|_| bad(()))?,
            "--seed" => options.seed = value()?.parse().map_err(|_| bad(()))?,
            "--loud" => options.loud = true,
            "--out" => options.out = value()?.into(),
            name if targets().iter().any(|target| target.name == name) => {
                options.chosen.push(name.into());
            }
            other => return Err(format!("{other:?} is neither an option nor a target")),
        }
    }
    Ok(options)
}

/// Writes the input of a finding, to become a file of the corpus.
fn report(out: &std::path::Path, target: &str, seed: u64, bytes: &[u8], what: &str) {
    let path = out.join(format!("{target}-{seed}"));
    let _ = std::fs::create_dir_all(out).and_then(|()| std::fs::write(&path, bytes));
    eprintln!("finding: {target}, seed {seed}, {}: {what}", path.display());
}

/// A thread that ends the program when an execution takes too long.
fn watch(current: Arc<Mutex<(u64, String, Vec<u8>)>>, out: PathBuf) {
    std::thread::spawn(move || {
        let (mut number, mut start) = (0, processor_seconds());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let current = current.lock().unwrap();
            if current.0 != number {
                (number, start) = (current.0, processor_seconds());
            } else if number > 0 && processor_seconds() - start > HANG {
                report(&out, &current.1, number, &current.2, "takes more than 5 seconds");
                std::process::exit(1);
            }
        }
    });
}

/// What this process has used of the processors: fields 14 and 15 of its `stat`, in hundredths; on
/// other systems the time since the first call.
fn processor_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    if ticks.len() == 2 { (ticks[0] + ticks[1]) / 100.0 } else { start.elapsed().as_secs_f64() }
}

/// The peak of the resident memory, where the system says it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".into(), |line| line.trim().to_owned())
}
