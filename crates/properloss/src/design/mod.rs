//! The matrix the trainers see: scaled rows and an intercept, never formed.
//!
//! A design row is `x̃_i = (s_i F (x_i - c), 1)`: a factor per row, a factor and a shift per column,
//! and a 1 if there is an intercept. Only `w ↦ X̃ w` ([`Design::scores`]) and `r ↦ X̃' r`
//! ([`Design::adjoint`]) are needed to train, and both follow from the same products with the raw
//! matrix:
//!
//! ```text
//! (X̃ w)_i  = s_i x_i·(F w) + (b - c·(F w))
//! (X̃' r)_j = F_j (Σ_i r_i s_i x_ij - c_j Σ_i r_i)
//! ```
//!
//! So `X` is read where it lies, in `f32`, `f64` or sparse, and costs no second copy.

mod dense;
mod gram;
mod lanes;
mod scaling;
mod sparse;
mod spectral;
mod statistics;

pub use scaling::{FittedScaling, Scaling};
pub use spectral::SpectralNorm;

pub(crate) use lanes::{
    FACTORIAL_13, FACTORIALS, Kernel, LN2_HIGH, LN2_LOW, Lanes, WHOLE, exp, kernel, log,
    log_one_plus, run,
};

use crate::error::{Error, Result};
use crate::sample::{Matrix, Sample};

/// The instruction set of this machine, found at run time. All of them give the same bits: the
/// kernels fix the order of every sum and use no fused multiply-add.
pub(crate) fn arch() -> pulp::Arch {
    pulp::Arch::new()
}

/// The name of the instruction set that the kernels use on this machine.
pub fn instruction_set() -> &'static str {
    match arch() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(_) => "x86-64-v4 (AVX-512)",
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(_) => "x86-64-v3 (AVX2, FMA)",
        _ => "the baseline of the target",
    }
}

/// Whether the scores have an intercept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intercept {
    /// It is learned: the last coordinate of the weights.
    Learned,
    /// The scores are `w·x` alone.
    Zero,
}

impl From<bool> for Intercept {
    fn from(learned: bool) -> Self {
        if learned { Self::Learned } else { Self::Zero }
    }
}

/// Rows under a fitted scaling, with an optional intercept as the last coordinate.
#[derive(Debug, Clone)]
pub struct Design<'a> {
    matrix: Matrix<'a>,
    scaling: FittedScaling,
    intercept: bool,
    /// `s_i` for unit rows.
    row_factors: Option<Vec<f64>>,
}

impl<'a> Design<'a> {
    /// Fits `scaling` to the rows of positive weight and puts it over all rows.
    pub fn new(sample: &Sample<'a>, scaling: Scaling, intercept: Intercept) -> Self {
        let scaling = scaling.fit(sample);
        Self::from_parts(sample.matrix(), scaling, intercept)
    }

    /// New rows under a scaling fitted before, as at prediction. The number of columns and the
    /// values are checked.
    pub fn with_fitted(
        matrix: Matrix<'a>,
        scaling: FittedScaling,
        intercept: Intercept,
    ) -> Result<Self> {
        let design = Self::with_unchecked_values(matrix, scaling, intercept)?;
        matrix.check_finite()?;
        Ok(design)
    }

    /// The same without the pass over X that checks the values. A value that is not finite makes
    /// the score of its row not finite (`0 · ∞` and `0 · NaN` are NaN), so whoever only wants scores
    /// can look at those.
    pub(crate) fn with_unchecked_values(
        matrix: Matrix<'a>,
        scaling: FittedScaling,
        intercept: Intercept,
    ) -> Result<Self> {
        if matrix.columns() == 0 {
            return Err(Error::TooShort { what: "columns", length: 0, minimum: 1 });
        }
        scaling.check(matrix.columns())?;
        Ok(Self::from_parts(matrix, scaling, intercept))
    }

    fn from_parts(matrix: Matrix<'a>, scaling: FittedScaling, intercept: Intercept) -> Self {
        let row_factors = matches!(scaling, FittedScaling::UnitRows).then(|| {
            let mut factors = statistics::row_norms(&matrix);
            for factor in &mut factors {
                *factor = if *factor > 0.0 { 1.0 / *factor } else { 0.0 };
            }
            factors
        });
        let intercept = intercept == Intercept::Learned;
        Self { matrix, scaling, intercept, row_factors }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    /// Length of a coefficient vector: the columns, and one more with an intercept.
    pub fn dimension(&self) -> usize {
        self.matrix.columns() + usize::from(self.intercept)
    }

    /// Whether the last coordinate is an intercept.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// The raw rows.
    pub fn matrix(&self) -> Matrix<'a> {
        self.matrix
    }

    /// The scaling, as a model file stores it.
    pub fn scaling(&self) -> &FittedScaling {
        &self.scaling
    }

