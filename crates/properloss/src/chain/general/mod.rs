//! The general objective: Newton passes on the quadratic core, exact per block, repaired locally.
//!
//! The start is the previous link at the new scores; where its blocks, each shifted to its
//! optimum, are optimal nothing is left to do. Elsewhere passes are made.
//!
//! A pass replaces `G` by its second-order model at the current point: weights `ω g'(y)`, targets
//! `y - (g(y) - c)/g'(y)`. The core returns the exact minimiser of the model and with it a partition
//! into blocks; each block is then shifted to *its* exact optimum. Blocks that are not optimal
//! are solved again while the rest stays fixed, until none is left. A block that has to join its
//! neighbour comes to touch it, and the two are one block in the next round.

pub(super) mod blocks;
pub(super) mod curve;
pub(super) mod zero_weights;

use crate::chain::core::{CoreWork, Stores, solve_core};
use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;
use blocks::{Chain, balance_blocks, block_end, block_is_optimal, block_start};
use curve::Curve;

/// Rounds after which the solver stops and lets the certificate speak.
const MAX_ROUNDS: usize = 120;
/// Rounds after which a window takes in the neighbours of its block, and every so many rounds
/// after that a pass over the whole chain: not needed so far, but they break any cycle of windows.
const NEIGHBOURS_AFTER: usize = 12;
const FULL_EVERY: usize = 24;
/// One in so many points is looked at before the start is taken for promising.
const SAMPLE: usize = 16;
/// Overshooting steps accepted on trust; later every step must be a descent by its slope.
const TRUSTED: usize = 30;

/// Buffers of the general solver.
#[derive(Debug, Default)]
pub(super) struct Trial {
    v: Vec<f64>,
    edges: Vec<EdgeState>,
    windows: Vec<(usize, usize)>,
    next: Vec<(usize, usize)>,
}

/// What the general solver did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GeneralWork {
    pub core: CoreWork,
    /// Points solved by the core, over all windows.
    pub points: usize,
}

/// Minimises from the feasible start `v`; `v` and `edges` are written.
pub(super) fn minimise(
    chain: &Chain,
    curve: impl Curve,
    stores: &mut Stores,
    trial: &mut Trial,
    v: &mut [f64],
    edges: &mut [EdgeState],
) -> GeneralWork {
    let m = chain.len();
    let mut work = GeneralWork::default();
    let mut trusted = TRUSTED;
    let mut windows = std::mem::take(&mut trial.windows);
    let mut next = std::mem::take(&mut trial.next);
    windows.clear();
    violations_of_start(chain, curve, v, edges, &mut windows);
    if windows.is_empty() {
        (trial.windows, trial.next) = (windows, next);
        return work;
    }
    trial.v.resize(m, 0.0);
    trial.edges.resize(m - 1, EdgeState::Free);
    for round in 0..MAX_ROUNDS {
        for &window in &windows {
            let mut pass = Pass { chain, curve, stores, trial, v, edges };
            work.core += pass.newton(window, &mut trusted);
            work.points += window.1 - window.0 + 1;
        }
        next.clear();
        for &window in &windows {
            let widen = round >= NEIGHBOURS_AFTER;
            find_violations(chain, curve, v, edges, window, widen, &mut next);
        }
        std::mem::swap(&mut windows, &mut next);
        if windows.is_empty() {
            break;
        }
        if round % FULL_EVERY == FULL_EVERY - 1 {
            windows.clear();
            windows.push((0, m - 1));
        }
    }
    (trial.windows, trial.next) = (windows, next);
    work
}

/// Shifts the blocks of the start to their optima and finds those that are not optimal even so:
/// often there are none. Where a sample of the chain says that most are not, all is one window.
fn violations_of_start(
    chain: &Chain,
    curve: impl Curve,
    v: &mut [f64],
    edges: &mut [EdgeState],
    windows: &mut Vec<(usize, usize)>,
) {
    let last = v.len() - 1;
    let middle = v.len() / 2;
    let sample = (block_start(edges, middle), block_end(edges, middle + v.len() / SAMPLE));
    for range in [sample, (0, last)] {
        balance_blocks(chain, curve, v, edges, range);
        windows.clear();
        find_violations(chain, curve, v, edges, range, false, windows);
        let points: usize = windows.iter().map(|&(a, b)| b - a + 1).sum();
        if 2 * points > range.1 - range.0 + 1 {
            windows.clear();
            windows.push((0, last));
            return;
        }
    }
}

