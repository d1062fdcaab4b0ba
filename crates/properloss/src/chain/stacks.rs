//! Knots in a gap buffer and, farther from the root, in blocks: the fast store.
//!
//! The knots next to the root lie in one window in increasing order, with a gap where the root is;
//! a short walk closes the gap on one side and opens it on the other by copying. Farther away they
//! are sealed in blocks with their sums, so that a long walk crosses a block in O(1) without
//! touching its knots. The right side is stored as `x - D`, `D` the sum of the shifts.

use super::knots::{Head, Knot, KnotStore, Landing, Probe};

/// Knots in a block.
const B: usize = 32;
/// Knots of one side in the window before the outermost `B` are sealed.
const SIDE: usize = 96;
/// Size of the window.
const WINDOW: usize = 2 * SIDE;

/// Blocks crossed a step beyond which the tree takes over. Noisy labels need less than 1 at
/// m = 1e6.
const BUDGET: u64 = 12;

/// A sealed run of knots in increasing order, at `offset + x`.
#[derive(Debug, Clone)]
struct Block {
    len: usize,
    offset: f64,
    first: f64,
    last: f64,
    /// `Σ ds`, `Σ dj`.
    slope: f64,
    jump: f64,
    /// `Σ ds (x - first)` and `Σ ds (x - last)`.
    bend_first: f64,
    bend_last: f64,
    x: [f64; B],
    ds: [f64; B],
    dj: [f64; B],
}

const EMPTY_BLOCK: Block = Block {
    len: 0,
    offset: 0.0,
    first: 0.0,
    last: 0.0,
    slope: 0.0,
    jump: 0.0,
    bend_first: 0.0,
    bend_last: 0.0,
    x: [0.0; B],
    ds: [0.0; B],
    dj: [0.0; B],
};

impl Block {
    /// The probe beyond the block. Values are those of a walk to the left; a walk to the right has
    /// them negated, `sign = -1`.
    #[inline]
    fn cross<const RIGHT: bool>(&self, at: Probe) -> Probe {
        let sign = sign::<RIGHT>();
        let (end, bend) =
            if RIGHT { (self.last, self.bend_last) } else { (self.first, self.bend_first) };
        let x = self.offset + end;
        let value = at.value - at.slope * (sign * (at.x - x)) + (bend - self.jump);
        Probe { x, value, slope: at.slope - sign * self.slope }
    }
}

#[inline]
fn sign<const RIGHT: bool>() -> f64 {
    if RIGHT { -1.0 } else { 1.0 }
}

/// The window: the left side in `..left`, the right side in `right..`.
#[derive(Debug)]
struct Window {
    x: [f64; WINDOW],
    ds: [f64; WINDOW],
    dj: [f64; WINDOW],
    left: usize,
    right: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Stacks {
    near: Box<Window>,
    /// Blocks of the two sides, the nearest last.
    far: [Vec<u32>; 2],
    pool: Vec<Block>,
    free: Vec<u32>,
    /// `D`: the sum of the shifts since the last rebase.
    shift: f64,
    knots_moved: u64,
    blocks_moved: u64,
}

impl Default for Stacks {
    fn default() -> Self {
        let near = Window {
            x: [0.0; WINDOW],
            ds: [0.0; WINDOW],
            dj: [0.0; WINDOW],
            left: 0,
            right: WINDOW,
        };
        Self {
            near: Box::new(near),
            far: [Vec::new(), Vec::new()],
            pool: Vec::new(),
            free: Vec::new(),
            shift: 0.0,
            knots_moved: 0,
            blocks_moved: 0,
        }
    }
}

impl Window {
    fn len<const RIGHT: bool>(&self) -> usize {
        if RIGHT { WINDOW - self.right } else { self.left }
    }

    /// Where the outermost `count` knots of a side are.
    fn outer<const RIGHT: bool>(count: usize) -> std::ops::Range<usize> {
        if RIGHT { WINDOW - count..WINDOW } else { 0..count }
    }

