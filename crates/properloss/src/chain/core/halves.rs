//! The quadratic core from both ends at once: the two halves of a long chain on two threads.
//!
//! The right half is the left one seen in a mirror: with `u_i = wall - v_i` and the order reversed
//! its constraints are the same. Let `f` be the cost of the left half as a function of `v_k`, with
//! the minimiser `p`, and `r` the cost of the right half as a function of `v_{k+1}`, with the
//! minimiser `q`. If `p <= q <= p + d_k` the halves do not feel each other. Otherwise the middle
//! edge is at a bound, both halves give way by `a + b = distance`, and at the optimum they push
//! back equally: `|f'(p ± a)| = |r'(q ∓ b)|`. Both forces increase, so one walk along the knots
//! of the two halves, in the order of the force, finds it.
//!
//! The cut depends on the length alone: the same bits for any number of threads.

use super::knots::{Head, Knot, KnotStore, Probe};
use super::programme::{Core, CoreWork, End, Grid, Stores, settle, solve_core};
use super::rope::Rope;
use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;

/// Chains at least this long are cut: below, two threads gain less than they cost.
pub(in crate::chain) const HALVED: usize = 4096;

/// Minimises `½ Σ ω (v - t)²`: a chain of `HALVED` points or more from both ends at once, in two halves. Where
/// near-ties make the rope slow the whole chain is given to [`solve_core`], which has a remedy.
pub(in crate::chain) fn solve_whole<const HALVED: usize>(
    stores: &mut [Stores; 2],
    frame: &Frame,
    point: impl Fn(usize) -> (f64, f64) + Sync,
    gap: impl Fn(usize) -> f64 + Sync,
    v: &mut [f64],
    edges: &mut [EdgeState],
) -> CoreWork {
    let m = v.len();
    if m < HALVED {
        return solve_core(&mut stores[0], frame, point, gap, v, edges);
    }
    let middle = m / 2;
    let origin = frame.lo;
    let grid = Grid::new(frame.wall - origin);
    let wall = grid.round(frame.wall - origin);
    let last_min = grid.round((frame.last_min - origin).max(0.0));
    let left = Core { grid, wall, hi: grid.round((frame.hi - origin).min(wall)) };
    let right = Core { grid, wall, hi: wall - last_min.min(wall) };
    let near = |i: usize| grid.round(gap(i));

    let d = near(middle - 1);
    let [Stores { rope: left_rope, .. }, Stores { rope: right_rope, .. }] = stores;
    let (left_v, right_v) = v.split_at_mut(middle);
    let ends = rayon::join(
        || {
            let mut point = |i: usize| {
                let (w, t) = point(i);
                (w, t - origin)
            };
            let mut put = |i: usize, p: f64| left_v[i] = p;
            left.forward(left_rope, middle, &mut point, &near, &mut put)
        },
        || {
            let mut point = |j: usize| {
                let (w, t) = point(m - 1 - j);
                (w, wall - (t - origin))
            };
            let near = |j: usize| near(m - 2 - j);
            let n = m - middle;
            // Kept as the v of the root, so that both halves are read alike.
            let mut put = |j: usize, p: f64| right_v[n - 1 - j] = wall - p;
            right.forward(right_rope, n, &mut point, &near, &mut put)
        },
    );
    let moves = left_rope.moves() + right_rope.moves();
    let (Some(left_end), Some(right_end)) = ends else {
        let mut work = solve_core(&mut stores[0], frame, point, gap, v, edges);
        work.moves += moves;
        return work;
    };
    let start = meet((left_rope, left_end), (right_rope, right_end), wall, d);
    let start = grid.round(start).clamp(0.0, wall);

    // Backwards from the middle; its edge belongs to the left half.
    let (left_edges, right_edges) = edges.split_at_mut(middle);
    rayon::join(
        || {
            let mut next = start;
            for i in (0..middle).rev() {
                (next, left_edges[i]) = settle(left_v[i], next, near(i));
                left_v[i] = next + origin;
            }
        },
        || {
            let mut next = wall - start;
            right_v[0] = start + origin;
            for (i, edge) in right_edges.iter_mut().enumerate() {
                (next, *edge) = settle(wall - right_v[i + 1], next, near(middle + i));
                right_v[i + 1] = (wall - next) + origin;
            }
        },
    );
    CoreWork { moves, on_tree: false }
}

/// The best `v_{k+1}`: where the two halves push back equally.
fn meet(left: (&Rope, End), right: (&Rope, End), wall: f64, d: f64) -> f64 {
    let (p, q) = (left.1.head.p, wall - right.1.head.p);
    if q < p {
        // v_k = v_{k+1} = p - a: the left half goes down; the right one up, which is down in u.
        match balance::<false>(left, right, p - q) {
            Share::Ours(a) => p - a,
            Share::Theirs(b) => q + b,
        }
    } else if q > p + d {
        // v_k = p + a = v_{k+1} - d_k: the left half goes up, the right one down.
        match balance::<true>(left, right, (q - p) - d) {
            Share::Ours(a) => (p + a) + d,
            Share::Theirs(b) => q - b,
        }
    } else {
        q
    }
}

