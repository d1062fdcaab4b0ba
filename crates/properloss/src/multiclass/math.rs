//! `exp` and `log` of eight numbers at once, branch-free, the same bits on every instruction set.
//!
//! Plain arithmetic on arrays: inlined into a [`Kernel`](crate::design::Kernel), the compiler turns
//! each loop into registers of that kernel's instruction set. Unlike the `exp` of `design/`, which fuses
//! multiplication and addition, it rounds after both: the probabilities of several classes keep their bits.

use crate::design::{FACTORIAL_13, FACTORIALS, LN2_HIGH, LN2_LOW, WHOLE};

/// Eight rows.
pub(super) type Eight = [f64; 8];

#[inline(always)]
pub(super) fn map(a: &Eight, f: impl Fn(f64) -> f64) -> Eight {
    std::array::from_fn(|l| f(a[l]))
}

#[inline(always)]
pub(super) fn zip(a: &Eight, b: &Eight, f: impl Fn(f64, f64) -> f64) -> Eight {
    std::array::from_fn(|l| f(a[l], b[l]))
}

/// `e^x` for `x <= 1`, to 1e-15 relative; below -708 it stays at `e^-708`, which is 0 beside 1.
///
/// `x = n log 2 + r`, `|r| <= log 2 / 2`, Taylor's polynomial of degree 13 (remainder 4e-18), and
/// `2^n` from the bits of `n + 1.5 2^52`.
#[inline(always)]
pub(super) fn exp(x: &Eight) -> Eight {
    map(x, |x| {
        let x = if x < -708.0 { -708.0 } else { x };
        let shifted = x * std::f64::consts::LOG2_E + WHOLE;
        let n = shifted - WHOLE;
        let r = (x - n * LN2_HIGH) - n * LN2_LOW;
        let mut sum = 1.0 / FACTORIAL_13;
        for factorial in FACTORIALS {
            sum = sum * r + 1.0 / factorial;
        }
        let power = f64::from_bits((shifted.to_bits().wrapping_add(1023)) << 52);
        sum * power
    })
}

/// `log x` for normal positive `x`, to 1e-15 of `max(1, |log x|)`.
///
/// `x = 2^e m`, `m` in `[1/√2, √2)`, and `log m = 2 artanh((m - 1)/(m + 1))` by its series.
#[inline(always)]
pub(super) fn log(x: &Eight) -> Eight {
    const HALF_SQRT: u64 = 0x3FE6_A09E_667F_3BCD; // 1/√2
    map(x, |x| {
        let bits = x.to_bits();
        // The exponent as a signed number in the upper bits.
        let e = (bits.wrapping_sub(HALF_SQRT) as i64) >> 52;
        let m = f64::from_bits(bits.wrapping_sub((e << 52) as u64));
        // e + 1.5 2^52, in the bits of a double.
        let e = f64::from_bits((e as u64).wrapping_add(0x4338_0000_0000_0000)) - WHOLE;
        let s = (m - 1.0) / (m + 1.0);
        let square = s * s;
        let mut sum = 1.0 / 23.0;
        for odd in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
            sum = sum * square + 1.0 / odd;
        }
        e * LN2_HIGH + ((2.0 * s + 2.0 * s * (square * sum)) + e * LN2_LOW)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_log_agree_with_the_library() {
        let mut x = -707.9;
        while x < 1.0 {
            let [e, ..] = exp(&[x; 8]);
            assert!((e / x.exp() - 1.0).abs() < 1e-15, "{x}: {e}");
            let y = x.exp();
            let [l, ..] = log(&[y; 8]);
            assert!((l - y.ln()).abs() < 1e-15 * x.abs().max(1.0), "{y}: {l}");
            x += 0.137;
        }
        assert_eq!(exp(&[0.0; 8]), [1.0; 8]);
        assert_eq!(log(&[1.0; 8]), [0.0; 8]);
        assert!(exp(&[-1e6; 8])[0] < 1e-300);
        for y in [1.0 + 1e-9, 0.999_999, 1.414, 1.4143, 0.7072, 3.0, 1e9] {
            assert!((log(&[y; 8])[3] - f64::ln(y)).abs() <= 4e-16 * f64::ln(y).abs().max(1e-3));
        }
    }
}
