//! Damping: the convex combination of two links, and a compact link with the same loss.

use crate::error::{Error, Result, require};
use crate::link::{InverseLink, PiecewiseLink};
use crate::piecewise::PiecewiseAffine;
use crate::special::Sum;

/// The least and the greatest slope of the pieces of a link: `(n, N)` of the paper's Definition 2.
pub fn slope_range(u: &PiecewiseLink) -> (f64, f64) {
    let knots = u.knots();
    let pieces = 0..knots.x().len() - 1;
    pieces.map(|k| knots.piece_slope(k)).fold((f64::INFINITY, 0.0), |(n, big_n), slope| {
        (f64::min(n, slope), f64::max(big_n, slope))
    })
}

/// Collects knots; one that does not lie strictly above its predecessor in both coordinates (after
/// rounding) is dropped, which moves the link by a rounding error at most.
pub(super) struct Knots {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Knots {
    pub(super) fn start(x: f64, capacity: usize) -> Self {
        let (mut xs, mut ys) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        xs.push(x);
        ys.push(0.0);
        Self { x: xs, y: ys }
    }

    pub(super) fn push(&mut self, x: f64, y: f64) {
        let last = self.x.len() - 1;
        if x > self.x[last] && y > self.y[last] && y < 1.0 {
            self.x.push(x);
            self.y.push(y);
        }
    }

