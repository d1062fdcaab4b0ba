//! A number that tells one data set from another.

use crate::sample::Matrix;

/// Mixes words of 64 bits, each step a bijection of the state (the finaliser of SplitMix64).
struct Mix(u64);

impl Mix {
    fn word(&mut self, word: u64) {
        let mut x = self.0 ^ word;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.0 = (x ^ (x >> 31)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    }
}

/// Of shape, values, labels and weights; one pass.
pub(super) fn of(matrix: &Matrix<'_>, labels: &[u8], weights: Option<&[f64]>) -> u64 {
    let mut mix = Mix(0);
    for size in [matrix.rows(), matrix.columns(), matrix.stored()] {
        mix.word(size as u64);
    }
    match &matrix {
        Matrix::DenseF32(x) => x.values().iter().for_each(|x| mix.word(u64::from(x.to_bits()))),
        Matrix::DenseF64(x) => x.values().iter().for_each(|x| mix.word(x.to_bits())),
        Matrix::Csr(_) => {
            for i in 0..matrix.rows() {
                mix.word(i as u64);
                matrix.for_each_in_row(i, |j, x| {
                    mix.word(j as u64);
                    mix.word(x.to_bits());
                });
            }
        }
    }
    labels.iter().for_each(|&label| mix.word(u64::from(label)));
    weights.iter().copied().flatten().for_each(|weight| mix.word(weight.to_bits()));
    mix.0
}

/// One number of several.
pub(super) fn mixed(words: impl Iterator<Item = u64>) -> u64 {
    let mut mix = Mix(0);
    words.for_each(|word| mix.word(word));
    mix.0
}
