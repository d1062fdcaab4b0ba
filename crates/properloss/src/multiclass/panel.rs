//! The kernels of a pass: scores, adjoint, and the loss in between, on a panel of rows.
//!
//! A panel holds 32 standardised rows twice: by columns with the rows in the lanes (for the scores,
//! so that exponentials need no shuffles), and by rows with 16 columns together (for the adjoint).
//! Tiles of four weight vectors (two where registers are few) by sixteen rows or columns stay in registers.

use super::curve::Curve;
use super::math::Eight;
use crate::design::{Kernel, Lanes};

/// Rows of a panel.
pub(super) const PANEL: usize = 32;
/// Eights of rows in a panel.
pub(super) const EIGHTS: usize = PANEL / 8;
/// Columns that are kept together in the copy by rows.
pub(super) const STRIP: usize = 16;

/// Standardised rows with a column of ones last; rows past the end of the data are 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Panel {
    /// Column `j`: 32 rows.
    pub by_column: Vec<[Eight; EIGHTS]>,
    /// Strip `s`, row `i`: 16 columns, at `s * PANEL + i`.
    pub by_row: Vec<[Eight; 2]>,
}

/// What the loss needs to know of a panel's rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    pub weight: [Eight; EIGHTS],
    pub fold: [[u32; 8]; EIGHTS],
    /// One-hot labels: class `k`, eight `v`, at `k * EIGHTS + v`.
    pub one_hot: Vec<Eight>,
}

/// `z[m] = X w[m]` for a panel.
pub(super) struct Scores<'a> {
    pub panel: &'a Panel,
    /// Weight vectors of the length of `by_column`.
    pub w: &'a [&'a [f64]],
    /// Vector `m`, 32 rows.
    pub z: &'a mut [[Eight; EIGHTS]],
}

impl Kernel for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let columns = &self.panel.by_column;
        let wide = if L::MANY_REGISTERS { 4 } else { 2 };
        let full = self.w.len() - self.w.len() % wide;
        for half in 0..EIGHTS / 2 {
            for (w, z) in self.w[..full].chunks_exact(wide).zip(self.z.chunks_exact_mut(wide)) {
                if L::MANY_REGISTERS {
                    score_tile::<L, 4>(lanes, columns, half, w, z);
                } else {
                    score_tile::<L, 2>(lanes, columns, half, w, z);
                }
            }
            for (w, z) in self.w[full..].chunks_exact(1).zip(self.z[full..].chunks_exact_mut(1)) {
                score_tile::<L, 1>(lanes, columns, half, w, z);
            }
        }
    }
}

#[inline(always)]
fn score_tile<L: Lanes, const M: usize>(
    lanes: L,
    columns: &[[Eight; EIGHTS]],
    half: usize,
    w: &[&[f64]],
    z: &mut [[Eight; EIGHTS]],
) {
    let w: [&[f64]; M] = std::array::from_fn(|m| &w[m][..columns.len()]);
    let mut sums = [[lanes.splat(0.0); 2]; M];
    for (j, column) in columns.iter().enumerate() {
        let x = [lanes.load(&column[2 * half]), lanes.load(&column[2 * half + 1])];
        for m in 0..M {
            let weight = lanes.splat(w[m][j]);
            for v in 0..2 {
                sums[m][v] = lanes.fused(sums[m][v], weight, x[v]);
            }
        }
    }
    for m in 0..M {
        for v in 0..2 {
            z[m][2 * half + v] = lanes.array(sums[m][v]);
        }
    }
}

/// `g[m] += X' r[m]` for a panel.
pub(super) struct Adjoint<'a> {
    pub panel: &'a Panel,
    /// Vector `m`, 32 rows.
    pub r: &'a [[Eight; EIGHTS]],
    /// Vector `m`, strip `s`, at `m * strips + s`.
    pub g: &'a mut [[Eight; 2]],
}

impl Kernel for Adjoint<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let strips = self.panel.by_row.len() / PANEL;
        let wide = if L::MANY_REGISTERS { 4 } else { 2 };
        let full = self.r.len() - self.r.len() % wide;
        for (s, rows) in self.panel.by_row.chunks_exact(PANEL).enumerate() {
            for m in (0..full).step_by(wide) {
                if L::MANY_REGISTERS {
                    adjoint_tile::<L, 4>(lanes, rows, self.r, self.g, m, s, strips);
                } else {
                    adjoint_tile::<L, 2>(lanes, rows, self.r, self.g, m, s, strips);
                }
            }
            for m in full..self.r.len() {
                adjoint_tile::<L, 1>(lanes, rows, self.r, self.g, m, s, strips);
            }
        }
    }
}

#[inline(always)]
fn adjoint_tile<L: Lanes, const M: usize>(
    lanes: L,
    rows: &[[Eight; 2]],
    r: &[[Eight; EIGHTS]],
    g: &mut [[Eight; 2]],
    first: usize,
    strip: usize,
    strips: usize,
) {
    let r: [&[f64]; M] = std::array::from_fn(|m| r[first + m].as_flattened());
    let mut sums = [[lanes.splat(0.0); 2]; M];
    for (i, x) in rows[..PANEL].iter().enumerate() {
        let x = [lanes.load(&x[0]), lanes.load(&x[1])];
        for m in 0..M {
            let r = lanes.splat(r[m][i]);
            for v in 0..2 {
                sums[m][v] = lanes.fused(sums[m][v], r, x[v]);
            }
        }
    }
    for m in 0..M {
        let g = &mut g[(first + m) * strips + strip];
        for v in 0..2 {
            g[v] = lanes.array(lanes.add(lanes.load(&g[v]), sums[m][v]));
        }
    }
}

/// The losses of a panel and their slopes in the scores, for every model.
pub(super) struct Losses<'a> {
    pub labels: &'a Labels,
    pub curve: &'a Curve,
    /// The number of each model; it is its fold, so that fold's rows weigh 0.
    pub models: &'a [u32],
    pub classes: usize,
    /// Model `a`, class `k`, at `a * classes + k`.
    pub z: &'a [[Eight; EIGHTS]],
    pub r: &'a mut [[Eight; EIGHTS]],
    /// Summed loss of each model, by lanes.
    pub loss: &'a mut [Eight],
    pub scratch: &'a mut Vec<Eight>,
}

impl Kernel for Losses<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, _: L) {
        let k = self.classes;
        for (a, &model) in self.models.iter().enumerate() {
            let z = &self.z[a * k..(a + 1) * k];
            let r = &mut self.r[a * k..(a + 1) * k];
            for v in 0..EIGHTS {
                let weight: Eight = std::array::from_fn(|l| {
                    if self.labels.fold[v][l] == model { 0.0 } else { self.labels.weight[v][l] }
                });
                let one_hot = |c: usize| &self.labels.one_hot[c * EIGHTS + v];
                let loss = self.curve.at(
                    k,
                    |c| &z[c][v],
                    one_hot,
                    self.scratch,
                    |c, slope| {
                        r[c][v] = std::array::from_fn(|l| weight[l] * slope[l]);
                    },
                );
                for l in 0..8 {
                    self.loss[a][l] += weight[l] * loss[l];
                }
            }
        }
    }
}
