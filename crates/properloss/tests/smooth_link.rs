//! The smooth link: its promises on any input, its minima against Clarabel and against another
//! program, and the changes of the rows that must not matter.

mod congruence;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, ExponentialConeT, IPSolver, SolverStatus, SupportedConeT,
};
use congruence::Congruence;
use proptest::prelude::*;

use properloss::link::{InverseLink, RelativeLink, Sigmoid};
use properloss::piecewise::PiecewiseAffine;
use properloss::proper::smooth::{Bins, Smooth, SmoothLink, TAU};
use properloss::proper::{Calibrator, ScoreKind};
use std::collections::BTreeMap;
use std::sync::Arc;

fn fit(z: &[f64], y: &[u8], w: &[f64], fold: &[u32]) -> SmoothLink {
    Smooth::default().fit(&Bins::of_rows(z, y, w, fold).unwrap()).unwrap()
}

fn tight() -> Smooth {
    Smooth::default().with_tolerance(1e-13)
}

fn turns(rows: usize, folds: usize) -> Vec<u32> {
    (0..rows).map(|i| (i % folds) as u32).collect()
}

/// What every link promises: slopes strictly inside the bounds, order kept, never 0 or 1, and at every
/// score a log-loss of at most the sigmoid's plus `log tau`.
fn check_promises(v: &PiecewiseAffine, scores: &[f64]) -> Result<f64, TestCaseError> {
    let (low, high) = v.slope_range();
    prop_assert!(low > 1.0 / TAU && high < TAU, "slopes {low} {high}");
    prop_assert!(v.y()[0] >= 0.0 && v.y()[v.y().len() - 1] <= 1.0);
    let tau = high.max(1.0 / low).max(1.0);
    let link = RelativeLink::new(Arc::new(Sigmoid), v.clone()).unwrap();
    let mut points: Vec<f64> = (-120..=120).map(|k| 0.25 * f64::from(k)).collect();
    points.extend(scores.iter().map(|z| z.clamp(-700.0, 700.0)));
    points.extend(v.x()[1..v.x().len() - 1].iter().map(|&p| Sigmoid.u_inverse(p)));
    points.sort_by(f64::total_cmp);
    // Near 1, v is good to the rounding of its values, which the sigmoid's own distance to 1 divides.
    let bound = |p: f64| tau.ln() + 1e-12 + 4.0 * f64::EPSILON / p.max(1e-300) * tau;
    for &z in &points {
        let (u, rest) = (link.u(z), link.one_minus_u(z));
        prop_assert!(u > 0.0 && rest > 0.0, "{z}: {u} {rest}");
        prop_assert!(-u.ln() <= -Sigmoid.u(z).ln() + bound(1.0), "positive at {z}");
        prop_assert!(-rest.ln() <= -Sigmoid.u(-z).ln() + bound(Sigmoid.u(-z)), "negative at {z}");
    }
    for pair in points.windows(2) {
        // Beyond |z| of about 33 the sigmoid itself no longer tells scores from one another.
        let rise = Sigmoid.u(pair[1]) - Sigmoid.u(pair[0]);
        if rise > 1e-14 {
            prop_assert!(link.u(pair[0]) < link.u(pair[1]), "{pair:?}");
        } else {
            prop_assert!(link.u(pair[0]) <= link.u(pair[1]), "{pair:?}");
        }
    }
    Ok(tau)
}

