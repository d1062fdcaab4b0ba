//! The quadratic core: a dynamic programme that tracks the derivative of the cost-to-come.
//!
//! With `v_i = y_i - n (z_i - z_1)` the constraints are `0 <= v_{i+1} - v_i <= d_i`,
//! `d_i = (N - n)(z_{i+1} - z_i)`. Let `f_i(v)` be the least cost of the points `1..=i` with
//! `v_i = v`, and `p_i` its minimiser. Then
//!
//! ```text
//! f'_{i+1}(v) = ω (v - t) + { f'_i(v)        v < p_i
//!                           { 0              p_i <= v <= p_i + d_i
//!                           { f'_i(v - d_i)  v > p_i + d_i
//! ```
//!
//! a nondecreasing piecewise-linear function. All abscissae are multiples of one power of two (the
//! grid), so that shifting and mirroring a knot is exact: a knot that comes back to the root is met
//! at the very value it left, and the backward pass reads the active set off by comparison.
//! Each step adds two knots, shifts those right of the
//! root and moves the root. *Invariant*: `f'` on `[lo, bound]` is what the head and the knots say;
//! beyond `wall` (no `v_i` exceeds it, as `v` is nondecreasing) it may be anything.

use super::knots::{Head, Knot, KnotStore, Probe};
use super::rope::Rope;
use super::tree::Tree;
use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;

/// Positions relative to `lo`, rounded to multiples of a power of two.
///
/// A knot, a shift, a mirrored knot and the offset of a block are all at most `4 span` in
/// magnitude; with the unit `2^-51 span` (span rounded up to a power of two) they fit 53 bits.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Grid {
    /// `1.5 * 2^52` units: adding and subtracting it rounds to the unit.
    magic: f64,
}

impl Grid {
    pub fn new(span: f64) -> Self {
        let unit = if span > 1e-250 { 2f64.powi(exponent_above(span) - 51) } else { 1e-300 };
        Self { magic: 1.5 * (1u64 << 52) as f64 * unit }
    }

    #[inline]
    pub fn round(self, x: f64) -> f64 {
        (x + self.magic) - self.magic
    }
}

/// Least `e` with `2^e >= x`, for a normal `x > 0`.
fn exponent_above(x: f64) -> i32 {
    let bits = x.to_bits();
    let floor = ((bits >> 52) & 0x7ff) as i32 - 1023;
    if bits << 12 == 0 { floor } else { floor + 1 }
}

/// The two stores, kept between solves.
#[derive(Debug, Default)]
pub(in crate::chain) struct Stores {
    pub(super) rope: Rope,
    tree: Tree,
}

/// What a solve of the core cost.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::chain) struct CoreWork {
    /// Knots and blocks moved, tree nodes visited.
    pub moves: u64,
    /// The tree took over.
    pub on_tree: bool,
}

impl std::ops::AddAssign for CoreWork {
    fn add_assign(&mut self, other: Self) {
        self.moves += other.moves;
        self.on_tree |= other.on_tree;
    }
}

/// Minimises `½ Σ ω (v - t)²` on the chain: `v` (length m) and `edges` (length m - 1) are written.
///
/// `point(i)` is `(ω_i, t_i)`, called once for each `i` in increasing order (again from 0 if the
/// tree takes over); `gap(i)` is `d_i`. The answer is within one grid unit of the constraints.
pub(in crate::chain) fn solve_core(
    stores: &mut Stores,
    frame: &Frame,
    mut point: impl FnMut(usize) -> (f64, f64),
    gap: impl Fn(usize) -> f64,
    v: &mut [f64],
    edges: &mut [EdgeState],
) -> CoreWork {
    let origin = frame.lo;
    let grid = Grid::new(frame.wall - origin);
    let wall = grid.round(frame.wall - origin);
    let core = Core { grid, wall, hi: grid.round((frame.hi - origin).min(wall)) };
    let mut point = |i: usize| {
        let (w, t) = point(i);
        (w, t - origin)
    };
    let gap = |i: usize| grid.round(gap(i));
    let mut work = CoreWork::default();
    let m = v.len();
    let mut put = |i: usize, p: f64| v[i] = p;
    let mut end = core.forward(&mut stores.rope, m, &mut point, &gap, &mut put);
    work.moves += stores.rope.moves();
    if end.is_none() {
        work.on_tree = true;
        end = core.forward(&mut stores.tree, m, &mut point, &gap, &mut put);
        work.moves += stores.tree.moves();
    }
    let bound = end.map_or(wall, |end| end.bound);
    let last = m - 1;
    let last_min = grid.round((frame.last_min - origin).max(0.0));
    v[last] = v[last].max(last_min).min(bound);
    backtrack(origin, gap, v, edges);
    work
}

/// The box of the core: `[0, hi]` for the first point, `wall` for all.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct Core {
    pub grid: Grid,
    pub wall: f64,
    pub hi: f64,
}

/// Where a forward pass ended: the root of the last `f'`, and the upper end of its domain.
#[derive(Debug, Clone, Copy)]
pub(in crate::chain) struct End {
    pub head: Head,
    pub bound: f64,
}

