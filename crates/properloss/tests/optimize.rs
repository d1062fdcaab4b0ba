//! The minimiser reaches the gradient it promises, on smooth and on piecewise-quadratic losses.

mod congruence;

use std::ops::ControlFlow;

use congruence::{copied, numbers};
use properloss::design::{Design, Intercept, Scaling};
use properloss::link::{InverseLink, PiecewiseLink, Sigmoid};
use properloss::loss::LossKind;
use properloss::optimize::{self, Minimum, Options, Problem, Solver, Stop};
use properloss::piecewise::PiecewiseAffine;
use properloss::rows::{Local, Rows};
use properloss::sample::{Matrix, Sample};
use proptest::prelude::*;

/// `m` rows of `d` features and noisy labels of a linear rule.
fn data(m: usize, d: usize, seed: u64) -> (Vec<f64>, Vec<u8>) {
    let x = numbers(m * d, seed);
    let noise = numbers(m, seed + 1);
    let mut labels: Vec<u8> = x
        .chunks(d)
        .zip(noise)
        .map(|(row, noise)| {
            let score: f64 =
                row.iter().enumerate().map(|(j, x)| x * (1.0 + j as f64).recip()).sum();
            u8::from(score + noise > 0.2)
        })
        .collect();
    (labels[0], labels[1]) = (0, 1);
    (x, labels)
}

/// A problem with its rows; there is always an intercept.
#[derive(Clone, Copy)]
struct Case<'a> {
    sample: &'a Sample<'a>,
    scaling: Scaling,
    link: &'a dyn InverseLink,
    l2: f64,
}

fn minimise(
    case: &Case<'_>,
    start: &[f64],
    options: &Options,
    watch: &mut optimize::Watch<'_>,
) -> properloss::Result<Minimum> {
    let mut local = Local::new(case.sample);
    let rows: &mut dyn Rows = &mut local;
    rows.scale(case.scaling, Intercept::Learned)?;
    optimize::minimise(
        &Problem { link: case.link, kind: LossKind::Canonical, l2: case.l2 },
        rows,
        start,
        options,
        watch,
    )
}

