//! Eight `f64` lanes on whatever registers the machine has.
//!
//! A kernel is written once against [`Lanes`] and compiled for each instruction set; [`run`] picks
//! one at run time. Every set does the same roundings in the same order (multiply, round, add,
//! round), so the results agree in every bit; [`Lanes::fused`] alone is an exception.

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::NullaryFnOnce;

use crate::sample::Storage;

/// An instruction set, as far as the kernels need one.
pub(crate) trait Lanes: Copy {
    /// Eight numbers.
    type Vector: Copy;

    /// The same number eight times.
    fn splat(self, value: f64) -> Self::Vector;
    /// Eight stored numbers, converted.
    fn load<T: Storage>(self, from: &[T; 8]) -> Self::Vector;
    /// Lane by lane `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane by lane `a b`.
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Out of the registers.
    fn array(self, a: Self::Vector) -> [f64; 8];
    /// Asks for the cache line at `at`, which need not be readable.
    fn prefetch<T>(self, at: *const T);

    /// Lane by lane `a - b`.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane by lane `a / b`.
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane by lane the smaller.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane by lane the larger.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane by lane `a` where `t < 0` and `b` elsewhere.
    fn where_negative(self, t: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane by lane `2^n` for whole numbers `n` from -1022 to 1023.
    fn power_of_two(self, n: Self::Vector) -> Self::Vector;

    /// Whether 24 vectors of sums fit into the registers beside what is multiplied.
    const MANY_REGISTERS: bool;

    /// `a + b c`, rounded **once** where the machine can (every x86-64 since 2013, every ARM64) and
    /// twice elsewhere: the one operation whose last bit depends on the instruction set. It makes a
    /// Gram matrix 1.5 to 2.5 times as fast; a kernel that must give the same bits on every machine
    /// uses [`Self::add_product`].
    fn fused(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// Sixteen numbers of single precision.
    type Short: Copy;

    /// The same number sixteen times.
    fn splat_short(self, value: f32) -> Self::Short;
    /// Sixteen stored numbers.
    fn load_short(self, from: &[f32; 16]) -> Self::Short;
    /// Out of the registers.
    fn array_short(self, a: Self::Short) -> [f32; 16];
    /// [`Self::fused`] in single precision.
    fn fused_short(self, a: Self::Short, b: Self::Short, c: Self::Short) -> Self::Short;

    /// `a + b c`, rounded twice.
    #[inline(always)]
    fn add_product(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        self.add(a, self.mul(b, c))
    }
}

/// The sum of eight lanes as a fixed tree.
#[inline(always)]
pub(crate) fn tree_sum(s: [f64; 8]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// Work that is compiled once per instruction set. (A type and not a closure: a closure would be
/// compiled for the baseline set, whoever calls it.)
pub(crate) trait Kernel {
    /// What comes out.
    type Output;
    /// Does the work; must be `#[inline(always)]`.
    fn call<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// A function whose body is compiled once per instruction set: its arguments are the fields of a [`Kernel`].
macro_rules! kernel {
    (
        $(#[$about:meta])*
        $vis:vis fn $name:ident<$k:lifetime $(, $stored:ident: $bound:path)?>(
            $lanes:ident: $set:ident $(, $argument:ident: $type:ty)+ $(,)?
        ) -> $out:ty $body:block
    ) => {
        $(#[$about])*
        #[allow(clippy::needless_lifetimes)]
        $vis fn $name<$k $(, $stored: $bound)?>($($argument: $type),+) -> $out {
            struct Call<$k $(, $stored)?> {
                $($argument: $type),+
            }

            impl<$k $(, $stored: $bound)?> $crate::design::Kernel for Call<$k $(, $stored)?> {
                type Output = $out;

                #[inline(always)]
                fn call<$set: $crate::design::Lanes>(self, $lanes: $set) -> $out {
                    let Self { $($argument),+ } = self;
                    $body
                }
            }

            $crate::design::run($crate::design::arch(), Call { $($argument),+ })
        }
    };
}

pub(crate) use kernel;

/// Runs a kernel on the given instruction set.
pub(crate) fn run<K: Kernel>(arch: Arch, kernel: K) -> K::Output {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(lanes) => lanes.vectorize(Bound { kernel, lanes }),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(lanes) => lanes.vectorize(Bound { kernel, lanes }),
        _ => kernel.call(Baseline),
    }
}

#[cfg(target_arch = "x86_64")]
struct Bound<K, L> {
    kernel: K,
    lanes: L,
}

#[cfg(target_arch = "x86_64")]
impl<K: Kernel, L: Lanes> NullaryFnOnce for Bound<K, L> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.kernel.call(self.lanes)
    }
}

/// What every machine of the target has; left to the compiler.
#[derive(Clone, Copy)]
struct Baseline;

impl Lanes for Baseline {
    type Vector = [f64; 8];

    #[inline(always)]
    fn splat(self, value: f64) -> [f64; 8] {
        [value; 8]
    }

    #[inline(always)]
    fn load<T: Storage>(self, from: &[T; 8]) -> [f64; 8] {
        from.map(T::to_f64)
    }

    #[inline(always)]
    fn add(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| a[l] + b[l])
    }

    #[inline(always)]
    fn mul(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| a[l] * b[l])
    }

    #[inline(always)]
    fn array(self, a: [f64; 8]) -> [f64; 8] {
        a
    }

    #[inline(always)]
    fn prefetch<T>(self, _: *const T) {}

    #[inline(always)]
    fn sub(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| a[l] - b[l])
    }

