//! Knots on two stacks of blocks: the fast store.
//!
//! Next to the root the knots lie one by one (`near`, at most `2B`); farther away they are sealed
//! in blocks of at most `B` with their sums, so that a long walk crosses a block in O(1) without
//! touching its knots: a block changes side by flipping its coordinate, `x -> D - x`.

use super::knots::{Head, Knot, KnotStore, Landing, Probe};

/// Knots in a block. 16 and 32 measured alike; 8 and 64 are slower.
const B: usize = 16;

/// Blocks crossed a step beyond which the tree takes over. Noisy labels need 5 at m = 1e6 and
/// about 12 at 1e7.
const BUDGET: u64 = 24;

/// A sealed run of knots in its own coordinate `s`, increasing; the side's coordinate is
/// `x = offset + s`, or `offset - s` (and `ds` negated) if `flipped`.
#[derive(Debug, Clone)]
struct Block {
    len: usize,
    flipped: bool,
    offset: f64,
    first: f64,
    last: f64,
    /// `Σ ds`, `Σ dj`.
    slope: f64,
    jump: f64,
    /// `Σ ds (s - first)` and `Σ ds (last - s)`.
    moment_first: f64,
    moment_last: f64,
    knots: [Knot; B],
}

impl Block {
    /// Smallest abscissa in the side's coordinate.
    fn low(&self) -> f64 {
        if self.flipped { self.offset - self.last } else { self.offset + self.first }
    }

    /// The probe just left of the block, coming from its right.
    fn cross(&self, at: Probe) -> Probe {
        let low = self.low();
        let (slope, moment) = if self.flipped {
            (-self.slope, -self.moment_last)
        } else {
            (self.slope, self.moment_first)
        };
        let value = at.value - at.slope * (at.x - low) + moment - self.jump;
        Probe { x: low, value, slope: at.slope - slope }
    }
}

const EMPTY_KNOT: Knot = Knot { x: 0.0, ds: 0.0, dj: 0.0 };

/// One side; the knot nearest to the root is the last of `near`.
#[derive(Debug, Default)]
struct Side {
    near: Vec<Knot>,
    far: Vec<u32>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    left: Side,
    right: Side,
    pool: Vec<Block>,
    free: Vec<u32>,
    /// `D`: the sum of the shifts since the last rebase.
    shift: f64,
    knots_moved: u64,
    blocks_moved: u64,
}

impl Stacks {
    fn side(&mut self, right: bool) -> &mut Side {
        if right { &mut self.right } else { &mut self.left }
    }

    /// Seals the `count <= B` knots of `near` farthest from the root.
    fn seal(&mut self, right: bool, count: usize) {
        let Self { left, right: right_side, pool, free, .. } = self;
        let side = if right { right_side } else { left };
        let id = match free.pop() {
            Some(id) => id,
            None => {
                pool.push(Block {
                    len: 0,
                    flipped: false,
                    offset: 0.0,
                    first: 0.0,
                    last: 0.0,
                    slope: 0.0,
                    jump: 0.0,
                    moment_first: 0.0,
                    moment_last: 0.0,
                    knots: [EMPTY_KNOT; B],
                });
                (pool.len() - 1) as u32
            }
        };
        let block = &mut pool[id as usize];
        let knots = &side.near[..count];
        block.knots[..count].copy_from_slice(knots);
        (block.len, block.flipped, block.offset) = (count, false, 0.0);
        (block.first, block.last) = (knots[0].x, knots[count - 1].x);
        let (mut slope, mut jump, mut low, mut high) = (0.0, 0.0, 0.0, 0.0);
        for k in knots {
            slope += k.ds;
            jump += k.dj;
            low += k.ds * (k.x - block.first);
            high += k.ds * (block.last - k.x);
        }
        (block.slope, block.jump, block.moment_first, block.moment_last) = (slope, jump, low, high);
        side.far.push(id);
        let rest = side.near.len() - count;
        side.near.copy_within(count.., 0);
        side.near.truncate(rest);
    }

    /// Seals every knot of `near`, so that a block may lie next to the root.
    fn seal_all(&mut self, right: bool) {
        loop {
            match self.side(right).near.len() {
                0 => return,
                n if n <= B => self.seal(right, n),
                n => self.seal(right, n / 2),
            }
        }
    }

    /// Puts the knots of the block on top of `far` back into the empty `near`.
    fn open(&mut self, right: bool) {
        let Self { left, right: right_side, pool, free, .. } = self;
        let side = if right { right_side } else { left };
        let Some(id) = side.far.pop() else { return };
        let block = &pool[id as usize];
        let knots = &block.knots[..block.len];
        if block.flipped {
            let flip = |k: &Knot| Knot { x: block.offset - k.x, ds: -k.ds, dj: k.dj };
            side.near.extend(knots.iter().rev().map(flip));
        } else {
            side.near.extend(knots.iter().map(|k| Knot { x: block.offset + k.x, ..*k }));
        }
        free.push(id);
    }

    /// Moves the knots `near[from..]` across the root.
    fn transfer(&mut self, right: bool, from: usize) {
        let shift = self.shift;
        let (source, target) = if right {
            (&mut self.right, &mut self.left)
        } else {
            (&mut self.left, &mut self.right)
        };
        let moved = &source.near[from..];
        self.knots_moved += moved.len() as u64;
        let flip = |k: &Knot| Knot { x: shift - k.x, ds: -k.ds, dj: k.dj };
        target.near.extend(moved.iter().rev().map(flip));
        source.near.truncate(from);
        while self.side(!right).near.len() >= 2 * B {
            self.seal(!right, B);
        }
    }

