//! Held-out rows, checked, and their folds in increasing order of the scores.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::chain::{ScoreOrder, count_of_rows};
use crate::error::{Error, Result, binary_labels, each, row_weights, same_length};

/// Of a fold at most so many rows decide which e-values are mixed: the excess of right probabilities grows with
/// the cube root of the rows.
const MAX_SAMPLE: usize = 1000;

/// Probabilities with the labels they have not seen. *Invariant*: equal lengths, at least one row of
/// positive weight, probabilities in `[0, 1]`, labels 0 or 1, weights finite and not negative.
#[derive(Debug, Clone, Copy)]
pub struct HeldOut<'a> {
    probabilities: &'a [f64],
    labels: &'a [u8],
    weights: Option<&'a [f64]>,
    folds: Option<&'a [u32]>,
}

impl<'a> HeldOut<'a> {
    /// `folds[i]` is the fold of row `i` where each fold has a model of its own, fitted without it.
    /// Weights say how much a row counts in the mean; weight 2 is *not* two independent rows.
    pub fn new(
        probabilities: &'a [f64],
        labels: &'a [u8],
        weights: Option<&'a [f64]>,
        folds: Option<&'a [u32]>,
    ) -> Result<Self> {
        let (what, length) = ("probabilities", probabilities.len());
        count_of_rows(length)?;
        for (other, other_length) in [
            ("labels", Some(labels.len())),
            ("weights", weights.map(<[f64]>::len)),
            ("folds", folds.map(<[u32]>::len)),
        ] {
            same_length((what, length), (other, other_length.unwrap_or(length)))?;
        }
        each(what, probabilities, "in [0, 1]", |p| (0.0..=1.0).contains(&p))?;
        binary_labels(labels)?;
        row_weights(weights.unwrap_or(&[]))?;
        let counted = |i: usize| weights.is_none_or(|weights| weights[i] > 0.0);
        if !(0..length).any(counted) {
            let what = "rows of positive weight";
            return Err(Error::TooShort { what, length: 0, minimum: 1 });
        }
        Ok(Self { probabilities, labels, weights, folds })
    }

    pub(super) fn weighted(&self) -> bool {
        self.weights.is_some()
    }

    pub(super) fn folds(&self) -> Vec<Fold> {
        let Self { probabilities, labels, weights, folds } = *self;
        let parts = Columns { scores: probabilities, labels, weights, folds }.by_fold();
        parts.par_iter().map(|part| Fold::new(part, &part.scores, |p| p)).collect()
    }
}

/// Rows as they are given. *Invariant*: checked as those of [`HeldOut`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// What rows are ordered by within their fold; the probabilities themselves on fresh rows.
    pub scores: &'a [f64],
    pub labels: &'a [u8],
    pub weights: Option<&'a [f64]>,
    pub folds: Option<&'a [u32]>,
}

impl Columns<'_> {
    /// The folds that have rows of positive weight.
    pub(super) fn by_fold(&self) -> Vec<Part> {
        let Self { scores, labels, weights, folds } = *self;
        let largest = weights.map_or(1.0, |w| w.iter().fold(0.0, |a, &b| f64::max(a, b)));
        let uneven = weights.filter(|w| w.iter().any(|&w| w > 0.0 && w < largest));
        // Each thread sees all rows and takes those of its folds.
        let shares = rayon::current_num_threads();
        let gathered = |share: usize| {
            let mut parts = BTreeMap::<u32, Vec<u32>>::new();
            for i in (0..scores.len()).filter(|&i| weights.is_none_or(|weights| weights[i] > 0.0)) {
                let fold = folds.map_or(0, |folds| folds[i]);
                if fold as usize % shares == share {
                    parts.entry(fold).or_default().push(i as u32);
                }
            }
            parts
        };
        let parts: BTreeMap<u32, Vec<u32>> =
            (0..shares).into_par_iter().flat_map_iter(gathered).collect();
        let parts: Vec<Vec<u32>> = parts.into_values().collect();
        let part = |rows: Vec<u32>| Part {
            // -0 and 0 are one score.
            scores: rows.iter().map(|&i| scores[i as usize] + 0.0).collect(),
            labels: rows.iter().map(|&i| labels[i as usize]).collect(),
            weights: uneven.map(|w| rows.iter().map(|&i| w[i as usize]).collect()),
            largest,
            rows,
        };
        parts.into_par_iter().map(part).collect()
    }
}

