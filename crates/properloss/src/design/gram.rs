//! `X̃' diag(h) X̃`, the matrix of a Newton step.

use rayon::prelude::*;

use super::{Design, FittedScaling};

/// Rows scaled and copied out together.
const BLOCK_ROWS: usize = 256;

impl Design<'_> {
    /// `G = Σ_i h_i x̃_i x̃_i'`, row-major `dimension × dimension`, symmetric; O(m d²).
    ///
    /// Blocks of scaled rows are formed one after another (O(d) memory beside `G`), and each thread
    /// owns rows of `G`: nothing is reduced, so any number of threads gives the same bits.
    ///
    /// # Panics
    /// If `h` is not [`Self::rows`] long or `gram` not the square of [`Self::dimension`].
    pub fn weighted_gram(&self, h: &[f64], gram: &mut [f64]) {
        let d = self.dimension();
        assert_eq!(h.len(), self.rows(), "length of h");
        assert_eq!(gram.len(), d * d, "length of gram");
        gram.fill(0.0);
        let mut block = vec![0.0; BLOCK_ROWS.min(self.rows()) * d];
        for start in (0..self.rows()).step_by(BLOCK_ROWS) {
            let end = (start + BLOCK_ROWS).min(self.rows());
            let block = &mut block[..(end - start) * d];
            block.par_chunks_mut(d).enumerate().for_each(|(k, row)| self.fill_row(start + k, row));
            let h = &h[start..end];
            gram.par_chunks_mut(d).enumerate().for_each(|(a, gram_row)| {
                for (row, h) in block.chunks_exact(d).zip(h) {
                    let c = h * row[a];
                    for b in a..d {
                        gram_row[b] += c * row[b];
                    }
                }
            });
        }
        for a in 0..d {
            for b in 0..a {
                gram[a * d + b] = gram[b * d + a];
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
