//! Blocks (runs between free edges): the exact shift of each, and whether it is optimal.
//!
//! Inside a block the differences are fixed, so its only freedom is a common shift `θ`, and the
//! best one solves `Σ ω_j (g(y_j + θ) - c_j) = 0`. The multipliers of the edges inside are the
//! partial sums `κ_i = Σ_{j<=i} ω_j (g_j - c_j)`: optimal if `κ_i <= 0` at lower bounds (the part
//! before the edge is kept from rising) and `κ_i >= 0` at upper bounds.

use super::curve::{Curve, Units};
use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;

/// A chain in the variables `v`, with what every pass needs.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Chain<'a> {
    pub scores: &'a [f64],
    pub weights: Option<&'a [f64]>,
    /// `c` (or `t`), to be taken in `units`.
    pub targets: &'a [f64],
    pub slope_min: f64,
    pub freedom: f64,
    pub units: Units,
    pub frame: Frame,
}

impl Chain<'_> {
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    #[inline]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    #[inline]
    pub fn target(&self, i: usize) -> f64 {
        self.units.of(self.targets[i])
    }

    #[inline]
    pub fn ramp(&self, i: usize) -> f64 {
        crate::chain::problem::ramp(self.scores, self.slope_min, i)
    }

    #[inline]
    pub fn gap(&self, i: usize) -> f64 {
        crate::chain::problem::gap(self.scores, self.freedom, i)
    }

    /// How far `v[i]` may move given its left neighbour (or the first box), as `(down, up)`.
    fn room_left(&self, v: &[f64], i: usize) -> (f64, f64) {
        if i == 0 {
            return (self.frame.lo - v[0], self.frame.hi - v[0]);
        }
        let rise = v[i] - v[i - 1];
        (-rise, self.gap(i - 1) - rise)
    }

    /// The same given the right neighbour (or the last box).
    fn room_right(&self, v: &[f64], i: usize) -> (f64, f64) {
        if i + 1 == v.len() {
            return (self.frame.last_min - v[i], self.frame.wall - v[i]);
        }
        let rise = v[i + 1] - v[i];
        (rise - self.gap(i), rise)
    }
}

/// Last index of the block that starts at `start`.
pub(in crate::chain) fn block_end(edges: &[EdgeState], start: usize) -> usize {
    let rest = &edges[start..];
    start + rest.iter().position(|&s| s == EdgeState::Free).unwrap_or(rest.len())
}

/// First index of the block that holds `i`.
pub(in crate::chain) fn block_start(edges: &[EdgeState], i: usize) -> usize {
    edges[..i].iter().rposition(|&s| s == EdgeState::Free).map_or(0, |k| k + 1)
}

/// Sums of a block at a shift.
struct Balance {
    /// `Σ ω (g - c)`.
    residual: f64,
    /// `Σ ω g'`.
    slope: f64,
    /// Size of the rounding errors in `residual`: `Σ ω (|g| + |c| + g' |y|)` in units of eps.
    noise: f64,
}

fn balance(
    chain: &Chain,
    curve: &mut impl Curve,
    v: &[f64],
    (a, b): (usize, usize),
    theta: f64,
) -> Balance {
    let mut sum = Balance { residual: 0.0, slope: 0.0, noise: 0.0 };
    for i in a..=b {
        let y = (v[i] + theta) + chain.ramp(i);
        let (g, h) = curve.eval(y);
        let (w, c) = (chain.weight(i), chain.target(i));
        sum.residual += w * (g - c);
        sum.slope += w * h;
        sum.noise += w * (g.abs() + c.abs() + h * y.abs());
    }
    sum
}

/// Rounding tolerance of a block's sums.
fn tolerance(noise: f64) -> f64 {
    2.0 * f64::EPSILON * noise
}

/// Shifts every block of `[a, b]` to its optimum, one after the other, within the room its
/// neighbours leave; `edges` follows.
pub(in crate::chain) fn balance_blocks(
    chain: &Chain,
    mut curve: impl Curve,
    v: &mut [f64],
    edges: &mut [EdgeState],
    (a, b): (usize, usize),
) {
    curve.seek(v[a] + chain.ramp(a));
    let mut start = a;
    while start <= b {
        let end = block_end(edges, start).min(b);
        let (down_l, up_l) = chain.room_left(v, start);
        let (down_r, up_r) = chain.room_right(v, end);
        // Where an edge at the rim of the range is active the block cannot move past it.
        let down = down_l.max(down_r).min(0.0);
        let up = up_l.min(up_r).max(0.0);
        let theta = best_shift(chain, &mut curve, v, (start, end), down, up);
        if theta != 0.0 {
            v[start..=end].iter_mut().for_each(|v| *v += theta);
            if start > 0 {
                edges[start - 1] = if theta <= down_l {
                    lower_or_tied(chain, start - 1)
                } else if theta >= up_l {
                    upper_or_tied(chain, start - 1)
                } else {
                    edges[start - 1].opened(chain.gap(start - 1))
                };
            }
            if end + 1 < v.len() {
                edges[end] = if theta <= down_r {
                    upper_or_tied(chain, end)
                } else if theta >= up_r {
                    lower_or_tied(chain, end)
                } else {
                    edges[end].opened(chain.gap(end))
                };
            }
        }
        start = end + 1;
    }
}