    /// Removes the outermost `count` knots of a side.
    fn drop_outer<const RIGHT: bool>(&mut self, count: usize) {
        let Self { x, ds, dj, left, right } = self;
        for array in [x, ds, dj] {
            if RIGHT {
                array.copy_within(*right..WINDOW - count, *right + count);
            } else {
                array.copy_within(count..*left, 0);
            }
        }
        if RIGHT {
            *right += count;
        } else {
            *left -= count;
        }
    }

    /// Moves the `count` knots of a side nearest to the root across it.
    #[inline]
    fn transfer<const RIGHT: bool>(&mut self, count: usize, shift: f64) {
        let Self { x, ds, dj, left, right } = self;
        let (from, to, by) =
            if RIGHT { (*right, *left, shift) } else { (*left - count, *right - count, -shift) };
        for array in [&mut *x, ds, dj] {
            array.copy_within(from..from + count, to);
        }
        x[to..to + count].iter_mut().for_each(|x| *x += by);
        if RIGHT {
            *right += count;
            *left += count;
        } else {
            *left -= count;
            *right -= count;
        }
    }

    fn knot(&self, i: usize) -> Knot {
        Knot { x: self.x[i], ds: self.ds[i], dj: self.dj[i] }
    }
}

/// How far a walk through the window came.
enum Scan {
    /// It passed this many knots and landed; the knot it stands on goes away if `consumed`.
    Landed { passed: usize, landing: Landing, consumed: bool },
    /// It passed them all.
    Passed(Probe),
}

impl Stacks {
    /// Seals the outermost `count <= B` knots of a side.
    fn seal<const RIGHT: bool>(&mut self, count: usize) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.pool.push(EMPTY_BLOCK);
            (self.pool.len() - 1) as u32
        });
        let block = &mut self.pool[id as usize];
        let outer = Window::outer::<RIGHT>(count);
        let near = &mut *self.near;
        block.x[..count].copy_from_slice(&near.x[outer.clone()]);
        block.ds[..count].copy_from_slice(&near.ds[outer.clone()]);
        block.dj[..count].copy_from_slice(&near.dj[outer]);
        (block.len, block.offset) = (count, 0.0);
        let (first, last) = (block.x[0], block.x[count - 1]);
        let (mut slope, mut jump, mut low, mut high) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..count {
            let (x, ds) = (block.x[i], block.ds[i]);
            slope += ds;
            jump += block.dj[i];
            low += ds * (x - first);
            high += ds * (x - last);
        }
        (block.first, block.last, block.slope, block.jump) = (first, last, slope, jump);
        (block.bend_first, block.bend_last) = (low, high);
        self.far[usize::from(RIGHT)].push(id);
        near.drop_outer::<RIGHT>(count);
    }

    /// Seals outer knots until the side has room for `more`.
    fn make_room<const RIGHT: bool>(&mut self, more: usize) {
        while self.near.len::<RIGHT>() + more > SIDE {
            let count = self.near.len::<RIGHT>().min(B);
            self.seal::<RIGHT>(count);
        }
    }

    /// Seals a whole side, so that a block may lie next to the root.
    fn seal_all<const RIGHT: bool>(&mut self) {
        loop {
            match self.near.len::<RIGHT>() {
                0 => return,
                n if n <= B => self.seal::<RIGHT>(n),
                n if n < 2 * B => self.seal::<RIGHT>(n / 2),
                _ => self.seal::<RIGHT>(B),
            }
        }
    }

    /// Puts the knots of the nearest block of a side back into its empty part of the window.
    fn open<const RIGHT: bool>(&mut self) {
        let Some(id) = self.far[usize::from(RIGHT)].pop() else { return };
        let (block, near) = (&self.pool[id as usize], &mut *self.near);
        let n = block.len;
        if RIGHT {
            near.right = WINDOW - n;
        } else {
            near.left = n;
        }
        let place = Window::outer::<RIGHT>(n);
        near.ds[place.clone()].copy_from_slice(&block.ds[..n]);
        near.dj[place.clone()].copy_from_slice(&block.dj[..n]);
        for (x, from) in near.x[place].iter_mut().zip(&block.x[..n]) {
            *x = block.offset + from;
        }
        self.free.push(id);
    }

    /// Walks through the window from `at` (value > 0 in the direction of the walk).
    #[inline]
    fn scan<const RIGHT: bool>(&self, mut at: Probe, bound: f64) -> Scan {
        let near = &*self.near;
        let sign = sign::<RIGHT>();
        let total = near.len::<RIGHT>();
        // The nearest knot is number 0.
        let beyond = |x: f64| if RIGHT { x >= bound } else { x <= bound };
        let mut passed = 0;
        // f' is monotone: its value beyond the last knot of a group decides over the group.
        while passed + GROUP <= total {
            let start = if RIGHT { near.right + passed } else { near.left - passed - GROUP };
            let group = start..start + GROUP;
            let (xs, dss, djs) = (&near.x[group.clone()], &near.ds[group.clone()], &near.dj[group]);
            let x = if RIGHT { xs[GROUP - 1] } else { xs[0] };
            if beyond(x) {
                break;
            }
            let (mut bend, mut slope) = ([0.0; 2], [0.0; 2]);
            for j in 0..GROUP {
                bend[j % 2] += dss[j] * (xs[j] - x) - djs[j];
                slope[j % 2] += dss[j];
            }
            let value = at.value - at.slope * (sign * (at.x - x)) + (bend[0] + bend[1]);
            if value <= 0.0 {
                break;
            }
            at = Probe { x, value, slope: at.slope - sign * (slope[0] + slope[1]) };
            passed += GROUP;
        }
        while passed < total {
            let i = if RIGHT { near.right + passed } else { near.left - passed - 1 };
            let knot = near.knot(i);
            if beyond(knot.x) {
                let landing = at_bound::<RIGHT>(at, bound);
                return Scan::Landed { passed, landing, consumed: false };
            }
            let before = at.value - at.slope * (sign * (at.x - knot.x));
            if before <= 0.0 {
                let landing = inside::<RIGHT>(at, knot.x);
                return Scan::Landed { passed, landing, consumed: false };
            }
            let after = before - knot.dj;
            let slope = at.slope - sign * knot.ds;
            if after <= 0.0 {
                let (f_near, s_near) = (before, at.slope);
                let landing = Landing { x: knot.x, f_far: after, s_far: slope, f_near, s_near };
                return Scan::Landed { passed, landing, consumed: true };
            }
            at = Probe { x: knot.x, value: after, slope };
            passed += 1;
        }
        Scan::Passed(at)
    }

    fn walk<const RIGHT: bool>(&mut self, at: Probe, bound: f64) -> Landing {
        let mut at = at;
        loop {
            match self.scan::<RIGHT>(at, bound) {
                Scan::Landed { passed, landing, consumed } => {
                    self.pass::<RIGHT>(passed);
                    if consumed && RIGHT {
                        self.near.right += 1;
                    } else if consumed {
                        self.near.left -= 1;
                    }
                    return landing;
                }
                Scan::Passed(end) => {
                    self.pass::<RIGHT>(self.near.len::<RIGHT>());
                    at = end;
                }
            }
            let Some(&id) = self.far[usize::from(RIGHT)].last() else {
                return at_bound::<RIGHT>(at, bound);
            };
            let block = &self.pool[id as usize];
            let end = block.cross::<RIGHT>(at);
            let inside = if RIGHT { end.x < bound } else { end.x > bound };
            // Small blocks are opened instead, which keeps the others at least half full.
            if end.value > 0.0 && inside && block.len >= B / 2 {
                if RIGHT {
                    self.seal_all::<false>();
                } else {
                    self.seal_all::<true>();
                }
                self.pool[id as usize].offset += if RIGHT { self.shift } else { -self.shift };
                self.far[usize::from(RIGHT)].pop();
                self.far[usize::from(!RIGHT)].push(id);
                self.blocks_moved += 1;
                at = end;
            } else {
                self.open::<RIGHT>();
            }
        }
    }

    /// Moves the nearest `count` knots across the root.
    #[inline]
    fn pass<const RIGHT: bool>(&mut self, count: usize) {
        if RIGHT {
            self.make_room::<false>(count);
        } else {
            self.make_room::<true>(count);
        }
        self.near.transfer::<RIGHT>(count, self.shift);
        self.knots_moved += count as u64;
    }

    /// Sets `D` to 0 and drops the blocks at or beyond `wall`.
    fn rebase(&mut self, wall: f64) {
        let shift = self.shift;
        let Self { near, far, pool, free, .. } = self;
        let right = &mut far[1];
        let beyond = |id: &u32| {
            let block = &pool[*id as usize];
            block.offset + block.first + shift >= wall
        };
        let dropped = right.iter().take_while(|id| beyond(id)).count();
        free.extend(right.drain(..dropped));
        for &id in right.iter() {
            pool[id as usize].offset += shift;
        }
        let start = near.right;
        near.x[start..].iter_mut().for_each(|x| *x += shift);
        self.shift = 0.0;
    }
}

