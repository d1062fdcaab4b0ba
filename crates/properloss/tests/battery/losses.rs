//! Canonical and composite losses of every link, and the paper's Theorem 1 in both directions.

use std::sync::Arc;

use properloss::Error;
use properloss::link::{
    Cauchy, ClippedLine, InverseLink, LinkSpec, PiecewiseLink, RelativeLink, Sigmoid,
};
use properloss::loss::{
    CanonicalLoss, CompositeLoss, ConvexGenerator, Generator, LinkGenerator, PartialLosses,
    check_properness,
};
use proptest::prelude::*;

use properloss::piecewise::PiecewiseAffine;

use crate::{EPS, Link, any_link, bounded_link, config, near, probability, registered, score};

const C: f64 = 45.0;
const D: f64 = 1e-12;

fn loss_of(link: &Link) -> CanonicalLoss {
    CanonicalLoss::new(link.clone()).unwrap()
}

/// A label: 0, 1 or soft.
fn label() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.01..0.99f64]
}

/// A score inside the support or outside of it.
fn any_score(link: &Link, share: f64, outside: f64) -> f64 {
    let (z_min, z_max) = link.support();
    let z = score(link, share);
    if outside > 0.5 && z_max.is_finite() {
        z_max + outside
    } else if outside < -0.5 && z_min.is_finite() {
        z_min + outside
    } else {
        z
    }
}

