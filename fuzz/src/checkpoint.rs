//! Checkpoints: a file of a real run, damaged. The checksum refuses nearly all damage, so the state is
//! also given to its trainer past the checksum, as someone who makes a file on purpose would.

#[path = "../../crates/properloss-data/tests/cut_off/mod.rs"]
mod cut_off;

use std::path::Path;

use properloss::rows::{Local, Rows};
use properloss::sample::{Matrix, Sample};
use properloss::train::registry::method;
use properloss::train::{Observer, Settings, Silent, Value};
use properloss_data::checkpoint::{Run, parse, to_bytes};
use properloss_data::model_file::plain_options;
use properloss_data::random::Random;

use cut_off::CutOff;

const METHODS: [&str; 8] =
    ["labels", "refit", "bregmantron", "approx", "certified", "slisotron", "glmtron", "logistic"];
const X: [f64; 16] =
    [0.1, -1.0, 0.7, 0.2, -0.3, 0.9, 1.2, -0.4, 0.5, 0.5, -1.1, 0.3, 0.8, -0.6, -0.2, 0.4];
const Y: [u8; 8] = [0, 1, 0, 1, 1, 0, 1, 0];
const ITERATIONS: u64 = 6;

/// Runs a method of the small sample; `None` if it refuses.
fn fit(name: &str, resume: Option<&[u8]>, observer: &mut dyn Observer) -> Option<Run> {
    let matrix = Matrix::dense_f64(&X, Y.len(), 2).expect("a matrix");
    let sample = Sample::new(matrix, &Y, None).expect("a sample");
    let mut settings = Settings::new();
    settings.insert("max_iter".into(), Value::Count(ITERATIONS as _));
    let mut rows = Local::new(&sample);
    let (estimator, options) =
        method(name).expect("a method").build(&settings, &rows.shape()).expect("its options");
    let run = Run::new(name, plain_options(&options));
    match estimator.run(&mut rows, resume, observer) {
        Ok(fit) => {
            assert!(fit.model.coefficients().iter().all(|w| w.is_finite()), "weights");
            Some(run)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// A file of a run that was cut off.
pub fn make(random: &mut Random) -> Vec<u8> {
    let name = METHODS[random.below(METHODS.len())];
    let after = 1 + random.below(ITERATIONS as usize - 2);
    let mut keeper = CutOff::after(after);
    let mut run = fit(name, None, &mut keeper).expect("an undisturbed run");
    if keeper.state.is_empty() {
        // It had converged before.
        keeper = CutOff::after(1);
        run = fit(name, None, &mut keeper).expect("an undisturbed run");
    }
    to_bytes(Path::new("in.state"), &run, &keeper.state).expect("a file")
}

/// Reads it as the method that it names, and goes on from it.
pub fn run(bytes: &[u8]) -> bool {
    let line = |bytes: &[u8]| bytes.iter().position(|&byte| byte == b'\n').map(|end| end + 1);
    let Some(first) = line(bytes) else { return false };
    let Some(second) = line(&bytes[first..]).map(|end| first + end) else { return false };
    let header = &bytes[first..second];
    let named = |name: &&&str| {
        let field = format!("\"method\":\"{name}\"");
        header.windows(field.len()).any(|window| window == field.as_bytes())
    };
    let name = METHODS.iter().find(named).unwrap_or(&METHODS[bytes.len() % METHODS.len()]);
    let Some(expected) = fit(name, None, &mut Silent) else { return false };
    let whole = parse(bytes, Path::new("in.state"), &expected).is_ok();
    let state = bytes.get(second + 4..).unwrap_or_default();
    let resumed = fit(name, Some(state), &mut Silent).is_some();
    assert!(resumed || !whole, "a whole checkpoint is refused");
    resumed
}
