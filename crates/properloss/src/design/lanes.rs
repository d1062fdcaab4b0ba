//! Eight `f64` lanes on whatever registers the machine has.
//!
//! A kernel is written once against [`Lanes`] and compiled for each instruction set; [`run`] picks
//! one at run time. Every set does the same roundings in the same order (multiply, round, add,
//! round), so the results agree in every bit.

use pulp::{Arch, NullaryFnOnce};

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

    /// `a + b c`, rounded once: for kernels that are bound by arithmetic. Every processor with
    /// AVX2 (and every 64-bit ARM) has it; elsewhere it is a slow call with the same bits.
    fn fused(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

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

struct Bound<K, L> {
    kernel: K,
    lanes: L,
}

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
    fn fused(self, a: [f64; 8], b: [f64; 8], c: [f64; 8]) -> [f64; 8] {
        std::array::from_fn(|l| b[l].mul_add(c[l], a[l]))
    }

    #[inline(always)]
    fn array(self, a: [f64; 8]) -> [f64; 8] {
        a
    }

    #[inline(always)]
    fn prefetch<T>(self, _: *const T) {}
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256d, __m512d};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::Lanes;
    use crate::sample::Storage;

    /// AVX2: two registers of four.
    impl Lanes for V3 {
        type Vector = [__m256d; 2];

        #[inline(always)]
        fn splat(self, value: f64) -> [__m256d; 2] {
            [self.avx._mm256_set1_pd(value); 2]
        }

        #[inline(always)]
        fn load<T: Storage>(self, from: &[T; 8]) -> [__m256d; 2] {
            T::load_v3(self, from)
        }

        #[inline(always)]
        fn add(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
            [self.avx._mm256_add_pd(a[0], b[0]), self.avx._mm256_add_pd(a[1], b[1])]
        }

        #[inline(always)]
        fn mul(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
            [self.avx._mm256_mul_pd(a[0], b[0]), self.avx._mm256_mul_pd(a[1], b[1])]
        }

        #[inline(always)]
        fn fused(self, a: [__m256d; 2], b: [__m256d; 2], c: [__m256d; 2]) -> [__m256d; 2] {
            std::array::from_fn(|h| self.fma._mm256_fmadd_pd(b[h], c[h], a[h]))
        }

        #[inline(always)]
        fn array(self, a: [__m256d; 2]) -> [f64; 8] {
            cast(a)
        }

        #[inline(always)]
        fn prefetch<T>(self, at: *const T) {
            self.sse._mm_prefetch::<3>(at.cast());
        }
    }

    /// AVX-512: one register of eight.
    impl Lanes for V4 {
        type Vector = __m512d;

        #[inline(always)]
        fn splat(self, value: f64) -> __m512d {
            self.avx512f._mm512_set1_pd(value)
        }

        #[inline(always)]
        fn load<T: Storage>(self, from: &[T; 8]) -> __m512d {
            T::load_v4(self, from)
        }

        #[inline(always)]
        fn add(self, a: __m512d, b: __m512d) -> __m512d {
            self.avx512f._mm512_add_pd(a, b)
        }

        #[inline(always)]
        fn mul(self, a: __m512d, b: __m512d) -> __m512d {
            self.avx512f._mm512_mul_pd(a, b)
        }

        #[inline(always)]
        fn fused(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            self.avx512f._mm512_fmadd_pd(b, c, a)
        }

        #[inline(always)]
        fn array(self, a: __m512d) -> [f64; 8] {
            cast(a)
        }

        #[inline(always)]
        fn prefetch<T>(self, at: *const T) {
            self.sse._mm_prefetch::<3>(at.cast());
        }
    }
}
