//! u, its derivative, its inverse, U and U*.

use properloss::link::{ClippedLine, InverseLink, IsotonicLink, Sigmoid};
use proptest::prelude::*;

use crate::{EPS, any_link, config, near, piecewise, probability, range, registered, score};

/// Rounding errors of one evaluation, in units of eps: each function is good to 1e-14 relative
/// (`tests/reference.rs`), that is 45 eps.
const C: f64 = 45.0;

proptest! {
    #![proptest_config(config())]

    /// `u(u⁻¹(p)) = p`. A score rounded by eps |z| moves u by eps |z| u'(z); inside a piece of the
    /// learned link the knots' own size counts, not that of z alone.
    #[test]
    fn round_trip_of_a_probability(link in any_link(), share in probability()) {
        let (low, high) = range(&link);
        let p = low + share * (high - low);
        let z = link.u_inverse(p);
        let slope = link.derivative(z).max(link.derivative(z - EPS * z.abs()));
        let size = z.abs() + knot_size(&link);
        near!(link.u(z), p, C * EPS * (p + size * slope), "{link:?} z {z}");
        let q = 1.0 - p;
        let z = link.u_inverse_of_complement(q);
        let size = z.abs() + knot_size(&link);
        near!(link.one_minus_u(z), q, C * EPS * (q + size * slope), "{link:?} z {z}");
    }

    /// `u⁻¹(u(z)) = z`, from whichever of u and 1 - u is smaller. A probability rounded by eps u
    /// moves the score by eps u/u'. In a relative link the probability passes through v.
    #[test]
    fn round_trip_of_a_score(link in any_link(), share in probability()) {
        let z = score(&link, share);
        let (u, complement) = (link.u(z), link.one_minus_u(z));
        let slope = link.derivative(z);
        prop_assume!(slope > 0.0 && u > 0.0 && complement > 0.0);
        let relative = matches!(link.spec(), properloss::link::LinkSpec::Relative { .. });
        let size = z.abs() + knot_size(&link);
        let (low, high) = range(&link);
        if u <= 0.5 {
            let through = if relative { u.max(low) } else { u };
            near!(link.u_inverse(u), z, C * EPS * (size + through / slope), "{link:?}");
        } else {
            let through = if relative { complement.max(1.0 - high) } else { complement };
            let back = link.u_inverse_of_complement(complement);
            near!(back, z, C * EPS * (size + through / slope), "{link:?}");
        }
    }

    /// u and u⁻¹ increase: never back by more than rounding, strictly over a real distance.
    #[test]
    fn monotone(link in any_link(), s in probability(), t in probability()) {
        let (z, w) = (score(&link, s.min(t)), score(&link, s.max(t)));
        prop_assert!(z <= w || (z - w).abs() <= C * EPS * z.abs(), "{link:?}: {z} {w}");
        let (z, w) = (z.min(w), z.max(w));
        prop_assert!(link.u(z) <= link.u(w) * (1.0 + C * EPS), "{link:?} {z} {w}");
        let (above, below) = (link.one_minus_u(w), link.one_minus_u(z));
        prop_assert!(above <= below * (1.0 + C * EPS), "{link:?} {z} {w}");
        if (s - t).abs() > 1e-12 {
            prop_assert!(z < w && link.u(z) < link.u(w), "{link:?} {z} {w}");
        }
    }

    /// u', U' = u and (U*)' = u⁻¹ against central differences. The truncation error of the
    /// difference is estimated by halving its step, the rounding error is that of the values over
    /// the step.
    #[test]
    fn derivatives_against_differences(link in any_link(), share in 0.01..0.99f64, e in -4.0..-2.0f64) {
        let z = score(&link, share);
        let h = 10f64.powf(e) * z.abs().max(0.1);
        let slopes = [link.derivative(z - h), link.derivative(z), link.derivative(z + h)];
        // Not across a kink, of which the difference would be the mean of the two slopes.
        let change = slopes.iter().fold(0.0f64, |m, s| m.max((s - slopes[1]).abs()));
        prop_assume!(change < 0.05 * slopes[1] && no_knot_between(&link, z - h, z + h));

        let difference = |f: &dyn Fn(f64) -> f64, at: f64, h: f64| {
            let (right, left) = (at + h, at - h);
            let coarse = (f(right) - f(left)) / (right - left);
            let (r2, l2) = (at + 0.5 * h, at - 0.5 * h);
            let fine = (f(r2) - f(l2)) / (r2 - l2);
            let truncation = (coarse - fine).abs();
            let rounding = 2.0 * C * EPS * (f(right).abs() + f(left).abs()) / h;
            // at ± h itself is rounded, which tilts a curved function
            let placing = EPS * at.abs() / h * coarse.abs() * 0.05;
            (fine, truncation + 2.0 * rounding + placing)
        };
        let size = knot_size(&link);
        let (slope, tolerance) = difference(&|z| link.u(z), z, h);
        near!(slope, slopes[1], tolerance + C * EPS * size * slopes[1] / h, "u' of {link:?} at {z}");
        let (slope, tolerance) = difference(&|z| link.potential(z), z, h);
        near!(slope, link.u(z), tolerance + C * EPS * size / h, "U' of {link:?} at {z}");
        let p = link.u(z);
        let k = 0.1 * h * slopes[1];
        if p - k > range(&link).0 && p + k < range(&link).1 && k > 0.0 {
            let (slope, tolerance) = difference(&|p| link.conjugate(p), p, k);
            near!(slope, z, tolerance + C * EPS * (size + z.abs()) / k, "(U*)' of {link:?} at {p}");
        }
    }

    /// `U(z) + U*(p) - p z` is 0 at `p = u(z)` (Young's equality) and never negative (inequality).
    /// Rounding p itself only has a second-order effect.
    #[test]
    fn young(link in any_link(), s in probability(), t in probability()) {
        let (z, w) = (score(&link, s), score(&link, t));
        for (z, p, equal) in [(z, link.u(z), true), (z, link.u(w), false), (w, link.u(z), false)] {
            let terms = [link.potential(z), link.conjugate(p), -p * z];
            prop_assume!(terms.iter().all(|t| t.is_finite()));
            let sum: f64 = terms.iter().sum();
            let mut size: f64 = terms.iter().map(|t| t.abs()).sum();
            size += knot_size(&link) + floor_size(&link, z);
            if equal {
                near!(sum, 0.0, C * EPS * size, "{link:?} z {z} p {p}");
            }
            prop_assert!(sum >= -C * EPS * size, "{link:?} z {z} p {p}: {sum:e}");
        }
    }

    /// `U(z) - z + U*(1)` is the upper potential, U the lower one: both positive and monotone.
    #[test]
    fn upper_potential_is_the_other_side(link in any_link(), s in probability()) {
        let z = score(&link, s);
        let top = link.conjugate(1.0);
        prop_assume!(top.is_finite() && link.conjugate(0.0).is_finite());
        let value = link.potential(z) - z + top;
        let size = link.potential(z) + z.abs() + top.abs() + knot_size(&link);
        near!(link.upper_potential(z), value, C * EPS * size, "{link:?} at {z}");
        prop_assert!(link.upper_potential(z) >= 0.0 && link.potential(z) >= 0.0);
        near!(link.u(z) + link.one_minus_u(z), 1.0, C * EPS, "{link:?} at {z}");
    }

    /// What a file stores builds the same link again.
    #[test]
    fn spec_round_trip(link in any_link(), s in probability()) {
        let again = link.spec().build().unwrap();
        let z = score(&link, s);
        prop_assert_eq!(again.u(z).to_bits(), link.u(z).to_bits());
        prop_assert_eq!(again.potential(z).to_bits(), link.potential(z).to_bits());
        prop_assert_eq!(again.spec(), link.spec());
    }

    /// Without flat pieces the isotonic link is the piecewise one.
    #[test]
    fn isotonic_without_flat_pieces_is_piecewise(link in piecewise(), s in probability(), t in probability(), out in -1.0..1.0f64) {
        let knots = link.as_piecewise().unwrap().knots();
        let own = IsotonicLink::new(knots.x().to_vec(), knots.y().to_vec()).unwrap();
        prop_assert_eq!((own.z(), own.values(), own.support()), (knots.x(), knots.y(), link.support()));
        let (z_min, z_max) = link.support();
        let wide = z_max - z_min;
        let beyond = if out < 0.0 { z_min + out } else { z_max + out };
        // Areas of at most the width, slopes up to 1e8: a score rounded by eps moves u by 1e-8 eps.
        let size = z_min.abs() + z_max.abs() + wide;
        for z in [score(&link, s), beyond] {
            let slope = link.derivative(z).max(link.derivative(z - EPS * size));
            near!(own.u(z), link.u(z), C * EPS * (1.0 + size * slope), "u at {z}");
            near!(own.derivative(z), link.derivative(z), C * EPS * slope, "u' at {z}");
            near!(own.potential(z), link.potential(z), 200.0 * C * EPS * size, "U at {z}");
            near!(own.upper_potential(z), link.upper_potential(z), 200.0 * C * EPS * size, "at {z}");
            let w = score(&link, t);
            let tolerance = 400.0 * C * EPS * size;
            near!(own.divergence(z, w), link.divergence(z, w), tolerance, "D({z}, {w})");
        }
        let inverse = link.u_inverse(s);
        let slope = link.derivative(inverse).min(link.derivative(inverse - EPS * size)).max(1e-9);
        near!(own.u_inverse(s), inverse, C * EPS * (size + 1.0 / slope), "u⁻¹ at {s}");
        near!(own.conjugate(s), link.conjugate(s), 400.0 * C * EPS * size, "U* at {s}");
        let (ours, theirs) = (own.conjugate_divergence(s, t), link.conjugate_divergence(s, t));
        near!(ours, theirs, 1000.0 * C * EPS * (size + 1.0 / slope), "D({s}, {t})");
        prop_assert_eq!(own.spec(), properloss::link::LinkSpec::Isotonic { z: knots.x().to_vec(), u: knots.y().to_vec() });
    }

    /// What a link has without giving it itself: the defaults of the trait, on the sigmoid.
    #[test]
    fn defaults_suffice(z in -20.0..20.0f64, w in -20.0..20.0f64, p in 0.001..0.999f64) {
        #[derive(Debug)]
        struct Bare;
        impl InverseLink for Bare {
            fn u(&self, z: f64) -> f64 {
                Sigmoid.u(z)
            }
            fn derivative(&self, z: f64) -> f64 {
                Sigmoid.derivative(z)
            }
            fn u_inverse(&self, p: f64) -> f64 {
                Sigmoid.u_inverse(p)
            }
            fn potential(&self, z: f64) -> f64 {
                Sigmoid.potential(z)
            }
            fn conjugate(&self, p: f64) -> f64 {
                Sigmoid.conjugate(p)
            }
        }
        near!(Bare.one_minus_u(z), Sigmoid.one_minus_u(z), C * EPS, "1 - u({z})");
        near!(Bare.upper_potential(z), Sigmoid.upper_potential(z), C * EPS * (1.0 + 2.0 * z.abs()), "at {z}");
        let size = 1.0 / (p * (1.0 - p));
        near!(Bare.u_inverse_of_complement(p), Sigmoid.u_inverse_of_complement(p), C * EPS * size, "at {p}");
        let (ours, theirs) = (Bare.divergence(z, w), Sigmoid.divergence(z, w));
        // Without its own forms it is a difference of potentials, which are of the size of the scores.
        let size = 1.0 + z.abs() + w.abs();
        near!(ours, theirs, 1e-12 * theirs + C * EPS * size, "D({z}, {w})");
        let q = Sigmoid.u(w);
        let (ours, theirs) = (Bare.conjugate_divergence(p, q), Sigmoid.conjugate_divergence(p, q));
        near!(ours, theirs, 1e-9 * theirs + C * EPS * size, "D({p}, {q})");
        prop_assert_eq!(Bare.support(), (f64::NEG_INFINITY, f64::INFINITY));
        prop_assert!(Bare.as_piecewise().is_none() && Bare.spec().name() == "custom");
        let mut out = [0.0; 2];
        Bare.u_into(&[z, w], &mut out);
        prop_assert_eq!(out, [Sigmoid.u(z), Sigmoid.u(w)]);
    }

    /// The upper potential of the trait is `U(z) - z + U*(1)`, also where `U*(1)` is not 0.
    #[test]
    fn the_default_upper_potential_counts_the_conjugate_of_1(z in -5.0..5.0f64, a in 0.2..3.0f64, c in 0.0..1.0f64) {
        #[derive(Debug)]
        struct Line(ClippedLine);
        impl InverseLink for Line {
            fn u(&self, z: f64) -> f64 {
                self.0.u(z)
            }
            fn derivative(&self, z: f64) -> f64 {
                self.0.derivative(z)
            }
            fn u_inverse(&self, p: f64) -> f64 {
                self.0.u_inverse(p)
            }
            fn potential(&self, z: f64) -> f64 {
                self.0.potential(z)
            }
            fn conjugate(&self, p: f64) -> f64 {
                self.0.conjugate(p)
            }
        }
        let line = Line(ClippedLine::new(a, c).unwrap());
        let size = 1.0 + z.abs() + 1.0 / a;
        near!(line.upper_potential(z), line.0.upper_potential(z), C * EPS * size, "at {z}");
        near!(line.u_inverse_of_complement(c), line.0.u_inverse(1.0 - c), C * EPS * size, "at {c}");
    }

    /// Many scores at once, sorted or not, give the same bits as one by one.
    #[test]
    fn slices_and_merging(link in piecewise(), mut z in prop::collection::vec(-30.0..40.0f64, 0..300)) {
        let knots = link.as_piecewise().unwrap();
        let one_by_one = |z: &[f64]| z.iter().map(|&z| link.u(z)).collect::<Vec<_>>();
        let mut out = vec![0.0; z.len()];
        link.u_into(&z, &mut out);
        prop_assert_eq!(&out, &one_by_one(&z));
        prop_assert_eq!(&knots.knots().eval_slice(&z), &one_by_one(&z));
        z.extend_from_slice(knots.knots().x());
        z.sort_by(f64::total_cmp);
        let mut out = vec![0.0; z.len()];
        knots.u_sorted_into(&z, &mut out).unwrap();
        prop_assert_eq!(&out, &one_by_one(&z));
    }
}

