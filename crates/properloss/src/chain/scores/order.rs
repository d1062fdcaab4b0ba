//! Scores in order, kept between iterations, with ties merged.

use rayon::prelude::*;

use super::sort::sort_rows;
use crate::error::{Error, Result, finite, require, same_length};

/// The order of the rows by score, and the groups of equal scores.
///
/// Between two iterations of a trainer the order changes little: [`update`](Self::update) repairs
/// it by insertion as long as that takes at most about `2m` moves, and sorts afresh otherwise.
#[derive(Debug, Clone, Default)]
pub struct ScoreOrder {
    order: Vec<u32>,
    /// Scores of the rows in order, then (after merging) of the groups.
    scores: Vec<f64>,
    /// First position of each group in `order`; empty while no two scores are equal.
    starts: Vec<u32>,
}

/// How [`ScoreOrder::update`] found the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resort {
    /// By insertion, with this many moves.
    Inserted(u64),
    /// By a full sort.
    Sorted,
}

/// Moves an element may cost on average before insertion gives up.
const INVERSION_BUDGET: u64 = 2;

/// Rows that one thread repairs at a time.
const PART: usize = 8192;

/// Moves the entry `i` down to its place among the sorted ones before it; says how far.
#[inline]
fn insert_at(scores: &mut [f64], order: &mut [u32], i: usize) -> u64 {
    let (key, row) = (scores[i], order[i]);
    let mut j = i;
    while j > 0 && scores[j - 1] > key {
        scores[j] = scores[j - 1];
        order[j] = order[j - 1];
        j -= 1;
    }
    if j != i {
        scores[j] = key;
        order[j] = row;
    }
    (i - j) as u64
}

/// Rows have numbers of 4 bytes.
pub(crate) fn count_of_rows(rows: usize) -> Result<()> {
    let holds = rows <= u32::MAX as usize;
    require("the number of rows", rows as f64, "at most 4294967295", holds)
}

impl ScoreOrder {
    /// The order of any numbers but NaN, infinite ones too; [`count_of_rows`] is the caller's.
    pub(crate) fn of(z: &[f64]) -> Self {
        let mut sorted = Self::default();
        sort_rows(z, &mut sorted.scores, &mut sorted.order);
        sorted.merge_ties();
        sorted
    }

    /// An empty order; the first [`update`](Self::update) sorts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sorts the rows by `z` (all finite; at most `u32::MAX` rows) and finds the ties.
    ///
    /// The values and the groups do not depend on how the order was found; inside a group the rows
    /// are in increasing order.
    pub fn update(&mut self, z: &[f64]) -> Result<Resort> {
        if z.is_empty() {
            return Err(Error::TooShort { what: "scores", length: 0, minimum: 1 });
        }
        count_of_rows(z.len())?;
        finite("scores", z)?;
        let done = if self.order.len() == z.len() { self.insert(z) } else { None };
        let how = match done {
            Some(moves) => Resort::Inserted(moves),
            None => {
                sort_rows(z, &mut self.scores, &mut self.order);
                Resort::Sorted
            }
        };
        self.merge_ties();
        Ok(how)
    }

    /// Insertion sort in the old order, of parts on several threads and then across their borders;
    /// `None` (order unfinished) when the budget is spent.
    fn insert(&mut self, z: &[f64]) -> Option<u64> {
        let m = z.len();
        self.scores.resize(m, 0.0);
        let (scores, order) = (&mut self.scores[..], &mut self.order[..]);
        let moves: Vec<Option<u64>> = scores
            .par_chunks_mut(PART)
            .zip(order.par_chunks_mut(PART))
            .map(|(scores, order)| {
                for (score, &row) in scores.iter_mut().zip(&*order) {
                    *score = z[row as usize];
                }
                let budget = INVERSION_BUDGET * scores.len() as u64 + 16;
                let mut moves = 0;
                for i in 1..scores.len() {
                    moves += insert_at(scores, order, i);
                    if moves > budget {
                        return None;
                    }
                }
                Some(moves)
            })
            .collect();
        let mut moves = moves.into_iter().sum::<Option<u64>>()?;
        let budget = INVERSION_BUDGET * m as u64 + 16;
        for border in (PART..m).step_by(PART) {
            // Both sides are in order: the first one that stays where it is ends it.
            for i in border..m {
                let moved = insert_at(scores, order, i);
                moves += moved;
                if moves > budget {
                    return None;
                }
                if moved == 0 {
                    break;
                }
            }
        }
        Some(moves)
    }

