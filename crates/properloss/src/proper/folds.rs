//! Which rows are held out together.

use crate::error::{Error, Result};

/// How rows are put into folds for cross-validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folds {
    /// `count` folds, shuffled, each with its share of both classes; fewer if a class has fewer
    /// rows than that.
    Stratified {
        /// Number of folds.
        count: usize,
        /// Seed of the shuffle.
        seed: u64,
    },
    /// As [`Self::Stratified`], but rows of one group are never apart: `group[i]` is row `i`'s.
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
        let kept: Vec<usize> = (0..labels.len()).filter(|&i| weights[i] > 0.0).collect();
        for label in [0, 1] {
            let rows = kept.iter().filter(|&&i| labels[i] == label).count();
            if rows < 2 {
                return Err(Error::ClassTooSmall { label, rows, minimum: 2 });
            }
        }
        let assignment = match self {
            Self::Stratified { count, seed } => {
                stratified(labels, &kept, check_count(*count)?, *seed)
            }
            Self::Grouped { groups, count, seed } => {
                check_length("groups", groups.len(), labels.len())?;
                grouped(labels, groups, &kept, check_count(*count)?, *seed)?
            }
            Self::Given(of_row) => {
                check_length("folds", of_row.len(), labels.len())?;
                let count = kept.iter().map(|&i| of_row[i] as usize + 1).max().unwrap_or(0);
                Assignment { of_row: of_row.clone(), count: check_count(count)? }
            }
        };
        assignment.check(labels, &kept)?;
        Ok(assignment)
    }
}

impl Assignment {
    fn check(&self, labels: &[u8], kept: &[usize]) -> Result<()> {
        let mut rows = vec![[0usize; 2]; self.count];
        let mut total = [0; 2];
        for &i in kept {
            rows[self.of_row[i] as usize][usize::from(labels[i])] += 1;
            total[usize::from(labels[i])] += 1;
        }
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

fn check_count(count: usize) -> Result<usize> {
    if (2..=1024).contains(&count) {
        return Ok(count);
    }
    let expected = "from 2 to 1024";
    Err(Error::OutOfDomain { what: "the number of folds", value: count as f64, expected })
}

fn check_length(what: &'static str, length: usize, rows: usize) -> Result<()> {
    if length == rows {
        return Ok(());
    }
    Err(Error::LengthMismatch { what, length, other: "labels", other_length: rows })
}

/// Deals the shuffled negatives, then the shuffled positives, one to each fold in turn.
fn stratified(labels: &[u8], kept: &[usize], count: usize, seed: u64) -> Assignment {
    let mut random = Random(seed);
    let classes = [0, 1].map(|label| {
        let mut rows: Vec<usize> = kept.iter().copied().filter(|&i| labels[i] == label).collect();
        random.shuffle(&mut rows);
        rows
    });
    let count = count.min(classes[0].len()).min(classes[1].len());
    let mut of_row = vec![0; labels.len()];
    for (number, &i) in classes.iter().flatten().enumerate() {
        of_row[i] = (number % count) as u32;
    }
    Assignment { of_row, count }
}

/// Largest group first, each to the fold where it makes the two classes most even.
fn grouped(
    labels: &[u8],
    groups: &[u32],
    kept: &[usize],
    count: usize,
    seed: u64,
) -> Result<Assignment> {
    let mut by_group = std::collections::BTreeMap::<u32, Vec<usize>>::new();
    for &i in kept {
        by_group.entry(groups[i]).or_default().push(i);
    }
    if by_group.len() < count {
        return Err(Error::TooShort { what: "groups", length: by_group.len(), minimum: count });
    }
    let mut parts: Vec<Vec<usize>> = by_group.into_values().collect();
    Random(seed).shuffle(&mut parts);
    parts.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
    let mut total = [0.0f64; 2];
    for &i in kept {
        total[usize::from(labels[i])] += 1.0;
    }
    let mut share = vec![[0.0f64; 2]; count];
    let mut of_row = vec![0; labels.len()];
    for rows in parts {
        let mut part = [0.0; 2];
        for &i in &rows {
            part[usize::from(labels[i])] += 1.0 / total[usize::from(labels[i])];
        }
        let after = |k: usize| (share[k][0] + part[0]).powi(2) + (share[k][1] + part[1]).powi(2);
        let before = |k: usize| share[k][0].powi(2) + share[k][1].powi(2);
        let cost = |k: usize| after(k) - before(k);
        let best = (1..count).fold(0, |best, k| if cost(k) < cost(best) { k } else { best });
        share[best][0] += part[0];
        share[best][1] += part[1];
        for i in rows {
            of_row[i] = best as u32;
        }
    }
    Ok(Assignment { of_row, count })
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
