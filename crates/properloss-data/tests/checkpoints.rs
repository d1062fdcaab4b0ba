//! A run that is cut off and taken up again ends in the bits of an undisturbed one.

mod cut_off;

use cut_off::CutOff;
use properloss::proper::{ProperFit, ProperLoss, Stage};
use properloss::rows::{Local, Rows};
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};
use properloss::train::registry::method;
use properloss::train::{Fit, Settings, Silent, Termination, Value, run};

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
        "proper",
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
        if !matches!(name, "logistic" | "proper") {
            settings.insert("max_iter".into(), Value::Count(25));
        }
        let shape = Local::new(&sample).shape();
        let (estimator, _) = method.build(&settings, &shape).unwrap();
        let whole = estimator.run(&mut Local::new(&sample), None, &mut Silent).unwrap();
        for after in [1, 2, whole.iterations() / 2, whole.iterations() - 1] {
            let mut cut = CutOff::after(after);
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

/// Pseudo-random numbers from -1 to 1, labels that follow two of the columns.
fn numbers(rows: usize, columns: usize) -> (Vec<f64>, Vec<u8>) {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let x: Vec<f64> = (0..rows * columns).map(|_| next()).collect();
    let score = |i: usize| 2.0 * x[i * columns] - x[i * columns + 1];
    // A floor of one in six: the link is not the sigmoid, so that there is a refit.
    let y = (0..rows).map(|i| u8::from(score(i) + 0.4 * next() > 0.0 || i % 6 == 0)).collect();
    (x, y)
}

fn proper(fit: &Fit) -> &ProperFit {
    fit.proper.as_ref().unwrap()
}

fn assert_same(a: &Fit, b: &Fit, what: &str) {
    assert_eq!(a.history, b.history, "{what}");
    assert_eq!(a.termination, b.termination, "{what}");
    assert_eq!(a.scaling, b.scaling, "{what}");
    let (a, b) = (proper(a), proper(b));
    assert_eq!(a.model.coefficients(), b.model.coefficients(), "{what}");
    assert_eq!(a.model.intercept(), b.model.intercept(), "{what}");
    assert_eq!(a.link.v(), b.link.v(), "{what}");
    assert_eq!((&a.path, &a.links), (&b.path, &b.links), "{what}");
    assert_eq!((a.c, a.refit_share, a.passes), (b.c, b.refit_share, b.passes), "{what}");
    assert_eq!(a.held_out_log_loss, b.held_out_log_loss, "{what}");
    assert_eq!((&a.held_out_scores, &a.folds), (&b.held_out_scores, &b.folds), "{what}");
    assert_eq!((&a.stages, &a.scaling_weights), (&b.stages, &b.scaling_weights), "{what}");
}

/// Newton's method on quadratic models (few columns), L-BFGS (as many columns as rows), sparse rows,
/// weights: cut off after each of the steps.
#[test]
fn the_default_goes_on_from_every_step() {
    for (rows, columns, sparse, weighted) in
        [(400, 3, false, true), (120, 90, false, false), (150, 120, true, true)]
    {
        let (x, y) = numbers(rows, columns);
        let (mut starts, mut indices, mut values) = (vec![0i64], Vec::<i32>::new(), Vec::new());
        for row in x.chunks(columns) {
            for (j, &x) in row.iter().enumerate().filter(|&(j, x)| j < 2 || *x > 0.6) {
                indices.push(j as i32);
                values.push(x);
            }
            starts.push(values.len() as i64);
        }
        let matrix = if sparse {
            Matrix::csr(
                Offsets::I64(&starts),
                Indices::I32(&indices),
                Values::F64(&values),
                columns,
            )
            .unwrap()
        } else {
            Matrix::dense_f64(&x, rows, columns).unwrap()
        };
        let weights: Vec<f64> = (0..rows).map(|i| (i % 5).min(2) as f64 / 2.0).collect();
        let sample = Sample::new(matrix, &y, weighted.then_some(&weights[..])).unwrap();
        let options = ProperLoss::default();
        let whole = run(&options, &mut Local::new(&sample), None, &mut Silent).unwrap();
        let stages = &proper(&whole).stages;
        assert_eq!(stages.len(), whole.iterations());
        assert_eq!(stages[0], Stage::Columns);
        assert!(columns > 3 || stages.ends_with(&[Stage::Average, Stage::Link, Stage::Refit]));
        for after in 1..=whole.iterations() {
            let mut cut = CutOff::after(after);
            run(&options, &mut Local::new(&sample), None, &mut cut).unwrap();
            let mut rows = Local::new(&sample);
            let again = run(&options, &mut rows, Some(&cut.state), &mut Silent).unwrap();
            assert_same(&again, &whole, &format!("{columns} columns, after {after}"));
        }
    }
}

/// An observer that stops the default gets the average of what was seen, and its link.
#[test]
fn a_stopped_default_is_whole() {
    let (x, y) = numbers(400, 3);
    let sample = Sample::new(Matrix::dense_f64(&x, 400, 3).unwrap(), &y, None).unwrap();
    let options = ProperLoss::default();
    let whole = options.fit(&sample).unwrap();
    for after in [1, 2, 3, 6] {
        let mut cut = CutOff::after(after - 1);
        let fit = run(&options, &mut Local::new(&sample), None, &mut cut).unwrap();
        assert_eq!((fit.termination, fit.iterations()), (Termination::Stopped, after));
        let stopped = proper(&fit);
        assert_eq!(stopped.stages.len(), after);
        assert!(stopped.path.len() < whole.path.len() && stopped.refit_share == 0.0);
        let sum: f64 = stopped.path.iter().map(|point| point.weight).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        // Two steps are the columns and the model without features; then points of the path follow.
        let nats = stopped.held_out_log_loss[2] - whole.held_out_log_loss[2];
        assert!(if after < 3 { nats > 0.1 } else { nats.abs() < 0.05 }, "{after}: {nats}");
    }
}

/// What the history says is what the fit says.
#[test]
fn the_history_of_the_default_is_true() {
    let (x, y) = numbers(400, 3);
    let sample = Sample::new(Matrix::dense_f64(&x, 400, 3).unwrap(), &y, None).unwrap();
    let fit = run(&ProperLoss::default(), &mut Local::new(&sample), None, &mut Silent).unwrap();
    let proper = proper(&fit);
    let at = |stage: Stage| {
        let last = proper.stages.iter().rposition(|&s| s == stage).unwrap();
        fit.history[last]
    };
    let best = proper.path.iter().max_by(|a, b| a.score.total_cmp(&b.score)).unwrap();
    assert!((at(Stage::Path).loss - best.log_loss).abs() < 1e-12);
    let losses = [Stage::Average, Stage::Link, Stage::Refit].map(|stage| at(stage).loss);
    assert_eq!(losses, proper.held_out_log_loss);
    assert_eq!(at(Stage::Refit).step, proper.refit_share);
    let z = &proper.held_out_scores;
    let reach = (z.iter().copied().fold(1e9, f64::min), z.iter().copied().fold(-1e9, f64::max));
    assert_eq!((at(Stage::Refit).score_min, at(Stage::Refit).score_max), reach);
    let (low, high) = proper.link.v().slope_range();
    assert_eq!((at(Stage::Refit).slope_min, at(Stage::Refit).slope_max), (low, high));
    assert!(fit.history.iter().enumerate().all(|(k, it)| it.iteration == k + 1));
}
