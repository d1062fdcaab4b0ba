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

#[cfg(test)]
mod tests {
    use super::*;
    use EdgeState::{Free, Lower, Tied, Upper};

    fn solution(values: &[f64], edges: &[EdgeState], n: f64, cap: f64) -> ChainSolution {
        ChainSolution {
            values: values.to_vec(),
            edges: edges.to_vec(),
            slope_min: n,
            slope_max: cap,
            ..ChainSolution::default()
        }
    }

    #[track_caller]
    fn knots(link: &PiecewiseAffine, x: &[f64], y: &[f64]) {
        assert_eq!((link.x().len(), link.y().len()), (x.len(), y.len()), "{link:?}");
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        assert!(near(link.x(), x) && near(link.y(), y), "{link:?}");
    }

    /// Tails of the slope n; with the slope asked for they are as much shorter.
    #[test]
    fn tails_reach_0_and_1() {
        let one = solution(&[0.5], &[], 0.25, 2.0);
        knots(&fit_link(&one, &[1.0]).unwrap(), &[-1.0, 1.0, 3.0], &[0.0, 0.5, 1.0]);
        knots(&fit_link_with(&one, &[1.0], 2.0).unwrap(), &[0.75, 1.0, 1.25], &[0.0, 0.5, 1.0]);
        let two = solution(&[0.25, 0.5], &[Free], 0.125, 2.0);
        let link = fit_link(&two, &[3.0, 4.0]).unwrap();
        knots(&link, &[1.0, 3.0, 4.0, 8.0], &[0.0, 0.25, 0.5, 1.0]);
        // A link that begins at 0 and ends at 1 has no tails.
        let whole = solution(&[0.0, 0.5, 1.0], &[Free, Free], 0.1, 2.0);
        let link = fit_link(&whole, &[0.0, 1.0, 3.0]).unwrap();
        knots(&link, &[0.0, 1.0, 3.0], &[0.0, 0.5, 1.0]);
    }

