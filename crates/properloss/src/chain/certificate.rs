//! The certificate: multipliers from partial sums, their signs, and the duality gap.
//!
//! Let `κ_0` be the multiplier of the first box and `κ_i = κ_{i-1} + ω_i (g(y_i) - c_i)`; then the
//! Lagrangian is stationary at `y` whatever `κ_0` is, and since it is convex `y` minimises it. The
//! signs that make it a lower bound of the problem are `κ_i <= 0` at a lower bound, `>= 0` at an
//! upper one, `0` at a free edge (mirrored for the last box). A multiplier of the wrong sign is
//! paired with a bound that the others imply (`lo <= v <= wall`), so the gap is finite always:
//!
//! ```text
//! gap = Σ_i κ_i⁻ (v_{i+1} - v_i) + κ_i⁺ (d_i - (v_{i+1} - v_i)) + the same for the two boxes.
//! ```

use rayon::prelude::*;

use super::general::blocks::Chain;
use super::general::curve::Curve;
use super::solution::{EdgeState, EndState};
use crate::special::Sum;

/// What is known about a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Certificate {
    pub first: EndState,
    pub last: EndState,
    /// Largest wrong sign, not yet divided by the weights.
    pub residual: f64,
    pub gap: f64,
}

/// The signs of the multipliers: the first half of a certificate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs {
    first: EndState,
    last: EndState,
    /// `κ_0`, chosen such that the largest wrong sign is least.
    pub start: f64,
    pub residual: f64,
    /// `κ - κ_0` before each part.
    offsets: [f64; PARTS],
}

/// Long chains are summed in parts of at least this many points, by length alone.
const PART: usize = 4096;
/// And at most this many parts.
const PARTS: usize = 8;

/// What the partial sums `κ_i - κ_a` of the points `a..b` say, with `κ_a` still unknown.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// `-κ` must not exceed this, nor fall below `least`.
    most: f64,
    least: f64,
    total: f64,
}

/// The points of a part of `m` points, and how many parts there are.
fn parts_of(m: usize) -> (usize, impl Fn(usize) -> std::ops::Range<usize>) {
    let parts = (m / PART).clamp(1, PARTS);
    (parts, move |part: usize| part * m / parts..(part + 1) * m / parts)
}

/// The signs and the gap of a point.
pub(super) fn certify(
    chain: &Chain,
    curve: impl Curve,
    v: &[f64],
    edges: &[EdgeState],
) -> Certificate {
    let signs = signs(chain, curve, v, edges);
    with_gap(chain, curve, v, edges, &signs)
}