    #[inline(always)]
    fn div(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| a[l] / b[l])
    }

    #[inline(always)]
    fn min(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| if a[l] < b[l] { a[l] } else { b[l] })
    }

    #[inline(always)]
    fn max(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| if a[l] > b[l] { a[l] } else { b[l] })
    }

    #[inline(always)]
    fn where_negative(self, t: [f64; 8], a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| if t[l] < 0.0 { a[l] } else { b[l] })
    }

    #[inline(always)]
    fn power_of_two(self, n: [f64; 8]) -> [f64; 8] {
        n.map(|n| f64::from_bits((n + EXPONENT).to_bits() << 52))
    }

    const MANY_REGISTERS: bool = cfg!(target_arch = "aarch64");

    #[inline(always)]
    fn fused(self, a: [f64; 8], b: [f64; 8], c: [f64; 8]) -> [f64; 8] {
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            std::array::from_fn(|l| b[l].mul_add(c[l], a[l]))
        } else {
            self.add_product(a, b, c)
        }
    }

    type Short = [f32; 16];

    #[inline(always)]
    fn splat_short(self, value: f32) -> [f32; 16] {
        [value; 16]
    }

    #[inline(always)]
    fn load_short(self, from: &[f32; 16]) -> [f32; 16] {
        *from
    }

    #[inline(always)]
    fn array_short(self, a: [f32; 16]) -> [f32; 16] {
        a
    }

    #[inline(always)]
    fn fused_short(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            std::array::from_fn(|l| b[l].mul_add(c[l], a[l]))
        } else {
            std::array::from_fn(|l| a[l] + b[l] * c[l])
        }
    }
}

/// `2^52 + 1023`: added to a whole number `n`, the low bits are the exponent field of `2^n`.
const EXPONENT: f64 = 4_503_599_627_371_519.0;

/// `1.5 2^52`: adding it rounds to a whole number.
pub(crate) const WHOLE: f64 = 6_755_399_441_055_744.0;
/// `log 2` in two parts; a whole number times the first is exact.
pub(crate) const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
pub(crate) const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// `13!`, then `12!` down to `0!`: Taylor's coefficients of the exponential, upside down.
pub(crate) const FACTORIAL_13: f64 = 6_227_020_800.0;
#[rustfmt::skip]
pub(crate) const FACTORIALS: [f64; 13] = [
    479_001_600.0, 39_916_800.0, 3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0,
];

/// `e^x` in every lane for `-708 <= x <= 708`, within 4e-16 of the true value (relative):
/// `x = n log 2 + r`, `|r| <= log(2)/2`, and Taylor's series of degree 13.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(lanes: L, x: L::Vector) -> L::Vector {
    let magic = lanes.splat(WHOLE);
    let n = lanes.sub(lanes.fused(magic, x, lanes.splat(std::f64::consts::LOG2_E)), magic);
    let r = lanes.fused(x, n, lanes.splat(-LN2_HIGH));
    let r = lanes.fused(r, n, lanes.splat(-LN2_LOW));
    let mut sum = lanes.splat(1.0 / FACTORIAL_13);
    for factorial in FACTORIALS {
        sum = lanes.fused(lanes.splat(1.0 / factorial), sum, r);
    }
    lanes.mul(sum, lanes.power_of_two(n))
}

/// `log(1 + e)` in every lane for `0 <= e <= 1`, within 1e-15 absolute: with `s = e / (2 + e)`, at
/// most 1/3, it is `2 (s + s^3/3 + s^5/5 + ...)`.
#[inline(always)]
pub(crate) fn log_one_plus<L: Lanes>(lanes: L, e: L::Vector) -> L::Vector {
    let s = lanes.div(e, lanes.add(e, lanes.splat(2.0)));
    let square = lanes.mul(s, s);
    let mut sum = lanes.splat(1.0 / 31.0);
    for odd in [29.0, 27.0, 25.0, 23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0]
    {
        sum = lanes.fused(lanes.splat(1.0 / odd), sum, square);
    }
    lanes.mul(lanes.add(s, s), sum)
}

