//! Standard deviations of columns, in one pass over blocks of rows.

use properloss::sample::Matrix;
use rayon::prelude::*;

/// Rows a thread takes at a time.
const CHUNK: usize = 1 << 16;

/// `Σ w`, `Σ w (x - c)` and `Σ w (x - c)²` of every column; `c` is the first row, so that a column
/// far from 0 loses nothing (0 for sparse rows, whose zeros are not visited).
#[derive(Debug, Clone, Default)]
pub struct Moments {
    weight: f64,
    shift: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    /// Adds rows. All blocks have the same number of columns and are of one kind.
    pub fn add(&mut self, matrix: &Matrix<'_>, weights: Option<&[f64]>) {
        if self.shift.is_empty() {
            let columns = matrix.columns();
            self.shift = vec![0.0; columns];
            self.sums = vec![0.0; columns];
            self.squares = vec![0.0; columns];
            if !matches!(matrix, Matrix::Csr(_)) && matrix.rows() > 0 {
                let shift = &mut self.shift;
                matrix.for_each_in_row(0, |j, x| shift[j] = x);
            }
        }
        let shift = &self.shift;
        // Chunks of a fixed size, added in order: the same bits for any number of threads.
        let chunks: Vec<(f64, Vec<f64>, Vec<f64>)> = (0..matrix.rows().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let mut weight = 0.0;
                let (mut sums, mut squares) = (vec![0.0; shift.len()], vec![0.0; shift.len()]);
                for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(matrix.rows()) {
                    let w = weights.map_or(1.0, |weights| weights[i]);
                    if w == 0.0 {
                        continue;
                    }
                    weight += w;
                    matrix.for_each_in_row(i, |j, x| {
                        let d = x - shift[j];
                        sums[j] += w * d;
                        squares[j] += w * d * d;
                    });
                }
                (weight, sums, squares)
            })
            .collect();
        for (weight, sums, squares) in chunks {
            self.weight += weight;
            self.sums.iter_mut().zip(sums).for_each(|(total, part)| *total += part);
            self.squares.iter_mut().zip(squares).for_each(|(total, part)| *total += part);
        }
    }

    /// The standard deviations; 0 for a constant column.
    pub fn deviations(&self) -> Vec<f64> {
        let variance = |(sum, square): (&f64, &f64)| {
            let mean = sum / self.weight;
            (square / self.weight - mean * mean).max(0.0)
        };
        self.sums.iter().zip(&self.squares).map(|pair| variance(pair).sqrt()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Moments;
    use properloss::sample::Matrix;

    #[test]
    fn blocks_and_weights_add_up() {
        let x = [1e9, 0.0, 1e9 + 1.0, 2.0, 1e9 + 2.0, 2.0, 7.0, 7.0];
        let mut moments = Moments::default();
        moments.add(&Matrix::dense_f64(&x[..4], 2, 2).unwrap(), Some(&[1.0, 2.0]));
        moments.add(&Matrix::dense_f64(&x[4..], 2, 2).unwrap(), Some(&[1.0, 0.0]));
        // Weight 2 is a duplicate, weight 0 a removal.
        let expected = [0.5f64.sqrt(), 0.75f64.sqrt()];
        for (found, expected) in moments.deviations().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
