//! The two number types a matrix may be stored in.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128, __m256d, __m512d};

#[cfg(target_arch = "x86_64")]
use pulp::{
    cast,
    x86::{V3, V4},
};

use crate::design::{Kernel, Lanes, arch, run};

/// A stored number: converted to `f64` in a register, never in memory.
pub(crate) trait Storage: Copy + Default + Send + Sync + 'static {
    /// The value in double precision, exact.
    fn to_f64(self) -> f64;
    /// The values as they lie, if they are `f64`.
    fn as_f64(_: &[Self]) -> Option<&[f64]> {
        None
    }
    /// Eight values in two AVX registers.
    #[cfg(target_arch = "x86_64")]
    fn load_v3(simd: V3, from: &[Self; 8]) -> [__m256d; 2];
    /// Eight values in an AVX-512 register.
    #[cfg(target_arch = "x86_64")]
    fn load_v4(simd: V4, from: &[Self; 8]) -> __m512d;
}

impl Storage for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn load_v3(simd: V3, from: &[f32; 8]) -> [__m256d; 2] {
        let [low, high]: [__m128; 2] = cast(*from);
        [simd.avx._mm256_cvtps_pd(low), simd.avx._mm256_cvtps_pd(high)]
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn load_v4(simd: V4, from: &[f32; 8]) -> __m512d {
        simd.avx512f._mm512_cvtps_pd(cast(*from))
    }
}

impl Storage for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn as_f64(values: &[f64]) -> Option<&[f64]> {
        Some(values)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn load_v3(_: V3, from: &[f64; 8]) -> [__m256d; 2] {
        cast(*from)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn load_v4(_: V4, from: &[f64; 8]) -> __m512d {
        cast(*from)
    }
}

/// The stored values of a sparse matrix.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl Values<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value number `at`.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::F32(values) => f64::from(values[at]),
            Self::F64(values) => values[at],
        }
    }

    pub(super) fn first_not_finite(&self) -> Option<(usize, f64)> {
        match self {
            Self::F32(values) => first_not_finite(values),
            Self::F64(values) => first_not_finite(values),
        }
    }
}

/// Values looked at together before anything is decided.
const BLOCK: usize = 1 << 15;

/// Position and value of the first NaN or infinity: blocks in parallel, and only the first block
/// that holds a bad value is searched.
pub(super) fn first_not_finite<T: Storage>(values: &[T]) -> Option<(usize, f64)> {
    use rayon::prelude::*;
    let blocks = values.par_chunks(BLOCK).enumerate();
    let (number, block) =
        blocks.find_first(|(_, block)| !run(arch(), AllFinite { values: block }))?;
    let at = block.iter().position(|value| !value.to_f64().is_finite())?;
    Some((number * BLOCK + at, block[at].to_f64()))
}

/// Whether every value is finite. `0 x` is 0 for a finite `x` and NaN otherwise, so it is enough
/// that the sum of the `0 x` is not NaN.
struct AllFinite<'a, T> {
    values: &'a [T],
}

impl<T: Storage> Kernel for AllFinite<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> bool {
        let zero = lanes.splat(0.0);
        let mut sums = [zero; 4];
        let (groups, rest) = self.values.as_chunks::<32>();
        for group in groups {
            let (parts, _) = group.as_chunks::<8>();
            for k in 0..4 {
                sums[k] = lanes.add_product(sums[k], zero, lanes.load(&parts[k]));
            }
        }
        let sum = lanes.add(lanes.add(sums[0], sums[1]), lanes.add(sums[2], sums[3]));
        let sum: f64 = lanes.array(sum).iter().sum();
        !sum.is_nan() && rest.iter().all(|value| value.to_f64().is_finite())
    }
}
