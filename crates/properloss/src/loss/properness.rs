//! Is a pair of partial losses proper?

use crate::error::{Error, Result};

type PartialLoss<'a> = Box<dyn Fn(f64) -> f64 + Send + Sync + 'a>;

/// A pair of partial losses: what a probability costs when the outcome is 0, and when it is 1.
pub struct PartialLosses<'a> {
    negative: PartialLoss<'a>,
    positive: PartialLoss<'a>,
}

impl std::fmt::Debug for PartialLosses<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PartialLosses")
    }
}

impl<'a> PartialLosses<'a> {
    /// From `ℓ_0` and `ℓ_1`.
    pub fn new(
        negative: impl Fn(f64) -> f64 + Send + Sync + 'a,
        positive: impl Fn(f64) -> f64 + Send + Sync + 'a,
    ) -> Self {
        Self { negative: Box::new(negative), positive: Box::new(positive) }
    }

    /// `ℓ_0(p)`.
    pub fn negative(&self, p: f64) -> f64 {
        (self.negative)(p)
    }

    /// `ℓ_1(p)`.
    pub fn positive(&self, p: f64) -> f64 {
        (self.positive)(p)
    }

    /// `π ℓ_1(p) + (1 - π) ℓ_0(p)`; an outcome of rate 0 costs nothing.
    pub fn risk(&self, pi: f64, p: f64) -> f64 {
        let part = |rate: f64, loss: &PartialLoss<'a>| {
            if rate == 0.0 { 0.0 } else { rate * loss(p) }
        };
        part(pi, &self.positive) + part(1.0 - pi, &self.negative)
    }
}

/// The answer of [`check_properness`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Properness {
    /// The largest `risk(π, π) - risk(π, p)` found: what honesty costs at worst. Not above
    /// `rounding` for a proper loss.
    pub largest_violation: f64,
    /// The rate `π` at which it was found.
    pub pi: f64,
    /// The answer `p` that beats the honest one there.
    pub p: f64,
    /// The rounding error of that difference.
    pub rounding: f64,
}

impl Properness {
    /// No violation beyond rounding was found.
    pub fn is_proper(&self) -> bool {
        self.largest_violation <= self.rounding
    }
}

/// Look for a rate `π` at which another answer than `π` has a smaller expected loss.
///
/// Rates and answers run over `grid` points, closer together near 0 and 1; around the best answer
/// for each rate the search goes on by golden sections. `grid` is at least 3; 200 is plenty.
/// A NaN loss counts as an infinite violation.
pub fn check_properness(losses: &PartialLosses<'_>, grid: usize) -> Result<Properness> {
    if grid < 3 {
        return Err(Error::TooShort { what: "grid", length: grid, minimum: 3 });
    }
    // sin² spreads the points like 1/√(p (1 - p)); without the ends, where losses may be infinite.
    let points: Vec<f64> = (0..grid)
        .map(|i| {
            let angle = std::f64::consts::FRAC_PI_2 * (i as f64 + 0.5) / grid as f64;
            angle.sin() * angle.sin()
        })
        .collect();
    let mut worst =
        Properness { largest_violation: f64::NEG_INFINITY, pi: 0.5, p: 0.5, rounding: 0.0 };
    for &pi in &points {
        let honest = losses.risk(pi, pi);
        let risks = points.iter().map(|&p| losses.risk(pi, p));
        let best = risks.enumerate().fold((0, f64::INFINITY), |best, (i, risk)| {
            if risk.is_nan() {
                (i, f64::NEG_INFINITY)
            } else if risk < best.1 {
                (i, risk)
            } else {
                best
            }
        });
        let (p, risk) = if best.1 == f64::NEG_INFINITY {
            (points[best.0], best.1)
        } else {
            let low = points[best.0.saturating_sub(1)];
            let high = points[(best.0 + 1).min(grid - 1)];
            golden_section(|p| losses.risk(pi, p), low, high, (points[best.0], best.1))
        };
        if honest.is_nan() || risk == f64::NEG_INFINITY {
            return Ok(Properness { largest_violation: f64::INFINITY, pi, p, rounding: 0.0 });
        }
        let violation = honest - risk;
        // Each risk is a sum of two products of values good to a few ulp of the larger partial loss.
        let scale = losses.positive(pi).abs() * pi + losses.negative(pi).abs() * (1.0 - pi);
        let rounding = 32.0 * f64::EPSILON * scale;
        if violation - rounding > worst.largest_violation - worst.rounding {
            worst = Properness { largest_violation: violation, pi, p, rounding };
        }
    }
    Ok(worst)
}