fn run(case: &Case<'_>, start: &[f64], solver: Solver) -> Minimum {
    let options = Options::default().with_solver(solver);
    minimise(case, start, &options, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

/// The gradient by its formula, row by row, from the rows in full.
fn gradient(problem: &Case<'_>, labels: &[u8], link: &dyn InverseLink, w: &[f64]) -> Vec<f64> {
    let design = Design::new(problem.sample, problem.scaling, Intercept::Learned);
    let d = design.dimension();
    let mut row = vec![0.0; d];
    let mut g = vec![0.0; d];
    let mut total = 0.0;
    for i in 0..design.rows() {
        design.fill_row(i, &mut row);
        let weight = problem.sample.weight(i);
        total += weight;
        let z: f64 = row.iter().zip(w).map(|(x, w)| x * w).sum();
        let residual = weight * (link.u(z) - f64::from(labels[i]));
        for (g, x) in g.iter_mut().zip(&row) {
            *g += residual * x;
        }
    }
    for j in 0..d {
        let penalised = j < design.matrix().columns();
        g[j] = g[j] / total + if penalised { problem.l2 * w[j] } else { 0.0 };
    }
    g
}

fn norm(g: &[f64]) -> f64 {
    g.iter().map(|g| g * g).sum::<f64>().sqrt()
}

/// A random piecewise-affine link on [-width, width].
fn random_link(knots: usize, width: f64, seed: u64) -> PiecewiseLink {
    let increasing = |from: f64, to: f64, seed: u64| {
        let gaps: Vec<f64> = numbers(knots - 1, seed).iter().map(|x| 1.02 + x).collect();
        let total: f64 = gaps.iter().sum();
        let mut at = from;
        let mut points = vec![from];
        for gap in &gaps[..knots - 2] {
            at += (to - from) * gap / total;
            points.push(at);
        }
        points.push(to);
        points
    };
    let z = increasing(-width, 0.7 * width, seed);
    let u = increasing(0.0, 1.0, seed + 1);
    PiecewiseLink::new(PiecewiseAffine::new(z, u).unwrap()).unwrap()
}

/// Breast cancer (standardised by weighted moments) against scikit-learn 1.9's
/// `LogisticRegression(C, solver="newton-cholesky", tol=1e-14)`; weights 1, +2 for every fifth row,
/// -1 for every seventh.
#[test]
fn agrees_with_scikit_learn_weighted_and_unweighted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/breast_cancer.csv");
    let text = std::fs::read_to_string(path).expect("the data set carried with the repository");
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let (features, label) = line.rsplit_once(',').unwrap();
        x.extend(features.split(',').map(|value| value.parse::<f64>().unwrap()));
        labels.push(u8::from(label == "malignant"));
    }
    let m = labels.len();
    let weights: Vec<f64> = (0..m)
        .map(|i| 1.0 + if i % 5 == 0 { 2.0 } else { 0.0 } - if i % 7 == 0 { 1.0 } else { 0.0 })
        .collect();
    #[rustfmt::skip]
    let unweighted_reference = [0.3630925319179316, 0.38767544241875795, 0.35106211867967385,
        0.43560980328597576, 0.1618311028152454, -0.5626540336981023, 0.8599171195924016,
        0.962280223488176, -0.07620903147902887, -0.32222623694861147, 1.2909422896744196,
        -0.2689219013878877, 0.6599745965624585, 1.0125577321802832, 0.27721295890401526,
        -0.7363240127967533, -0.11053932078141075, 0.3334076188831649, -0.29579302590318496,
        -0.6809196730583745, 1.0292622616479528, 1.314607634446453, 0.8233473825766975,
        1.0107068321134167, 0.6706819627765849, -0.044564251787421336, 0.8733339165222501,
        0.9120031219319643, 0.8878373243070148, 0.47981890804316013, -0.21450272];
    #[rustfmt::skip]
    let weighted_reference = [0.391866363259156, 0.3644746379503717, 0.3811600095703476,
        0.37043738396984155, 0.0593198086511813, -0.028861500674871803, 0.4477675152969468,
        0.440242314043523, 0.026692576473564853, -0.31899860678425945, 0.5165778837828321,
        -0.038816309817098694, 0.2943991762417981, 0.40450100964167157, 0.04839869775198278,
        -0.3151815408511134, -0.03656795890052006, 0.1263150935271129, -0.2896977314373059,
        -0.28938019463536657, 0.575392698091859, 0.724117457864126, 0.4883354709497755,
        0.5080323406237492, 0.4654681666843311, 0.16370828030042597, 0.4763636663849135,
        0.5956947763836087, 0.568177203537365, 0.15681717899652842, -0.51041974];
    let cases = [(None, 1.0, unweighted_reference), (Some(&weights[..]), 0.1, weighted_reference)];
    for (weights, c, reference) in cases {
        let sample = Sample::new(Matrix::dense_f64(&x, m, 30).unwrap(), &labels, weights).unwrap();
        let l2 = 1.0 / (c * sample.total_weight());
        let problem = Case { sample: &sample, scaling: Scaling::Standardise, link: &Sigmoid, l2 };
        for solver in [Solver::Auto, Solver::Dense, Solver::ConjugateGradient] {
            let minimum = run(&problem, &[0.0; 31], solver);
            assert_eq!(minimum.stop, Stop::Converged);
            for (w, reference) in minimum.w.iter().zip(reference) {
                // |g| <= 1e-8 and curvature >= l2 = 2e-3: w is within 1e-5 at worst, and in
                // practice far nearer; the last entry is printed to 8 digits.
                assert!((w - reference).abs() <= 1e-6, "{solver:?}: {w} {reference}");
            }
        }
    }
}