/// Appends the blocks of `range` that are not optimal, with one neighbour on each side if `widen`;
/// windows that touch become one.
fn find_violations(
    chain: &Chain,
    mut curve: impl Curve,
    v: &[f64],
    edges: &[EdgeState],
    range: (usize, usize),
    widen: bool,
    windows: &mut Vec<(usize, usize)>,
) {
    let last = v.len() - 1;
    let mut start = block_start(edges, range.0);
    curve.seek(v[start] + chain.ramp(start));
    while start <= range.1 {
        let end = block_end(edges, start);
        if !block_is_optimal(chain, &mut curve, v, edges, (start, end)) {
            let a = if widen && start > 0 { block_start(edges, start - 1) } else { start };
            let b = if widen && end < last { block_end(edges, end + 1) } else { end };
            match windows.last_mut() {
                Some(before) if before.1 + 1 >= a => {
                    before.0 = before.0.min(a);
                    before.1 = before.1.max(b);
                }
                _ => windows.push((a, b)),
            }
        }
        start = end + 1;
    }
}

/// One Newton pass on a window.
struct Pass<'c, 'a, C> {
    chain: &'c Chain<'a>,
    curve: C,
    stores: &'c mut Stores,
    trial: &'c mut Trial,
    v: &'c mut [f64],
    edges: &'c mut [EdgeState],
}

impl<C: Curve> Pass<'_, '_, C> {
    fn newton(&mut self, (a, b): (usize, usize), trusted: &mut usize) -> CoreWork {
        let chain = self.chain;
        let frame = self.frame((a, b));
        let v = &*self.v;
        let mut curve = self.curve;
        let model = |k: usize| {
            let i = a + k;
            if k == 0 {
                curve.seek(v[i] + chain.ramp(i));
            }
            let (g, h) = curve.eval(v[i] + chain.ramp(i));
            let h = h.min(C::MODEL_SLOPE_MAX);
            (chain.weight(i) * h, v[i] - (g - chain.target(i)) / h)
        };
        let gap = |k: usize| chain.gap(a + k);
        let (tv, tl) = (&mut self.trial.v[a..=b], &mut self.trial.edges[a..b]);
        let work = solve_core(self.stores, &frame, model, gap, tv, tl);
        let alpha = self.step_length((a, b), trusted);
        self.take_step((a, b), alpha);
        balance_blocks(chain, self.curve, self.v, self.edges, (a, b));
        work
    }

    /// The box of a window whose neighbours stay fixed.
    fn frame(&self, (a, b): (usize, usize)) -> Frame {
        let (chain, v) = (self.chain, &*self.v);
        let mut frame = chain.frame;
        if a > 0 {
            frame.lo = v[a - 1];
            frame.hi = v[a - 1] + chain.gap(a - 1);
        }
        if b + 1 < v.len() {
            frame.wall = v[b + 1].max(frame.lo);
            frame.last_min = v[b + 1] - chain.gap(b);
        }
        frame
    }

    /// `φ'(α) = Σ ω (g(y + α δ) - c) δ` along the step from `v` to the trial point, and the size of
    /// the rounding errors in it.
    fn slope(&self, (a, b): (usize, usize), alpha: f64) -> (f64, f64) {
        let (chain, v, t) = (self.chain, &*self.v, &self.trial.v);
        let mut curve = self.curve;
        curve.seek(v[a] + chain.ramp(a));
        let (mut sum, mut noise) = (0.0, 0.0);
        for i in a..=b {
            let delta = t[i] - v[i];
            let at = if alpha == 1.0 { t[i] } else { v[i] + alpha * delta };
            let y = at + chain.ramp(i);
            let (g, h) = curve.eval(y);
            let (w, c) = (chain.weight(i), chain.target(i));
            sum += w * (g - c) * delta;
            noise += w * (g.abs() + c.abs() + h * y.abs()) * delta.abs();
        }
        (sum, 4.0 * f64::EPSILON * noise)
    }

