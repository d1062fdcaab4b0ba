//! Averaged GLMTron: its weights are the mean of GLMTron's.

use std::ops::ControlFlow;

use properloss::Result;
use properloss::rows::{Local, Rows};
use properloss::sample::{Matrix, Sample};
use properloss::train::registry::method;
use properloss::train::{Iteration, Model, Observer, Settings, Value};

/// Sums the coefficients of every model that a run passes through.
#[derive(Default)]
struct Summed {
    coefficients: Vec<f64>,
    intercept: f64,
    count: f64,
}

impl Observer for Summed {
    fn observe_model(
        &mut self,
        _: &Iteration,
        model: &dyn Fn() -> Result<Model>,
    ) -> ControlFlow<()> {
        let model = model().unwrap();
        self.coefficients.resize(model.coefficients().len(), 0.0);
        for (sum, w) in self.coefficients.iter_mut().zip(model.coefficients()) {
            *sum += w;
        }
        self.intercept += model.intercept();
        self.count += 1.0;
        ControlFlow::Continue(())
    }
}

#[test]
fn the_answer_is_the_mean_of_the_weights() {
    let x: Vec<f64> =
        (0..300).map(|i| ((i * 37 % 101) as f64 / 50.0 - 1.0) * (i % 3 + 1) as f64).collect();
    let y: Vec<u8> = (0..100).map(|i| u8::from(x[3 * i] + 0.3 * x[3 * i + 1] > 0.2)).collect();
    let sample = Sample::new(Matrix::dense_f64(&x, 100, 3).unwrap(), &y, None).unwrap();
    let settings = Settings::from([
        ("max_iter".to_owned(), Value::Count(25)),
        ("tol".to_owned(), Value::Number(0.0)),
        ("step".to_owned(), Value::Number(3.0)),
    ]);
    let mut fits = Vec::new();
    let mut summed = Summed::default();
    for name in ["glmtron", "averaged"] {
        let mut rows = Local::new(&sample);
        let (estimator, _) = method(name).unwrap().build(&settings, &rows.shape()).unwrap();
        let observer: &mut dyn Observer =
            if name == "glmtron" { &mut summed } else { &mut properloss::train::Silent };
        fits.push(estimator.run(&mut rows, None, observer).unwrap());
    }
    let [last, averaged] = &fits[..] else { unreachable!() };
    assert_eq!(summed.count, 25.0);
    assert_eq!(last.history, averaged.history);
    for (j, sum) in summed.coefficients.iter().enumerate() {
        // Means of 25 numbers: rounded 25 times each.
        assert!((averaged.model.coefficients()[j] - sum / 25.0).abs() < 1e-13);
        assert!((averaged.model.coefficients()[j] - last.model.coefficients()[j]).abs() > 1e-3);
    }
    assert!((averaged.model.intercept() - summed.intercept / 25.0).abs() < 1e-13);
}
