//! Special functions and the few error-free transformations that the links need.
//!
//! Hand-written because the links need *scaled* forms (a Mills ratio, `e^t E_1(t)`) and complements
//! that the usual libraries do not offer to full relative accuracy. Checked in `tests/special.rs`
//! against tables computed with mpmath and against the `libm` crate.

pub(crate) mod expint;
pub(crate) mod normal;
mod sum;

pub use sum::Sum;

/// `a + b = sum + error`, exactly.
#[inline]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let other = sum - a;
    (sum, (a - (sum - other)) + (b - other))
}

/// `a b = product + error`, exactly (unless it underflows).
///
/// By splitting both factors into halves of 26 bits: without a hardware instruction, which a portable
/// build does not presume, a fused multiply-add is a slow call.
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    const BIG: f64 = 1e290;
    let product = a * b;
    if a.abs() > BIG || b.abs() > BIG {
        return (product, a.mul_add(b, -product));
    }
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    let error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (product, error)
}

/// `a = high + low`, each of at most 26 bits (Veltkamp), for `|a| < 1e300`.
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a; // 2^27 + 1
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// An unevaluated sum `hi + lo` with about 106 significant bits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Double {
    pub hi: f64,
    pub lo: f64,
}

impl Double {
    /// `a + b`, exactly.
    pub fn sum(a: f64, b: f64) -> Self {
        let (hi, lo) = two_sum(a, b);
        Self { hi, lo }
    }

    /// `a b`, exactly.
    pub fn product(a: f64, b: f64) -> Self {
        let (hi, lo) = two_product(a, b);
        Self { hi, lo }
    }

    pub fn plus(self, other: Self) -> Self {
        let (hi, lo) = two_sum(self.hi, other.hi);
        let (low, lower) = two_sum(self.lo, other.lo);
        let (hi, lo) = two_sum(hi, lo + low);
        let (hi, lo) = two_sum(hi, lo + lower);
        Self { hi, lo }
    }

    pub fn times(self, other: Self) -> Self {
        let (hi, lo) = two_product(self.hi, other.hi);
        let (hi, lo) = two_sum(hi, lo + (self.hi * other.lo + self.lo * other.hi));
        Self { hi, lo }
    }

    /// The product with a power of two.
    pub fn scaled(self, power: f64) -> Self {
        Self { hi: self.hi * power, lo: self.lo * power }
    }

    pub fn minus(self, other: Self) -> Self {
        self.plus(other.scaled(-1.0))
    }

    pub fn value(self) -> f64 {
        self.hi + self.lo
    }
}

/// `e^z` with about 20 digits, for `|z|` up to a few hundred.
///
/// `z = n ln 2 + 64 s`; with `m = e^s - 1` (Taylor; only the first two terms need more than f64),
/// six times `m <- 2m + m²` is `e^{64 s} - 1`.
pub(crate) fn exp_double(z: f64) -> Double {
    const LN_2: Double = Double { hi: std::f64::consts::LN_2, lo: 2.3190468138462996e-17 };
    let n = (z / LN_2.hi).round();
    let multiple = Double::product(n, LN_2.hi).plus(Double { hi: n * LN_2.lo, lo: 0.0 });
    let s = Double { hi: z, lo: 0.0 }.minus(multiple).scaled(1.0 / 64.0);
    let x = s.hi;
    let tail = 1.0 / 120.0 + x * (1.0 / 720.0 + x / 5040.0);
    let rest = x * x * x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * tail));
    let mut m = s.plus(s.times(s).scaled(0.5)).plus(Double { hi: rest, lo: 0.0 });
    for _ in 0..6 {
        m = m.scaled(2.0).plus(m.times(m));
    }
    m.plus(Double { hi: 1.0, lo: 0.0 }).scaled(n.exp2())
}

/// `Σ c_k T_k(s)` by Clenshaw's recurrence.
pub(crate) fn chebyshev(coefficients: &[f64], s: f64) -> f64 {
    let (mut previous, mut current) = (0.0, 0.0);
    for &c in coefficients[1..].iter().rev() {
        (previous, current) = (current, 2.0 * s * current - previous + c);
    }
    s * current - previous + coefficients[0]
}
