//! A run that is cut off and taken up again ends in the bits of an undisturbed one.

use std::ops::ControlFlow;

use properloss::rows::{Local, Rows};
use properloss::sample::{Matrix, Sample};
use properloss::train::registry::method;
use properloss::train::{Iteration, Observer, Settings, Silent, Value};

/// Keeps the state after an iteration, and stops there.
struct CutOff {
    after: usize,
    state: Vec<u8>,
    reached: usize,
}

impl Observer for CutOff {
    fn observe(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        self.reached = iteration.iteration;
        if self.reached > self.after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.reached == self.after
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> properloss::Result<()> {
        self.state = bytes.to_vec();
        Ok(())
    }
}

#[test]
fn every_iterative_method_goes_on_in_the_same_bits() {
    let (rows, columns) = (300, 4);
    let number = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
    let x: Vec<f64> = (0..rows * columns).map(number).collect();
    let noisy =
        |i: usize| x[i * columns] - 0.6 * x[i * columns + 1] + 0.5 * number(5 * i + 3) > 0.1;
    let y: Vec<u8> = (0..rows).map(|i| u8::from(noisy(i))).collect();
    let matrix = Matrix::dense_f64(&x, rows, columns).unwrap();
    let sample = Sample::new(matrix, &y, None).unwrap();
    for name in [
        "labels",
        "refit",
        "bregmantron",
        "approx",
        "certified",
        "slisotron",
        "glmtron",
        "logistic",
    ] {
        let method = method(name).unwrap();
        let mut settings = Settings::new();
        if name != "logistic" {
            settings.insert("max_iter".into(), Value::Count(25));
        }
        let shape = Local::new(&sample).shape();
        let (estimator, _) = method.build(&settings, &shape).unwrap();
        let whole = estimator.run(&mut Local::new(&sample), None, &mut Silent).unwrap();
        for after in [1, 2, whole.iterations() / 2, whole.iterations() - 1] {
            let mut cut = CutOff { after, state: Vec::new(), reached: 0 };
            estimator.run(&mut Local::new(&sample), None, &mut cut).unwrap();
            assert!(!cut.state.is_empty(), "{name} after {after}");
            let mut rows = Local::new(&sample);
            let again = estimator.run(&mut rows, Some(&cut.state), &mut Silent).unwrap();
            let what = format!("{name} after {after}");
            assert_eq!(again.model.coefficients(), whole.model.coefficients(), "{what}");
            assert_eq!(again.model.link().spec(), whole.model.link().spec(), "{what}");
            assert_eq!(again.history, whole.history, "{what}");
            // Other data are refused.
            let other: Vec<f64> = x.iter().map(|x| x + 1.0).collect();
            let matrix = Matrix::dense_f64(&other, 300, columns).unwrap();
            let other = Sample::new(matrix, &y, None).unwrap();
            let refused = estimator.run(&mut Local::new(&other), Some(&cut.state), &mut Silent);
            assert!(matches!(refused, Err(properloss::Error::Checkpoint { .. })), "{what}");
        }
    }
}
