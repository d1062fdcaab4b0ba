//! Examples of several classes, and who is held out with whom.

use crate::error::{Error, Result, class_labels, same_length};
use crate::proper::{Folds, Random, check_count, grouped_folds};
use crate::sample::{Matrix, Sample};

/// Rows, labels `0..K`, weights. *Invariant*: everything a [`Sample`] guarantees, `K >= 2`, and
/// every class has a row of positive weight.
#[derive(Debug, Clone, Copy)]
pub struct ClassSample<'a> {
    matrix: Matrix<'a>,
    labels: &'a [u32],
    classes: usize,
    weights: Option<&'a [f64]>,
}

impl<'a> ClassSample<'a> {
    /// Checks everything once, in one pass over the values.
    pub fn new(
        matrix: Matrix<'a>,
        labels: &'a [u32],
        classes: usize,
        weights: Option<&'a [f64]>,
    ) -> Result<Self> {
        if classes < 2 {
            return Err(Error::TooShort { what: "classes", length: classes, minimum: 2 });
        }
        class_labels(labels, classes)?;
        // The checks of the values are those of class 0 against the rest; an empty class is named
        // before it can be mistaken for "one class only".
        if labels.len() == matrix.rows() && weights.is_none_or(|w| w.len() == labels.len()) {
            let mut seen = vec![false; classes];
            for (i, &y) in labels.iter().enumerate() {
                seen[y as usize] |= weights.is_none_or(|w| w[i] != 0.0);
            }
            if let Some(class) = seen.iter().position(|seen| !seen) {
                return Err(Error::ClassWithoutRows { class, classes });
            }
        }
        let rest: Vec<u8> = labels.iter().map(|&y| u8::from(y > 0)).collect();
        let _ = Sample::new(matrix, &rest, weights)?;
        Ok(Self { matrix, labels, classes, weights })
    }

    /// The rows.
    pub fn matrix(&self) -> Matrix<'a> {
        self.matrix
    }

    /// The class of every row.
    pub fn labels(&self) -> &'a [u32] {
        self.labels
    }

    /// `K`.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The weight of row `i`; 1 where no weights were given.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }
}

/// The fold number of a row that is never held out.
pub const NEVER: u32 = u32::MAX;

/// Every row's fold, and which rows count when held-out likelihood is summed.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub of_row: Vec<u32>,
    pub count: usize,
    /// Row weights; 0 for rows that are not scored.
    pub scored: Vec<f64>,
}

/// The rows of positive weight, and how many of them each class has.
fn kept_rows(labels: &[u32], classes: usize, weights: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let kept: Vec<usize> = (0..labels.len()).filter(|&i| weights[i] > 0.0).collect();
    let mut sizes = vec![0usize; classes];
    kept.iter().for_each(|&i| sizes[labels[i] as usize] += 1);
    (kept, sizes)
}

/// The rule for rare classes: the rows of a class are dealt to the folds in turn, so a class with
/// fewer rows than folds is held out in fewer folds; the row of a class with a single row is never
/// held out. With groups or given folds a row whose class is nowhere outside its fold is not scored.
pub(super) fn assign(
    folds: &Folds,
    labels: &[u32],
    classes: usize,
    weights: &[f64],
) -> Result<Assignment> {
    let (kept, sizes) = kept_rows(labels, classes, weights);
    let (of_row, count) = match folds {
        Folds::Stratified { count, seed } => {
            let most = sizes.iter().filter(|&&size| size >= 2).sum::<usize>();
            if most == 0 {
                return Err(Error::NothingToHoldOut { classes });
            }
            let count = check_count(*count)?.min(most).max(2);
            (stratified(labels, &sizes, &kept, count, *seed), count)
        }
        Folds::Grouped { groups, count, seed } => {
            same_length(("groups", groups.len()), ("labels", labels.len()))?;
            let count = check_count(*count)?;
            let label = |i: usize| labels[i];
            (grouped_folds(label, groups, &kept, count, *seed, NEVER)?, count)
        }
        Folds::Given(of_row) => {
            same_length(("folds", of_row.len()), ("labels", labels.len()))?;
            let count = kept.iter().map(|&i| of_row[i] as usize + 1).max().unwrap_or(0);
            (of_row.clone(), check_count(count)?)
        }
    };
    held_out(of_row, count, labels, classes, weights)
}

/// Which rows of given folds are scored: those whose class is also outside their fold.
pub(super) fn held_out(
    of_row: Vec<u32>,
    count: usize,
    labels: &[u32],
    classes: usize,
    weights: &[f64],
) -> Result<Assignment> {
    let (kept, sizes) = kept_rows(labels, classes, weights);
    let mut inside = vec![0usize; count * classes];
    for &i in kept.iter().filter(|&&i| of_row[i] != NEVER) {
        inside[of_row[i] as usize * classes + labels[i] as usize] += 1;
    }
    if let Some(fold) = inside.chunks(classes).position(|fold| fold.iter().all(|&n| n == 0)) {
        return Err(Error::EmptyFold { fold });
    }
    let mut scored = vec![0.0; labels.len()];
    for &i in kept.iter().filter(|&&i| of_row[i] != NEVER) {
        let y = labels[i] as usize;
        if inside[of_row[i] as usize * classes + y] < sizes[y] {
            scored[i] = weights[i];
        }
    }
    if scored.iter().all(|&w| w == 0.0) {
        return Err(Error::NothingToHoldOut { classes });
    }
    Ok(Assignment { of_row, count, scored })
}

/// Deals the shuffled rows of one class after the other to the folds in turn.
fn stratified(
    labels: &[u32],
    sizes: &[usize],
    kept: &[usize],
    count: usize,
    seed: u64,
) -> Vec<u32> {
    let mut random = Random(seed);
    let mut by_class: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    kept.iter().for_each(|&i| by_class[labels[i] as usize].push(i));
    let mut of_row = vec![NEVER; labels.len()];
    let mut number = 0;
    for mut rows in by_class.into_iter().filter(|rows| rows.len() >= 2) {
        random.shuffle(&mut rows);
        for i in rows {
            of_row[i] = (number % count) as u32;
            number += 1;
        }
    }
    of_row
}
