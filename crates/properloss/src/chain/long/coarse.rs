//! A guess at the active set of a long chain: the same problem on groups of neighbouring points.
//!
//! A group stands where its middle point stands, and has the weight and the mean target of its
//! points. Its multipliers, continued point by point inside the groups, are near to those of the
//! long chain; and the sign of a multiplier says at which bound its edge is.

use rayon::prelude::*;

use crate::chain::core::{CoreWork, HALVED, Stores, solve_whole};
use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;

/// Points of a group: more make the guess worse, fewer make it dearer.
const GROUP: usize = 16;
/// Groups that one thread works on at a time.
const TASK: usize = 512;

/// The coarse chain and its solution.
#[derive(Debug, Default)]
pub(super) struct Coarse {
    groups: Vec<Group>,
    v: Vec<f64>,
    edges: Vec<EdgeState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group {
    weight: f64,
    /// Mean of the targets.
    target: f64,
    /// `Σ d_i` from its middle to that of the next group.
    gap: f64,
    /// `κ` before its first point.
    kappa: f64,
}

impl Coarse {
    /// Gathers and solves the coarse chain of `m` points. Answers with what a multiplier changes
    /// by from one point to the next: the root mean square of `ω_i (t_i - mean of the group)`.
    pub fn solve(
        &mut self,
        stores: &mut [Stores; 2],
        frame: &Frame,
        m: usize,
        point: impl Fn(usize) -> (f64, f64) + Sync,
        gap: impl Fn(usize) -> f64 + Sync,
    ) -> (CoreWork, f64) {
        let count = m.div_ceil(GROUP);
        let middle = |k: usize| (k * GROUP).midpoint(((k + 1) * GROUP).min(m));
        self.groups.resize(count, Group::default());
        let squares: Vec<f64> = self
            .groups
            .par_chunks_mut(TASK)
            .enumerate()
            .map(|(task, groups)| {
                let mut squares = 0.0;
                for (k, group) in (task * TASK..).zip(groups) {
                    let points = k * GROUP..((k + 1) * GROUP).min(m);
                    let (weight, sum) = points
                        .clone()
                        .map(&point)
                        .fold((0.0, 0.0), |s, (w, t)| (s.0 + w, s.1 + w * t));
                    let target = sum / weight;
                    let off = |i| {
                        let (w, t) = point(i);
                        w * (t - target)
                    };
                    squares += points.map(off).map(|x| x * x).sum::<f64>();
                    let gaps = if k + 1 < count { middle(k)..middle(k + 1) } else { 0..0 };
                    *group = Group { weight, target, gap: gaps.map(&gap).sum(), kappa: 0.0 };
                }
                squares
            })
            .collect();
        self.v.resize(count, 0.0);
        self.edges.resize(count - 1, EdgeState::Free);
        let groups = &self.groups;
        let (point, gap) =
            (|k: usize| (groups[k].weight, groups[k].target), |k: usize| groups[k].gap);
        let work = solve_whole::<HALVED>(stores, frame, point, gap, &mut self.v, &mut self.edges);
        self.multipliers(frame);
        (work, (squares.iter().sum::<f64>() / m as f64).sqrt())
    }

    /// `κ` before each group. `κ_0` is 0 if the first value is inside its box, else what the signs
    /// of the others ask for.
    fn multipliers(&mut self, frame: &Frame) {
        let contact = frame.contact();
        let mut least = if self.v[0] <= frame.lo + contact { f64::NEG_INFINITY } else { 0.0 };
        let mut most = if self.v[0] >= frame.hi - contact { f64::INFINITY } else { 0.0 };
        let mut kappa = 0.0;
        for (k, group) in self.groups.iter_mut().enumerate() {
            group.kappa = kappa;
            kappa += group.weight * (self.v[k] - group.target);
            match self.edges.get(k) {
                Some(EdgeState::Lower) => most = f64::min(most, -kappa),
                Some(EdgeState::Upper) => least = f64::max(least, -kappa),
                Some(EdgeState::Free) => {
                    most = f64::min(most, -kappa);
                    least = f64::max(least, -kappa);
                }
                Some(EdgeState::Tied) | None => {}
            }
        }
        let start = match (least.is_finite(), most.is_finite()) {
            (true, true) => least.midpoint(most),
            (true, false) => least,
            (false, true) => most,
            (false, false) => 0.0,
        };
        self.groups.iter_mut().for_each(|group| group.kappa += start);
    }

    /// At least so many edges of the points will not be guessed.
    pub fn unknown(&self) -> usize {
        GROUP * self.edges.iter().filter(|&&state| state == EdgeState::Free).count()
    }

