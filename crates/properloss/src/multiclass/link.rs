//! LINK: masses of softmaxes, a floor and class ramps, cross-fitted and averaged over `tau`.
//!
//! ```text
//! for j, tau in (1, 1.5, 2.5, 5, 10):       a = e_0 / tau + (1 - 1/tau) b,  b of greatest likelihood
//!     P_j = the same, cross-fitted on the folds;   S_j = Σ log P_j - j
//! a = Σ_j softmax(S)_j a_j                  (p >= softmax/tau again, for the largest tau)
//! ```
//!
//! The scores are held-out ones: on training scores the link would come out too sharp.

use rayon::prelude::*;

use super::curve::{TEMPERATURES, powers};
use super::dictionary::Dictionary;
use super::math::Eight;
use super::packed::Packed;
use super::prior::WithPrior;
use super::sample::Assignment;
use super::weights::{GAP, Likelihoods, Weights, expected_gains, maximise};
use crate::design::kernel;
use crate::error::Result;
use crate::link::vector::{ClassRamp, Mixture, Ramp};

/// What each further `tau` costs in the score: one nat.
const PRICE: f64 = 1.0;
/// Nats that a cross-fitted likelihood may be off by.
const FOLD_GAP: f64 = 0.03;
/// Ramps are tried if a first step towards them would gain this many nats on the rows they are fitted
/// to, and that many cross-fitted: below it they would get a share of less than 2 %.
const WORTH_RAMPS: [f64; 2] = [4.0, -2.0];
/// Ramps of all classes together that are tried at most, and never more than rows: their first step asks for a
/// square of numbers (420: 30 classes), and more ramps than rows would follow single rows.
const MOST_RAMPS: usize = 420;
/// The knots of the ramps.
const KNOTS: [f64; 15] =
    [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0];
const RAMPS: usize = KNOTS.len() - 1;

/// Which parts a link may have besides the softmaxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// The same floor for all classes: keeps their order.
    UniformFloor,
    /// A floor for each class.
    Floors,
    /// A floor and ramps for each class.
    Ramps,
}

/// One ratio, as it is shown to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareBound {
    /// `tau`: at least `1/tau` of the softmax is kept.
    pub tau: f64,
    /// Mean log-loss of the cross-fitted probabilities.
    pub log_loss: f64,
    /// `S`: minus the summed log-loss, minus the price of the ratio.
    pub score: f64,
    /// Weight in the average; they sum to 1.
    pub weight: f64,
}

/// Scores of every row (rows × K, row-major) with what judges them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored<'a> {
    pub z: &'a [f64],
    pub labels: &'a [u32],
    pub classes: usize,
    pub folds: &'a Assignment,
}

/// The averaged masses, and how likely they made what they did not see.
#[derive(Debug, Clone)]
pub(super) struct Link {
    parts: Parts,
    classes: usize,
    /// Masses in the order of the dictionary; they sum to 1.
    pub masses: Vec<f64>,
    pub ratios: Vec<ShareBound>,
    /// Cross-fitted probability of every row's label.
    pub held_out: Vec<f64>,
    /// Summed log-likelihood of `held_out`.
    pub score: f64,
    /// The largest certificate of the masses on all rows, in nats.
    pub gap: f64,
}

