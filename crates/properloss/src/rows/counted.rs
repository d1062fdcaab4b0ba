//! Scores counted in cells, for methods whose link is fitted to the order of all scores.
//!
//! ```text
//! cell of a score z = floor(z / h),  h a power of two
//! for every cell and label:  Σ ω,  Σ ω z,  Σ ω c        (c: what the target of the link needs of a row)
//! ```
//!
//! Every block takes the finest `h` with at most [`CELLS`] cells over its range. Two counts are brought to
//! the coarser `h` of the two, which puts whole cells together: nothing has to be agreed on beforehand. A
//! cell is then one point of the chain at its mean score; the bound on what that costs is the one of
//! [`BinnedScores`](crate::chain::BinnedScores): `2 W N h R` in the objective.

use crate::error::{Error, Result};

/// Cells over the range of the scores of a block, at most.
const CELLS: f64 = 16384.0;
/// Cells of several blocks together: above this they are made wider.
const MOST: usize = 1 << 16;

/// The rows of one cell and label.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Cell {
    place: i64,
    label: u8,
    /// `Σ ω`, `Σ ω z`, `Σ ω c`.
    sums: [f64; 3],
}

/// Scores with labels, counted.
///
/// *Invariant*: cells of positive weight, by increasing place and label, each combination once.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct CountedScores {
    /// `log2 h`.
    level: i32,
    cells: Vec<Cell>,
    /// The least and the largest score.
    range: (f64, f64),
}

/// The points of a chain: one a cell and label.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub scores: Vec<f64>,
    pub labels: Vec<u8>,
    pub weights: Vec<f64>,
    pub carried: Vec<f64>,
}

impl CountedScores {
    /// Counts the rows of positive weight; `None` if there are none.
    pub fn new(
        scores: &[f64],
        labels: &[u8],
        weight: impl Fn(usize) -> f64,
        carried: &[f64],
    ) -> Result<Option<Self>> {
        let used = || (0..scores.len()).filter(|&i| weight(i) > 0.0);
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let range = used().fold(ends, |(low, high), i| (low.min(scores[i]), high.max(scores[i])));
        if range.0 > range.1 {
            return Ok(None);
        }
        if let Some(index) = used().find(|&i| !scores[i].is_finite()) {
            return Err(Error::NotFinite { what: "scores", index, value: scores[index] });
        }
        let level = level_of(range);
        let place = |z: f64| (z * 2f64.powi(-level)).floor() as i64;
        let first = place(range.0);
        let width = (place(range.1) - first + 1) as usize;
        let mut sums = vec![[0.0; 3]; 2 * width];
        for i in used() {
            let at = 2 * (place(scores[i]) - first) as usize + usize::from(labels[i]);
            let (weight, c) = (weight(i), carried.get(i).copied().unwrap_or(0.0));
            let sum = &mut sums[at];
            (sum[0], sum[1], sum[2]) =
                (sum[0] + weight, sum[1] + weight * scores[i], sum[2] + weight * c);
        }
        let cells = sums.iter().enumerate().filter(|(_, sums)| sums[0] > 0.0);
        let cells = cells.map(|(at, &sums)| Cell {
            place: first + (at / 2) as i64,
            label: (at % 2) as u8,
            sums,
        });
        Ok(Some(Self { level, cells: cells.collect(), range }))
    }

    /// Adds the rows of the next block.
    pub fn add(&mut self, mut other: Self) {
        let level = self.level.max(other.level);
        self.widen(level);
        other.widen(level);
        self.range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        let mut all = std::mem::take(&mut self.cells);
        // Stable: of equal cells the earlier block comes first.
        all.extend(other.cells);
        all.sort_by_key(|cell| (cell.place, cell.label));
        self.cells = all;
        self.put_together();
        while self.cells.len() > MOST {
            self.widen(self.level + 1);
        }
    }

