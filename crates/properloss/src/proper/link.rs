//! LINK: `u = v o sigma`, `v` piecewise affine with slopes in `[1/tau, tau]`, averaged over `tau`.
//!
//! ```text
//! for j, tau in (1, 1.5, 2.5, 5, 10):               (tau = 1 is the identity)
//!     v_tau = argmin log-loss of v(sigma(z_i)) over slopes in [1/tau, tau], 0 <= v(0), v(1) <= 1
//!     P_j   = the same, cross-fitted on the folds;   S_j = -(sum of log-losses of P_j) - j
//! v = sum_j softmax(S)_j v_tau_j                     (slopes in [1/tau, tau] again, for the largest)
//! ```
//!
//! The scores are held-out ones: on training scores the link would come out too steep.

use rayon::prelude::*;

use super::folds::Assignment;
use super::path::softmax;
use crate::chain::{ChainProblem, Objective, Workspace};
use crate::error::Result;
use crate::piecewise::PiecewiseAffine;

/// At most this many nodes; more scores are averaged in bins of equal weight.
const MAX_NODES: usize = 500;
/// Fisher-scoring passes at most; they stop earlier when nothing moves.
const MAX_PASSES: usize = 8;
/// Values that move less than this have arrived: a hundredth of what 1,000 rows can tell.
const ARRIVED: f64 = 1e-4;
/// What each further `tau` costs in the score: one nat.
const PRICE: f64 = 1.0;

/// One slope ratio, as it is shown to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioPoint {
    /// `tau`: slopes of `v` in `[1/tau, tau]`.
    pub slope_ratio: f64,
    /// Mean log-loss of the cross-fitted probabilities.
    pub log_loss: f64,
    /// `S`: minus the summed log-loss, minus the price of the ratio.
    pub score: f64,
    /// Weight in the average; they sum to 1.
    pub weight: f64,
}

/// The averaged link, and how likely it made what it did not see.
#[derive(Debug, Clone)]
pub(super) struct Link {
    /// Knots of `v`, from 0 to 1.
    pub p: Vec<f64>,
    pub v: Vec<f64>,
    pub ratios: Vec<RatioPoint>,
    /// Minus the summed log-loss of the averaged cross-fitted probabilities.
    pub score: f64,
}

/// The default slope ratios.
pub(super) fn default_ratios() -> Vec<f64> {
    vec![1.0, 1.5, 2.5, 5.0, 10.0]
}

/// What the link is fitted to: `sigma(z_i)`, labels, weights and folds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored<'a> {
    pub p: &'a [f64],
    pub labels: &'a [u8],
    pub weights: &'a [f64],
    pub folds: &'a Assignment,
}

/// Fits the link for every ratio, on all rows and cross-fitted, and averages.
pub(super) fn fit(scored: Scored<'_>, ratios: &[f64]) -> Result<Link> {
    let order = order(&scored);
    let folds = scored.folds.count;
    // Number `folds` is the fit on all rows.
    let fits: Vec<(Nodes, Vec<Vec<f64>>)> = (0..=folds)
        .into_par_iter()
        .map(|k| {
            let nodes = Nodes::new(&scored, &order, k);
            let values = nodes.fit(ratios)?;
            Ok((nodes, values))
        })
        .collect::<Result<_>>()?;
    let mut losses = vec![0.0; ratios.len()];
    let mut held_out = vec![0.0; order.len() * ratios.len()];
    let mut cursors = vec![0usize; folds];
    for (&i, p) in order.iter().zip(held_out.chunks_exact_mut(ratios.len())) {
        let k = scored.folds.of_row[i] as usize;
        let (nodes, values) = &fits[k];
        let at = nodes.piece_from(&mut cursors[k], scored.p[i]);
        for j in 0..ratios.len() {
            p[j] = nodes.value(at, &values[j], scored.p[i]);
            losses[j] += scored.weights[i] * log_loss(p[j], scored.labels[i]);
        }
    }
    let total: f64 = order.iter().map(|&i| scored.weights[i]).sum();
    let scores: Vec<f64> = (0..ratios.len()).map(|j| -losses[j] - PRICE * j as f64).collect();
    let weights = softmax(&scores);
    let score = -order
        .iter()
        .zip(held_out.chunks_exact(ratios.len()))
        .map(|(&i, p)| {
            let mean: f64 = p.iter().zip(&weights).map(|(p, a)| p * a).sum();
            scored.weights[i] * log_loss(mean, scored.labels[i])
        })
        .sum::<f64>();
    let (nodes, values) = &fits[folds];
    let v = (0..nodes.p.len()).map(|n| (0..ratios.len()).map(|j| weights[j] * values[j][n]).sum());
    let points = (0..ratios.len()).map(|j| RatioPoint {
        slope_ratio: ratios[j],
        log_loss: losses[j] / total,
        score: scores[j],
        weight: weights[j],
    });
    Ok(Link { p: nodes.p.clone(), v: v.collect(), ratios: points.collect(), score })
}

