//! Held-out scores, counted: all that LINK has to know of the rows.
//!
//! ```text
//! cell of a score z (log-odds) = floor(128 z), |z| cut at 40
//! for every cell, fold and label:  sum w,  sum w z
//! ```
//!
//! A cell is a seventh of the least distance of two knots. Equal scores share one, and sums of parts
//! add up to the sums of the whole, so rows may come in any order, in parts, or from many machines.

use rayon::prelude::*;

use crate::error::{Error, Result, same_length};

/// Cells in a unit of log-odds.
const PER_UNIT: f64 = 128.0;
/// Scores beyond this share the last cell; their sum keeps what they are.
const FAR: f64 = 40.0;
const CELLS: usize = (2.0 * FAR * PER_UNIT) as usize;
/// A row further out than this counts as one at this distance.
const FURTHEST: f64 = 1e6;
/// Rows added up in a row; parts are added in order, so the number of threads changes no bit.
const PART: usize = 1 << 17;
/// Fewer rows than this are sorted by their cells instead of counted in all of them, and so are the
/// rows of very many folds.
const FEW_ROWS: usize = 1 << 13;
const MANY_FOLDS: usize = 64;

/// Rows of one cell, fold and label.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Count {
    /// Cell, fold and label in one number that sorts by cell first.
    key: u64,
    pub weight: f64,
    /// `sum w z`.
    score: f64,
}

impl Count {
    pub fn cell(&self) -> u64 {
        self.key >> 32
    }

    pub fn fold(&self) -> usize {
        (self.key >> 1) as usize & 0x7fff_ffff
    }

    pub fn positive(&self) -> bool {
        self.key & 1 == 1
    }

    /// The mean score.
    pub fn mean(&self) -> f64 {
        self.score / self.weight
    }

    /// Between which scores its rows lie; infinite for the outermost cells.
    pub fn edges(&self) -> (f64, f64) {
        let (cell, edge) = (self.cell() as usize, |cell: usize| cell as f64 / PER_UNIT - FAR);
        let low = if cell == 0 { f64::NEG_INFINITY } else { edge(cell) };
        (low, if cell + 1 == CELLS { f64::INFINITY } else { edge(cell + 1) })
    }

    /// The cell of a score.
    #[cfg(test)]
    pub fn cell_of(z: f64) -> u64 {
        cell_of(z) as u64
    }
}

/// Held-out scores with label, weight and fold, added up in cells of log-odds.
///
/// *Invariant*: counts of positive weight, sorted by cell, fold and label, each combination once.
///
/// ```
/// use properloss::proper::smooth::Bins;
/// let (z, y, w, fold) = ([-1.0, 0.5, 2.0, 0.5], [0, 1, 1, 0], [1.0; 4], [0, 0, 1, 1]);
/// let whole = Bins::of_rows(&z, &y, &w, &fold)?;
/// let mut parts = Bins::of_rows(&z[..2], &y[..2], &w[..2], &fold[..2])?;
/// parts.merge(&Bins::of_rows(&z[2..], &y[2..], &w[2..], &fold[2..])?);
/// assert_eq!(whole, parts);
/// # Ok::<(), properloss::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bins {
    pub(super) counts: Vec<Count>,
}

impl Bins {
    /// Counts rows; those of weight 0 leave no trace. O(rows).
    pub fn of_rows(scores: &[f64], labels: &[u8], weights: &[f64], folds: &[u32]) -> Result<Self> {
        for (what, length) in
            [("labels", labels.len()), ("weights", weights.len()), ("folds", folds.len())]
        {
            same_length((what, length), ("scores", scores.len()))?;
        }
        let rows = Rows { scores, labels, weights, folds };
        let parts: Vec<Summary> = (0..scores.len().div_ceil(PART).max(1))
            .into_par_iter()
            .map(|part| rows.check(part * PART))
            .collect::<Result<_>>()?;
        let whole = parts.iter().fold(Summary::default(), |a, b| a.and(b));
        let dense = scores.len() > FEW_ROWS && whole.folds <= MANY_FOLDS;
        let counted: Vec<Self> = (0..parts.len())
            .into_par_iter()
            .map(|part| if dense { rows.count(part * PART, whole) } else { rows.sort(part * PART) })
            .collect();
        let mut all = Self::default();
        counted.iter().for_each(|part| all.merge(part));
        Ok(all)
    }