/// Fits the masses for every `tau`, on all rows and cross-fitted, and averages.
pub(super) fn fit(scored: Scored<'_>, parts: Parts, taus: &[f64]) -> Link {
    let likelihoods = likelihoods(scored, parts);
    let (rows, folds) = (scored.labels.len(), scored.folds.count);
    let weights = &scored.folds.scored;
    let mut softmax = vec![0.0; likelihoods.parts()];
    softmax[0] = 1.0;
    likelihoods.lift(&mut softmax);
    // On all rows first: the folds start from there.
    let (mut whole, mut gap): (Vec<Vec<f64>>, f64) = (Vec::new(), 0.0);
    for &tau in taus {
        let start = whole.last().unwrap_or(&softmax);
        let found = solve(&likelihoods, None, tau, start, GAP);
        gap = gap.max(found.gap);
        whole.push(found.b);
    }
    let by_fold: Vec<Vec<Vec<f64>>> = (0..folds as u32)
        .into_par_iter()
        .map(|fold| {
            let fits = whole.iter().zip(taus);
            fits.map(|(b, &tau)| solve(&likelihoods, Some(fold), tau, b, FOLD_GAP).b).collect()
        })
        .collect();
    let mut held_out = vec![vec![1.0; rows]; taus.len()];
    for (j, held_out) in held_out.iter_mut().enumerate() {
        for (fold, fits) in by_fold.iter().enumerate() {
            likelihoods.probabilities(fold as u32, taus[j], &fits[j], held_out);
        }
    }
    let likelihood = |p: &[f64]| -> f64 {
        p.iter().zip(weights).filter(|(_, w)| **w > 0.0).map(|(p, w)| w * p.ln()).sum()
    };
    let total: f64 = weights.iter().sum();
    let sums: Vec<f64> = held_out.iter().map(|p| likelihood(p)).collect();
    let scores: Vec<f64> = sums.iter().enumerate().map(|(j, s)| s - PRICE * j as f64).collect();
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = scores.iter().map(|s| (s - best).exp()).collect();
    let sum: f64 = raw.iter().sum();
    let share: Vec<f64> = raw.iter().map(|r| r / sum).collect();
    let mut mean = vec![0.0; rows];
    let mut masses = vec![0.0; likelihoods.parts()];
    for j in 0..taus.len() {
        mean.iter_mut().zip(&held_out[j]).for_each(|(m, p)| *m += share[j] * p);
        let free = share[j] * (1.0 - 1.0 / taus[j]);
        masses.iter_mut().zip(&whole[j]).for_each(|(m, b)| *m += free * b);
        masses[0] += share[j] / taus[j];
    }
    let ratios = (0..taus.len()).map(|j| ShareBound {
        tau: taus[j],
        log_loss: -sums[j] / total,
        score: scores[j],
        weight: share[j],
    });
    let score = likelihood(&mean);
    let ratios = ratios.collect();
    Link { parts, classes: scored.classes, masses, ratios, held_out: mean, score, gap }
}

/// Whether ramps beside the parts of `link` could gain enough to get a share.
pub(super) fn ramps_could_help(scored: Scored<'_>, link: &Link, tau: f64) -> bool {
    if RAMPS * scored.classes > scored.labels.len().min(MOST_RAMPS) {
        return false;
    }
    let likelihoods = likelihoods(scored, Parts::Ramps);
    // a = e_0 / tau + (1 - 1/tau) b, as far as the link allows.
    let mut b = vec![0.0; likelihoods.parts()];
    b[..link.masses.len()].copy_from_slice(&link.masses);
    b[0] = (b[0] - 1.0 / tau).max(0.0);
    likelihoods.lift(&mut b);
    let gains = expected_gains(&likelihoods, scored.folds.count as u32, tau, &b);
    gains.iter().zip(WORTH_RAMPS).all(|(gain, least)| *gain > least)
}

/// `tau = 1` is the softmax itself.
fn solve(
    likelihoods: &dyn Likelihoods,
    without: Option<u32>,
    tau: f64,
    start: &[f64],
    gap: f64,
) -> Weights {
    if tau > 1.0 {
        return maximise(likelihoods, without, tau, start, gap);
    }
    Weights { b: start.to_vec(), gap: 0.0 }
}

