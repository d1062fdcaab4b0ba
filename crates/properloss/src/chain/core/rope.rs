//! Knots in an unrolled list of small blocks with a cursor at the root: the fast store.
//!
//! The root lies in the *current* block, a gap buffer whose gap is at the root. Blocks left of it are
//! on one stack, blocks right of it on another, with the sums that let a walk cross a whole block in
//! O(1) without touching its knots. The right side is stored as `x - D`, `D` the sum of the shifts,
//! so that a shift of the whole side costs nothing.

use super::knots::{Head, Knot, KnotStore, Landing, Probe};

/// Knots in a block at most, a multiple of 4.
const B: usize = 16;
/// Knots that leave a full block at most.
const OUTER: usize = 12;
/// Knots tested at once inside a block.
const GROUP: usize = 4;

/// Blocks crossed a step beyond which the tree takes over. Noisy labels need 6 at m = 1e6 and
/// about 13 at 1e7.
const BUDGET: u64 = 30;

/// Knots `..left` and `right..` in increasing order, at `offset + x`, with their sums.
///
/// A block on a stack has all its knots in one of the two parts, in the one in which the walk that
/// left it behind put them; the current block has those left of the root in the first. In the gap
/// between the parts `ds` and `dj` are 0.
#[derive(Debug, Clone)]
struct Block {
    left: usize,
    right: usize,
    offset: f64,
    first: f64,
    last: f64,
    /// `Σ ds`, `Σ dj`.
    slope: f64,
    jump: f64,
    /// `Σ ds (x - first)` and `Σ ds (x - last)`.
    bend_first: f64,
    bend_last: f64,
    knots: [Knot; B],
}

const EMPTY_BLOCK: Block = Block {
    left: 0,
    right: B,
    offset: 0.0,
    first: 0.0,
    last: 0.0,
    slope: 0.0,
    jump: 0.0,
    bend_first: 0.0,
    bend_last: 0.0,
    knots: [NO_KNOT; B],
};

/// An empty slot.
const NO_KNOT: Knot = Knot { x: 0.0, ds: 0.0, dj: 0.0 };

impl Block {
    /// Computes the sums of a block with all knots in one part and the offset 0. The loop runs over
    /// the empty slots as well, in which `ds` and `dj` are 0: its length is then always the same,
    /// which the processor can predict.
    #[inline]
    fn seal(&mut self) {
        let (a, b) = if self.left > 0 { (0, self.left - 1) } else { (self.right, B - 1) };
        let (first, last) = (self.knots[a].x, self.knots[b].x);
        // Four sums at a time, so that they do not wait for each other.
        let (mut slopes, mut jumps, mut bends) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        for group in self.knots.chunks_exact(4) {
            for (j, k) in group.iter().enumerate() {
                slopes[j] += k.ds;
                jumps[j] += k.dj;
                bends[j] += k.ds * (k.x - first);
            }
        }
        let total = |s: [f64; 4]| (s[0] + s[1]) + (s[2] + s[3]);
        let (slope, jump, bend) = (total(slopes), total(jumps), total(bends));
        (self.first, self.last, self.slope, self.jump) = (first, last, slope, jump);
        (self.bend_first, self.bend_last) = (bend, bend - slope * (last - first));
    }

    /// Becomes the current block: all knots into the part ahead of the walk, with their offset.
    #[inline]
    fn enter<const RIGHT: bool>(&mut self) {
        if RIGHT && self.left > 0 {
            let n = self.left;
            self.knots.copy_within(..n, B - n);
            self.knots[..n.min(B - n)].fill(NO_KNOT);
            (self.left, self.right) = (0, B - n);
        } else if !RIGHT && self.right < B {
            let n = B - self.right;
            self.knots.copy_within(B - n.., 0);
            self.knots[n.max(B - n)..].fill(NO_KNOT);
            (self.left, self.right) = (n, B);
        }
        let offset = self.offset;
        self.knots.iter_mut().for_each(|k| k.x += offset);
        self.offset = 0.0;
    }

    /// The probe beyond the block. A walk to the right has its values negated.
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

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rope {
    pool: Vec<Block>,
    /// The current block; its offset is 0 and its sums are stale.
    current: usize,
    /// Blocks of the left and the right side, the nearest last.
    sides: [Vec<u32>; 2],
    free: Vec<u32>,
    /// `D`: the sum of the shifts since the last rebase.
    shift: f64,
    knots_moved: u64,
    blocks_moved: u64,
}

/// How far a walk through the current block came.
enum Scan {
    Landed(Landing),
    Passed(Probe),
}

impl Rope {
    fn new_block(&mut self) -> usize {
        if let Some(id) = self.free.pop() {
            let block = &mut self.pool[id as usize];
            *block = EMPTY_BLOCK;
            return id as usize;
        }
        self.pool.push(EMPTY_BLOCK);
        self.pool.len() - 1
    }