/// Smooth and kinked losses, with and without penalty, both solvers, every scaling: the gradient,
/// recomputed from the definition, is at most 1e-8 (plus rounding of the recomputation).
#[test]
fn reaches_the_gradient_tolerance_on_every_kind_of_loss() {
    let (m, d) = (400, 12);
    let (x, labels) = data(m, d, 7);
    let sample = Sample::new(Matrix::dense_f64(&x, m, d).unwrap(), &labels, None).unwrap();
    let links: [&dyn InverseLink; 5] = [
        &Sigmoid,
        &random_link(2, 1.0, 1),
        &random_link(6, 0.5, 2),
        &random_link(50, 3.0, 3),
        &random_link(400, 0.05, 4),
    ];
    let scalings = [Scaling::None, Scaling::UnitRows, Scaling::MaxNorm, Scaling::Standardise];
    for (number, link) in links.into_iter().enumerate() {
        for scaling in scalings {
            for l2 in [0.0, 1e-6, 1e-2] {
                let problem = Case { sample: &sample, scaling, link, l2 };
                for solver in [Solver::Dense, Solver::ConjugateGradient] {
                    let minimum = run(&problem, &[0.0; 13], solver);
                    let case = format!("link {number}, {scaling:?}, l2 {l2}, {solver:?}");
                    assert_eq!(minimum.stop, Stop::Converged, "{case}: {:?}", minimum.last);
                    let g = norm(&gradient(&problem, &labels, link, &minimum.w));
                    assert!(g <= 1.01e-8, "{case}: {g:e}");
                    assert!(minimum.last.iteration <= 100, "{case}: {:?}", minimum.last);
                }
            }
        }
    }
}

#[test]
fn a_warm_start_at_the_minimum_needs_no_step_and_the_watch_may_stop() {
    let (x, labels) = data(200, 3, 1);
    let sample = Sample::new(Matrix::dense_f64(&x, 200, 3).unwrap(), &labels, None).unwrap();
    let problem = Case { sample: &sample, scaling: Scaling::Standardise, link: &Sigmoid, l2: 1e-3 };
    let first = run(&problem, &[0.0; 4], Solver::Auto);
    let again = run(&problem, &first.w, Solver::Auto);
    assert_eq!((again.last.iteration, again.stop), (0, Stop::Converged));
    assert_eq!(again.w, first.w);

    let mut values = Vec::new();
    let mut watch = |iteration: &properloss::optimize::Iteration, _: &[f64]| {
        values.push(iteration.value);
        if values.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let stopped = minimise(&problem, &[0.0; 4], &Options::default(), &mut watch).unwrap();
    assert_eq!((stopped.stop, stopped.last.iteration), (Stop::Stopped, 2));
    assert!(values.windows(2).all(|pair| pair[1] < pair[0]), "{values:?}");
    let limited = Options::default().with_max_iter(1);
    let limited = minimise(&problem, &[0.0; 4], &limited, &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(limited.unwrap().stop, Stop::MaxIter);
}

/// Nearly collinear columns: conjugate gradients need many passes, so `Auto` goes over to dense
/// steps, and all three end at the same value.
#[test]
fn wide_and_ill_conditioned_rows_reach_the_same_minimum_by_every_solver() {
    let (m, d) = (300, 80);
    let (mut x, labels) = data(m, d, 21);
    for row in x.chunks_mut(d) {
        for j in 1..d {
            row[j] = row[0] + 0.05 * row[j];
        }
    }
    let sample = Sample::new(Matrix::dense_f64(&x, m, d).unwrap(), &labels, None).unwrap();
    let problem = Case { sample: &sample, scaling: Scaling::Standardise, link: &Sigmoid, l2: 1e-6 };
    let [auto, dense, gradients] = [Solver::Auto, Solver::Dense, Solver::ConjugateGradient]
        .map(|solver| run(&problem, &vec![0.0; d + 1], solver));
    assert!(auto.last.passes < gradients.last.passes / 2, "{:?} {:?}", auto.last, gradients.last);
    for minimum in [&auto, &dense, &gradients] {
        assert_eq!(minimum.stop, Stop::Converged);
        // Strong convexity 1e-6 (off the intercept): f - f* <= |g|²/(2e-6) = 5e-11.
        assert!((minimum.last.value - dense.last.value).abs() <= 1e-10);
    }
}

#[test]
fn bad_input_is_refused() {
    let (x, labels) = data(20, 2, 1);
    let sample = Sample::new(Matrix::dense_f64(&x, 20, 2).unwrap(), &labels, None).unwrap();
    let good = Case { sample: &sample, scaling: Scaling::None, link: &Sigmoid, l2: 0.1 };
    let refused = |problem: &Case<'_>, start: &[f64]| {
        minimise(problem, start, &Options::default(), &mut |_, _| ControlFlow::Continue(()))
            .is_err()
    };
    assert!(refused(&good, &[0.0; 2]));
    assert!(refused(&good, &[0.0, f64::NAN, 0.0]));
    assert!(refused(&Case { l2: -1.0, ..good }, &[0.0; 3]));
    assert!(refused(&Case { l2: f64::NAN, ..good }, &[0.0; 3]));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (x, labels) = data(5_000, 20, 11);
    let sample = Sample::new(Matrix::dense_f64(&x, 5_000, 20).unwrap(), &labels, None).unwrap();
    let link = random_link(30, 1.0, 5);
    let results: Vec<_> = [1, 2, 4]
        .into_iter()
        .flat_map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let problem =
                    Case { sample: &sample, scaling: Scaling::Standardise, link: &link, l2: 1e-4 };
                [Solver::Dense, Solver::ConjugateGradient]
                    .map(|solver| run(&problem, &[0.0; 21], solver))
            })
        })
        .collect();
    assert_eq!(results[0], results[2]);
    assert_eq!(results[0], results[4]);
    assert_eq!(results[1], results[3]);
    assert_eq!(results[1], results[5]);
}

