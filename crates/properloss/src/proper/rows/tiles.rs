//! Eight rows at a time: their products with eight models, and their part in eight gradients.

use super::{LANES, Lane, Line};
use crate::design::{Lanes, exp, log, log_one_plus};
use crate::proper::curve::{Curve, LEAST};
use crate::proper::relative::RelativeTable;
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

    /// One row under a link relative to the sigmoid: its likelihood is `l = a + s (sigma(-t) - b)` with
    /// `t = (1 - 2y) z`, and the slope of `-log l` is `(1 - 2y) s sigma(t) sigma(-t) / l`.
    #[inline(always)]
    pub(super) fn relative(
        &mut self,
        table: &RelativeTable,
        z: &mut Lane,
        label: u8,
        mask: &Lane,
        weight: f64,
    ) {
        let lanes = self.lanes;
        let (s, b, a) = table.lines(z, label);
        let s = lanes.load(&s);
        let (zero, one) = (lanes.splat(0.0), lanes.splat(1.0));
        let sign = lanes.splat(1.0 - 2.0 * f64::from(label));
        let weight = lanes.mul(lanes.load(mask), lanes.splat(weight));
        let t = lanes.mul(lanes.load(&*z), sign);
        let e = exp(lanes, lanes.max(lanes.min(t, lanes.sub(zero, t)), lanes.splat(-708.0)));
        let near = lanes.div(one, lanes.add(one, e));
        let far = lanes.mul(e, near);
        let moved = lanes.sub(lanes.where_negative(t, near, far), lanes.load(&b));
        let likelihood = lanes.fused(lanes.load(&a), s, moved);
        let likelihood = lanes.min(lanes.max(likelihood, lanes.splat(LEAST)), one);
        let logs = log(lanes, &lanes.array(likelihood));
        self.loss = lanes.fused(self.loss, lanes.sub(zero, weight), logs);
        let slope = lanes.div(lanes.mul(lanes.mul(s, sign), lanes.mul(near, far)), likelihood);
        let r = lanes.mul(slope, weight);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Kernel, arch, run};
    use crate::link::{InverseLink, RelativeLink, Sigmoid};
    use crate::piecewise::PiecewiseAffine;
    use std::sync::Arc;

    /// Summed losses and slopes of rows, each under a curve of its own way.
    struct Rows<'a> {
        table: &'a RelativeTable,
        slow: Option<&'a Curve<'a>>,
        rows: &'a [(Lane, u8, f64)],
    }

    const MASK: Lane = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0];

    impl Kernel for Rows<'_> {
        type Output = (Vec<Lane>, Lane, Lane);

        #[inline(always)]
        fn call<L: Lanes>(self, lanes: L) -> Self::Output {
            let mut losses = Losses::new(lanes);
            let mut slopes = Vec::new();
            for &(mut z, label, weight) in self.rows {
                match self.slow {
                    Some(curve) => losses.general(curve, &mut z, label, &MASK, weight),
                    None => losses.relative(self.table, &mut z, label, &MASK, weight),
                }
                slopes.push(z);
            }
            let (loss, slope) = losses.sums();
            (slopes, loss, slope)
        }
    }

    /// Lane by lane against the link itself, from scores of 0 to those whose exponential is no number.
    #[test]
    fn a_relative_link_in_lanes_is_the_link() {
        let p = vec![0.0, 1e-6, 0.01, 0.2, 0.5, 0.55, 0.9, 0.999, 1.0];
        let v = vec![0.002, 0.002 + 3e-6, 0.02, 0.15, 0.6, 0.63, 0.8, 0.98, 0.9808];
        let link =
            RelativeLink::new(Arc::new(Sigmoid), PiecewiseAffine::new(p, v).unwrap()).unwrap();
        let table = RelativeTable::new(&link.spec()).unwrap();
        let rows: Vec<(Lane, u8, f64)> = (0..400u32)
            .map(|i| {
                let size = if i % 50 == 49 { 900.0 } else { 30.0 };
                let z = |l: usize| size * (f64::from(i) * 0.37 + 1.7 * l as f64).sin();
                (std::array::from_fn(z), (i % 2) as u8, f64::from(1 + i % 3))
            })
            .collect();
        let curve = Curve::Likelihood(&link);
        let quick = run(arch(), Rows { table: &table, slow: None, rows: &rows });
        let slow = run(arch(), Rows { table: &table, slow: Some(&curve), rows: &rows });
        // Logarithms are good to 2e-15, and a likelihood is at least .0002: 1e-13 of it is lost at most.
        for (i, (a, b)) in quick.0.iter().zip(&slow.0).enumerate() {
            for l in 0..LANES {
                assert!((a[l] - b[l]).abs() <= 1e-12 * b[l].abs() + 1e-15, "{i} {l}: {a:?} {b:?}");
            }
        }
        for l in 0..LANES {
            assert!((quick.1[l] - slow.1[l]).abs() <= 1e-12 * slow.1[l], "{quick:?} {slow:?}");
            assert!((quick.2[l] - slow.2[l]).abs() <= 1e-11, "{:?} {:?}", quick.2, slow.2);
            assert_eq!(MASK[l] == 0.0, quick.1[l] == 0.0);
        }
    }
}