/// How far one of the halves gives way: the one that stops at a knot, so that the knot is met
/// exactly.
enum Share {
    Ours(f64),
    Theirs(f64),
}

/// A knot on the way out: the push jumps there, and its slope changes.
struct Step {
    distance: f64,
    jump: f64,
    slope: f64,
}

/// The push of a half against leaving its minimiser: increasing and piecewise linear in the
/// distance, with jumps. It is read along the push: in a jump the distance stands still.
struct Force<'r> {
    /// The jump or the piece begins here, with this push.
    distance: f64,
    push: f64,
    /// Of the piece; of the piece that follows, while in a jump.
    slope: f64,
    /// Height of the jump; `None` on a piece.
    jump: Option<f64>,
    next: Step,
    steps: Box<dyn Iterator<Item = Step> + 'r>,
    /// The end of the domain, where the push is infinite.
    limit: f64,
}

/// A place on the way out, behind some blocks.
#[derive(Clone, Copy)]
struct Waypoint {
    distance: f64,
    push: f64,
    slope: f64,
}

/// The push behind each block of a half, up to `reach`: right of the root, or left of it.
fn waypoints<const RIGHT: bool>((rope, end): (&Rope, End), reach: f64) -> Vec<Waypoint> {
    let Head { p, f_left, s_left, f_right, s_right } = end.head;
    let (value, slope) = if RIGHT { (-f_right, s_right) } else { (f_left, s_left) };
    let limit = if RIGHT { (end.bound - p).min(reach) } else { p.min(reach) };
    if value == f64::NEG_INFINITY {
        return Vec::new();
    }
    let behind = rope.behind_blocks::<RIGHT>(Probe { x: p, value, slope });
    let distances =
        behind.map(|at| Waypoint { distance: (at.x - p).abs(), push: -at.value, slope: at.slope });
    distances.take_while(|at| at.distance < limit).collect()
}

/// How many of `ours` lie before the balance: those whose push is less than what the other half
/// has at the rest of the distance, or even before it.
fn passed(ours: &[Waypoint], theirs: &[Waypoint], distance: f64) -> usize {
    ours.partition_point(|at| {
        let before = theirs.partition_point(|other| other.distance <= distance - at.distance);
        before > 0 && at.push < theirs[before - 1].push
    })
}