/// Knots tested at once.
const GROUP: usize = 8;

/// A root between `at` and the knot at `end`.
#[inline]
fn inside<const RIGHT: bool>(at: Probe, end: f64) -> Landing {
    if RIGHT {
        let x = (at.x + at.value / at.slope).min(end).max(at.x.min(end));
        Landing { x, f_far: 0.0, s_far: at.slope, f_near: 0.0, s_near: at.slope }
    } else {
        Landing::inside(at, end)
    }
}

/// The end of the domain, or a root before it.
#[inline]
fn at_bound<const RIGHT: bool>(at: Probe, bound: f64) -> Landing {
    let distance = sign::<RIGHT>() * (at.x - bound);
    let value = at.value - at.slope * distance.max(0.0);
    if value <= 0.0 {
        return inside::<RIGHT>(at, bound);
    }
    let f_far = f64::NEG_INFINITY;
    Landing { x: bound, f_far, s_far: 0.0, f_near: value, s_near: at.slope }
}

impl KnotStore for Stacks {
    fn reset(&mut self) {
        (self.near.left, self.near.right) = (0, WINDOW);
        self.far.iter_mut().for_each(Vec::clear);
        self.pool.clear();
        self.free.clear();
        (self.shift, self.knots_moved, self.blocks_moved) = (0.0, 0, 0);
    }

