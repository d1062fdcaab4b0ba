//! Sums over held-out scores.

use rayon::prelude::*;

use super::gram::dot;
use super::{FoldBlock, Halt, Halted, LANES, Lane};
use crate::design::{Kernel, Lanes, arch, exp, log_one_plus, run};
use crate::error::Error;
use crate::proper::curve::Curve;
use crate::proper::smooth::Bins;

/// Rows per part.
const PART: usize = 1 << 14;
/// Sampled rows per part.
const SAMPLED_PART: usize = 1 << 10;

/// The summed loss of held-out scores, the least and the largest of them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct HeldOut {
    pub loss: f64,
    /// Infinite if there is no score.
    pub reach: (f64, f64),
}

impl HeldOut {
    pub(in crate::proper) const NONE: Self =
        Self { loss: 0.0, reach: (f64::INFINITY, f64::NEG_INFINITY) };

    /// Of these and other rows.
    pub(in crate::proper) fn and(self, other: &Self) -> Self {
        let reach = (self.reach.0.min(other.reach.0), self.reach.1.max(other.reach.1));
        Self { loss: self.loss + other.loss, reach }
    }
}

/// Held-out scores, counted, with their loss under the sigmoid.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct Scored {
    pub bins: Bins,
    pub held_out: HeldOut,
}

impl Scored {
    /// Adds the rows of another block.
    pub(super) fn add(&mut self, other: &Self) {
        self.bins.merge(&other.bins);
        self.held_out = self.held_out.and(&other.held_out);
    }
}

impl FoldBlock<'_> {
    /// Loss and reach of the scores `z` over the rows of the folds `first..first + 8`.
    pub(super) fn held_out(&self, curve: &Curve<'_>, first: usize, z: &[f64]) -> HeldOut {
        let whole = self.folds.count <= LANES && first == 0;
        let parts: Vec<HeldOut> = z
            .par_chunks(PART)
            .enumerate()
            .map(|(number, z)| {
                let at = number * PART..number * PART + z.len();
                let labels = &self.labels[at.clone()];
                if whole {
                    return HeldOut::of(curve, z, labels, &self.weights[at]);
                }
                let inside =
                    |i: usize| (first..first + LANES).contains(&(self.folds.of_row[i] as usize));
                let weight = |i: usize| if inside(i) { self.weights[i] } else { 0.0 };
                HeldOut::of(curve, z, labels, &at.map(weight).collect::<Vec<f64>>())
            })
            .collect();
        parts.iter().fold(HeldOut::NONE, |sum, part| sum.and(part))
    }

    /// The scores `z` of all rows, counted.
    pub(super) fn scored(&self, z: &[f64]) -> Result<Scored, Error> {
        let bins = Bins::of_rows(z, self.labels, &self.weights, &self.folds.of_row)?;
        let groups = (0..self.folds.count).step_by(LANES);
        let of_group = |first: usize| self.held_out(&Curve::Logistic, first, z);
        let held_out = groups.fold(HeldOut::NONE, |sum, first| sum.and(&of_group(first)));
        Ok(Scored { bins, held_out })
    }

    /// The scores of every row under the model of its own fold; 0 for rows of weight 0.
    pub(super) fn scores(
        &self,
        models: &[Vec<Lane>],
        z: &mut [f64],
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        for (group, w) in models.iter().enumerate() {
            self.held_out_scores(group * LANES, w, z, halt)?;
        }
        Ok(())
    }

    /// `t3² / (8 h2³)` with `t3 = Σ h' z³`, `h2 = Σ h z²` about the mean of `z` under `h`: how far a
    /// quadratic model of the loss is off along the held-out scores of these models. From a sample of
    /// the rows, which are `share` of all.
    pub(super) fn skew(&self, models: &[Vec<Lane>], limit: Option<u64>, share: f64) -> f64 {
        let chosen: Vec<u32> = (0..self.labels.len() as u32)
            .filter(|&i| {
                let i = i as usize;
                self.weights[i] > 0.0 && limit.is_none_or(|limit| self.is_chosen(i, limit))
            })
            .collect();
        let of_fold: Vec<Vec<f64>> = (0..self.folds.count)
            .map(|k| models[k / LANES].iter().map(|w| w[k % LANES]).collect())
            .collect();
        let z: Vec<f64> = chosen
            .par_chunks(SAMPLED_PART)
            .flat_map_iter(|chosen| {
                let mut row = vec![0.0; self.dimension()];
                let score = |&i: &u32| {
                    self.fill(i as usize, &mut row);
                    dot(&row, &of_fold[self.folds.of_row[i as usize] as usize])
                };
                chosen.iter().map(score).collect::<Vec<f64>>()
            })
            .collect();
        let h = |k: usize| self.weights[chosen[k] as usize] * Curve::Logistic.curvature(z[k]);
        let (mut total, mut mean) = (0.0, 0.0);
        for k in 0..z.len() {
            total += h(k);
            mean += h(k) * z[k];
        }
        mean /= total;
        let (mut second, mut third) = (0.0, 0.0);
        for k in 0..z.len() {
            let (c, h) = (z[k] - mean, h(k));
            second += h * c * c;
            // h' = h (1 - 2 sigma)
            third -= h * (0.5 * z[k]).tanh() * c * c * c;
        }
        // A little more than nothing: a symmetric sample is no proof.
        (third * third + second * second / total).max(f64::MIN_POSITIVE) * share
            / (8.0 * second * second * second)
    }
}

impl HeldOut {
    /// Over the rows of positive weight.
    fn of(curve: &Curve<'_>, z: &[f64], labels: &[u8], weights: &[f64]) -> Self {
        let loss = match curve {
            Curve::Logistic => run(arch(), Loss { z, labels, weights }),
            _ => {
                let rows = z.iter().zip(labels).zip(weights).filter(|(_, weight)| **weight > 0.0);
                rows.map(|((z, y), weight)| weight * curve.at(*z, f64::from(*y)).loss).sum()
            }
        };
        let used = z.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let reach = used.fold(Self::NONE.reach, |(low, high), (&z, _)| (low.min(z), high.max(z)));
        Self { loss, reach }
    }
}

struct Loss<'a> {
    z: &'a [f64],
    labels: &'a [u8],
    weights: &'a [f64],
}

impl Kernel for Loss<'_> {
    type Output = f64;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> f64 {
        let zero = lanes.splat(0.0);
        let mut sum = zero;
        let groups = self.z.chunks(LANES).zip(self.labels.chunks(LANES));
        for ((z, labels), weights) in groups.zip(self.weights.chunks(LANES)) {
            let (mut t, mut w) = ([0.0; LANES], [0.0; LANES]);
            for k in 0..z.len() {
                t[k] = z[k] * (1.0 - 2.0 * f64::from(labels[k]));
                w[k] = weights[k];
            }
            let (t, w) = (lanes.load(&t), lanes.load(&w));
            let near = lanes.max(lanes.min(t, lanes.sub(zero, t)), lanes.splat(-708.0));
            let loss = lanes.add(lanes.max(t, zero), log_one_plus(lanes, exp(lanes, near)));
            sum = lanes.fused(sum, w, loss);
        }
        lanes.array(sum).iter().sum()
    }
}
