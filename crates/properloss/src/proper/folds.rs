//! Which rows are held out together.

use rayon::prelude::*;

use super::groups::grouped_folds;
use crate::error::{Error, Result, same_length};

/// Rows that are counted or dealt by one thread.
const PART: usize = 1 << 14;

/// How rows are put into folds for cross-validation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Folds {
    /// `count` folds, each with its share of both classes; fewer if a class has fewer rows than that.
    /// Every `count` rows of a class in succession go to different folds, in a random order.
    Stratified {
        /// Number of folds.
        count: usize,
        /// Seed of the orders.
        seed: u64,
    },
    /// Rows of one group are never apart, and every fold has its share of the classes as nearly as whole
    /// groups allow ([`deal_groups`](super::deal_groups)).
    Grouped {
        /// The group of every row.
        groups: Vec<u32>,
        /// Number of folds.
        count: usize,
        /// Seed of the order in which groups of equal size are taken.
        seed: u64,
    },
    /// The fold of every row, from 0; every number up to the largest must occur.
    Given(Vec<u32>),
}

impl Default for Folds {
    fn default() -> Self {
        Self::Stratified { count: 5, seed: 0 }
    }
}

/// Every row's fold. *Invariant*: outside each fold both classes have a positive weight.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub of_row: Vec<u32>,
    pub count: usize,
}

impl Folds {
    /// Rows of weight 0 are passed over: they change nothing, as if they were removed.
    pub(super) fn assign(&self, labels: &[u8], weights: &[f64]) -> Result<Assignment> {
        let parts = class_counts(labels, weights);
        for label in [0, 1] {
            let rows = parts.iter().map(|rows| rows[usize::from(label)]).sum::<u64>() as usize;
            if rows < 2 {
                return Err(Error::ClassTooSmall { label, rows, minimum: 2 });
            }
        }
        let kept = || (0..labels.len()).filter(|&i| weights[i] > 0.0);
        let assignment = match self {
            Self::Stratified { count, seed } => {
                stratified(labels, weights, &parts, check_count(*count)?, *seed)
            }
            Self::Grouped { groups, count, seed } => {
                same_length(("groups", groups.len()), ("labels", labels.len()))?;
                let (count, label) = (check_count(*count)?, |i: usize| u32::from(labels[i]));
                let kept: Vec<usize> = kept().collect();
                let of_row = grouped_folds(label, groups, &kept, count, *seed, 0)?;
                Assignment { of_row, count }
            }
            Self::Given(of_row) => {
                same_length(("folds", of_row.len()), ("labels", labels.len()))?;
                let count = kept().map(|i| of_row[i] as usize + 1).max().unwrap_or(0);
                Assignment { of_row: of_row.clone(), count: check_count(count)? }
            }
        };
        assignment.check(labels, weights)?;
        Ok(assignment)
    }
}

impl Assignment {
    fn check(&self, labels: &[u8], weights: &[f64]) -> Result<()> {
        let count = |part: usize| {
            let mut rows = vec![[0usize; 2]; self.count];
            for i in
                (part * PART..labels.len().min((part + 1) * PART)).filter(|&i| weights[i] > 0.0)
            {
                rows[self.of_row[i] as usize][usize::from(labels[i])] += 1;
            }
            rows
        };
        let add = |mut a: Vec<[usize; 2]>, b: Vec<[usize; 2]>| {
            a.iter_mut().zip(b).for_each(|(a, b)| (0..2).for_each(|class| a[class] += b[class]));
            a
        };
        let parts = (0..labels.len().div_ceil(PART)).into_par_iter().map(count);
        let rows = parts.reduce(|| vec![[0; 2]; self.count], add);
        let total = [0, 1].map(|class| rows.iter().map(|inside| inside[class]).sum());
        for (fold, inside) in rows.iter().enumerate() {
            if inside[0] + inside[1] == 0 {
                return Err(Error::EmptyFold { fold });
            }
            for label in [0u8, 1] {
                if inside[usize::from(label)] == total[usize::from(label)] {
                    return Err(Error::ClassInOneFold { label, fold });
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn check_count(count: usize) -> Result<usize> {
    if (2..=1024).contains(&count) {
        return Ok(count);
    }
    let expected = "from 2 to 1024";
    Err(Error::OutOfDomain { what: "the number of folds", value: count as f64, expected })
}

/// Rows of positive weight of each class, part by part.
fn class_counts(labels: &[u8], weights: &[f64]) -> Vec<[u64; 2]> {
    let count = |(labels, weights): (&[u8], &[f64])| {
        let mut rows = [0; 2];
        for (&label, &weight) in labels.iter().zip(weights) {
            rows[usize::from(label)] += u64::from(weight > 0.0);
        }
        rows
    };
    labels.par_chunks(PART).zip(weights.par_chunks(PART)).map(count).collect()
}

/// The class of every row deals for itself, [`Dealer`], from the rows before a part on.
fn stratified(
    labels: &[u8],
    weights: &[f64],
    parts: &[[u64; 2]],
    count: usize,
    seed: u64,
) -> Assignment {
    let mut rows = [0; 2];
    let mut before = Vec::with_capacity(parts.len());
    for part in parts {
        before.push(rows);
        (0..2).for_each(|class| rows[class] += part[class]);
    }
    let count = fewest(count, rows);
    let mut of_row = vec![0; labels.len()];
    let parts = labels.par_chunks(PART).zip(weights.par_chunks(PART)).zip(before);
    of_row.par_chunks_mut(PART).zip(parts).for_each(|(of_row, ((labels, weights), before))| {
        let mut dealer = Dealer::new(count, seed, before);
        for (fold, (&label, &weight)) in of_row.iter_mut().zip(labels.iter().zip(weights)) {
            if weight > 0.0 {
                *fold = dealer.next(label);
            }
        }
    });
    Assignment { of_row, count }
}

/// Not more folds than a class has rows.
pub(super) fn fewest(count: usize, rows: [u64; 2]) -> usize {
    count.min(rows[0].min(rows[1]).try_into().unwrap_or(usize::MAX))
}

/// Deals rows to folds, one after the other.
///
/// ```text
/// row n of its class (from 0, rows of weight 0 not counted), K folds:
/// fold = permutation(seed, class, n / K)[n % K]
/// ```
///
/// So every K rows of a class in succession go to K folds, and the fold of a row follows from the
/// number of rows of its class before it: whoever holds a part of the rows can deal it.
#[derive(Debug, Clone)]
pub(super) struct Dealer {
    key: u64,
    /// Rows of each class before the next.
    before: [u64; 2],
    /// The permutation of each class; empty before the first row.
    orders: [Vec<u32>; 2],
    count: usize,
}

impl Dealer {
    /// Where so many rows of each class were dealt before.
    pub(super) fn new(count: usize, seed: u64, before: [u64; 2]) -> Self {
        let orders = [Vec::new(), Vec::new()];
        Self { key: Random(seed).next(), before, orders, count }
    }

    /// The fold of the next row, which has this label.
    pub(super) fn next(&mut self, label: u8) -> u32 {
        let class = usize::from(label);
        let (n, count) = (self.before[class], self.count as u64);
        self.before[class] += 1;
        let order = &mut self.orders[class];
        if n.is_multiple_of(count) || order.is_empty() {
            order.clear();
            order.extend(0..self.count as u32);
            let group = 2 * (n / count) + u64::from(label);
            // A hash of the number, so that groups next to each other have nothing in common.
            let mut random = Random(Random(self.key ^ group).next());
            random.shuffle(order);
        }
        order[(n % count) as usize]
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): enough for shuffles, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            items.swap(last, other as usize);
        }
    }
}
