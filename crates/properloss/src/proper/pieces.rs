//! Folds that know the weight of every score and label, and nothing else of the rows.
//!
//! ```text
//! of every class: sort its distinct scores, shuffle them, lay their weights end to end, cut at every unit
//! unit n goes to fold n mod count;   unit = 1, or less where a class has too little weight for its folds
//! ```
//!
//! So a row of weight 2 is dealt as the row twice, whole rows of weight 1 go to one fold each, and the order of
//! the rows changes nothing. Copies are *not* held out together: at the level of scores they cannot be told from
//! other rows with the same score, and a tree gives the same score to many. With every such row in one fold,
//! the calibration of the other folds would learn the opposite of what it is scored on.

use super::folds::Random;

/// The fold of what is never held out, as in `multiclass::NEVER`.
const NEVER: u32 = u32::MAX;

/// Scores this near each other, relatively, are copies: products of the same row round in more than one way.
const SAME: f64 = 1e-9;
/// The same for scores near 0, relative to the largest of their column.
const SAME_OF_LARGEST: f64 = 1e-12;

/// Parts of rows: each has a row, a fold and the part of the weight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces {
    pub rows: Vec<usize>,
    pub folds: Vec<u32>,
    pub weights: Vec<f64>,
    /// Number of folds; below 2 if nothing can be held out.
    pub count: usize,
    /// Classes with at least two units: the others are never held out.
    pub classes: usize,
}

impl Pieces {
    /// What stands at every piece's row.
    pub(crate) fn of<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.rows.iter().map(|&row| values[row]).collect()
    }
}

/// Deals scores (rows × `columns`) by weight; `every` where no class may have more folds than units.
pub(crate) fn deal(
    (scores, columns): (&[f64], usize),
    labels: &[u32],
    weights: &[f64],
    (count, seed): (usize, u64),
    every: bool,
) -> Pieces {
    let mut random = Random(seed);
    let mut classes: Vec<Vec<(f64, Vec<usize>)>> = Vec::new();
    for (label, copies) in distinct(scores, columns, labels, weights) {
        classes.resize(classes.len().max(label as usize + 1), Vec::new());
        let weight = copies.iter().map(|&i| weights[i]).sum();
        classes[label as usize].push((weight, copies));
    }
    let units: Vec<(f64, f64)> = classes
        .iter()
        .map(|distinct| {
            let total: f64 = distinct.iter().map(|(weight, _)| weight).sum();
            let unit = (total / count.min(distinct.len()).max(1) as f64).min(1.0);
            (unit, if total > 0.0 { whole(total / unit).ceil() } else { 0.0 })
        })
        .collect();
    let held_out = || units.iter().filter(|(_, units)| *units >= 2.0).map(|(_, units)| *units);
    let most = if every { held_out().fold(f64::INFINITY, f64::min) } else { held_out().sum() };
    let count = if held_out().count() == 0 { 0 } else { (count as f64).min(most) as usize };
    let mut pieces = Pieces { count, classes: held_out().count(), ..Pieces::default() };
    let mut from = 0.0;
    for (mut distinct, (unit, units)) in classes.into_iter().zip(units) {
        random.shuffle(&mut distinct);
        let mut at = from;
        for row in distinct.into_iter().flat_map(|(_, copies)| copies) {
            let end = at + weights[row] / unit;
            if units < 2.0 {
                pieces.push(row, NEVER, weights[row]);
            } else {
                let (a, b) = (whole(at), whole(end));
                for fold in 0..count {
                    let part = inside(b, fold, count) - inside(a, fold, count);
                    // A row that falls whole into one fold keeps its weight to the last bit.
                    let weight = if part == b - a { weights[row] } else { part * unit };
                    if part > 0.0 {
                        pieces.push(row, fold as u32, weight);
                    }
                }
            }
            at = end;
        }
        if units >= 2.0 {
            from += units;
        }
    }
    pieces
}

impl Pieces {
    fn push(&mut self, row: usize, fold: u32, weight: f64) {
        self.rows.push(row);
        self.folds.push(fold);
        self.weights.push(weight);
    }
}

/// A sum of weights that is a whole number but for its rounding is that number.
fn whole(x: f64) -> f64 {
    if (x - x.round()).abs() < 1e-9 { x.round() } else { x }
}

/// The length of `[0, x)` in units of one fold: `floor(x / count) + clamp(x mod count - fold, 0, 1)`.
fn inside(x: f64, fold: usize, count: usize) -> f64 {
    let rounds = (x / count as f64).floor();
    rounds + (x - rounds * count as f64 - fold as f64).clamp(0.0, 1.0)
}

