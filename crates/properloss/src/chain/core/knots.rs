//! The derivative of the cost-to-come as a sequence of knots around its root.

/// A knot of `f'`: to its right the slope is larger by `ds` and the value by `dj >= 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knot {
    pub x: f64,
    pub ds: f64,
    pub dj: f64,
}

/// The root `p` of `f'` with value and slope on both sides, `f_left <= 0 <= f_right`.
///
/// `f_left = -∞` says that `p` is the lower end of the domain, `f_right = +∞` that it is the upper
/// end: the two ends are never stored as knots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub p: f64,
    pub f_left: f64,
    pub s_left: f64,
    pub f_right: f64,
    pub s_right: f64,
}

/// A point of `f'` on the way to the root: abscissa, value, slope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pub x: f64,
    pub value: f64,
    pub slope: f64,
}

/// The knots on the two sides of the root. One control flow (`quadratic.rs`) runs on two stores:
/// a list of blocks (`rope.rs`, fast) and a balanced tree (`tree.rs`, O(log m) a step).
pub(super) trait KnotStore {
    /// Empties both sides.
    fn reset(&mut self);
    /// A knot just left of the root.
    fn push_left(&mut self, knot: Knot);
    /// A knot just right of the root.
    fn push_right(&mut self, knot: Knot);
    /// Moves the right side by `d >= 0`; knots at or beyond `wall` may be dropped. `span` is the
    /// width of the domain, the unit in which the accumulated shift is kept small.
    fn shift_right(&mut self, d: f64, wall: f64, span: f64);
    /// Drops the right side.
    fn clear_right(&mut self);
    /// The root left of `from` (value > 0), `bound` if there is none; the knots passed change side.
    fn walk_left(&mut self, from: Probe, bound: f64) -> Head;
    /// The root right of `from` (value < 0), `bound` if there is none.
    fn walk_right(&mut self, from: Probe, bound: f64) -> Head;
    /// Work so far: knots and blocks moved, or tree nodes visited.
    fn moves(&self) -> u64;
    /// The work exceeds what ordinary data needs.
    fn over_budget(&self, steps: usize) -> bool;
}

/// What a walk found, in the coordinate of the side walked (the root lies towards smaller `x`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Landing {
    pub x: f64,
    pub f_far: f64,
    pub s_far: f64,
    pub f_near: f64,
    pub s_near: f64,
}

impl Landing {
    /// A root inside a piece: `x - value / slope`, kept right of `floor`. `slope > 0` whenever the
    /// value changes its sign on the piece.
    pub fn inside(at: Probe, floor: f64) -> Self {
        let root = at.x - at.value / at.slope;
        let x = if root > floor { root } else { floor };
        Self { x, f_far: 0.0, s_far: at.slope, f_near: 0.0, s_near: at.slope }
    }

    /// The walk reached the end of the domain; `at` is the last point passed.
    pub fn at_bound(at: Probe, bound: f64) -> Self {
        let value = at.value - at.slope * (at.x - bound).max(0.0);
        if value <= 0.0 {
            return Self::inside(at, bound);
        }
        let f_far = f64::NEG_INFINITY;
        Self { x: bound, f_far, s_far: 0.0, f_near: value, s_near: at.slope }
    }

    pub fn left_head(self) -> Head {
        Head {
            p: self.x,
            f_left: self.f_far,
            s_left: self.s_far,
            f_right: self.f_near,
            s_right: self.s_near,
        }
    }

    /// A walk to the right is made with the values negated; `p` is where it landed, and a bound is
    /// met exactly.
    pub fn right_head(self, p: f64, bound: f64) -> Head {
        let at_bound = self.f_far == f64::NEG_INFINITY;
        Head {
            p: if at_bound { bound } else { p.min(bound) },
            f_left: -self.f_near,
            s_left: self.s_near,
            f_right: -self.f_far,
            s_right: self.s_far,
        }
    }
}