/// The scores of the knots, whose rounding the piecewise forms carry.
fn knot_size(link: &crate::Link) -> f64 {
    match link.spec() {
        properloss::link::LinkSpec::Piecewise { z, .. } => z[0].abs().max(z[z.len() - 1].abs()),
        // The base link's score at each knot is exact to its own size, which counts with its slope.
        properloss::link::LinkSpec::Relative { base, p, .. } => {
            let base = base.build().unwrap();
            let inner = &p[1..p.len() - 1];
            inner.iter().map(|&p| base.u_inverse(p).abs()).fold(1.0, f64::max)
        }
        _ => 0.0,
    }
}

/// The potential of a relative link without a canonical loss is a difference from that at 0.
fn floor_size(link: &crate::Link, z: f64) -> f64 {
    match link.spec() {
        properloss::link::LinkSpec::Relative { .. } => link.divergence(z, 0.0) + z.abs(),
        _ => 0.0,
    }
}

fn no_knot_between(link: &crate::Link, low: f64, high: f64) -> bool {
    let knots = match link.spec() {
        properloss::link::LinkSpec::Piecewise { z, .. } => z,
        properloss::link::LinkSpec::Relative { base, p, .. } => {
            let base = base.build().unwrap();
            p.iter().map(|&p| base.u_inverse(p)).collect()
        }
        _ => {
            let (z_min, z_max) = link.support();
            vec![z_min, z_max]
        }
    };
    !knots.iter().any(|k| (low..=high).contains(k))
}