/// Pass 1: the interval of κ_0 that the signs ask for. In parts that know nothing of each other.
pub(super) fn signs(chain: &Chain, curve: impl Curve, v: &[f64], edges: &[EdgeState]) -> Signs {
    let frame = &chain.frame;
    let last = v.len() - 1;
    let (parts, range) = parts_of(v.len());
    let end = |at_low, at_high| match (at_low, at_high) {
        (true, true) => EndState::Fixed,
        (true, false) => EndState::Lower,
        (false, true) => EndState::Upper,
        (false, false) => EndState::Free,
    };
    let contact = frame.contact();
    let first = end(v[0] <= frame.lo + contact, v[0] >= frame.hi - contact);
    let last_state = end(v[last] <= frame.last_min + contact, v[last] >= frame.wall - contact);
    let signs = |i: usize| {
        if i < last {
            match edges[i] {
                EdgeState::Free => (true, true),
                EdgeState::Lower => (true, false),
                EdgeState::Upper => (false, true),
                EdgeState::Tied => (false, false),
            }
        } else {
            match last_state {
                EndState::Free => (true, true),
                EndState::Upper => (true, false),
                EndState::Lower => (false, true),
                EndState::Fixed => (false, false),
            }
        }
    };
    let sums = in_parts(parts, |part| {
        let range = range(part);
        let mut at = curve;
        at.seek(v[range.start] + chain.ramp(range.start));
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut sum = Sum::default();
        for i in range {
            sum.add(force(chain, &mut at, v, i));
            let kappa = sum.value();
            let (lower, upper) = signs(i);
            most = most.min(if lower { -kappa } else { f64::INFINITY });
            least = least.max(if upper { -kappa } else { f64::NEG_INFINITY });
        }
        Part { most, least, total: sum.value() }
    });
    let (mut least, mut most) = match first {
        EndState::Free => (0.0, 0.0),
        EndState::Lower => (f64::NEG_INFINITY, 0.0),
        EndState::Upper => (0.0, f64::INFINITY),
        EndState::Fixed => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let mut before = Sum::default();
    let mut offsets = [0.0; PARTS];
    for (part, offset) in sums[..parts].iter().zip(&mut offsets) {
        *offset = before.value();
        most = most.min(part.most - *offset);
        least = least.max(part.least - *offset);
        before.add(part.total);
    }
    let start = if least <= most {
        0.0_f64.clamp(least, most)
    } else if first == EndState::Free {
        0.0
    } else {
        0.5 * (least + most)
    };
    let residual = (least - start).max(start - most).max(0.0);
    Signs { first, last: last_state, start, residual, offsets }
}

/// Pass 2: the gap.
pub(super) fn with_gap(
    chain: &Chain,
    curve: impl Curve,
    v: &[f64],
    edges: &[EdgeState],
    signs: &Signs,
) -> Certificate {
    let Signs { first, last: last_state, start, residual, offsets } = *signs;
    let frame = &chain.frame;
    let contact = frame.contact();
    let last = v.len() - 1;
    let (parts, range) = parts_of(v.len());
    let span = frame.wall - frame.lo;
    let paired = |kappa: f64, below: f64, above: f64| {
        if kappa < 0.0 { -kappa * below.max(0.0) } else { kappa * above.max(0.0) }
    };
    let above_first = frame.hi.min(frame.wall) - v[0];
    let below_last = v[last] - frame.last_min.max(frame.lo);
    // A value at its bound has no slack; what rounding left is not counted.
    let slack = |x: f64| if x <= contact { 0.0 } else { x };
    let gaps = in_parts(parts, |part| {
        let range = range(part);
        let mut at = curve;
        at.seek(v[range.start] + chain.ramp(range.start));
        let mut sum = Sum::default();
        let mut gap = 0.0;
        for i in range {
            sum.add(force(chain, &mut at, v, i));
            let kappa = start + (offsets[part] + sum.value());
            if i == last {
                gap += paired(kappa, slack(frame.wall - v[last]), slack(below_last));
                break;
            }
            let (rise, room) = (v[i + 1] - v[i], chain.gap(i).min(span));
            let (below, above) = match edges[i] {
                EdgeState::Free => (rise, room - rise),
                EdgeState::Lower => (0.0, room),
                EdgeState::Upper => (room, 0.0),
                EdgeState::Tied => (0.0, 0.0),
            };
            gap += paired(kappa, below, above);
        }
        gap
    });
    let gap = paired(start, slack(v[0] - frame.lo), slack(above_first));
    let gap = gaps[..parts].iter().fold(gap, |sum, part| sum + part);
    Certificate { first, last: last_state, residual, gap }
}

/// `run(part)` for each part, on several threads if there are several parts.
fn in_parts<T: Copy + Default + Send>(parts: usize, run: impl Fn(usize) -> T + Sync) -> [T; PARTS] {
    let mut answers = [T::default(); PARTS];
    if parts == 1 {
        answers[0] = run(0);
    } else {
        let answers = answers[..parts].par_iter_mut().enumerate();
        answers.for_each(|(part, answer)| *answer = run(part));
    }
    answers
}

/// `ω_i (g(y_i) - c_i)`.
#[inline]
fn force(chain: &Chain, curve: &mut impl Curve, v: &[f64], i: usize) -> f64 {
    let (g, _) = curve.eval(v[i] + chain.ramp(i));
    chain.weight(i) * (g - chain.target(i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::general::curve::{Identity, Units};
    use crate::chain::problem::Frame;
    use EdgeState::{Free, Lower, Tied, Upper};

    struct Case {
        scores: Vec<f64>,
        weights: Vec<f64>,
        targets: Vec<f64>,
        v: Vec<f64>,
        edges: Vec<EdgeState>,
        frame: Frame,
    }

    const SLOPE_MIN: f64 = 0.1;

    impl Case {
        fn chain(&self) -> Chain<'_> {
            Chain {
                scores: &self.scores,
                weights: Some(&self.weights),
                targets: &self.targets,
                slope_min: SLOPE_MIN,
                freedom: 0.5,
                units: Units { origin: 0.0, scale: 1.0 },
                frame: self.frame,
            }
        }

        /// `κ_i - κ_0` for `i = 1..=m`.
        fn sums(&self) -> Vec<f64> {
            let force = |i: usize| {
                let y = self.v[i] + SLOPE_MIN * (self.scores[i] - self.scores[0]);
                self.weights[i] * (y - self.targets[i])
            };
            let mut sum = 0.0;
            let mut add = |x: f64| {
                sum += x;
                sum
            };
            (0..self.v.len()).map(force).map(&mut add).collect()
        }
    }

    /// Scores 0, 1, 3: room 0.5 and 1; y = v + (0, 0.1, 0.3); forces 0.2, 2 (-0.1), 0.5.
    fn three(v: [f64; 3], edges: [EdgeState; 2]) -> Case {
        let y = [v[0], v[1] + 0.1, v[2] + 0.3];
        Case {
            scores: vec![0.0, 1.0, 3.0],
            weights: vec![1.0, 2.0, 1.0],
            targets: vec![y[0] - 0.2, y[1] + 0.1, y[2] - 0.5],
            v: v.to_vec(),
            edges: edges.to_vec(),
            frame: Frame { lo: 0.0, hi: 0.8, wall: 1.0, last_min: 0.2 },
        }
    }

    #[track_caller]
    fn expect(case: &Case, start: f64, residual: f64, gap: f64, ends: (EndState, EndState)) {
        let found = signs(&case.chain(), Identity, &case.v, &case.edges);
        let whole = certify(&case.chain(), Identity, &case.v, &case.edges);
        assert!((found.start - start).abs() < 1e-15, "start {}", found.start);
        assert!((found.residual - residual).abs() < 1e-15, "residual {}", found.residual);
        assert!((whole.gap - gap).abs() < 1e-15, "gap {}", whole.gap);
        assert_eq!((whole.first, whole.last), ends);
        assert_eq!(whole.residual, found.residual);
    }

    /// κ = 0.2, 0, 0.5 after the three points, by hand.
    #[test]
    fn signs_and_gap_of_three_points() {
        let inner = (EndState::Free, EndState::Free);
        // Free everywhere: κ_0 = 0, the worst sign is 0.5. Paired: 0.2 with the room left at the
        // first edge, 0.5 - 0.1, and 0.5 with the way down to the lower bound of the last value.
        expect(&three([0.3, 0.4, 0.7], [Free, Free]), 0.0, 0.5, 0.2 * 0.4 + 0.5 * 0.5, inner);
        // A lower edge does not like a positive multiplier: paired with all its room.
        expect(&three([0.3, 0.3, 0.7], [Lower, Free]), 0.0, 0.5, 0.2 * 0.5 + 0.5 * 0.5, inner);
        // An upper one does.
        expect(&three([0.1, 0.6, 0.7], [Upper, Free]), 0.0, 0.5, 0.5 * 0.5, inner);
        expect(&three([0.3, 0.3, 0.7], [Tied, Free]), 0.0, 0.5, 0.5 * 0.5, inner);
        // At the lower bound of the first box κ_0 may be negative: the middle of [-0.5, 0].
        let lower = three([0.0, 0.1, 0.7], [Free, Free]);
        // κ = -0.05, -0.25, 0.25: each 0.25 off at most; -0.25 at the first box, which has no slack.
        let gap = 0.05 * 0.1 + 0.25 * 0.6 + 0.25 * 0.5;
        expect(&lower, -0.25, 0.25, gap, (EndState::Lower, EndState::Free));
        // At the upper bound of the last box κ <= 0 is what is asked for, at the lower one κ >= 0.
        let upper = three([0.3, 0.4, 1.0], [Free, Free]);
        expect(&upper, 0.0, 0.5, 0.2 * 0.4 + 0.5 * 0.8, (EndState::Free, EndState::Upper));
        let at_least = three([0.1, 0.15, 0.2], [Free, Free]);
        expect(&at_least, 0.0, 0.2, 0.2 * 0.45, (EndState::Free, EndState::Lower));
        // At the upper bound of the first box κ_0 >= 0 is asked for; the middle of [-0.5, 0] again.
        let top = three([0.8, 0.85, 0.9], [Free, Free]);
        let gap = 0.25 * 0.8 + 0.05 * 0.05 + 0.25 * 0.05 + 0.25 * 0.7;
        expect(&top, -0.25, 0.25, gap, (EndState::Upper, EndState::Free));
    }

    /// No edge has more room than the box, which here begins at 0.25.
    #[test]
    fn room_ends_with_the_box() {
        let mut case = three([0.3, 0.35, 0.4], [Free, Free]);
        case.frame = Frame { lo: 0.25, hi: 0.5, wall: 0.5, last_min: 0.25 };
        let gap = 0.2 * (0.25 - 0.05) + 0.5 * 0.15;
        expect(&case, 0.0, 0.5, gap, (EndState::Free, EndState::Free));
    }

    #[test]
    fn boxes_of_one_point_hold_everything() {
        let mut case = three([0.5, 0.5, 0.5], [Tied, Tied]);
        case.frame = Frame { lo: 0.5, hi: 0.5, wall: 0.5, last_min: 0.5 };
        expect(&case, 0.0, 0.0, 0.0, (EndState::Fixed, EndState::Fixed));
    }

    /// Long chains are summed in parts: the same numbers as point by point.
    #[test]
    fn parts_make_no_difference() {
        for m in [1, 2, 4095, 8192, 9_001, 40_000] {
            let mut state = m as u64;
            let mut uniform = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            let scores: Vec<f64> = (0..m).map(|i| i as f64 / m as f64).collect();
            let v: Vec<f64> = scores.iter().map(|z| 0.1 + 0.3 * z).collect();
            let targets: Vec<f64> = v.iter().map(|v| v + uniform() - 0.5).collect();
            let weights: Vec<f64> = (0..m).map(|_| 0.5 + uniform()).collect();
            let edges: Vec<EdgeState> =
                (1..m).map(|_| [Free, Lower, Upper, Tied][(4.0 * uniform()) as usize]).collect();
            let frame = Frame { lo: 0.0, hi: 1.0, wall: 0.95, last_min: 0.0 };
            let case = Case { scores, weights, targets, v, edges, frame };
            let (parts, range) = parts_of(m);
            assert_eq!(parts, (m / 4096).clamp(1, 8));
            assert_eq!((range(0).start, range(parts - 1).end), (0, m));
            assert!((1..parts).all(|part| range(part).start == range(part - 1).end));
            let sums = case.sums();
            let last = m - 1;
            let (mut residual, mut gap) = (0.0_f64, 0.0);
            for (i, &kappa) in sums.iter().enumerate() {
                let (rise, room) = if i < last {
                    let dz = case.scores[i + 1] - case.scores[i];
                    (case.v[i + 1] - case.v[i], (0.5 * dz).min(0.95))
                } else {
                    // The last box: towards the wall it is held like a lower edge.
                    (0.95 - case.v[last], 0.95)
                };
                let state = if i < last { case.edges[i] } else { Free };
                let (below, above) = match state {
                    Free => (rise, room - rise),
                    Lower => (0.0, room),
                    Upper => (room, 0.0),
                    Tied => (0.0, 0.0),
                };
                gap += if kappa < 0.0 { -kappa * below } else { kappa * above };
                residual = residual.max(match state {
                    Free => kappa.abs(),
                    Lower => kappa,
                    Upper => -kappa,
                    Tied => 0.0,
                });
            }
            let found = certify(&case.chain(), Identity, &case.v, &case.edges);
            // Plain sums of m terms below 1 each.
            let rounding = 1e-16 * (m * m) as f64 + 1e-14;
            assert!(
                (found.residual - residual).abs() <= rounding,
                "{m}: {} {residual}",
                found.residual
            );
            assert!((found.gap - gap).abs() <= rounding, "{m}: {} {gap}", found.gap);
        }
    }
}
