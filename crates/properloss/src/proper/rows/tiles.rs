//! Eight rows at a time: their products with eight models, and their part in eight gradients.

use super::{LANES, Lane, Line};
use crate::design::{Lanes, exp, log_one_plus};
use crate::proper::curve::Curve;
use crate::sample::Storage;

/// Rows whose scores are computed together, sharing the loads of the weights.
pub(super) const ROWS: usize = 8;
/// Rows whose eight sums fit into sixteen registers of four numbers. Sums are added in the same order.
const FEW: usize = 4;
/// Rows of a block: a tile of weights is loaded once for all of them.
pub(super) const BLOCK: usize = 64;
/// Columns of a tile: its weights stay in the first cache.
pub(super) const TILE: usize = 256;
/// Blocks whose `1 + e^-|z|` are multiplied before a logarithm is taken: 2^960 is still a number.
const BLOCKS_PER_LOG: usize = 15;

/// Values of eight rows in the columns of a tile, converted if they are not `f64`.
pub(super) struct Window {
    buffer: Vec<f64>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { buffer: vec![0.0; ROWS * TILE] }
    }

    /// The columns `first..first + width` of rows that start at `starts` (positions in `values`).
    #[inline(always)]
    pub(super) fn rows<'s, T: Storage>(
        &'s mut self,
        values: &'s [T],
        starts: [usize; ROWS],
        first: usize,
        width: usize,
    ) -> [&'s [f64]; ROWS] {
        if let Some(values) = T::as_f64(values) {
            return starts.map(|start| &values[start + first..start + first + width]);
        }
        for (target, start) in self.buffer.chunks_exact_mut(TILE).zip(starts) {
            let source = &values[start + first..start + first + width];
            for (target, value) in target.iter_mut().zip(source) {
                *target = value.to_f64();
            }
        }
        std::array::from_fn(|k| &self.buffer[k * TILE..k * TILE + width])
    }
}

/// `z_k += x_k·w` for eight rows and eight models.
#[inline(always)]
pub(super) fn add_scores<L: Lanes>(lanes: L, rows: [&[f64]; ROWS], w: &[Line], z: &mut [Lane]) {
    let rows = rows.map(|row| &row[..w.len()]);
    if L::MANY_REGISTERS {
        scores_of::<L, ROWS>(lanes, &rows, w, z);
    } else {
        for (rows, z) in rows.chunks_exact(FEW).zip(z.chunks_exact_mut(FEW)) {
            scores_of::<L, FEW>(lanes, rows, w, z);
        }
    }
}

/// For `N` rows, whose sums stay in registers.
#[inline(always)]
fn scores_of<L: Lanes, const N: usize>(lanes: L, rows: &[&[f64]], w: &[Line], z: &mut [Lane]) {
    let rows: [&[f64]; N] = std::array::from_fn(|k| &rows[k][..w.len()]);
    let z: &mut [Lane; N] = (&mut z[..N]).try_into().unwrap_or_else(|_| unreachable!());
    // Loops: closures in kernels are not always compiled into them.
    let mut sums = [lanes.splat(0.0); N];
    for k in 0..N {
        sums[k] = lanes.load(&z[k]);
    }
    for (j, w) in w.iter().enumerate() {
        let w = lanes.load(&w.0);
        for k in 0..N {
            sums[k] = lanes.fused(sums[k], lanes.splat(rows[k][j]), w);
        }
    }
    for k in 0..N {
        z[k] = lanes.array(sums[k]);
    }
}

/// `g += Σ_k x_k r_k` for eight rows and eight models.
#[inline(always)]
pub(super) fn add_gradient<L: Lanes>(
    lanes: L,
    rows: [&[f64]; ROWS],
    r: &[Lane],
    gradient: &mut [Line],
) {
    if L::MANY_REGISTERS {
        gradient_of::<L, ROWS>(lanes, &rows, r, gradient);
    } else {
        for (rows, r) in rows.chunks_exact(FEW).zip(r.chunks_exact(FEW)) {
            gradient_of::<L, FEW>(lanes, rows, r, gradient);
        }
    }
}

