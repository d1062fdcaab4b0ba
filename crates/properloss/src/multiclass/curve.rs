//! The loss of a row under the current link, with its slopes in the scores.

use super::math::{Eight, exp, log, map, zip};

/// The factors `t` of the softmaxes of the dictionary; the first is the softmax itself.
pub(super) const TEMPERATURES: [f64; 7] = [1.0, 0.25, 0.5, 0.7, 1.4, 2.0, 4.0];

/// A part of the mixture below this mass is left out of the refit.
const LEAST_MASS: f64 = 1e-6;

/// `-log p_y` as a function of the scores.
#[derive(Debug, Clone)]
pub(super) enum Curve {
    /// `p = softmax(z)`.
    Softmax,
    /// `p = Σ_t a_t softmax(t z) + c`: the masses in the order of [`TEMPERATURES`], the floor.
    Mixture { masses: [f64; 7], floor: Vec<f64> },
}

impl Curve {
    /// The losses of eight rows; `slope(c, d loss / d z_c)` is called once a class.
    ///
    /// ```text
    /// softmax:  -log p_y = log Σ e^{z_c} - z_y                     slope p_c - [c = y]
    /// mixture:  r_t = a_t softmax(t z)_y / p_y                     slope Σ_t r_t t (softmax(t z)_c - [c = y])
    /// ```
    /// The floor has a responsibility too, and slope 0: rows that only it explains pull no more.
    #[inline(always)]
    pub(super) fn at<'z, 'y>(
        &self,
        classes: usize,
        z: impl Fn(usize) -> &'z Eight,
        one_hot: impl Fn(usize) -> &'y Eight,
        scratch: &mut Vec<Eight>,
        mut slope: impl FnMut(usize, Eight),
    ) -> Eight {
        let mut top = *z(0);
        for c in 1..classes {
            top = zip(&top, z(c), |a, b| if b > a { b } else { a });
        }
        match self {
            Self::Softmax => {
                scratch.resize(classes, [0.0; 8]);
                let e = &mut scratch[..classes];
                let (mut sum, mut label) = ([0.0; 8], [0.0; 8]);
                for c in 0..classes {
                    let centred = zip(z(c), &top, |z, top| z - top);
                    e[c] = exp(&centred);
                    let y = one_hot(c);
                    for l in 0..8 {
                        sum[l] += e[c][l];
                        label[l] += y[l] * centred[l];
                    }
                }
                let scale = map(&sum, |s| 1.0 / s);
                for c in 0..classes {
                    let y = one_hot(c);
                    slope(c, std::array::from_fn(|l| e[c][l] * scale[l] - y[l]));
                }
                zip(&log(&sum), &label, |s, label| s - label)
            }
            Self::Mixture { masses, floor } => {
                scratch.resize(7 * classes, [0.0; 8]);
                let e = &mut scratch[..7 * classes];
                let mut sum = [[0.0; 8]; 7];
                let mut label = [[0.0; 8]; 7];
                let mut mix = [0.0; 8];
                for c in 0..classes {
                    let centred = zip(z(c), &top, |z, top| z - top);
                    let y = one_hot(c);
                    powers(&centred, &mut e[7 * c..7 * c + 7]);
                    for t in 0..7 {
                        for l in 0..8 {
                            sum[t][l] += e[7 * c + t][l];
                            label[t][l] += y[l] * e[7 * c + t][l];
                        }
                    }
                    for l in 0..8 {
                        mix[l] += y[l] * floor[c];
                    }
                }
                let mut scale = [[0.0; 8]; 7];
                for t in (0..7).filter(|&t| masses[t] > LEAST_MASS) {
                    scale[t] = map(&sum[t], |s| 1.0 / s);
                    for l in 0..8 {
                        mix[l] += masses[t] * (label[t][l] * scale[t][l]);
                    }
                }
                // Rows past the end of the data have no label: their mixture is 0, their weight too.
                let mix = map(&mix, |m| if m < 1e-300 { 1e-300 } else { m });
                let mut total = [0.0; 8];
                for t in (0..7).filter(|&t| masses[t] > LEAST_MASS) {
                    for l in 0..8 {
                        // r_t t, divided by the sum of e^{t z} for the first term of the slope.
                        let r = masses[t] * TEMPERATURES[t] * (label[t][l] * scale[t][l]) / mix[l];
                        total[l] += r;
                        scale[t][l] *= r;
                    }
                }
                for c in 0..classes {
                    let y = one_hot(c);
                    let mut s: Eight = std::array::from_fn(|l| -y[l] * total[l]);
                    for t in (0..7).filter(|&t| masses[t] > LEAST_MASS) {
                        for l in 0..8 {
                            s[l] += scale[t][l] * e[7 * c + t][l];
                        }
                    }
                    slope(c, s);
                }
                map(&log(&mix), |m| -m)
            }
        }
    }
}

/// `e^{t z}` for every temperature, from two exponentials and squares; `z <= 0`.
#[inline(always)]
pub(super) fn powers(z: &Eight, out: &mut [Eight]) {
    let square = |a: &Eight| map(a, |a| a * a);
    out[1] = exp(&map(z, |z| 0.25 * z));
    out[2] = square(&out[1]);
    out[0] = square(&out[2]);
    out[5] = square(&out[0]);
    out[6] = square(&out[5]);
    out[3] = exp(&map(z, |z| 0.7 * z));
    out[4] = square(&out[3]);
}
