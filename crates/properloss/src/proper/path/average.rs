//! The weights of the points, and the averages under them.

use super::{Models, PathState};
use crate::proper::descent::Walkers;
use crate::proper::rows::{FoldRows, Halt, Halted, LANES, Lane, Scored};

/// Weights below this are dropped.
const LEAST_WEIGHT: f64 = 0.01;

/// One point of the path, as it is shown to the user.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PathPoint {
    /// `a`: columns count as if they were divided by the `a`-th power of their deviation. 1 is
    /// standardised columns, 0 one scale for all.
    pub scaling: f64,
    /// Inverse strength `C` of the penalty `|w|² / (2 C)` on the summed loss, in the units of the
    /// scaling; 0 is the model of the intercept alone.
    pub c: f64,
    /// Mean held-out log-loss.
    pub log_loss: f64,
    /// `S`: minus the summed held-out log-loss, minus what the point costs.
    pub score: f64,
    /// Weight in the average; they sum to 1.
    pub weight: f64,
}

/// The averaged path.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct Path {
    pub points: Vec<PathPoint>,
    /// Averaged weights of every fold model and of the model of all rows.
    pub w: Models,
    /// Their held-out scores, counted.
    pub scored: Scored,
    /// The weights at the likeliest point alone.
    pub likeliest: Models,
    /// Geometric mean of the strengths, as on standardised columns.
    pub c: f64,
    /// Geometric mean of the penalties.
    pub penalty: Vec<Vec<Lane>>,
    /// Weight of every scaling, the null model left out; they sum to 1.
    pub scaling_weights: Vec<(f64, f64)>,
    /// What L-BFGS learned of the loss; empty where there are quadratic models.
    pub walkers: Vec<Walkers>,
    pub passes: usize,
}

/// Weights `softmax(S)`, the least dropped, and the averages under them. In the mean penalty the null
/// model counts as the strongest of the first scaling.
pub(super) fn average(
    state: PathState,
    rows: &FoldRows<'_>,
    halt: Halt<'_>,
) -> Result<Path, Halted> {
    let mut weights = state.weights();
    weights.iter_mut().filter(|weight| **weight < LEAST_WEIGHT).for_each(|weight| *weight = 0.0);
    let sum: f64 = weights.iter().sum();
    let d = rows.dimension();
    let groups = rows.models().div_ceil(LANES);
    let (mut points, mut c) = (Vec::new(), 0.0);
    let mut averaged = vec![vec![[0.0; LANES]; d]; groups];
    // Of every scaling: its weight, the null model included, and the weighted sum of its strengths.
    let mut of_scaling = vec![(0.0, 0.0); state.scalings.len()];
    let mut scaling_weights: Vec<(f64, f64)> = state.scalings.iter().map(|&a| (a, 0.0)).collect();
    let likeliest = (0..weights.len()).fold(0, |a, b| if weights[b] > weights[a] { b } else { a });
    let likeliest = state.visited[likeliest].w.clone();
    let total = rows.totals[rows.folds];
    for (point, weight) in state.visited.iter().zip(weights) {
        let weight = weight / sum;
        let (a, g) = point.at.unwrap_or((0, 0));
        let (scaling, strength) = (state.scalings[a], state.grid[g]);
        let price = point.at.map_or(super::NULL_PRICE, |at| state.price(at));
        points.push(PathPoint {
            scaling,
            c: point.at.map_or(0.0, |_| state.scales.strength(scaling, strength)),
            log_loss: -(point.score + price) / total,
            score: point.score,
            weight,
        });
        if weight == 0.0 {
            continue;
        }
        c += weight * strength * std::f64::consts::LN_10;
        if point.at.is_some() {
            scaling_weights[a].1 += weight;
        }
        of_scaling[a].0 += weight;
        of_scaling[a].1 += weight * strength;
        for group in 0..groups {
            add(weight, &point.w[group], &mut averaged[group]);
        }
    }
    let penalty = mean_penalty(&state, &of_scaling, groups);
    // The null model first, then scaling by scaling from the strongest penalty on.
    points[1..].sort_by(|a, b| b.scaling.total_cmp(&a.scaling).then(a.c.total_cmp(&b.c)));
    let c = c.exp() / state.scales.columns().max(1) as f64;
    let share: f64 = scaling_weights.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut scaling_weights {
        *weight = if share > 0.0 { *weight / share } else { 0.0 };
    }
    Ok(Path {
        points,
        scored: rows.scored(&averaged, halt)?,
        w: averaged,
        likeliest,
        c,
        penalty,
        scaling_weights,
        passes: state.passes + 1,
        walkers: if state.quadratic.is_some() { Vec::new() } else { state.walkers },
    })
}

/// The geometric mean of the penalties: within a scaling that of the mean strength, as `P` is `10^-g` times
/// what the scaling makes of the columns.
fn mean_penalty(state: &PathState, of_scaling: &[(f64, f64)], groups: usize) -> Vec<Vec<Lane>> {
    let weighted =
        || of_scaling.iter().zip(&state.scalings).filter(|((weight, _), _)| *weight > 0.0);
    let of = |(sums, a): (&(f64, f64), &f64)| state.scales.penalty(*a, sums.1 / sums.0);
    if weighted().count() == 1 {
        return weighted().map(of).next().unwrap_or_default();
    }
    let d = state.scales.mean.len() + 1;
    let mut mean = vec![vec![[0.0; LANES]; d]; groups];
    for (sums, a) in weighted() {
        for (mean, penalty) in mean.iter_mut().flatten().zip(of((sums, a)).iter().flatten()) {
            for l in 0..LANES {
                mean[l] += sums.0 * penalty[l].ln();
            }
        }
    }
    for group in &mut mean {
        group.iter_mut().for_each(|p| *p = p.map(f64::exp));
        group[d - 1] = [0.0; LANES];
    }
    mean
}

fn add(weight: f64, x: &[Lane], total: &mut [Lane]) {
    for (total, x) in total.iter_mut().zip(x) {
        for l in 0..LANES {
            total[l] += weight * x[l];
        }
    }
}

/// `e^{s_j} / Σ e^{s_k}`, without overflow.
/// A score that is no number weighs nothing; if none is finite, the first (the plainest model) has all.
pub(in crate::proper) fn softmax(scores: &[f64]) -> Vec<f64> {
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if best == f64::NEG_INFINITY {
        return (0..scores.len()).map(|j| if j == 0 { 1.0 } else { 0.0 }).collect();
    }
    let weight = |score: &f64| if score.is_nan() { 0.0 } else { (score - best).exp() };
    let weights: Vec<f64> = scores.iter().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}
