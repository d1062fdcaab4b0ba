//! Train/test splits and folds, by seed, with the classes in proportion.

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

/// A share `test_share` of each class to the test part, chosen by `seed`; each part gets at least
/// one row of each class.
pub fn train_test(labels: &[u8], test_share: f64, seed: u64) -> Result<Split> {
    if !(test_share > 0.0 && test_share < 1.0) {
        return Err(bad_share(test_share));
    }
    let mut is_test = vec![false; labels.len()];
    for rows in shuffled_classes(labels, seed, 2)? {
        let count = (rows.len() as f64 * test_share).round() as usize;
        for &row in &rows[..count.clamp(1, rows.len() - 1)] {
            is_test[row] = true;
        }
    }
    let (test, train) = (0..labels.len()).partition(|&row| is_test[row]);
    Ok(Split { train, test })
}

/// The last rows, a share `test_share` of all, to the test part: data in the order of time. Each part
/// must have rows of both classes.
pub fn last_rows(labels: &[u8], test_share: f64) -> Result<Split> {
    if !(test_share > 0.0 && test_share < 1.0) {
        return Err(bad_share(test_share));
    }
    let start = labels.len() - (labels.len() as f64 * test_share).round() as usize;
    for part in [&labels[..start], &labels[start..]] {
        for class in 0..2u8 {
            if !part.contains(&class) {
                return Err(Error::TooFewRows { class: class.to_string(), count: 0, needed: 1 });
            }
        }
    }
    Ok(Split { train: (0..start).collect(), test: (start..labels.len()).collect() })
}

/// `k` splits whose test parts are disjoint and cover all rows; the size of each class differs by
/// at most one between test parts.
pub fn folds(labels: &[u8], k: usize, seed: u64) -> Result<Vec<Split>> {
    if k < 2 {
        return Err(Error::BadOption {
            what: "the number of folds",
            value: k.to_string(),
            expected: "2 or more".into(),
        });
    }
    let mut fold = vec![0; labels.len()];
    // One count over both classes, so that the totals differ by at most one too.
    let mut next = 0;
    for rows in shuffled_classes(labels, seed, k)? {
        for row in rows {
            fold[row] = next % k;
            next += 1;
        }
    }
    let split = |j: usize| {
        let (test, train) = (0..labels.len()).partition(|&row| fold[row] == j);
        Split { train, test }
    };
    Ok((0..k).map(split).collect())
}

/// The rows of each class in random order; an error if a class has fewer than `needed`.
fn shuffled_classes(labels: &[u8], seed: u64, needed: usize) -> Result<[Vec<usize>; 2]> {
    let mut classes = [Vec::new(), Vec::new()];
    for (row, &label) in labels.iter().enumerate() {
        classes[usize::from(label != 0)].push(row);
    }
    for (class, rows) in classes.iter_mut().enumerate() {
        if rows.len() < needed {
            return Err(Error::TooFewRows { class: class.to_string(), count: rows.len(), needed });
        }
        Random::stream(seed, class as u64).shuffle(rows);
    }
    Ok(classes)
}

/// [`train_test`] for three classes or more. A class with one row stays in the training part.
pub fn train_test_of_classes(labels: &[u32], test_share: f64, seed: u64) -> Result<Split> {
    if !(test_share > 0.0 && test_share < 1.0) {
        return Err(bad_share(test_share));
    }
    let mut is_test = vec![false; labels.len()];
    for rows in shuffled(labels, seed) {
        let count = (rows.len() as f64 * test_share).round() as usize;
        let most = rows.len().saturating_sub(1);
        for &row in &rows[..count.clamp(1.min(most), most)] {
            is_test[row] = true;
        }
    }
    let (test, train): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&row| is_test[row]);
    match test.len() {
        0 => Err(Error::TooFewRows { class: "any".into(), count: 1, needed: 2 }),
        _ => Ok(Split { train, test }),
    }
}

/// [`last_rows`] for three classes or more, numbered below `classes`. The training part must have
/// rows of every class.
pub fn last_rows_of_classes(labels: &[u32], classes: usize, test_share: f64) -> Result<Split> {
    if !(test_share > 0.0 && test_share < 1.0) {
        return Err(bad_share(test_share));
    }
    let start = labels.len() - (labels.len() as f64 * test_share).round() as usize;
    if let Some(class) = (0..classes as u32).find(|class| !labels[..start].contains(class)) {
        return Err(Error::TooFewRows { class: class.to_string(), count: 0, needed: 1 });
    }
    Ok(Split { train: (0..start).collect(), test: (start..labels.len()).collect() })
}

/// [`folds`] for three classes or more: a class with fewer rows than folds is in fewer test parts, one
/// with a single row in none.
pub fn folds_of_classes(labels: &[u32], k: usize, seed: u64) -> Result<Vec<Split>> {
    const NEVER: usize = usize::MAX;
    if k < 2 {
        return Err(Error::BadOption {
            what: "the number of folds",
            value: k.to_string(),
            expected: "2 or more".into(),
        });
    }
    let mut fold = vec![NEVER; labels.len()];
    let mut next = 0;
    for rows in shuffled(labels, seed).into_iter().filter(|rows| rows.len() > 1) {
        for row in rows {
            fold[row] = next % k;
            next += 1;
        }
    }
    if next < k {
        return Err(Error::TooFewRows { class: "any".into(), count: next, needed: k });
    }
    let split = |j: usize| {
        let (test, train) = (0..labels.len()).partition(|&row| fold[row] == j);
        Split { train, test }
    };
    Ok((0..k).map(split).collect())
}

/// The rows of each class in random order.
fn shuffled(labels: &[u32], seed: u64) -> Vec<Vec<usize>> {
    let count = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut classes = vec![Vec::new(); count];
    for (row, &label) in labels.iter().enumerate() {
        classes[label as usize].push(row);
    }
    for (class, rows) in classes.iter_mut().enumerate() {
        Random::stream(seed, class as u64).shuffle(rows);
    }
    classes
}

pub(crate) fn bad_share(test_share: f64) -> Error {
    Error::BadOption {
        what: "the share of the test part",
        value: test_share.to_string(),
        expected: "above 0 and below 1".into(),
    }
}
