//! The exponential integral in the two forms of the complementary log-log link.

use super::chebyshev;

/// Euler's constant.
pub(crate) const EULER: f64 = 0.5772156649015329;

/// `(1 + t) e^t E_1(t)` in `s = (t - 4)/(t + 2)`, `t >= 1` (`tests/reference/coefficients.py`).
const SCALED_E1: [f64; 29] = [
    1.062421314003848,
    -0.08944777529480638,
    0.03222061478411663,
    -0.006518167587486157,
    0.001611314851549377,
    -0.0003594868087875015,
    8.862874184420737e-05,
    -2.0625566630531385e-05,
    5.1576212554409544e-06,
    -1.22711726684983e-06,
    3.11648295271518e-07,
    -7.496825491634816e-08,
    1.9357534171666858e-08,
    -4.666217911489796e-09,
    1.229393484958032e-09,
    -2.93907622725768e-10,
    7.968684924923627e-11,
    -1.8593177613431917e-11,
    5.281854779201032e-12,
    -1.167816170637905e-12,
    3.6075565391325085e-13,
    -7.11168548180311e-14,
    2.5830223544952705e-14,
    -3.9420092837314214e-15,
    2.0008610101956586e-15,
    -1.5334672626287945e-16,
    1.754471133339312e-16,
    6.011706820396549e-18,
    1.8150784726912067e-17,
];

/// `e^t E_1(t)`, for `t >= 1`.
pub(crate) fn scaled_e1(t: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    chebyshev(&SCALED_E1, (t - 4.0) / (t + 2.0)) / (1.0 + t)
}

/// `Ein(t) = ∫_0^t (1 - e^{-s})/s ds = e^{-t} Σ H_k t^k/k!`, all terms positive; for `t` in `[0, 1]`.
pub(crate) fn ein(t: f64) -> f64 {
    let (mut power, mut harmonic, mut sum, mut k) = (t, 1.0, 0.0, 1.0);
    loop {
        let term = power * harmonic;
        sum += term;
        if term <= 1e-18 * sum {
            return (-t).exp() * sum;
        }
        k += 1.0;
        power *= t / k;
        harmonic += 1.0 / k;
    }
}
