//! The seven identities of the paper's factsheet, for `D_U` and `D_{U*}`.

use std::sync::Arc;

use properloss::bregman::{conjugate_information, information};
use properloss::link::{InverseLink, PiecewiseLink, RelativeLink, Sigmoid};
use properloss::piecewise::PiecewiseAffine;
use proptest::prelude::*;

use crate::{
    EPS, Link, any_link, bounded_link, config, near, piecewise, probability, range, score,
};

/// Relative error of a divergence (`tests/reference.rs`, `tests/stable_divergence.rs`).
const D: f64 = 1e-12;
/// Rounding errors of one evaluation of u, U, ... in units of eps.
const C: f64 = 45.0;

/// A pair of scores, often near one another.
fn pair(link: &Link, s: f64, t: f64, gap: f64) -> (f64, f64) {
    let a = score(link, s);
    let far = score(link, t);
    (a, a + gap * (far - a))
}

fn gap() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), (-6.0..0.0f64).prop_map(|e| 10f64.powf(e))]
}

/// Relative links place their knots at rounded scores and take differences of base probabilities.
fn knot_error(link: &Link, a: f64, b: f64) -> f64 {
    match link.spec() {
        properloss::link::LinkSpec::Relative { .. } => {
            C * EPS * (a - b).abs() * (1.0 + a.abs() + b.abs())
        }
        _ => 0.0,
    }
}