proptest! {
    /// Any link, any penalty, weights as counts, separable or not: the promised gradient, and the
    /// same minimum value for weights as for copies.
    #[test]
    fn weights_are_counts(
        seed in 0u64..10_000,
        m in 6usize..60,
        d in 1usize..6,
        knots in 2usize..40,
        width in 0.01f64..10.0,
        l2 in prop::sample::select(vec![0.0, 1e-8, 1e-3, 1.0]),
        counts in prop::collection::vec(0usize..3, 60),
    ) {
        let (x, labels) = data(m, d, seed);
        let mut counts = counts[..m].to_vec();
        (counts[0], counts[1]) = (1, 2);
        let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
        let (copies, copied_labels) = copied(&x, &labels, &counts);
        let link = random_link(knots, width, seed);
        let n = copied_labels.len();
        let a = Sample::new(Matrix::dense_f64(&x, m, d).unwrap(), &labels, Some(&weights)).unwrap();
        let b = Sample::new(Matrix::dense_f64(&copies, n, d).unwrap(), &copied_labels, None).unwrap();
        let mut values = Vec::new();
        for (sample, labels) in [(a, &labels), (b, &copied_labels)] {
            let problem = Case { sample: &sample, scaling: Scaling::None, link: &link, l2 };
            let minimum = run(&problem, &vec![0.0; d + 1], Solver::Auto);
            prop_assert_eq!(minimum.stop, Stop::Converged, "{:?}", minimum.last);
            let g = norm(&gradient(&problem, labels, &link, &minimum.w));
            prop_assert!(g <= 1.01e-8, "{:e}", g);
            values.push((minimum.last.value, norm(&minimum.w)));
        }
        // Convexity: the values differ by at most the gradient times the distance.
        let distance = values[0].1 + values[1].1;
        let difference = (values[0].0 - values[1].0).abs();
        prop_assert!(difference <= 1e-8 * distance + 1e-14, "{:?}", values);
    }
}
