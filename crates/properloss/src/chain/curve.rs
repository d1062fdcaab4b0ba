//! `g = (U*)' = u⁻¹` and its slope along a chain, in scores divided by a power of two.

use super::problem::Objective;
use crate::link::InverseLink;

/// Evaluates `g(y)` and `g'(y)` for slowly changing `y`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Curve<'a> {
    /// `G(y) = y²/2`.
    Identity,
    /// A piecewise-affine link, knots `(x_k, u_k)`; the cursor is the piece last used.
    Pieces { x: &'a [f64], u: &'a [f64], scale: f64, cursor: usize },
    /// Any other link.
    Smooth { link: &'a dyn InverseLink, scale: f64 },
}

/// `g'` is kept within these bounds, so that no weight of the quadratic model is 0 or infinite.
const CURVATURE: (f64, f64) = (1e-30, 1e60);

impl<'a> Curve<'a> {
    /// The curve of an objective; scores are multiplied by the power of two that brings the
    /// largest of them into `[1/2, 1)`, so that products with weights can neither overflow nor
    /// vanish at scores of 1e-300 or 1e300. Returns the factor too.
    pub fn new(objective: &Objective<'a>, largest_target: f64) -> (Self, f64) {
        let Objective::Bregman { link, .. } = *objective else {
            return (Curve::Identity, 1.0);
        };
        let mut largest = largest_target;
        if let Some(pieces) = link.as_piecewise() {
            let x = pieces.knots().x();
            largest = largest.max(x[0].abs()).max(x[x.len() - 1].abs());
            let scale = power_of_two_inverse(largest);
            return (Curve::Pieces { x, u: pieces.knots().y(), scale, cursor: 0 }, scale);
        }
        let (a, b) = link.support();
        for end in [a, b, link.u_inverse(0.25), link.u_inverse(0.75)] {
            if end.is_finite() {
                largest = largest.max(end.abs());
            }
        }
        let scale = power_of_two_inverse(largest);
        (Curve::Smooth { link, scale }, scale)
    }

    /// `(g(y), g'(y))`.
    #[inline]
    pub fn eval(&mut self, y: f64) -> (f64, f64) {
        match self {
            Curve::Identity => (y, 1.0),
            Curve::Pieces { x, u, scale, cursor } => {
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
                ((x[k] + (y - u[k]) * h) * *scale, h * *scale)
            }
            Curve::Smooth { link, scale } => {
                // A link with an infinite support is evaluated at the nearest inner value.
                let y = y.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
                let score = link.u_inverse(y);
                let h = 1.0 / link.derivative(score);
                (score * *scale, (h * *scale).clamp(CURVATURE.0, CURVATURE.1))
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