impl Core {
    /// The forward pass over `m` points: `p_i` goes to `put` for every `i`. `None` if the store's
    /// budget is exceeded.
    pub fn forward<S: KnotStore>(
        &self,
        store: &mut S,
        m: usize,
        point: &mut impl FnMut(usize) -> (f64, f64),
        gap: &impl Fn(usize) -> f64,
        put: &mut impl FnMut(usize, f64),
    ) -> Option<End> {
        store.reset();
        let wall = self.wall;
        let mut bound = self.hi;
        let (w, t) = point(0);
        let mut head = start(bound, w, t);
        head.p = self.grid.round(head.p);
        put(0, head.p);
        for i in 1..m {
            let d = gap(i - 1);
            let (w, t) = point(i);
            if d <= 0.0 || head.p >= wall {
                add_in_place(store, &mut head, w, t, bound);
            } else {
                bound = wall.min(bound + d);
                if d >= wall {
                    store.clear_right();
                } else {
                    store.shift_right(d, wall, wall);
                }
                spread_and_add(store, &mut head, d, w, t, bound);
            }
            head.p = self.grid.round(head.p);
            put(i, head.p);
            // Tested rarely: a guard against quadratic time, not a limit.
            if i % 1024 == 0 && store.over_budget(i) {
                return None;
            }
        }
        Some(End { head, bound })
    }
}

/// `f'_1(v) = ω (v - t)` on `[0, bound]`.
fn start(bound: f64, w: f64, t: f64) -> Head {
    if t < 0.0 {
        let f_left = f64::NEG_INFINITY;
        Head { p: 0.0, f_left, s_left: 0.0, f_right: -w * t, s_right: w }
    } else if t > bound {
        let f_right = f64::INFINITY;
        Head { p: bound, f_left: w * (bound - t), s_left: w, f_right, s_right: 0.0 }
    } else {
        Head { p: t, f_left: 0.0, s_left: w, f_right: 0.0, s_right: w }
    }
}

/// A tie (`d = 0`), or a root at the wall: only `ω (v - t)` is added.
#[inline]
fn add_in_place<S: KnotStore>(store: &mut S, head: &mut Head, w: f64, t: f64, bound: f64) {
    let g = w * (head.p - t);
    head.f_left += g;
    head.f_right += g;
    head.s_left += w;
    head.s_right += w;
    let x = head.p;
    let knot = Knot { x, ds: head.s_right - head.s_left, dj: head.f_right - head.f_left };
    if head.f_left > 0.0 {
        if knot.dj < f64::INFINITY {
            store.push_right(knot);
        }
        *head = store.walk_left(Probe { x, value: head.f_left, slope: head.s_left }, 0.0);
    } else if head.f_right < 0.0 {
        if knot.dj < f64::INFINITY {
            store.push_left(knot);
        }
        *head = store.walk_right(Probe { x, value: head.f_right, slope: head.s_right }, bound);
    }
}

/// The root opens into the interval `[p, p + d]`, then `ω (v - t)` is added. The right side of the
/// store has been shifted already.
#[inline]
fn spread_and_add<S: KnotStore>(
    store: &mut S,
    head: &mut Head,
    d: f64,
    w: f64,
    t: f64,
    bound: f64,
) {
    let Head { p, f_left, s_left, f_right, s_right } = *head;
    let q = p + d;
    // The knots of the two ends; the ends of the domain are no knots.
    let left = (f_left > f64::NEG_INFINITY).then_some(Knot { x: p, ds: -s_left, dj: -f_left });
    let open_right = f_right < f64::INFINITY && q < bound;
    let right = open_right.then_some(Knot { x: q, ds: s_right, dj: f_right });
    if t < p {
        if let Some(knot) = right {
            store.push_right(knot);
        }
        let g = w * (p - t);
        if f_left + g <= 0.0 {
            *head = Head { p, f_left: f_left + g, s_left: s_left + w, f_right: g, s_right: w };
        } else {
            if let Some(knot) = left {
                store.push_right(knot);
            }
            *head = store.walk_left(Probe { x: p, value: f_left + g, slope: s_left + w }, 0.0);
        }
        return;
    }
    if let Some(knot) = left {
        store.push_left(knot);
    }
    let end = q.min(bound);
    if t <= end {
        if let Some(knot) = right {
            store.push_right(knot);
        }
        *head = Head { p: t, f_left: 0.0, s_left: w, f_right: 0.0, s_right: w };
        return;
    }
    let g = w * (end - t);
    if !open_right {
        *head = Head { p: end, f_left: g, s_left: w, f_right: f64::INFINITY, s_right: 0.0 };
    } else if f_right + g >= 0.0 {
        *head = Head { p: q, f_left: g, s_left: w, f_right: f_right + g, s_right: s_right + w };
    } else {
        if let Some(knot) = right {
            store.push_left(knot);
        }
        *head = store.walk_right(Probe { x: q, value: f_right + g, slope: s_right + w }, bound);
    }
}

/// Backwards from `v_m`: `v_i` is `p_i` brought into `[v_{i+1} - d_i, v_{i+1}]`, all exact.
fn backtrack(origin: f64, gap: impl Fn(usize) -> f64, v: &mut [f64], edges: &mut [EdgeState]) {
    let last = v.len() - 1;
    let mut next = v[last];
    v[last] = next + origin;
    for i in (0..last).rev() {
        (next, edges[i]) = settle(v[i], next, gap(i));
        v[i] = next + origin;
    }
}

/// `p` brought into `[next - d, next]`, and what that says of the edge.
#[inline]
pub(in crate::chain) fn settle(p: f64, next: f64, d: f64) -> (f64, EdgeState) {
    if d <= 0.0 {
        (next, EdgeState::Tied)
    } else if p >= next {
        (next, EdgeState::Lower)
    } else if p <= next - d {
        (next - d, EdgeState::Upper)
    } else {
        (p, EdgeState::Free)
    }
}