/// Scores, labels and weights of the kinds that break fits.
fn hard_rows() -> impl Strategy<Value = (Vec<f64>, Vec<u8>, Vec<f64>, usize)> {
    let sizes = (4usize..160, 2usize..7, 0u8..8, 0u8..4, any::<u64>());
    sizes.prop_map(|(rows, folds, scores, weights, seed)| {
        let mut random = Congruence(seed);
        let mut uniform = || random.uniform();
        let (mut z, mut y, mut w) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let u = uniform();
            let tan = (std::f64::consts::PI * (u - 0.5)).tan();
            let score = match scores {
                0 | 1 => 8.0 * u - 4.0,
                // Ties; Cauchy; near 0 and 1; all the same.
                2 => (5.0 * u).floor() - 2.0,
                3 => tan,
                4 => 1e4 * tan,
                5 => 60.0 * u - 30.0,
                6 => 0.7,
                _ => -8.0 + 0.3 * u,
            };
            let chance = match seed % 5 {
                // Separable; reversed; noise; floor and ceiling; rare.
                0 => f64::from(u8::from(score > 0.1)),
                1 => f64::from(u8::from(score < 0.1)),
                2 => 0.5,
                3 => 0.2 + 0.7 * Sigmoid.u(3.0 * score),
                _ => 0.03,
            };
            z.push(score);
            y.push(u8::from(uniform() < chance));
            w.push(match weights {
                0 | 1 => 1.0,
                2 => 10f64.powf(16.0 * uniform() - 8.0),
                _ => (4.0 * uniform()).floor(),
            });
        }
        (z, y, w, folds)
    })
}

fn cases(few: u32) -> ProptestConfig {
    ProptestConfig::with_cases(match std::env::var("PROPERLOSS_PROFILE").as_deref() {
        Ok("fuzz" | "full") => 10_000,
        _ => few,
    })
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_promises_hold_on_any_rows((z, y, w, folds) in hard_rows()) {
        if w.iter().all(|&w| w == 0.0) {
            return Ok(());
        }
        let link = fit(&z, &y, &w, &turns(z.len(), folds));
        let tau = check_promises(&link.v, &z)?;
        prop_assert_eq!(tau, link.slope_ratio());
        prop_assert!(link.score.is_finite());
        let sum: f64 = link.points.iter().map(|point| point.weight).sum();
        prop_assert!((sum - 1.0).abs() < 1e-12);
        for (model, certificate) in &link.models {
            let (low, high) = model.slope_range();
            prop_assert!(low > 1.0 / TAU && high < TAU);
            // The tolerance, or what rounding leaves of sums of weights up to 1e8.
            let noise = 1e-12 * w.iter().zip(&z).map(|(w, z)| w * (1.0 + z.abs())).sum::<f64>();
            prop_assert!(certificate.decrement <= 1e-4 + noise, "{certificate:?}");
        }
    }

    #[test]
    fn the_calibrator_keeps_them((z, y, w, _) in hard_rows()) {
        let options = Calibrator::default().with_kind(ScoreKind::Scores);
        if let Ok(fit) = options.fit(&z, &y, Some(&w)) {
            let tau = check_promises(fit.link.v(), &[])?;
            prop_assert_eq!(tau, fit.slope_ratio);
            prop_assert!(fit.slope > 0.0);
            prop_assert!(fit.probabilities(&z).unwrap().iter().all(|&p| p > 0.0 && p < 1.0));
        }
    }

    /// The order of the rows, rows of weight 0, and a weight of 2 for a row twice.
    #[test]
    fn the_same_rows_give_the_same_link((z, y, w, folds) in hard_rows(), by in 1usize..50) {
        let w: Vec<f64> = w.iter().map(|&w| if w > 100.0 { 3.0 } else { w.floor() }).collect();
        prop_assume!(w.iter().any(|&w| w > 0.0));
        let n = z.len();
        let fold = turns(n, folds);
        let solve = |rows: &[usize], weight: &dyn Fn(usize) -> f64| {
            let z: Vec<f64> = rows.iter().map(|&i| z[i]).collect();
            let y: Vec<u8> = rows.iter().map(|&i| y[i]).collect();
            let w: Vec<f64> = rows.iter().map(|&i| weight(i)).collect();
            let fold: Vec<u32> = rows.iter().map(|&i| fold[i]).collect();
            tight().fit(&Bins::of_rows(&z, &y, &w, &fold).unwrap()).unwrap()
        };
        let whole: Vec<usize> = (0..n).collect();
        let link = solve(&whole, &|i| w[i]);
        let moved: Vec<usize> = (0..n).map(|i| (i + by) % n).collect();
        let kept: Vec<usize> = (0..n).filter(|&i| w[i] > 0.0).collect();
        let copies: Vec<usize> = (0..n).flat_map(|i| vec![i; w[i] as usize]).collect();
        let others = [
            solve(&moved, &|i| w[i]),
            solve(&kept, &|i| w[i]),
            solve(&copies, &|_| 1.0),
        ];
        for other in others {
            prop_assert!((link.score - other.score).abs() < 1e-6 * (1.0 + link.score.abs()));
            for k in -40..=40 {
                let p = Sigmoid.u(0.5 * f64::from(k));
                // Sums in another order, then Newton's method down to its tolerance.
                prop_assert!((link.v.eval(p) - other.v.eval(p)).abs() < 1e-5, "{p}");
            }
        }
    }
}