    /// 1 if the slope there says that the objective still falls, or hardly rises; else the
    /// largest tried `α` at which it still falls.
    fn step_length(&self, window: (usize, usize), trusted: &mut usize) -> f64 {
        let (at_one, noise) = self.slope(window, 1.0);
        if at_one <= noise {
            return 1.0;
        }
        let (at_zero, _) = self.slope(window, 0.0);
        if at_zero >= 0.0 {
            // The model promises a descent; only rounding can deny it.
            return 1.0;
        }
        if *trusted > 0 && at_one <= 0.5 * -at_zero {
            *trusted -= 1;
            return 1.0;
        }
        // Regula falsi with halving (Illinois) on the increasing function φ'.
        let (mut low, mut f_low, mut high, mut f_high) = (0.0, at_zero, 1.0, at_one);
        for _ in 0..12 {
            let alpha = (low - f_low * (high - low) / (f_high - f_low))
                .clamp(low + 0.02 * (high - low), high - 0.02 * (high - low));
            if alpha.is_nan() {
                // Both slopes have overflowed: the last point at which it fell.
                break;
            }
            let (value, _) = self.slope(window, alpha);
            if value <= 0.0 {
                (low, f_low) = (alpha, value);
                if value >= 0.1 * at_zero {
                    break;
                }
                f_high *= 0.5;
            } else {
                (high, f_high) = (alpha, value);
                f_low *= 0.5;
            }
        }
        low
    }

    /// `v += α (trial - v)`; after a partial step, and at the edges to the fixed neighbours, the
    /// state is read off the values.
    fn take_step(&mut self, (a, b): (usize, usize), alpha: f64) {
        let last = self.v.len() - 1;
        let (v, edges) = (&mut *self.v, &mut *self.edges);
        let (t, tl) = (&self.trial.v, &self.trial.edges);
        let contact = self.chain.frame.contact();
        if alpha == 1.0 {
            v[a..=b].copy_from_slice(&t[a..=b]);
            edges[a..b].copy_from_slice(&tl[a..b]);
        } else {
            for i in a..=b {
                v[i] += alpha * (t[i] - v[i]);
            }
            for i in a..b {
                edges[i] = state_of(v[i + 1] - v[i], self.chain.gap(i), contact);
            }
        }
        for i in [a.checked_sub(1), (b < last).then_some(b)].into_iter().flatten() {
            edges[i] = state_of(v[i + 1] - v[i], self.chain.gap(i), contact);
        }
    }
}

/// An edge is at a bound if it is within `contact` of it.
fn state_of(rise: f64, gap: f64, contact: f64) -> EdgeState {
    if gap <= contact {
        EdgeState::Tied
    } else if rise <= contact {
        EdgeState::Lower
    } else if rise >= gap - contact {
        EdgeState::Upper
    } else {
        EdgeState::Free
    }
}

/// A feasible start near `u(z)`: the slopes of the old link brought into the bounds, then the two
/// ends into their boxes (`min` with a constant and `max` with the steepest ramp keep the slopes).
pub(super) fn warm_start(
    chain: &Chain,
    curve: &impl Curve,
    v: &mut [f64],
    edges: &mut [EdgeState],
) {
    let Frame { lo, hi, wall, last_min } = chain.frame;
    curve.values_at(chain.scores, |i, u| v[i] = u - chain.ramp(i));
    v[0] = v[0].clamp(lo, hi.min(wall));
    for i in 1..v.len() {
        v[i] = v[i].max(v[i - 1]).min(v[i - 1] + chain.gap(i - 1)).min(wall);
    }
    let mut floor = last_min;
    for i in (0..v.len()).rev() {
        if i + 1 < v.len() {
            floor -= chain.gap(i);
        }
        if floor <= v[i] {
            break;
        }
        v[i] = floor;
    }
    let contact = chain.frame.contact();
    for (i, state) in edges.iter_mut().enumerate() {
        *state = state_of(v[i + 1] - v[i], chain.gap(i), contact);
    }
}

#[cfg(test)]
mod tests {
    use super::curve::{Identity, Units};
    use super::*;
    use EdgeState::{Free, Lower, Tied, Upper};

    fn chain<'a>(scores: &'a [f64], targets: &'a [f64]) -> Chain<'a> {
        Chain {
            scores,
            weights: None,
            targets,
            slope_min: 0.0,
            freedom: 0.125,
            units: Units { origin: 0.0, scale: 1.0 },
            frame: Frame { lo: 0.0, hi: 0.75, wall: 1.0, last_min: 0.25 },
        }
    }

    const SCORES: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    const V: [f64; 6] = [0.25, 0.25, 0.375, 0.4375, 0.5, 0.5];

    #[test]
    fn a_state_is_a_contact() {
        assert_eq!(state_of(0.0, 1.0, 0.1), Lower);
        assert_eq!(state_of(0.1, 1.0, 0.1), Lower);
        assert_eq!(state_of(0.2, 1.0, 0.1), Free);
        assert_eq!(state_of(0.95, 1.0, 0.1), Upper);
        assert_eq!(state_of(0.05, 0.1, 0.1), Tied);
    }