fn lower_or_tied(chain: &Chain, i: usize) -> EdgeState {
    if chain.gap(i) > 0.0 { EdgeState::Lower } else { EdgeState::Tied }
}

fn upper_or_tied(chain: &Chain, i: usize) -> EdgeState {
    if chain.gap(i) > 0.0 { EdgeState::Upper } else { EdgeState::Tied }
}

impl EdgeState {
    /// The state after the two sides moved apart or together.
    fn opened(self, gap: f64) -> Self {
        if gap > 0.0 { EdgeState::Free } else { self }
    }
}

/// The root of the block's residual in `[down, up]`: Newton steps inside a bracket, every third
/// step a bisection, in turn of the interval and of its exponents (a link that is infinite at 0
/// can put the root anywhere between 1e-300 and 1), so that it always ends.
fn best_shift(
    chain: &Chain,
    curve: &mut impl Curve,
    v: &[f64],
    block: (usize, usize),
    down: f64,
    up: f64,
) -> f64 {
    let mut now = balance(chain, curve, v, block, 0.0);
    let (mut low, mut high) = if now.residual > 0.0 { (down, 0.0) } else { (0.0, up) };
    let (mut theta, mut best) = (0.0, (now.residual.abs(), 0.0));
    for step in 0..400 {
        if now.residual.abs() <= tolerance(now.noise) || high <= low {
            return theta;
        }
        let newton = theta - now.residual / now.slope;
        let next = match step % 6 {
            2 => 0.5 * (low + high),
            5 => bit_middle(low, high),
            // Residual and slope have both overflowed.
            _ if newton.is_nan() => 0.5 * (low + high),
            _ => newton.clamp(low, high),
        };
        if next == theta && (next == low || next == high) && step % 6 == 5 {
            break;
        }
        theta = next;
        now = balance(chain, curve, v, block, theta);
        if now.residual.abs() < best.0 {
            best = (now.residual.abs(), theta);
        }
        if now.residual > 0.0 {
            high = theta;
        } else {
            low = theta;
        }
        // At the edge of the room and still pushing outwards: the neighbour stops the block.
        if (theta == down && now.residual >= 0.0) || (theta == up && now.residual <= 0.0) {
            return theta;
        }
    }
    best.1
}

/// The float in the middle of the floats between `low` and `high`, which have the same sign.
fn bit_middle(low: f64, high: f64) -> f64 {
    let (a, b) = (low.abs().to_bits(), high.abs().to_bits());
    let middle = f64::from_bits(a.midpoint(b));
    if low < 0.0 { -middle } else { middle }
}

/// Whether block `[a, b]` is optimal given that the edges at its two ends are free.
pub(in crate::chain) fn block_is_optimal(
    chain: &Chain,
    curve: &mut impl Curve,
    v: &[f64],
    edges: &[EdgeState],
    (a, b): (usize, usize),
) -> bool {
    let frame = &chain.frame;
    let contact = frame.contact();
    // κ before the block: 0, or for the first block any value its box allows.
    let (mut least, mut most) = (0.0_f64, 0.0_f64);
    if a == 0 {
        if v[0] <= frame.lo + contact {
            least = f64::NEG_INFINITY;
        }
        if v[0] >= frame.hi - contact {
            most = f64::INFINITY;
        }
    }
    let (mut kappa, mut noise) = (0.0_f64, 0.0_f64);
    for i in a..=b {
        let y = v[i] + chain.ramp(i);
        let (g, h) = curve.eval(y);
        let (w, c) = (chain.weight(i), chain.target(i));
        kappa += w * (g - c);
        noise += w * (g.abs() + c.abs() + h * y.abs());
        let state = if i < edges.len() {
            edges[i]
        } else {
            match (v[i] <= frame.last_min + contact, v[i] >= frame.wall - contact) {
                (true, true) => EdgeState::Tied,
                (true, false) => EdgeState::Upper,
                (false, true) => EdgeState::Lower,
                (false, false) => EdgeState::Free,
            }
        };
        match state {
            EdgeState::Lower => most = most.min(-kappa),
            EdgeState::Upper => least = least.max(-kappa),
            EdgeState::Tied => {}
            EdgeState::Free => {
                most = most.min(-kappa);
                least = least.max(-kappa);
            }
        }
    }
    least - most <= 4.0 * tolerance(noise)
}