#[test]
fn threads_and_parts_change_no_bit() {
    let n = 300_000;
    let z: Vec<f64> = (0..n).map(|i| ((i * 7919) % 100_003) as f64 * 1e-4 - 5.0).collect();
    let y: Vec<u8> =
        (0..n).map(|i| u8::from((i * 31) % 97 < 30 + (z[i] * 6.0) as usize % 40)).collect();
    let w = vec![1.0; n];
    let fold = turns(n, 5);
    let run = |threads| {
        let pool = rayon_pool(threads);
        pool.install(|| fit(&z, &y, &w, &fold))
    };
    let (one, two, four) = (run(1), run(2), run(4));
    assert_eq!(one.v, two.v);
    assert_eq!(one.v, four.v);
    assert_eq!(one.score.to_bits(), four.score.to_bits());
    // Weights of 1 and scores of a few digits: parts add up to the same counts.
    let mut parts = Bins::default();
    for from in (0..n).step_by(70_000) {
        let part = from..(from + 70_000).min(n);
        let (z, y, w, fold) = (&z[part.clone()], &y[part.clone()], &w[part.clone()], &fold[part]);
        parts.merge(&Bins::of_rows(z, y, w, fold).unwrap());
    }
    let merged = Smooth::default().fit(&parts).unwrap();
    assert!((merged.score - one.score).abs() < 1e-6 * one.score.abs());
    for k in 0..=100 {
        let p = f64::from(k) / 100.0;
        assert!((merged.v.eval(p) - one.v.eval(p)).abs() < 1e-6);
    }
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Weights count rows: nearly none of them leave the links their prices, and nothing but the prior rows at the ends, a thousand
/// times as many are a thousand times as sure.
#[test]
fn weights_count_rows() {
    let n = 400;
    let z: Vec<f64> = (0..n).map(|i| (i as f64) * 0.015 - 3.0).collect();
    let y: Vec<u8> =
        (0..n).map(|i| u8::from((i * 37) % 100 < if z[i] > 0.0 { 70 } else { 30 })).collect();
    let fold = turns(n, 5);
    let few = fit(&z, &y, &vec![1e-6; n], &fold);
    let prices: f64 = (0..5).map(|j| (-0.5 * f64::from(j)).exp()).sum();
    assert!((few.points[0].weight - 1.0 / prices).abs() < 1e-3, "{}", few.points[0].weight);
    assert!(few.slope_ratio() < 1.4, "{}", few.slope_ratio());
    let some = fit(&z, &y, &vec![1.0; n], &fold);
    let many = fit(&z, &y, &vec![1000.0; n], &fold);
    assert!(many.points[0].weight < 1e-12);
    let error = |link: &SmoothLink| {
        let at = |z: f64, p: f64| (link.v.eval(Sigmoid.u(z)) - p).abs();
        at(-1.5, 0.3).max(at(1.5, 0.7))
    };
    assert!(error(&some) < 0.08 && error(&many) < 0.04, "{} {}", error(&some), error(&many));
}

/// Many rows and few: the bins of the many have the same link as the rows themselves.
#[test]
fn a_hundred_thousand_rows_find_the_truth() {
    let n = 100_000;
    let mut random = Congruence(5);
    let mut uniform = || random.uniform();
    let truth = |z: f64| 0.15 + 0.7 * Sigmoid.u(1.5 * z + 0.5);
    let z: Vec<f64> = (0..n).map(|_| 8.0 * uniform() - 4.0).collect();
    let y: Vec<u8> = z.iter().map(|&z| u8::from(uniform() < truth(z))).collect();
    let link = fit(&z, &y, &vec![1.0; n], &turns(n, 5));
    for k in -35..=35 {
        let z = 0.1 * f64::from(k);
        let (found, true_p) = (link.v.eval(Sigmoid.u(z)), truth(z));
        // Standard error of a window of one unit of scores: .0045.
        assert!((found - true_p).abs() < 0.02, "{z}: {found} {true_p}");
    }
    assert!(link.points[0].weight < 1e-9);
}

// -- the minima --------------------------------------------------------------------------------

/// `J` as the note has it, written once more.
struct Reference {
    k: Vec<f64>,
    /// `(p, negative weight, positive weight)`.
    bins: Vec<(f64, f64, f64)>,
    lambda: f64,
}

const KAPPA: f64 = 0.1;
const E: f64 = 0.4;

impl Reference {
    fn log_odds(p: f64) -> f64 {
        (p / (1.0 - p)).ln()
    }

    fn middles(&self) -> Vec<f64> {
        self.k.windows(2).map(|k| Self::log_odds(0.5 * (k[0] + k[1]))).collect()
    }

    fn lengths(&self) -> Vec<f64> {
        let last = self.k.len() - 2;
        (0..=last)
            .map(|j| match j {
                0 => 1.0,
                j if j == last => 1.0,
                j => Self::log_odds(self.k[j + 1]) - Self::log_odds(self.k[j]),
            })
            .collect()
    }

    fn place(&self, p: f64) -> (usize, f64) {
        let j = self.k.partition_point(|&k| k <= p).clamp(1, self.k.len() - 1) - 1;
        (j, (p - self.k[j]) / (self.k[j + 1] - self.k[j]))
    }

    fn value(&self, v: &[f64]) -> f64 {
        let (a, big) = (1.0 / TAU, TAU);
        let last = v.len() - 1;
        let s: Vec<f64> =
            (0..last).map(|j| (v[j + 1] - v[j]) / (self.k[j + 1] - self.k[j])).collect();
        let z = self.middles();
        let mut sum = 0.0;
        for &(p, negative, positive) in &self.bins {
            let (j, u) = self.place(p);
            let x = v[j] * (1.0 - u) + v[j + 1] * u;
            if positive > 0.0 {
                sum -= positive * x.ln();
            }
            if negative > 0.0 {
                sum -= negative * (1.0 - x).ln();
            }
        }
        for j in 1..last {
            sum += 0.5 * self.lambda * (s[j] - s[j - 1]).powi(2) / (z[j] - z[j - 1]);
        }
        for (s, l) in s.iter().zip(self.lengths()) {
            let b = -((s - a) / (1.0 - a)).ln() + (s - 1.0) / (1.0 - a)
                - ((big - s) / (big - 1.0)).ln()
                - (s - 1.0) / (big - 1.0);
            sum += KAPPA * l * b;
        }
        sum - (1.0 - v[0]).ln() - E * v[0].ln() - v[last].ln() - E * (1.0 - v[last]).ln()
    }

    /// The minimum by an interior-point method over exponential cones: for each `-w log(r.v + c)` a
    /// variable `t <= log(r.v + c)`, that is `(t, 1, r.v + c)` in the cone `y exp(x/y) <= z`.
    fn by_clarabel(&self) -> Option<Vec<f64>> {
        let n = self.k.len();
        let (a, big) = (1.0 / TAU, TAU);
        let width: Vec<f64> = self.k.windows(2).map(|k| k[1] - k[0]).collect();
        let mut q = vec![0.0; n];
        let mut logs: Vec<(f64, Vec<(usize, f64)>, f64)> = Vec::new();
        for &(p, negative, positive) in &self.bins {
            let (j, u) = self.place(p);
            if positive > 0.0 {
                logs.push((positive, vec![(j, 1.0 - u), (j + 1, u)], 0.0));
            }
            if negative > 0.0 {
                logs.push((negative, vec![(j, u - 1.0), (j + 1, -u)], 1.0));
            }
        }
        for (j, l) in self.lengths().into_iter().enumerate() {
            let h = 1.0 / width[j];
            logs.push((KAPPA * l, vec![(j, -h), (j + 1, h)], -a));
            logs.push((KAPPA * l, vec![(j, h), (j + 1, -h)], big));
            let tilt = KAPPA * l * (1.0 / (1.0 - a) - 1.0 / (big - 1.0)) * h;
            q[j] -= tilt;
            q[j + 1] += tilt;
        }
        logs.push((1.0, vec![(0, -1.0)], 1.0));
        logs.push((E, vec![(0, 1.0)], 0.0));
        logs.push((1.0, vec![(n - 1, 1.0)], 0.0));
        logs.push((E, vec![(n - 1, -1.0)], 1.0));

        let size = n + logs.len();
        let mut quadratic = vec![vec![0.0; n]; n];
        let z = self.middles();
        for j in 1..n - 1 {
            let c = self.lambda / (z[j] - z[j - 1]);
            let row = [
                (j - 1, 1.0 / width[j - 1]),
                (j, -1.0 / width[j - 1] - 1.0 / width[j]),
                (j + 1, 1.0 / width[j]),
            ];
            for (r, x) in row {
                for (s, y) in row {
                    quadratic[r][s] += c * x * y;
                }
            }
        }
        let (mut rows, mut cols, mut vals) = (vec![], vec![], vec![]);
        for (r, row) in quadratic.iter().enumerate() {
            for (s, &value) in row.iter().enumerate().skip(r).filter(|(_, value)| **value != 0.0) {
                rows.push(r);
                cols.push(s);
                vals.push(value);
            }
        }
        let p = CscMatrix::new_from_triplets(size, size, rows, cols, vals);
        q.extend(logs.iter().map(|(w, ..)| -w));
        let (mut rows, mut cols, mut vals, mut b) = (vec![], vec![], vec![], vec![]);
        for (i, (_, terms, constant)) in logs.iter().enumerate() {
            let row = b.len();
            rows.push(row);
            cols.push(n + i);
            vals.push(-1.0);
            for &(col, value) in terms {
                rows.push(row + 2);
                cols.push(col);
                vals.push(-value);
            }
            b.extend([0.0, 1.0, *constant]);
        }
        let matrix = CscMatrix::new_from_triplets(b.len(), size, rows, cols, vals);
        let cones: Vec<SupportedConeT<f64>> = vec![ExponentialConeT(); logs.len()];
        let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
        let mut solver = DefaultSolver::new(&p, &q, &matrix, &b, &cones, settings).ok()?;
        solver.solve();
        matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved)
            .then(|| solver.solution.x[..n].to_vec())
    }
}

