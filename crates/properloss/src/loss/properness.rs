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
