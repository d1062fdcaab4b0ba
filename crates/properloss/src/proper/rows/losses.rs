//! Held-out loss of eight sets of fold models at once, one set a lane; no gradients.

use rayon::prelude::*;

use super::lane_sums::sparse_score;
use super::tiles::{BLOCK, Losses, ROWS, TILE, Window, add_scores};
use super::{FoldBlock, Halt, Halted, LANES, Lane, Line};
use crate::design::{Kernel, Lanes, arch, run};
use crate::sample::{ColumnIndex, Csr, Matrix, Storage, with_csr};

impl FoldBlock<'_> {
    /// Summed held-out log-loss of eight sets of fold models: `w[k]` has the weights of the model of
    /// fold `k` in every set.
    pub(in crate::proper) fn losses(
        &self,
        w: &[Vec<Lane>],
        halt: Halt<'_>,
    ) -> Result<Lane, Halted> {
        let task_rows =
            ((1 << 16) / (self.matrix.stored() / self.matrix.rows().max(1)).max(1)).max(BLOCK);
        let task_rows = task_rows.next_multiple_of(BLOCK);
        let raw: Vec<(Vec<Line>, Lane)> = w.iter().map(|w| self.raw(w)).collect();
        let tasks: Vec<(usize, &[u32])> = (0..self.folds.count)
            .flat_map(|fold| self.of_fold[fold].chunks(task_rows).map(move |list| (fold, list)))
            .collect();
        let parts: Result<Vec<Lane>, Halted> = tasks
            .into_par_iter()
            .map(|(fold, list)| {
                if halt() {
                    return Err(Halted);
                }
                let (w, shift) = &raw[fold];
                let task = Task { rows: self, list, w, shift: *shift };
                Ok(match &self.matrix {
                    Matrix::DenseF32(x) => run(arch(), DenseTask { task, values: x.values() }),
                    Matrix::DenseF64(x) => run(arch(), DenseTask { task, values: x.values() }),
                    Matrix::Csr(x) => with_csr!(x, |indices, values| run(
                        arch(),
                        SparseTask { task, x, indices, values }
                    )),
                })
            })
            .collect();
        let mut total = [0.0; LANES];
        for part in parts? {
            for l in 0..LANES {
                total[l] += part[l];
            }
        }
        Ok(total)
    }
}

/// Some rows of one fold.
struct Task<'a> {
    rows: &'a FoldBlock<'a>,
    list: &'a [u32],
    w: &'a [Line],
    shift: Lane,
}

impl Task<'_> {
    #[inline(always)]
    fn add<L: Lanes>(&self, losses: &mut Losses<L>, i: usize, z: &mut Lane) {
        let weight = self.rows.weights[i];
        let weight = if self.rows.plain { None } else { Some(weight) };
        losses.logistic(z, self.rows.labels[i], &[1.0; LANES], weight);
    }
}

struct DenseTask<'a, T> {
    task: Task<'a>,
    values: &'a [T],
}

impl<T: Storage> Kernel for DenseTask<'_, T> {
    type Output = Lane;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Lane {
        let Self { task, values } = self;
        let columns = task.w.len();
        let mut window = Window::new();
        let mut losses = Losses::new(lanes);
        for (number, list) in task.list.chunks(BLOCK).enumerate() {
            for &i in task.list[number * BLOCK..].iter().skip(BLOCK).take(BLOCK) {
                let at = values.as_ptr().wrapping_add(i as usize * columns);
                for j in (0..columns.min(64)).step_by(8) {
                    lanes.prefetch(at.wrapping_add(j));
                }
            }
            let mut z = [task.shift; BLOCK];
            for (tile, w) in task.w.chunks(TILE).enumerate() {
                for row in (0..list.len()).step_by(ROWS) {
                    let starts = std::array::from_fn(|k| {
                        list[(row + k).min(list.len() - 1)] as usize * columns
                    });
                    let rows = window.rows(values, starts, tile * TILE, w.len());
                    add_scores(lanes, rows, w, &mut z[row..row + ROWS]);
                }
            }
            for (&i, z) in list.iter().zip(&mut z) {
                task.add(&mut losses, i as usize, z);
            }
            losses.end_block();
        }
        losses.sums().0
    }
}

struct SparseTask<'a, I, T> {
    task: Task<'a>,
    x: &'a Csr<'a>,
    indices: &'a [I],
    values: &'a [T],
}

impl<I: ColumnIndex, T: Storage> Kernel for SparseTask<'_, I, T> {
    type Output = Lane;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Lane {
        let Self { task, x, indices, values } = self;
        let mut losses = Losses::new(lanes);
        for list in task.list.chunks(BLOCK) {
            for &i in list {
                let range = x.range(i as usize);
                let (indices, values) = (&indices[range.clone()], &values[range]);
                let shift = lanes.load(&task.shift);
                let mut z = lanes.array(sparse_score(lanes, indices, values, task.w, shift));
                task.add(&mut losses, i as usize, &mut z);
            }
            losses.end_block();
        }
        losses.sums().0
    }
}
