//! `fit` of the paper: from the values at the scores to a link that runs from 0 to 1.

use super::problem::check_scores;
use super::solution::{ChainSolution, EdgeState};
use crate::error::{Error, Result, same_length};
use crate::piecewise::PiecewiseAffine;

/// The piecewise-affine link through `(z_i, y_i)`, extended on both sides to 0 and to 1.
///
/// `z_min = z_1 - y_1 / s` and `z_max = z_m + (1 - y_m) / s` with the end slope `s = n`, the widest
/// link (`s = N` if `n = 0`). A straight run of edges at the same bound becomes one piece, so the
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
    same_length(("values", y.len()), ("scores", scores.len()))?;
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
    let width = link.tail(scores[0], y[0], end_slope, -1.0);
    if width > 0.0 {
        link.start(scores[0] - width);
        link.add(scores[0], y[0]);
    } else {
        link.start(scores[0]);
    }
    // An edge of positive width that is held by both bounds is straight at the lower one.
    let state = |i: usize| match solution.edges[i] {
        EdgeState::Tied if scores[i + 1] > scores[i] => EdgeState::Lower,
        state => state,
    };
    let mut run = EdgeState::Free;
    for i in 1..=last {
        if state(i - 1) != EdgeState::Tied {
            run = state(i - 1);
        }
        // Of equal scores the last one decides; inside a straight run no knot is needed.
        let next = if i < last { state(i) } else { EdgeState::Free };
        let straight = next == run && run != EdgeState::Free;
        if next != EdgeState::Tied && !straight {
            link.add(scores[i], y[i]);
        }
    }
    link.finish(scores[last] + (1.0 - y[last]) / end_slope, end_slope);
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

    /// Width of a tail that climbs by `rise` next to `x`, on the side of `sign`: `rise / slope`,
    /// moved by some ulps of the end so that the slope lies in the bounds; 0 if it is below an ulp.
    fn tail(&self, x: f64, rise: f64, slope: f64, sign: f64) -> f64 {
        if rise <= 0.0 {
            return 0.0;
        }
        let mut end = x + sign * (rise / slope);
        for _ in 0..4 {
            let slope = rise / (sign * (end - x));
            let outwards = if slope > self.cap {
                sign
            } else if slope < self.n {
                -sign
            } else {
                break;
            };
            end = if outwards > 0.0 { end.next_up() } else { end.next_down() };
        }
        (sign * (end - x)).max(0.0)
    }

    /// The right tail, from the last knot (left of `z_max` by construction) to 1.
    fn finish(&mut self, z_max: f64, end_slope: f64) {
        let at = self.x.len() - 1;
        let (x0, y0) = (self.x[at], self.y[at]);
        let rise = 1.0 - y0;
        if rise <= 0.0 {
            return;
        }
        // Without left-out knots this is the end slope itself.
        let slope = if z_max > x0 { rise / (z_max - x0) } else { end_slope };
        let width = self.tail(x0, rise, slope.clamp(self.n, self.cap), 1.0);
        if width > 0.0 && x0 + width > x0 {
            self.x.push(x0 + width);
            self.y.push(1.0);
        } else if at > 0 {
            // Zero width: the last knot itself reaches 1.
            self.y[at] = 1.0;
        } else {
            self.x.push(x0.next_up());
            self.y.push(1.0);
        }
    }
}
