//! The metric of the descent: Boehning's bound, at the curvature of a reference point.
//!
//! The Hessian of the multinomial loss is `Σ_i (diag(p_i) - p_i p_i') ⊗ x_i x_i'`. With the mean
//! curvature of a row in place of the matrix over classes it is `I ⊗ G`,
//!
//! ```text
//! G = Σ_i h_i x_i x_i',   h_i = w_i Σ_k p_ik (1 - p_ik) / (K - 1)        (uniform p: h = 1/K, exact)
//! ```
//!
//! so one `d x d` factor of `G + P` serves all classes. It need not be exact: the last steps of the
//! descent correct it.

use super::rows::Rows;
use crate::design::{Design, Kernel, Lanes, arch, run};

/// With more columns than this, or than rows, only the diagonal is kept: a factor is O(d^3).
const MAX_DENSE: usize = 1024;

/// `G`, or its diagonal.
#[derive(Debug)]
pub(super) struct Curvature {
    g: Vec<f64>,
    dense: bool,
}

/// Factors for the fold models (which share one) and for the model of all rows.
#[derive(Debug)]
pub(super) struct Metric {
    factors: [Vec<f64>; 2],
    dense: bool,
    folds: u32,
    d: usize,
}

impl Curvature {
    /// At the weights `w` of the model of all rows.
    pub(super) fn at(rows: &Rows<'_>, design: &Design<'_>, w: &[f64]) -> Self {
        let d = rows.dimension();
        let h = rows.curvatures(w);
        let dense = is_dense(rows);
        let mut g = vec![0.0; if dense { d * d } else { d }];
        if dense {
            design.weighted_gram(&h, &mut g);
        } else {
            design.weighted_squares(&h, &mut g);
        }
        Self { g, dense }
    }

    /// Work of [`Self::at`] in units of one pass of all models.
    pub(super) fn cost(rows: &Rows<'_>) -> f64 {
        let vectors = (rows.models() * rows.classes) as f64;
        if !is_dense(rows) {
            return 0.2;
        }
        rows.dimension() as f64 / (2.0 * vectors) + 1.0 / rows.models() as f64
    }

    /// Adds the penalties (of a fold model, of the model of all rows) and factorises.
    pub(super) fn metric(&self, rows: &Rows<'_>, penalties: [&[f64]; 2]) -> Metric {
        let d = rows.dimension();
        let folds = rows.folds.count;
        let share = [1.0 - 1.0 / folds as f64, 1.0];
        let at = |j: usize| if self.dense { j * d + j } else { j };
        let trace: f64 = (0..d).map(|j| self.g[at(j)]).sum();
        let factors = [0, 1].map(|which| {
            let mut h: Vec<f64> = self.g.iter().map(|g| share[which] * g).collect();
            for j in 0..d {
                // The intercept has no penalty: a little keeps the factorisation going where all
                // probabilities are 0 or 1.
                h[at(j)] += penalties[which][j] + 1e-10 * (trace / d as f64).max(1e-10);
            }
            if self.dense {
                run(arch(), Cholesky { a: &mut h, d });
            }
            h
        });
        Metric { factors, dense: self.dense, folds: folds as u32, d }
    }
}

fn is_dense(rows: &Rows<'_>) -> bool {
    rows.dimension() <= MAX_DENSE.min(rows.labels.len())
}

impl Metric {
    /// `M^-1 x` for every class of a model, in place.
    pub(super) fn solve(&self, model: u32, x: &mut [f64]) {
        let factor = &self.factors[usize::from(model == self.folds)];
        if self.dense {
            run(arch(), Solve { l: factor, d: self.d, x });
            return;
        }
        for x in x.chunks_exact_mut(self.d) {
            x.iter_mut().zip(factor).for_each(|(x, h)| *x /= h);
        }
    }
}

/// `A = L L'` in place, lower triangle, row-major; a pivot that is not positive becomes tiny.
struct Cholesky<'a> {
    a: &'a mut [f64],
    d: usize,
}

impl Kernel for Cholesky<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { a, d } = self;
        for i in 0..d {
            let (above, row) = a.split_at_mut(i * d);
            let row = &mut row[..d];
            for j in 0..i {
                let other = &above[j * d..j * d + d];
                row[j] = (row[j] - dot(lanes, &row[..j], &other[..j])) / other[j];
            }
            let s = row[i] - dot(lanes, &row[..i], &row[..i]);
            row[i] = s.max(1e-14 * row[i].abs().max(1e-300)).sqrt();
        }
    }
}

/// `x <- (L L')^-1 x` for vectors of length `d` one after the other.
struct Solve<'a> {
    l: &'a [f64],
    d: usize,
    x: &'a mut [f64],
}

impl Kernel for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { l, d, x } = self;
        for x in x.chunks_exact_mut(d) {
            for i in 0..d {
                let row = &l[i * d..i * d + d];
                x[i] = (x[i] - dot(lanes, &row[..i], &x[..i])) / row[i];
            }
            for i in (0..d).rev() {
                let row = &l[i * d..i * d + d];
                x[i] /= row[i];
                let value = x[i];
                add_scaled(lanes, -value, &row[..i], &mut x[..i]);
            }
        }
    }
}

/// `a . b`: four sums of eight lanes, then what is left over.
#[inline(always)]
pub(super) fn dot<L: Lanes>(lanes: L, a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [lanes.splat(0.0); 4];
    let (a_blocks, a_rest) = a.as_chunks::<32>();
    let (b_blocks, b_rest) = b.as_chunks::<32>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        for k in 0..4 {
            sums[k] = lanes.fused(sums[k], lanes.load(&a[k]), lanes.load(&b[k]));
        }
    }
    let (a_blocks, a_rest) = a_rest.as_chunks::<8>();
    let (b_blocks, b_rest) = b_rest.as_chunks::<8>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        sums[0] = lanes.fused(sums[0], lanes.load(a), lanes.load(b));
    }
    let all = lanes.add(lanes.add(sums[0], sums[1]), lanes.add(sums[2], sums[3]));
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.array(all).iter().sum::<f64>() + rest
}

/// `y += c x`.
#[inline(always)]
fn add_scaled<L: Lanes>(lanes: L, c: f64, x: &[f64], y: &mut [f64]) {
    let all = lanes.splat(c);
    let (x_blocks, x_rest) = x.as_chunks::<8>();
    let (y_blocks, y_rest) = y.as_chunks_mut::<8>();
    for (x, y) in x_blocks.iter().zip(y_blocks) {
        *y = lanes.array(lanes.fused(lanes.load(&*y), all, lanes.load(x)));
    }
    x_rest.iter().zip(y_rest).for_each(|(x, y)| *y += c * x);
}
