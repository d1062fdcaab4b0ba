//! Long chains: what a coarse chain is sure of is held rigid, the rest is solved, all is checked.
//!
//! A run of edges that are taken to be at a bound, be it the lower or the upper one, is a rigid
//! piece: one number says where it stands. With the rises inside the pieces taken out, the pieces
//! are again a chain, and with noisy targets a much shorter one, since all but a few edges are at a
//! bound. Its solution is that of the long chain if the multipliers inside the pieces have the
//! right signs. Where one has not, the piece is broken there and the chain solved again. Pieces are
//! only ever broken, so this ends, and the answer is as exact as that of the whole chain. Knots,
//! which take most of the time and the memory, are needed for the pieces only.

mod coarse;

use crate::chain::certificate::{Signs, signs};
use crate::chain::core::{CoreWork, Grid, HALVED, Stores, solve_whole};
use crate::chain::general::blocks::Chain;
use crate::chain::general::curve::Identity;
use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;
use crate::special::Sum;
use coarse::Coarse;

/// Chains at least this long are reduced.
pub(super) const LONG: usize = 4096;
/// A chain with more pieces than one in so many points is solved as a whole.
pub(super) const SHARE: usize = 3;
/// So is one that still has a wrong sign after so many solves: 1 to 3 is usual.
const ROUNDS: usize = 8;
/// An edge is held if its multiplier is this far from 0, in steps from one point to the next.
const MARGIN: f64 = 2.0;

/// A rigid piece; most are single points.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Its first point.
    first: usize,
    weight: f64,
    /// Mean of `t_i` less the rise from the first point of the chain to `i` inside of pieces.
    target: f64,
    /// That rise for its first point.
    rise: f64,
    /// `d` of the edge behind it.
    gap: f64,
}

/// The pieces and their solution, kept between solves.
#[derive(Debug, Default)]
pub(super) struct Reduced {
    coarse: Coarse,
    pieces: Vec<Piece>,
    v: Vec<f64>,
    edges: Vec<EdgeState>,
}

impl Reduced {
    /// Minimises `½ Σ ω (v - t)²` on the chain: `v` and `edges` are written, and the multipliers
    /// are right within `tolerance` but for rounding. `None` if the chain does not reduce to at
    /// most `most` pieces.
    pub fn solve(
        &mut self,
        stores: &mut [Stores; 2],
        chain: &Chain,
        (tolerance, most): (f64, usize),
        v: &mut [f64],
        edges: &mut [EdgeState],
    ) -> Option<(CoreWork, Signs)> {
        // Relative to `lo`, gaps on the grid: rises add up without rounding.
        let Frame { lo, hi, wall, last_min } = chain.frame;
        let grid = Grid::new(wall - lo);
        let span = grid.round(wall - lo);
        let frame = Frame { lo: 0.0, hi: hi - lo, wall: span, last_min: last_min - lo };
        let point = |i: usize| (chain.weight(i), (chain.targets[i] - chain.ramp(i)) - lo);
        let gap = |i: usize| grid.round(chain.gap(i));

        let (mut work, step) = self.coarse.solve(stores, &frame, v.len(), point, gap);
        if self.coarse.unknown() > most {
            return None;
        }
        let margin = MARGIN * step;
        self.coarse.guess(point, gap, span, margin, edges);
        for _ in 0..ROUNDS {
            let rise = self.gather(point, gap, most, edges)?;
            if rise > span {
                return None;
            }
            let last_min = frame.last_min - rise;
            work += self.solve_pieces(stores, &Frame { wall: span - rise, last_min, ..frame });
            self.spread(lo, gap, v, edges);
            if v[v.len() - 1] < chain.frame.last_min - chain.frame.contact() {
                return None;
            }
            let signs = signs(chain, Identity, v, edges);
            if signs.residual <= tolerance
                || !self.break_pieces(chain, signs.start, 0.5 * margin, v, edges)
            {
                return Some((work, signs));
            }
        }
        None
    }

    /// The pieces between the free edges, at most `most`; answers with the rise inside of them.
    fn gather(
        &mut self,
        point: impl Fn(usize) -> (f64, f64),
        gap: impl Fn(usize) -> f64,
        most: usize,
        edges: &[EdgeState],
    ) -> Option<f64> {
        self.pieces.clear();
        let (mut first, mut rise) = (0, 0.0);
        while first <= edges.len() {
            if self.pieces.len() == most {
                return None;
            }
            let start = rise;
            let (mut weight, mut sum) = (Sum::default(), Sum::default());
            let mut i = first;
            let behind = loop {
                let (w, t) = point(i);
                weight.add(w);
                sum.add(w * (t - rise));
                match edges.get(i) {
                    Some(EdgeState::Lower | EdgeState::Tied) => {}
                    Some(EdgeState::Upper) => rise += gap(i),
                    Some(EdgeState::Free) => break gap(i),
                    None => break 0.0,
                }
                i += 1;
            };
            let (weight, sum) = (weight.value(), sum.value());
            self.pieces.push(Piece {
                first,
                weight,
                target: sum / weight,
                rise: start,
                gap: behind,
            });
            first = i + 1;
        }
        Some(rise)
    }

