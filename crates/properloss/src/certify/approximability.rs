//! Approximability: how near a learned link can come to the link of any proper canonical loss.

use super::combine::Knots;
use super::neighbours::radii;
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};
use crate::special::Sum;

/// `E(u, ℓ) = ∫_{z_1}^{z_m} |v(z) - u(z)| dz` between a learned link `u` and the inverse link `v` of
/// a proper canonical loss, exact up to rounding.
///
/// Between two knots `u` is affine. If `v` is piecewise affine, too, `v - u` changes sign at most
/// once between merged knots. Otherwise `inflections` has to list the scores where `v` turns from
/// convex to concave or back (`&[0.0]` for the sigmoid and every other symmetric S-shaped link):
/// between them `v - u` is convex or concave, has at most two zeros on each side of its extremum,
/// and these are found by bisection to the last bit; the integrals come from the potentials.
pub fn restricted_discrepancy(
    u: &PiecewiseLink,
    target: &dyn InverseLink,
    (z_first, z_last): (f64, f64),
    inflections: &[f64],
) -> Result<f64> {
    if !(z_first.is_finite() && z_last.is_finite() && z_first <= z_last) {
        return Err(Error::OutOfDomain {
            what: "z_last - z_first",
            value: z_last - z_first,
            expected: "finite and at least 0",
        });
    }
    let mut stations: Vec<f64> = u.knots().x().to_vec();
    match target.as_piecewise() {
        Some(target) => stations.extend_from_slice(target.knots().x()),
        None => stations.extend_from_slice(inflections),
    }
    let (z_min, z_max) = target.support();
    stations.extend([z_first, z_last, z_min, z_max]);
    stations.retain(|z| (z_first..=z_last).contains(z));
    stations.sort_unstable_by(f64::total_cmp);
    stations.dedup();

    let difference = |z: f64| target.u(z) - u.u(z);
    let integral = |a: f64, b: f64| {
        if target.as_piecewise().is_some() {
            0.5 * (difference(a) + difference(b)) * (b - a)
        } else {
            (target.potential(b) - target.potential(a)) - 0.5 * (u.u(a) + u.u(b)) * (b - a)
        }
    };
    let mut total = Sum::default();
    for pair in stations.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let mut cuts = vec![a];
        if target.as_piecewise().is_none() {
            // The extremum of v - u: v' equals the slope of u.
            let slope = (u.u(b) - u.u(a)) / (b - a);
            let rising = |z: f64| target.derivative(z) - slope;
            cuts.extend(zero(rising, a, b));
        }
        cuts.push(b);
        let mut from = a;
        for side in cuts.windows(2) {
            if let Some(root) = zero(difference, side[0], side[1]) {
                total.add(integral(from, root).abs());
                from = root;
            }
        }
        total.add(integral(from, b).abs());
    }
    Ok(total.value())
}

/// The place in `(a, b)` where a monotone function changes sign, by bisection to the last bit.
fn zero(g: impl Fn(f64) -> f64, a: f64, b: f64) -> Option<f64> {
    let (at_a, at_b) = (g(a), g(b));
    if at_a * at_b >= 0.0 {
        return None;
    }
    let (mut lo, mut hi) = (a, b);
    loop {
        let middle = lo + 0.5 * (hi - lo);
        if middle <= lo || middle >= hi {
            return Some(middle);
        }
        if (g(middle) > 0.0) == (at_a > 0.0) { lo = middle } else { hi = middle }
    }
}

/// The piecewise-affine link through `(z_i, v(z_i))`: the one of the proof of Lemma 7 of the paper. The
/// scores have to increase; the ends have the greatest slope between scores. Scores where `v` does
/// not rise by a unit in the last place are passed over.
pub fn interpolating_link(target: &dyn InverseLink, scores: &[f64]) -> Result<PiecewiseLink> {
    if scores.len() < 2 {
        return Err(Error::TooShort { what: "scores", length: scores.len(), minimum: 2 });
    }
    let (first, last) = (scores[0], scores[scores.len() - 1]);
    let steepest = scores
        .windows(2)
        .filter(|pair| pair[1] > pair[0])
        .map(|pair| (target.u(pair[1]) - target.u(pair[0])) / (pair[1] - pair[0]))
        .fold(0.0, f64::max);
    if steepest <= 0.0 {
        return Err(Error::OutOfDomain {
            what: "rise of the link over the scores",
            value: target.u(last) - target.u(first),
            expected: "above 0",
        });
    }
    let mut knots = Knots::start(first - target.u(first) / steepest, scores.len() + 2);
    for &z in scores {
        knots.push(z, target.u(z));
    }
    knots.finish(last + target.one_minus_u(last) / steepest)
}

/// The bounds on `inf_u E(u, ℓ)`, from the loosest to the tightest.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ApproximationBound {
    /// The smallest `ε` with a 2-vertex-connected neighbour graph.
    pub epsilon_biconnected: f64,
    /// The smallest `ε` with a connected neighbour graph.
    pub epsilon_connected: f64,
    /// `N`: the greatest slope of the interpolating link between scores.
    pub slope_max: f64,
    /// `2 N m ε² |w|²` with the 2-vertex-connected `ε`: the paper's bound (true, though its proof
    /// gives `4 N m ε² |w|²`).
    pub paper: f64,
    /// `(ε/2) |w| (v(z_m) - v(z_1))` with the connected `ε`: no `m`, no `N`.
    pub connected: f64,
    /// `½ Σ (v(z_{i+1}) - v(z_i)) (z_{i+1} - z_i)`, from the scores themselves.
    pub by_gaps: f64,
}

/// Lemma 7 of the paper and its sharper forms for the rows `x` (row-major), a weight vector and the inverse
/// link of a proper canonical loss.
pub fn approximation_bound(
    x: &[f64],
    w: &[f64],
    target: &dyn InverseLink,
) -> Result<ApproximationBound> {
    let (epsilon_connected, epsilon_biconnected) = radii(x, w.len())?;
    let mut z: Vec<f64> =
        x.chunks_exact(w.len()).map(|row| row.iter().zip(w).map(|(x, w)| x * w).sum()).collect();
    let m = z.len() as f64;
    z.sort_unstable_by(f64::total_cmp);
    z.dedup();
    let (mut slope_max, mut by_gaps) = (0.0, Sum::default());
    for pair in z.windows(2) {
        let (rise, gap) = (target.u(pair[1]) - target.u(pair[0]), pair[1] - pair[0]);
        slope_max = f64::max(slope_max, rise / gap);
        by_gaps.add(0.5 * rise * gap);
    }
    let norm = super::norm(w);
    let rise = target.u(z[z.len() - 1]) - target.u(z[0]);
    Ok(ApproximationBound {
        epsilon_biconnected,
        epsilon_connected,
        slope_max,
        paper: 2.0 * slope_max * m * (epsilon_biconnected * norm).powi(2),
        connected: 0.5 * epsilon_connected * norm * rise,
        by_gaps: by_gaps.value(),
    })
}
