//! `g = (U*)' = u⁻¹` and its slope along a chain, in centred scores divided by a power of two.

use crate::chain::problem::Objective;
use crate::link::{InverseLink, PiecewiseLink};

/// Evaluates `g` for slowly changing `y`. One implementation for each kind of objective, so that
/// the loops over the chain contain the evaluation itself.
pub(in crate::chain) trait Curve: Copy + Sync {
    /// Largest `g'` that the quadratic model uses. A link that is infinite at 0 or 1 has points of
    /// any curvature there, beside which the model would lose all others to rounding.
    const MODEL_SLOPE_MAX: f64 = 1e14;

    /// `(g(y), g'(y))`.
    fn eval(&mut self, y: f64) -> (f64, f64);

    /// Prepares for values near `y`.
    fn seek(&mut self, _y: f64) {}

    /// `u(z_i)` for nondecreasing `z`.
    fn values_at(&self, scores: &[f64], write: impl FnMut(usize, f64));
}

/// `G(y) = y²/2`.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Identity;

impl Curve for Identity {
    #[inline(always)]
    fn eval(&mut self, y: f64) -> (f64, f64) {
        (y, 1.0)
    }

    fn values_at(&self, scores: &[f64], mut write: impl FnMut(usize, f64)) {
        scores.iter().enumerate().for_each(|(i, &z)| write(i, z));
    }
}

/// A piecewise-affine link with knots `(x_k, u_k)`; the cursor is the piece last used.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Pieces<'a> {
    x: &'a [f64],
    u: &'a [f64],
    units: Units,
    cursor: usize,
}

impl<'a> Pieces<'a> {
    pub fn new(link: &'a PiecewiseLink, units: Units) -> Self {
        Self { x: link.knots().x(), u: link.knots().y(), units, cursor: 0 }
    }
}

impl Curve for Pieces<'_> {
    #[inline(always)]
    fn eval(&mut self, y: f64) -> (f64, f64) {
        let mut k = self.cursor;
        // One length for both, so that one test covers the accesses.
        let (x, u) = (self.x, &self.u[..self.x.len()]);
        while k + 2 < x.len() && u[k + 1] <= y {
            k += 1;
        }
        while k > 0 && u[k] > y {
            k -= 1;
        }
        self.cursor = k;
        let (Some(x), Some(u)) = (x.get(k..k + 2), u.get(k..k + 2)) else { return (0.0, 1.0) };
        let h = (x[1] - x[0]) / (u[1] - u[0]) * self.units.scale;
        (self.units.of(x[0]) + (y - u[0]) * h, h)
    }

    fn seek(&mut self, y: f64) {
        let u = self.u;
        self.cursor = u.partition_point(|&knot| knot <= y).clamp(1, u.len() - 1) - 1;
    }

    /// Merges the scores with the knots.
    fn values_at(&self, scores: &[f64], mut write: impl FnMut(usize, f64)) {
        let (x, u) = (self.x, self.u);
        let last = x.len() - 2;
        let mut k = x.partition_point(|&knot| knot <= scores[0]).clamp(1, last + 1) - 1;
        for (i, &z) in scores.iter().enumerate() {
            while k < last && x[k + 1] <= z {
                k += 1;
            }
            let share = ((z - x[k]) / (x[k + 1] - x[k])).clamp(0.0, 1.0);
            write(i, u[k] + share * (u[k + 1] - u[k]));
        }
    }
}

/// Any other link.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Smooth<'a> {
    pub link: &'a dyn InverseLink,
    pub units: Units,
}

/// `g'` is kept within these bounds, so that no weight of the quadratic model is 0 or infinite.
const CURVATURE: (f64, f64) = (1e-30, 1e60);

impl Curve for Smooth<'_> {
    const MODEL_SLOPE_MAX: f64 = 1e8;

    fn eval(&mut self, y: f64) -> (f64, f64) {
        // A link with an infinite support is evaluated at the nearest inner value.
        let y = y.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
        let score = self.link.u_inverse(y);
        let h = self.units.scale / self.link.derivative(score);
        (self.units.of(score), h.clamp(CURVATURE.0, CURVATURE.1))
    }

    fn values_at(&self, scores: &[f64], mut write: impl FnMut(usize, f64)) {
        scores.iter().enumerate().for_each(|(i, &z)| write(i, self.link.u(z)));
    }
}

/// Scores are shifted by `origin`, the middle of the link, and multiplied by `scale`, the power of
/// two that brings the largest into `[1/2, 1)`: nothing cancels against a large offset, and
/// products with weights neither overflow nor vanish at scores of 1e-300 or 1e300.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Units {
    pub origin: f64,
    pub scale: f64,
}

impl Units {
    #[inline]
    pub fn of(self, score: f64) -> f64 {
        (score - self.origin) * self.scale
    }
}

impl Units {
    /// The units of an objective.
    pub fn new(objective: &Objective) -> Self {
        let Objective::Bregman { link, target_scores } = *objective else {
            return Units { origin: 0.0, scale: 1.0 };
        };
        let middle = link.u_inverse(0.5);
        let origin = if middle.is_finite() { middle } else { 0.0 };
        let mut largest = 0.0_f64;
        let (a, b) = link.support();
        for score in [a, b, link.u_inverse(0.25), link.u_inverse(0.75)] {
            if score.is_finite() {
                largest = largest.max((score - origin).abs());
            }
        }
        for &c in target_scores {
            largest = largest.max((c - origin).abs());
        }
        Units { origin, scale: power_of_two_inverse(largest) }
    }
}