/// Rows of positive weight by label and score, in increasing order; copies together.
fn distinct(
    scores: &[f64],
    columns: usize,
    labels: &[u32],
    weights: &[f64],
) -> Vec<(u32, Vec<usize>)> {
    let mut order: Vec<usize> = (0..labels.len()).filter(|&i| weights[i] > 0.0).collect();
    // The rank of each row among the labels and the columns so far; copies share one.
    let mut rank: Vec<usize> = labels.iter().map(|&label| label as usize).collect();
    order.sort_by_key(|&i| rank[i]);
    for column in 0..columns {
        let score = |i: usize| scores[i * columns + column];
        let largest = order.iter().map(|&i| score(i).abs()).fold(0.0, f64::max);
        let near =
            |a: f64, b: f64| b - a <= SAME * a.abs().max(b.abs()) + SAME_OF_LARGEST * largest;
        order.sort_by(|&i, &j| rank[i].cmp(&rank[j]).then(score(i).total_cmp(&score(j))));
        let mut next = Vec::with_capacity(order.len());
        let mut number = 0;
        for (n, &i) in order.iter().enumerate() {
            if let Some(&before) = n.checked_sub(1).map(|n| &order[n])
                && !(rank[before] == rank[i] && near(score(before), score(i)))
            {
                number += 1;
            }
            next.push(number);
        }
        order.iter().zip(next).for_each(|(&i, number)| rank[i] = number);
    }
    let runs = order.chunk_by(|&i, &j| rank[i] == rank[j]);
    runs.map(|run| (labels[run[0]], run.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The weight of every score, label and fold.
    fn measure(
        pieces: &Pieces,
        scores: &[f64],
        labels: &[u32],
    ) -> BTreeMap<(String, u32, u32), f64> {
        let mut of = BTreeMap::new();
        for ((&row, &fold), weight) in pieces.rows.iter().zip(&pieces.folds).zip(&pieces.weights) {
            *of.entry((format!("{:.6}", scores[row]), labels[row], fold)).or_insert(0.0) += weight;
        }
        of
    }

    fn close(a: &BTreeMap<(String, u32, u32), f64>, b: &BTreeMap<(String, u32, u32), f64>) {
        assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
        a.iter()
            .zip(b)
            .for_each(|((key, a), (_, b))| assert!((a - b).abs() < 1e-12, "{key:?} {a} {b}"));
    }

    #[test]
    fn folds_follow_from_the_weight_of_every_score_and_label() {
        let scores: Vec<f64> = (0..40).map(|i| f64::from(i * i % 23) / 7.0 - 1.0).collect();
        let labels: Vec<u32> = (0..40).map(|i| u32::from(i % 3 == 0)).collect();
        let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4) * 0.75).collect();
        let first = deal((&scores, 1), &labels, &weights, (5, 3), true);
        assert_eq!((first.count, first.classes), (5, 2));
        // Thirds of every row, rounded in another way, in another order.
        let thirds: Vec<usize> = (0..120).map(|i| (i * 77) % 120 / 3).collect();
        let other: Vec<f64> = thirds.iter().map(|&i| scores[i] * (1.0 + 1e-15)).collect();
        let other_labels: Vec<u32> = thirds.iter().map(|&i| labels[i]).collect();
        let other_weights: Vec<f64> = thirds.iter().map(|&i| weights[i] / 3.0).collect();
        let second = deal((&other, 1), &other_labels, &other_weights, (5, 3), true);
        let a = measure(&first, &scores, &labels);
        close(&a, &measure(&second, &other, &other_labels));
        // Nothing is lost, and another seed deals otherwise.
        assert!((a.values().sum::<f64>() - weights.iter().sum::<f64>()).abs() < 1e-12);
        let third = deal((&scores, 1), &labels, &weights, (5, 4), true);
        assert_ne!(a, measure(&third, &scores, &labels));
    }

    #[test]
    fn whole_rows_go_to_one_fold_each_and_classes_in_proportion() {
        let scores: Vec<f64> = (0..100).map(|i| f64::from(i) / 3.0).collect();
        let labels: Vec<u32> = (0..100).map(|i| u32::from(i >= 35)).collect();
        let pieces = deal((&scores, 1), &labels, &[1.0; 100], (5, 0), true);
        assert!(pieces.weights.iter().all(|&weight| weight == 1.0) && pieces.rows.len() == 100);
        for (label, expected) in [(0, 7), (1, 13)] {
            for fold in 0..5 {
                let rows = pieces.rows.iter().zip(&pieces.folds);
                let found = rows.filter(|(row, f)| labels[**row] == label && **f == fold).count();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_score_of_many_rows_is_spread_over_the_folds() {
        let labels: Vec<u32> = (0..50).map(|i| i % 2).collect();
        let pieces = deal((&[0.5; 50], 1), &labels, &[1.0; 50], (5, 0), true);
        for fold in 0..5 {
            assert_eq!(pieces.folds.iter().filter(|&&f| f == fold).count(), 10);
        }
    }

    #[test]
    fn a_class_of_one_row_is_never_held_out_and_small_weights_are_enough_for_folds() {
        let labels = [0, 0, 0, 1, 2, 2];
        let scores = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let pieces = deal((&scores, 1), &labels, &[1e-3, 1e-3, 1e-3, 1.0, 1.0, 0.0], (5, 0), false);
        assert_eq!((pieces.count, pieces.classes), (3, 1));
        let of: BTreeMap<usize, u32> =
            pieces.rows.iter().copied().zip(pieces.folds.clone()).collect();
        assert_eq!((of[&3], of[&4], of.get(&5)), (NEVER, NEVER, None));
        let mut folds = [of[&0], of[&1], of[&2]];
        folds.sort_unstable();
        assert_eq!(folds, [0, 1, 2]);
    }
}