    /// Writes the guess into `edges`: `Free` where a multiplier is within `margin` of 0, or a
    /// coarse edge next to it is free. `span` is the width of the box.
    pub fn guess(
        &self,
        point: impl Fn(usize) -> (f64, f64) + Sync,
        gap: impl Fn(usize) -> f64 + Sync,
        span: f64,
        margin: f64,
        edges: &mut [EdgeState],
    ) {
        let free = |k: Option<usize>| k.and_then(|k| self.edges.get(k)) == Some(&EdgeState::Free);
        edges.par_chunks_mut(GROUP * TASK).enumerate().for_each(|(task, edges)| {
            for (k, edges) in (task * TASK..).zip(edges.chunks_mut(GROUP)) {
                let unknown = free(k.checked_sub(1)) || free(Some(k));
                let mut kappa = self.groups[k].kappa;
                for (i, edge) in (k * GROUP..).zip(edges) {
                    let (w, t) = point(i);
                    kappa += w * (self.v[k] - t);
                    let d = gap(i);
                    *edge = if d <= 0.0 {
                        EdgeState::Tied
                    } else if unknown {
                        EdgeState::Free
                    } else if kappa < -margin {
                        EdgeState::Lower
                    } else if kappa > margin && d < span {
                        EdgeState::Upper
                    } else {
                        EdgeState::Free
                    };
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EdgeState::{Free, Lower, Tied, Upper};

    const FRAME: Frame = Frame { lo: 0.0, hi: 1.0, wall: 1.0, last_min: 0.0 };

    /// 40 points are groups of 16, 16 and 8.
    #[test]
    fn groups_are_means_and_gaps_between_middles() {
        let point = |i: usize| (1.0 + (i % 2) as f64, if i < 16 { 0.25 } else { (i % 2) as f64 });
        let mut coarse = Coarse::default();
        let stores = &mut <[Stores; 2]>::default();
        let (_, step) = coarse.solve(stores, &FRAME, 40, point, |i| 0.001 * (i + 1) as f64);
        let sums: Vec<f64> = coarse.groups.iter().map(|g| g.weight).collect();
        assert_eq!(sums, [24.0, 24.0, 12.0]);
        let targets: Vec<f64> = coarse.groups.iter().map(|g| g.target).collect();
        assert_eq!(targets, [0.25, 2.0 / 3.0, 2.0 / 3.0]);
        // From 8 to 24, and from 24 to 36.
        let between = |a: usize, b: usize| 0.001 * (a + 1..=b).sum::<usize>() as f64;
        let gaps = [between(8, 24), between(24, 36), 0.0];
        assert!(coarse.groups.iter().zip(gaps).all(|(g, gap)| (g.gap - gap).abs() < 1e-15));
        // Weighted distances 2/3 (weight 1) and 2/3 (weight 2 times 1/3) in 24 of 40 points.
        assert!((step - (24.0 * 4.0 / 9.0 / 40.0_f64).sqrt()).abs() < 1e-15, "{step}");
    }

    fn solved(v: &[f64], edges: &[EdgeState], targets: &[f64]) -> Coarse {
        let group = |&target: &f64| Group { weight: 2.0, target, gap: 0.5, kappa: 0.0 };
        Coarse { groups: targets.iter().map(group).collect(), v: v.to_vec(), edges: edges.to_vec() }
    }

    fn kappas(mut coarse: Coarse) -> Vec<f64> {
        coarse.multipliers(&FRAME);
        coarse.groups.iter().map(|group| group.kappa).collect()
    }

    /// κ is 2 (v - t) added up, from the start that the signs ask for.
    #[test]
    fn multipliers_begin_where_the_signs_ask() {
        let edges = [Lower, Free, Upper];
        let inner = solved(&[0.25, 0.5, 0.5, 0.75], &edges, &[0.5, 0.25, 0.25, 0.75]);
        assert_eq!(kappas(inner), [0.0, -0.5, 0.0, 0.5]);
        // At the lower bound: κ_0 <= 0; the sums 1, 1.5, 1.5 at a lower and two upper edges.
        let low = solved(&[0.0, 0.5, 0.5, 0.75], &[Lower, Upper, Upper], &[-0.5, 0.25, 0.5, 0.75]);
        assert_eq!(kappas(low), [-1.25, -0.25, 0.25, 0.25]);
        let high = solved(&[1.0, 1.0, 1.0, 1.0], &[Upper, Tied, Upper], &[1.25, 1.5, 1.0, 1.0]);
        assert_eq!(kappas(high)[0], 1.5);
    }

    #[test]
    fn free_edges_are_not_guessed() {
        let coarse = |edges: &[EdgeState]| solved(&[0.5; 3], edges, &[0.5; 3]);
        assert_eq!(coarse(&[Lower, Upper]).unknown(), 0);
        assert_eq!(coarse(&[Free, Upper]).unknown(), 16);
        assert_eq!(coarse(&[Free, Free]).unknown(), 32);
    }

    /// Within the margin of 0 nothing is said; beyond it the sign decides.
    #[test]
    fn guesses_follow_the_sign_of_the_multiplier() {
        let guess = |edges: &[EdgeState], target: f64, gap: f64| {
            let coarse = solved(&[0.5; 3], edges, &[0.5; 3]);
            let mut found = vec![Free; 39];
            coarse.guess(|_| (1.0, target), |_| gap, 1.0, 1.0, &mut found);
            found
        };
        // κ = 0.25 (i + 1) within a group: beyond 1 from the fifth on.
        let up = guess(&[Lower, Lower], 0.25, 0.1);
        assert_eq!((&up[..4], &up[4..16], up[16]), (&[Free; 4][..], &[Upper; 12][..], Free));
        assert_eq!((up[19], up[20], up[38]), (Free, Upper, Upper));
        let down = guess(&[Lower, Lower], 0.75, 0.1);
        assert_eq!((down[3], down[4], down[15]), (Free, Lower, Lower));
        // An edge as wide as the box has no upper bound; one of no width is tied.
        assert!(guess(&[Lower, Lower], 0.25, 1.0).iter().all(|&state| state == Free));
        assert!(guess(&[Lower, Lower], 0.75, 0.0).iter().all(|&state| state == Tied));
        // Beside a free edge of the groups nothing is guessed.
        let beside = guess(&[Free, Lower], 0.25, 0.1);
        assert!(beside[..32].iter().all(|&state| state == Free) && beside[38] == Upper);
    }
}
