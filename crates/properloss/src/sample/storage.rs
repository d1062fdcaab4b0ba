//! The two number types a matrix may be stored in.

/// A stored number: converted to `f64` in a register, never in memory.
pub(crate) trait Storage: Copy + Send + Sync + 'static {
    /// The value in double precision, exact.
    fn to_f64(self) -> f64;
}

impl Storage for f32 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Storage for f64 {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
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

/// Values looked at together before anything is decided: long enough to vectorise.
const BLOCK: usize = 4096;

/// Position and value of the first NaN or infinity.
///
/// `0 x` is 0 for a finite `x` and NaN otherwise, so the block is sound exactly if the sum of the
/// `0 x` is not NaN; only a block with a bad value is searched.
pub(super) fn first_not_finite<T: Storage>(values: &[T]) -> Option<(usize, f64)> {
    let arch = crate::design::arch();
    values.chunks(BLOCK).enumerate().find_map(|(number, block)| {
        let sum = arch.dispatch(|| {
            let mut lanes = [0.0; 16];
            let (groups, rest) = block.as_chunks::<16>();
            for group in groups {
                for l in 0..16 {
                    lanes[l] += 0.0 * group[l].to_f64();
                }
            }
            let sum: f64 = lanes.iter().sum();
            sum + rest.iter().map(|value| 0.0 * value.to_f64()).sum::<f64>()
        });
        if !sum.is_nan() {
            return None;
        }
        let at = block.iter().position(|value| !value.to_f64().is_finite())?;
        Some((number * BLOCK + at, block[at].to_f64()))
    })
}
