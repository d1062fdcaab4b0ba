//! How far to go along a direction.

use crate::error::Result;

/// A function of the step length: value and derivative.
pub(super) type Along<'a> = dyn FnMut(f64) -> Result<(f64, f64)> + 'a;

/// Demanded decrease, as a share of what the slope at 0 promises.
const DECREASE: f64 = 0.1;
/// The slope must have come down to this share of its size at 0.
const FLATTENING: f64 = 0.9;
/// Evaluations at most.
const MAX_EVALUATIONS: usize = 60;

/// A step `t > 0` with the (approximate) Wolfe conditions, or `None` if rounding leaves none.
///
/// The value must fall by `DECREASE` of the linear promise, or, where rounding hides a fall, the
/// slope must have changed accordingly while the value has not risen beyond rounding (Hager and
/// Zhang's form); and the slope must have flattened, so that steps are not too short. Tried
/// first is 1, the full Newton step; a bracket of a too-short and a too-long step is then cut where
/// its slopes say the zero lies, kept away from its ends. The one search along a direction whose slopes are known;
/// gradient steps and descents of several models at once judge by values alone, where they stand.
pub(super) fn search(along: &mut Along<'_>, value: f64, slope: f64) -> Result<Option<f64>> {
    if slope.is_nan() || slope >= 0.0 {
        return Ok(None);
    }
    let rounding = 16.0 * f64::EPSILON * value.abs().max(f64::MIN_POSITIVE);
    let (mut short, mut short_slope) = (0.0, slope);
    let mut long: Option<(f64, f64)> = None;
    let mut t = 1.0;
    for _ in 0..MAX_EVALUATIONS {
        let (value_t, slope_t) = along(t)?;
        let falls = value_t <= value + DECREASE * t * slope;
        let falls_by_slope =
            value_t <= value + rounding && slope_t <= (2.0 * DECREASE - 1.0) * slope;
        if !(falls || falls_by_slope) {
            long = Some((t, slope_t));
        } else if slope_t < FLATTENING * slope {
            (short, short_slope) = (t, slope_t);
        } else {
            return Ok(Some(t));
        }
        t = match long {
            None => 4.0 * t,
            Some((end, end_slope)) => {
                let width = end - short;
                // A slope that is not positive at the far end (no zero between) halves.
                let share = if end_slope > 0.0 && end_slope.is_finite() {
                    short_slope / (short_slope - end_slope)
                } else {
                    0.5
                };
                short + width * share.clamp(0.1, 0.9)
            }
        };
        if t <= short || long.is_some_and(|(end, _)| t >= end) {
            break;
        }
    }
    Ok((short > 0.0).then_some(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(f: &dyn Fn(f64) -> (f64, f64)) -> f64 {
        let (value, slope) = f(0.0);
        let t = search(&mut |t| Ok(f(t)), value, slope).unwrap().expect("a step");
        let (value_t, slope_t) = f(t);
        assert!(value_t < value && slope_t >= FLATTENING * slope);
        t
    }

    #[test]
    fn takes_the_full_step_of_a_quadratic_and_brackets_the_others() {
        assert_eq!(check(&|t| (0.5 * (t - 1.0) * (t - 1.0), t - 1.0)), 1.0);
        assert!(check(&|t| (0.5 * (t - 1e-3) * (t - 1e-3), t - 1e-3)) < 2e-3);
        assert!(check(&|t| (0.5 * (t - 1e3) * (t - 1e3), t - 1e3)) > 50.0);
        // A kink: slope -1 up to 0.3, +5 beyond.
        let kink = |t: f64| if t < 0.3 { (-t, -1.0) } else { (5.0 * (t - 0.3) - 0.3, 5.0) };
        let (value, slope) = kink(0.0);
        let t = search(&mut |t| Ok(kink(t)), value, slope).unwrap().expect("a step");
        assert!(kink(t).0 < 0.0);
        assert_eq!(search(&mut |t| Ok((t, 1.0)), 0.0, 1.0), Ok(None), "uphill");
    }
}