#[test]
fn the_minima_are_clarabels() {
    let mut compared = 0;
    for seed in 0..12u64 {
        let mut random = Congruence(seed.wrapping_mul(99).wrapping_add(7));
        let mut uniform = || random.uniform();
        // Multiples of 1/8: every score a cell of its own.
        let z: Vec<f64> = (0..60).map(|_| (64.0 * uniform()).floor() / 8.0 - 4.0).collect();
        let y: Vec<u8> = z
            .iter()
            .map(|&z| {
                let chance = match seed % 4 {
                    0 => 0.2 + 0.6 * Sigmoid.u(3.0 * z),
                    1 => f64::from(u8::from(z > 0.5)),
                    2 => f64::from(u8::from(z < 0.0)),
                    _ => Sigmoid.u(z),
                };
                u8::from(uniform() < chance)
            })
            .collect();
        let w: Vec<f64> = (0..60).map(|_| 0.2 + 3.0 * uniform()).collect();
        let link = tight().fit(&Bins::of_rows(&z, &y, &w, &turns(60, 5)).unwrap()).unwrap();
        let mut bins = BTreeMap::<i64, (f64, f64, f64)>::new();
        for i in 0..60 {
            let bin = bins.entry((8.0 * z[i]) as i64).or_insert((Sigmoid.u(z[i]), 0.0, 0.0));
            if y[i] == 1 {
                bin.2 += w[i];
            } else {
                bin.1 += w[i];
            }
        }
        let bins: Vec<_> = bins.into_values().collect();
        for (lambda, (model, certificate)) in
            Smooth::default().smoothness.into_iter().zip(&link.models[1..])
        {
            let reference = Reference { k: model.x().to_vec(), bins: bins.clone(), lambda };
            let ours = reference.value(model.y());
            // The certificate is what it says: no small move does better than half of it.
            assert!(certificate.decrement < 1e-10, "{certificate:?}");
            let Some(v) = reference.by_clarabel() else { continue };
            compared += 1;
            let theirs = reference.value(&v);
            assert!(ours <= theirs + 1e-9, "seed {seed}, lambda {lambda}: {ours} {theirs}");
            // The bounds of the engine are 1e-7 inside those of the problem.
            assert!(ours >= theirs - 1e-4, "seed {seed}, lambda {lambda}: {ours} {theirs}");
            for (ours, theirs) in model.y().iter().zip(&v) {
                assert!((ours - theirs).abs() < 2e-3, "seed {seed}, lambda {lambda}");
            }
        }
    }
    assert!(compared >= 36, "Clarabel solved only {compared} of 48");
}