    /// Walks from `at` (value > 0) towards smaller `x` on one side.
    fn walk(&mut self, right: bool, mut at: Probe, bound: f64) -> Landing {
        loop {
            let near = &self.side(right).near;
            let mut i = near.len();
            // f' is monotone: its value beyond the fourth knot decides over all four.
            while i >= 4 {
                let k = &near[i - 4..i];
                let x = k[0].x;
                if x <= bound {
                    break;
                }
                let bend = k[3].ds * (k[3].x - x) + k[2].ds * (k[2].x - x) + k[1].ds * (k[1].x - x);
                let jump = (k[0].dj + k[1].dj) + (k[2].dj + k[3].dj);
                let value = at.value - at.slope * (at.x - x) + (bend - jump);
                if value <= 0.0 {
                    break;
                }
                let slope = at.slope - ((k[0].ds + k[1].ds) + (k[2].ds + k[3].ds));
                at = Probe { x, value, slope };
                i -= 4;
            }
            while i > 0 {
                let k = near[i - 1];
                if k.x <= bound {
                    let landing = Landing::at_bound(at, bound);
                    self.transfer(right, i);
                    return landing;
                }
                let before = at.value - at.slope * (at.x - k.x);
                if before <= 0.0 {
                    self.transfer(right, i);
                    return Landing::inside(at, k.x);
                }
                let after = before - k.dj;
                let slope = at.slope - k.ds;
                if after <= 0.0 {
                    let (f_near, s_near) = (before, at.slope);
                    self.transfer(right, i);
                    self.side(right).near.pop();
                    return Landing { x: k.x, f_far: after, s_far: slope, f_near, s_near };
                }
                at = Probe { x: k.x, value: after, slope };
                i -= 1;
            }
            self.transfer(right, 0);
            let Some(&id) = self.side(right).far.last() else {
                return Landing::at_bound(at, bound);
            };
            let block = &self.pool[id as usize];
            let beyond = block.cross(at);
            // Small blocks are opened instead, which keeps the others at least half full.
            if beyond.value > 0.0 && beyond.x > bound && block.len >= B / 2 {
                self.seal_all(!right);
                let block = &mut self.pool[id as usize];
                block.offset = self.shift - block.offset;
                block.flipped = !block.flipped;
                self.side(right).far.pop();
                self.side(!right).far.push(id);
                self.blocks_moved += 1;
                at = beyond;
            } else {
                self.open(right);
            }
        }
    }

    /// Sets `D` to 0 and drops what lies at or beyond `wall`.
    fn rebase(&mut self, wall: f64) {
        let shift = self.shift;
        let Self { right, pool, free, .. } = self;
        // Largest x is smallest x' = D - x: the bottom of the stack.
        let beyond = |id: &u32| {
            let block = &pool[*id as usize];
            let high = block.low() + (block.last - block.first);
            shift - high >= wall
        };
        let dropped = right.far.iter().take_while(|id| beyond(id)).count();
        free.extend(right.far.drain(..dropped));
        for &id in &right.far {
            pool[id as usize].offset -= shift;
        }
        for knot in &mut right.near {
            knot.x -= shift;
        }
        self.shift = 0.0;
    }
}

impl KnotStore for Stacks {
    fn reset(&mut self) {
        for side in [&mut self.left, &mut self.right] {
            side.near.clear();
            side.far.clear();
        }
        self.pool.clear();
        self.free.clear();
        (self.shift, self.knots_moved, self.blocks_moved) = (0.0, 0, 0);
    }

    #[inline]
    fn push_left(&mut self, knot: Knot) {
        self.left.near.push(knot);
        if self.left.near.len() >= 2 * B {
            self.seal(false, B);
        }
    }

    #[inline]
    fn push_right(&mut self, knot: Knot) {
        self.right.near.push(Knot { x: self.shift - knot.x, ds: -knot.ds, dj: knot.dj });
        if self.right.near.len() >= 2 * B {
            self.seal(true, B);
        }
    }

    #[inline]
    fn shift_right(&mut self, d: f64, wall: f64, span: f64) {
        self.shift += d;
        if self.shift > span {
            self.rebase(wall);
        }
    }

    fn clear_right(&mut self) {
        self.right.near.clear();
        self.free.append(&mut self.right.far);
        self.shift = 0.0;
    }

    #[inline]
    fn walk_left(&mut self, from: Probe, bound: f64) -> Head {
        self.walk(false, from, bound).left_head()
    }

    #[inline]
    fn walk_right(&mut self, from: Probe, bound: f64) -> Head {
        let shift = self.shift;
        let mirrored = Probe { x: shift - from.x, value: -from.value, slope: from.slope };
        self.walk(true, mirrored, shift - bound).right_head(shift, bound)
    }

    fn moves(&self) -> u64 {
        self.knots_moved + self.blocks_moved
    }

    fn over_budget(&self, steps: usize) -> bool {
        self.blocks_moved > BUDGET * (steps as u64 + 1024)
    }
}