    fn solve_pieces(&mut self, stores: &mut [Stores; 2], frame: &Frame) -> CoreWork {
        let pieces = &self.pieces;
        self.v.resize(pieces.len(), 0.0);
        self.edges.resize(pieces.len() - 1, EdgeState::Free);
        let point = |k: usize| (pieces[k].weight, pieces[k].target);
        let gap = |k: usize| pieces[k].gap;
        solve_whole::<HALVED>(stores, frame, point, gap, &mut self.v, &mut self.edges)
    }

    /// The points of piece `k` of a chain of `m` points.
    fn points(&self, k: usize, m: usize) -> std::ops::Range<usize> {
        self.pieces[k].first..self.pieces.get(k + 1).map_or(m, |next| next.first)
    }

    /// From the pieces to the points; the edges between the pieces get their state.
    fn spread(&self, lo: f64, gap: impl Fn(usize) -> f64, v: &mut [f64], edges: &mut [EdgeState]) {
        for (k, piece) in self.pieces.iter().enumerate() {
            let points = self.points(k, v.len());
            let last = points.end - 1;
            let mut at = self.v[k] + piece.rise;
            for i in points {
                v[i] = at + lo;
                if i < last && edges[i] == EdgeState::Upper {
                    at += gap(i);
                }
            }
            if let Some(&state) = self.edges.get(k) {
                edges[last] = state;
            }
        }
    }

