//! What the probabilities lose against isotonic regression on the same labels.

use std::ops::Add;

use rayon::prelude::*;

use super::rows::{Every, Fold, Row};

/// `E_c`: excess losses, summed. Where the probabilities increase with the score neither is negative:
/// isotonic regression is at least as good for every proper loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Excess {
    /// In nats; infinite where a probability of 0 or 1 was wrong.
    pub log: f64,
    pub brier: f64,
}

impl Add for Excess {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { log: self.log + other.log, brier: self.brier + other.brier }
    }
}

/// The excess of the folds under their own labels: by all threads, added in their order.
pub(super) fn total_excess(folds: &[Fold]) -> Excess {
    let of_fold = |fold: &Fold| excess(fold.rows.all(), |_, row| row.positive);
    let parts: Vec<Excess> = folds.par_iter().map(of_fold).collect();
    parts.into_iter().fold(Excess::default(), |a, b| a + b)
}

impl Excess {
    /// Where the probabilities increase with the score, less than 0 is rounding.
    pub fn at_least_zero(self) -> Self {
        Self { log: self.log.max(0.0), brier: self.brier.max(0.0) }
    }
}

/// Rows pooled by isotonic regression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pool {
    pub weight: f64,
    pub positive: f64,
    /// One past its last row.
    pub end: usize,
}

/// Isotonic regression of labels on rows in increasing order of their scores; rows of one score
/// are never apart. The values `positive/weight` increase. O(rows).
pub(super) fn pool(rows: Every<'_>, label: impl Fn(usize, &Row) -> bool) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    let mut start = 0;
    while start < rows.len() {
        let score = rows.row(start).score;
        let mut next = Pool { weight: 0.0, positive: 0.0, end: start };
        while next.end < rows.len() && rows.row(next.end).score == score {
            let row = rows.row(next.end);
            next.weight += row.weight;
            next.positive += if label(next.end, &row) { row.weight } else { 0.0 };
            next.end += 1;
        }
        start = next.end;
        while let Some(before) = pools.last() {
            if before.positive * next.weight < next.positive * before.weight {
                break;
            }
            next.weight += before.weight;
            next.positive += before.positive;
            pools.pop();
        }
        pools.push(next);
    }
    pools
}

/// The excess under any labels.
pub(super) fn excess(rows: Every<'_>, label: impl Fn(usize, &Row) -> bool) -> Excess {
    let (mut log, mut brier, mut start) = (0.0, 0.0, 0);
    for pool in pool(rows, &label) {
        let fitted = pool.positive / pool.weight;
        for i in start..pool.end {
            let row = rows.row(i);
            let (v, w) = (row.probability, row.weight);
            let (ratio, y) =
                if label(i, &row) { (fitted / v, 1.0) } else { ((1.0 - fitted) / (1.0 - v), 0.0) };
            log += w * ratio.ln();
            // (y - v)² - (y - p)²
            brier += w * (fitted - v) * (2.0 * y - v - fitted);
        }
        start = pool.end;
    }
    Excess { log, brier }
}
