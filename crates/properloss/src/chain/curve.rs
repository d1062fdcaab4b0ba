//! `g = (U*)' = u⁻¹` and its slope along a chain, in centred scores divided by a power of two.

use super::problem::Objective;
use crate::link::InverseLink;

/// Evaluates `g(y)` and `g'(y)` for slowly changing `y`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Curve<'a> {
    /// `G(y) = y²/2`.
    Identity,
    /// A piecewise-affine link, knots `(x_k, u_k)`; the cursor is the piece last used.
    Pieces { x: &'a [f64], u: &'a [f64], units: Units, cursor: usize },
    /// Any other link.
    Smooth { link: &'a dyn InverseLink, units: Units },
}

/// `g'` is kept within these bounds, so that no weight of the quadratic model is 0 or infinite.
const CURVATURE: (f64, f64) = (1e-30, 1e60);

/// Scores are shifted by `origin`, the middle of the link, and multiplied by `scale`, the power of
/// two that brings the largest into `[1/2, 1)`: nothing cancels against a large offset, and
/// products with weights neither overflow nor vanish at scores of 1e-300 or 1e300.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    pub origin: f64,
    pub scale: f64,
}

impl Units {
    #[inline]
    pub fn of(self, score: f64) -> f64 {
        (score - self.origin) * self.scale
    }
}

impl<'a> Curve<'a> {
    /// The curve of an objective, and the units of its scores.
    pub fn new(objective: &Objective<'a>) -> (Self, Units) {
        let Objective::Bregman { link, target_scores } = *objective else {
            return (Curve::Identity, Units { origin: 0.0, scale: 1.0 });
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
        let units = Units { origin, scale: power_of_two_inverse(largest) };
        let curve = match link.as_piecewise() {
            Some(pieces) => {
                let knots = pieces.knots();
                Curve::Pieces { x: knots.x(), u: knots.y(), units, cursor: 0 }
            }
            None => Curve::Smooth { link, units },
        };
        (curve, units)
    }

    /// `(g(y), g'(y))`.
    #[inline]
    pub fn eval(&mut self, y: f64) -> (f64, f64) {
        match self {
            Curve::Identity => (y, 1.0),
            Curve::Pieces { x, u, units, cursor } => {
                let last = x.len() - 2;
                let mut k = *cursor;
                while k < last && u[k + 1] <= y {
                    k += 1;
                }
                while k > 0 && u[k] > y {
                    k -= 1;
                }
                *cursor = k;
                let h = (x[k + 1] - x[k]) / (u[k + 1] - u[k]);
                let g = units.of(x[k]) + (y - u[k]) * (h * units.scale);
                (g, h * units.scale)
            }
            Curve::Smooth { link, units } => {
                // A link with an infinite support is evaluated at the nearest inner value.
                let y = y.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
                let score = link.u_inverse(y);
                let h = 1.0 / link.derivative(score);
                (units.of(score), (h * units.scale).clamp(CURVATURE.0, CURVATURE.1))
            }
        }
    }

    /// Puts the cursor where `y` is, in O(log K).
    pub fn seek(&mut self, y: f64) {
        if let Curve::Pieces { u, cursor, .. } = self {
            *cursor = u.partition_point(|&knot| knot <= y).clamp(1, u.len() - 1) - 1;
        }
    }

    /// `u(z_i)` for nondecreasing `z`, by merging the scores with the knots.
    pub fn values_at(&self, scores: &[f64], mut write: impl FnMut(usize, f64)) {
        match *self {
            Curve::Identity => scores.iter().enumerate().for_each(|(i, &z)| write(i, z)),
            Curve::Smooth { link, .. } => {
                scores.iter().enumerate().for_each(|(i, &z)| write(i, link.u(z)));
            }
            Curve::Pieces { x, u, .. } => {
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
    }
}

/// `2^-e` with `largest = f 2^e`, `f` in `[1/2, 1)`; 1 for zero or a subnormal.
fn power_of_two_inverse(largest: f64) -> f64 {
    if !(largest >= f64::MIN_POSITIVE && largest < f64::INFINITY) {
        return 1.0;
    }
    let exponent = ((largest.to_bits() >> 52) & 0x7ff) as i32 - 1022;
    2.0_f64.powi(-exponent.clamp(-1021, 1021))
}