/// `log x` in every lane, of the least normal number where `x` is smaller: with `x = 2^n (1 + e)`, `0 <= e < 1`,
/// it is `n log 2 + log(1 + e)`, within 2e-15 absolute plus rounding.
#[inline(always)]
pub(crate) fn log<L: Lanes>(lanes: L, x: &[f64; 8]) -> L::Vector {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = x.map(|x| x.max(f64::MIN_POSITIVE).to_bits());
    let exponent = bits.map(|bits| (bits >> 52) as i32 as f64 - 1023.0);
    let rest = bits.map(|bits| f64::from_bits(bits & FRACTION | 1f64.to_bits()) - 1.0);
    let fraction = log_one_plus(lanes, lanes.load(&rest));
    lanes.fused(fraction, lanes.load(&exponent), lanes.splat(std::f64::consts::LN_2))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{EXPONENT, Lanes};
    use crate::sample::Storage;

    /// The operations on two vectors, each by its instruction.
    macro_rules! in_fours {
        ($($operation:ident: $instruction:ident),+) => { $(
            #[inline(always)]
            fn $operation(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
                [self.avx.$instruction(a[0], b[0]), self.avx.$instruction(a[1], b[1])]
            }
        )+ };
    }
    macro_rules! in_eights {
        ($($operation:ident: $instruction:ident),+) => { $(
            #[inline(always)]
            fn $operation(self, a: __m512d, b: __m512d) -> __m512d {
                self.avx512f.$instruction(a, b)
            }
        )+ };
    }

    /// AVX2: two registers of four.
    impl Lanes for V3 {
        type Vector = [__m256d; 2];

        in_fours!(add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd);
        in_fours!(div: _mm256_div_pd, min: _mm256_min_pd, max: _mm256_max_pd);

        #[inline(always)]
        fn splat(self, value: f64) -> [__m256d; 2] {
            [self.avx._mm256_set1_pd(value); 2]
        }

        #[inline(always)]
        fn load<T: Storage>(self, from: &[T; 8]) -> [__m256d; 2] {
            T::load_v3(self, from)
        }

        #[inline(always)]
        fn array(self, a: [__m256d; 2]) -> [f64; 8] {
            cast(a)
        }

        #[inline(always)]
        fn prefetch<T>(self, at: *const T) {
            self.sse._mm_prefetch::<3>(at.cast());
        }

        #[inline(always)]
        fn where_negative(self, t: [__m256d; 2], a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
            // The blend looks at the sign bit; `t + 0` has none where t is -0.
            let zero = self.avx._mm256_set1_pd(0.0);
            std::array::from_fn(|k| {
                self.avx._mm256_blendv_pd(b[k], a[k], self.avx._mm256_add_pd(t[k], zero))
            })
        }

        #[inline(always)]
        fn power_of_two(self, n: [__m256d; 2]) -> [__m256d; 2] {
            let bias = self.avx._mm256_set1_pd(EXPONENT);
            n.map(|n| {
                cast(self.avx2._mm256_slli_epi64::<52>(cast(self.avx._mm256_add_pd(n, bias))))
            })
        }

        const MANY_REGISTERS: bool = false;

        #[inline(always)]
        fn fused(self, a: [__m256d; 2], b: [__m256d; 2], c: [__m256d; 2]) -> [__m256d; 2] {
            std::array::from_fn(|k| self.fma._mm256_fmadd_pd(b[k], c[k], a[k]))
        }

        type Short = [__m256; 2];

        #[inline(always)]
        fn splat_short(self, value: f32) -> [__m256; 2] {
            [self.avx._mm256_set1_ps(value); 2]
        }

        #[inline(always)]
        fn load_short(self, from: &[f32; 16]) -> [__m256; 2] {
            cast(*from)
        }

        #[inline(always)]
        fn array_short(self, a: [__m256; 2]) -> [f32; 16] {
            cast(a)
        }

        #[inline(always)]
        fn fused_short(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
            std::array::from_fn(|k| self.fma._mm256_fmadd_ps(b[k], c[k], a[k]))
        }
    }

    /// AVX-512: one register of eight.
    impl Lanes for V4 {
        type Vector = __m512d;

        in_eights!(add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd);
        in_eights!(div: _mm512_div_pd, min: _mm512_min_pd, max: _mm512_max_pd);

        #[inline(always)]
        fn splat(self, value: f64) -> __m512d {
            self.avx512f._mm512_set1_pd(value)
        }

        #[inline(always)]
        fn load<T: Storage>(self, from: &[T; 8]) -> __m512d {
            T::load_v4(self, from)
        }

        #[inline(always)]
        fn array(self, a: __m512d) -> [f64; 8] {
            cast(a)
        }

        #[inline(always)]
        fn prefetch<T>(self, at: *const T) {
            self.sse._mm_prefetch::<3>(at.cast());
        }

        #[inline(always)]
        fn where_negative(self, t: __m512d, a: __m512d, b: __m512d) -> __m512d {
            let zero = self.avx512f._mm512_set1_pd(0.0);
            let negative = self.avx512f._mm512_cmplt_pd_mask(t, zero);
            self.avx512f._mm512_mask_blend_pd(negative, b, a)
        }

        #[inline(always)]
        fn power_of_two(self, n: __m512d) -> __m512d {
            let bias = self.avx512f._mm512_set1_pd(EXPONENT);
            let sum = self.avx512f._mm512_add_pd(n, bias);
            cast(self.avx512f._mm512_slli_epi64::<52>(cast(sum)))
        }

        const MANY_REGISTERS: bool = true;

        #[inline(always)]
        fn fused(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            self.avx512f._mm512_fmadd_pd(b, c, a)
        }

        type Short = __m512;

        #[inline(always)]
        fn splat_short(self, value: f32) -> __m512 {
            self.avx512f._mm512_set1_ps(value)
        }

        #[inline(always)]
        fn load_short(self, from: &[f32; 16]) -> __m512 {
            cast(*from)
        }

        #[inline(always)]
        fn array_short(self, a: __m512) -> [f32; 16] {
            cast(a)
        }

        #[inline(always)]
        fn fused_short(self, a: __m512, b: __m512, c: __m512) -> __m512 {
            self.avx512f._mm512_fmadd_ps(b, c, a)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    struct Both([f64; 8]);

    impl Kernel for Both {
        type Output = [[f64; 8]; 3];

        #[inline(always)]
        fn call<L: Lanes>(self, lanes: L) -> Self::Output {
            let x = lanes.load(&self.0);
            let e = exp(lanes, x);
            let near = exp(lanes, lanes.min(x, lanes.sub(lanes.splat(0.0), x)));
            [e, log_one_plus(lanes, near), lanes.where_negative(x, near, e)].map(|v| lanes.array(v))
        }
    }

    struct Sixteen([[f32; 16]; 2]);

    impl Kernel for Sixteen {
        type Output = [f32; 16];

        #[inline(always)]
        fn call<L: Lanes>(self, lanes: L) -> [f32; 16] {
            let [a, b] = self.0.map(|x| lanes.load_short(&x));
            lanes.array_short(lanes.fused_short(a, b, lanes.splat_short(1.5)))
        }
    }

    #[test]
    fn sixteen_numbers_keep_their_lanes() {
        let (a, b) = (std::array::from_fn(|l| l as f32), std::array::from_fn(|l| 0.25 * l as f32));
        for arch in sets() {
            // Exact in four bytes.
            let expected = std::array::from_fn(|l| 1.375 * l as f32);
            assert_eq!(run(arch, Sixteen([a, b])), expected);
        }
    }

    /// The instruction sets this machine has.
    pub(in crate::design) fn sets() -> Vec<Arch> {
        #[allow(unused_mut)]
        let mut sets = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
        sets
    }

    #[test]
    fn exponential_and_logarithm_agree_with_the_library() {
        for arch in sets() {
            for block in 0..4000 {
                let x = std::array::from_fn(|l| (block * 8 + l) as f64 * 0.0441 - 705.0);
                let [e, log, chosen] = run(arch, Both(x));
                for l in 0..8 {
                    let near = (-x[l].abs()).exp();
                    assert!((e[l] / x[l].exp() - 1.0).abs() < 5e-16, "e^{}", x[l]);
                    assert!((log[l] - near.ln_1p()).abs() < 1e-15, "{}", x[l]);
                    let wanted = if x[l] < 0.0 { near } else { x[l].exp() };
                    assert!((chosen[l] / wanted - 1.0).abs() < 5e-16);
                }
            }
            let [e, ..] = run(arch, Both([0.0, -0.0, 1.0, -708.0, 708.0, 1e-300, -1e-17, -0.5]));
            assert_eq!((e[0], e[1], e[5], e[6]), (1.0, 1.0, 1.0, 1.0));
        }
    }
}
