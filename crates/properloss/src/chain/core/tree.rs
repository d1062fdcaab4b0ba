//! Knots in a balanced tree: the fallback, O(log m) a step whatever the data.
//!
//! A treap with fixed pseudo-random priorities. Every subtree carries the sums a walk needs to
//! cross it in O(1). The right side is kept in the coordinate `x' = D - x`, with `ds' = -ds`, where
//! `D` is the sum of the shifts: one routine walks both sides, and a subtree changes side by the
//! lazy map `x -> D - x`, which also reverses it.

use super::knots::{Head, Knot, KnotStore, Landing, Probe};

const NIL: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Node {
    knot: Knot,
    /// Of the subtree: smallest and largest abscissa, `Σ ds`, `Σ dj`, `Σ ds (x - first)`,
    /// `Σ ds (last - x)`.
    first: f64,
    last: f64,
    slope: f64,
    jump: f64,
    moment_first: f64,
    moment_last: f64,
    /// The children still have to be mapped by `x -> offset ± x`.
    offset: f64,
    flipped: bool,
    priority: u32,
    child: [u32; 2],
}

/// See the module.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// Roots of the left and the right side.
    roots: [u32; 2],
    shift: f64,
    seed: u64,
    visited: u64,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            roots: [NIL; 2],
            shift: 0.0,
            seed: 0,
            visited: 0,
        }
    }
}

/// A walk in progress.
struct Walk {
    at: Probe,
    bound: f64,
    found: Option<Landing>,
}

impl Node {
    /// The map `x -> offset + x`, or `x -> offset - x` if `flip`, of the whole subtree.
    fn apply(&mut self, offset: f64, flip: bool) {
        if flip {
            self.knot.x = offset - self.knot.x;
            self.knot.ds = -self.knot.ds;
            (self.first, self.last) = (offset - self.last, offset - self.first);
            self.slope = -self.slope;
            (self.moment_first, self.moment_last) = (-self.moment_last, -self.moment_first);
            self.child.swap(0, 1);
            self.offset = offset - self.offset;
            self.flipped = !self.flipped;
        } else {
            self.knot.x += offset;
            self.first += offset;
            self.last += offset;
            self.offset += offset;
        }
    }
}

