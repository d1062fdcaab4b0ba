//! Loss and gradient of eight models in one visit of the rows.

use super::in_order::add_in_order;
use super::short::{RawShort, ShortChunk, ShortLine};
use super::tiles::{BLOCK, Losses, ROWS, TILE, Window, add_gradient, add_scores};
use super::{FoldBlock, Halt, Halted, HeldOut, LANES, Lane, Line};
use crate::design::{Kernel, Lanes, arch, run};
use crate::proper::curve::Curve;
use crate::sample::{ColumnIndex, Csr, Matrix, Storage, with_csr};

/// What a pass found: the summed loss of each model and its gradient in the standardised weights,
/// intercept last. Sums over parts of the rows can be added.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct LaneSums {
    pub loss: Lane,
    pub gradient: Vec<Line>,
    /// Loss and reach of the held-out scores of the group's folds, where nobody keeps the scores.
    pub held_out: Option<HeldOut>,
}

impl LaneSums {
    /// Adds the rows of another block.
    pub(super) fn add(&mut self, other: &Self) {
        for l in 0..LANES {
            self.loss[l] += other.loss[l];
        }
        for (total, part) in self.gradient.iter_mut().zip(&other.gradient) {
            for l in 0..LANES {
                total.0[l] += part.0[l];
            }
        }
        self.held_out = match (self.held_out, other.held_out) {
            (Some(a), Some(b)) => Some(a.and(&b)),
            _ => None,
        };
    }
}

impl FoldBlock<'_> {
    /// Summed loss and gradient of the models `first..first + 8` at the weights `w`, over the rows
    /// that each may see. Each row's score under the model of its own fold goes to `held_out` if that
    /// model is in the group.
    pub(in crate::proper) fn lane_sums(
        &self,
        curve: &Curve<'_>,
        first: usize,
        w: &[Lane],
        held_out: &mut [f64],
        halt: Halt<'_>,
    ) -> Result<LaneSums, Halted> {
        let mut total = self.pass(Some(curve), first, w, held_out, halt)?;
        run(arch(), Standardise { rows: self, total: &mut total });
        debug_assert_eq!(total.gradient.len(), self.dimension());
        Ok(LaneSums { loss: total.loss, gradient: total.gradient, held_out: None })
    }

    /// Scores of every row under the model of its own fold, for the folds of this group.
    pub(in crate::proper) fn held_out_scores(
        &self,
        first: usize,
        w: &[Lane],
        held_out: &mut [f64],
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        self.pass(None, first, w, held_out, halt).map(|_| ())
    }

    fn pass(
        &self,
        curve: Option<&Curve<'_>>,
        first: usize,
        w: &[Lane],
        held_out: &mut [f64],
        halt: Halt<'_>,
    ) -> Result<Partial, Halted> {
        let chunk = self.chunk_rows();
        let ((raw, shift), short) = if curve.is_some() && self.is_short() {
            let (mean, factor) = (&self.mean, &self.factor);
            let (short, shift) = run(arch(), RawShort { w, mean, factor });
            ((Vec::new(), shift), short)
        } else {
            (self.raw(w), Vec::new())
        };
        let masks = &self.masks(first);
        let pass = Pass { rows: self, curve, first, w: &raw, short: &short, shift, masks };
        let work = |number: usize, held_out: &mut [f64]| {
            if halt() { Err(Halted) } else { Ok(pass.chunk(number * chunk, held_out)) }
        };
        if held_out.len() <= chunk {
            return work(0, held_out);
        }
        let add = |total: &mut Option<Partial>, part: Partial| match total {
            Some(total) => total.add(&part),
            none => *none = Some(part),
        };
        add_in_order(held_out.chunks_mut(chunk), work, None, add)?.ok_or(Halted)
    }

    /// Rows per part: enough work to hide a task, few enough parts that adding them up is cheap.
    pub(super) fn chunk_rows(&self) -> usize {
        let (rows, columns) = (self.matrix.rows(), self.matrix.columns());
        let stored = self.matrix.stored();
        let chunks = match self.matrix {
            // A part has a sum for every column, stored or not.
            Matrix::Csr(_) => (stored / (12 * columns.max(1))).min(stored / 8192).clamp(1, 64),
            _ => (stored >> 16).min(rows / (2 * BLOCK)).clamp(1, 64),
        };
        rows.div_ceil(chunks).next_multiple_of(BLOCK)
    }
}

