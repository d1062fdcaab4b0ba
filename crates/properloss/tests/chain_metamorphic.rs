//! Relations between solutions of related problems.

mod chain_support;

use chain_support::{Instance, Rng, instances, random_instance};
use properloss::chain::{ScoreOrder, solve};
use properloss::link::{InverseLink, PiecewiseLink};
use properloss::piecewise::PiecewiseAffine;

/// Values agree where the weights determine them: both are within the duality gap of optimal, so
/// by strong convexity `Σ ω (y - y')² <= 4 gap / curvature`, and the gaps are near 1e-16 of `Σ ω`.
fn assert_same(p: &Instance, a: &[f64], b: &[f64], what: &str) {
    let heaviest = p.weights.iter().cloned().fold(0.0, f64::max);
    for i in 0..a.len() {
        let tolerance = 1e-9 + 1e-6 * (heaviest / p.weights[i] * 1e-6).sqrt().min(1.0);
        let distance = (a[i] - b[i]).abs();
        assert!(distance <= tolerance, "{what}: value {i}: {} {}\n{p:?}", a[i], b[i]);
    }
}

fn each(seed: u64, test: impl Fn(&mut Rng, Instance)) {
    let mut rng = Rng(seed);
    for k in 0..instances(200, 5000) {
        let p = random_instance(&mut rng, 40, k % 2 == 1);
        test(&mut rng, p);
    }
}

fn values(p: &Instance) -> Vec<f64> {
    solve(&p.problem()).unwrap().values
}

#[test]
fn permutation_of_the_rows() {
    each(21, |rng, p| {
        let m = p.len();
        let mut rows: Vec<usize> = (0..m).collect();
        for i in (1..m).rev() {
            rows.swap(i, rng.below(i + 1));
        }
        let z: Vec<f64> = rows.iter().map(|&r| p.scores[r]).collect();
        let w: Vec<f64> = rows.iter().map(|&r| p.weights[r]).collect();
        let mut order = ScoreOrder::new();
        order.update(&z).unwrap();
        let mut merged = p.clone();
        merged.scores = order.scores().to_vec();
        order.group_weights(Some(&w), &mut merged.weights).unwrap();
        order.group_means(Some(&w), |r| p.targets[rows[r]], &mut merged.targets).unwrap();
        let mut by_row = vec![0.0; m];
        order.scatter(&values(&merged), &mut by_row).unwrap();
        let mut back = vec![0.0; m];
        rows.iter().zip(&by_row).for_each(|(&r, &y)| back[r] = y);
        assert_same(&p, &values(&p), &back, "permuted");
    });
}

#[test]
fn a_duplicate_is_weight_two() {
    each(22, |rng, p| {
        let i = rng.below(p.len());
        let mut double = p.clone();
        double.weights[i] *= 2.0;
        let mut twice = p.clone();
        twice.scores.insert(i, p.scores[i]);
        twice.weights.insert(i, p.weights[i]);
        twice.targets.insert(i, p.targets[i]);
        let mut y = values(&twice);
        assert_eq!(y[i], y[i + 1], "equal scores have equal values");
        y.remove(i);
        assert_same(&p, &values(&double), &y, "duplicate");
    });
}

#[test]
fn weight_zero_is_removed() {
    each(23, |rng, p| {
        // Weightless points between, before and after; the ends keep the range of the scores.
        let mut zero = p.clone();
        let mut kept = Vec::new();
        for i in 0..p.len() {
            if rng.chance(0.3) {
                zero.weights[i] = 0.0;
                zero.targets[i] = 1e9 * rng.unit();
            } else {
                kept.push(i);
            }
        }
        let solution = solve(&zero.problem()).unwrap();
        assert!(zero.infeasibility(&solution.values) <= 1e-12, "{zero:?}");
        if kept.first() != Some(&0) || kept.last() != Some(&(p.len() - 1)) {
            return;
        }
        let pick = |v: &[f64]| kept.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let (scores, weights, targets) = (pick(&p.scores), pick(&p.weights), pick(&p.targets));
        let removed = Instance { scores, weights, targets, ..p.clone() };
        assert_same(&removed, &values(&removed), &pick(&solution.values), "removed");
    });
}