    /// The current block is full: most of its larger side, from the outer end, becomes a block of
    /// its own. Most rather than half: blocks put aside are then well filled.
    #[cold]
    fn split(&mut self) {
        let id = self.new_block();
        let current = &mut self.pool[self.current];
        let (left, right) = (current.left, current.right);
        let mut knots = [NO_KNOT; B];
        if left >= B / 2 {
            let n = left.min(OUTER);
            knots[..n].copy_from_slice(&current.knots[..n]);
            current.knots.copy_within(n..left, 0);
            current.knots[left - n..left].fill(NO_KNOT);
            current.left = left - n;
            self.pool[id] = Block { left: n, knots, ..EMPTY_BLOCK };
            self.sides[0].push(id as u32);
        } else {
            let n = (B - right).min(OUTER);
            knots[B - n..].copy_from_slice(&current.knots[B - n..]);
            current.knots.copy_within(right..B - n, right + n);
            current.knots[right..right + n].fill(NO_KNOT);
            current.right = right + n;
            self.pool[id] = Block { right: B - n, knots, ..EMPTY_BLOCK };
            self.sides[1].push(id as u32);
        }
        self.pool[id].seal();
    }

    /// Walks through the part of the current block that lies ahead.
    #[inline]
    fn scan<const RIGHT: bool>(&mut self, mut at: Probe, bound: f64) -> Scan {
        let sign = sign::<RIGHT>();
        let by = if RIGHT { self.shift } else { -self.shift };
        let Block { knots, left, right, .. } = &mut self.pool[self.current];
        let (mut l, mut r) = (*left, *right);
        let beyond = |x: f64| if RIGHT { x >= bound } else { x <= bound };
        // f' is monotone: its value beyond the last knot of a group decides over the group.
        while if RIGHT { r + GROUP <= B } else { l >= GROUP } {
            let start = if RIGHT { r } else { l - GROUP };
            let Some(&[a, b, c, d]) = knots[start..].first_chunk::<GROUP>() else { break };
            let x = if RIGHT { d.x } else { a.x };
            if beyond(x) {
                break;
            }
            let (low, high) =
                (a.ds * (a.x - x) + b.ds * (b.x - x), c.ds * (c.x - x) + d.ds * (d.x - x));
            let jump = (a.dj + b.dj) + (c.dj + d.dj);
            let value = at.value - at.slope * (sign * (at.x - x)) + ((low + high) - jump);
            if value <= 0.0 {
                break;
            }
            at = Probe { x, value, slope: at.slope - sign * ((a.ds + b.ds) + (c.ds + d.ds)) };
            // The group crosses the gap.
            knots[start..start + GROUP].fill(NO_KNOT);
            let to = if RIGHT { l } else { r - GROUP };
            if let Some(place) = knots[to..].first_chunk_mut::<GROUP>() {
                *place = [a, b, c, d].map(|k| Knot { x: k.x + by, ..k });
            }
            (l, r) = if RIGHT { (l + GROUP, r + GROUP) } else { (l - GROUP, r - GROUP) };
            self.knots_moved += GROUP as u64;
        }
        let result = loop {
            if if RIGHT { r == B } else { l == 0 } {
                break Scan::Passed(at);
            }
            let i = if RIGHT { r } else { l - 1 };
            let knot = knots[i];
            if beyond(knot.x) {
                break Scan::Landed(at_bound::<RIGHT>(at, bound));
            }
            let before = at.value - at.slope * (sign * (at.x - knot.x));
            if before <= 0.0 {
                break Scan::Landed(inside::<RIGHT>(at, knot.x));
            }
            let after = before - knot.dj;
            let slope = at.slope - sign * knot.ds;
            knots[i] = NO_KNOT;
            if after <= 0.0 {
                // The knot becomes the head.
                (l, r) = if RIGHT { (l, r + 1) } else { (l - 1, r) };
                let (f_near, s_near) = (before, at.slope);
                let landing = Landing { x: knot.x, f_far: after, s_far: slope, f_near, s_near };
                break Scan::Landed(landing);
            }
            at = Probe { x: knot.x, value: after, slope };
            knots[if RIGHT { l } else { r - 1 }] = Knot { x: knot.x + by, ..knot };
            (l, r) = if RIGHT { (l + 1, r + 1) } else { (l - 1, r - 1) };
            self.knots_moved += 1;
        };
        (*left, *right) = (l, r);
        result
    }

    fn walk<const RIGHT: bool>(&mut self, mut at: Probe, bound: f64) -> Landing {
        let (ahead, behind) = (usize::from(RIGHT), usize::from(!RIGHT));
        loop {
            match self.scan::<RIGHT>(at, bound) {
                Scan::Landed(landing) => return landing,
                Scan::Passed(end) => at = end,
            }
            if self.sides[ahead].is_empty() {
                return at_bound::<RIGHT>(at, bound);
            }
            // Leave the current block behind: it lies wholly on the other side now.
            let current = &mut self.pool[self.current];
            if current.left > 0 || current.right < B {
                current.seal();
                self.sides[behind].push(self.current as u32);
            } else {
                self.free.push(self.current as u32);
            }
            let by = if RIGHT { self.shift } else { -self.shift };
            loop {
                let Some(id) = self.sides[ahead].pop() else {
                    self.current = self.new_block();
                    break;
                };
                let block = &mut self.pool[id as usize];
                let end = block.cross::<RIGHT>(at);
                let inside = if RIGHT { end.x < bound } else { end.x > bound };
                if end.value <= 0.0 || !inside {
                    block.enter::<RIGHT>();
                    self.current = id as usize;
                    break;
                }
                block.offset += by;
                self.sides[behind].push(id);
                self.blocks_moved += 1;
                at = end;
            }
        }
    }