    /// Cells of width `2^level`, which is not below the present one.
    fn widen(&mut self, level: i32) {
        let by = u32::try_from(level - self.level).unwrap_or(0).min(63);
        if by > 0 {
            self.cells.iter_mut().for_each(|cell| cell.place >>= by);
            self.cells.sort_by_key(|cell| (cell.place, cell.label));
            self.put_together();
        }
        self.level = self.level.max(level);
    }

    fn put_together(&mut self) {
        self.cells.dedup_by(|next, kept| {
            let same = (next.place, next.label) == (kept.place, kept.label);
            if same {
                (0..3).for_each(|k| kept.sums[k] += next.sums[k]);
            }
            same
        });
    }

    /// Both labels of a cell at its mean score; the first and the last at the least and the largest, so that
    /// slopes count over the whole range.
    pub(super) fn points(&self) -> Points {
        let mut points = Points::default();
        let (low, high) = self.range;
        let (mut before, mut seen) = (low, 0);
        let cells = self.cells.chunk_by(|a, b| a.place == b.place);
        for cell in cells {
            seen += cell.len();
            let sum = |k: usize| cell.iter().map(|part| part.sums[k]).sum::<f64>();
            let mean = sum(1) / sum(0);
            let end = (points.scores.is_empty(), seen == self.cells.len());
            let score = match end {
                (true, false) => low,
                (false, true) => high,
                // A mean may leave the cell by a rounding; the order is kept.
                _ => mean.clamp(before, high),
            };
            before = score;
            for part in cell {
                points.scores.push(score);
                points.labels.push(part.label);
                points.weights.push(part.sums[0]);
                points.carried.push(part.sums[2] / part.sums[0]);
            }
        }
        points
    }
}

/// The finest level with at most [`CELLS`] cells over a range, and whose places are exact.
fn level_of((low, high): (f64, f64)) -> i32 {
    let log2 = |x: f64| if x > 0.0 { x.log2().ceil() as i32 } else { i32::MIN / 2 };
    let largest = low.abs().max(high.abs());
    log2((high - low) / CELLS).max(log2(largest) - 50).clamp(-900, 900)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(z: &[f64]) -> CountedScores {
        let labels: Vec<u8> = (0..z.len()).map(|i| (i % 3 == 0).into()).collect();
        CountedScores::new(z, &labels, |_| 1.0, z).unwrap().unwrap()
    }

    /// Parts add up to the whole: weights, means and what is carried; cells are those of the coarser part.
    #[test]
    fn parts_add_up_and_wide_cells_win() {
        let z: Vec<f64> = (0..3000).map(|i| (f64::from(i) * 0.7).sin() * 3.0).collect();
        let far: Vec<f64> = (0..300).map(|i| 100.0 + f64::from(i)).collect();
        let mut sum = counted(&z);
        sum.add(counted(&far));
        assert_eq!(sum.level, counted(&far).level);
        let points = sum.points();
        assert_eq!(points.weights.iter().sum::<f64>(), 3300.0);
        let dot = |a: &[f64]| a.iter().zip(&points.weights).map(|(a, w)| a * w).sum::<f64>();
        let total: f64 = z.iter().chain(&far).sum();
        assert!((dot(&points.carried) - total).abs() < 1e-9 * total);
        assert!(points.scores.windows(2).all(|z| z[0] <= z[1]));
        assert_eq!(points.scores[0], sum.range.0);
        assert_eq!(*points.scores.last().unwrap(), 399.0);
    }

    #[test]
    fn equal_scores_are_one_point_a_label_and_nothing_is_none() {
        let points = counted(&[0.0; 9]).points();
        assert_eq!((points.scores, points.weights), (vec![0.0; 2], vec![6.0, 3.0]));
        assert_eq!(CountedScores::new(&[1.0], &[1], |_| 0.0, &[]), Ok(None));
        assert!(CountedScores::new(&[f64::NAN, 1.0], &[1, 0], |_| 1.0, &[]).is_err());
    }
}