    /// Blocks (0, 1), (2), (3), (4, 5): those that want to move are found, each by itself.
    #[test]
    fn violations_are_found_block_by_block() {
        let edges = [Lower, Free, Free, Free, Lower];
        let find = |targets: [f64; 6], range, widen| {
            let mut windows = Vec::new();
            find_violations(
                &chain(&SCORES, &targets),
                Identity,
                &V,
                &edges,
                range,
                widen,
                &mut windows,
            );
            windows
        };
        assert_eq!(find(V, (0, 5), false), []);
        let mut second = V;
        second[2] = 0.3;
        assert_eq!(find(second, (0, 5), false), [(2, 2)]);
        assert_eq!(find(second, (0, 5), true), [(0, 3)]);
        // Of a range that begins inside of a block the whole block counts, none beyond its end.
        let mut both = V;
        (both[0], both[5]) = (0.0, 0.9);
        assert_eq!(find(both, (0, 5), false), [(0, 1), (4, 5)]);
        // With their neighbours they touch, and are one.
        assert_eq!(find(both, (0, 5), true), [(0, 5)]);
        assert_eq!(find(both, (1, 3), false), [(0, 1)]);
        assert_eq!(find(both, (2, 4), false), [(4, 5)]);
        assert_eq!(find(both, (5, 5), false), [(4, 5)]);
    }

    /// A start whose blocks are right needs no window; a bad one is one window.
    #[test]
    fn the_start_is_balanced_and_judged() {
        let start = |targets: [f64; 6]| {
            let (mut v, mut edges) = (V, [Lower, Free, Free, Free, Lower]);
            let mut windows = vec![(7, 7)];
            let chain = chain(&SCORES, &targets);
            violations_of_start(&chain, Identity, &mut v, &mut edges, &mut windows);
            (v, windows)
        };
        let near = V.map(|v| v + 0.015625);
        assert_eq!(start(near), (near, vec![]));
        // The targets fall: every block is wrong.
        let (_, windows) = start([0.9, 0.8, 0.7, 0.3, 0.2, 0.1]);
        assert_eq!(windows, [(0, 5)]);
        // Only the pair at the end is: its order is reversed.
        let mut last = V;
        (last[4], last[5]) = (0.46875, 0.53125);
        let (_, windows) = start(last);
        assert_eq!(windows, [(4, 5)]);
    }

    /// A window between neighbours that stay; φ' along a step; the step itself.
    #[test]
    fn a_window_is_a_chain_between_its_neighbours() {
        let targets = [0.0, 0.25, 0.5, 0.25, 0.0, 1.0];
        let chain = chain(&SCORES, &targets);
        let (mut v, mut edges) = (V, [Lower, Upper, Free, Free, Lower]);
        let mut stores = Stores::default();
        let mut trial = Trial { v: V.to_vec(), edges: vec![Free; 5], ..Trial::default() };
        (trial.v[2], trial.v[3]) = (0.3125, 0.4375 + 0.03125);
        let mut pass = Pass {
            chain: &chain,
            curve: Identity,
            stores: &mut stores,
            trial: &mut trial,
            v: &mut v,
            edges: &mut edges,
        };
        let as_array = |f: Frame| [f.lo, f.hi, f.wall, f.last_min];
        assert_eq!(as_array(pass.frame((2, 3))), [0.25, 0.375, 0.5, 0.375]);
        assert_eq!(as_array(pass.frame((0, 5))), [0.0, 0.75, 1.0, 0.25]);
        // δ = -1/16, 1/32: φ'(α) = (0.375 - α/16 - 0.5)(-1/16) + (0.4375 + α/32 - 0.25)/32.
        let slope =
            |alpha: f64| (-0.125 - alpha / 16.0) * (-1.0 / 16.0) + (0.1875 + alpha / 32.0) / 32.0;
        for alpha in [0.0, 0.5, 1.0] {
            let (sum, noise) = pass.slope((2, 3), alpha);
            assert!((sum - slope(alpha)).abs() < 1e-17, "{sum}");
            let y = [0.375 - alpha / 16.0, 0.4375 + alpha / 32.0];
            let size = (2.0 * y[0] + 0.5) / 16.0 + (2.0 * y[1] + 0.25) / 32.0;
            assert!((noise / (4.0 * f64::EPSILON) - size).abs() < 1e-15, "{noise}");
        }
        // Half a step: values between, states read off them (gap 0.125), also at the rims.
        pass.take_step((2, 3), 0.5);
        assert_eq!(v, [0.25, 0.25, 0.34375, 0.453125, 0.5, 0.5]);
        assert_eq!(edges, [Lower, Free, Free, Free, Lower]);
        trial.edges[2] = Upper;
        trial.v[2] = 0.25;
        trial.v[3] = 0.375;
        let mut pass = Pass {
            chain: &chain,
            curve: Identity,
            stores: &mut stores,
            trial: &mut trial,
            v: &mut v,
            edges: &mut edges,
        };
        pass.take_step((2, 3), 1.0);
        assert_eq!(v, [0.25, 0.25, 0.25, 0.375, 0.5, 0.5]);
        assert_eq!(edges, [Lower, Lower, Upper, Upper, Lower]);
    }