proptest! {
    #![proptest_config(config())]

    /// 1. Non-negativity, and 0 only at equal points; convex in the left argument.
    #[test]
    fn non_negative(link in any_link(), s in probability(), t in probability(), gap in gap()) {
        let (a, b) = pair(&link, s, t, gap);
        let d = link.divergence(a, b);
        prop_assert!(d >= 0.0, "{link:?} {a} {b}: {d:e}");
        prop_assert_eq!(link.divergence(a, a), 0.0);
        if (link.u(a) - link.u(b)).abs() > C * EPS {
            prop_assert!(d > 0.0, "{link:?} {a} {b}");
        }
        let (p, q) = (link.u(a), link.u(b));
        prop_assert!(link.conjugate_divergence(p, q) >= 0.0, "{link:?} {p} {q}");
        prop_assert_eq!(link.conjugate_divergence(p, p), 0.0);
        let middle = 0.5 * (a + b);
        let slack = D * d + knot_error(&link, a, b);
        prop_assert!(link.divergence(middle, b) <= 0.5 * d + slack, "{link:?} {a} {b}");
    }

    /// 2. `D_U(a, b) = u'(c) (a - b)²/2` for some c between: the factor is a weighted mean of u' over
    /// 512 points up to the error of that mean, below 1/100 of their spread.
    #[test]
    fn locally_square(link in any_link(), s in probability(), t in probability(), gap in gap()) {
        let (a, b) = pair(&link, s, t, gap);
        let square = (a - b) * (a - b);
        prop_assume!(square > 1e-200);
        let factor = 2.0 * link.divergence(a, b) / square;
        let mut at: Vec<f64> = (0..=256).map(|i| b + (a - b) * f64::from(i) / 256.0).collect();
        // As many equally spaced in probability, so that no bump of u' is missed.
        let (p, q) = (link.u(a), link.u(b));
        at.extend((1..256).map(|i| link.u_inverse(p + (q - p) * f64::from(i) / 256.0)));
        at.retain(|z| (a.min(b)..=a.max(b)).contains(z));
        if let Some(knots) = link.as_piecewise() {
            let inside = |z: &&f64| (a.min(b)..=a.max(b)).contains(*z);
            at.extend(knots.knots().x().iter().filter(inside));
        } else if let properloss::link::LinkSpec::Relative { base, p, .. } = link.spec() {
            // Every piece of v that is met, at both of its ends.
            let base = base.build().unwrap();
            for z in p.iter().map(|&p| base.u_inverse(p)) {
                for z in [z, z - 4.0 * EPS * z.abs().max(1.0), z + 4.0 * EPS * z.abs().max(1.0)] {
                    if (a.min(b)..=a.max(b)).contains(&z) {
                        at.push(z);
                    }
                }
            }
        }
        // At a kink `derivative` is the slope to the right; from the left, that just before b.
        let slopes: Vec<f64> = at.iter().map(|&z| link.derivative(z)).collect();
        let low = slopes.iter().copied().fold(f64::INFINITY, f64::min);
        let high = slopes.iter().copied().fold(0.0, f64::max);
        let slack = 0.01 * (high - low)
            + (D + C * EPS) * high
            + 2.0 * knot_error(&link, a, b) / square;
        let slack = if link.as_piecewise().is_some() { (D + C * EPS) * high } else { slack };
        prop_assert!(low - slack <= factor && factor <= high + slack,
            "{link:?} {a} {b}: {factor:e} not in [{low:e}, {high:e}]");
    }

    /// 3. `D(a, c) = D(a, b) + D(b, c) + (u(c) - u(b))(b - a)`.
    #[test]
    fn three_points(link in any_link(), s in probability(), t in probability(), r in probability(), gap in gap()) {
        let (a, b) = pair(&link, s, t, gap);
        let (_, c) = pair(&link, s, r, gap);
        let parts = [link.divergence(a, b), link.divergence(b, c)];
        let difference = if link.u(b) <= 0.5 {
            link.u(c) - link.u(b)
        } else {
            link.one_minus_u(b) - link.one_minus_u(c)
        };
        let left = link.divergence(a, c);
        let size = left + parts[0] + parts[1];
        let heights = link.u(c).min(link.one_minus_u(c)) + link.u(b).min(link.one_minus_u(b));
        let tolerance = D * size + C * EPS * heights * (b - a).abs()
            + knot_error(&link, a, b) + knot_error(&link, b, c);
        near!(left, parts[0] + parts[1] + difference * (b - a), tolerance, "{link:?} {a} {b} {c}");
    }

    /// 4. Affine terms do not count: the difference of U + alpha z + beta, as it is defined.
    #[test]
    fn affine_terms(link in any_link(), s in probability(), t in probability(), alpha in -3.0..3.0f64, beta in -3.0..3.0f64) {
        let (a, b) = (score(&link, s), score(&link, t));
        let f = |z: f64| link.potential(z) + alpha * z + beta;
        let defined = f(a) - f(b) - (a - b) * (link.u(b) + alpha);
        let size = link.potential(a).abs() + link.potential(b).abs() + beta.abs()
            + 2.0 * (1.0 + alpha.abs()) * (a.abs() + b.abs() + 1.0);
        let d = link.divergence(a, b);
        near!(d, defined, C * EPS * size + D * d + 2.0 * knot_error(&link, a, b), "{link:?} {a} {b}");
    }

    /// 5. `D_U(a, b) = D_{U*}(u(b), u(a))`. Rounding u(b) by eps costs eps |a - b|, rounding u(a)
    /// costs eps |u(a) - u(b)|/u'(a).
    #[test]
    fn dual_symmetry(link in any_link(), s in probability(), t in probability()) {
        let (a, b) = (score(&link, s), score(&link, t));
        let (p, q) = (link.u(b), link.u(a));
        let d = link.divergence(a, b);
        let slope = link.derivative(a).min(link.derivative(a - 4.0 * EPS * a.abs()));
        prop_assume!(slope > 0.0 && p > 0.0 && p < 1.0 && q > 0.0 && q < 1.0);
        let tolerance = D * d + C * EPS * ((a - b).abs() * (p + (p - q).abs()) + q * (p - q).abs() / slope)
            + C * EPS * (a.abs() + b.abs()) * (p - q).abs() + 2.0 * knot_error(&link, a, b);
        near!(link.conjugate_divergence(p, q), d, tolerance, "{link:?} {a} {b}");
    }

    /// 6. and 7. The mean minimises `E[D(Z, z)]`, and there it is the Bregman information: for
    /// every z, `E[D(Z, z)] = I(Z) + D(mean, z)`.
    #[test]
    fn mean_and_information(
        link in any_link(),
        shares in prop::collection::vec((probability(), 0.0..2.0f64), 1..12),
        other in probability(),
    ) {
        let scores: Vec<f64> = shares.iter().map(|s| score(&link, s.0)).collect();
        let mut weights: Vec<f64> = shares.iter().map(|s| s.1).collect();
        weights[0] += 0.1;
        let total: f64 = weights.iter().sum();
        let mean_of = |f: &dyn Fn(f64) -> f64| {
            scores.iter().zip(&weights).map(|(&z, w)| w * f(z)).sum::<f64>() / total
        };
        let z = score(&link, other);
        let info = information(&*link, &scores, Some(&weights)).unwrap();
        let at_z = mean_of(&|a| link.divergence(a, z));
        let widest = scores.iter().map(|a| (a - z).abs()).fold(0.0, f64::max);
        let largest = scores.iter().map(|a| a.abs()).fold(z.abs(), f64::max);
        // The mean is rounded: eps |mean| times the slope of the identity in it, at most 1.
        let tolerance = D * at_z + C * EPS * (largest + widest) * (1.0 + widest).min(2.0)
            + 4.0 * C * EPS * (1.0 + largest) * widest;
        near!(at_z, info.value + link.divergence(info.mean, z), tolerance, "{link:?} {scores:?} {z}");
        prop_assert!(info.value <= at_z + tolerance);

        // I = E[U(Z)] - U(E[Z])
        let defined = mean_of(&|a| link.potential(a)) - link.potential(info.mean);
        let size = mean_of(&|a| link.potential(a).abs()) + largest + 1.0;
        near!(info.value, defined, D * info.value + 4.0 * C * EPS * size + tolerance, "{link:?} {scores:?}");

        let (low, high) = range(&link);
        let values: Vec<f64> = shares.iter().map(|s| low + s.0 * (high - low)).collect();
        let info = conjugate_information(&*link, &values, Some(&weights)).unwrap();
        let q = low + other * (high - low);
        let at_q: f64 = values.iter().zip(&weights).map(|(&p, w)| w * link.conjugate_divergence(p, q)).sum::<f64>() / total;
        let slope = link.derivative(link.u_inverse(q)).min(link.derivative(link.u_inverse(info.mean)));
        prop_assume!(slope > 1e-12);
        let reach = link.u_inverse(q).abs() + link.u_inverse(info.mean).abs() + largest + 1.0;
        let tolerance = D * at_q + 4.0 * C * EPS * (reach + 1.0 / slope);
        near!(at_q, info.value + link.conjugate_divergence(info.mean, q), tolerance, "{link:?} {values:?} {q}");
    }

    /// The Bregman information of labels is the least expected loss `π U*(1) - U*(π)`.
    #[test]
    fn information_of_labels(link in bounded_link(), n in 1usize..30, m in 1usize..30) {
        let labels: Vec<f64> = (0..n + m).map(|i| f64::from(u8::from(i < n))).collect();
        let info = conjugate_information(&*link, &labels, None).unwrap();
        let pi = n as f64 / (n + m) as f64;
        near!(info.mean, pi, 4.0 * EPS, "mean");
        let (top, at) = (link.conjugate(1.0), link.conjugate(pi));
        let z = link.u_inverse(pi);
        let size = top.abs() + at.abs() + z.abs() + 1.0;
        near!(info.value, pi * top - at, C * EPS * size * 4.0, "{link:?}");
    }

    /// Few pieces by direct sums, many by prefix sums: additive over a point in between.
    #[test]
    fn pieces_add_up(link in piecewise(), s in probability(), t in probability(), r in probability()) {
        let mut z = [score(&link, s), score(&link, t), score(&link, r)];
        z.sort_by(f64::total_cmp);
        let [b, m, a] = z;
        // ∫_b^a (u - u(b)) = D(m, b) + D(a, m) + (u(m) - u(b))(a - m)
        let whole = link.divergence(a, b);
        let rise = if link.u(m) <= 0.5 { link.u(m) - link.u(b) } else { link.one_minus_u(b) - link.one_minus_u(m) };
        let sum = link.divergence(m, b) + link.divergence(a, m) + rise * (a - m);
        near!(sum, whole, D * whole + C * EPS * (a - m), "{link:?} {z:?}");
    }
}