    fn merge_ties(&mut self) {
        self.starts.clear();
        if self.scores.windows(2).all(|pair| pair[0] != pair[1]) {
            return;
        }
        let m = self.order.len();
        let mut groups = 0;
        let mut start = 0;
        while start < m {
            let score = self.scores[start];
            let same = self.scores[start..].iter().take_while(|&&s| s == score).count();
            if same > 1 {
                self.order[start..start + same].sort_unstable();
            }
            self.starts.push(start as u32);
            self.scores[groups] = score;
            groups += 1;
            start += same;
        }
        self.scores.truncate(groups);
    }

    /// The distinct scores, increasing.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Rows in order of their score.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Number of groups of equal scores.
    pub fn groups(&self) -> usize {
        self.scores.len()
    }

    /// Two rows have the same score.
    pub fn has_ties(&self) -> bool {
        !self.starts.is_empty()
    }

    /// The rows of group `g`.
    pub fn rows(&self, g: usize) -> &[u32] {
        if self.starts.is_empty() {
            return &self.order[g..=g];
        }
        let end = self.starts.get(g + 1).map_or(self.order.len(), |&s| s as usize);
        &self.order[self.starts[g] as usize..end]
    }

    /// Sum of the weights of each group; counts where `weights` is `None`.
    pub fn group_weights(&self, weights: Option<&[f64]>, out: &mut Vec<f64>) -> Result<()> {
        if let Some(weights) = weights {
            self.check("weights", weights.len())?;
        }
        out.clear();
        out.extend((0..self.groups()).map(|g| {
            let rows = self.rows(g);
            weights.map_or(rows.len() as f64, |w| rows.iter().map(|&r| w[r as usize]).sum())
        }));
        Ok(())
    }

    /// Weighted mean in each group of `target(row)`: exact for every objective of the chain, as
    /// `Σ ω (G(y) - c y)` of a group depends on `c` only through it. 0 for a group of weight 0.
    pub fn group_means(
        &self,
        weights: Option<&[f64]>,
        target: impl Fn(usize) -> f64 + Sync,
        out: &mut Vec<f64>,
    ) -> Result<()> {
        out.resize(self.groups(), 0.0);
        self.group_means_into(weights, target, out)
    }

    /// [`group_means`](Self::group_means) into a place of one number for each group.
    pub fn group_means_into(
        &self,
        weights: Option<&[f64]>,
        target: impl Fn(usize) -> f64 + Sync,
        out: &mut [f64],
    ) -> Result<()> {
        same_length(("out", out.len()), ("scores", self.groups()))?;
        if let Some(weights) = weights {
            self.check("weights", weights.len())?;
        }
        if !self.has_ties() {
            let parts = out.par_chunks_mut(PART).zip(self.order.par_chunks(PART));
            parts.for_each(|(out, order)| {
                for (out, &row) in out.iter_mut().zip(order) {
                    *out = target(row as usize);
                }
            });
            return Ok(());
        }
        for (g, out) in out.iter_mut().enumerate() {
            *out = match self.rows(g) {
                [row] => target(*row as usize),
                rows => {
                    let (mut sum, mut total) = (0.0, 0.0);
                    for &row in rows {
                        let w = weights.map_or(1.0, |w| w[row as usize]);
                        sum += w * target(row as usize);
                        total += w;
                    }
                    if total > 0.0 { sum / total } else { 0.0 }
                }
            };
        }
        Ok(())
    }

    /// Writes the value of each group to its rows.
    pub fn scatter(&self, group_values: &[f64], out: &mut [f64]) -> Result<()> {
        same_length(("group_values", group_values.len()), ("scores", self.groups()))?;
        self.check("out", out.len())?;
        for (g, &value) in group_values.iter().enumerate() {
            for &row in self.rows(g) {
                out[row as usize] = value;
            }
        }
        Ok(())
    }