proptest! {
    #![proptest_config(config())]

    /// `U(z) + U*(y) - y z = D_U(z, u⁻¹(y))` everywhere, inside the support or not.
    #[test]
    fn loss_is_a_divergence_of_scores(link in bounded_link(), y in label(), share in probability(), out in -2.0..2.0f64) {
        let z = any_score(&link, share, out);
        let loss = loss_of(&link);
        let value = loss.loss(y, z);
        let terms = [link.potential(z), link.conjugate(y), -y * z];
        let size: f64 = terms.iter().map(|t| t.abs()).sum::<f64>()
            + link.conjugate(1.0).abs() + z.abs() + 1.0;
        let size = size + knots(&link);
        let soft = soft_label_rounding(&link, y, z);
        near!(value, terms.iter().sum(), C * EPS * size + soft, "{link:?} {y} {z}");
        let defined = link.divergence(z, link.u_inverse(y));
        near!(value, defined, D * value + C * EPS * size, "{link:?} {y} {z}");
        prop_assert!(value >= 0.0);
    }

    /// `= D_{U*}(y, u(z))` inside the support; outside, larger by the overshoot times the residual.
    #[test]
    fn loss_is_a_divergence_of_probabilities(link in bounded_link(), y in label(), share in probability(), out in -2.0..2.0f64) {
        let z = any_score(&link, share, out);
        let loss = loss_of(&link);
        let (z_min, z_max) = link.support();
        let p = link.u(z);
        let partial = loss.partial_loss(y, p);
        let overshoot = if z > z_max { (z - z_max) * (1.0 - y) } else if z < z_min { (z_min - z) * y } else { 0.0 };
        // p is rounded: eps p through the slope (p - y)/u' of the partial loss.
        let inner = z.clamp(z_min, z_max);
        let slope = link.derivative(inner - 4.0 * EPS * inner.abs()).max(link.derivative(inner));
        prop_assume!(slope > 0.0 && p > 0.0 && p < 1.0 || overshoot > 0.0);
        let rounding = if overshoot > 0.0 { 0.0 } else { C * EPS * p * (p - y).abs() / slope };
        let value = loss.loss(y, z);
        let soft = soft_label_rounding(&link, y, z);
        let size = value + partial + z.abs() + z_min.abs().min(1e9) + z_max.abs().min(1e9) + knots(&link);
        near!(value, partial + overshoot, D * value + rounding + soft + C * EPS * size, "{link:?} {y} {z}");
    }

    /// Gradient and curvature: `∂ℓ/∂z = u(z) - y`, against the difference of two losses, which is
    /// the integral of the gradient, so that it lies between the gradients at the ends.
    #[test]
    fn gradient_between_ends(link in bounded_link(), y in label(), s in probability(), t in probability()) {
        let loss = loss_of(&link);
        let (a, b) = (score(&link, s.min(t)), score(&link, s.max(t)));
        prop_assume!(b - a > 1e-3);
        let quotient = (loss.loss(y, b) - loss.loss(y, a)) / (b - a);
        let slack = C * EPS * (loss.loss(y, a) + loss.loss(y, b) + knots(&link)) / (b - a) + C * EPS;
        prop_assert!(loss.gradient(y, a) - slack <= quotient, "{link:?} {y} {a} {b}");
        prop_assert!(quotient <= loss.gradient(y, b) + slack, "{link:?} {y} {a} {b}");
        near!(loss.gradient(y, a), link.u(a) - y, C * EPS, "{link:?}");
        prop_assert_eq!(loss.curvature(a), link.derivative(a));
        prop_assert_eq!(loss.surrogate(a), loss.loss(0.0, -a));
        let rate = link.u(a);
        near!(loss.conditional_bayes_risk(rate), -link.conjugate(rate), 0.0, "{link:?}");
        // The least expected loss is the paper's Bayes risk up to an affine term.
        let size = link.conjugate(1.0).abs() + link.conjugate(rate).abs() + a.abs() + 1.0 + knots(&link);
        near!(loss.conditional_risk(rate, rate), rate * link.conjugate(1.0) - link.conjugate(rate), 4.0 * C * EPS * size, "{link:?} {a}");
    }

    /// A relative link with slopes in [1/τ, τ]: log-loss at most that of its base link plus ln τ.
    #[test]
    fn relative_log_loss_is_bounded(link in crate::relative(), share in probability()) {
        let LinkSpec::Relative { base, p, v } = link.spec() else { unreachable!() };
        let v = PiecewiseAffine::new(p, v).unwrap();
        let own = RelativeLink::new(base.build().unwrap(), v).unwrap();
        let (base, log_tau) = (own.base(), own.slope_ratio().ln());
        let z = score(base, share);
        let slack = C * EPS;
        prop_assert!(-own.u(z).ln() <= -base.u(z).ln() + log_tau + slack, "{own:?} {z}");
        let (ours, theirs) = (own.one_minus_u(z), base.one_minus_u(z));
        prop_assert!(-ours.ln() <= -theirs.ln() + log_tau + slack, "{own:?} {z}");
    }

    /// The paper's Theorem 1, from a proper loss to its generator: `F = -L`, and then `D_F(y, p) = ℓ_y(p)`;
    /// F equals U* up to the affine term, its weight is w(c).
    #[test]
    fn from_loss_to_generator(link in bounded_link(), share in 0.02..0.98f64) {
        let loss = loss_of(&link);
        let (l0, l1) = (loss.clone(), loss.clone());
        let losses = PartialLosses::new(move |p| l0.partial_loss(0.0, p), move |p| l1.partial_loss(1.0, p));
        let generator = ConvexGenerator::of_loss(losses);
        let p = share;
        let z = link.u_inverse(p);
        let size = z.abs() + link.conjugate(p).abs() + link.conjugate(1.0).abs() + 1.0 + knots(&link);
        for y in [0.0, 1.0] {
            let d = generator.label_divergence(y, p, 1.0 - p);
            near!(d, loss.partial_loss(y, p), 8.0 * C * EPS * size, "{link:?} {y} {p}");
        }
        near!(generator.value(p), link.conjugate(p) - p * link.conjugate(1.0), 4.0 * C * EPS * size, "{link:?} {p}");
        near!(generator.derivative(p), z - link.conjugate(1.0), 4.0 * C * EPS * size, "{link:?} {p}");
        // The weight by a central difference with h = eps^(1/3) room: the truncation error shows in
        // how w varies over ±h, the rounding error is that of F' over h.
        let h = EPS.cbrt() * p.min(1.0 - p);
        let around = [loss.weight(p - h), loss.weight(p), loss.weight(p + h)];
        let (low, high) = around.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &w| (l.min(w), m.max(w)));
        if high < 1.1 * low && loss.link().as_piecewise().is_none() {
            let slack = (high - low) + 4.0 * C * EPS * size / h + 4.0 * C * EPS * high;
            near!(generator.weight(p), around[1], slack, "{link:?} {p}");
        }
    }

    /// The paper's Theorem 1, from a generator and a link to a proper composite loss: both lines of the theorem.
    #[test]
    fn from_generator_to_composite_loss(link in bounded_link(), other in any_link(), y in label(), share in 0.001..0.999f64) {
        let loss = loss_of(&link);
        let composite = CompositeLoss::new(&loss, other.clone());
        let z = score(&other, share);
        let p = other.u(z);
        prop_assume!(p > 1e-9 && p < 1.0 - 1e-9);
        let value = composite.loss(y, z);
        let canonical = link.u_inverse(p);
        let slope = link.derivative(canonical);
        prop_assume!(slope > 1e-9);
        let size = 1.0 + canonical.abs() + 1.0 / slope + link.conjugate(1.0).abs() + knots(&link);
        let soft = soft_label_rounding(&link, y, canonical);
        let tolerance = D * value + 4.0 * C * EPS * size + soft;
        // first line: D_F(y, g(z)); second: D_{F*}(F'(g(z)), F'(y))
        near!(value, link.conjugate_divergence(y, p), tolerance, "{link:?} {other:?} {y} {z}");
        near!(value, link.divergence(canonical, link.u_inverse(y)), tolerance, "{link:?} {other:?} {y} {z}");
        near!(value, composite.partial_loss(y, p), tolerance, "{link:?} {other:?} {y} {z}");
        // A generator given by plain functions, with an affine term, makes the same loss.
        let (v, d, w) = (link.clone(), link.clone(), LinkGenerator(link.clone()));
        let plain = ConvexGenerator::new(
            move |p| v.conjugate(p) + 2.0 * p - 1.0,
            move |p| d.u_inverse(p) + 2.0,
            move |p| w.weight(p),
        );
        let same = CompositeLoss::from_generator(Arc::new(plain), other.clone());
        near!(same.loss(y, z), value, tolerance + 4.0 * C * EPS, "{link:?} {other:?} {y} {z}");
        // With its own link it is canonical.
        let own = CompositeLoss::new(&loss, link.clone());
        let s = score(&link, share);
        let tolerance = tolerance + soft_label_rounding(&link, y, s);
        near!(own.loss(y, s), loss.loss(y, s), tolerance + 8.0 * C * EPS * (1.0 + s.abs()), "{link:?} {y} {s}");
        near!(own.gradient(y, s), loss.gradient(y, s), 1e-9 * (1.0 + s.abs()), "{link:?} {y} {s}");
    }
}

