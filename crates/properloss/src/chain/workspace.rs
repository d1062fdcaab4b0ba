//! `solve`, and the buffers it keeps between calls.

use super::certificate::{Certificate, certify, signs, with_gap};
use super::core::{CoreWork, HALVED, Stores, solve_whole};
use super::general::blocks::{Chain, balance_blocks};
use super::general::curve::{Curve, Identity, Pieces, Smooth, Units};
use super::general::zero_weights::Compacted;
use super::general::{Trial, minimise, warm_start};
use super::long::{LONG, Reduced, SHARE};
use super::problem::{ChainProblem, Objective, Validated};
use super::solution::{ChainSolution, EdgeState};
use crate::error::Result;

/// Solves the problem; allocates what it needs. For repeated solves use a [`Workspace`].
pub fn solve(problem: &ChainProblem) -> Result<ChainSolution> {
    let mut workspace = Workspace::new();
    workspace.solve(problem)?;
    Ok(workspace.into_solution())
}

/// Buffers for repeated solves: after the first solve of a size no memory is allocated, unless a
/// later one needs more knots.
#[derive(Debug, Default)]
pub struct Workspace {
    solution: ChainSolution,
    /// For the two halves of a chain; the first serves a whole one.
    stores: [Stores; 2],
    reduced: Reduced,
    trial: Trial,
    compacted: Compacted,
}

/// Residual, in units of the weights, above which the blocks are balanced once more.
const POLISH: f64 = 1e-15;

impl Workspace {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }

    /// The last solution.
    pub fn solution(&self) -> &ChainSolution {
        &self.solution
    }

    /// The last solution, by value.
    pub fn into_solution(self) -> ChainSolution {
        self.solution
    }

    /// Solves the problem into the workspace.
    ///
    /// With a Bregman objective the start is `u(z)`, the previous link at the new scores, brought
    /// into the bounds; nothing else is carried over from earlier solves, so the answer does not
    /// depend on them.
    pub fn solve(&mut self, problem: &ChainProblem) -> Result<&ChainSolution> {
        let checked = problem.validate()?;
        if checked.has_zero {
            let mut compacted = std::mem::take(&mut self.compacted);
            compacted.gather(problem, &checked.frame);
            if compacted.is_empty() {
                compacted.spread_nothing(problem, &checked.frame, &mut self.solution);
            } else {
                let inner = compacted.problem(problem);
                self.solve_positive(&inner, &checked, Some(&compacted));
                compacted.spread(problem, &checked.frame, &mut self.solution);
            }
            self.compacted = compacted;
        } else {
            self.solve_positive(problem, &checked, None);
        }
        Ok(&self.solution)
    }

    /// All weights positive.
    fn solve_positive(
        &mut self,
        problem: &ChainProblem,
        checked: &Validated,
        compacted: Option<&Compacted>,
    ) {
        let m = problem.len();
        let chain = Chain {
            scores: problem.scores,
            weights: problem.weights,
            targets: problem.objective.targets(),
            slope_min: problem.slope_min,
            freedom: problem.slope_max - problem.slope_min,
            units: Units::new(&problem.objective),
            frame: compacted.map_or(checked.frame, |c| c.frame),
        };
        self.solution.values.resize(m, 0.0);
        self.solution.edges.resize(m - 1, EdgeState::Free);
        let total = checked.total_weight;
        match problem.objective {
            Objective::Quadratic { .. } => self.solve_quadratic(&chain, total),
            Objective::Bregman { link, .. } => match link.as_piecewise() {
                Some(pieces) => self.solve_general(&chain, Pieces::new(pieces, chain.units), total),
                None => self.solve_general(&chain, Smooth { link, units: chain.units }, total),
            },
        }
        let solution = &mut self.solution;
        (solution.slope_min, solution.slope_max) = (problem.slope_min, problem.slope_max);
        for i in 0..m {
            solution.values[i] += chain.ramp(i);
        }
        if compacted.is_none() {
            settle_ends(problem, &mut solution.values);
        }
    }

    fn solve_quadratic(&mut self, chain: &Chain, total_weight: f64) {
        let solution = &mut self.solution;
        let (v, edges) = (&mut solution.values[..], &mut solution.edges[..]);
        let tolerance = POLISH * total_weight;
        let reduced = if chain.len() >= LONG {
            let limits = (tolerance, chain.len() / SHARE);
            self.reduced.solve(&mut self.stores, chain, limits, v, edges)
        } else {
            None
        };
        let (work, mut found) = reduced.unwrap_or_else(|| {
            let point = |i: usize| (chain.weight(i), chain.targets[i] - chain.ramp(i));
            let gap = |i: usize| chain.gap(i);
            let work = solve_whole::<HALVED>(&mut self.stores, &chain.frame, point, gap, v, edges);
            (work, signs(chain, Identity, v, edges))
        });
        if found.residual > tolerance {
            balance_blocks(chain, Identity, v, edges, (0, chain.len() - 1));
            found = signs(chain, Identity, v, edges);
        }
        let certificate = with_gap(chain, Identity, v, edges, &found);
        write_certificate(solution, &certificate, &work, 1, total_weight, 1.0);
    }

    fn solve_general(&mut self, chain: &Chain, curve: impl Curve, total_weight: f64) {
        let solution = &mut self.solution;
        let (v, edges) = (&mut solution.values[..], &mut solution.edges[..]);
        warm_start(chain, &curve, v, edges);
        let work = minimise(chain, curve, &mut self.stores[0], &mut self.trial, v, edges);
        let certificate = certify(chain, curve, v, edges);
        let passes = work.points.div_ceil(chain.len());
        let scale = chain.units.scale;
        write_certificate(solution, &certificate, &work.core, passes, total_weight, scale);
    }
}

/// The two ends into their boxes, which they leave by a rounding at most; ties go with them.
fn settle_ends(problem: &ChainProblem, values: &mut [f64]) {
    let (z, last) = (problem.scores, values.len() - 1);
    let first = values[0].clamp(problem.first.0, problem.first.1);
    for i in 0..=last {
        if z[i] > z[0] {
            break;
        }
        values[i] = first;
    }
    let end = values[last].max(problem.last.0).min(problem.last.1);
    for i in (0..=last).rev() {
        if z[i] < z[last] {
            break;
        }
        values[i] = end;
    }
}

fn write_certificate(
    solution: &mut ChainSolution,
    certificate: &Certificate,
    core: &CoreWork,
    passes: usize,
    total_weight: f64,
    scale: f64,
) {
    // Back from the scaled scores; the scale is a power of two.
    solution.kkt_residual = certificate.residual / scale / total_weight;
    solution.duality_gap = certificate.gap / scale;
    (solution.first, solution.last) = (certificate.first, certificate.last);
    solution.passes = passes;
    solution.knot_moves = core.moves;
    solution.used_tree = core.on_tree;
}