impl<'r> Force<'r> {
    /// From behind the first `passed` blocks; from the root if there are none.
    fn new<const RIGHT: bool>(
        (rope, end): (&'r Rope, End),
        waypoints: &[Waypoint],
        passed: usize,
    ) -> Self {
        let Head { p, f_left, s_left, f_right, s_right } = end.head;
        let (limit, sign) = if RIGHT { (end.bound - p, 1.0) } else { (p, -1.0) };
        let step =
            move |k: Knot| Step { distance: sign * (k.x - p), jump: k.dj, slope: sign * k.ds };
        let steps = Box::new(rope.outwards::<RIGHT>(passed).map(step));
        let next = Step { distance: 0.0, jump: 0.0, slope: 0.0 };
        let mut force = match passed.checked_sub(1).map(|last| waypoints[last]) {
            Some(Waypoint { distance, push, slope }) => {
                Self { distance, push, slope, jump: None, next, steps, limit }
            }
            None => {
                let (jump, slope) = if RIGHT { (f_right, s_right) } else { (-f_left, s_left) };
                let jump = Some(if limit > 0.0 { jump } else { f64::INFINITY });
                Self { distance: 0.0, push: 0.0, slope, jump, next, steps, limit }
            }
        };
        force.look_ahead();
        force
    }

    fn look_ahead(&mut self) {
        let end = Step { distance: self.limit, jump: f64::INFINITY, slope: 0.0 };
        self.next = self.steps.next().filter(|step| step.distance < self.limit).unwrap_or(end);
    }

    /// The push at the end of the jump or of the piece.
    fn until(&self) -> f64 {
        let rise = || self.slope * (self.next.distance - self.distance);
        self.push + self.jump.unwrap_or_else(rise)
    }

    /// The distance at a push up to [`until`](Self::until).
    fn distance_at(&self, push: f64) -> f64 {
        match self.jump {
            Some(_) => self.distance,
            None if push >= self.until() => self.next.distance,
            None => self.distance + (push - self.push) / self.slope,
        }
    }

    /// Goes on behind the jump or the piece.
    fn pass(&mut self) {
        self.push = self.until();
        if self.jump.take().is_none() {
            self.distance = self.next.distance;
            self.jump = Some(self.next.jump);
            self.slope += self.next.slope;
            self.look_ahead();
        }
    }
}

/// `a + b = distance` with equal pushes, to the right of both roots or to the left.
fn balance<const RIGHT: bool>(left: (&Rope, End), right: (&Rope, End), distance: f64) -> Share {
    let (our_way, their_way) =
        (waypoints::<RIGHT>(left, distance), waypoints::<RIGHT>(right, distance));
    let passed_of = |a: &[Waypoint], b: &[Waypoint]| passed(a, b, distance);
    let mut ours = Force::new::<RIGHT>(left, &our_way, passed_of(&our_way, &their_way));
    let mut theirs = Force::new::<RIGHT>(right, &their_way, passed_of(&their_way, &our_way));
    // To the larger of the two pushes: there the distances do not yet add up to `distance`.
    let mut push = ours.push.max(theirs.push);
    while ours.until() < push {
        ours.pass();
    }
    while theirs.until() < push {
        theirs.pass();
    }
    loop {
        let (our_end, their_end) = (ours.until(), theirs.until());
        let end = our_end.min(their_end);
        let (a, b) = (ours.distance_at(push), theirs.distance_at(push));
        let enough = ours.distance_at(end) + theirs.distance_at(end) >= distance;
        if enough || !end.is_finite() {
            return match (ours.jump, theirs.jump) {
                (Some(_), _) => Share::Ours(a),
                (None, Some(_)) => Share::Theirs(b),
                // On two pieces the pushes rise in proportion to the slopes.
                (None, None) => {
                    let share = theirs.slope / (ours.slope + theirs.slope);
                    Share::Ours((a + (distance - a - b) * share).clamp(a, distance))
                }
            };
        }
        if our_end <= end {
            ours.pass();
        }
        if their_end <= end {
            theirs.pass();
        }
        push = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A chain on a coarse grid, so that ties, knots at knots and roots at bounds are common.
    #[derive(Debug, Clone)]
    struct Case {
        points: Vec<(f64, f64)>,
        gaps: Vec<f64>,
        frame: Frame,
    }

    fn cases() -> impl Strategy<Value = Case> {
        let eighths = |range: std::ops::Range<i32>| range.prop_map(|k| f64::from(k) / 8.0);
        let free = -1.0..2.0_f64;
        let target = prop_oneof![eighths(-4..16), free, Just(0.0), Just(1.0)];
        let weight = prop_oneof![Just(1.0), eighths(1..40), Just(0.01), Just(100.0)];
        let gap = prop_oneof![Just(0.0), eighths(0..4), 0.0..0.3_f64, Just(5.0)];
        prop_oneof![4 => 2..40usize, 1 => 100..400usize].prop_flat_map(move |m| {
            let points = prop::collection::vec((weight.clone(), target.clone()), m);
            let gaps = prop::collection::vec(gap.clone(), m - 1);
            let ends = prop_oneof![Just((1.0, 0.0)), (0.0..1.0_f64, 0.0..1.0_f64)];
            let low = prop_oneof![Just(0.0), eighths(-4..4)];
            (points, gaps, ends, low).prop_map(|(points, gaps, (hi, share), lo)| {
                let reach = 1.0_f64.min(hi + gaps.iter().sum::<f64>());
                let last_min = lo + share * reach;
                let frame = Frame { lo, hi: lo + hi, wall: lo + 1.0, last_min };
                Case { points, gaps, frame }
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        /// Strictly convex: the minimiser is unique, so both roads must lead to it.
        #[test]
        fn halves_and_whole_agree(case in cases()) {
            let Case { points, gaps, frame } = &case;
            let m = points.len();
            let mut whole = (vec![0.0; m], vec![EdgeState::Free; m - 1]);
            let mut cut = whole.clone();
            let (point, gap) = (|i: usize| points[i], |i: usize| gaps[i]);
            let stores = &mut Stores::default();
            solve_core(stores, frame, point, gap, &mut whole.0, &mut whole.1);
            let stores = &mut <[Stores; 2]>::default();
            solve_whole::<0>(stores, frame, point, gap, &mut cut.0, &mut cut.1);
            // A force adds up m terms w (v - target), |v - target| <= 3, each sum rounded once;
            // a position is a force divided by at least the least weight.
            let total: f64 = points.iter().map(|p| p.0).sum();
            let least = points.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
            let rounding = f64::EPSILON * m as f64 * 3.0 * total / least;
            for i in 0..m {
                prop_assert!((whole.0[i] - cut.0[i]).abs() <= rounding, "{i}: {whole:?} {cut:?}");
            }
            for i in 0..m - 1 {
                let rise = cut.0[i + 1] - cut.0[i];
                prop_assert!(rise >= -1e-15 && rise <= gaps[i] + 1e-15, "{i}: {cut:?}");
                let expected = match cut.1[i] {
                    EdgeState::Lower | EdgeState::Tied => rise,
                    EdgeState::Upper => rise - gaps[i],
                    EdgeState::Free => 0.0,
                };
                prop_assert!(expected.abs() < 1e-15, "{i}: {cut:?}");
            }
        }
    }
}