/// With a floor `a` and a ceiling `a + b` over the sigmoid, `D_{U*}(p, q)` is `b` times that of the
/// sigmoid, the relative entropy, at the preimages `(p - a)/b`; at 0 and 1 it is infinite.
#[test]
fn conjugate_divergence_between_a_floor_and_a_ceiling() {
    let v = PiecewiseAffine::new(vec![0.0, 1.0], vec![0.125, 0.75]).unwrap();
    let link = RelativeLink::new(Arc::new(Sigmoid), v).unwrap();
    // A few roundings of numbers near 1.
    let close = |a: f64, b: f64| assert!((a - b).abs() < 40.0 * EPS, "{a} {b}");
    let entropy = |p: f64, q: f64| p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
    for (p, q) in [(0.25, 0.5), (0.5, 0.25), (0.7, 0.2)] {
        let expected = 0.625 * entropy((p - 0.125) / 0.625, (q - 0.125) / 0.625);
        close(link.conjugate_divergence(p, q), expected);
    }
    for end in [0.0, 1.0] {
        assert_eq!(link.conjugate_divergence(end, 0.5), f64::INFINITY);
    }
    // From 0 to 1 the ends are within reach: of the sigmoid itself, -ln q and -ln(1 - q).
    let v = PiecewiseAffine::new(vec![0.0, 1.0], vec![0.0, 1.0]).unwrap();
    let whole = RelativeLink::new(Arc::new(Sigmoid), v).unwrap();
    close(whole.conjugate_divergence(0.0, 0.25), -(0.75f64).ln());
    close(whole.conjugate_divergence(1.0, 0.25), -(0.25f64).ln());
    for bad in [-0.1, 1.1, f64::NAN] {
        let found = [whole.conjugate_divergence(bad, 0.5), whole.conjugate_divergence(0.5, bad)];
        assert!(found.iter().all(|value| value.is_nan()), "{bad}: {found:?}");
    }
    // u = 1/8 + 5/8 sigmoid: the score of 1 - q from either side.
    for q in [0.3, 0.5, 0.7] {
        let inner: f64 = (1.0 - q - 0.125) / 0.625;
        close(link.u_inverse_of_complement(q), (inner / (1.0 - inner)).ln());
    }
}

/// Links are the same if their knots are, whether or not one has been used already.
#[test]
fn piecewise_links_are_equal_by_their_knots() {
    let link = |middle: f64| {
        PiecewiseLink::from_knots(vec![-1.0, 0.5, 2.0], vec![0.0, middle, 1.0]).unwrap()
    };
    let used = link(0.25);
    assert!(used.potential(1.0) > 0.0);
    assert_eq!(used, link(0.25));
    assert_ne!(used, link(0.5));
}