/// The sums over one part, in the raw columns.
pub(super) struct Partial {
    pub loss: Lane,
    pub slope: Lane,
    gradient: Vec<Line>,
    /// In its place, where single precision will do.
    pub short: Vec<ShortLine>,
}

impl Partial {
    fn add(&mut self, other: &Self) {
        for l in 0..LANES {
            self.loss[l] += other.loss[l];
            self.slope[l] += other.slope[l];
        }
        for (total, part) in self.gradient.iter_mut().zip(&other.gradient) {
            for l in 0..LANES {
                total.0[l] += part.0[l];
            }
        }
        for (total, part) in self.short.iter_mut().zip(&other.short) {
            for l in 0..LANES {
                total.0[l] += part.0[l];
            }
        }
    }
}

/// `F (g - c Σ slopes)` of every column: the gradient in the standardised weights, intercept last.
struct Standardise<'a> {
    rows: &'a FoldBlock<'a>,
    total: &'a mut Partial,
}

impl Kernel for Standardise<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { rows, total } = self;
        let slope = lanes.load(&total.slope);
        let scales = rows.mean.iter().zip(&rows.factor);
        if !total.short.is_empty() {
            total.gradient.resize(rows.dimension(), Line([0.0; LANES]));
            for (line, (g, (&mean, &factor))) in
                total.gradient.iter_mut().zip(total.short.iter().zip(scales))
            {
                let centred = lanes.sub(lanes.load(&g.0), lanes.mul(lanes.splat(mean), slope));
                line.0 = lanes.array(lanes.mul(lanes.splat(factor), centred));
            }
            total.gradient[rows.mean.len()] = Line(total.slope);
            return;
        }
        for (g, (&mean, &factor)) in total.gradient.iter_mut().zip(scales) {
            let centred = lanes.sub(lanes.load(&g.0), lanes.mul(lanes.splat(mean), slope));
            g.0 = lanes.array(lanes.mul(lanes.splat(factor), centred));
        }
        total.gradient.push(Line(total.slope));
    }
}

/// Eight models with their weights on the raw columns.
pub(super) struct Pass<'a> {
    rows: &'a FoldBlock<'a>,
    /// None: scores only.
    curve: Option<&'a Curve<'a>>,
    first: usize,
    w: &'a [Line],
    /// In their place, where single precision will do.
    pub short: &'a [ShortLine],
    pub shift: Lane,
    masks: &'a [Lane],
}

impl Pass<'_> {
    fn chunk(&self, start: usize, held_out: &mut [f64]) -> Partial {
        match &self.rows.matrix {
            Matrix::Csr(x) if !self.short.is_empty() => with_csr!(x, |indices, values| run(
                arch(),
                ShortChunk { pass: self, x, indices, values, start, held_out }
            )),
            Matrix::DenseF32(x) => {
                run(arch(), DenseChunk { pass: self, values: x.values(), start, held_out })
            }
            Matrix::DenseF64(x) => {
                run(arch(), DenseChunk { pass: self, values: x.values(), start, held_out })
            }
            Matrix::Csr(x) => with_csr!(x, |indices, values| run(
                arch(),
                SparseChunk { pass: self, x, indices, values, start, held_out }
            )),
        }
    }

    pub fn partial(&self) -> Partial {
        let columns = if self.curve.is_some() { self.w.len() } else { 0 };
        // Room for the intercept.
        let mut gradient = Vec::with_capacity(columns + 1);
        gradient.resize(columns, Line([0.0; LANES]));
        let short = vec![ShortLine([0.0; LANES]); self.short.len()];
        Partial { loss: [0.0; LANES], slope: [0.0; LANES], gradient, short }
    }

    /// Takes the held-out score of row `i` and turns its scores into weighted slopes.
    #[inline(always)]
    pub fn slopes<L: Lanes>(
        &self,
        losses: &mut Losses<L>,
        i: usize,
        z: &mut Lane,
        held_out: &mut f64,
    ) {
        let fold = self.rows.folds.of_row[i] as usize;
        if let Some(score) = z.get(fold.wrapping_sub(self.first)) {
            *held_out = *score;
        }
        let (mask, weight) = self.rows.mask_of(self.masks, i);
        let label = self.rows.labels[i];
        match self.curve {
            None => {}
            Some(Curve::Logistic) => {
                let weight = if self.rows.plain { None } else { Some(weight) };
                losses.logistic(z, label, mask, weight);
            }
            Some(Curve::Relative(table)) => losses.relative(table, z, label, mask, weight),
            Some(curve) => losses.general(curve, z, label, mask, weight),
        }
    }
}