    /// `z_i = w·x̃_i` for every row: one pass over X.
    ///
    /// # Panics
    /// If `w` is not [`Self::dimension`] long or `z` not [`Self::rows`] long.
    pub fn scores(&self, w: &[f64], z: &mut [f64]) {
        assert_eq!(w.len(), self.dimension(), "length of w");
        assert_eq!(z.len(), self.rows(), "length of z");
        let (raw, shift) = self.scaling.raw_coefficients(w, self.matrix.columns());
        let factors = self.row_factors.as_deref();
        match &self.matrix {
            Matrix::DenseF32(x) => dense::product(arch(), x, &raw, factors, shift, z),
            Matrix::DenseF64(x) => dense::product(arch(), x, &raw, factors, shift, z),
            Matrix::Csr(x) => sparse::product(x, &raw, factors, shift, z),
        }
    }

    /// `g = Σ_i r_i x̃_i`: one pass over X.
    ///
    /// # Panics
    /// If `r` is not [`Self::rows`] long or `g` not [`Self::dimension`] long.
    pub fn adjoint(&self, r: &[f64], g: &mut [f64]) {
        assert_eq!(r.len(), self.rows(), "length of r");
        assert_eq!(g.len(), self.dimension(), "length of g");
        let columns = self.matrix.columns();
        power_sums::<1>(&self.matrix, r, self.row_factors.as_deref(), &mut g[..columns]);
        let total = if self.intercept || self.scaling.shifts() { statistics::sum(r) } else { 0.0 };
        self.scaling.scale_adjoint(total, &mut g[..columns]);
        if self.intercept {
            g[columns] = total;
        }
    }

    /// `Σ_i h_i x̃_ij²` for every column `j`, `h >= 0`: the diagonal of [`Self::weighted_gram`] at the
    /// cost of a pass (two with standardised columns).
    ///
    /// # Panics
    /// If `h` is not [`Self::rows`] long or `diagonal` not [`Self::dimension`] long.
    pub fn weighted_squares(&self, h: &[f64], diagonal: &mut [f64]) {
        assert_eq!(h.len(), self.rows(), "length of h");
        assert_eq!(diagonal.len(), self.dimension(), "length of diagonal");
        let columns = self.matrix.columns();
        let (squares, factors) = (&mut diagonal[..columns], self.row_factors.as_deref());
        power_sums::<2>(&self.matrix, h, factors, squares);
        let total = statistics::sum(h);
        match &self.scaling {
            FittedScaling::None | FittedScaling::UnitRows => {}
            FittedScaling::MaxNorm { factor } => {
                squares.iter_mut().for_each(|s| *s *= factor * factor);
            }
            FittedScaling::Standardise { mean, factor } => {
                // Σ h (x - c)² = Σ h x² - 2 c Σ h x + c² Σ h, not below 0 up to rounding.
                let mut first = vec![0.0; columns];
                power_sums::<1>(&self.matrix, h, factors, &mut first);
                for j in 0..columns {
                    let centred = squares[j] - mean[j] * (2.0 * first[j] - mean[j] * total);
                    squares[j] = centred.max(0.0) * factor[j] * factor[j];
                }
            }
        }
        if self.intercept {
            diagonal[columns] = total;
        }
    }

    /// `|x̃_i|` for every row, the intercept's 1 included; O(X).
    pub fn row_norms(&self) -> Vec<f64> {
        let mut norms = match &self.scaling {
            FittedScaling::Standardise { mean, factor } => {
                statistics::standardised_row_norms(&self.matrix, mean, factor)
            }
            _ => statistics::row_norms(&self.matrix),
        };
        for (i, norm) in norms.iter_mut().enumerate() {
            match (&self.scaling, &self.row_factors) {
                (_, Some(factors)) => *norm *= factors[i],
                (FittedScaling::MaxNorm { factor }, _) => *norm *= factor,
                _ => {}
            }
            if self.intercept {
                *norm = norm.hypot(1.0);
            }
        }
        norms
    }

    /// `max |x̃_i|` over the rows of positive weight, the intercept's 1 included; O(X).
    pub fn max_row_norm(&self, weights: Option<&[f64]>) -> f64 {
        let norms = self.row_norms();
        let counts = |i: usize| weights.is_none_or(|weights| weights[i] > 0.0);
        (0..norms.len()).filter(|&i| counts(i)).map(|i| norms[i]).fold(0.0, f64::max)
    }

    /// The coefficients on the raw features and the intercept that give the same scores. With unit
    /// rows there are none (each row has its own factor): the coefficients returned are those on
    /// `x / |x|`.
    pub fn original_coefficients(&self, w: &[f64]) -> (Vec<f64>, f64) {
        self.scaling.raw_coefficients(w, self.matrix.columns())
    }
}

/// `g_j = Σ_i r_i (s_i x_ij)^P` over raw rows, the factors `s` being 1 if not given; `P` is 1 or 2.
fn power_sums<const P: u32>(x: &Matrix<'_>, r: &[f64], factors: Option<&[f64]>, g: &mut [f64]) {
    match x {
        Matrix::DenseF32(x) => dense::power_sums::<_, P>(arch(), x, r, factors, g),
        Matrix::DenseF64(x) => dense::power_sums::<_, P>(arch(), x, r, factors, g),
        Matrix::Csr(x) => sparse::power_sums::<P>(x, r, factors, g),
    }
}
