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
