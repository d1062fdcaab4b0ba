//! The trainers: what each step promises, on data small enough to check and large enough to learn.

mod random_support;

use std::ops::ControlFlow;
use std::sync::Arc;

use properloss::Error;
use properloss::design::Scaling;
use properloss::link::{self, InverseLink, PiecewiseLink, RelativeLink, Sigmoid};
use properloss::loss::LossKind;
use properloss::metrics;
use properloss::piecewise::PiecewiseAffine;
use properloss::sample::{Matrix, Sample};
use properloss::train::{
    BregmanTron, CanonicalLossTrainer, EndSlope, Fit, Glmtron, Isotonic, Iteration, LinkObjective,
    Silent, Slisotron, Step, Target, Termination,
};
use random_support::Random;

/// The paper's synthetic data: classes N(±(1, 1), I), half of each.
fn gaussians(rows: usize, seed: u64) -> (Vec<f64>, Vec<u8>) {
    let mut stream = Random(seed);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for i in 0..rows {
        let label = (i % 2) as u8;
        let mean = if label == 1 { 1.0 } else { -1.0 };
        x.extend([mean + stream.normal(), mean + stream.normal()]);
        y.push(label);
    }
    (x, y)
}

/// Rows with ties, weights (some 0), noise: nothing is easy.
fn awkward(rows: usize, seed: u64) -> (Vec<f64>, Vec<u8>, Vec<f64>) {
    let mut stream = Random(seed);
    let (mut x, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..rows {
        let row = [(4.0 * stream.unit()).floor(), stream.normal(), (2.0 * stream.unit()).floor()];
        let score = row[0] - 1.5 + 0.5 * row[1];
        y.push(u8::from(stream.unit() < 1.0 / (1.0 + (-score).exp())));
        x.extend(row);
        weights.push(if i % 7 == 3 { 0.0 } else { 0.25 + 2.0 * stream.unit() });
    }
    (x, y, weights)
}

const TARGETS: [Target; 4] =
    [Target::Previous, Target::Approx, Target::Labels, Target::PreviousLink];

fn two_columns<'a>(x: &'a [f64], y: &'a [u8]) -> Sample<'a> {
    Sample::new(Matrix::dense_f64(x, y.len(), 2).unwrap(), y, None).unwrap()
}

#[test]
fn the_first_iteration_is_the_one_worked_by_hand() {
    // x = -1, 0, 2 with y = 0, 1, 1: base rate 2/3, so w_2 = E[(y - 2/3) x] = (2/3 + 0 + 2/3) / 3.
    let (x, y) = ([-1.0, 0.0, 2.0], [0u8, 1, 1]);
    let sample = Sample::new(Matrix::dense_f64(&x, 3, 1).unwrap(), &y, None).unwrap();
    let trainer = BregmanTron::new(Target::Labels)
        .with_max_iter(1)
        .with_step(Step::Paper)
        .with_scaling(Scaling::None)
        .with_kappa(0.1);
    let fit = trainer.fit(&sample, &mut Silent).unwrap();
    let w = 4.0 / 9.0;
    assert!((fit.model.coefficients()[0] - w).abs() < 1e-15);
    assert_eq!(fit.termination, Termination::MaxIter);
    // Labels 0, 1, 1 at scores -w, 0, 2w with N = 1, n = 0.01: the first rise is bounded by w, so
    // y = (a, a + w, ...): minimise a^2 + (a + w - 1)^2 over a, and the third is free to reach 1.
    let a = (1.0 - w) / 2.0;
    let p = fit.model.probabilities(Matrix::dense_f64(&x, 3, 1).unwrap()).unwrap();
    for (p, expected) in p.iter().zip([a, a + w, 1.0]) {
        assert!((p - expected).abs() < 1e-14, "{p} {expected}");
    }
    // The ends: z_min = -w - a / n; the loss is the mean of U at the negative and int (1-u) beyond.
    let (z_min, z_max) = fit.model.link().support();
    assert!((z_min - (-w - a / 0.01)).abs() < 1e-12 && (z_max - 2.0 * w).abs() < 1e-12);
    let link = fit.model.link();
    let loss =
        (link.potential(-w) + link.upper_potential(0.0) + link.upper_potential(2.0 * w)) / 3.0;
    assert!((fit.loss().unwrap() - loss).abs() < 1e-12 * loss);
}

#[test]
fn every_variant_learns_a_link_within_its_bounds() {
    let (x, y, weights) = awkward(300, 5);
    let matrix = Matrix::dense_f64(&x, 300, 3).unwrap();
    let sample = Sample::new(matrix, &y, Some(&weights)).unwrap();
    for target in TARGETS {
        for objective in [LinkObjective::Bregman, LinkObjective::Quadratic] {
            for end_slope in [EndSlope::Min, EndSlope::Max] {
                let mut history: Vec<Iteration> = Vec::new();
                let trainer = BregmanTron::new(target)
                    .with_objective(objective)
                    .with_end_slope(end_slope)
                    .with_max_iter(25)
                    .with_slope_min(0.02)
                    .with_slope_max(0.7);
                let mut observe = |iteration: &Iteration| {
                    history.push(*iteration);
                    ControlFlow::Continue(())
                };
                let fit = trainer.fit(&sample, &mut observe).unwrap();
                assert_eq!(history, fit.history);
                let last = fit.history.last().unwrap();
                let link = fit.model.link().as_piecewise().unwrap();
                let (u, (least, largest)) = (link.knots().y(), link.knots().slope_range());
                assert_eq!((u[0], u[u.len() - 1]), (0.0, 1.0));
                // A slope is a quotient of differences of rounded knots.
                let slack = 1.0 + 1e-9;
                assert!(least * slack >= last.slope_min && largest <= slack * last.slope_max);
                for iteration in &fit.history {
                    let range = iteration.score_max - iteration.score_min;
                    assert!(iteration.slope_min * range <= trainer.kappa * slack);
                    assert!(iteration.loss.is_finite() && iteration.loss >= 0.0);
                }
                // The predictions are u(w·x + b), with w and b for raw features.
                let p = fit.model.probabilities(matrix).unwrap();
                for i in 0..300 {
                    let z: f64 = (0..3).map(|j| fit.model.coefficients()[j] * x[3 * i + j]).sum();
                    let expected = link.u(z + fit.model.intercept());
                    assert!((p[i] - expected).abs() < 1e-12);
                }
                // What is reported is the loss of the final link at the final weights.
                let z = fit.model.scores(matrix).unwrap();
                let direct: f64 = (0..300)
                    .map(|i| {
                        let loss = match y[i] {
                            1 => link.upper_potential(z[i]),
                            _ => link.potential(z[i]),
                        };
                        weights[i] * loss
                    })
                    .sum::<f64>()
                    / weights.iter().sum::<f64>();
                assert!((direct - last.loss).abs() <= 1e-10 * direct, "{direct} {}", last.loss);
            }
        }
    }
}

#[test]
fn approx_is_the_least_feasible_line() {
    let (x, y) = gaussians(200, 3);
    let sample = two_columns(&x, &y);
    let trainer = BregmanTron::new(Target::Approx).with_max_iter(3);
    let fit = trainer.fit(&sample, &mut Silent).unwrap();
    let last = fit.history.last().unwrap();
    let link = fit.model.link();
    for share in [0.0, 0.3, 1.0] {
        let z = last.score_min + share * (last.score_max - last.score_min);
        assert!((link.u(z) - last.slope_min * (z - last.score_min)).abs() < 1e-12);
    }
}

#[test]
fn a_given_initial_link_is_where_the_run_starts() {
    let (x, y) = gaussians(100, 4);
    let sample = two_columns(&x, &y);
    let start = PiecewiseLink::from_knots(vec![-1.0, 3.0], vec![0.0, 1.0]).unwrap();
    let trainer = BregmanTron::new(Target::Previous)
        .with_initial_link(Some(start))
        .with_max_iter(1)
        .with_step(Step::Paper)
        .with_scaling(Scaling::None);
    let fit = trainer.fit(&sample, &mut Silent).unwrap();
    // u_0(0) = 1/4, so w = E[(y - 1/4) x].
    for j in 0..2 {
        let expected: f64 = (0..100).map(|i| (f64::from(y[i]) - 0.25) * x[2 * i + j] / 100.0).sum();
        assert!((fit.model.coefficients()[j] - expected).abs() < 1e-14);
    }
}

/// Every trainer with its defaults, by name.
fn all_methods() -> Vec<(&'static str, Box<dyn Fn(&Sample<'_>) -> Fit>)> {
    let mut methods: Vec<(&'static str, Box<dyn Fn(&Sample<'_>) -> Fit>)> = Vec::new();
    for (name, target) in ["previous", "approx", "labels", "refit"].into_iter().zip(TARGETS) {
        let trainer = BregmanTron::new(target).with_max_iter(300);
        methods.push((name, Box::new(move |s| trainer.fit(s, &mut Silent).unwrap())));
    }
    for (name, isotonic) in [("pav", Isotonic::Pav), ("lipschitz", Isotonic::Lipschitz)] {
        let trainer = Slisotron::new(isotonic).with_max_iter(300);
        methods.push((name, Box::new(move |s| trainer.fit(s, &mut Silent).unwrap())));
    }
    let glmtron = Glmtron::new(Arc::new(Sigmoid));
    methods.push(("glmtron", Box::new(move |s| glmtron.fit(s, &mut Silent).unwrap())));
    let logistic = CanonicalLossTrainer::new(Arc::new(Sigmoid)).with_l2(1e-4);
    methods.push(("logistic", Box::new(move |s| logistic.fit(s, &mut Silent).unwrap())));
    methods
}

