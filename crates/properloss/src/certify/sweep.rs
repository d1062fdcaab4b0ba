//! A link at sorted scores, by merging: what an iteration needs without a search for each row.

use super::scored::Sum;
use crate::link::PiecewiseLink;

/// For increasing scores: the number of knots at or left of each, and `u` there; O(m + K).
pub(crate) fn locate_sorted(
    u: &PiecewiseLink,
    scores: &[f64],
    pieces: &mut Vec<u32>,
    values: &mut Vec<f64>,
) {
    let (x, y) = (u.knots().x(), u.knots().y());
    pieces.clear();
    values.clear();
    let mut k = 0;
    for &z in scores {
        while k < x.len() && x[k] <= z {
            k += 1;
        }
        pieces.push(k as u32);
        values.push(if k == 0 {
            0.0
        } else if k == x.len() {
            1.0
        } else {
            let (left, right) = (z - x[k - 1], x[k] - z);
            let (width, rise) = (x[k] - x[k - 1], y[k] - y[k - 1]);
            if left <= right {
                y[k - 1] + rise * (left / width)
            } else {
                y[k] - rise * (right / width)
            }
        });
    }
}

/// `Σ_g [negative_g U(z_g) + positive_g ∫_{z_g}^∞ (1-u)]` for increasing scores with the weights of
/// the negatives and of the positives there; `pieces` and `values` as found by [`locate_sorted`].
/// All terms are nonnegative; O(m + K).
pub(crate) fn loss_sorted(
    u: &PiecewiseLink,
    scores: &[f64],
    (negative, positive): (&[f64], &[f64]),
    pieces: &[u32],
    values: &[f64],
) -> f64 {
    let (x, y) = (u.knots().x(), u.knots().y());
    let last = x.len() - 1;
    let mut sum = Sum::default();
    // Upwards: the area under u.
    let (mut area, mut at, mut value, mut k) = (Sum::default(), x[0], 0.0, 0);
    for g in 0..scores.len() {
        let piece = pieces[g] as usize;
        while k < piece {
            area.add(0.5 * (value + y[k]) * (x[k] - at));
            (at, value) = (x[k], y[k]);
            k += 1;
        }
        if piece > 0 {
            area.add(0.5 * (value + values[g]) * (scores[g] - at));
            (at, value) = (scores[g], values[g]);
        }
        sum.add(negative[g] * area.value());
    }
    // Downwards: the area over u.
    let (mut area, mut at, mut value, mut k) = (Sum::default(), x[last], 0.0, last + 1);
    for g in (0..scores.len()).rev() {
        let piece = pieces[g] as usize;
        while k > piece {
            k -= 1;
            area.add(0.5 * (value + (1.0 - y[k])) * (at - x[k]));
            (at, value) = (x[k], 1.0 - y[k]);
        }
        if piece <= last {
            area.add(0.5 * (value + (1.0 - values[g])) * (at - scores[g]));
            (at, value) = (scores[g], 1.0 - values[g]);
        }
        sum.add(positive[g] * area.value());
    }
    sum.value()
}
