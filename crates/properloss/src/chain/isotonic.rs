//! Two special cases with their own short algorithms.

use super::problem::{ChainProblem, MAX_MAGNITUDE, Objective, check_scores};
use crate::error::{Error, Result, same_length};

/// Isotonic regression: `min ½ Σ ω_i (y_i - t_i)²` with `y` nondecreasing, by pooling adjacent
/// violators, O(m). The targets are in the order of their scores; equal scores are merged by the
/// caller (see [`ScoreOrder`](super::ScoreOrder)).
///
/// A point of weight 0 takes the value of the one before it (after it at the front; 0 if no point
/// has weight).
pub fn isotonic(targets: &[f64], weights: Option<&[f64]>) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    isotonic_into(targets, weights, &mut values)?;
    Ok(values)
}

/// [`isotonic`] into a buffer that is reused.
pub fn isotonic_into(
    targets: &[f64],
    weights: Option<&[f64]>,
    values: &mut Vec<f64>,
) -> Result<()> {
    check(targets, weights)?;
    values.clear();
    values.reserve_exact(targets.len());
    let points = targets.iter().enumerate().map(|(i, &t)| {
        let weight = weights.map_or(1.0, |w| w[i]);
        Pool { sum: weight * t, weight, count: 1 }
    });
    for pool in pooled(points) {
        let mean = if pool.weight > 0.0 { pool.sum / pool.weight } else { 0.0 };
        values.resize(values.len() + pool.count as usize, mean);
    }
    Ok(())
}

/// Neighbours that were pooled: the sums over their points.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    /// Of weight times target.
    pub sum: f64,
    pub weight: f64,
    pub count: u32,
}

/// Pools adjacent violators: the means of what is left increase strictly. A point of weight 0 joins the
/// pool before it (at the front, the one after it).
pub(crate) fn pooled(points: impl Iterator<Item = Pool>) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for mut pool in points {
        if pool.weight == 0.0
            && let Some(before) = pools.last_mut()
        {
            before.count += pool.count;
            continue;
        }
        // Half the time of `pop_if` (`make bench-chain`: isotonic, sorted).
        while let Some(before) = pools.last() {
            // mean(before) < mean(pool), without the divisions. A pool of weight 0 is merged.
            if before.sum * pool.weight < pool.sum * before.weight {
                break;
            }
            pool.sum += before.sum;
            pool.weight += before.weight;
            pool.count += before.count;
            pools.pop();
        }
        pools.push(pool);
    }
    pools
}

fn check(targets: &[f64], weights: Option<&[f64]>) -> Result<()> {
    if targets.is_empty() {
        return Err(Error::TooShort { what: "targets", length: 0, minimum: 1 });
    }
    if let Some(index) = targets.iter().position(|t| t.is_nan() || t.abs() > MAX_MAGNITUDE) {
        let (value, expected) = (targets[index], "at most 1e100 in magnitude");
        return Err(Error::ElementOutOfDomain { what: "targets", index, value, expected });
    }
    let Some(weights) = weights else { return Ok(()) };
    same_length(("weights", weights.len()), ("targets", targets.len()))?;
    if let Some(index) = weights.iter().position(|w| !(0.0..=MAX_MAGNITUDE).contains(w)) {
        let (value, expected) = (weights[index], "0 or positive, and at most 1e100");
        return Err(Error::ElementOutOfDomain { what: "weights", index, value, expected });
    }
    Ok(())
}

/// The feasible point with the least last value, `y_i = lo + n (z_i - z_1)`: Step 3 of the
/// variant `approx`. Fails if it exceeds `top`.
pub fn minimal_top(scores: &[f64], slope_min: f64, lo: f64, top: f64) -> Result<Vec<f64>> {
    if scores.is_empty() {
        return Err(Error::TooShort { what: "scores", length: 0, minimum: 1 });
    }
    check_scores(scores)?;
    let (ends, targets) = ([scores[0], scores[scores.len() - 1]], [0.0; 2]);
    ChainProblem::new(&ends, Objective::Quadratic { targets: &targets })
        .with_slopes(slope_min, f64::INFINITY)
        .with_first(lo, f64::INFINITY)
        .with_last(f64::NEG_INFINITY, top)
        .validate()?;
    let ramp = |&z: &f64| (lo + slope_min * (z - scores[0])).min(top);
    Ok(scores.iter().map(ramp).collect())
}
