//! The Newton step: `(H + D) p = -g`, `H = X̃' diag(h) X̃ + l2 I'`.

use super::cholesky;
use super::{Problem, Solver};
use crate::error::Result;
use crate::linalg::dot_rounded as dot;
use crate::rows::{Question, Rows};

/// Up to this dimension the matrix is always formed: it costs less than the passes of a few
/// conjugate gradients.
const ALWAYS_DENSE: usize = 64;
/// Above this dimension it never is: it would take up 32 MB and more.
const NEVER_DENSE: usize = 2048;
/// Products of a dense step in the time of one value of a pass over X (measured, `bench/train`:
/// a step costs about `d / 10` passes over dense rows).
const PRODUCTS_PER_VALUE: f64 = 10.0;

/// Settings of the steps of one run.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Stepper {
    /// Whether steps are dense now.
    dense: bool,
    /// What a dense step costs, in passes over X; conjugate gradients that need more are given up
    /// for the steps that follow.
    dense_cost: f64,
    /// `E[x̃_j²]`: the natural size of the curvature of each coordinate.
    second_moments: Vec<f64>,
    /// Passes over X so far.
    pub(super) passes: usize,
}

impl Stepper {
    pub(super) fn new(_: &Problem<'_>, rows: &mut dyn Rows, solver: Solver) -> Result<Self> {
        let d = rows.dimension();
        let mut second_moments = rows.ask(&Question::SecondMoments)?.vector()?;
        // A column of zeros has nothing to move for; any positive number keeps the system regular.
        second_moments.iter_mut().filter(|s| **s <= 0.0).for_each(|s| *s = 1.0);
        let products = (rows.shape().rows + d) as f64 * (d * d) as f64;
        let (dense, dense_cost) = match solver {
            Solver::Dense => (true, 0.0),
            Solver::Auto if d <= ALWAYS_DENSE => (true, 0.0),
            Solver::Auto if d <= NEVER_DENSE => {
                (false, products / (PRODUCTS_PER_VALUE * rows.stored() as f64))
            }
            Solver::Auto | Solver::ConjugateGradient => (false, f64::INFINITY),
        };
        Ok(Self { dense, dense_cost, second_moments, passes: 1 })
    }

    pub(super) fn second_moments(&self) -> &[f64] {
        &self.second_moments
    }

    /// `p` with `(H + damping · diag(E[x̃²])) p = -g` to a residual of `tolerance · |g|`; the rows take
    /// `q = X̃ p`.
    pub(super) fn step(
        &mut self,
        problem: &Problem<'_>,
        rows: &mut dyn Rows,
        g: &[f64],
        damping: f64,
        tolerance: f64,
    ) -> Result<Vec<f64>> {
        // No penalty on the intercept.
        let columns = rows.shape().columns;
        let penalty = |j: usize| if j < columns { problem.l2 } else { 0.0 };
        let extra: Vec<f64> =
            (0..g.len()).map(|j| penalty(j) + damping * self.second_moments[j]).collect();
        if self.dense
            && let Some(p) = dense_step(rows, g, &extra)?
        {
            rows.direct(&p)?;
            self.passes += 1;
            return Ok(p);
        }
        let before = self.passes;
        let p = self.conjugate_gradient(rows, g, &extra, tolerance)?;
        self.dense |= (self.passes - before) as f64 > self.dense_cost;
        Ok(p)
    }

    /// Conjugate gradients with the diagonal as preconditioner. The rows keep the scores of the
    /// direction, so the solution's scores cost no pass of their own.
    fn conjugate_gradient(
        &mut self,
        rows: &mut dyn Rows,
        g: &[f64],
        extra: &[f64],
        tolerance: f64,
    ) -> Result<Vec<f64>> {
        let diagonal = rows.ask(&Question::GramDiagonal)?.vector()?;
        self.passes += 1;
        let d = g.len();
        let inverse: Vec<f64> = (0..d).map(|j| 1.0 / (diagonal[j] + extra[j])).collect();
        let mut p = vec![0.0; d];
        rows.direct(&p)?;
        let mut residual: Vec<f64> = g.iter().map(|g| -g).collect();
        let mut direction: Vec<f64> = residual.iter().zip(&inverse).map(|(r, m)| r * m).collect();
        let mut energy = dot(&residual, &direction);
        let goal = tolerance * dot(g, g).sqrt();
        for _ in 0..2 * d + 10 {
            let mut product = rows.gram_product(&direction)?;
            self.passes += 2;
            for j in 0..d {
                product[j] += extra[j] * direction[j];
            }
            let curvature = dot(&direction, &product);
            if curvature.is_nan() || curvature <= 0.0 {
                // No curvature along it: go there if nothing better was found, else keep what is.
                if p.iter().all(|&p| p == 0.0) {
                    p.copy_from_slice(&direction);
                    rows.extend(1.0)?;
                }
                return Ok(p);
            }
            let length = energy / curvature;
            for j in 0..d {
                p[j] += length * direction[j];
                residual[j] -= length * product[j];
            }
            rows.extend(length)?;
            if dot(&residual, &residual).sqrt() <= goal {
                return Ok(p);
            }
            let previous = energy;
            energy = (0..d).map(|j| residual[j] * residual[j] * inverse[j]).sum();
            let keep = energy / previous;
            for j in 0..d {
                direction[j] = residual[j] * inverse[j] + keep * direction[j];
            }
        }
        Ok(p)
    }
}

/// The matrix formed and factorised; `None` if it is not positive definite to rounding.
fn dense_step(rows: &mut dyn Rows, g: &[f64], extra: &[f64]) -> Result<Option<Vec<f64>>> {
    let d = g.len();
    let mut matrix = rows.ask(&Question::Gram)?.vector()?;
    for j in 0..d {
        matrix[j * d + j] += extra[j];
    }
    let mut p: Vec<f64> = g.iter().map(|g| -g).collect();
    let solved = cholesky::solve(&mut matrix, &mut p) && p.iter().all(|p| p.is_finite());
    Ok(solved.then_some(p))
}
