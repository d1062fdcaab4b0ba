//! Pentadiagonal systems: `H = L D L'` and one solve, O(n).

/// A symmetric matrix with two diagonals on either side of its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Pentadiagonal {
    /// `H[i, i]`.
    pub own: Vec<f64>,
    /// `H[i, i + 1]`, at `i`; the last entry is not used.
    pub next: Vec<f64>,
    /// `H[i, i + 2]`, at `i`; the last two entries are not used.
    pub second: Vec<f64>,
}

impl Pentadiagonal {
    /// Of this size, and zero.
    pub fn clear(&mut self, size: usize) {
        for diagonal in [&mut self.own, &mut self.next, &mut self.second] {
            diagonal.clear();
            diagonal.resize(size, 0.0);
        }
    }
}

/// `L` (unit diagonal, two diagonals below) and `D`.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    first: Vec<f64>,
    second: Vec<f64>,
    pivot: Vec<f64>,
}

impl Factor {
    /// Factors `h + ridge diag(h)`; false if a pivot is not positive.
    ///
    /// ```text
    /// l2_i = h_{i-2,i} / d_{i-2}
    /// l1_i = (h_{i-1,i} - h_{i-2,i} l1_{i-1}) / d_{i-1}
    /// d_i  = h_ii - l1_i^2 d_{i-1} - l2_i^2 d_{i-2}
    /// ```
    pub fn of(&mut self, h: &Pentadiagonal, ridge: f64) -> bool {
        let size = h.own.len();
        for part in [&mut self.first, &mut self.second, &mut self.pivot] {
            part.clear();
            part.resize(size, 0.0);
        }
        // l1, d of the row before; d and 1/d of the one before that.
        let (mut l1, mut d1, mut r1, mut d2, mut r2) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for i in 0..size {
            let far = if i > 1 { h.second[i - 2] } else { 0.0 };
            let near = if i > 0 { h.next[i - 1] } else { 0.0 };
            let second = far * r2;
            let first = (near - far * l1) * r1;
            let pivot = h.own[i] * (1.0 + ridge) - first * first * d1 - second * second * d2;
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            (self.first[i], self.second[i], self.pivot[i]) = (first, second, pivot);
            (l1, d2, r2, d1, r1) = (first, d1, r1, pivot, 1.0 / pivot);
        }
        true
    }

    /// The diagonal of `H^-1` and the one beside it, from `L' Z = D^-1 L^-1` (Takahashi):
    ///
    /// ```text
    /// z_ij = [i = j]/d_i - l1_{i+1} z_{i+1,j} - l2_{i+2} z_{i+2,j}        i <= j <= i + 2
    /// ```
    pub fn inverse_band(&self) -> (Vec<f64>, Vec<f64>) {
        let size = self.pivot.len();
        let (mut own, mut next) = (vec![0.0; size], vec![0.0; size]);
        for i in (0..size).rev() {
            let at = |part: &[f64], i: usize| part.get(i).copied().unwrap_or(0.0);
            let (l1, l2) = (at(&self.first, i + 1), at(&self.second, i + 2));
            let (z11, z12, z22) = (at(&own, i + 1), at(&next, i + 1), at(&own, i + 2));
            let (z01, z02) = (-l1 * z11 - l2 * z12, -l1 * z12 - l2 * z22);
            own[i] = 1.0 / self.pivot[i] - l1 * z01 - l2 * z02;
            next[i] = z01;
        }
        (own, next)
    }

    /// `x <- H^-1 x`.
    pub fn solve(&self, x: &mut [f64]) {
        let size = x.len();
        for i in 1..size {
            let far = if i > 1 { self.second[i] * x[i - 2] } else { 0.0 };
            x[i] -= self.first[i] * x[i - 1] + far;
        }
        for (x, pivot) in x.iter_mut().zip(&self.pivot) {
            *x /= pivot;
        }
        for i in (0..size.saturating_sub(1)).rev() {
            let far = if i + 2 < size { self.second[i + 2] * x[i + 2] } else { 0.0 };
            x[i] -= self.first[i + 1] * x[i + 1] + far;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against Gaussian elimination on the full matrix.
    #[test]
    fn solves_as_elimination_does() {
        for size in 1..9 {
            let mut h = Pentadiagonal::default();
            h.clear(size);
            let mut full = vec![vec![0.0f64; size]; size];
            for i in 0..size {
                h.own[i] = 7.0 + i as f64;
                h.next[i] = 1.5 - 0.4 * i as f64;
                h.second[i] = -0.7 + 0.3 * i as f64;
                full[i][i] = h.own[i];
                for (step, value) in [(1, h.next[i]), (2, h.second[i])] {
                    if i + step < size {
                        full[i][i + step] = value;
                        full[i + step][i] = value;
                    }
                }
            }
            let right: Vec<f64> = (0..size).map(|i| (i as f64 * 1.3).cos()).collect();
            let mut x = right.clone();
            let mut factor = Factor::default();
            assert!(factor.of(&h, 0.0));
            factor.solve(&mut x);
            for i in 0..size {
                let product: f64 = (0..size).map(|j| full[i][j] * x[j]).sum();
                assert!((product - right[i]).abs() < 1e-14, "{size} {i}: {product} {}", right[i]);
            }
            // The band of the inverse, by solving for unit vectors.
            let (own, next) = factor.inverse_band();
            for i in 0..size {
                let mut unit = vec![0.0; size];
                unit[i] = 1.0;
                factor.solve(&mut unit);
                assert!((own[i] - unit[i]).abs() < 1e-15, "{size} {i}");
                let beside = if i + 1 < size { unit[i + 1] } else { 0.0 };
                assert!((next[i] - beside).abs() < 1e-15, "{size} {i}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut h = Pentadiagonal::default();
        h.clear(2);
        (h.own, h.next) = (vec![1.0, 1.0], vec![2.0, 0.0]);
        assert!(!Factor::default().of(&h, 0.0));
        assert!(Factor::default().of(&h, 1.5));
    }
}