/// u⁻¹(y) of a soft label is rounded, which moves `D_U(z, b)` by its slope `(z - b) u'(b)` there.
fn soft_label_rounding(link: &Link, y: f64, z: f64) -> f64 {
    if y == 0.0 || y == 1.0 {
        return 0.0;
    }
    let b = link.u_inverse(y);
    let reach = EPS * (b.abs() + knots(link));
    let around = [b - reach, b, b + reach].map(|b| link.derivative(b));
    4.0 * reach * around.into_iter().fold(0.0, f64::max) * (z - b).abs()
}

fn knots(link: &Link) -> f64 {
    match link.spec() {
        properloss::link::LinkSpec::Piecewise { z, .. } => z[0].abs() + z[z.len() - 1].abs(),
        properloss::link::LinkSpec::Relative { base, p, .. } => {
            let base = base.build().unwrap();
            let inner = &p[1..p.len() - 1];
            inner.iter().map(|&p| base.u_inverse(p).abs()).fold(1.0, f64::max)
        }
        _ => 0.0,
    }
}

/// Log-loss, to the last bits.
#[test]
fn log_loss_is_the_textbook_formula() {
    let loss = CanonicalLoss::new(Arc::new(Sigmoid)).unwrap();
    for i in -400..=400 {
        let z = f64::from(i) / 10.0;
        let close =
            |a: f64, b: f64| assert!((a - b).abs() <= 8.0 * EPS * b.abs(), "{a} {b} at {z}");
        close(loss.loss(1.0, z), (-z).exp().ln_1p());
        close(loss.loss(0.0, z), z.exp().ln_1p());
        let p = f64::from(i + 401) / 803.0;
        {
            close(loss.partial_loss(1.0, p), -p.ln());
            close(loss.partial_loss(0.0, p), -(-p).ln_1p());
            let entropy = -(p * p.ln() + (1.0 - p) * (-p).ln_1p());
            close(loss.conditional_bayes_risk(p), entropy);
            close(loss.weight(p), 1.0 / (p * (1.0 - p)));
        }
        close(loss.surrogate(z), (-z).exp().ln_1p());
    }
}