    /// Adds the rows of another count.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
            return;
        }
        let mine = std::mem::take(&mut self.counts);
        let mut theirs = other.counts.iter().copied().peekable();
        self.counts.reserve(mine.len().max(other.counts.len()));
        for count in mine {
            while let Some(earlier) = theirs.next_if(|next| next.key < count.key) {
                self.counts.push(earlier);
            }
            let mut count = count;
            if let Some(same) = theirs.next_if(|next| next.key == count.key) {
                count.weight += same.weight;
                count.score += same.score;
            }
            self.counts.push(count);
        }
        self.counts.extend(theirs);
    }

    /// The invariant, and folds below a number: for counts of another process.
    pub(in crate::proper) fn fits(&self, folds: usize) -> bool {
        let each = |count: &Count| {
            (count.cell() as usize) < CELLS
                && count.fold() < folds
                && count.weight > 0.0
                && count.weight.is_finite()
                && count.score.is_finite()
        };
        self.counts.is_sorted_by(|a, b| a.key < b.key) && self.counts.iter().all(each)
    }

    /// Mean score, label, weight and fold of the rows of every cell, by increasing cell.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u8, f64, usize)> {
        let of =
            |count: &Count| (count.mean(), u8::from(count.positive()), count.weight, count.fold());
        self.counts.iter().map(of)
    }

    /// One more than the largest fold.
    pub fn folds(&self) -> usize {
        self.counts.iter().map(|count| count.fold() + 1).max().unwrap_or(0)
    }

    /// The summed weight of all rows.
    pub fn total_weight(&self) -> f64 {
        self.counts.iter().map(|count| count.weight).sum()
    }
}

fn cell_of(z: f64) -> usize {
    (((z.clamp(-FAR, FAR) + FAR) * PER_UNIT) as usize).min(CELLS - 1)
}

/// What one look at the rows tells.
#[derive(Debug, Clone, Copy)]
struct Summary {
    folds: usize,
    first: usize,
    last: usize,
}

impl Default for Summary {
    fn default() -> Self {
        Self { folds: 0, first: CELLS - 1, last: 0 }
    }
}

