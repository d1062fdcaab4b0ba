//! Lemma 2: the change of loss by Step 1, without cancellation.

use super::scored::Scored;
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};

/// Beyond this many pieces the middle of the integral comes from the prefix sums.
const MAX_WALK: usize = 64;

/// `D_U(a ‖ b) = ∫_b^a (u(s) - u(b)) ds`, a sum of nonnegative terms.
///
/// `U(a) - U(b) - (a-b) u(b)` loses every digit when `a` is near `b`; here the rise `u(s) - u(b)` is
/// carried along the pieces from `b` to `a`, each adding its trapezoid.
pub fn potential_divergence(u: &PiecewiseLink, a: f64, b: f64) -> f64 {
    let (x, y) = (u.knots().x(), u.knots().y());
    let last = x.len() - 1;
    // The knots strictly between a and b.
    let (lo, hi) = if a < b { (a, b) } else { (b, a) };
    let first = x.partition_point(|&knot| knot <= lo);
    let mut end = first;
    while end <= last && x[end] < hi && end - first <= MAX_WALK {
        end += 1;
    }
    if end - first > MAX_WALK {
        let chord = u.potential(a) - u.potential(b);
        return (chord - (a - b) * u.u(b)).max(0.0);
    }
    // Piece j lies between knots j-1 and j; pieces 0 and K+1 are the constant ends.
    let slope =
        |j: usize| if j == 0 || j > last { 0.0 } else { (y[j] - y[j - 1]) / (x[j] - x[j - 1]) };
    let (mut rise, mut area) = (0.0, 0.0);
    let mut add = |width: f64, increment: f64| {
        area += width * (rise + 0.5 * increment);
        rise += increment;
    };
    if a >= b {
        let mut from = b;
        for j in first..end {
            add(x[j] - from, slope(j) * (x[j] - from));
            from = x[j];
        }
        add(a - from, slope(end) * (a - from));
    } else {
        let mut from = b;
        for j in (first..end).rev() {
            add(from - x[j], slope(j + 1) * (from - x[j]));
            from = x[j];
        }
        add(from - a, slope(first) * (from - a));
    }
    area
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