/// The least value of `f` on `[low, high]`, or `best` if that is not beaten.
fn golden_section(
    f: impl Fn(f64) -> f64,
    mut low: f64,
    mut high: f64,
    mut best: (f64, f64),
) -> (f64, f64) {
    const RATIO: f64 = 0.6180339887498949;
    for _ in 0..60 {
        let (left, right) = (high - RATIO * (high - low), low + RATIO * (high - low));
        let (fl, fr) = (f(left), f(right));
        for (x, value) in [(left, fl), (right, fr)] {
            if value < best.1 {
                best = (x, value);
            }
        }
        if fl <= fr {
            high = right;
        } else {
            low = left;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least value is found between the ends, at an end, or was known before.
    #[test]
    fn golden_sections_find_the_least_value() {
        let (x, value) = golden_section(|x| (x - 0.3) * (x - 0.3) + 2.0, 0.0, 1.0, (0.9, 2.36));
        assert!((x - 0.3).abs() < 1e-7 && (value - 2.0).abs() < 1e-14, "{x} {value}");
        let (x, value) = golden_section(|x| x, 0.25, 1.0, (1.0, 1.0));
        assert!((x - 0.25).abs() < 1e-9 && x >= 0.25 && value == x, "{x} {value}");
        let (x, value) = golden_section(|x| -x, 0.25, 1.0, (0.25, -0.25));
        assert!((x - 1.0).abs() < 1e-9 && x <= 1.0 && value == -x, "{x} {value}");
        assert_eq!(golden_section(|x| x * x, -1.0, 1.0, (5.0, -1.0)), (5.0, -1.0));
        assert_eq!(golden_section(|_| 1.0, 0.0, 1.0, (0.75, 1.0)), (0.75, 1.0), "not beaten");
    }

    #[test]
    fn risks_are_expected_losses() {
        let losses = PartialLosses::new(|p| 8.0 * p, |p| 1.0 - p);
        assert_eq!((losses.negative(0.5), losses.positive(0.25)), (4.0, 0.75));
        assert_eq!(losses.risk(0.25, 0.5), 0.25 * 0.5 + 0.75 * 4.0);
        // What cannot happen costs nothing, though it were infinite.
        let endless = PartialLosses::new(|_| f64::INFINITY, |_| f64::INFINITY);
        let (never, sure) = (PartialLosses::new(|_| 2.0, |_| f64::INFINITY), (1.0, 0.5));
        assert_eq!(never.risk(0.0, 0.5), 2.0);
        assert_eq!(PartialLosses::new(|_| f64::INFINITY, |_| 3.0).risk(sure.0, sure.1), 3.0);
        assert_eq!(endless.risk(0.5, 0.5), f64::INFINITY);
    }

    /// `ℓ_1 = (1 - p)²`, `ℓ_0 = k p²`: the best answer is `π / (π + k (1 - π))`, of the risk
    /// `k π (1 - π) / (π + k (1 - π))`. The worst rate and the lie that pays there are found.
    #[test]
    fn the_largest_violation_is_the_one_by_hand() {
        for k in [4.0, 0.5, 1.001] {
            let losses = PartialLosses::new(move |p| k * p * p, |p| (1.0 - p) * (1.0 - p));
            let found = check_properness(&losses, 300).unwrap();
            let violation = |pi: f64| {
                let honest = pi * (1.0 - pi) * (1.0 - pi) + (1.0 - pi) * k * pi * pi;
                honest - k * pi * (1.0 - pi) / (pi + k * (1.0 - pi))
            };
            let worst = (1..10_000).map(|i| violation(f64::from(i) / 1e4)).fold(0.0, f64::max);
            assert!((found.largest_violation - worst).abs() < 1e-3 * worst, "{found:?} {worst}");
            let by_hand = violation(found.pi);
            assert!((found.largest_violation - by_hand).abs() < 1e-15, "{found:?} {by_hand}");
            let lie = found.pi / (found.pi + k * (1.0 - found.pi));
            assert!((found.p - lie).abs() < 1e-6, "{found:?} {lie}");
            let (pi, scale) = (found.pi, losses.risk(found.pi, found.pi));
            assert!((found.rounding / (32.0 * f64::EPSILON * scale) - 1.0).abs() < 1e-12, "{pi}");
            assert!(!found.is_proper());
        }
    }

    /// A risk that has no value, or no bound, is the largest violation, told where it is.
    #[test]
    fn risks_without_a_value_or_a_bound_are_violations() {
        let hole = |p: f64| if (0.4..0.6).contains(&p) { f64::NAN } else { p };
        let found = check_properness(&PartialLosses::new(hole, |p| 1.0 - p), 50).unwrap();
        assert!(found.largest_violation == f64::INFINITY && !found.is_proper());
        assert!((0.4..0.6).contains(&found.p), "{found:?}");
        let bottomless = |p: f64| if p > 0.9 { f64::NEG_INFINITY } else { p };
        let found = check_properness(&PartialLosses::new(bottomless, |p| 1.0 - p), 50).unwrap();
        assert!(found.largest_violation == f64::INFINITY && found.p > 0.9, "{found:?}");
    }
}