struct DenseChunk<'a, T> {
    pass: &'a Pass<'a>,
    values: &'a [T],
    start: usize,
    held_out: &'a mut [f64],
}

impl<T: Storage> Kernel for DenseChunk<'_, T> {
    type Output = Partial;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Partial {
        let Self { pass, values, start, held_out } = self;
        let columns = pass.w.len();
        let mut partial = pass.partial();
        let mut window = Window::new();
        let mut losses = Losses::new(lanes);
        for (number, held_out) in held_out.chunks_mut(BLOCK).enumerate() {
            let (first, count) = (start + number * BLOCK, held_out.len());
            // The rows that fill up the last eight have no weight.
            let starts = |row: usize| -> [usize; ROWS] {
                std::array::from_fn(|k| (first + (row + k).min(count - 1)) * columns)
            };
            let mut z = [pass.shift; BLOCK];
            for (tile, w) in pass.w.chunks(TILE).enumerate() {
                for row in (0..count).step_by(ROWS) {
                    let rows = window.rows(values, starts(row), tile * TILE, w.len());
                    add_scores(lanes, rows, w, &mut z[row..row + ROWS]);
                }
            }
            for (k, held_out) in held_out.iter_mut().enumerate() {
                pass.slopes(&mut losses, first + k, &mut z[k], held_out);
            }
            z[count..].fill([0.0; LANES]);
            losses.end_block();
            for (tile, gradient) in partial.gradient.chunks_mut(TILE).enumerate() {
                for row in (0..count).step_by(ROWS) {
                    let rows = window.rows(values, starts(row), tile * TILE, gradient.len());
                    add_gradient(lanes, rows, &z[row..row + ROWS], gradient);
                }
            }
        }
        (partial.loss, partial.slope) = losses.sums();
        partial
    }
}

struct SparseChunk<'a, I, T> {
    pass: &'a Pass<'a>,
    x: &'a Csr<'a>,
    indices: &'a [I],
    values: &'a [T],
    start: usize,
    held_out: &'a mut [f64],
}

impl<I: ColumnIndex, T: Storage> Kernel for SparseChunk<'_, I, T> {
    type Output = Partial;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Partial {
        let Self { pass, x, indices, values, start, held_out } = self;
        let mut partial = pass.partial();
        let mut losses = Losses::new(lanes);
        for (number, held_out) in held_out.chunks_mut(BLOCK).enumerate() {
            let first = start + number * BLOCK;
            let mut z = [pass.shift; BLOCK];
            for k in 0..held_out.len() {
                let range = x.range(first + k);
                z[k] = lanes.array(sparse_score(
                    lanes,
                    &indices[range.clone()],
                    &values[range],
                    pass.w,
                    lanes.load(&pass.shift),
                ));
            }
            for (k, held_out) in held_out.iter_mut().enumerate() {
                pass.slopes(&mut losses, first + k, &mut z[k], held_out);
            }
            losses.end_block();
            if pass.curve.is_none() {
                continue;
            }
            for k in 0..held_out.len() {
                let r = lanes.load(&z[k]);
                let range = x.range(first + k);
                for (index, value) in indices[range.clone()].iter().zip(&values[range]) {
                    let g = &mut partial.gradient[index.column()].0;
                    *g = lanes.array(lanes.fused(lanes.load(&*g), lanes.splat(value.to_f64()), r));
                }
            }
        }
        (partial.loss, partial.slope) = losses.sums();
        partial
    }
}

/// `start + Σ x_j w_j` over the stored columns, in two sums.
#[inline(always)]
pub(super) fn sparse_score<L: Lanes, I: ColumnIndex, T: Storage>(
    lanes: L,
    indices: &[I],
    values: &[T],
    w: &[Line],
    start: L::Vector,
) -> L::Vector {
    let mut sums = [start, lanes.splat(0.0)];
    let (index_pairs, index_rest) = indices.as_chunks::<2>();
    let (value_pairs, value_rest) = values.as_chunks::<2>();
    for (index, value) in index_pairs.iter().zip(value_pairs) {
        for k in 0..2 {
            let w = lanes.load(&w[index[k].column()].0);
            sums[k] = lanes.fused(sums[k], lanes.splat(value[k].to_f64()), w);
        }
    }
    for (index, value) in index_rest.iter().zip(value_rest) {
        let w = lanes.load(&w[index.column()].0);
        sums[0] = lanes.fused(sums[0], lanes.splat(value.to_f64()), w);
    }
    lanes.add(sums[0], sums[1])
}
