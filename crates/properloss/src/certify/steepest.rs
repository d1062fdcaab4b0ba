//! Proposition D: what the loss alone would choose as a link.

use super::scored::Scored;
use crate::error::{Error, Result};
use crate::link::PiecewiseLink;
use crate::piecewise::PiecewiseAffine;

/// The link of least loss at fixed scores among all `N`-Lipschitz links: the ramp
/// `u(z) = clip(N (z - a))` with `E[u(z)] = π`.
///
/// Its slope does not depend on the data: this is why the loss alone cannot choose a link. The
/// shift `a` solves a decreasing, piecewise-linear equation with the breakpoints `z_i`, `z_i - 1/N`;
/// O(m log m).
pub fn steepest_link(scored: &Scored, slope_max: f64) -> Result<PiecewiseLink> {
    if !(slope_max.is_finite() && slope_max > 0.0) {
        return Err(Error::OutOfDomain {
            what: "slope_max",
            value: slope_max,
            expected: "finite and above 0",
        });
    }
    let width = 1.0 / slope_max;
    let (z, base_rate) = (scored.z(), scored.base_rate());
    let mean = |a: f64| scored.mean(|i| (slope_max * (z[i] - a)).clamp(0.0, 1.0));
    let mut breaks: Vec<f64> = z.iter().flat_map(|&z| [z - width, z]).collect();
    breaks.sort_unstable_by(f64::total_cmp);
    // E[u] falls from 1 at the first break to 0 at the last.
    let right = breaks.partition_point(|&a| mean(a) > base_rate).min(breaks.len() - 1);
    let (lo, hi) = (breaks[right.saturating_sub(1)], breaks[right]);
    let (at_lo, at_hi) = (mean(lo), mean(hi));
    let a = if at_lo > at_hi && hi > lo {
        hi - (hi - lo) * ((base_rate - at_hi) / (at_lo - at_hi)).clamp(0.0, 1.0)
    } else {
        hi
    };
    PiecewiseLink::new(PiecewiseAffine::new(vec![a, a + width], vec![0.0, 1.0])?)
}