/// The rows of one fold in the order they came. *Invariant*: not empty, equal lengths.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Their numbers among all rows.
    pub rows: Vec<u32>,
    pub scores: Vec<f64>,
    pub labels: Vec<u8>,
    /// Positive; none: all the same.
    pub weights: Option<Vec<f64>>,
    /// The largest weight of any fold.
    pub largest: f64,
}

impl Part {
    /// The same rows in another order, by their places.
    pub fn taken(&self, order: &[u32]) -> Self {
        fn each<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|&i| values[i as usize]).collect()
        }
        Self {
            rows: each(&self.rows, order),
            scores: each(&self.scores, order),
            labels: each(&self.labels, order),
            weights: self.weights.as_ref().map(|weights| each(weights, order)),
            largest: self.largest,
        }
    }
}

/// One held-out row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// What the row is ordered by; rows of one score are never apart.
    pub score: f64,
    pub probability: f64,
    pub positive: bool,
    /// In `(0, 1]`.
    pub weight: f64,
}

/// Rows by increasing score, a column each: 17 bytes a row where all have the same weight.
#[derive(Debug, Clone, Default)]
pub(super) struct Sorted {
    scores: Vec<f64>,
    probabilities: Vec<f64>,
    positive: Vec<bool>,
    /// None: all 1.
    weights: Option<Vec<f64>>,
}

impl Sorted {
    pub fn all(&self) -> Every<'_> {
        self.every(0, 1)
    }

    /// Every `step`-th row from `first` on.
    pub fn every(&self, first: usize, step: usize) -> Every<'_> {
        Every { sorted: self, first, step }
    }
}

/// Some of the rows, in their order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Every<'a> {
    sorted: &'a Sorted,
    first: usize,
    step: usize,
}

impl<'a> Every<'a> {
    pub fn len(&self) -> usize {
        self.sorted.scores.len().saturating_sub(self.first).div_ceil(self.step)
    }

    pub fn row(&self, i: usize) -> Row {
        let (Sorted { scores, probabilities, positive, weights }, i) =
            (self.sorted, self.first + i * self.step);
        Row {
            score: scores[i],
            probability: probabilities[i],
            positive: positive[i],
            weight: weights.as_ref().map_or(1.0, |weights| weights[i]),
        }
    }

    pub fn rows(self) -> impl Iterator<Item = Row> + 'a {
        (0..self.len()).map(move |i| self.row(i))
    }
}

/// The rows of one fold. *Invariant*: not empty.
#[derive(Debug, Clone)]
pub(super) struct Fold {
    pub rows: Sorted,
    /// At most [`MAX_SAMPLE`] of them, evenly spaced, with the references in the place of the probabilities.
    pub sample: Sorted,
}

impl Fold {
    /// A probability for each row, and the reference of a score.
    pub fn new(part: &Part, probabilities: &[f64], reference: impl Fn(f64) -> f64) -> Self {
        let (order, weights) = (ScoreOrder::of(&part.scores), part.weights.as_ref());
        let sorted = |step: usize, probability: &dyn Fn(usize) -> f64| {
            let rows = || order.order().iter().step_by(step).map(|&i| i as usize);
            Sorted {
                scores: rows().map(|i| part.scores[i]).collect(),
                probabilities: rows().map(probability).collect(),
                positive: rows().map(|i| part.labels[i] == 1).collect(),
                weights: weights.map(|w| rows().map(|i| w[i] / part.largest).collect()),
            }
        };
        let step = part.rows.len().div_ceil(MAX_SAMPLE);
        let sample = sorted(step, &|i| reference(part.scores[i]));
        Self { rows: sorted(1, &|i| probabilities[i]), sample }
    }

    pub fn rows(&self) -> usize {
        self.rows.scores.len()
    }

    pub fn positives(&self) -> usize {
        self.rows.positive.iter().filter(|&&positive| positive).count()
    }

    pub fn mass(&self) -> f64 {
        self.rows.all().rows().map(|row| row.weight).sum()
    }
}