    #[inline]
    fn push_left(&mut self, knot: Knot) {
        if self.near.left >= SIDE {
            self.seal::<false>(B);
        }
        let near = &mut *self.near;
        let i = near.left;
        (near.x[i], near.ds[i], near.dj[i]) = (knot.x, knot.ds, knot.dj);
        near.left = i + 1;
    }

    #[inline]
    fn push_right(&mut self, knot: Knot) {
        if WINDOW - self.near.right >= SIDE {
            self.seal::<true>(B);
        }
        let near = &mut *self.near;
        let i = near.right - 1;
        (near.x[i], near.ds[i], near.dj[i]) = (knot.x - self.shift, knot.ds, knot.dj);
        near.right = i;
    }

    #[inline]
    fn shift_right(&mut self, d: f64, wall: f64, span: f64) {
        self.shift += d;
        if self.shift > span {
            self.rebase(wall);
        }
    }

    fn clear_right(&mut self) {
        self.near.right = WINDOW;
        let [_, right] = &mut self.far;
        self.free.append(right);
        self.shift = 0.0;
    }

    #[inline]
    fn walk_left(&mut self, from: Probe, bound: f64) -> Head {
        self.walk::<false>(from, bound).left_head()
    }

    #[inline]
    fn walk_right(&mut self, from: Probe, bound: f64) -> Head {
        let shift = self.shift;
        let from = Probe { x: from.x - shift, value: -from.value, slope: from.slope };
        let landing = self.walk::<true>(from, bound - shift);
        landing.right_head(landing.x + shift, bound)
    }

    fn moves(&self) -> u64 {
        self.knots_moved + self.blocks_moved
    }

    fn over_budget(&self, steps: usize) -> bool {
        self.blocks_moved > BUDGET * (steps as u64 + 1024)
    }
}