    fn check(&self, what: &'static str, length: usize) -> Result<()> {
        same_length((what, length), ("scores", self.order.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores in order, with the row `from` moved `by` places down.
    fn moved(m: usize, from: usize, by: usize) -> Vec<f64> {
        let mut z: Vec<f64> = (0..m).map(|i| i as f64).collect();
        z[from] = (from - by) as f64 - 0.5;
        z
    }

    /// As many moves as there are pairs in the wrong order, also across the borders of parts.
    /// Infinite numbers are the ends, however many there are; -0 is 0.
    #[test]
    fn any_numbers_are_ordered() {
        let number = |i: usize| match i % 7 {
            0 => f64::INFINITY,
            1 => f64::NEG_INFINITY,
            2 => [0.0, -0.0][i % 2],
            _ => ((i * 7919) % 501) as f64 - 250.0,
        };
        for m in [1, 2, 3, 40, 5000] {
            let z: Vec<f64> = (0..m).map(number).collect();
            let order = ScoreOrder::of(&z);
            let mut rows: Vec<u32> = (0..m as u32).collect();
            rows.sort_by(|&a, &b| z[a as usize].partial_cmp(&z[b as usize]).unwrap());
            assert_eq!(order.order(), rows, "{m}");
            assert!(order.scores().windows(2).all(|pair| pair[0] < pair[1]), "{m}");
            for g in 0..order.groups() {
                assert!(order.rows(g).iter().all(|&i| z[i as usize] == order.scores()[g]), "{m}");
            }
        }
    }

    #[test]
    fn moves_are_inversions() {
        for (m, from, by) in
            [(10, 5, 3), (PART + 10, PART, 4), (PART + 10, PART + 2, 7), (3 * PART, 2 * PART, 1)]
        {
            let mut order = ScoreOrder::new();
            let sorted: Vec<f64> = (0..m).map(|i| i as f64).collect();
            assert_eq!(order.update(&sorted).unwrap(), Resort::Sorted);
            assert_eq!(order.update(&sorted).unwrap(), Resort::Inserted(0));
            let z = moved(m, from, by);
            assert_eq!(order.update(&z).unwrap(), Resort::Inserted(by as u64), "{m} {from}");
            assert!(order.scores().is_sorted());
            assert_eq!(order.order()[from - by] as usize, from);
            assert_eq!(order.update(&sorted).unwrap(), Resort::Inserted(by as u64));
        }
    }

    /// Two moves a row and 16 are worth it, one more is not: then it is sorted anew.
    #[test]
    fn too_many_moves_are_a_sort() {
        let sorted = |m: usize| -> Vec<f64> { (0..m).map(|i| i as f64).collect() };
        let after = |z: &[f64]| {
            let mut order = ScoreOrder::new();
            order.update(&sorted(z.len())).unwrap();
            let how = order.update(z).unwrap();
            assert!(order.scores().is_sorted());
            how
        };
        // 100 rows: 216 moves. Two rows moved by 99 and 98 places, then one by 19 or 20.
        let with = |third: usize| {
            let mut z = sorted(100);
            (z[99], z[98]) = (-2.0, -1.0);
            z[60] = (60 - third) as f64 - 0.5;
            z
        };
        // Row 98 passes 98 and row 99 all 99.
        assert_eq!(after(&with(19)), Resort::Inserted(98 + 99 + 19));
        assert_eq!(after(&with(20)), Resort::Sorted);
        // Over the border of two parts it is the sum that counts: 2 m + 16.
        let m = PART + 100;
        let border = |last: usize| {
            let mut z = sorted(m);
            // Behind the border two rows go far down, to the front and near it.
            z[PART] = -1.0;
            z[PART + 1] = (last as f64) - 0.5;
            z
        };
        // The first passes PART rows, the second those from `last` on and no other.
        assert_eq!(after(&border(10)), Resort::Inserted(2 * PART as u64 - 10));
        let mut third = border(0);
        third[PART + 2] = -0.75;
        assert_eq!(after(&third), Resort::Sorted);
    }
}