    /// The knots of one side from the root outwards, where they stand now; without those of the
    /// first `skip` blocks.
    pub fn outwards<const RIGHT: bool>(&self, skip: usize) -> impl Iterator<Item = Knot> + '_ {
        let shift = if RIGHT { self.shift } else { 0.0 };
        let near = if skip == 0 { self.near::<RIGHT>() } else { &[] };
        let blocks = self.sides[usize::from(RIGHT)].iter().rev().skip(skip.saturating_sub(1));
        let far = blocks.flat_map(|&id| {
            let block = &self.pool[id as usize];
            let (left, right) = (&block.knots[..block.left], &block.knots[block.right..]);
            let knots = if left.is_empty() { right } else { left };
            toward::<RIGHT>(knots).map(|k| Knot { x: k.x + block.offset, ..k })
        });
        toward::<RIGHT>(near).chain(far).map(move |k| Knot { x: k.x + shift, ..k })
    }

    /// The knots of the current block on one side.
    fn near<const RIGHT: bool>(&self) -> &[Knot] {
        let current = &self.pool[self.current];
        if RIGHT { &current.knots[current.right..] } else { &current.knots[..current.left] }
    }

    /// `f'` (negated to the right) behind each block, from the probe at the root outwards.
    pub fn behind_blocks<const RIGHT: bool>(
        &self,
        from: Probe,
    ) -> impl Iterator<Item = Probe> + '_ {
        let shift = if RIGHT { self.shift } else { 0.0 };
        let sign = sign::<RIGHT>();
        let start = Probe { x: from.x - shift, ..from };
        let near = toward::<RIGHT>(self.near::<RIGHT>()).fold(start, |at, k| Probe {
            x: k.x,
            value: at.value - at.slope * (sign * (at.x - k.x)) - k.dj,
            slope: at.slope - sign * k.ds,
        });
        let blocks = self.sides[usize::from(RIGHT)].iter().rev();
        let far = blocks.scan(near, |at, &id| {
            *at = self.pool[id as usize].cross::<RIGHT>(*at);
            Some(*at)
        });
        std::iter::once(near).chain(far).map(move |at| Probe { x: at.x + shift, ..at })
    }

    /// Sets `D` to 0 and drops the blocks at or beyond `wall`.
    fn rebase(&mut self, wall: f64) {
        let shift = self.shift;
        let Self { sides, pool, free, .. } = self;
        let right = &mut sides[1];
        let beyond = |id: &u32| {
            let block = &pool[*id as usize];
            block.offset + block.first + shift >= wall
        };
        let dropped = right.iter().take_while(|id| beyond(id)).count();
        free.extend(right.drain(..dropped));
        for &id in right.iter() {
            pool[id as usize].offset += shift;
        }
        let current = &mut pool[self.current];
        current.knots[current.right..].iter_mut().for_each(|k| k.x += shift);
        self.shift = 0.0;
    }
}

/// In increasing order to the right, in decreasing order to the left.
fn toward<const RIGHT: bool>(knots: &[Knot]) -> impl Iterator<Item = Knot> + '_ {
    let n = knots.len();
    (0..n).map(move |i| knots[if RIGHT { i } else { n - 1 - i }])
}

/// A root between `at` and the knot at `end`.
#[inline]
fn inside<const RIGHT: bool>(at: Probe, end: f64) -> Landing {
    if RIGHT {
        let root = at.x + at.value / at.slope;
        let x = if root < end { root } else { end };
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

impl KnotStore for Rope {
    fn reset(&mut self) {
        self.sides.iter_mut().for_each(Vec::clear);
        self.pool.clear();
        self.free.clear();
        self.current = self.new_block();
        (self.shift, self.knots_moved, self.blocks_moved) = (0.0, 0, 0);
    }

    #[inline]
    fn push_left(&mut self, knot: Knot) {
        if self.pool[self.current].left == self.pool[self.current].right {
            self.split();
        }
        let block = &mut self.pool[self.current];
        block.knots[block.left] = knot;
        block.left += 1;
    }

    #[inline]
    fn push_right(&mut self, knot: Knot) {
        if self.pool[self.current].left == self.pool[self.current].right {
            self.split();
        }
        let block = &mut self.pool[self.current];
        block.right -= 1;
        block.knots[block.right] = Knot { x: knot.x - self.shift, ..knot };
    }

    #[inline]
    fn shift_right(&mut self, d: f64, wall: f64, span: f64) {
        self.shift += d;
        if self.shift > span {
            self.rebase(wall);
        }
    }

    fn clear_right(&mut self) {
        let current = &mut self.pool[self.current];
        current.knots[current.right..].fill(NO_KNOT);
        current.right = B;
        let [_, right] = &mut self.sides;
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