    /// How far: all the way where the objective still falls there, else to where it falls last.
    #[test]
    fn steps_end_where_the_objective_rises() {
        let length = |target: f64, trusted: &mut usize| {
            let targets = [0.25, 0.25, target, 0.4375, 0.5, 0.5];
            let chain = chain(&SCORES, &targets);
            let (mut v, mut edges) = (V, [Lower, Free, Free, Free, Lower]);
            let mut stores = Stores::default();
            let mut trial = Trial { v: V.to_vec(), edges: vec![Free; 5], ..Trial::default() };
            // From 0.375 down to 0.25.
            trial.v[2] = 0.25;
            let (stores, trial) = (&mut stores, &mut trial);
            let (v, edges) = (&mut v[..], &mut edges[..]);
            Pass { chain: &chain, curve: Identity, stores, trial, v, edges }
                .step_length((2, 2), trusted)
        };
        let mut trusted = 1;
        assert_eq!(length(0.125, &mut trusted), 1.0);
        assert_eq!(length(0.25, &mut trusted), 1.0);
        assert_eq!(trusted, 1);
        // At 0.28125 it overshoots by a third of the slope: taken once on trust.
        assert_eq!(length(0.28125, &mut trusted), 1.0);
        assert_eq!(trusted, 0);
        // φ' is affine: regula falsi finds its root, 3/4 of the way.
        let alpha = length(0.28125, &mut trusted);
        assert!((0.675..=0.75).contains(&alpha), "{alpha}");
        // Overshoots by more than half of the slope: not even on trust.
        let mut trusted = 1;
        let alpha = length(0.34375, &mut trusted);
        assert!((0.225..=0.25).contains(&alpha) && trusted == 1, "{alpha}");
        // No descent at all: only rounding can say so.
        assert_eq!(length(0.4375, &mut trusted), 1.0);
    }

    /// The old link at the new scores, brought into slopes and boxes.
    #[test]
    fn the_start_is_feasible_and_near() {
        let start = |chain: &Chain| {
            let (mut v, mut edges) = ([0.0; 4], [Free; 3]);
            // Identity: the value at a score is the score.
            warm_start(chain, &Identity, &mut v, &mut edges);
            (v, edges)
        };
        let mut chain = chain(&[0.25, 0.5, 0.5, 0.75], &[0.0; 4]);
        chain.freedom = 2.0;
        assert_eq!(start(&chain), ([0.25, 0.5, 0.5, 0.75], [Free, Tied, Free]));
        // Half the slope allowed: at its bound.
        chain.freedom = 0.5;
        assert_eq!(start(&chain), ([0.25, 0.375, 0.375, 0.5], [Upper, Tied, Upper]));
        // A wall, a floor for the last value, a box for the first.
        chain.freedom = 2.0;
        chain.frame.wall = 0.5;
        assert_eq!(start(&chain), ([0.25, 0.5, 0.5, 0.5], [Free, Tied, Lower]));
        chain.frame = Frame { lo: 0.0, hi: 0.125, wall: 1.0, last_min: 0.875 };
        chain.freedom = 1.75;
        assert_eq!(start(&chain), ([0.125, 0.5, 0.5, 0.875], [Free, Tied, Free]));
        chain.frame = Frame { lo: 0.375, hi: 1.0, wall: 1.0, last_min: 0.0 };
        assert_eq!(start(&chain).0, [0.375, 0.5, 0.5, 0.75]);
        chain.slope_min = 0.5;
        assert_eq!(start(&chain).0, [0.375, 0.375, 0.375, 0.5]);
    }
}