#[test]
fn on_the_papers_gaussians_every_method_but_approx_ranks_as_bayes_does() {
    // Bayes AUC: Phi(2) = 0.97725; its standard error on 40,000 test rows is below 0.0008.
    let (x, y) = gaussians(10_000, 1);
    let (test_x, test_y) = gaussians(40_000, 2);
    let sample = two_columns(&x, &y);
    let test = Matrix::dense_f64(&test_x, 40_000, 2).unwrap();
    let bayes: Vec<f64> = test_x.chunks(2).map(|row| row[0] + row[1]).collect();
    let best = metrics::auc(&bayes, &test_y, None).unwrap();
    assert!((best - 0.97725).abs() < 0.0016, "{best}");
    for (name, method) in all_methods() {
        let fit = method(&sample);
        let auc = metrics::auc(&fit.model.scores(test).unwrap(), &test_y, None).unwrap();
        let bound = if name == "approx" { 0.05 } else { 0.002 };
        assert!((auc - best).abs() <= bound, "{name}: {auc} against {best}");
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, y) = gaussians(20_001, 9);
    let weights: Vec<f64> = (0..20_001).map(|i| 0.5 + (i % 5) as f64).collect();
    let sample =
        Sample::new(Matrix::dense_f64(&x, 20_001, 2).unwrap(), &y, Some(&weights)).unwrap();
    let run = |threads: usize| -> Vec<Vec<u64>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let trainers: Vec<Fit> = pool.install(|| {
            let short = |target| BregmanTron::new(target).with_max_iter(5);
            let mut fits: Vec<Fit> = TARGETS
                .iter()
                .map(|&target| short(target).fit(&sample, &mut Silent).unwrap())
                .collect();
            let glmtron = Glmtron::new(Arc::new(Sigmoid)).with_max_iter(5);
            fits.push(glmtron.fit(&sample, &mut Silent).unwrap());
            let slisotron = Slisotron::new(Isotonic::Pav).with_max_iter(5);
            fits.push(slisotron.fit(&sample, &mut Silent).unwrap());
            let logistic = CanonicalLossTrainer::new(Arc::new(Sigmoid));
            fits.push(logistic.fit(&sample, &mut Silent).unwrap());
            fits
        });
        let bits = |fit: &Fit| {
            let losses = fit.history.iter().map(|iteration| iteration.loss);
            fit.model.coefficients().iter().copied().chain(losses).map(f64::to_bits).collect()
        };
        trainers.iter().map(bits).collect()
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

#[test]
fn weight_two_is_a_duplicate_and_weight_zero_is_no_row() {
    let (x, y, _) = awkward(120, 8);
    let weights: Vec<f64> = (0..120).map(|i| (i % 3) as f64).collect();
    let (mut longer, mut labels) = (Vec::new(), Vec::new());
    for i in 0..120 {
        for _ in 0..i % 3 {
            longer.extend_from_slice(&x[3 * i..3 * i + 3]);
            labels.push(y[i]);
        }
    }
    let weighted = Sample::new(Matrix::dense_f64(&x, 120, 3).unwrap(), &y, Some(&weights)).unwrap();
    let rows = labels.len();
    let repeated =
        Sample::new(Matrix::dense_f64(&longer, rows, 3).unwrap(), &labels, None).unwrap();
    let compare = |name: &str, a: Fit, b: Fit| {
        for (a, b) in a.model.coefficients().iter().zip(b.model.coefficients()) {
            // A few iterations apart from rounding only.
            assert!((a - b).abs() <= 1e-8 * (1.0 + a.abs()), "{name}: {a} {b}");
        }
    };
    for target in TARGETS {
        let trainer = BregmanTron::new(target).with_max_iter(10);
        let fit = |sample| trainer.fit(sample, &mut Silent).unwrap();
        compare(&format!("{target:?}"), fit(&weighted), fit(&repeated));
    }
    let glmtron = Glmtron::new(Arc::new(Sigmoid)).with_max_iter(10);
    let fit = |sample| glmtron.fit(sample, &mut Silent).unwrap();
    compare("glmtron", fit(&weighted), fit(&repeated));
    let logistic = CanonicalLossTrainer::new(Arc::new(Sigmoid)).with_l2(0.01);
    let fit = |sample| logistic.fit(sample, &mut Silent).unwrap();
    compare("logistic", fit(&weighted), fit(&repeated));
}

#[test]
fn sparse_and_dense_rows_train_alike() {
    use properloss::sample::{Indices, Offsets, Values};
    let (x, y, weights) = awkward(150, 21);
    let (mut offsets, mut indices, mut values) = (vec![0usize], Vec::new(), Vec::new());
    for row in x.chunks(3) {
        for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(j as u32);
            values.push(value);
        }
        offsets.push(indices.len());
    }
    let csr =
        Matrix::csr(Offsets::Usize(&offsets), Indices::U32(&indices), Values::F64(&values), 3)
            .unwrap();
    let dense = Matrix::dense_f64(&x, 150, 3).unwrap();
    for scaling in [Scaling::None, Scaling::UnitRows, Scaling::MaxNorm, Scaling::Standardise] {
        let trainer = BregmanTron::new(Target::Labels).with_max_iter(8).with_scaling(scaling);
        let [a, b] = [csr, dense].map(|matrix| {
            let sample = Sample::new(matrix, &y, Some(&weights)).unwrap();
            trainer.fit(&sample, &mut Silent).unwrap().model.probabilities(matrix).unwrap()
        });
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-9, "{scaling:?}: {a} {b}");
        }
    }
}

