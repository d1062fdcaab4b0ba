//! The normal distribution, with full relative accuracy in the tail.

use super::{chebyshev, two_product};

/// `1/√(2π)`.
const DENSITY_AT_ZERO: f64 = 0.3989422804014327;
const SQRT_TWO_PI: f64 = 2.5066282746310002;

/// Beyond this score the density is zero in f64.
const FAR: f64 = 39.0;

/// `(1 + x)² K(x)`, `K(x) = 1 - x Q(x)/φ(x)`, in `s = (x - 6)/(x + 4)`, `x >= 1`
/// (`tests/reference/coefficients.py`).
const COMPLEMENT: [f64; 25] = [
    1.2326937782469658,
    -0.21915853254729628,
    -0.036339129916260836,
    0.029822956990476046,
    -0.0078994239114338,
    0.0007709632549370289,
    0.00017611249422344404,
    -7.702386566158823e-05,
    9.940867456244712e-06,
    7.081278162795732e-07,
    -3.728472995688503e-07,
    1.3863789584207471e-08,
    1.052817498702167e-08,
    -1.028074807710245e-09,
    -3.095275768528945e-10,
    4.3141271816606785e-11,
    1.0503005346289394e-11,
    -1.5815999174356764e-12,
    -4.161988189193152e-13,
    5.239198566290233e-14,
    1.8372289810630487e-14,
    -1.3896791065470865e-15,
    -8.458604511496e-16,
    9.993447529842997e-18,
    3.810080858150687e-17,
];

/// `φ(x) = e^{-x²/2}/√(2π)`. The rounding error of `x²` would cost `x²/2` ulp in the tail, so it is
/// carried along.
pub(crate) fn density(x: f64) -> f64 {
    if x.abs() >= FAR {
        return 0.0;
    }
    let (square, error) = two_product(x, x);
    let factor = DENSITY_AT_ZERO * (1.0 - 0.5 * error);
    (-0.5 * square).exp() * factor
}

/// `∫_0^x φ = φ(x) (x + x³/3 + x⁵/15 + ...)`, all terms of one sign; for `|x| <= 1`.
fn central_area(x: f64) -> f64 {
    let square = x * x;
    let (mut term, mut sum, mut odd) = (x, 0.0_f64, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        sum += term;
        odd += 2.0;
        term *= square / odd;
    }
    density(x) * sum
}

/// `K(x) = 1 - x Q(x)/φ(x)`, for `x >= 0`; falls like `1/x²`.
fn complement(x: f64) -> f64 {
    if x < 1.0 {
        1.0 - x * mills(x)
    } else if x.is_infinite() {
        0.0
    } else {
        chebyshev(&COMPLEMENT, (x - 6.0) / (x + 4.0)) / (1.0 + x) / (1.0 + x)
    }
}

/// Mills' ratio `R(x) = Q(x)/φ(x)`, for `x >= 0`.
pub(crate) fn mills(x: f64) -> f64 {
    if x < 1.0 { (0.5 - central_area(x)) / density(x) } else { (1.0 - complement(x)) / x }
}

/// `Q(x) = ∫_x^∞ φ`.
pub(crate) fn upper_tail(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() < 1.0 {
        0.5 - central_area(x)
    } else if x < 0.0 {
        1.0 - upper_tail(-x)
    } else if x >= FAR {
        0.0
    } else {
        density(x) * mills(x)
    }
}

/// `∫_x^∞ Q = φ(x) - x Q(x) = φ(x) K(x)`; for `x < 0`, `|x|` plus its mirror image.
pub(crate) fn integrated_upper_tail(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x < 0.0 {
        -x + integrated_upper_tail(-x)
    } else if x >= FAR {
        0.0
    } else {
        density(x) * complement(x)
    }
}

/// The `x >= 0` with `Q(x) = q`, for `q` in `(0, 1/2]`.
///
/// Two steps of Halley's method: near 1/2 on `∫_0^x φ = 1/2 - q`, where that difference is exact,
/// else on `g = ln(Q(x)/q)`, whose derivatives are `-1/R` and `-K/R²`.
pub(crate) fn upper_tail_inverse(q: f64) -> f64 {
    if q > 0.3 {
        let area = 0.5 - q;
        let s = SQRT_TWO_PI * area;
        let mut x = s * (1.0 + s * s / 6.0);
        for _ in 0..2 {
            let newton = (central_area(x) - area) / density(x);
            x -= newton / (1.0 + 0.5 * newton * x);
        }
        return x;
    }
    // Hastings' rational approximation (Abramowitz and Stegun 26.2.23), error below 4.5e-4.
    let t = (-2.0 * q.ln()).sqrt();
    let mut x = t
        - (2.515517 + t * (0.802853 + t * 0.010328))
            / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for _ in 0..2 {
        let g = log_ratio(x, q);
        x += g * mills(x) / (1.0 + 0.5 * complement(x) * g);
    }
    x
}

/// `ln(Q(x)/q)`; by logarithms where `Q` or `q` are near the end of the range of f64.
fn log_ratio(x: f64, q: f64) -> f64 {
    if q > 1e-290 {
        let tail = upper_tail(x);
        ((tail - q) / q).ln_1p()
    } else {
        // The product with 2^200 is exact and lifts both out of the subnormal range.
        let shift = 200.0;
        let (square, error) = two_product(x, x);
        let exponent = shift * std::f64::consts::LN_2 - 0.5 * square;
        let tail = exponent.exp() * (1.0 - 0.5 * error) * DENSITY_AT_ZERO * mills(x);
        (tail / (q * shift.exp2())).ln()
    }
}