impl Summary {
    fn and(&self, other: &Self) -> Self {
        Self {
            folds: self.folds.max(other.folds),
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

struct Rows<'a> {
    scores: &'a [f64],
    labels: &'a [u8],
    weights: &'a [f64],
    folds: &'a [u32],
}

impl Rows<'_> {
    fn part(&self, from: usize) -> std::ops::Range<usize> {
        from..(from + PART).min(self.scores.len())
    }

    fn check(&self, from: usize) -> Result<Summary> {
        let (mut lowest, mut highest, mut folds) = (f64::INFINITY, f64::NEG_INFINITY, 0);
        for index in self.part(from) {
            let (z, weight) = (self.scores[index], self.weights[index]);
            if !(weight >= 0.0 && weight.is_finite()) {
                let expected = "0 (the row is left out) or positive, and finite";
                let value = weight;
                return Err(Error::ElementOutOfDomain { what: "weights", index, value, expected });
            }
            if weight > 0.0 {
                if !z.is_finite() {
                    return Err(Error::NotFinite { what: "scores", index, value: z });
                }
                (lowest, highest) = (lowest.min(z), highest.max(z));
                folds = folds.max(self.folds[index]);
                if self.labels[index] > 1 || self.folds[index] >= 1 << 31 {
                    let (what, value, expected) = if self.labels[index] > 1 {
                        ("labels", f64::from(self.labels[index]), "0 or 1")
                    } else {
                        ("folds", f64::from(self.folds[index]), "below 2^31")
                    };
                    return Err(Error::ElementOutOfDomain { what, index, value, expected });
                }
            }
        }
        if lowest > highest {
            return Ok(Summary::default());
        }
        Ok(Summary { folds: folds as usize + 1, first: cell_of(lowest), last: cell_of(highest) })
    }

    fn key(&self, i: usize) -> u64 {
        (cell_of(self.scores[i]) as u64) << 32
            | u64::from(self.folds[i]) << 1
            | u64::from(self.labels[i])
    }

    /// By sorting.
    fn sort(&self, from: usize) -> Bins {
        let mut order: Vec<(u64, usize)> =
            self.part(from).filter(|&i| self.weights[i] > 0.0).map(|i| (self.key(i), i)).collect();
        order.sort_unstable();
        let mut counts: Vec<Count> = Vec::new();
        for (key, i) in order {
            let (weight, score) = self.summands(i);
            match counts.last_mut() {
                Some(last) if last.key == key => {
                    last.weight += weight;
                    last.score += score;
                }
                _ => counts.push(Count { key, weight, score }),
            }
        }
        Bins { counts }
    }

    /// In a table of all cells between the first and the last.
    fn count(&self, from: usize, whole: Summary) -> Bins {
        let width = whole.last + 1 - whole.first;
        let mut sums = vec![[0.0f64; 2]; 2 * whole.folds * width];
        for i in self.part(from) {
            if self.weights[i] > 0.0 {
                let cell = cell_of(self.scores[i]) - whole.first;
                let inner = 2 * self.folds[i] as usize + usize::from(self.labels[i]);
                let (weight, score) = self.summands(i);
                let sum = &mut sums[cell * 2 * whole.folds + inner];
                sum[0] += weight;
                sum[1] += score;
            }
        }
        let key = |at: usize| {
            let (cell, inner) = (at / (2 * whole.folds) + whole.first, at % (2 * whole.folds));
            (cell as u64) << 32 | inner as u64
        };
        let counts = sums
            .iter()
            .enumerate()
            .filter(|(_, sum)| sum[0] > 0.0)
            .map(|(at, sum)| Count { key: key(at), weight: sum[0], score: sum[1] })
            .collect();
        Bins { counts }
    }

    fn summands(&self, i: usize) -> (f64, f64) {
        (self.weights[i], self.weights[i] * self.scores[i].clamp(-FURTHEST, FURTHEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ways of counting, on rows with ties, weights of 0 and scores far out.
    #[test]
    fn sorting_and_counting_agree() {
        let z: Vec<f64> = (0..5000).map(|i| ((i * 37) % 401) as f64 * 0.11 - 22.0).collect();
        let z: Vec<f64> = z.iter().map(|&z| if z > 21.0 { 1e9 * z } else { z }).collect();
        let y: Vec<u8> = (0..5000).map(|i| u8::from(i % 3 == 0)).collect();
        let w: Vec<f64> = (0..5000).map(|i| (i % 4) as f64).collect();
        let fold: Vec<u32> = (0..5000).map(|i| (i % 7) as u32).collect();
        let rows = Rows { scores: &z, labels: &y, weights: &w, folds: &fold };
        let whole = rows.check(0).unwrap();
        let (sorted, counted) = (rows.sort(0), rows.count(0, whole));
        assert_eq!(sorted, counted);
        let total: f64 = w.iter().sum();
        assert_eq!(sorted.total_weight(), total);
        assert_eq!(sorted.folds(), 7);
    }

    #[test]
    fn what_cannot_be_counted_is_named() {
        let of = |z: f64, y: u8, w: f64| Bins::of_rows(&[0.0, z], &[0, y], &[1.0, w], &[0, 0]);
        assert!(matches!(
            of(f64::NAN, 1, 1.0),
            Err(Error::NotFinite { what: "scores", index: 1, .. })
        ));
        assert!(of(f64::NAN, 1, 0.0).is_ok());
        assert!(matches!(of(0.0, 2, 1.0), Err(Error::ElementOutOfDomain { what: "labels", .. })));
        assert!(matches!(of(0.0, 1, -1.0), Err(Error::ElementOutOfDomain { what: "weights", .. })));
        assert!(Bins::of_rows(&[], &[], &[], &[]).unwrap().counts.is_empty());
    }
}