/// No overflow, no NaN at huge scores; the ends of the range are the ends.
#[test]
fn huge_scores_and_ends() {
    for link in registered() {
        for z in [1e4, -1e4, 1e5, -1e5, 1e100, -1e100, 0.0, -0.0, f64::MIN_POSITIVE] {
            let (u, c) = (link.u(z), link.one_minus_u(z));
            assert!((0.0..=1.0).contains(&u) && (0.0..=1.0).contains(&c), "{link:?} {z}");
            assert!(link.derivative(z) >= 0.0 && link.derivative(z).is_finite(), "{link:?} {z}");
            assert!(link.potential(z).is_finite(), "{link:?} {z}");
            let upper = link.upper_potential(z);
            let heavy = link.conjugate(1.0).is_infinite();
            assert!(upper.is_finite() || heavy && upper > 0.0, "{link:?} {z}");
            for b in [0.0, 3.0, -3.0, 1e4, -1e4] {
                let d = link.divergence(z, b);
                assert!(d >= 0.0, "{link:?} {z} {b}: {d}");
            }
        }
        assert_eq!(link.u(f64::NEG_INFINITY), 0.0, "{link:?}");
        assert_eq!(link.u(f64::INFINITY), 1.0, "{link:?}");
        let (z_min, z_max) = link.support();
        // Outside of its support a link is flat, and one of its potentials is 0.
        if z_min.is_finite() {
            let z = z_min - 1.0 - z_min.abs();
            assert_eq!((link.u(z), link.one_minus_u(z), link.derivative(z)), (0.0, 1.0, 0.0));
            assert_eq!(link.potential(z), 0.0, "{link:?}");
        }
        if z_max.is_finite() {
            let z = z_max + 1.0 + z_max.abs();
            assert_eq!((link.u(z), link.one_minus_u(z), link.derivative(z)), (1.0, 0.0, 0.0));
            assert_eq!(link.upper_potential(z), 0.0, "{link:?}");
        }
        assert!(
            (link.u_inverse(0.0) - z_min).abs() <= 4.0 * EPS * z_min.abs() || z_min.is_infinite()
        );
        assert!(
            (link.u_inverse(1.0) - z_max).abs() <= 4.0 * EPS * z_max.abs() || z_max.is_infinite()
        );
        assert_eq!(
            link.u_inverse(0.0) == f64::NEG_INFINITY,
            z_min == f64::NEG_INFINITY,
            "{link:?}"
        );
        assert_eq!(link.u_inverse(1.0) == f64::INFINITY, z_max == f64::INFINITY, "{link:?}");
        assert!(link.conjugate(0.0) == 0.0 || link.conjugate(0.0) == f64::INFINITY, "{link:?}");
        for bad in [-1e-300, 1.0 + EPS, f64::NAN, f64::INFINITY] {
            assert!(link.u_inverse(bad).is_nan(), "{link:?} {bad}");
            assert!(link.u_inverse_of_complement(bad).is_nan(), "{link:?} {bad}");
            assert!(link.conjugate(bad).is_nan(), "{link:?} {bad}");
            assert!(link.conjugate_divergence(bad, 0.5).is_nan(), "{link:?} {bad}");
            assert!(link.conjugate_divergence(0.5, bad).is_nan(), "{link:?} {bad}");
        }
        let nan = f64::NAN;
        let values = [
            link.u(nan),
            link.one_minus_u(nan),
            link.derivative(nan),
            link.potential(nan),
            link.upper_potential(nan),
            link.divergence(nan, 0.0),
            link.divergence(0.0, nan),
        ];
        assert!(values.iter().all(|value| value.is_nan()), "{link:?} {values:?}");
    }
}

/// The line between two scores reaches 0 and 1 there and nowhere else.
#[test]
fn a_line_runs_between_two_scores() {
    for (low, high) in [(-1.0, 3.0), (2.0, 2.5), (-8.0, -4.0), (0.0, 1.0)] {
        let line = ClippedLine::between(low, high).unwrap();
        assert_eq!(line.support(), (low, high));
        assert_eq!((line.u(low), line.u(high)), (0.0, 1.0));
        assert_eq!((line.u(low - 1.0), line.one_minus_u(high + 1.0)), (0.0, 0.0));
        let middle = 0.5 * (low + high);
        assert_eq!((line.u(middle), line.a()), (0.5, 1.0 / (high - low)));
    }
    assert!(ClippedLine::between(1.0, 1.0).is_err() && ClippedLine::between(2.0, 1.0).is_err());
}
