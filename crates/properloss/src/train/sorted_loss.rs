//! The mean loss of a piecewise-affine link at sorted scores, by one merge from each side.

use crate::chain::ScoreOrder;
use crate::piecewise::PiecewiseAffine;
use crate::sample::Sample;

/// `E[(1 - y) ∫_{-∞}^z u + y ∫_z^∞ (1 - u)]` in O(m + K), without a search for the pieces.
///
/// The two integrals are running sums of positive terms: over the negatives from the left, over
/// the positives from the right.
pub(super) fn mean_loss_sorted(
    knots: &PiecewiseAffine,
    order: &ScoreOrder,
    sample: &Sample<'_>,
) -> f64 {
    let class_weight = |group: usize, label: u8| -> f64 {
        let rows = order.rows(group).iter().map(|&row| row as usize);
        rows.filter(|&row| sample.labels()[row] == label).map(|row| sample.weight(row)).sum()
    };
    let z = order.scores();
    let (negatives, positives) = rayon::join(
        || negatives(knots, z, |group| class_weight(group, 0)),
        || positives(knots, z, |group| class_weight(group, 1)),
    );
    (negatives + positives) / sample.total_weight()
}

/// `Σ ω ∫_{-∞}^z u`.
fn negatives(knots: &PiecewiseAffine, z: &[f64], weight: impl Fn(usize) -> f64) -> f64 {
    let (x, u) = (knots.x(), knots.y());
    let last = x.len() - 1;
    let mut sum = 0.0;
    // The integral of u up to the knot k, the last one at or below the score.
    let (mut k, mut below) = (0, 0.0);
    for (group, &z) in z.iter().enumerate() {
        while k < last && x[k + 1] <= z {
            below += 0.5 * (u[k] + u[k + 1]) * (x[k + 1] - x[k]);
            k += 1;
        }
        let inside = if z <= x[0] {
            0.0
        } else if k == last {
            z - x[last]
        } else {
            let rise = knots.piece_slope(k) * (z - x[k]);
            (z - x[k]) * (u[k] + 0.5 * rise)
        };
        sum += weight(group) * (below + inside);
    }
    sum
}

/// `Σ ω ∫_z^∞ (1 - u)`.
fn positives(knots: &PiecewiseAffine, z: &[f64], weight: impl Fn(usize) -> f64) -> f64 {
    let (x, u) = (knots.x(), knots.y());
    let last = x.len() - 1;
    let mut sum = 0.0;
    // The integral of 1 - u from the knot k, the first one at or above the score.
    let (mut k, mut above) = (last, 0.0);
    for (group, &z) in z.iter().enumerate().rev() {
        while k > 0 && x[k - 1] >= z {
            above += 0.5 * ((1.0 - u[k]) + (1.0 - u[k - 1])) * (x[k] - x[k - 1]);
            k -= 1;
        }
        let inside = if z >= x[last] {
            0.0
        } else if k == 0 {
            x[0] - z
        } else {
            let drop = knots.piece_slope(k - 1) * (x[k] - z);
            (x[k] - z) * ((1.0 - u[k]) + 0.5 * drop)
        };
        sum += weight(group) * (above + inside);
    }
    sum
}