#[test]
fn an_observer_stops_a_run_and_keeps_the_model() {
    let (x, y) = gaussians(500, 6);
    let sample = two_columns(&x, &y);
    let mut stop_at_three = |iteration: &Iteration| match iteration.iteration {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = BregmanTron::new(Target::Labels).fit(&sample, &mut stop_at_three).unwrap();
    assert_eq!((stopped.termination, stopped.iterations()), (Termination::Stopped, 3));
    let three = BregmanTron::new(Target::Labels).with_max_iter(3);
    let three = three.fit(&sample, &mut Silent).unwrap();
    assert_eq!(three.model.coefficients(), stopped.model.coefficients());
    let mut stop_now = |_: &Iteration| ControlFlow::Break(());
    let logistic =
        CanonicalLossTrainer::new(Arc::new(Sigmoid)).fit(&sample, &mut stop_now).unwrap();
    assert_eq!(logistic.termination, Termination::Stopped);
}

#[test]
fn a_learned_loss_is_minimised_to_the_gradient_it_promises() {
    let (x, y) = gaussians(2_000, 12);
    let sample = two_columns(&x, &y);
    let trainer = BregmanTron::new(Target::Labels).with_max_iter(50);
    let link = trainer.fit(&sample, &mut Silent).unwrap().model.link().clone();
    for l2 in [0.0, 1e-3] {
        let trainer = CanonicalLossTrainer::new(link.clone()).with_l2(l2);
        let fit = trainer.fit(&sample, &mut Silent).unwrap();
        assert_eq!(fit.termination, Termination::Converged);
        assert!(fit.history.last().unwrap().gap <= 1e-8);
    }
}

#[test]
fn glmtron_takes_any_link_even_one_without_a_finite_loss() {
    let (x, y) = gaussians(400, 14);
    let sample = two_columns(&x, &y);
    for entry in link::registry() {
        let link = entry.build(&[]).unwrap();
        let fit = Glmtron::new(link).with_max_iter(50).fit(&sample, &mut Silent).unwrap();
        let losses: Vec<f64> = fit.history.iter().map(|iteration| iteration.loss).collect();
        assert!(losses.iter().all(|loss| loss.is_finite()), "{}", entry.name);
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{}", entry.name);
    }
}

/// A link from 0.05 to 0.9.
fn with_floor() -> Arc<dyn InverseLink> {
    let v = PiecewiseAffine::new(vec![0.0, 0.4, 1.0], vec![0.05, 0.3, 0.9]).unwrap();
    Arc::new(RelativeLink::new(Arc::new(Sigmoid), v).unwrap())
}

/// A floor and a ceiling: the loss has no lower bound, the penalty holds it, and at the minimum
/// `E[(u(z) - y) x] + l2 w = 0` as for any other link.
#[test]
fn a_loss_without_lower_bound_is_transferred_under_a_penalty() {
    let (x, y) = gaussians(400, 14);
    let sample = two_columns(&x, &y);
    for link in [link::by_name("cauchy", &[]).unwrap(), with_floor()] {
        let trainer = CanonicalLossTrainer::new(link)
            .with_scaling(Scaling::None)
            .with_kind(LossKind::Canonical);
        let refused = trainer.fit(&sample, &mut Silent);
        assert!(matches!(refused, Err(Error::NeedsPenalty { .. })));
        let l2 = 1e-3;
        let fit = trainer.with_l2(l2).fit(&sample, &mut Silent).unwrap();
        assert_eq!(fit.termination, Termination::Converged);
        let (w, b) = (fit.model.coefficients(), fit.model.intercept());
        let mut gradient = [l2 * w[0], l2 * w[1], 0.0];
        for (x, &y) in x.chunks(2).zip(&y) {
            let slope = fit.model.link().u(w[0] * x[0] + w[1] * x[1] + b) - f64::from(y);
            gradient[0] += slope * x[0] / 400.0;
            gradient[1] += slope * x[1] / 400.0;
            gradient[2] += slope / 400.0;
        }
        assert!(gradient.iter().all(|g| g.abs() < 2e-8), "{gradient:?}");
    }
}

/// Log-loss under a floor and a ceiling, without a penalty: at the end
/// `E[(-y/u + (1-y)/(1-u)) u' x] = 0`, and no step in any direction is better.
#[test]
fn log_loss_under_a_link_with_a_floor_is_minimised_without_a_penalty() {
    let (x, y) = gaussians(400, 14);
    let sample = two_columns(&x, &y);
    let probit = link::by_name("probit", &[]).unwrap();
    for (link, asked) in
        [(link::by_name("cauchy", &[]).unwrap(), false), (with_floor(), false), (probit, true)]
    {
        let mut trainer = CanonicalLossTrainer::new(link).with_scaling(Scaling::None);
        if asked {
            assert_eq!(trainer.kind, LossKind::Canonical);
            trainer.kind = LossKind::Composite;
        }
        assert_eq!(trainer.kind, LossKind::Composite, "the loss of a link without a finite one");
        let fit = trainer.fit(&sample, &mut Silent).unwrap();
        // A kink of the link may stop the steps short of the tolerance.
        assert!(matches!(fit.termination, Termination::Converged | Termination::Stalled));
        let mean_loss = |w: [f64; 2], b: f64| -> f64 {
            let rows = x.chunks(2).zip(&y);
            let cost = |(x, &y): (&[f64], &u8)| {
                let p = fit.model.link().u(w[0] * x[0] + w[1] * x[1] + b);
                if y == 1 { -p.ln() } else { -(1.0 - p).ln() }
            };
            rows.map(cost).sum::<f64>() / 400.0
        };
        let (w, b) = (fit.model.coefficients(), fit.model.intercept());
        let least = mean_loss([w[0], w[1]], b);
        let reported = fit.loss().unwrap();
        assert!((least - reported).abs() < 1e-12, "{least} is not {reported}");
        for step in [1e-2, -1e-2, 1e-4, -1e-4] {
            for moved in [
                mean_loss([w[0] + step, w[1]], b),
                mean_loss([w[0], w[1] + step], b),
                mean_loss([w[0], w[1]], b + step),
            ] {
                assert!(moved >= least, "{moved} is below {least} at {step}");
            }
        }
    }
}

#[test]
fn options_out_of_their_domain_are_refused_by_name() {
    let (x, y) = gaussians(20, 1);
    let sample = two_columns(&x, &y);
    let good = || BregmanTron::new(Target::Labels);
    let bad: Vec<(&str, BregmanTron)> = vec![
        ("max_iter", good().with_max_iter(0)),
        ("tol", good().with_tol(f64::NAN)),
        ("tol", good().with_tol(-1.0)),
        ("step", good().with_step(Step::Constant(0.0))),
        ("step", good().with_step(Step::Constant(f64::INFINITY))),
        ("slope_min", good().with_slope_min(0.0)),
        ("slope_max", good().with_slope_max(0.001)),
        ("slope_max", good().with_slope_max(f64::INFINITY)),
        ("kappa", good().with_kappa(0.0)),
        ("kappa", good().with_kappa(1.5)),
        ("l2", good().with_l2(-0.1)),
        ("max_norm", good().with_max_norm(Some(0.0))),
    ];
    for (name, trainer) in bad {
        match trainer.fit(&sample, &mut Silent) {
            Err(Error::OutOfDomain { what, .. }) => assert_eq!(what, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    let short = CanonicalLossTrainer::new(Arc::new(Sigmoid)).with_warm_start(Some(vec![0.0]));
    assert!(matches!(short.fit(&sample, &mut Silent), Err(Error::LengthMismatch { .. })));
}