/// The likelihoods of the parts: softmaxes, then floors, then the ramps class after class; the prior
/// rows of the floors beside them.
fn likelihoods<'a>(scored: Scored<'a>, parts: Parts) -> WithPrior<'a> {
    let k = scored.classes;
    let temperatures = TEMPERATURES.len();
    let per_row = if parts == Parts::Ramps { temperatures + 1 + 3 * k } else { temperatures };
    let rows = scored.labels.len();
    let mut index = vec![0u32; rows * per_row];
    let mut value = vec![0.0; rows * per_row];
    let task = 8 * per_row;
    index
        .par_chunks_mut(task)
        .zip(value.par_chunks_mut(task))
        .zip(scored.z.par_chunks(8 * k).zip(scored.labels.par_chunks(8)))
        .with_min_len(32)
        .for_each(|((index, value), (z, labels))| {
            entries(z, labels, k, parts, per_row, index, value);
        });
    let (weights, folds) = (&scored.folds.scored[..], &scored.folds.of_row[..]);
    let label = |i: usize| scored.labels[i] as usize;
    let (floors, height) =
        if parts == Parts::UniformFloor { (1, 1.0 / k as f64) } else { (k, 1.0) };
    let rows: Box<dyn Likelihoods + 'a> = match parts {
        Parts::UniformFloor => {
            Box::new(Packed::new(&value, (|_| 0, floors, height), folds, weights))
        }
        Parts::Floors => Box::new(Packed::new(&value, (label, floors, height), folds, weights)),
        Parts::Ramps => {
            let first = temperatures + k;
            let runs = (0..k).map(|c| (first + c * RAMPS, first + (c + 1) * RAMPS)).collect();
            let parts = first + k * RAMPS;
            Box::new(Dictionary { per_row, index, value, parts, runs, weights, folds })
        }
    };
    WithPrior { rows, first: temperatures, floors, classes: k, height }
}

kernel! {
    /// The entries of up to eight rows; without ramps the softmaxes alone.
    fn entries<'k>(
        _lanes: L,
        z: &'k [f64],
        labels: &'k [u32],
        k: usize,
        parts: Parts,
        per_row: usize,
        index: &'k mut [u32],
        value: &'k mut [f64],
    ) -> () {
        let rows = labels.len();
        let at = |c: usize| -> Eight {
            std::array::from_fn(|l| if l < rows { z[l * k + c] } else { 0.0 })
        };
        let mut top = at(0);
        for c in 1..k {
            let z = at(c);
            top = std::array::from_fn(|l| if z[l] > top[l] { z[l] } else { top[l] });
        }
        let mut sum = [[0.0; 8]; 7];
        let mut label = [[0.0; 8]; 7];
        let mut powers_of = [[0.0; 8]; 7];
        let mut e = vec![[0.0; 8]; if parts == Parts::Ramps { k } else { 0 }];
        for c in 0..k {
            let z = at(c);
            powers(&std::array::from_fn(|l| z[l] - top[l]), &mut powers_of);
            for t in 0..7 {
                for l in 0..8 {
                    sum[t][l] += powers_of[t][l];
                    let own = l < rows && labels[l] as usize == c;
                    label[t][l] += if own { powers_of[t][l] } else { 0.0 };
                }
            }
            if let Some(e) = e.get_mut(c) {
                *e = powers_of[0];
            }
        }
        let rows = index.chunks_exact_mut(per_row)
            .zip(value.chunks_exact_mut(per_row));
        for (l, (index, value)) in rows.enumerate() {
            for t in 0..7 {
                index[t] = t as u32;
                value[t] = label[t][l] / sum[t][l];
            }
            if parts != Parts::Ramps {
                continue;
            }
            let y = labels[l] as usize;
            (index[7], value[7]) = ((7 + y) as u32, 1.0);
            for c in 0..k {
                let (index, value) = (&mut index[8 + 3 * c..][..3], &mut value[8 + 3 * c..][..3]);
                let rest: f64 = (0..k).filter(|&j| j != c).map(|j| e[j][l]).sum();
                let p = e[c][l] / sum[0][l];
                let first = (7 + k + c * RAMPS) as u32;
                let (piece, part) = place(p);
                // V = (1 - part) V(knot piece) + part V(knot piece + 1); V(knot 0) = 0.
                let below = if piece == 0 { 0.0 } else { 1.0 - part };
                let low = first + piece.saturating_sub(1) as u32;
                let (last, high) = (first + RAMPS as u32 - 1, first + piece as u32);
                index.copy_from_slice(&[low, high, last]);
                let mut v = if c == y {
                    [below, part, 0.0]
                } else {
                    let share = e[y][l] / rest.max(f64::MIN_POSITIVE);
                    [-share * below, -share * part, share]
                };
                // No knot twice in a row's list.
                if high == last {
                    (v[1], v[2]) = (v[1] + v[2], 0.0);
                }
                value.copy_from_slice(&v);
            }
        }
    }
}