/// Rows of positive weight by increasing `p`; equal ones in the order of the rows.
fn order(scored: &Scored<'_>) -> Vec<usize> {
    let mut order: Vec<(f64, u32)> = (0..scored.p.len())
        .filter(|&i| scored.weights[i] > 0.0)
        .map(|i| (scored.p[i], i as u32))
        .collect();
    order.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, i)| i as usize).collect()
}

fn log_loss(p: f64, label: u8) -> f64 {
    if label == 1 { -p.max(f64::MIN_POSITIVE).ln() } else { -(-p).ln_1p().max(-745.0) }
}

/// The chain that `v` is fitted on: `0`, the scores in between, `1`.
#[derive(Debug)]
struct Nodes {
    p: Vec<f64>,
    /// Mean label of each node.
    target: Vec<f64>,
    weight: Vec<f64>,
}

impl Nodes {
    /// The rows outside fold `k`, ties merged and binned, with a prior observation at each end:
    /// `(0, 0)` and `(1, 1)`.
    fn new(scored: &Scored<'_>, order: &[usize], k: usize) -> Self {
        let rows = || order.iter().copied().filter(|&i| scored.folds.of_row[i] as usize != k);
        let total: f64 = rows().map(|i| scored.weights[i]).sum();
        let distinct = rows().fold((0, f64::NAN), |(count, last), i| {
            (count + usize::from(scored.p[i] != last), scored.p[i])
        });
        let width = if distinct.0 > MAX_NODES { total / MAX_NODES as f64 } else { 0.0 };
        let mut nodes = Self { p: vec![0.0], target: vec![0.0], weight: vec![1.0] };
        let mut bin = Bin::default();
        for i in rows() {
            let (p, weight) = (scored.p[i], scored.weights[i]);
            if bin.weight > 0.0 && p != bin.last && bin.weight >= width * (1.0 - 1e-9) {
                nodes.push(&bin);
                bin = Bin::default();
            }
            bin.add(p, weight, f64::from(scored.labels[i]));
        }
        nodes.push(&bin);
        nodes.p.push(1.0);
        nodes.target.push(1.0);
        nodes.weight.push(1.0);
        nodes
    }

    /// Nodes nearer than this to their neighbour are one: a slope bound between them would only be
    /// a matter of rounding.
    fn push(&mut self, bin: &Bin) {
        const APART: f64 = 1e-12;
        let p = bin.p / bin.weight;
        let at = self.p.len() - 1;
        let (left, right) = (p - self.p[at], 1.0 - p);
        if at > 0 && (left < APART || right < APART) {
            let sum = self.weight[at] + bin.weight;
            self.target[at] += (bin.positive - bin.weight * self.target[at]) / sum;
            self.weight[at] = sum;
        } else {
            let p = p.clamp(self.p[at] + APART, 1.0 - APART);
            self.p.push(p);
            self.target.push(bin.positive / bin.weight);
            self.weight.push(bin.weight);
        }
    }

    /// The values at the nodes for each ratio; each ratio starts from the one before.
    fn fit(&self, ratios: &[f64]) -> Result<Vec<Vec<f64>>> {
        let mut workspace = Workspace::new();
        let mut values = Vec::with_capacity(ratios.len());
        let mut v = self.p.clone();
        for &ratio in ratios {
            if ratio > 1.0 {
                v = self.maximise_likelihood(ratio, v, &mut workspace)?;
            }
            values.push(v.clone());
        }
        Ok(values)
    }