/// `2^-e` with `largest = f 2^e`, `f` in `[1/2, 1)`; 1 for zero or a subnormal.
fn power_of_two_inverse(largest: f64) -> f64 {
    if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&largest) {
        return 1.0;
    }
    let exponent = ((largest.to_bits() >> 52) & 0x7ff) as i32 - 1022;
    2.0_f64.powi(-exponent.clamp(-1021, 1021))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Sigmoid;

    fn pieces() -> PiecewiseLink {
        PiecewiseLink::from_knots(vec![-2.0, 0.0, 1.0, 5.0], vec![0.0, 0.25, 0.75, 1.0]).unwrap()
    }

    /// `g` and `g'` at any value, wherever the cursor was: `u⁻¹` and its slope, in units.
    #[test]
    fn pieces_are_the_inverse_link() {
        let link = pieces();
        let units = Units { origin: 0.5, scale: 0.25 };
        let values = [0.0, 0.125, 0.25, 0.5, 0.7, 0.75, 0.9, 1.0];
        let slopes = [8.0, 8.0, 2.0, 2.0, 2.0, 16.0, 16.0, 16.0];
        for from in values {
            for (y, slope) in values.into_iter().zip(slopes) {
                let mut walked = Pieces::new(&link, units);
                walked.eval(from);
                let mut sought = Pieces::new(&link, units);
                sought.seek(y);
                let cursor = sought.cursor;
                for curve in [&mut walked, &mut sought] {
                    let (g, h) = curve.eval(y);
                    let expected = (link.u_inverse(y) - 0.5) * 0.25;
                    assert!((g - expected).abs() < 1e-15, "{from} {y}: {g} {expected}");
                    assert_eq!(h, 0.25 * slope, "{from} {y}");
                }
                assert_eq!(sought.cursor, cursor, "seek goes to the piece itself");
            }
        }
    }

    #[test]
    fn values_at_scores_are_those_of_the_link() {
        let link = pieces();
        let scores = [-3.0, -2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 3.0, 5.0, 6.0];
        for from in 0..scores.len() {
            let mut found = vec![f64::NAN; scores.len() - from];
            let units = Units { origin: 0.0, scale: 1.0 };
            Pieces::new(&link, units).values_at(&scores[from..], |i, u| found[i] = u);
            let expected: Vec<f64> = scores[from..].iter().map(|&z| link.u(z)).collect();
            assert_eq!(found, expected);
            Smooth { link: &Sigmoid, units }.values_at(&scores[from..], |i, u| found[i] = u);
            assert!(found.iter().zip(&scores[from..]).all(|(&u, &z)| u == Sigmoid.u(z)));
            Identity.values_at(&scores[from..], |i, u| found[i] = u);
            assert_eq!(found, scores[from..]);
        }
        assert_eq!(Identity.eval(0.25), (0.25, 1.0));
    }

    /// `u⁻¹` and `1/u'` of a smooth link, finite also at 0 and 1.
    #[test]
    fn smooth_is_the_inverse_link() {
        let mut curve = Smooth { link: &Sigmoid, units: Units { origin: 1.0, scale: 0.5 } };
        for y in [0.001, 0.25, 0.5, 0.9] {
            let (g, h) = curve.eval(y);
            let (score, slope) = ((y / (1.0 - y)).ln(), 1.0 / (y * (1.0 - y)));
            assert!((g - 0.5 * (score - 1.0)).abs() < 1e-14, "{y}: {g}");
            assert!((h - 0.5 * slope).abs() < 1e-13 * slope, "{y}: {h}");
        }
        for y in [-0.1, 0.0, 1.0, 1.5] {
            let (g, h) = curve.eval(y);
            assert!(g.is_finite() && h > 1.0 && h <= CURVATURE.1, "{y}: {g} {h}");
        }
        // Flat as it may be, no weight of the model vanishes.
        let flat = crate::link::ClippedLine::new(1e-40, 0.5).unwrap();
        let steep = crate::link::ClippedLine::new(1e40, 0.5).unwrap();
        let units = Units { origin: 0.0, scale: 1.0 };
        assert_eq!(Smooth { link: &steep, units }.eval(0.5).1, CURVATURE.0);
        assert_eq!(
            Smooth { link: &flat, units: Units { scale: 1e25, ..units } }.eval(0.5).1,
            CURVATURE.1
        );
    }

    /// The middle of the link is 0, the largest score is in [1/2, 1).
    #[test]
    fn units_centre_and_scale() {
        let of = |link: &dyn InverseLink, targets: &[f64]| {
            let units = Units::new(&Objective::Bregman { link, target_scores: targets });
            (units.origin, units.scale)
        };
        // The support reaches from -2 to 5 around 0.5: 4.5 = 0.5625 * 8.
        assert_eq!(of(&pieces(), &[0.0, 1.0]), (0.5, 0.125));
        assert_eq!(of(&pieces(), &[-8.0]), (0.5, 0.0625));
        assert_eq!(of(&pieces(), &[20.0]), (0.5, 1.0 / 32.0));
        // ln 3 = 1.0986 without support or larger targets.
        assert_eq!(of(&Sigmoid, &[0.5]), (0.0, 0.5));
        let plain = Units::new(&Objective::Quadratic { targets: &[3.0] });
        assert_eq!((plain.origin, plain.scale, plain.of(3.0)), (0.0, 1.0, 3.0));
        assert_eq!(Units { origin: 1.0, scale: 0.5 }.of(4.0), 1.5);
        for (largest, scale) in [
            (1.0, 0.5),
            (0.75, 1.0),
            (0.5, 1.0),
            (0.25, 2.0),
            (0.0, 1.0),
            (1e-310, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            assert_eq!(power_of_two_inverse(largest), scale, "{largest}");
        }
    }
}