/// The piece of the knots that holds `p`, and how far along it.
#[inline(always)]
fn place(p: f64) -> (usize, f64) {
    let piece = KNOTS[1..RAMPS].iter().filter(|&&knot| knot <= p).count();
    let (a, b) = (KNOTS[piece], KNOTS[piece + 1]);
    (piece, ((p - a) / (b - a)).clamp(0.0, 1.0))
}

impl Link {
    /// The masses of the softmaxes, in the order of [`TEMPERATURES`].
    pub(super) fn softmax_masses(&self) -> [f64; 7] {
        std::array::from_fn(|t| self.masses[t])
    }

    /// The floor of every class.
    pub(super) fn floor(&self) -> Vec<f64> {
        match self.parts {
            Parts::UniformFloor => vec![self.masses[7] / self.classes as f64; self.classes],
            _ => self.masses[7..7 + self.classes].to_vec(),
        }
    }
}

/// `(1 - share) a + share b` as a link; `b` may have ramps.
pub(super) fn mixture(a: &Link, b: Option<(f64, &Link)>) -> Result<Mixture> {
    let classes = a.classes;
    let (share, other) = b.map_or((0.0, a), |(share, b)| (share, b));
    let blend = |x: f64, y: f64| (1.0 - share) * x + share * y;
    let (left, right) = (a.softmax_masses(), other.softmax_masses());
    let mut softmax: Vec<(f64, f64)> =
        (0..7).map(|t| (blend(left[t], right[t]), TEMPERATURES[t])).collect();
    let mut floor: Vec<f64> =
        a.floor().iter().zip(other.floor()).map(|(x, y)| blend(*x, y)).collect();
    let mut ramps = Vec::new();
    if other.parts == Parts::Ramps && share > 0.0 {
        for (c, b) in other.masses[7 + classes..].chunks_exact(RAMPS).enumerate() {
            let mass: f64 = b.iter().sum();
            if share * mass > 1e-12 {
                let mut r = vec![0.0];
                let mut sum = 0.0;
                for b in &b[..RAMPS - 1] {
                    sum += b;
                    r.push((sum / mass).min(1.0));
                }
                r.push(1.0);
                let ramp = Ramp::new(KNOTS.to_vec(), r)?;
                ramps.push((share * mass, ClassRamp::new(classes, c, ramp)?));
            }
        }
    }
    // Traces of the solver's path to 0 are left out; what they held goes to the softmax. Floors have no such
    // traces, but may have next to no weight.
    softmax[1..].iter_mut().for_each(|part| part.0 = if part.0 < 1e-9 { 0.0 } else { part.0 });
    floor.iter_mut().for_each(|c| *c = if *c < 1e-12 { 0.0 } else { *c });
    let others: f64 = softmax[1..].iter().map(|part| part.0).sum::<f64>()
        + floor.iter().sum::<f64>()
        + ramps.iter().map(|part| part.0).sum::<f64>();
    softmax[0].0 = 1.0 - others;
    Mixture::new(classes, &softmax, floor, ramps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of weight 100 whose first class is a step of its score: ramps gain many nats, if there are as
    /// many rows as ramps.
    #[test]
    fn ramps_are_tried_up_to_as_many_as_there_are_rows() {
        let tried = |rows: usize| {
            let score = |i: usize| (i * 29 % rows) as f64 / rows as f64 * 4.0 - 2.0;
            let z: Vec<f64> = (0..rows).flat_map(|i| [score(i), 0.0, 0.0]).collect();
            let first = |i: usize| score(i).abs() < 1.0;
            let labels: Vec<u32> =
                (0..rows).map(|i| if first(i) { 0 } else { 1 + (i % 2) as u32 }).collect();
            let of_row = (0..rows).map(|i| (i % 5) as u32).collect();
            let folds = Assignment { of_row, count: 5, scored: vec![100.0; rows] };
            let scored = Scored { z: &z, labels: &labels, classes: 3, folds: &folds };
            ramps_could_help(scored, &fit(scored, Parts::Floors, &[1.0, 10.0]), 10.0)
        };
        assert!(tried(3 * RAMPS));
        assert!(!tried(3 * RAMPS - 1));
    }
}