    /// Sets free the edges between the pieces, and those inside whose multiplier is of the wrong
    /// sign or within `margin` of it. False, and nothing done, if there is none inside.
    fn break_pieces(
        &self,
        chain: &Chain,
        start: f64,
        margin: f64,
        v: &[f64],
        edges: &mut [EdgeState],
    ) -> bool {
        let mut kappa = Sum::default();
        kappa.add(start);
        let mut broken = false;
        for k in 0..self.pieces.len() {
            let points = self.points(k, v.len());
            let last = points.end - 1;
            for i in points {
                kappa.add(chain.weight(i) * ((v[i] + chain.ramp(i)) - chain.targets[i]));
                let wrong = i < last
                    && match edges[i] {
                        EdgeState::Lower => kappa.value() > -margin,
                        EdgeState::Upper => kappa.value() < margin,
                        EdgeState::Free | EdgeState::Tied => false,
                    };
                if wrong {
                    edges[i] = EdgeState::Free;
                    broken = true;
                }
            }
        }
        if broken {
            for piece in &self.pieces[1..] {
                let edge = &mut edges[piece.first - 1];
                if *edge != EdgeState::Tied {
                    *edge = EdgeState::Free;
                }
            }
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chain::general::curve::Units;
    use crate::chain::problem::Objective;
    use crate::congruence::Congruence;

    /// A chain of noisy targets around a rising curve; scores with ties and wide gaps.
    #[derive(Debug, Clone)]
    struct Case {
        scores: Vec<f64>,
        weights: Vec<f64>,
        targets: Vec<f64>,
        slope_min: f64,
        freedom: f64,
        frame: Frame,
    }

    fn cases() -> impl Strategy<Value = Case> {
        let step = prop_oneof![6 => 0.0..0.02_f64, 1 => Just(0.0), 1 => Just(0.01), 1 => 0.0..1.0];
        let weight = prop_oneof![6 => Just(1.0), 2 => 0.1..3.0_f64, 1 => Just(30.0)];
        let noise = prop_oneof![Just(-0.5), Just(0.5), -0.5..0.5_f64];
        let bounds = (0.0..0.01_f64, prop_oneof![0.01..2.0_f64, Just(20.0), Just(f64::INFINITY)]);
        let low = prop_oneof![Just(0.0), -0.5..0.5_f64];
        let ends = (low, prop_oneof![Just((1.0, 0.0)), (0.0..1.0_f64, 0.0..1.0_f64)]);
        (prop_oneof![20..80usize, 300..900usize], 0.0..1.2_f64).prop_flat_map(
            move |(m, loudness)| {
                let points =
                    prop::collection::vec((step.clone(), weight.clone(), noise.clone()), m);
                (points, bounds.clone(), ends.clone()).prop_map(
                    move |(points, (slope_min, freedom), (lo, (hi, share)))| {
                        let mut z = 0.0;
                        let scores: Vec<f64> = points
                            .iter()
                            .map(|point| {
                                z += point.0;
                                z
                            })
                            .collect();
                        let range = z - scores[0];
                        let slope_min = slope_min.min(0.5 / (range + 1e-9));
                        let target = |(i, point): (usize, &(f64, f64, f64))| {
                            lo + (i as f64 / m as f64).powi(2) + loudness * point.2
                        };
                        let width = 1.0 - slope_min * range;
                        let rise = if range > 0.0 { freedom * range } else { 0.0 };
                        let last_min = lo + share * width.min(hi + rise);
                        let frame = Frame { lo, hi: lo + hi, wall: lo + width, last_min };
                        Case {
                            weights: points.iter().map(|point| point.1).collect(),
                            targets: points.iter().enumerate().map(target).collect(),
                            scores,
                            slope_min,
                            freedom,
                            frame,
                        }
                    },
                )
            },
        )
    }

    fn chain(case: &Case) -> Chain<'_> {
        Chain {
            scores: &case.scores,
            weights: Some(&case.weights),
            targets: &case.targets,
            slope_min: case.slope_min,
            freedom: case.freedom,
            units: Units::new(&Objective::Quadratic { targets: &case.targets }),
            frame: case.frame,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Strictly convex: the minimiser is unique, so pieces and whole must lead to it, however
        /// bad the guess was.
        #[test]
        fn pieces_and_whole_agree(case in cases()) {
            let chain = chain(&case);
            let m = chain.len();
            let mut whole = (vec![0.0; m], vec![EdgeState::Free; m - 1]);
            let mut pieces = whole.clone();
            let point = |i: usize| (chain.weight(i), chain.targets[i] - chain.ramp(i));
            let gap = |i: usize| chain.gap(i);
            let stores = &mut <[Stores; 2]>::default();
            solve_whole::<HALVED>(stores, &chain.frame, point, gap, &mut whole.0, &mut whole.1);
            let limits = (1e-12, m);
            let mut reduced = Reduced::default();
            let solved = reduced.solve(stores, &chain, limits, &mut pieces.0, &mut pieces.1);
            // Some guesses are infeasible; those chains are solved as a whole.
            prop_assume!(solved.is_some());
            for i in 0..m {
                let off = (whole.0[i] - pieces.0[i]).abs();
                prop_assert!(off < 1e-10, "{i}: {} {}", whole.0[i], pieces.0[i]);
            }
            for i in 0..m - 1 {
                let (rise, d) = (pieces.0[i + 1] - pieces.0[i], chain.gap(i));
                prop_assert!(rise >= -1e-15 && rise <= d + 1e-15, "{i}: {rise} {d}");
                let off = match pieces.1[i] {
                    EdgeState::Lower | EdgeState::Tied => rise,
                    EdgeState::Upper => rise - d,
                    EdgeState::Free => 0.0,
                };
                prop_assert!(off.abs() < 1e-15, "{i}: {:?} {rise} {d}", pieces.1[i]);
            }
        }
    }

    /// What it is for: labels leave few pieces.
    #[test]
    fn labels_leave_few_pieces() {
        let m = 50_000;
        let mut random = Congruence(1);
        let mut uniform = || random.uniform();
        let scores: Vec<f64> = (0..m).map(|i| 8.0 * i as f64 / m as f64 - 4.0).collect();
        let label = |z: &f64| f64::from(u8::from(uniform() < 1.0 / (1.0 + (-z).exp())));
        let targets: Vec<f64> = scores.iter().map(label).collect();
        let frame = Frame { lo: 0.0, hi: 1.0, wall: 1.0 - 0.08, last_min: f64::NEG_INFINITY };
        let (weights, slope_min, freedom) = (vec![1.0; m], 0.01, 0.99);
        let case = Case { scores, weights, targets, slope_min, freedom, frame };
        let (mut v, mut edges) = (vec![0.0; m], vec![EdgeState::Free; m - 1]);
        let mut reduced = Reduced::default();
        let stores = &mut <[Stores; 2]>::default();
        let limits = (1e-15 * m as f64, m / SHARE);
        let solved = reduced.solve(stores, &chain(&case), limits, &mut v, &mut edges);
        assert!(solved.is_some_and(|(_, signs)| signs.residual <= limits.0));
        assert!(reduced.pieces.len() < m / 6, "{} pieces", reduced.pieces.len());
    }
}