fn mapped(p: &Instance, map: impl Fn(f64) -> f64) -> Option<PiecewiseLink> {
    p.link.as_ref().map(|link| {
        let x = link.knots().x().iter().map(|&x| map(x)).collect();
        PiecewiseLink::new(PiecewiseAffine::new(x, link.knots().y().to_vec()).unwrap()).unwrap()
    })
}

#[test]
fn scaled_scores_with_scaled_slopes() {
    each(24, |rng, p| {
        // A power of two: exact, so the values agree to the bit.
        let factor = 2f64.powi(rng.below(200) as i32 - 100);
        let mut q = p.clone();
        q.scores.iter_mut().for_each(|z| *z *= factor);
        q.slopes = (p.slopes.0 / factor, p.slopes.1 / factor);
        q.link = mapped(&p, |x| x * factor);
        if p.link.is_some() {
            q.targets.iter_mut().for_each(|c| *c *= factor);
        }
        assert_eq!(values(&p), values(&q), "{p:?}");
    });
}

#[test]
fn shifted_scores() {
    each(25, |rng, p| {
        // Near-ties do not survive a shift: put the scores on a coarse grid first.
        let unit = (p.scores[p.len() - 1] - p.scores[0]).max(1e-3) / 1024.0;
        let unit = 2f64.powi(unit.log2().floor() as i32);
        let mut a = p.clone();
        a.scores.iter_mut().for_each(|z| *z = (*z / unit).round() * unit);
        a.slopes.0 *= 0.9;
        a.last.0 = f64::NEG_INFINITY;
        a.link = None;
        if p.link.is_some() {
            return;
        }
        let shift = unit * (rng.below(100_000) as f64 - 50_000.0);
        let mut b = a.clone();
        b.scores.iter_mut().for_each(|z| *z += shift);
        assert_eq!(values(&a), values(&b), "{a:?}");
    });
}

#[test]
fn reversed_and_complemented() {
    each(26, |_, p| {
        let link = p.link.as_ref().map(|link| {
            let x = link.knots().x().iter().rev().map(|x| -x).collect();
            let y = link.knots().y().iter().rev().map(|y| 1.0 - y).collect();
            PiecewiseLink::new(PiecewiseAffine::new(x, y).unwrap()).unwrap()
        });
        let bregman = link.is_some();
        if p.last.0 == f64::NEG_INFINITY && p.first.1 < 1.0 && bregman {
            // The mirror image of an unbounded last value is an unbounded first one: allowed.
        }
        let target = |t: &f64| if bregman { -t } else { 1.0 - t };
        let q = Instance {
            scores: p.scores.iter().rev().map(|z| -z).collect(),
            weights: p.weights.iter().rev().copied().collect(),
            targets: p.targets.iter().rev().map(target).collect(),
            slopes: p.slopes,
            first: (1.0 - p.last.1, 1.0 - p.last.0),
            last: (1.0 - p.first.1, 1.0 - p.first.0),
            link,
        };
        let back: Vec<f64> = values(&q).iter().rev().map(|y| 1.0 - y).collect();
        let (ours, theirs) = (p.cost(&values(&p)), p.cost(&back));
        let total: f64 = p.weights.iter().sum();
        // Complementing the values rounds them at 1e-16, a cost of 1e-15 of the total weight.
        let slack =
            1e-13 * total * p.unit().max(p.link.as_ref().map_or(0.0, |l| l.support().1.abs()));
        assert!((ours - theirs).abs() <= slack.max(1e-13 * total), "{ours:e} {theirs:e}\n{p:?}");
    });
}