    /// Fisher scoring. With information `1 / (v (1 - v))` the target of a step is the mean label
    /// itself: each pass is the quadratic chain problem with new weights. The two prior
    /// observations take Newton's step instead (`-log(1 - v)` at `v = 0` has slope and curvature 1,
    /// where Fisher's information is infinite).
    fn maximise_likelihood(
        &self,
        ratio: f64,
        start: Vec<f64>,
        workspace: &mut Workspace,
    ) -> Result<Vec<f64>> {
        let last = self.p.len() - 1;
        let (mut v, mut best) = (start, (f64::INFINITY, Vec::new()));
        let (mut targets, mut weights) = (self.target.clone(), self.weight.clone());
        for _ in 0..MAX_PASSES {
            for n in 1..last {
                weights[n] = self.weight[n] / (v[n] * (1.0 - v[n])).max(1e-12);
            }
            // Newton on -log(1 - v): v - (1 - v), weight 1/(1 - v)^2; and the mirror.
            let (low, high) = (1.0 - v[0], v[last]);
            (targets[0], weights[0]) = (v[0] - low, 1.0 / (low * low));
            (targets[last], weights[last]) = (v[last] + high, 1.0 / (high * high));
            let problem = ChainProblem::new(&self.p, Objective::Quadratic { targets: &targets })
                .with_weights(&weights)
                .with_slopes(1.0 / ratio, ratio);
            let next = &workspace.solve(&problem)?.values;
            let moved = v.iter().zip(next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            v.clone_from(next);
            let loss = self.loss(&v);
            if loss < best.0 {
                best = (loss, v.clone());
            }
            if moved < ARRIVED {
                break;
            }
        }
        Ok(best.1)
    }

    /// Summed log-loss of the values at the nodes.
    fn loss(&self, v: &[f64]) -> f64 {
        let part = |weight: f64, v: f64| {
            if weight > 0.0 { -weight * v.max(f64::MIN_POSITIVE).ln() } else { 0.0 }
        };
        (0..v.len())
            .map(|n| {
                let t = self.target[n];
                self.weight[n] * (part(t, v[n]) + part(1.0 - t, 1.0 - v[n]))
            })
            .sum()
    }

    /// The piece that holds `p`; `cursor` makes increasing `p` cost O(1) each.
    fn piece_from(&self, cursor: &mut usize, p: f64) -> usize {
        while *cursor + 2 < self.p.len() && self.p[*cursor + 1] <= p {
            *cursor += 1;
        }
        *cursor
    }

    fn value(&self, piece: usize, v: &[f64], p: f64) -> f64 {
        let (a, b) = (self.p[piece], self.p[piece + 1]);
        v[piece] + (v[piece + 1] - v[piece]) * ((p - a) / (b - a)).clamp(0.0, 1.0)
    }
}

/// Rows that become one node.
#[derive(Debug, Default)]
struct Bin {
    weight: f64,
    p: f64,
    positive: f64,
    last: f64,
}

impl Bin {
    fn add(&mut self, p: f64, weight: f64, y: f64) {
        self.weight += weight;
        self.p += weight * p;
        self.positive += weight * y;
        self.last = p;
    }
}

impl Link {
    /// `v` with the knots on straight lines left out; strictly increasing.
    pub(super) fn knots(&self) -> Result<PiecewiseAffine> {
        let (mut p, mut v) = (vec![self.p[0]], vec![self.v[0].max(0.0)]);
        let last = self.p.len() - 1;
        for n in 1..=last {
            if n < last {
                // On the line from the last knot kept to the next node, but for rounding?
                let (p0, v0) = (p[p.len() - 1], v[v.len() - 1]);
                let line = v0 + (self.v[n + 1] - v0) * ((self.p[n] - p0) / (self.p[n + 1] - p0));
                if (self.v[n] - line).abs() <= 1e-14 {
                    continue;
                }
            }
            p.push(self.p[n]);
            v.push(self.v[n].min(1.0));
        }
        PiecewiseAffine::new(p, v)
    }
}
