//! Train/test splits and folds, by seed, with the classes in proportion.

use crate::dataset::ClassLabel;
use crate::error::{Error, Result};
use crate::random::Random;

/// The rows of the two parts, each in increasing order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to fit on.
    pub train: Vec<usize>,
    /// Rows to test on.
    pub test: Vec<usize>,
}

/// A share `test_share` of each class to the test part, chosen by `seed`; each part gets at least one row of
/// each class. Of three classes or more, one with a single row stays in the training part.
pub fn train_test<L: ClassLabel>(labels: &[L], test_share: f64, seed: u64) -> Result<Split> {
    check_share(test_share)?;
    let mut part = vec![0; labels.len()];
    for rows in shuffled_classes(labels, seed, 2)? {
        let count = (rows.len() as f64 * test_share).round() as usize;
        let most = rows.len().saturating_sub(1);
        for &row in &rows[..count.clamp(1.min(most), most)] {
            part[row] = 1;
        }
    }
    if !part.contains(&1) {
        return Err(Error::TooFewRows { class: "any".into(), count: 1, needed: 2 });
    }
    Ok(held_out(&part, 1))
}

/// The last rows, a share `test_share` of all, to the test part: data in the order of time. Each part must have
/// rows of both classes; of three classes or more, the training part rows of every one.
pub fn last_rows<L: ClassLabel>(labels: &[L], classes: usize, test_share: f64) -> Result<Split> {
    check_share(test_share)?;
    let start = labels.len() - (labels.len() as f64 * test_share).round() as usize;
    let parts = [&labels[..start], &labels[start..]];
    for part in &parts[..if L::IN_EVERY_PART { 2 } else { 1 }] {
        let mut occurs = vec![false; classes];
        part.iter().for_each(|label| occurs[label.class()] = true);
        if let Some(class) = occurs.iter().position(|&occurs| !occurs) {
            return Err(Error::TooFewRows { class: class.to_string(), count: 0, needed: 1 });
        }
    }
    Ok(Split { train: (0..start).collect(), test: (start..labels.len()).collect() })
}

/// `k` splits whose test parts are disjoint and cover all rows; the size of each class differs by at most one
/// between test parts. Of three classes or more, one with fewer rows than folds is in fewer test parts, one with
/// a single row in none.
pub fn folds<L: ClassLabel>(labels: &[L], k: usize, seed: u64) -> Result<Vec<Split>> {
    check_folds(k)?;
    let mut fold = vec![NEVER; labels.len()];
    // One count over the classes, so that the totals differ by at most one too.
    let mut next = 0;
    for rows in shuffled_classes(labels, seed, k)?.into_iter().filter(|rows| rows.len() > 1) {
        for row in rows {
            fold[row] = next % k as u32;
            next += 1;
        }
    }
    if (next as usize) < k {
        return Err(Error::TooFewRows { class: "any".into(), count: next as usize, needed: k });
    }
    Ok(held_out_each(&fold, k))
}

/// The part of a row that is never held out.
pub(crate) const NEVER: u32 = u32::MAX;

/// The rows of a part to test on, the others to train.
pub(crate) fn held_out(part_of_row: &[u32], part: u32) -> Split {
    let (test, train) = (0..part_of_row.len()).partition(|&row| part_of_row[row] == part);
    Split { train, test }
}

/// Each of `k` parts once to test on.
pub(crate) fn held_out_each(part_of_row: &[u32], k: usize) -> Vec<Split> {
    (0..k as u32).map(|part| held_out(part_of_row, part)).collect()
}

/// The rows of each class in random order; an error if one that must be in every part has fewer than `needed`.
fn shuffled_classes<L: ClassLabel>(
    labels: &[L],
    seed: u64,
    needed: usize,
) -> Result<Vec<Vec<usize>>> {
    let least = if L::IN_EVERY_PART { 2 } else { 0 };
    let count = labels.iter().map(|label| label.class() + 1).max().unwrap_or(0);
    let mut classes = vec![Vec::new(); count.max(least)];
    for (row, label) in labels.iter().enumerate() {
        classes[label.class()].push(row);
    }
    for (class, rows) in classes.iter_mut().enumerate() {
        if L::IN_EVERY_PART && rows.len() < needed {
            return Err(Error::TooFewRows { class: class.to_string(), count: rows.len(), needed });
        }
        Random::stream(seed, class as u64).shuffle(rows);
    }
    Ok(classes)
}

pub(crate) fn check_share(test_share: f64) -> Result<()> {
    if test_share > 0.0 && test_share < 1.0 {
        return Ok(());
    }
    Err(Error::BadOption {
        what: "the share of the test part",
        value: test_share.to_string(),
        expected: "above 0 and below 1".into(),
    })
}

pub(crate) fn check_folds(k: usize) -> Result<()> {
    if k >= 2 {
        return Ok(());
    }
    Err(Error::BadOption {
        what: "the number of folds",
        value: k.to_string(),
        expected: "2 or more".into(),
    })
}
