//! Lemma 2: the change of loss by Step 1, without cancellation.

use super::scored::Scored;
use crate::bregman::divergence;
use crate::error::{Result, same_length};
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
    let [divergence] =
        pieces.divergences(u, [a], b, u.knots().x().partition_point(|&knot| knot <= b));
    divergence
}

/// Left end and slope of every piece of a link, the constant ends included: piece `j` lies right of
/// `j` knots. One more entry closes the last piece.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<(f64, f64)>);

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Pieces that can be named: the last entry closes the one before it.
    pub fn count(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    pub fn fill(&mut self, u: &PiecewiseLink) {
        let (knots, last) = (u.knots(), u.knots().knot_count() - 1);
        self.0.clear();
        self.0.push((f64::NEG_INFINITY, 0.0));
        self.0.extend((0..last).map(|k| (knots.x()[k], knots.piece_slope(k))));
        self.0.extend([(knots.x()[last], 0.0), (f64::INFINITY, 0.0)]);
    }

    /// [`potential_divergence`] of some `a` when the piece that holds `b` is known. The first `a` is
    /// the farthest from `b`, the others are between and come nearer.
    #[inline]
    pub fn divergences<const T: usize>(
        &self,
        u: &PiecewiseLink,
        a: [f64; T],
        b: f64,
        piece: usize,
    ) -> [f64; T] {
        let ((left, slope), (right, _)) = (self.0[piece], self.0[piece + 1]);
        if (a[0] >= left) & (a[0] <= right) {
            return a.map(|a| 0.5 * slope * (a - b) * (a - b));
        }
        self.divergences_across(u, a, b, piece)
    }

    /// From piece to piece, once for all. Beyond [`MAX_WALK`] pieces the rest is taken from the prefix
    /// sums of the link.
    fn divergences_across<const T: usize>(
        &self,
        u: &PiecewiseLink,
        a: [f64; T],
        b: f64,
        piece: usize,
    ) -> [f64; T] {
        let (mut rise, mut area, mut from, mut j) = (0.0, 0.0, b, piece);
        let (mut found, mut wanted) = ([0.0; T], T);
        let up = a[0] >= b;
        if a.iter().any(|a| a.is_nan()) {
            // An overflow on the way: there is no piece to walk to.
            return [f64::NAN; T];
        }
        for _ in 0..MAX_WALK {
            let (left, slope) = self.0[j];
            let end = if up { self.0[j + 1].0 } else { left };
            while wanted > 0 && (if up { end >= a[wanted - 1] } else { end <= a[wanted - 1] }) {
                wanted -= 1;
                let width = (a[wanted] - from).abs();
                found[wanted] = area + width * (rise + 0.5 * (slope * width));
            }
            if wanted == 0 {
                return found;
            }
            let width = (end - from).abs();
            let increment = slope * width;
            area += width * (rise + 0.5 * increment);
            rise += increment;
            from = end;
            j = if up { j + 1 } else { j - 1 };
        }
        for (found, a) in found.iter_mut().zip(a).take(wanted) {
            *found = area + (a - from).abs() * rise + divergence(u, a, from).max(0.0);
        }
        found
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
    same_length(("z_next", z_next.len()), ("z", before.z().len()))?;
    Ok(before.mean(|i| potential_divergence(u, z_next[i], before.z()[i])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::InverseLink;

    /// Several at once are, to the last bit, what each is by itself: on short and long ways, up and
    /// down, across more pieces than are walked, and beyond both ends.
    #[test]
    fn several_divergences_at_once() {
        let x: Vec<f64> = (0..=200).map(|k| f64::from(k) / 100.0 - 1.0).collect();
        let steps = (0..200).map(|k| 1.0 + f64::from(k * 7 % 11));
        let total: f64 = steps.clone().sum();
        let mut y = vec![0.0];
        y.extend(steps.scan(0.0, |sum, step| {
            *sum += step;
            Some(*sum / total)
        }));
        let u = PiecewiseLink::from_knots(x, y).unwrap();
        let mut pieces = Pieces::default();
        pieces.fill(&u);
        for b in [-1.5, -0.997, -0.3, 0.0, 0.505, 0.8, 1.0, 1.2] {
            let piece = u.knots().x().partition_point(|&knot| knot <= b);
            for way in [-3.0, -0.7, -0.05, -0.001, 0.0, 0.001, 0.03, 0.4, 3.0] {
                let a = [b + way, b + 0.5 * way];
                let both = pieces.divergences(&u, a, b, piece);
                assert_eq!(both, a.map(|a| potential_divergence(&u, a, b)), "{b} {way}");
                let direct = u.potential(a[0]) - u.potential(b) - (a[0] - b) * u.u(b);
                assert!((both[0] - direct).abs() <= 1e-14, "{b} {way}");
            }
        }
    }
}
