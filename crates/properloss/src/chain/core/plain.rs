//! The two stores against the plainest one: two lists in which every knot is moved by itself.

use proptest::prelude::*;

use super::knots::{Head, Knot, KnotStore, Probe};
use super::programme::{Core, End, Grid};
use super::rope::Rope;
use super::tree::Tree;

/// Knots left and right of the root in increasing order, where they stand.
#[derive(Debug, Default)]
struct Plain {
    left: Vec<Knot>,
    right: Vec<Knot>,
}

impl KnotStore for Plain {
    fn reset(&mut self) {
        self.left.clear();
        self.right.clear();
    }

    fn push_left(&mut self, knot: Knot) {
        self.left.push(knot);
    }

    fn push_right(&mut self, knot: Knot) {
        self.right.insert(0, knot);
    }

    fn shift_right(&mut self, d: f64, _wall: f64, _span: f64) {
        self.right.iter_mut().for_each(|k| k.x += d);
    }

    fn clear_right(&mut self) {
        self.right.clear();
    }

    fn walk_left(&mut self, from: Probe, bound: f64) -> Head {
        let Probe { mut x, mut value, mut slope } = from;
        loop {
            let next = self.left.last().copied().filter(|k| k.x > bound);
            let end = next.map_or(bound, |k| k.x);
            let before = value - slope * (x - end);
            if before <= 0.0 {
                return inside(x - value / slope, slope);
            }
            let Some(knot) = next else {
                let f_left = f64::NEG_INFINITY;
                return Head { p: end, f_left, s_left: 0.0, f_right: before, s_right: slope };
            };
            self.left.pop();
            let (after, beyond) = (before - knot.dj, slope - knot.ds);
            if after <= 0.0 {
                return Head {
                    p: end,
                    f_left: after,
                    s_left: beyond,
                    f_right: before,
                    s_right: slope,
                };
            }
            self.right.insert(0, knot);
            (x, value, slope) = (end, after, beyond);
        }
    }

    fn walk_right(&mut self, from: Probe, bound: f64) -> Head {
        let Probe { mut x, mut value, mut slope } = from;
        loop {
            let next = self.right.first().copied().filter(|k| k.x < bound);
            let end = next.map_or(bound, |k| k.x);
            let before = value + slope * (end - x);
            if before >= 0.0 {
                return inside(x - value / slope, slope);
            }
            let Some(knot) = next else {
                let f_right = f64::INFINITY;
                return Head { p: end, f_left: before, s_left: slope, f_right, s_right: 0.0 };
            };
            self.right.remove(0);
            let (after, beyond) = (before + knot.dj, slope + knot.ds);
            if after >= 0.0 {
                return Head {
                    p: end,
                    f_left: before,
                    s_left: slope,
                    f_right: after,
                    s_right: beyond,
                };
            }
            self.left.push(knot);
            (x, value, slope) = (end, after, beyond);
        }
    }

    fn moves(&self) -> u64 {
        0
    }

    fn over_budget(&self, _steps: usize) -> bool {
        false
    }
}

fn inside(p: f64, slope: f64) -> Head {
    Head { p, f_left: 0.0, s_left: slope, f_right: 0.0, s_right: slope }
}

/// `f'` at `at`, from the root outwards over the knots of its side.
fn derivative(head: &Head, at: f64, left: &[Knot], right: &[Knot]) -> f64 {
    if at >= head.p {
        let start = head.f_right + head.s_right * (at - head.p);
        let passed = right.iter().filter(|k| k.x < at);
        passed.fold(start, |value, k| value + k.dj + k.ds * (at - k.x))
    } else {
        let start = head.f_left - head.s_left * (head.p - at);
        let passed = left.iter().filter(|k| k.x > at);
        passed.fold(start, |value, k| value - k.dj + k.ds * (k.x - at))
    }
}

#[derive(Debug, Clone)]
struct Case {
    points: Vec<(f64, f64)>,
    gaps: Vec<f64>,
    hi: f64,
}

/// Small steps make many knots that travel in both directions; wide ones clear the right side.
fn cases() -> impl Strategy<Value = Case> {
    let weight = prop_oneof![4 => Just(1.0), 1 => 0.25..4.0_f64];
    let target = prop_oneof![2 => -0.2..1.2_f64, 1 => Just(0.0), 1 => Just(1.0), 1 => (0..9i32).prop_map(|k| f64::from(k) / 8.0)];
    let gap = prop_oneof![
        200 => 0.0..0.004_f64,
        20 => Just(0.0),
        20 => Just(0.001),
        10 => 0.0..0.1_f64,
        1 => Just(2.0)
    ];
    prop_oneof![2..20usize, 100..900usize].prop_flat_map(move |m| {
        let points = prop::collection::vec((weight.clone(), target.clone()), m);
        let gaps = prop::collection::vec(gap.clone(), m - 1);
        (points, gaps, prop_oneof![Just(1.0), 0.0..1.0_f64]).prop_map(|(points, gaps, hi)| Case {
            points,
            gaps,
            hi,
        })
    })
}

