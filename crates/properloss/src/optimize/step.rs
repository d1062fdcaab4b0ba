//! The Newton step: `(H + D) p = -g`, `H = X̃' diag(h) X̃ + l2 I'`.

use super::cholesky::{self, dot};
use super::{Problem, Solver};

/// Up to this dimension the matrix is always formed: it costs less than the passes of a few
/// conjugate gradients.
const ALWAYS_DENSE: usize = 64;
/// Above this dimension it never is: it would take up 32 MB and more.
const NEVER_DENSE: usize = 2048;
/// Products of a dense step in the time of one value of a pass over X (measured, `bench/train`:
/// a step costs about `d / 10` passes over dense rows).
const PRODUCTS_PER_VALUE: f64 = 10.0;

/// Space and settings of the steps of one run.
pub(super) struct Stepper<'a> {
    problem: &'a Problem<'a>,
    /// Whether steps are dense now.
    dense: bool,
    /// What a dense step costs, in passes over X; conjugate gradients that need more are given up
    /// for the steps that follow.
    dense_cost: f64,
    /// `E[x̃_j²]`: the natural size of the curvature of each coordinate.
    second_moments: Vec<f64>,
    diagonal: Vec<f64>,
    matrix: Vec<f64>,
    /// Passes over X so far.
    pub(super) passes: usize,
}

impl<'a> Stepper<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, solver: Solver, total: f64) -> Self {
        let design = problem.design;
        let d = design.dimension();
        let share: Vec<f64> = (0..design.rows())
            .map(|i| problem.weights.map_or(1.0, |weights| weights[i]) / total)
            .collect();
        let mut second_moments = vec![0.0; d];
        design.weighted_squares(&share, &mut second_moments);
        // A column of zeros has nothing to move for; any positive number keeps the system regular.
        second_moments.iter_mut().filter(|s| **s <= 0.0).for_each(|s| *s = 1.0);
        let products = (design.rows() + d) as f64 * (d * d) as f64;
        let (dense, dense_cost) = match solver {
            Solver::Dense => (true, 0.0),
            Solver::Auto if d <= ALWAYS_DENSE => (true, 0.0),
            Solver::Auto if d <= NEVER_DENSE => {
                (false, products / (PRODUCTS_PER_VALUE * design.matrix().stored() as f64))
            }
            Solver::Auto | Solver::ConjugateGradient => (false, f64::INFINITY),
        };
        Self {
            problem,
            dense,
            dense_cost,
            second_moments,
            diagonal: vec![0.0; d],
            matrix: Vec::new(),
            passes: 1,
        }
    }

    /// The penalty of coordinate `j`: none on the intercept.
    fn penalty(&self, j: usize) -> f64 {
        if j < self.problem.design.matrix().columns() { self.problem.l2 } else { 0.0 }
    }

    /// `p` with `(H + damping · diag(E[x̃²])) p = -g` to a residual of `tolerance · |g|`, and
    /// `q = X̃ p`.
    pub(super) fn step(
        &mut self,
        h: &[f64],
        g: &[f64],
        damping: f64,
        tolerance: f64,
        p: &mut [f64],
        q: &mut [f64],
    ) {
        let extra: Vec<f64> =
            (0..g.len()).map(|j| self.penalty(j) + damping * self.second_moments[j]).collect();
        if self.dense && self.dense_step(h, g, &extra, p) {
            self.problem.design.scores(p, q);
            self.passes += 1;
        } else {
            let before = self.passes;
            self.conjugate_gradient(h, g, &extra, tolerance, p, q);
            self.dense |= (self.passes - before) as f64 > self.dense_cost;
        }
    }

    fn dense_step(&mut self, h: &[f64], g: &[f64], extra: &[f64], p: &mut [f64]) -> bool {
        let d = g.len();
        self.matrix.resize(d * d, 0.0);
        self.problem.design.weighted_gram(h, &mut self.matrix);
        for j in 0..d {
            self.matrix[j * d + j] += extra[j];
            p[j] = -g[j];
        }
        cholesky::solve(&mut self.matrix, p) && p.iter().all(|p| p.is_finite())
    }

    /// Conjugate gradients with the diagonal as preconditioner. The scores of the direction are
    /// kept beside the direction, so the solution's scores cost no pass of their own.
    fn conjugate_gradient(
        &mut self,
        h: &[f64],
        g: &[f64],
        extra: &[f64],
        tolerance: f64,
        p: &mut [f64],
        q: &mut [f64],
    ) {
        let design = self.problem.design;
        design.weighted_squares(h, &mut self.diagonal);
        self.passes += 1;
        let d = g.len();
        let inverse: Vec<f64> = (0..d).map(|j| 1.0 / (self.diagonal[j] + extra[j])).collect();
        p.fill(0.0);
        q.fill(0.0);
        let mut residual: Vec<f64> = g.iter().map(|g| -g).collect();
        let mut direction: Vec<f64> = residual.iter().zip(&inverse).map(|(r, m)| r * m).collect();
        let mut product = vec![0.0; d];
        let mut scores = vec![0.0; q.len()];
        let mut weighted = vec![0.0; q.len()];
        let mut energy = dot(&residual, &direction);
        let goal = tolerance * dot(g, g).sqrt();
        for _ in 0..2 * d + 10 {
            design.scores(&direction, &mut scores);
            for (s, (h, z)) in weighted.iter_mut().zip(h.iter().zip(&scores)) {
                *s = h * z;
            }
            design.adjoint(&weighted, &mut product);
            self.passes += 2;
            for j in 0..d {
                product[j] += extra[j] * direction[j];
            }
            let curvature = dot(&direction, &product);
            if curvature.is_nan() || curvature <= 0.0 {
                // No curvature along it: go there if nothing better was found, else keep what is.
                if p.iter().all(|&p| p == 0.0) {
                    p.copy_from_slice(&direction);
                    q.copy_from_slice(&scores);
                }
                return;
            }
            let length = energy / curvature;
            for j in 0..d {
                p[j] += length * direction[j];
                residual[j] -= length * product[j];
            }
            for (q, z) in q.iter_mut().zip(&scores) {
                *q += length * z;
            }
            if dot(&residual, &residual).sqrt() <= goal {
                return;
            }
            let previous = energy;
            energy = (0..d).map(|j| residual[j] * residual[j] * inverse[j]).sum();
            let keep = energy / previous;
            for j in 0..d {
                direction[j] = residual[j] * inverse[j] + keep * direction[j];
            }
        }
    }
}