    pub(super) fn finish(mut self, x: f64) -> Result<PiecewiseLink> {
        while self.x.len() > 1 && self.x.last().is_some_and(|&last| last >= x) {
            self.x.pop();
            self.y.pop();
        }
        self.x.push(x);
        self.y.push(1.0);
        PiecewiseLink::new(PiecewiseAffine::new(self.x, self.y)?)
    }
}

/// The link through `(z_i, y_i)` with the given slope at both ends: `fit` of the paper, exact to the
/// last bit at every score where it rises.
pub(crate) fn link_through(
    scores: &[f64],
    values: &[f64],
    end_slope: f64,
) -> Result<PiecewiseLink> {
    let last = scores.len() - 1;
    let mut knots = Knots::start(scores[0] - values[0] / end_slope, scores.len() + 2);
    for (&z, &value) in scores.iter().zip(values) {
        knots.push(z, value);
    }
    knots.finish(scores[last] + (1.0 - values[last]) / end_slope)
}

/// `(1-λ) u + λ v` on the knots of both; O(K_u + K_v).
///
/// Slopes of both links lie in `[n, N]` on their supports; the combination is `N`-Lipschitz. The
/// supports have to overlap: otherwise the combination would be constant between them.
pub fn convex_combination(
    u: &PiecewiseLink,
    v: &PiecewiseLink,
    lambda: f64,
) -> Result<PiecewiseLink> {
    require("lambda", lambda, "in [0, 1]", (0.0..=1.0).contains(&lambda))?;
    if lambda == 0.0 {
        return Ok(u.clone());
    }
    if lambda == 1.0 {
        return Ok(v.clone());
    }
    let (u_min, u_max) = u.support();
    let (v_min, v_max) = v.support();
    let overlap = u_max.min(v_max) - u_min.max(v_min);
    if overlap <= 0.0 {
        return Err(Error::OutOfDomain {
            what: "overlap of the supports of the two links",
            value: overlap,
            expected: "above 0; combine links that were fitted to the same scores",
        });
    }
    let (x_u, x_v) = (u.knots().x(), v.knots().x());
    let (y_u, y_v) = (u.knots().y(), v.knots().y());
    let mut knots = Knots::start(u_min.min(v_min), x_u.len() + x_v.len());
    let (mut i, mut j) = (0, 0);
    while i < x_u.len() || j < x_v.len() {
        let at_u = x_u.get(i).copied().unwrap_or(f64::INFINITY);
        let at_v = x_v.get(j).copied().unwrap_or(f64::INFINITY);
        let s = at_u.min(at_v);
        let u_s = if s == at_u { y_u[i] } else { between(x_u, y_u, i, s) };
        let v_s = if s == at_v { y_v[j] } else { between(x_v, y_v, j, s) };
        knots.push(s, (1.0 - lambda) * u_s + lambda * v_s);
        i += usize::from(s == at_u);
        j += usize::from(s == at_v);
    }
    knots.finish(u_max.max(v_max))
}

/// The value at `s`, strictly between the knots `next - 1` and `next` (or beyond an end).
fn between(x: &[f64], y: &[f64], next: usize, s: f64) -> f64 {
    if next == 0 {
        return 0.0;
    }
    if next == x.len() {
        return 1.0;
    }
    let (left, right) = (s - x[next - 1], x[next] - s);
    let (width, rise) = (x[next] - x[next - 1], y[next] - y[next - 1]);
    if left <= right {
        y[next - 1] + rise * (left / width)
    } else {
        y[next] - rise * (right / width)
    }
}

/// A link with at most `2m + 3` knots that has the same values at the `m` scores, the same support
/// and **the same loss at these scores** as `u`, and slopes within those of `u`; O(m + K).
///
/// Damping adds the knots of the candidate to those of the old link at every iteration. By Lemma 1
/// only the integral of `u` between two consecutive scores enters the loss, because `G_w` is
/// constant there. Let `u` go from `(a, u_a)` to `(b, u_b)` with slopes in `[s, S]` and let its area
/// over the chord be `A`. One knot at height `h = 2A/(b-a)` over the chord has the same area; for
/// `A > 0` put it at `a + p` with `S p + s (b-a-p) = u_b - u_a` (steep first), where the largest
/// possible area has its knot: since `A` is at most that area, both slopes stay in `[s, S]`. For
/// `A < 0` the mirror image. The values at the scores are kept, so the gradient is kept, too.
///
/// `slope_max` is the bound `N` that `u` is known to satisfy: the slope of a very short piece is
/// mostly rounding and must not be handed on to a longer one.
pub fn condense(
    u: &PiecewiseLink,
    distinct_scores: &[f64],
    slope_max: f64,
) -> Result<PiecewiseLink> {
    let (x, y) = (u.knots().x(), u.knots().y());
    let last = x.len() - 1;
    let inside = distinct_scores.iter().copied().filter(|&z| z > x[0] && z < x[last]);
    let mut knots = Knots::start(x[0], 2 * distinct_scores.len() + 3);
    let (mut a, mut u_a) = (x[0], 0.0);
    let mut next = 1; // first knot right of a
    for b in inside.chain(std::iter::once(x[last])) {
        let first = next;
        while x[next] < b {
            next += 1;
        }
        let u_b = if x[next] == b { y[next] } else { between(x, y, next, b) };
        if next > first {
            let inner = (&x[first..next], &y[first..next]);
            if let Some((z, value)) = knot_of_equal_area((a, u_a), (b, u_b), inner, slope_max) {
                knots.push(z, value);
            }
        }
        if b < x[last] {
            knots.push(b, u_b);
            next += usize::from(x[next] == b);
        }
        (a, u_a) = (b, u_b);
    }
    knots.finish(x[last])
}

/// The one knot between `(a, u_a)` and `(b, u_b)` that encloses the same area with the chord as the
/// path through the given inner knots.
fn knot_of_equal_area(
    (a, u_a): (f64, f64),
    (b, u_b): (f64, f64),
    (x, y): (&[f64], &[f64]),
    slope_max: f64,
) -> Option<(f64, f64)> {
    let width = b - a;
    let chord = (u_b - u_a) / width;
    let mut area = Sum::default();
    let (mut steepest, mut flattest) = (chord, chord);
    let (mut from, mut value, mut over) = (a, u_a, 0.0);
    for (to, next) in x.iter().copied().zip(y.iter().copied()).chain([(b, u_b)]) {
        let slope = (next - value) / (to - from);
        steepest = f64::max(steepest, slope);
        flattest = f64::min(flattest, slope);
        let next_over = if to == b { 0.0 } else { (next - u_a) - chord * (to - a) };
        area.add(0.5 * (over + next_over) * (to - from));
        (from, value, over) = (to, next, next_over);
    }
    let steepest = steepest.min(slope_max);
    let height = 2.0 * area.value() / width;
    if height == 0.0 || steepest <= flattest {
        return None;
    }
    let part = if height > 0.0 { chord - flattest } else { steepest - chord };
    let p = width * (part / (steepest - flattest));
    Some((a + p, u_a + (chord * p + height)))
}
