//! Where `v` has its knots, and which rows weigh on which piece.

use super::bins::Bins;
use super::{BARRIER, EDGE, GAP, MAX_BINS};
use crate::error::{Error, Result};
use crate::link::{InverseLink, Sigmoid};

/// The pieces of `v`: all that the prior and the penalty need.
///
/// *Invariant*: at least three knots, strictly increasing, from 0 to 1.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    /// `k_0 = 0 < ... < k_K = 1`.
    pub knots: Vec<f64>,
    /// `1 / (k_{j+1} - k_j)`.
    pub inverse_width: Vec<f64>,
    /// `1 / (z_{j+1} - z_j)`, with `z_j` the log-odds of the middle of piece `j`.
    pub inverse_step: Vec<f64>,
    /// `kappa l_j`, with `l_j` the length of piece `j` in log-odds; 1 for the two end pieces.
    pub barrier: Vec<f64>,
}

impl Pieces {
    /// Knots half-way (in log-odds) between neighbouring bins, so that no score lies on a kink, and
    /// at least [`GAP`] apart.
    fn between(centres: &[f64]) -> Self {
        let far = log_odds(1.0 - EDGE);
        let z: Vec<f64> = centres.iter().map(|&p| log_odds(p).clamp(-far, far)).collect();
        let mut inner: Vec<f64> = Vec::new();
        for pair in z.windows(2) {
            let middle = 0.5 * (pair[0] + pair[1]);
            if inner.last().is_none_or(|last| middle - last >= GAP) {
                inner.push(middle);
            }
        }
        if inner.is_empty() {
            inner.push(z[0] + GAP);
        }
        let mut knots = vec![0.0];
        knots.extend(inner.iter().map(|&z| Sigmoid.u(z)));
        knots.push(1.0);
        let middles: Vec<f64> = knots.windows(2).map(|k| log_odds(0.5 * (k[0] + k[1]))).collect();
        let mut barrier = vec![BARRIER];
        barrier.extend(inner.windows(2).map(|z| BARRIER * (z[1] - z[0])));
        barrier.push(BARRIER);
        Self {
            inverse_width: knots.windows(2).map(|k| 1.0 / (k[1] - k[0])).collect(),
            inverse_step: middles.windows(2).map(|z| 1.0 / (z[1] - z[0])).collect(),
            knots,
            barrier,
        }
    }

    /// Nearly the identity, and strictly inside all bounds.
    pub fn start(&self) -> Vec<f64> {
        self.knots.iter().map(|k| 0.002 + 0.996 * k).collect()
    }

    /// The piece that holds `p`, looked for from `piece` on: quick where it is near.
    pub fn piece_near(&self, mut piece: usize, p: f64) -> usize {
        while p < self.knots[piece] {
            piece -= 1;
        }
        while piece + 2 < self.knots.len() && self.knots[piece + 1] <= p {
            piece += 1;
        }
        piece
    }

    /// The pieces between `low` and `high`, both near `piece`.
    pub fn reached(&self, piece: usize, low: f64, high: f64) -> std::ops::RangeInclusive<usize> {
        let clamped = |p: f64| self.piece_near(piece, p.clamp(0.0, 1.0));
        clamped(low)..=clamped(high)
    }

    /// Where bins with these means lie.
    pub fn places(&self, centres: &[f64]) -> Vec<Place> {
        let mut piece = 0;
        let place = |&p: &f64| {
            piece = self.piece_near(piece, p);
            Place { piece, share: self.share(piece, p) }
        };
        centres.iter().map(place).collect()
    }

    /// How far `p` is into a piece, from 0 to 1.
    pub fn share(&self, piece: usize, p: f64) -> f64 {
        ((p - self.knots[piece]) * self.inverse_width[piece]).clamp(0.0, 1.0)
    }
}

fn log_odds(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// One bin as the likelihood sees it: `v` there is `(1 - share) v_piece + share v_{piece+1}`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub piece: usize,
    pub share: f64,
}

/// The rows in at most [`MAX_BINS`] bins of about equal weight.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub pieces: Pieces,
    pub places: Vec<Place>,
    /// `[negative, positive]` weight of every bin, outside each fold; the last is that of all rows.
    pub outside: Vec<Vec<[f64; 2]>>,
}

impl Layout {
    pub fn new(bins: &Bins) -> Result<Self> {
        if bins.counts.is_empty() {
            return Err(Error::TooShort { what: "scores", length: 0, minimum: 1 });
        }
        let of_count = bin_of_counts(bins);
        let size = of_count[of_count.len() - 1] + 1;
        let folds = bins.folds();
        let mut inside = vec![vec![[0.0f64; 2]; size]; folds];
        let (mut sum, mut weight) = (vec![0.0; size], vec![0.0; size]);
        for (count, &bin) in bins.counts.iter().zip(&of_count) {
            inside[count.fold()][bin][usize::from(count.positive())] += count.weight;
            sum[bin] += count.weight * Sigmoid.u(count.mean());
            weight[bin] += count.weight;
        }
        let centres: Vec<f64> = sum.iter().zip(&weight).map(|(sum, weight)| sum / weight).collect();
        let pieces = Pieces::between(&centres);
        Ok(Self { places: pieces.places(&centres), pieces, outside: outside(&inside) })
    }
}

/// The bin of every count: cells, or, if there are too many, runs of cells of about equal weight.
pub(super) fn bin_of_counts(bins: &Bins) -> Vec<usize> {
    let counts = &bins.counts;
    let cells = 1 + counts.windows(2).filter(|c| c[0].cell() != c[1].cell()).count();
    let per_bin = bins.total_weight() / MAX_BINS as f64;
    let (mut bin, mut before, mut quantile) = (0, 0.0, 0);
    let mut of_count = Vec::with_capacity(counts.len());
    for (i, count) in counts.iter().enumerate() {
        if i > 0 && count.cell() != counts[i - 1].cell() {
            let next = (before / per_bin + 1e-9) as usize;
            if cells <= MAX_BINS || next > quantile {
                bin += 1;
            }
            quantile = next;
        }
        before += count.weight;
        of_count.push(bin);
    }
    of_count
}

/// Sums over all folds but one, without a subtraction: from the left and from the right.
fn outside(inside: &[Vec<[f64; 2]>]) -> Vec<Vec<[f64; 2]>> {
    let (folds, size) = (inside.len(), inside[0].len());
    let zero = || vec![[0.0f64; 2]; size];
    let mut result = vec![zero(); folds + 1];
    let mut running = zero();
    for k in 0..folds {
        result[k].clone_from(&running);
        add(&mut running, &inside[k]);
    }
    result[folds] = running;
    let mut running = zero();
    for k in (0..folds).rev() {
        add(&mut result[k], &running);
        add(&mut running, &inside[k]);
    }
    result
}

fn add(total: &mut [[f64; 2]], part: &[[f64; 2]]) {
    for (total, part) in total.iter_mut().zip(part) {
        total[0] += part[0];
        total[1] += part[1];
    }
}