/// Another program (`tests/reference/smooth_link.py`) on five small instances.
#[test]
fn the_links_are_those_of_the_reference() {
    let mut instances = BTreeMap::<&str, BTreeMap<&str, Vec<f64>>>::new();
    for line in include_str!("reference/smooth_link.csv").lines().skip(1) {
        let mut fields = line.split(',');
        let (name, what, values) =
            (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let values = values.split(' ').map(|value| value.parse().unwrap()).collect();
        instances.entry(name).or_default().insert(what, values);
    }
    assert_eq!(instances.len(), 5);
    for (name, of) in instances {
        let y: Vec<u8> = of["y"].iter().map(|&y| u8::from(y == 1.0)).collect();
        let fold = turns(y.len(), 5);
        let bins = Bins::of_rows(&of["z"], &y, &of["w"], &fold).unwrap();
        let link = tight().fit(&bins).unwrap();
        let near = |what: &str, ours: &[f64], theirs: &[f64], tolerance: f64| {
            assert_eq!(ours.len(), theirs.len(), "{name} {what}");
            for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
                assert!((a - b).abs() <= tolerance, "{name} {what} {i}: {a} {b}");
            }
        };
        // Rounding of 1 - p where p is near 1.
        near("knots", link.models[1].0.x(), &of["knots"], 1e-14);
        // Both stand still to 1e-6; the engine's bounds are 1e-7 inside the reference's.
        for (j, (model, _)) in link.models[1..].iter().enumerate() {
            near("v", model.y(), &of[format!("v{j}").as_str()], 2e-6);
        }
        let scores: Vec<f64> = link.points.iter().map(|point| point.score).collect();
        near("scores", &scores, &of["scores"], 1e-4);
        near("average", link.v.y(), &of["average"], 1e-5);
        near("score", &[link.score], &of["score"], 1e-4);
    }
}