/// For `N` rows, whose slopes stay in registers.
#[inline(always)]
fn gradient_of<L: Lanes, const N: usize>(
    lanes: L,
    rows: &[&[f64]],
    r: &[Lane],
    gradient: &mut [Line],
) {
    let rows: [&[f64]; N] = std::array::from_fn(|k| &rows[k][..gradient.len()]);
    let mut slopes = [lanes.splat(0.0); N];
    for k in 0..N {
        slopes[k] = lanes.load(&r[k]);
    }
    for (j, g) in gradient.iter_mut().enumerate() {
        let mut sum = lanes.load(&g.0);
        for k in 0..N {
            sum = lanes.fused(sum, lanes.splat(rows[k][j]), slopes[k]);
        }
        g.0 = lanes.array(sum);
    }
}

/// The summed loss of a chunk, and the summed slopes.
pub(super) struct Losses<L: Lanes> {
    lanes: L,
    loss: L::Vector,
    slope: L::Vector,
    product: L::Vector,
    logarithms: Lane,
    blocks: usize,
}

impl<L: Lanes> Losses<L> {
    #[inline(always)]
    pub(super) fn new(lanes: L) -> Self {
        let zero = lanes.splat(0.0);
        let product = lanes.splat(1.0);
        Self { lanes, loss: zero, slope: zero, product, logarithms: [0.0; LANES], blocks: 0 }
    }

    /// One row under log-loss: with `t = (1 - 2y) z` its loss is `max(t, 0) + log(1 + e^-|t|)`, with
    /// slope `(1 - 2y) sigma(t)`. `mask` is 0 or 1; a weight of 1 is `None`. Overwrites `z` by the
    /// slopes.
    #[inline(always)]
    pub(super) fn logistic(&mut self, z: &mut Lane, label: u8, mask: &Lane, weight: Option<f64>) {
        let lanes = self.lanes;
        let zero = lanes.splat(0.0);
        let sign = lanes.splat(1.0 - 2.0 * f64::from(label));
        let mut mask = lanes.load(mask);
        let t = lanes.mul(lanes.load(&*z), sign);
        let near = lanes.max(lanes.min(t, lanes.sub(zero, t)), lanes.splat(-708.0));
        let e = exp(lanes, near);
        let one = lanes.splat(1.0);
        let q = lanes.div(one, lanes.add(one, e));
        let sigma = lanes.where_negative(t, lanes.mul(e, q), q);
        match weight {
            None => self.product = lanes.mul(self.product, lanes.fused(one, mask, e)),
            Some(weight) => {
                mask = lanes.mul(mask, lanes.splat(weight));
                self.loss = lanes.fused(self.loss, mask, log_one_plus(lanes, e));
            }
        }
        self.loss = lanes.fused(self.loss, mask, lanes.max(t, zero));
        let r = lanes.mul(lanes.mul(sigma, sign), mask);
        self.slope = lanes.add(self.slope, r);
        *z = lanes.array(r);
    }

    /// One row under any other loss.
    #[inline(always)]
    pub(super) fn general(
        &mut self,
        curve: &Curve<'_>,
        z: &mut Lane,
        label: u8,
        mask: &Lane,
        weight: f64,
    ) {
        let mut losses = [0.0; LANES];
        for l in 0..LANES {
            if mask[l] == 0.0 {
                z[l] = 0.0;
                continue;
            }
            let point = curve.at(z[l], f64::from(label));
            losses[l] = weight * point.loss;
            z[l] = weight * point.slope;
        }
        self.loss = self.lanes.add(self.loss, self.lanes.load(&losses));
        self.slope = self.lanes.add(self.slope, self.lanes.load(&*z));
    }

    /// Called after every block.
    #[inline(always)]
    pub(super) fn end_block(&mut self) {
        self.blocks += 1;
        if self.blocks.is_multiple_of(BLOCKS_PER_LOG) {
            self.take_logarithms();
        }
    }

    fn take_logarithms(&mut self) {
        let product = self.lanes.array(self.product);
        for l in 0..LANES {
            self.logarithms[l] += product[l].ln();
        }
        self.product = self.lanes.splat(1.0);
    }

    /// Summed losses and slopes.
    #[inline(always)]
    pub(super) fn sums(mut self) -> (Lane, Lane) {
        self.take_logarithms();
        let loss = self.lanes.array(self.loss);
        let loss = std::array::from_fn(|l| loss[l] + self.logarithms[l]);
        (loss, self.lanes.array(self.slope))
    }
}
