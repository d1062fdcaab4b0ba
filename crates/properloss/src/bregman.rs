//! Bregman divergences `D_F(a, b) = F(a) - F(b) - (a - b) F'(b)` and Bregman information.
//!
//! The defining difference loses every digit once `a` is near `b`. All divergences here are computed
//! as the positive integral they are,
//!
//! ```text
//! D_F(a, b) = ∫_b^a (F'(s) - F'(b)) ds = (a - b)² ∫_0^1 (1 - t) F''(b + t (a - b)) dt,
//! ```
//!
//! near by quadrature or a closed form, far as differences of potentials that do not cancel, and for
//! piecewise-affine links by positive sums over the pieces.

use crate::error::{Error, Result, each, finite, row_weights, same_length, total_weight};
use crate::link::{InverseLink, is_probability};

/// `D_U(a, b) = U(a) - U(b) - (a - b) u(b)`, for scores `a` and `b`.
pub fn divergence(link: &dyn InverseLink, a: f64, b: f64) -> f64 {
    link.divergence(a, b)
}

/// `D_{U*}(p, q) = U*(p) - U*(q) - (p - q) u⁻¹(q)`, for probabilities `p` and `q`.
///
/// Dual symmetry: it equals `D_U(u⁻¹(q), u⁻¹(p))`.
pub fn conjugate_divergence(link: &dyn InverseLink, p: f64, q: f64) -> f64 {
    link.conjugate_divergence(p, q)
}

/// The Bregman information of a weighted sample, and the mean at which it is attained.
///
/// `I_F(Z) = min_z E[D_F(Z, z)] = E[D_F(Z, μ)]` with `μ = E[Z]`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BregmanInformation {
    /// `I_F(Z)`, not negative.
    pub value: f64,
    /// `μ`, the right population minimiser.
    pub mean: f64,
}

/// Bregman information of scores under `U`.
pub fn information(
    link: &dyn InverseLink,
    scores: &[f64],
    weights: Option<&[f64]>,
) -> Result<BregmanInformation> {
    check_sample("scores", scores, weights)?;
    Ok(information_about_mean(scores, weights, |a, b| link.divergence(a, b)))
}

/// Bregman information of probabilities under `U*`.
///
/// Of labels 0 and 1 with mean `π` it is the canonical loss's expected loss at its minimum.
pub fn conjugate_information(
    link: &dyn InverseLink,
    probabilities: &[f64],
    weights: Option<&[f64]>,
) -> Result<BregmanInformation> {
    check_sample("probabilities", probabilities, weights)?;
    each("probabilities", probabilities, "a probability, from 0 to 1", is_probability)?;
    Ok(information_about_mean(probabilities, weights, |p, q| link.conjugate_divergence(p, q)))
}

fn information_about_mean(
    values: &[f64],
    weights: Option<&[f64]>,
    divergence: impl Fn(f64, f64) -> f64,
) -> BregmanInformation {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..values.len()).map(weight).sum();
    // Around a pivot, so that a sample far from 0 keeps its spread.
    let pivot = values[0];
    let shift: f64 = values.iter().enumerate().map(|(i, v)| weight(i) * (v - pivot)).sum();
    let mean = pivot + shift / total;
    let sum: f64 = values
        .iter()
        .enumerate()
        .map(|(i, &v)| if weight(i) > 0.0 { weight(i) * divergence(v, mean) } else { 0.0 })
        .sum();
    BregmanInformation { value: sum / total, mean }
}

fn check_sample(what: &'static str, values: &[f64], weights: Option<&[f64]>) -> Result<()> {
    if values.is_empty() {
        return Err(Error::TooShort { what, length: 0, minimum: 1 });
    }
    finite(what, values)?;
    let Some(weights) = weights else { return Ok(()) };
    same_length((what, values.len()), ("weights", weights.len()))?;
    row_weights(weights)?;
    total_weight(weights.iter().sum())
}

/// Positive nodes and weights of the 12-point Gauss-Legendre rule on `[-1, 1]`.
const GAUSS: [(f64, f64); 6] = [
    (0.9815606342467192, 0.04717533638651183),
    (0.9041172563704749, 0.10693932599531843),
    (0.7699026741943047, 0.16007832854334622),
    (0.5873179542866175, 0.20316742672306592),
    (0.3678314989981802, 0.2334925365383548),
    (0.1252334085114689, 0.24914704581340277),
];

/// `∫_0^1 f(t) dt` by Gauss-Legendre.
pub(crate) fn gauss(f: impl Fn(f64) -> f64) -> f64 {
    let sum: f64 = GAUSS.iter().map(|&(x, w)| w * (f(0.5 - 0.5 * x) + f(0.5 + 0.5 * x))).sum();
    0.5 * sum
}

/// `(a - b)² ∫_0^1 (1 - t) f(b + t (a - b)) dt`: the divergence whose second derivative is `f`.
pub(crate) fn quadrature(f: impl Fn(f64) -> f64, a: f64, b: f64) -> f64 {
    let d = a - b;
    d * d * gauss(|t| (1.0 - t) * f(d.mul_add(t, b)))
}

/// `D_U(a, b)` of a smooth link: quadrature within `radius`, differences of potentials beyond.
///
/// `radius` has to be a fraction of the scale on which `u'` varies around `b`, so that beyond it
/// the terms of the difference are of the order of the result.
pub(crate) fn smooth_divergence<L: InverseLink + ?Sized>(
    link: &L,
    a: f64,
    b: f64,
    radius: f64,
) -> f64 {
    if a == b {
        0.0
    } else if b.is_infinite() {
        if b > 0.0 { link.upper_potential(a) } else { link.potential(a) }
    } else if a.is_infinite() {
        f64::INFINITY
    } else if (a - b).abs() <= radius {
        quadrature(|z| link.derivative(z), a, b)
    } else {
        potential_divergence(link, a, b)
    }
}

/// `U(a) - U(b) - (a - b) u(b)`, from the side on which `u(b)` is small: with `V(z) = ∫_z^∞ (1 - u)`
/// it is also `V(a) - V(b) + (a - b)(1 - u(b))`.
fn potential_divergence<L: InverseLink + ?Sized>(link: &L, a: f64, b: f64) -> f64 {
    let (u, complement) = (link.u(b), link.one_minus_u(b));
    let difference = if u <= complement {
        (link.potential(a) - link.potential(b)) - (a - b) * u
    } else {
        (link.upper_potential(a) - link.upper_potential(b)) + (a - b) * complement
    };
    // Not f64::max, which would turn NaN into 0.
    if difference < 0.0 { 0.0 } else { difference }
}

/// `D_{U*}(p, q)` of a smooth link: quadrature of the weight `w = (u⁻¹)'` where `p` and `q` are near
/// one another compared with their distance to 0 and 1, else the dual `D_U(u⁻¹(q), u⁻¹(p))`.
pub(crate) fn smooth_conjugate_divergence<L: InverseLink + ?Sized>(
    link: &L,
    p: f64,
    q: f64,
) -> f64 {
    if !(is_probability(p) && is_probability(q)) {
        f64::NAN
    } else if p == q {
        0.0
    } else if (p == 0.0 || p == 1.0) && link.conjugate(p).is_infinite() {
        f64::INFINITY
    } else if (p - q).abs() <= 0.5 * p.min(q).min(1.0 - p).min(1.0 - q) {
        quadrature(|c| 1.0 / link.derivative(link.u_inverse(c)), p, q)
    } else {
        link.divergence(link.u_inverse(q), link.u_inverse(p))
    }
}
