//! The metric of a descent: the Hessian of every model at one reference point, plus its penalty.
//!
//! With `G_f = Σ h_i x̃_i x̃_i'` over fold `f` at the model of all rows, the Hessian of model `k` is near
//! `Σ_{f≠k} G_f`. It need not be exact: the descent corrects it.

use rayon::prelude::*;

use super::linalg::{cholesky, dot, lane, product, solve};
use super::rows::{FoldGrams, Halt, LANES, Lane};

/// Up to this dimension every model is factored; above it one is, and the others are solved by
/// conjugate gradients in its metric (a factorisation is O(d³), a step O(d²)).
const DIRECT: usize = 256;
/// Conjugate gradients end at this relative size of the residual, in the metric, squared.
const ACCURATE: f64 = 1e-12;
const MAX_STEPS: usize = 60;

/// `H_k` of every model, the last that of all rows. Stored is the reference alone, from which the rest follows.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Hessians {
    /// Where they were taken: the weights of the model of all rows.
    pub reference: Vec<f64>,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub of_model: Vec<Vec<f64>>,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub gradient: Vec<Vec<f64>>,
    /// Gradient and loss of every fold alone.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub fold_gradient: Vec<Vec<f64>>,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub fold_loss: Vec<f64>,
}

impl Hessians {
    /// `scale` is 1 if the sums are over all rows, more if they are over a sample. The Hessians take the
    /// place of the Grams: `d²` numbers each.
    pub(super) fn new(grams: FoldGrams, reference: Vec<f64>, scale: f64) -> Self {
        let FoldGrams { dimension: d, gram: mut of_model, gradient: fold_gradient, loss, .. } =
            grams;
        let folds = of_model.len();
        let others = |parts: &[Vec<f64>], skip: usize, sum: &mut [f64]| {
            sum.fill(0.0);
            for (_, part) in parts.iter().enumerate().filter(|(f, _)| *f != skip) {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += scale * part);
            }
        };
        let mut of_all = vec![0.0; d * d];
        let mut row = vec![vec![0.0; d]; folds];
        for (a, all) in of_all.chunks_exact_mut(d).enumerate() {
            let at = a * d..a * d + d;
            row.iter_mut()
                .zip(&of_model)
                .for_each(|(row, gram)| row.copy_from_slice(&gram[at.clone()]));
            for (k, gram) in of_model.iter_mut().enumerate() {
                others(&row, k, &mut gram[at.clone()]);
            }
            others(&row, folds, all);
        }
        of_model.push(of_all);
        let of_gradient = |k| {
            let mut sum = vec![0.0; d];
            others(&fold_gradient, k, &mut sum);
            sum
        };
        let gradient = (0..=folds).map(of_gradient).collect();
        Self { reference, of_model, gradient, fold_gradient, fold_loss: loss }
    }

    pub(super) fn dimension(&self) -> usize {
        self.reference.len()
    }
}

/// `x ↦ M_k^-1 x` for every model.
pub(super) enum Metric<'a> {
    /// `H_k + P_k`, factored.
    Dense(Dense<'a>),
    /// `gamma + P`, gamma taken from the last step of the descent.
    Diagonal,
}

/// Once the caller asks to stop, answers come soon and are worth nothing.
pub(super) struct Dense<'a> {
    hessians: &'a Hessians,
    halt: Halt<'a>,
    /// The diagonal of every model's penalty.
    penalty: Vec<Vec<f64>>,
    /// Of every model, or of the last alone.
    factors: Vec<Vec<f64>>,
}

impl<'a> Dense<'a> {
    pub(super) fn new(hessians: &'a Hessians, penalty: &[Vec<Lane>], halt: Halt<'a>) -> Self {
        let (d, models) = (hessians.dimension(), hessians.of_model.len());
        let penalty: Vec<Vec<f64>> = (0..models)
            .map(|k| {
                let mut diagonal = lane(&penalty[k / LANES], k % LANES);
                let h = &hessians.of_model[k];
                // The intercept has no penalty: a little keeps the factorisation going where all
                // probabilities are 0 or 1.
                let trace: f64 = (0..d).map(|j| h[j * d + j]).sum();
                let least = 1e-10 * (trace / d as f64).max(1e-10);
                diagonal.iter_mut().for_each(|p| *p += least);
                diagonal
            })
            .collect();
        let first = if d <= DIRECT { 0 } else { models - 1 };
        let factors = (first..models)
            .into_par_iter()
            .map(|k| {
                let mut a = hessians.of_model[k].clone();
                (0..d).for_each(|j| a[j * d + j] += penalty[k][j]);
                if !halt() {
                    cholesky(&mut a, d);
                }
                a
            })
            .collect();
        Self { hessians, halt, penalty, factors }
    }

    /// `(H_k + P_k)^-1 b`.
    pub(super) fn solve(&self, k: usize, b: &[f64]) -> Vec<f64> {
        let d = b.len();
        let last = self.hessians.of_model.len() - 1;
        if self.factors.len() > 1 || k == last {
            let mut x = b.to_vec();
            solve(&self.factors[if k == last { self.factors.len() - 1 } else { k }], d, &mut x);
            return x;
        }
        let apply = |p: &[f64]| {
            let mut a = vec![0.0; d];
            product(&self.hessians.of_model[k], p, &mut a);
            a.iter_mut().zip(p.iter().zip(&self.penalty[k])).for_each(|(a, (p, q))| *a += q * p);
            a
        };
        let (mut x, mut r) = (vec![0.0; d], b.to_vec());
        let mut z = r.clone();
        solve(&self.factors[0], d, &mut z);
        let mut p = z.clone();
        let mut size = dot(&r, &z);
        let enough = ACCURATE * size;
        for _ in 0..MAX_STEPS {
            if size <= enough || size.is_nan() || (self.halt)() {
                break;
            }
            let a = apply(&p);
            let step = size / dot(&p, &a);
            for j in 0..d {
                x[j] += step * p[j];
                r[j] -= step * a[j];
            }
            z.copy_from_slice(&r);
            solve(&self.factors[0], d, &mut z);
            let next = dot(&r, &z);
            let ratio = next / size;
            size = next;
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + ratio * *p);
        }
        x
    }

    /// Solves for the models `first..` of a group, lane by lane.
    pub(super) fn solve_lanes(&self, first: usize, b: &mut [Lane]) {
        let models = LANES.min(self.hessians.of_model.len() - first);
        let solved: Vec<Vec<f64>> =
            (0..models).into_par_iter().map(|l| self.solve(first + l, &lane(b, l))).collect();
        for (l, solved) in solved.iter().enumerate() {
            b.iter_mut().zip(solved).for_each(|(b, s)| b[l] = *s);
        }
    }
}