/// Of a forward pass: every root, and where it ended.
fn forward(core: &Core, store: &mut impl KnotStore, case: &Case) -> (Vec<f64>, End) {
    let mut roots = vec![0.0; case.points.len()];
    let gap = |i: usize| core.grid.round(case.gaps[i]);
    let mut put = |i: usize, p: f64| roots[i] = p;
    let end = core.forward(store, case.points.len(), &mut |i| case.points[i], &gap, &mut put);
    (roots, end.expect("within the budget"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The same roots at every step, and in the end the same `f'` on both sides of the root.
    #[test]
    fn stores_agree(case in cases()) {
        let grid = Grid::new(1.0);
        let core = Core { grid, wall: 1.0, hi: grid.round(case.hi) };
        let (mut plain, mut rope, mut tree) = <(Plain, Rope, Tree)>::default();
        let (expected, end) = forward(&core, &mut plain, &case);
        // Sums of up to 900 terms w (v - t), |w (v - t)| <= 5; roots divide by weights >= 1/4.
        let rounding = 1e-10;
        for (name, (roots, found)) in
            [("rope", forward(&core, &mut rope, &case)), ("tree", forward(&core, &mut tree, &case))]
        {
            for (i, (a, b)) in expected.iter().zip(&roots).enumerate() {
                prop_assert!((a - b).abs() < rounding, "{name}, root {i}: {a} {b}");
            }
            prop_assert_eq!(found.bound, end.bound);
        }
        // Both count their work, and the rope's is far below where the tree takes over.
        prop_assert!(case.points.len() < 100 || (rope.moves() > 0 && tree.moves() > 0));
        prop_assert!(!rope.over_budget(0) && !tree.over_budget(0));
        let (_, found) = forward(&core, &mut rope, &case);
        let left: Vec<Knot> = rope.outwards::<false>(0).collect();
        let right: Vec<Knot> = rope.outwards::<true>(0).collect();
        prop_assert!(left.windows(2).all(|k| k[0].x >= k[1].x), "{left:?}");
        prop_assert!(right.windows(2).all(|k| k[0].x <= k[1].x), "{right:?}");
        // At a root that is a knot, rounding decides which side the jump counts to.
        let near_knot = |at: f64| {
            let knots = plain.left.iter().chain(&plain.right).map(|k| k.x);
            knots.chain([end.head.p]).any(|x| (x - at).abs() < 1e-8)
        };
        for at in (0..200).map(|i| (f64::from(i) + 0.37) / 200.0) {
            if at < end.bound && !near_knot(at) {
                let a = derivative(&end.head, at, &plain.left, &plain.right);
                let b = derivative(&found.head, at, &left, &right);
                prop_assert!((a - b).abs() < 1e-8 || a == b, "f'({at}): {a} {b}");
            }
        }
        // What crossing whole blocks says is what the knots say one by one.
        blocks_are_sums::<false>(&rope, &found, &left)?;
        blocks_are_sums::<true>(&rope, &found, &right)?;
    }
}

/// Behind each block stands `f'` as the knots before it make it, and `outwards` goes on there.
fn blocks_are_sums<const RIGHT: bool>(
    rope: &Rope,
    end: &End,
    knots: &[Knot],
) -> Result<(), TestCaseError> {
    let head = &end.head;
    let (value, slope) =
        if RIGHT { (-head.f_right, head.s_right) } else { (head.f_left, head.s_left) };
    if !value.is_finite() {
        return Ok(());
    }
    for (k, at) in rope.behind_blocks::<RIGHT>(Probe { x: head.p, value, slope }).enumerate() {
        let rest: Vec<Knot> = rope.outwards::<RIGHT>(k + 1).collect();
        let passed = &knots[..knots.len() - rest.len()];
        prop_assert_eq!(&rest[..], &knots[passed.len()..]);
        let end = passed.last().map_or(head.p, |k| k.x);
        prop_assert!((at.x - end).abs() < 1e-12, "{} {}", at.x, end);
        let sign = if RIGHT { 1.0 } else { -1.0 };
        let slope = passed.iter().fold(slope, |s, k| s + sign * k.ds);
        prop_assert!((at.slope - slope).abs() < 1e-9, "{} {slope}", at.slope);
        let start = value - passed.iter().map(|k| k.dj).sum::<f64>();
        let along = |s: f64, x: f64| s * (end - x).abs();
        let first = if RIGHT { head.s_right } else { head.s_left };
        let value =
            passed.iter().fold(start - along(first, head.p), |v, k| v - sign * along(k.ds, k.x));
        prop_assert!((at.value - value).abs() < 1e-8, "{} {value}", at.value);
    }
    Ok(())
}