    /// One piece for a run at the same bound; the last of equal scores decides.
    #[test]
    fn straight_runs_are_one_piece() {
        let scores = [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0];
        let values = [0.0, 0.125, 0.25, 0.375, 0.625, 0.625, 0.875];
        let edges = [Lower, Lower, Lower, Upper, Tied, Upper];
        let link = fit_link(&solution(&values, &edges, 0.125, 0.25), &scores).unwrap();
        knots(&link, &[0.0, 3.0, 5.0, 6.0], &[0.0, 0.375, 0.875, 1.0]);
        // A free edge ends a run on both sides.
        let edges = [Lower, Free, Lower, Upper, Tied, Free];
        let link = fit_link(&solution(&values, &edges, 0.125, 0.25), &scores).unwrap();
        let (x, y) =
            ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 0.125, 0.25, 0.375, 0.625, 0.875, 1.0]);
        knots(&link, &x, &y);
        // n = N: an edge is at both bounds, and everything is one line.
        let line = solution(&[0.25, 0.5, 0.75], &[Tied, Tied], 0.25, 0.25);
        let link = fit_link(&line, &[0.0, 1.0, 2.0]).unwrap();
        knots(&link, &[-1.0, 0.0, 2.0, 3.0], &[0.0, 0.25, 0.75, 1.0]);
    }

    #[test]
    fn slopes_out_of_bounds_are_refused() {
        let fit = solution(&[0.5], &[], 0.25, f64::INFINITY);
        for slope in [0.2, f64::INFINITY, f64::NAN] {
            let refused = fit_link_with(&fit, &[1.0], slope);
            assert!(
                matches!(refused, Err(Error::OutOfDomain { what: "end_slope", .. })),
                "{slope}"
            );
        }
        assert!(fit_link_with(&fit, &[1.0], 1e9).is_ok());
        let capped = solution(&[0.5], &[], 0.25, 1.0);
        assert!(fit_link_with(&capped, &[1.0], 1.0 + 1e-12).is_err());
        assert!(fit_link_with(&capped, &[1.0], 1.0).is_ok());
        let flat = solution(&[0.5], &[], 0.0, 1.0);
        assert!(matches!(
            fit_link(&flat, &[1.0]),
            Err(Error::OutOfDomain { what: "slope_min", .. })
        ));
        assert!(matches!(fit_link(&fit, &[]), Err(Error::TooShort { .. })));
        assert!(matches!(fit_link(&fit, &[1.0, 2.0]), Err(Error::LengthMismatch { .. })));
    }

    /// A knot is moved by some ulps into the bounds, or left out if that does not help.
    #[test]
    fn knots_are_moved_into_the_bounds() {
        let start = || {
            let mut knots = Knots { x: Vec::new(), y: Vec::new(), n: 0.1, cap: 0.3 };
            knots.start(1.0);
            knots
        };
        for (y, expected) in [(0.1_f64.next_down(), 0.1), (0.3_f64.next_up(), 0.3), (0.2, 0.2)] {
            let mut link = start();
            link.add(2.0, y);
            assert_eq!(link.x, [1.0, 2.0]);
            let slope = link.y[1];
            assert!((0.1..=0.3).contains(&slope) && (slope - expected).abs() < 1e-15, "{slope}");
        }
        let mut link = start();
        link.add(1.0, 0.5);
        link.add(0.5, 0.5);
        assert_eq!(link.x, [1.0]);
        // Never above 1.
        link.add(5.0, 1.5);
        assert_eq!((link.x[1], link.y[1]), (5.0, 1.0));
        // Not even the least slope stays below 1: left out.
        let mut late = Knots { x: vec![0.0, 9.0], y: vec![0.0, 0.95], n: 0.1, cap: 0.3 };
        late.add(10.0, 1.0);
        assert_eq!(late.x, [0.0, 9.0]);
        // And so is a value below the one before it.
        assert_eq!(late.tail(9.0, 0.0, 0.1, 1.0), 0.0);
        assert_eq!(late.tail(9.0, -0.5, 0.1, 1.0), 0.0);
        assert!((late.tail(9.0, 0.05, 0.2, 1.0) - 0.25).abs() < 1e-14);
        assert!((late.tail(9.0, 0.05, 0.2, -1.0) - 0.25).abs() < 1e-14);
        // A slope out of bounds is brought four ulps nearer to them: steeper, flatter.
        let late = Knots { x: Vec::new(), y: Vec::new(), n: 0.1, cap: 0.3 };
        for sign in [-1.0, 1.0] {
            assert_eq!(late.tail(0.0, 0.3, 0.6, sign), 0.5 + 2.0 * f64::EPSILON);
            assert_eq!(late.tail(0.0, 0.05, 0.025, sign), 2.0 - 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn the_right_tail_ends_at_1() {
        let make = |x: &[f64], y: &[f64]| Knots { x: x.to_vec(), y: y.to_vec(), n: 0.1, cap: 0.5 };
        let mut link = make(&[0.0, 1.0], &[0.0, 0.5]);
        link.finish(3.0, 0.1);
        assert_eq!((link.x[2], link.y[2]), (3.0, 1.0));
        // Where z_max says nothing the end slope does; both are brought into the bounds.
        let mut link = make(&[0.0, 1.0], &[0.0, 0.5]);
        link.finish(1.0, 0.25);
        assert_eq!((link.x[2], link.y[2]), (3.0, 1.0));
        let mut link = make(&[0.0, 1.0], &[0.0, 0.5]);
        link.finish(100.0, 0.25);
        assert_eq!((link.x[2], link.y[2]), (6.0, 1.0));
        // Nothing to climb, or less than an ulp of the score: the last knot is the end.
        let mut link = make(&[0.0, 1.0], &[0.0, 1.0]);
        link.finish(9.0, 0.25);
        assert_eq!(link.x, [0.0, 1.0]);
        let mut link = make(&[0.0, 1e17], &[0.0, 0.999]);
        link.finish(1e17, 0.25);
        assert_eq!((link.x.clone(), link.y[1]), (vec![0.0, 1e17], 1.0));
        let mut link = make(&[1e17], &[0.0]);
        link.finish(1e17, 0.25);
        assert_eq!((link.x[1], link.y[1]), (1e17_f64.next_up(), 1.0));
    }
}
