//! `X̃' diag(h) X̃`, the matrix of a dense Newton step.

use rayon::prelude::*;

use super::lanes::kernel;
use super::{Design, FittedScaling, dense};

/// Rows scaled and copied out together: two panels of them, eight columns wide, are 16 kB and stay in the first
/// cache.
const BLOCK_ROWS: usize = 128;
/// At most this many partial sums, `dimension²` numbers each ...
const MAX_CHUNKS: usize = 16;
/// ... and not more numbers than this in all (64 MB).
const MAX_PARTIAL: usize = 1 << 23;

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
        // Columns in panels of eight, the last one filled up with zeros.
        let panels = d.div_ceil(8);
        let width = 8 * panels;
        let most = (MAX_PARTIAL / (width * width)).clamp(1, MAX_CHUNKS);
        let chunk = rows.div_ceil(most).next_multiple_of(BLOCK_ROWS).max(BLOCK_ROWS);
        let chunks = rows.div_ceil(chunk).max(1);
        let mut partial = vec![0.0; chunks * width * width];
        partial.par_chunks_mut(width * width).enumerate().for_each(|(number, sums)| {
            let mut row = vec![0.0; width];
            let mut block = vec![[0.0; 8]; BLOCK_ROWS * panels];
            let mut scaled = block.clone();
            let end = ((number + 1) * chunk).min(rows);
            for start in (number * chunk..end).step_by(BLOCK_ROWS) {
                let count = BLOCK_ROWS.min(end - start);
                for k in 0..count {
                    self.fill_row(start + k, &mut row[..d]);
                    for (panel, x) in row.as_chunks::<8>().0.iter().enumerate() {
                        block[panel * count + k] = *x;
                        scaled[panel * count + k] = x.map(|x| h[start + k] * x);
                    }
                }
                let (block, scaled) = (&block[..count * panels], &scaled[..count * panels]);
                add_gram(block, scaled, count, sums);
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

kernel! {
    /// Adds `block' scaled` to the upper triangle of `sums`, tiles of 4 × 8 held in registers. Panels
    /// follow one another, `count` rows each. Tiles that touch the diagonal are computed whole.
    fn add_gram<'k>(
        lanes: L,
        block: &'k [[f64; 8]],
        scaled: &'k [[f64; 8]],
        count: usize,
        sums: &'k mut [f64],
    ) -> () {
        let width = block.len() / count * 8;
        for (a, left) in block.chunks_exact(count).enumerate() {
            for (b, right) in scaled.chunks_exact(count).enumerate().skip(a) {
                for half in [0, 4] {
                    let mut tile = [lanes.splat(0.0); 4];
                    for (left, right) in left.iter().zip(right) {
                        let right = lanes.load(right);
                        for k in 0..4 {
                            let left = lanes.splat(left[half + k]);
                            tile[k] = lanes.add_product(tile[k], left, right);
                        }
                    }
                    for k in 0..4 {
                        let sums = &mut sums[(8 * a + half + k) * width + 8 * b..][..8];
                        for (sum, t) in sums.iter_mut().zip(lanes.array(tile[k])) {
                            *sum += t;
                        }
                    }
                }
            }
        }
    }
}