#[cfg(test)]
mod tests {
    use super::super::curve::Identity;
    use super::*;
    use EdgeState::{Free, Lower, Tied, Upper};

    /// Scores 0, 1, 2, 4 with freedom 0.125: gaps 0.125, 0.125, 0.25. No ramp.
    fn chain<'a>(weights: &'a [f64], targets: &'a [f64]) -> Chain<'a> {
        Chain {
            scores: &[0.0, 1.0, 2.0, 4.0],
            weights: Some(weights),
            targets,
            slope_min: 0.0,
            freedom: 0.125,
            units: Units { origin: 0.0, scale: 1.0 },
            frame: Frame { lo: 0.0, hi: 0.75, wall: 1.0, last_min: 0.25 },
        }
    }

    const V: [f64; 4] = [0.25, 0.3125, 0.4375, 0.5];

    #[test]
    fn room_on_both_sides() {
        let chain = chain(&[1.0; 4], &[0.0; 4]);
        assert_eq!(chain.room_left(&V, 0), (-0.25, 0.5));
        assert_eq!(chain.room_left(&V, 1), (-0.0625, 0.0625));
        assert_eq!(chain.room_left(&V, 3), (-0.0625, 0.1875));
        assert_eq!(chain.room_right(&V, 3), (-0.25, 0.5));
        assert_eq!(chain.room_right(&V, 0), (-0.0625, 0.0625));
        assert_eq!(chain.room_right(&V, 2), (-0.1875, 0.0625));
    }

    #[test]
    fn blocks_lie_between_free_edges() {
        let edges = [Lower, Free, Upper, Tied, Free, Free, Lower];
        let ends: Vec<usize> = (0..8).map(|i| block_end(&edges, i)).collect();
        assert_eq!(ends, [1, 1, 4, 4, 4, 5, 7, 7]);
        let starts: Vec<usize> = (0..8).map(|i| block_start(&edges, i)).collect();
        assert_eq!(starts, [0, 0, 2, 2, 2, 5, 6, 6]);
    }

    /// Σ ω (y - t), Σ ω and the size of the terms, at a shift.
    #[test]
    fn sums_of_a_block() {
        let chain = chain(&[1.0, 2.0, 4.0, 1.0], &[0.0, 0.5, -0.25, 0.0]);
        let sums = balance(&chain, &mut Identity, &V, (1, 2), 0.0625);
        assert_eq!(sums.residual, 2.0 * (0.375 - 0.5) + 4.0 * (0.5 + 0.25));
        assert_eq!(sums.slope, 6.0);
        assert_eq!(sums.noise, 2.0 * (0.375 + 0.5 + 0.375) + 4.0 * (0.5 + 0.25 + 0.5));
    }

    /// The weighted mean, or as near as the room allows.
    #[test]
    fn the_best_shift_is_the_mean_within_its_room() {
        let weights = [1.0, 3.0, 1.0, 1.0];
        for (target, room, expected) in [
            (0.5, (-1.0, 1.0), 0.203125),
            (0.5, (-1.0, 0.125), 0.125),
            (0.0, (-1.0, 1.0), -0.296875),
            (0.0, (-0.25, 1.0), -0.25),
            (0.0, (0.0, 1.0), 0.0),
            (1.0, (-1.0, 0.0), 0.0),
        ] {
            let targets = [target; 4];
            let chain = chain(&weights, &targets);
            let theta = best_shift(&chain, &mut Identity, &V, (0, 1), room.0, room.1);
            assert!((theta - expected).abs() < 1e-15, "{target} {room:?}: {theta}");
        }
        assert_eq!(bit_middle(1.0, 1.0), 1.0);
        assert_eq!(bit_middle(-4.0, -1.0), -2.0);
        assert_eq!(bit_middle(0.25, 1.0), 0.5);
        // A curve whose slope says nothing: bisections find the root, far down or not.
        #[derive(Clone, Copy)]
        struct Cubic(f64);
        impl Curve for Cubic {
            fn eval(&mut self, y: f64) -> (f64, f64) {
                ((y - self.0).cbrt(), f64::NAN)
            }
            fn values_at(&self, _: &[f64], _: impl FnMut(usize, f64)) {}
        }
        for root in [0.3, 0.9, 0.25 + 1e-9] {
            let chain = chain(&weights, &[0.0; 4]);
            let theta = best_shift(&chain, &mut Cubic(root), &V, (0, 0), -0.25, 0.75);
            assert!((theta - (root - 0.25)).abs() < 1e-15, "{root}: {theta}");
        }
    }