impl Tree {
    fn alloc(&mut self, knot: Knot) -> u32 {
        // SplitMix64: the priorities are the same in every run.
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.seed;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let node = Node {
            knot,
            first: knot.x,
            last: knot.x,
            slope: knot.ds,
            jump: knot.dj,
            moment_first: 0.0,
            moment_last: 0.0,
            offset: 0.0,
            flipped: false,
            priority: ((bits ^ (bits >> 31)) >> 32) as u32,
            child: [NIL; 2],
        };
        if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = node;
            return id;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    fn push_down(&mut self, id: u32) {
        let node = &mut self.nodes[id as usize];
        if !node.flipped && node.offset == 0.0 {
            return;
        }
        let (offset, flip, child) = (node.offset, node.flipped, node.child);
        (node.offset, node.flipped) = (0.0, false);
        for c in child.into_iter().filter(|&c| c != NIL) {
            self.nodes[c as usize].apply(offset, flip);
        }
    }

    /// Recomputes the sums of `id` from its children, which are up to date.
    fn pull_up(&mut self, id: u32) {
        self.visited += 1;
        let Knot { x, ds, dj } = self.nodes[id as usize].knot;
        let [l, r] = self.nodes[id as usize].child;
        let first = if l == NIL { x } else { self.nodes[l as usize].first };
        let last = if r == NIL { x } else { self.nodes[r as usize].last };
        let (mut slope, mut jump) = (ds, dj);
        let (mut low, mut high) = (ds * (x - first), ds * (last - x));
        for c in [l, r].into_iter().filter(|&c| c != NIL) {
            let c = &self.nodes[c as usize];
            slope += c.slope;
            jump += c.jump;
            low += c.moment_first + c.slope * (c.first - first);
            high += c.moment_last + c.slope * (last - c.last);
        }
        let node = &mut self.nodes[id as usize];
        (node.first, node.last, node.slope, node.jump) = (first, last, slope, jump);
        (node.moment_first, node.moment_last) = (low, high);
    }

    /// Every knot of `a` before every knot of `b`.
    fn merge(&mut self, a: u32, b: u32) -> u32 {
        if a == NIL {
            return b;
        }
        if b == NIL {
            return a;
        }
        if self.nodes[a as usize].priority >= self.nodes[b as usize].priority {
            self.push_down(a);
            let right = self.nodes[a as usize].child[1];
            self.nodes[a as usize].child[1] = self.merge(right, b);
            self.pull_up(a);
            a
        } else {
            self.push_down(b);
            let left = self.nodes[b as usize].child[0];
            self.nodes[b as usize].child[0] = self.merge(a, left);
            self.pull_up(b);
            b
        }
    }

    /// Walks left through the subtree and cuts it where the root lies: (kept, passed).
    fn cut(&mut self, id: u32, walk: &mut Walk) -> (u32, u32) {
        if id == NIL {
            return (NIL, NIL);
        }
        self.push_down(id);
        let [left, right] = self.nodes[id as usize].child;
        if right != NIL {
            let sub = &self.nodes[right as usize];
            let at = walk.at;
            let value = at.value - at.slope * (at.x - sub.first) + sub.moment_first - sub.jump;
            if value > 0.0 && sub.first > walk.bound {
                walk.at = Probe { x: sub.first, value, slope: at.slope - sub.slope };
            } else {
                let (kept, passed) = self.cut(right, walk);
                if walk.found.is_none() {
                    // The sums and the single knots disagree by rounding: the root is here.
                    let Probe { x, slope, .. } = walk.at;
                    walk.found =
                        Some(Landing { x, f_far: 0.0, s_far: slope, f_near: 0.0, s_near: slope });
                }
                self.nodes[id as usize].child[1] = kept;
                self.pull_up(id);
                return (id, passed);
            }
        }
        let (at, knot) = (walk.at, self.nodes[id as usize].knot);
        let before = at.value - at.slope * (at.x - knot.x);
        if knot.x <= walk.bound || before <= 0.0 {
            walk.found = Some(if knot.x <= walk.bound {
                Landing::at_bound(at, walk.bound)
            } else {
                Landing::inside(at, knot.x)
            });
            self.nodes[id as usize].child[1] = NIL;
            self.pull_up(id);
            return (id, right);
        }
        let (after, slope) = (before - knot.dj, at.slope - knot.ds);
        if after <= 0.0 {
            let (f_near, s_near) = (before, at.slope);
            walk.found = Some(Landing { x: knot.x, f_far: after, s_far: slope, f_near, s_near });
            self.free.push(id);
            return (left, right);
        }
        walk.at = Probe { x: knot.x, value: after, slope };
        let (kept, passed) = self.cut(left, walk);
        self.nodes[id as usize].child = [passed, right];
        self.pull_up(id);
        (kept, id)
    }

    fn walk(&mut self, side: usize, at: Probe, bound: f64) -> Landing {
        let mut walk = Walk { at, bound, found: None };
        let (kept, passed) = self.cut(self.roots[side], &mut walk);
        self.roots[side] = kept;
        if passed != NIL {
            let shift = self.shift;
            self.nodes[passed as usize].apply(shift, true);
            self.roots[1 - side] = self.merge(self.roots[1 - side], passed);
        }
        walk.found.unwrap_or_else(|| Landing::at_bound(walk.at, bound))
    }

    fn push(&mut self, side: usize, knot: Knot) {
        let id = self.alloc(knot);
        self.roots[side] = self.merge(self.roots[side], id);
    }
}

impl KnotStore for Tree {
    fn reset(&mut self) {
        self.nodes.clear();
        self.free.clear();
        self.roots = [NIL; 2];
        (self.shift, self.seed, self.visited) = (0.0, 0, 0);
    }

    fn push_left(&mut self, knot: Knot) {
        self.push(0, knot);
    }

    fn push_right(&mut self, knot: Knot) {
        self.push(1, Knot { x: self.shift - knot.x, ds: -knot.ds, dj: knot.dj });
    }

    // Knots beyond the wall stay: a walk stops at its bound before it meets them.
    fn shift_right(&mut self, d: f64, _wall: f64, span: f64) {
        self.shift += d;
        if self.shift > span {
            let root = self.roots[1];
            if root != NIL {
                self.nodes[root as usize].apply(-self.shift, false);
            }
            self.shift = 0.0;
        }
    }

    fn clear_right(&mut self) {
        self.roots[1] = NIL;
        self.shift = 0.0;
        if self.roots[0] == NIL {
            self.nodes.clear();
            self.free.clear();
        }
    }

    fn walk_left(&mut self, from: Probe, bound: f64) -> Head {
        self.walk(0, from, bound).left_head()
    }

    fn walk_right(&mut self, from: Probe, bound: f64) -> Head {
        let shift = self.shift;
        let mirrored = Probe { x: shift - from.x, value: -from.value, slope: from.slope };
        let landing = self.walk(1, mirrored, shift - bound);
        landing.right_head(shift - landing.x, bound)
    }

    fn moves(&self) -> u64 {
        self.visited
    }

    fn over_budget(&self, _steps: usize) -> bool {
        false
    }
}