/// Square loss: (y - p)² with slope 1/2, (y - p)²/2 with slope 1.
#[test]
fn square_loss_is_the_textbook_formula() {
    for a in [0.5, 1.0] {
        let loss = CanonicalLoss::new(Arc::new(ClippedLine::new(a, 0.5).unwrap())).unwrap();
        for i in 0..=100 {
            let p = f64::from(i) / 100.0;
            let z = (p - 0.5) / a;
            for y in [0.0, 0.3, 1.0] {
                let square = (y - p) * (y - p) / (2.0 * a);
                let tolerance = 8.0 * EPS;
                assert!((loss.partial_loss(y, p) - square).abs() <= tolerance, "{y} {p}");
                assert!((loss.loss(y, z) - square).abs() <= tolerance, "{y} {z}");
                assert!((loss.gradient(y, z) - (p - y)).abs() <= tolerance);
            }
            let risk = loss.conditional_risk(p, p);
            assert!((risk - p * (1.0 - p) / (2.0 * a)).abs() <= 8.0 * EPS);
            if i > 0 && i < 100 {
                assert_eq!(loss.weight(p), 1.0 / a);
            }
        }
        assert_eq!(loss.surrogate(0.0), 0.125 / a);
    }
}

/// The links whose canonical loss is finite.
fn registered_with_finite_loss() -> impl Iterator<Item = Link> {
    registered().into_iter().filter(|link| !link.conjugate(0.0).is_infinite())
}

/// Every loss we make is proper; the check finds what is not, and where.
#[test]
fn properness() {
    for link in registered_with_finite_loss() {
        let loss = loss_of(&link);
        let found = check_properness(&loss.partial_losses(), 60).unwrap();
        assert!(found.is_proper(), "{link:?}: {found:?}");
        for other in registered() {
            let composite = CompositeLoss::new(&loss, other);
            let found = check_properness(&composite.partial_losses(), 30).unwrap();
            assert!(found.is_proper(), "{link:?}: {found:?}");
        }
    }
    // The absolute loss: at rate π > 1/2 the best answer is 1, and honesty costs (1-π)(2π-1), at
    // most 1/8 at π = 3/4 (or 1/4).
    let absolute = PartialLosses::new(|p| p, |p| 1.0 - p);
    let found = check_properness(&absolute, 400).unwrap();
    assert!(!found.is_proper());
    assert!((found.largest_violation - 0.125).abs() < 1e-3, "{found:?}");
    assert!((found.pi - 0.75).abs() < 0.01 || (found.pi - 0.25).abs() < 0.01, "{found:?}");
    assert!(found.p < 0.01 || found.p > 0.99, "{found:?}");
    // A small defect is found too: square loss with one side scaled by 1 + 1e-6.
    let skewed = PartialLosses::new(|p| p * p, |p| (1.0 - p) * (1.0 - p) * (1.0 + 1e-6));
    let found = check_properness(&skewed, 200).unwrap();
    assert!(!found.is_proper() && found.largest_violation < 1e-6, "{found:?}");
    // In other units, the same loss is as proper, and the same defect as large.
    for unit in [1e-9, 1e9] {
        let log = PartialLosses::new(|p| -unit * (1.0 - p).ln(), |p| -unit * p.ln());
        assert!(check_properness(&log, 60).unwrap().is_proper(), "{unit}");
        let absolute = PartialLosses::new(|p| unit * p, |p| unit * (1.0 - p));
        assert!(!check_properness(&absolute, 60).unwrap().is_proper(), "{unit}");
        let skewed =
            PartialLosses::new(|p| unit * p * p, |p| unit * (1.0 - p) * (1.0 - p) * (1.0 + 1e-6));
        assert!(!check_properness(&skewed, 60).unwrap().is_proper(), "{unit}");
    }
    // Three points are a grid, two are none: a loss that pays for lies is seen there.
    let paid = PartialLosses::new(|p| -p, |p| p - 1.0);
    assert!(!check_properness(&paid, 3).unwrap().is_proper());
    let broken = PartialLosses::new(|_| f64::NAN, |p| 1.0 - p);
    assert!(!check_properness(&broken, 10).unwrap().is_proper());
    assert!(matches!(check_properness(&broken, 2), Err(Error::TooShort { .. })));
}

/// `ℓ_1(p) - ℓ_1(r) = ∫_p^r (1 - c) w(c) dc` and `ℓ_0(r) - ℓ_0(p) = ∫_p^r c w(c) dc`, by Simpson's
/// rule on n and 2n panels, whose difference bounds the error of the finer one.
#[test]
fn integral_representation() {
    for link in registered_with_finite_loss() {
        let loss = loss_of(&link);
        let (p, r) = (0.15, 0.9);
        let simpson = |f: &dyn Fn(f64) -> f64, n: u32| {
            let h = (r - p) / f64::from(2 * n);
            let at = |i: u32| f(p + h * f64::from(i));
            let sum: f64 = (0..n).map(|i| at(2 * i) + 4.0 * at(2 * i + 1) + at(2 * i + 2)).sum();
            sum * h / 3.0
        };
        let check = |f: &dyn Fn(f64) -> f64, expected: f64| {
            let (coarse, fine) = (simpson(f, 200), simpson(f, 400));
            let tolerance = (coarse - fine).abs() + 1e4 * EPS * fine;
            assert!((fine - expected).abs() <= tolerance, "{link:?}: {fine} {expected}");
        };
        let difference = loss.partial_loss(1.0, p) - loss.partial_loss(1.0, r);
        check(&|c| (1.0 - c) * loss.weight(c), difference);
        let difference = loss.partial_loss(0.0, r) - loss.partial_loss(0.0, p);
        check(&|c| c * loss.weight(c), difference);
    }
}