    /// Each block to its mean, one after the other; the edges it comes to touch say so.
    #[test]
    fn blocks_go_to_their_means() {
        let run = |targets: [f64; 4], edges: [EdgeState; 3]| {
            let (mut v, mut edges) = (V, edges);
            let weights = [1.0; 4];
            balance_blocks(&chain(&weights, &targets), Identity, &mut v, &mut edges, (0, 3));
            (v, edges)
        };
        // Two single points and a pair: all within their room.
        let (v, edges) = run([0.25, 0.34375, 0.46875, 0.53125], [Free, Free, Lower]);
        assert_eq!((v, edges), ([0.25, 0.34375, 0.46875, 0.53125], [Free, Upper, Lower]));
        // The first wants down to 0, the second follows as far as its edge lets it: d = 0.125.
        let (v, edges) = run([0.0, 1.0, 0.4375, 0.5], [Free, Free, Free]);
        assert_eq!(v[0], 0.1875);
        assert_eq!((v[1], edges[0]), (0.3125, Upper));
        // Up: it stops at its neighbour.
        let (v, edges) = run([1.0, 0.3125, 0.4375, 0.5], [Free, Free, Free]);
        assert_eq!((v, edges), ([0.3125, 0.3125, 0.4375, 0.5], [Lower, Free, Free]));
        // The last one to the wall of its edge, then to the wall of the box.
        let (v, edges) = run([0.25, 0.3125, 0.4375, 0.9], [Free, Free, Free]);
        assert_eq!((v[3], edges[2]), (0.6875, Upper));
        // A block of all points is only held by the boxes.
        let (v, edges) = run([0.9; 4], [Upper, Tied, Lower]);
        assert_eq!((v[0], v[3], edges), (0.75, 1.0, [Upper, Tied, Lower]));
        let (v, _) = run([0.0; 4], [Upper, Tied, Lower]);
        assert_eq!((v[0], v[3]), (0.0, 0.25));
    }

    #[test]
    fn edges_of_no_width_are_tied() {
        let mut tied = chain(&[1.0; 4], &[0.0; 4]);
        assert_eq!((lower_or_tied(&tied, 0), upper_or_tied(&tied, 0)), (Lower, Upper));
        tied.freedom = 0.0;
        assert_eq!((lower_or_tied(&tied, 0), upper_or_tied(&tied, 0)), (Tied, Tied));
        assert_eq!((Lower.opened(0.1), Lower.opened(0.0), Tied.opened(0.0)), (Free, Lower, Tied));
    }

    /// The signs of the partial sums inside a block decide.
    #[test]
    fn optimal_blocks_are_known_by_their_signs() {
        let optimal = |targets: [f64; 4], edges: [EdgeState; 3], v: [f64; 4], block| {
            block_is_optimal(&chain(&[1.0; 4], &targets), &mut Identity, &v, &edges, block)
        };
        let v = [0.25, 0.3125, 0.3125, 0.5];
        // κ inside = 0.125 (v below its target on the left would rise): wrong at Lower, right at Upper.
        let (down, up) = ([0.0, 0.1875, 0.4375, 0.0], [0.0, 0.4375, 0.1875, 0.0]);
        assert!(!optimal(down, [Free, Lower, Free], v, (1, 2)));
        assert!(optimal(up, [Free, Lower, Free], v, (1, 2)));
        assert!(optimal(down, [Free, Upper, Free], v, (1, 2)));
        assert!(!optimal(up, [Free, Upper, Free], v, (1, 2)));
        assert!(optimal(up, [Free, Tied, Free], v, (1, 2)));
        assert!(optimal(down, [Free, Tied, Free], v, (1, 2)));
        // The sum over the block is 0, or the block has to move.
        assert!(!optimal([0.0, 0.0, 0.5, 0.0], [Free, Tied, Free], v, (1, 2)));
        // The first block rests at its box from above or below.
        let all = [Tied, Tied, Tied];
        assert!(optimal([-1.0; 4], all, [0.0, 0.25, 0.25, 0.5], (0, 3)));
        assert!(!optimal([2.0; 4], all, [0.0, 0.25, 0.25, 0.5], (0, 3)));
        assert!(optimal([2.0; 4], all, [0.75, 0.8, 0.85, 0.9], (0, 3)));
        assert!(!optimal([-1.0; 4], all, [0.75, 0.8, 0.85, 0.9], (0, 3)));
        // And the last one.
        assert!(optimal([2.0; 4], all, [0.5, 0.6, 0.7, 1.0], (0, 3)));
        assert!(!optimal([-1.0; 4], all, [0.5, 0.6, 0.7, 1.0], (0, 3)));
        assert!(optimal([-1.0; 4], all, [0.1, 0.1, 0.1, 0.25], (0, 3)));
        assert!(!optimal([2.0; 4], all, [0.1, 0.1, 0.1, 0.25], (0, 3)));
        assert!(!optimal([2.0; 4], all, [0.5, 0.6, 0.7, 0.8], (0, 3)));
    }
}
