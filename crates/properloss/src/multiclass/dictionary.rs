//! The likelihoods of softmaxes, floors and class ramps, sparse.

use super::weights::Likelihoods;

/// `L_i = Σ_m θ_m φ_im` for every row's label.
///
/// `θ` are the weights themselves, but for ramps, whose `θ` are the values at the knots: running
/// sums of the weights (each row sees two knots, where it would see half of all ramps).
#[derive(Debug, Clone)]
pub(super) struct Dictionary<'a> {
    /// Entries of every row; those that are not 0 have different indices, the first is the softmax.
    pub per_row: usize,
    pub index: Vec<u32>,
    pub value: Vec<f64>,
    /// Number of weights; number 0 is the softmax.
    pub parts: usize,
    /// `[start, end)` of every run of ramps.
    pub runs: Vec<(usize, usize)>,
    /// The weight and the fold of every row.
    pub weights: &'a [f64],
    pub folds: &'a [u32],
}

impl Dictionary<'_> {
    fn kept(&self, without: Option<u32>) -> impl Iterator<Item = usize> {
        (0..self.weights.len())
            .filter(move |&i| self.weights[i] > 0.0 && Some(self.folds[i]) != without)
    }

    /// `θ` of weights: running sums over the ramps.
    fn knots(&self, b: &[f64]) -> Vec<f64> {
        let mut theta = b.to_vec();
        for &(start, end) in &self.runs {
            for m in start + 1..end {
                theta[m] += theta[m - 1];
            }
        }
        theta
    }

    fn entries(&self, row: usize) -> (&[u32], &[f64]) {
        let range = row * self.per_row..(row + 1) * self.per_row;
        (&self.index[range.clone()], &self.value[range])
    }

    /// `q` of a row: the likelihood of its label under weights given as `θ`.
    fn likelihood(&self, row: usize, tau: f64, theta: &[f64]) -> f64 {
        let (index, value) = self.entries(row);
        let sum: f64 = index.iter().zip(value).map(|(&m, v)| theta[m as usize] * v).sum();
        (value[0] / tau + (1.0 - 1.0 / tau) * sum).max(1e-300)
    }

    /// From knots to weights: sums from the right within every run.
    fn sum_runs(&self, g: &mut [f64]) {
        for &(start, end) in &self.runs {
            for m in (start..end - 1).rev() {
                g[m] += g[m + 1];
            }
        }
    }
}

impl Likelihoods for Dictionary<'_> {
    fn parts(&self) -> usize {
        self.parts
    }

    fn weight(&self, without: Option<u32>) -> f64 {
        self.kept(without).map(|i| self.weights[i]).sum()
    }

    /// The logarithm is taken of products of rows of equal weight.
    fn slopes(&self, without: Option<u32>, tau: f64, b: &[f64]) -> (f64, Vec<f64>) {
        let theta = self.knots(b);
        let mut g = vec![0.0; self.parts];
        let (mut sum, mut product, mut weight) = (0.0, 1.0, 1.0);
        for i in self.kept(without) {
            let (index, value) = self.entries(i);
            let q = self.likelihood(i, tau, &theta);
            let scale = self.weights[i] / q;
            for (&m, &v) in index.iter().zip(value) {
                g[m as usize] += scale * v;
            }
            if self.weights[i] != weight || product < 1e-150 {
                sum += weight * f64::ln(product);
                (product, weight) = (1.0, self.weights[i]);
            }
            product *= q.max(1e-150);
        }
        self.sum_runs(&mut g);
        (sum + weight * f64::ln(product), g)
    }

    fn bends(&self, without: Option<u32>, tau: f64, b: &[f64]) -> Vec<f64> {
        let n = self.parts;
        let theta = self.knots(b);
        let mut h = vec![0.0; n * n];
        for i in self.kept(without) {
            let (index, value) = self.entries(i);
            let scale = 1.0 / self.likelihood(i, tau, &theta);
            let scale = self.weights[i] * scale * scale;
            for (a, (&m, &v)) in index.iter().zip(value).enumerate() {
                if v == 0.0 {
                    continue;
                }
                let v = v * scale;
                let row = &mut h[m as usize * n..(m as usize + 1) * n];
                for (&m2, &v2) in index[a..].iter().zip(&value[a..]) {
                    row[m2 as usize] += v * v2;
                }
            }
        }
        // Entries were added in the order of the row's list: both triangles together.
        for a in 0..n {
            for c in 0..a {
                let sum = h[a * n + c] + h[c * n + a];
                h[a * n + c] = sum;
                h[c * n + a] = sum;
            }
        }
        for &(start, end) in &self.runs {
            for m in (start..end - 1).rev() {
                for k in 0..n {
                    h[m * n + k] += h[(m + 1) * n + k];
                }
            }
        }
        h.chunks_exact_mut(n).for_each(|row| self.sum_runs(row));
        h
    }

    fn probabilities(&self, fold: u32, tau: f64, b: &[f64], out: &mut [f64]) {
        let theta = self.knots(b);
        for (i, out) in out.iter_mut().enumerate().filter(|(i, _)| self.folds[*i] == fold) {
            *out = self.likelihood(i, tau, &theta);
        }
    }
}