#[test]
fn symmetry() {
    for link in registered_with_finite_loss() {
        let symmetric = !["cloglog", "loglog"].contains(&link.spec().name().as_str());
        let found = loss_of(&link).symmetry();
        assert_eq!(found.is_symmetric(), symmetric, "{link:?}: {found:?}");
        if symmetric {
            let loss = loss_of(&link);
            for p in [0.01, 0.2, 0.5, 0.7] {
                let (one, other) = (loss.partial_loss(1.0, p), loss.partial_loss(0.0, 1.0 - p));
                assert!((one - other).abs() <= 1e-13 * one, "{link:?}");
            }
        }
    }
    let learned =
        properloss::link::PiecewiseLink::from_knots(vec![0.0, 1.0, 3.0], vec![0.0, 0.6, 1.0]);
    let learned: Link = Arc::new(learned.unwrap());
    let found = loss_of(&learned).symmetry();
    // centre 5/6; at v = 1/6 (the knot): u(1) = 0.6, u(2/3) = 0.4: none; at v = -5/6: u(5/3) = 11/15
    assert!((found.largest_violation - 4.0 / 15.0).abs() < 1e-12, "{found:?}");
    assert!((found.at + 5.0 / 6.0).abs() < 1e-12, "{found:?}");
}

/// The Cauchy link has no canonical loss and says so; log-loss with it is a loss.
#[test]
fn cauchy_needs_a_composite_loss() {
    let refused = CanonicalLoss::new(Arc::new(Cauchy));
    assert!(matches!(&refused, Err(Error::UnboundedLoss { link }) if link == "cauchy"));
    assert!(refused.unwrap_err().to_string().contains("CompositeLoss"));
    let log_loss = CanonicalLoss::new(Arc::new(Sigmoid)).unwrap();
    let cauchit = CompositeLoss::new(&log_loss, Arc::new(Cauchy));
    for z in [-1e4, -3.0, 0.0, 0.5, 7.0, 1e4] {
        let (p, q) = (Cauchy.u(z), Cauchy.one_minus_u(z));
        assert!((cauchit.loss(1.0, z) + p.ln()).abs() <= 1e-14 * p.ln().abs() + 4.0 * EPS);
        assert!((cauchit.loss(0.0, z) + q.ln()).abs() <= 1e-14 * q.ln().abs() + 4.0 * EPS);
    }
}

/// The generator of a link is `U*`: its derivative is `u⁻¹`, its weight the derivative of that.
#[test]
fn the_generator_of_a_link_is_its_conjugate() {
    let generator = LinkGenerator(Arc::new(Sigmoid));
    for p in [0.1f64, 0.25, 0.5, 0.875] {
        let entropy = p * p.ln() + (1.0 - p) * (1.0 - p).ln();
        // A few roundings of numbers below 10.
        assert!((generator.value(p) - entropy).abs() < 40.0 * EPS);
        assert!((generator.derivative(p) - (p / (1.0 - p)).ln()).abs() < 40.0 * EPS);
        assert!((generator.weight(p) - 1.0 / (p * (1.0 - p))).abs() < 400.0 * EPS);
    }
}

/// Symmetric about any score: a line from 999 to 1001 has its centre at 1000.
#[test]
fn symmetry_far_from_zero() {
    let line = |z: Vec<f64>| PiecewiseLink::from_knots(z, vec![0.0, 0.25, 0.75, 1.0]).unwrap();
    let even = CanonicalLoss::new(Arc::new(line(vec![999.0, 999.7, 1000.3, 1001.0]))).unwrap();
    let found = even.symmetry();
    assert_eq!(found.centre, 1000.0);
    assert!(found.is_symmetric(), "{found:?}");
    let skew = CanonicalLoss::new(Arc::new(line(vec![999.0, 999.7, 1000.2, 1001.0]))).unwrap();
    assert!(!skew.symmetry().is_symmetric());
}
