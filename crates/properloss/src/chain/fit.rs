//! `fit` of the paper: from the values at the scores to a link that runs from 0 to 1.

use super::problem::{check_scores, same_length};
use super::solution::{ChainSolution, LinkState};
use crate::error::{Error, Result};
use crate::piecewise::PiecewiseAffine;

/// The piecewise-affine link through `(z_i, y_i)`, extended on both sides to 0 and to 1.
///
/// `z_min = z_1 - y_1 / s` and `z_max = z_m + (1 - y_m) / s` with the end slope `s = n`, the widest
/// link (`s = N` if `n = 0`). A straight run of links at the same bound becomes one piece, so the
/// slopes stay in `[n, N]` up to the rounding of one division, and the link has no more pieces
/// than it needs. Needs `n > 0`: a flat piece has no inverse.
pub fn fit_link(solution: &ChainSolution, scores: &[f64]) -> Result<PiecewiseAffine> {
    fit_link_with(solution, scores, solution.slope_min)
}

/// [`fit_link`] with an end slope of your choice in `[n, N]`, positive and finite.
pub fn fit_link_with(
    solution: &ChainSolution,
    scores: &[f64],
    end_slope: f64,
) -> Result<PiecewiseAffine> {
    let (n, cap) = (solution.slope_min, solution.slope_max);
    let y = &solution.values;
    if scores.is_empty() {
        return Err(Error::TooShort { what: "scores", length: 0, minimum: 1 });
    }
    same_length("values", y.len(), scores.len())?;
    check_scores(scores)?;
    if n <= 0.0 {
        let expected = "positive: a link with flat pieces has no inverse";
        return Err(Error::OutOfDomain { what: "slope_min", value: n, expected });
    }
    if !(end_slope >= n && end_slope <= cap && end_slope.is_finite()) {
        let expected = "finite and between slope_min and slope_max";
        return Err(Error::OutOfDomain { what: "end_slope", value: end_slope, expected });
    }
    let last = scores.len() - 1;
    let mut link = Knots { x: Vec::new(), y: Vec::new(), n, cap };
    // Left tail; an end of zero width is merged into the first score.
    let z_min = scores[0] - y[0] / end_slope;
    if y[0] <= 0.0 || z_min >= scores[0] {
        link.start(scores[0]);
    } else {
        link.start(z_min);
        link.add(scores[0], y[0]);
    }
    for i in 1..=last {
        let state = solution.links[i - 1];
        let straight = i < last
            && state != LinkState::Free
            && (state == solution.links[i] || solution.links[i] == LinkState::Tied);
        if !straight && state != LinkState::Tied || i == last {
            link.add(scores[i], y[i]);
        }
    }
    let top = y[last];
    let z_max = scores[last] + (1.0 - top) / end_slope;
    link.finish(z_max);
    PiecewiseAffine::new(link.x, link.y)
}

/// Knots under construction: strictly increasing, slopes in `[n, cap]`.
struct Knots {
    x: Vec<f64>,
    y: Vec<f64>,
    n: f64,
    cap: f64,
}

impl Knots {
    fn start(&mut self, z_min: f64) {
        self.x.push(z_min);
        self.y.push(0.0);
    }

    /// Adds a knot with its ordinate moved by at most some ulps so that the slope lies in the
    /// bounds; a knot too near to its predecessor for that is left out.
    fn add(&mut self, x: f64, y: f64) {
        let (Some(&x0), Some(&y0)) = (self.x.last(), self.y.last()) else { return };
        let dx = x - x0;
        if dx <= 0.0 {
            return;
        }
        let mut y = y.min(1.0);
        for _ in 0..4 {
            let slope = (y - y0) / dx;
            if slope < self.n {
                y = y.max(y0 + self.n * dx).next_up();
            } else if slope > self.cap {
                y = y.min(y0 + self.cap * dx).next_down();
            } else {
                break;
            }
        }
        let slope = (y - y0) / dx;
        if slope >= self.n && slope <= self.cap && y > y0 && y <= 1.0 {
            self.x.push(x);
            self.y.push(y);
        }
    }

    /// The right tail, from the last knot to 1.
    fn finish(&mut self, z_max: f64) {
        let at = self.x.len() - 1;
        let (x0, y0) = (self.x[at], self.y[at]);
        if y0 >= 1.0 {
            return;
        }
        let slope = (1.0 - y0) / (z_max - x0);
        if z_max > x0 && slope <= self.cap * (1.0 + 1e-9) && slope >= self.n * (1.0 - 1e-9) {
            self.x.push(z_max);
            self.y.push(1.0);
        } else if at > 0 && 1.0 - y0 < 1e-9 {
            // Zero width: the last knot itself reaches 1.
            self.y[at] = 1.0;
        } else {
            let width = (1.0 - y0) / slope.clamp(self.n, self.cap);
            self.x.push((x0 + width).max(x0.next_up()));
            self.y.push(1.0);
        }
    }
}
