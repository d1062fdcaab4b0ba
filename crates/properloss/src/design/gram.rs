//! `X̃' diag(h) X̃`, the matrix of a dense Newton step.

use rayon::prelude::*;

use super::lanes::{Kernel, Lanes, run};
use super::{Design, FittedScaling, arch, dense};

/// Rows scaled and copied out together; two columns-of-eight of them stay in the first cache.
const BLOCK_ROWS: usize = 128;
/// At most this many partial sums, `dimension²` numbers each.
const MAX_CHUNKS: usize = 16;

impl Design<'_> {
    /// `G = Σ_i h_i x̃_i x̃_i'`, row-major `dimension × dimension`, symmetric; O(m d²) time and O(d²)
    /// memory. The sums run in an order that depends on the shape alone.
    ///
    /// # Panics
    /// If `h` is not [`Self::rows`] long or `gram` not the square of [`Self::dimension`].
    pub fn weighted_gram(&self, h: &[f64], gram: &mut [f64]) {
        let (rows, d) = (self.rows(), self.dimension());
        assert_eq!(h.len(), rows, "length of h");
        assert_eq!(gram.len(), d * d, "length of gram");
        // Padded to whole vectors with columns of zeros.
        let width = d.next_multiple_of(8);
        let chunk = rows.div_ceil(MAX_CHUNKS).next_multiple_of(BLOCK_ROWS).max(BLOCK_ROWS);
        let chunks = rows.div_ceil(chunk).max(1);
        let mut partial = vec![0.0; chunks * width * width];
        partial.par_chunks_mut(width * width).enumerate().for_each(|(number, sums)| {
            let mut block = vec![0.0; BLOCK_ROWS * width];
            let mut scaled = vec![0.0; BLOCK_ROWS * width];
            let end = ((number + 1) * chunk).min(rows);
            for start in (number * chunk..end).step_by(BLOCK_ROWS) {
                let count = BLOCK_ROWS.min(end - start);
                let (block, scaled) = (&mut block[..count * width], &mut scaled[..count * width]);
                let pairs = block.chunks_exact_mut(width).zip(scaled.chunks_exact_mut(width));
                for (k, (row, scaled)) in pairs.enumerate() {
                    self.fill_row(start + k, &mut row[..d]);
                    for (s, x) in scaled.iter_mut().zip(row) {
                        *s = h[start + k] * *x;
                    }
                }
                run(arch(), AddGram { block, scaled, width, sums });
            }
        });
        let mut sums = vec![0.0; width * width];
        dense::add_in_order(&partial, &mut sums);
        for a in 0..d {
            for b in 0..d {
                gram[a * d + b] = sums[a.min(b) * width + a.max(b)];
            }
        }
    }

    /// The design row `x̃_i` in full.
    pub fn fill_row(&self, i: usize, row: &mut [f64]) {
        let columns = self.matrix.columns();
        row[..columns].fill(0.0);
        self.matrix.for_each_in_row(i, |j, x| row[j] = x);
        match (&self.scaling, &self.row_factors) {
            (FittedScaling::MaxNorm { factor }, _) => {
                row[..columns].iter_mut().for_each(|x| *x *= factor);
            }
            (FittedScaling::Standardise { mean, factor }, _) => {
                for j in 0..columns {
                    row[j] = (row[j] - mean[j]) * factor[j];
                }
            }
            (_, Some(factors)) => row[..columns].iter_mut().for_each(|x| *x *= factors[i]),
            _ => {}
        }
        if self.intercept {
            row[columns] = 1.0;
        }
    }
}

/// Adds `block' scaled` to the upper triangle of `sums`, tiles of 4 × 8 held in registers.
struct AddGram<'a> {
    block: &'a [f64],
    scaled: &'a [f64],
    width: usize,
    sums: &'a mut [f64],
}

impl Kernel for AddGram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let width = self.width;
        for a in (0..width).step_by(4) {
            // Tiles that touch the diagonal are computed whole; below it they are not read.
            for b in (a / 8 * 8..width).step_by(8) {
                let mut tile = [lanes.splat(0.0); 4];
                let rows = self.block.chunks_exact(width).zip(self.scaled.chunks_exact(width));
                for (row, scaled) in rows {
                    let (Some(left), Some(right)) =
                        (row[a..].first_chunk::<4>(), scaled[b..].first_chunk::<8>())
                    else {
                        continue;
                    };
                    let right = lanes.load(right);
                    for k in 0..4 {
                        tile[k] = lanes.add_product(tile[k], lanes.splat(left[k]), right);
                    }
                }
                for k in 0..4 {
                    let sums = &mut self.sums[(a + k) * width + b..][..8];
                    for (sum, t) in sums.iter_mut().zip(lanes.array(tile[k])) {
                        *sum += t;
                    }
                }
            }
        }
    }
}
