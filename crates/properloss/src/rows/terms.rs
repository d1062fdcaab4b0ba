//! Sums of a proper loss over rows: value, slope and curvature.

use rayon::prelude::*;

use crate::link::InverseLink;
use crate::loss::LossKind;
use crate::sample::Sample;

/// Rows per partial sum; partial sums are added in order, so threads do not matter.
const CHUNK: usize = 1024;

/// What one row contributes at a score.
struct Term {
    value: f64,
    slope: f64,
    curvature: f64,
}

/// `ℓ(y, z)` of a canonical loss: slope `u(z) - y`, curvature `u'(z)`. Where the link has no finite
/// one it is `U(z) - y z`, the same up to a constant.
///
/// Of log-loss under the link: `-log u(z)` and `-log(1 - u(z))` with slopes `-u'/u` and `u'/(1 - u)`,
/// and the curvature of Fisher, `u'² / (u (1 - u))`, which is never negative.
fn term(kind: LossKind, link: &dyn InverseLink, label: u8, z: f64) -> Term {
    if kind == LossKind::Composite {
        return composite_term(link, label, z);
    }
    let (value, slope) = if label == 1 {
        let value = link.upper_potential(z);
        let value = if value.is_finite() { value } else { link.potential(z) - z };
        (value, -link.one_minus_u(z))
    } else {
        (link.potential(z), link.u(z))
    };
    Term { value, slope, curvature: link.derivative(z) }
}

fn composite_term(link: &dyn InverseLink, label: u8, z: f64) -> Term {
    let (p, q, steepness) = (link.u(z), link.one_minus_u(z), link.derivative(z));
    let (own, sign) = if label == 1 { (p, -1.0) } else { (q, 1.0) };
    // Where a tail has underflowed, the slope has too: the row costs much and pulls no more.
    let own = own.max(f64::MIN_POSITIVE);
    let curvature = if steepness == 0.0 { 0.0 } else { steepness * steepness / (p * q) };
    Term {
        value: -own.ln(),
        slope: sign * steepness / own,
        curvature: if curvature.is_finite() { curvature } else { 0.0 },
    }
}

/// The mean loss at the scores `z`, with `r_i = ω_i ℓ_i'` and `h_i = ω_i ℓ_i''` left behind.
pub(super) fn evaluate(
    kind: LossKind,
    link: &dyn InverseLink,
    sample: &Sample<'_>,
    total: f64,
    z: &[f64],
    r: &mut [f64],
    h: &mut [f64],
) -> f64 {
    let labels = sample.labels();
    let chunks = z.par_chunks(CHUNK).zip(r.par_chunks_mut(CHUNK)).zip(h.par_chunks_mut(CHUNK));
    let sums: Vec<f64> = chunks
        .enumerate()
        .map(|(number, ((z, r), h))| {
            let mut sum = 0.0;
            for k in 0..z.len() {
                let row = number * CHUNK + k;
                let weight = sample.weight(row) / total;
                (r[k], h[k]) = (0.0, 0.0);
                if weight > 0.0 {
                    let term = term(kind, link, labels[row], z[k]);
                    sum += weight * term.value;
                    r[k] = weight * term.slope;
                    h[k] = weight * term.curvature;
                }
            }
            sum
        })
        .collect();
    sums.iter().sum()
}

/// The mean loss at the scores `z + t q` and its derivative by `t`.
#[allow(clippy::too_many_arguments)]
pub(super) fn evaluate_along(
    kind: LossKind,
    link: &dyn InverseLink,
    sample: &Sample<'_>,
    total: f64,
    z: &[f64],
    q: &[f64],
    t: f64,
) -> [f64; 2] {
    let labels = sample.labels();
    let sums: Vec<[f64; 2]> = z
        .par_chunks(CHUNK)
        .zip(q.par_chunks(CHUNK))
        .enumerate()
        .map(|(number, (z, q))| {
            let (mut value, mut slope) = (0.0, 0.0);
            for k in 0..z.len() {
                let row = number * CHUNK + k;
                let weight = sample.weight(row) / total;
                if weight > 0.0 {
                    let term = term(kind, link, labels[row], z[k] + t * q[k]);
                    value += weight * term.value;
                    slope += weight * term.slope * q[k];
                }
            }
            [value, slope]
        })
        .collect();
    sums.iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
}
