//! Points of weight 0: left out of the solve, then put back on a feasible line.

use crate::chain::problem::{ChainProblem, Frame, Objective};
use crate::chain::solution::{ChainSolution, EdgeState, EndState};

/// The points of positive weight, and the box they are left with.
#[derive(Debug)]
pub(in crate::chain) struct Compacted {
    rows: Vec<u32>,
    scores: Vec<f64>,
    weights: Vec<f64>,
    targets: Vec<f64>,
    spare: Vec<f64>,
    spare_edges: Vec<EdgeState>,
    pub frame: Frame,
}

impl Default for Compacted {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            scores: Vec::new(),
            weights: Vec::new(),
            targets: Vec::new(),
            spare: Vec::new(),
            spare_edges: Vec::new(),
            frame: Frame { lo: 0.0, hi: 0.0, wall: 0.0, last_min: 0.0 },
        }
    }
}

impl Compacted {
    /// Copies the points of positive weight. In the variables `v` (whose ramp now starts at the
    /// first point kept) leading and trailing points only widen the two boxes:
    /// `v_first ∈ [lo, hi + d]`, `v_last ∈ [low - d, wall]`.
    pub fn gather(&mut self, problem: &ChainProblem, frame: &Frame) {
        self.rows.clear();
        self.scores.clear();
        self.weights.clear();
        self.targets.clear();
        let targets = problem.objective.targets();
        for (i, &z) in problem.scores.iter().enumerate() {
            let w = problem.weight(i);
            if w > 0.0 {
                self.rows.push(i as u32);
                self.scores.push(z);
                self.weights.push(w);
                self.targets.push(targets[i]);
            }
        }
        let (Some(&a), Some(&b)) = (self.rows.first(), self.rows.last()) else { return };
        let (a, b) = (a as usize, b as usize);
        let freedom = problem.slope_max - problem.slope_min;
        let reach = |dz: f64| if dz > 0.0 { freedom * dz } else { 0.0 };
        let before = reach(problem.scores[a] - problem.scores[0]);
        let after = reach(problem.scores[problem.len() - 1] - problem.scores[b]);
        let offset = problem.ramp(a);
        self.frame = Frame {
            lo: frame.lo + offset,
            hi: frame.hi + before + offset,
            wall: frame.wall + offset,
            last_min: frame.last_min - after + offset,
        };
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The problem without the points of weight 0; its box is `self.frame`.
    pub fn problem<'a>(&'a self, original: &ChainProblem<'a>) -> ChainProblem<'a> {
        let objective = match original.objective {
            Objective::Quadratic { .. } => Objective::Quadratic { targets: &self.targets },
            Objective::Bregman { link, .. } => {
                Objective::Bregman { link, target_scores: &self.targets }
            }
        };
        ChainProblem { scores: &self.scores, weights: Some(&self.weights), objective, ..*original }
    }

    /// Puts the left-out points on the line between their neighbours, and beyond the ends on the
    /// line with the slope nearest to `n` that meets the box.
    pub fn spread(&mut self, problem: &ChainProblem, frame: &Frame, solution: &mut ChainSolution) {
        let m = problem.len();
        let z = problem.scores;
        let (n, top) = (problem.slope_min, problem.last.1);
        std::mem::swap(&mut self.spare, &mut solution.values);
        std::mem::swap(&mut self.spare_edges, &mut solution.edges);
        let (kept, states) = (&self.spare, &self.spare_edges);
        let y = &mut solution.values;
        y.clear();
        y.resize(m, 0.0);
        let edges = &mut solution.edges;
        edges.clear();
        edges.resize(m - 1, EdgeState::Free);
        let line = |from: (f64, f64), to: (f64, f64), at: f64| {
            let width = to.0 - from.0;
            if width > 0.0 { from.1 + (to.1 - from.1) * ((at - from.0) / width) } else { from.1 }
        };
        // Values at the two ends of the chain that the first and last kept values allow.
        let (a, b) = (self.rows[0] as usize, self.rows[self.rows.len() - 1] as usize);
        let (head, tail) = (kept[0], kept[kept.len() - 1]);
        let first = (head - n * (z[a] - z[0])).clamp(frame.lo, frame.hi);
        let low = problem.last.0;
        let last = (tail + n * (z[m - 1] - z[b])).max(low).min(top);
        for i in 0..a {
            y[i] = line((z[0], first), (z[a], head), z[i]);
            edges[i] = uniform_state(problem, i, (first, head), (0, a));
        }
        for (k, &row) in self.rows.iter().enumerate() {
            let i = row as usize;
            y[i] = kept[k];
            let Some(&next) = self.rows.get(k + 1) else { break };
            let next = next as usize;
            for j in i..next {
                if j > i {
                    y[j] = line((z[i], kept[k]), (z[next], kept[k + 1]), z[j]);
                }
                let tied = problem.gap(j) <= 0.0;
                edges[j] = if tied { EdgeState::Tied } else { states[k] };
            }
        }
        for i in b + 1..m {
            y[i] = line((z[b], tail), (z[m - 1], last), z[i]);
        }
        for i in b..m - 1 {
            edges[i] = uniform_state(problem, i, (tail, last), (b, m - 1));
        }
        if a > 0 {
            solution.first = end_state(first, frame.lo, frame.hi);
        }
        if b + 1 < m {
            solution.last = end_state(last, low, top);
        }
    }

    /// No point has weight: any feasible point is optimal.
    pub fn spread_nothing(
        &mut self,
        problem: &ChainProblem,
        frame: &Frame,
        solution: &mut ChainSolution,
    ) {
        let m = problem.len();
        let target = frame.lo.max(frame.last_min).min(frame.wall);
        let (mut v, mut left) = (target, Vec::new());
        std::mem::swap(&mut left, &mut solution.values);
        left.resize(m, 0.0);
        left[m - 1] = v;
        for i in (0..m - 1).rev() {
            // As low as the edges and the box allow.
            v = (v - problem.gap(i)).max(frame.lo);
            left[i] = v;
        }
        *solution = ChainSolution { values: left, ..ChainSolution::default() };
        solution.edges = (0..m - 1)
            .map(|i| {
                let (rise, gap) = (solution.values[i + 1] - solution.values[i], problem.gap(i));
                match (rise <= 0.0, rise >= gap) {
                    (true, true) => EdgeState::Tied,
                    (true, false) => EdgeState::Lower,
                    (false, true) => EdgeState::Upper,
                    (false, false) => EdgeState::Free,
                }
            })
            .collect();
        solution.first = end_state(solution.values[0], frame.lo, frame.hi);
        solution.last = end_state(target, frame.last_min, frame.wall);
        (solution.slope_min, solution.slope_max) = (problem.slope_min, problem.slope_max);
        for i in 0..m {
            solution.values[i] = (solution.values[i] + problem.ramp(i)).min(problem.last.1);
        }
    }
}

/// The state of edge `i` on the line from `a` to `b` with these end values.
fn uniform_state(
    problem: &ChainProblem,
    i: usize,
    (from, to): (f64, f64),
    (a, b): (usize, usize),
) -> EdgeState {
    if problem.gap(i) <= 0.0 {
        return EdgeState::Tied;
    }
    let width = problem.scores[b] - problem.scores[a];
    if to - from <= problem.slope_min * width {
        EdgeState::Lower
    } else if to - from >= problem.slope_max * width {
        EdgeState::Upper
    } else {
        EdgeState::Free
    }
}

fn end_state(value: f64, low: f64, high: f64) -> EndState {
    match (value <= low, value >= high) {
        (true, true) => EndState::Fixed,
        (true, false) => EndState::Lower,
        (false, true) => EndState::Upper,
        (false, false) => EndState::Free,
    }
}
