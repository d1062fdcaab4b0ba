//! How well scores order the rows.

use super::Forecasts;
use crate::error::{Error, Result};

/// The area under the ROC curve: the probability that a random positive has a higher score than a
/// random negative, ties counting one half. O(m log m).
///
/// ```text
/// AUC = Σ_{i: y=1} Σ_{j: y=0} w_i w_j (1[z_i > z_j] + 1[z_i = z_j]/2) / (W_1 W_0)
/// ```
/// Without weights every sum is a whole or half number: exact up to the division (below 2⁵³ pairs).
pub fn auc(scores: &[f64], labels: &[u8], weights: Option<&[f64]>) -> Result<f64> {
    let groups = Forecasts::scores(scores, labels, weights)?.groups();
    let (mut below, mut wins, mut positives) = (0.0, 0.0, 0.0);
    for group in &groups {
        let negative = group.weight - group.positive;
        wins += group.positive * (below + 0.5 * negative);
        below += negative;
        positives += group.positive;
    }
    if positives == 0.0 || below == 0.0 {
        return Err(Error::OneClass { label: u8::from(positives > 0.0) });
    }
    Ok(wins / (positives * below))
}
