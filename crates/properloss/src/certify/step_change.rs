//! Lemma 2: the change of loss by Step 1, without cancellation.

use super::scored::Scored;
use crate::bregman::divergence;
use crate::error::{Error, Result};
use crate::link::PiecewiseLink;

/// Beyond this many pieces the rest of the integral comes from the prefix sums of the link.
const MAX_WALK: usize = 32;

/// `D_U(a ‖ b) = ∫_b^a (u(s) - u(b)) ds`, a sum of nonnegative terms.
///
/// `U(a) - U(b) - (a-b) u(b)` loses every digit when `a` is near `b`; here the rise `u(s) - u(b)` is
/// carried along the pieces from `b` to `a`, each adding its trapezoid.
pub fn potential_divergence(u: &PiecewiseLink, a: f64, b: f64) -> f64 {
    let piece = u.knots().x().partition_point(|&knot| knot <= b);
    divergence_from(u, a, b, piece)
}

/// [`potential_divergence`] when the number of knots at or left of `b` is known.
pub(crate) fn divergence_from(u: &PiecewiseLink, a: f64, b: f64, piece: usize) -> f64 {
    let (x, y) = (u.knots().x(), u.knots().y());
    let last = x.len() - 1;
    // Piece j lies between knots j-1 and j; pieces 0 and K+1 are the constant ends.
    let slope = |j: usize| {
        if j == 0 || j > last { 0.0 } else { (y[j] - y[j - 1]) / (x[j] - x[j - 1]) }
    };
    let (mut rise, mut area, mut from, mut j) = (0.0, 0.0, b, piece);
    for _ in 0..MAX_WALK {
        // The end of this piece on the way to a.
        let (end, arrived) = if a >= b {
            if j <= last && x[j] < a { (x[j], false) } else { (a, true) }
        } else if j >= 1 && x[j - 1] > a {
            (x[j - 1], false)
        } else {
            (a, true)
        };
        let width = (end - from).abs();
        let increment = slope(j) * width;
        area += width * (rise + 0.5 * increment);
        if arrived {
            return area;
        }
        rise += increment;
        from = end;
        j = if a >= b { j + 1 } else { j - 1 };
    }
    area + (a - from).abs() * rise + divergence(u, a, from).max(0.0)
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
