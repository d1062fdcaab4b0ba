//! The log-loss of every test row, for standard errors and paired differences.

use std::collections::BTreeMap;

/// Of the rows of all rounds, in order.
#[derive(Default)]
pub(super) struct RowLosses(Vec<RowLoss>);

/// The part of a test row in the mean over rounds of the log-loss, `share * loss`; the shares sum to 1.
#[derive(Clone, Copy)]
struct RowLoss {
    share: f64,
    loss: f64,
    /// Rows of one cluster are not independent.
    cluster: u32,
}

impl RowLosses {
    /// Takes in the test rows of one of so many rounds.
    pub fn add(
        &mut self,
        losses: impl ExactSizeIterator<Item = f64>,
        weights: Option<&[f64]>,
        groups: Option<&[u32]>,
        rounds: usize,
    ) {
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..losses.len()).map(weight).sum();
        for (i, loss) in losses.enumerate() {
            let cluster = groups.map_or(self.0.len() as u32, |groups| groups[i]);
            let share = weight(i) / (total * rounds as f64);
            self.0.push(RowLoss { share, loss, cluster });
        }
    }

    /// The standard error of the mean log-loss.
    pub fn standard_error(&self) -> f64 {
        standard_error(&self.0)
    }

    /// Mean log-loss less that of another method on the same rows, and its standard error.
    pub fn difference(&self, other: &Self) -> (f64, f64) {
        let pairs = self.0.iter().zip(&other.0);
        let rows: Vec<RowLoss> =
            pairs.map(|(own, other)| RowLoss { loss: own.loss - other.loss, ..*own }).collect();
        (rows.iter().map(|row| row.share * row.loss).sum(), standard_error(&rows))
    }
}

/// `√( n/(n-1) Σ_g (Σ_{i in g} s_i (l_i - l̄))² )` over the `n` clusters, `l̄ = Σ s_i l_i`; without
/// clusters every row is one. Of one fit only: what another training sample would change is not in it.
fn standard_error(rows: &[RowLoss]) -> f64 {
    let mean: f64 = rows.iter().map(|row| row.share * row.loss).sum();
    let mut sums = BTreeMap::<u32, f64>::new();
    for row in rows {
        *sums.entry(row.cluster).or_default() += row.share * (row.loss - mean);
    }
    let n = sums.len() as f64;
    (n / (n - 1.0) * sums.values().map(|sum| sum * sum).sum::<f64>()).sqrt()
}
