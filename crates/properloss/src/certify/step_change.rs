//! Lemma 2: the change of loss by Step 1, without cancellation.

use super::scored::Scored;
use crate::bregman::divergence;
use crate::error::{Error, Result};
use crate::link::PiecewiseLink;

/// So many pieces are walked; the rest of the integral comes from the prefix sums of the link.
const MAX_WALK: usize = 32;

/// `D_U(a ‖ b) = ∫_b^a (u(s) - u(b)) ds`, a sum of nonnegative terms.
///
/// `U(a) - U(b) - (a-b) u(b)` loses every digit when `a` is near `b`; here the rise `u(s) - u(b)` is
/// carried along the pieces from `b` to `a`, each adding its trapezoid.
pub fn potential_divergence(u: &PiecewiseLink, a: f64, b: f64) -> f64 {
    let mut pieces = Pieces::default();
    pieces.fill(u);
    pieces.divergence(u, a, b, u.knots().x().partition_point(|&knot| knot <= b))
}

/// Left end and slope of every piece of a link, the constant ends included: piece `j` lies right of
/// `j` knots. One more entry closes the last piece.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<(f64, f64)>);

impl Pieces {
    pub fn fill(&mut self, u: &PiecewiseLink) {
        let (knots, last) = (u.knots(), u.knots().knot_count() - 1);
        self.0.clear();
        self.0.push((f64::NEG_INFINITY, 0.0));
        self.0.extend((0..last).map(|k| (knots.x()[k], knots.piece_slope(k))));
        self.0.extend([(knots.x()[last], 0.0), (f64::INFINITY, 0.0)]);
    }

    /// [`potential_divergence`] when the piece that holds `b` is known.
    #[inline]
    pub fn divergence(&self, u: &PiecewiseLink, a: f64, b: f64, piece: usize) -> f64 {
        let ((left, slope), (right, _)) = (self.0[piece], self.0[piece + 1]);
        let step = a - b;
        if (a >= left) & (a <= right) {
            return 0.5 * slope * step * step;
        }
        self.divergence_across(u, a, b, piece)
    }

    /// From piece to piece. Beyond [`MAX_WALK`] of them the rest is taken from the prefix sums.
    fn divergence_across(&self, u: &PiecewiseLink, a: f64, b: f64, piece: usize) -> f64 {
        let (mut rise, mut area, mut from, mut j) = (0.0, 0.0, b, piece);
        let mut add = |to: f64, slope: f64| {
            let width = (to - from).abs();
            let increment = slope * width;
            area += width * (rise + 0.5 * increment);
            rise += increment;
            from = to;
        };
        let up = a >= b;
        for _ in 0..MAX_WALK {
            let (left, slope) = self.0[j];
            let end = if up { self.0[j + 1].0 } else { left };
            let arrived = if up { end >= a } else { end <= a };
            add(if arrived { a } else { end }, slope);
            if arrived {
                return area;
            }
            j = if up { j + 1 } else { j - 1 };
        }
        area + (a - from).abs() * rise + divergence(u, a, from).max(0.0)
    }
}

/// `E[D_U(z⁺ ‖ z)]`. With `z⁺ = z + η g·x` and `g = E[(y - u(z)) x]`,
///
/// `ℓ_u(w) - ℓ_u(w⁺) = η |g|² - E[D_U(z⁺ ‖ z)]`,
///
/// because `loss(y, z⁺) - loss(y, z) = (u(z) - y)(z⁺ - z) + D_U(z⁺ ‖ z)`: no two losses are
/// subtracted, so the test `E[D_U] ≤ η|g|²/2` stays meaningful when the decrease is far below the
/// rounding of the loss.
pub fn step_divergence(u: &PiecewiseLink, before: &Scored, z_next: &[f64]) -> Result<f64> {
    if z_next.len() != before.z().len() {
        return Err(Error::LengthMismatch {
            what: "z_next",
            length: z_next.len(),
            other: "z",
            other_length: before.z().len(),
        });
    }
    Ok(before.mean(|i| potential_divergence(u, z_next[i], before.z()[i])))
}
