//! The clipped line `0 ∨ (1 ∧ (a z + b))`: square loss, and the paper's `u_0`.

use super::{InverseLink, LinkSpec, is_probability};
use crate::error::{Error, Result, require};

/// `u(z) = 0 ∨ (1 ∧ (a z + b))` with `a > 0`.
///
/// `U*(p) = (p² - 2 b p) / (2 a)`, hence `D_{U*}(y, p) = (y - p)² / (2 a)`: with `a = 1/2` this is
/// the square loss `(y - p)²`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClippedLine {
    a: f64,
    b: f64,
    /// `1 - b` as an unevaluated sum, so that `1 - u` does not cancel.
    top: (f64, f64),
}

impl ClippedLine {
    /// With slope `a` and value `b` at score 0.
    pub fn new(a: f64, b: f64) -> Result<Self> {
        require("a", a, "finite and above 0", a.is_finite() && a > 0.0)?;
        require("b", b, "finite", b.is_finite())?;
        let (z_min, z_max) = (-b / a, (1.0 - b) / a);
        if !(z_min.is_finite() && z_max.is_finite() && z_min < z_max) {
            return Err(Error::OutOfDomain {
                what: "a",
                value: a,
                expected: "such that z_min = -b/a and z_max = (1 - b)/a are two finite scores",
            });
        }
        Ok(Self { a, b, top: crate::special::two_sum(1.0, -b) })
    }

    /// The line that runs from `(z_min, 0)` to `(z_max, 1)`.
    pub fn between(z_min: f64, z_max: f64) -> Result<Self> {
        let width = z_max - z_min;
        if !(z_min.is_finite() && width.is_finite() && width > 0.0) {
            return Err(Error::OutOfDomain {
                what: "z_max",
                value: z_max,
                expected: "finite and above a finite z_min",
            });
        }
        Self::new(1.0 / width, -z_min / width)
    }

    /// Slope.
    pub fn a(&self) -> f64 {
        self.a
    }

    /// Value of the line at score 0.
    pub fn b(&self) -> f64 {
        self.b
    }

    /// `a z + b`, rounded once.
    fn line(&self, z: f64) -> f64 {
        self.a.mul_add(z, self.b)
    }

    /// `1 - (a z + b)`.
    fn line_from_top(&self, z: f64) -> f64 {
        (-self.a).mul_add(z, self.top.0) + self.top.1
    }

    /// The area below the link up to where it is at `line`: `line²/(2a)`, and beyond 1, where it is
    /// flat, `1/(2a) + (z - z_max) = (line - 1/2)/a`.
    fn area(&self, line: f64) -> f64 {
        if line.is_nan() {
            f64::NAN
        } else if line <= 0.0 {
            0.0
        } else if line <= 1.0 {
            0.5 * line * (line / self.a)
        } else {
            (line - 0.5) / self.a
        }
    }
}

impl InverseLink for ClippedLine {
    fn u(&self, z: f64) -> f64 {
        self.line(z).clamp(0.0, 1.0)
    }

    fn derivative(&self, z: f64) -> f64 {
        if z.is_nan() {
            f64::NAN
        } else if self.line(z) >= 0.0 && self.line_from_top(z) > 0.0 {
            self.a
        } else {
            0.0
        }
    }

    fn u_inverse(&self, p: f64) -> f64 {
        if is_probability(p) { (p - self.b) / self.a } else { f64::NAN }
    }

    fn potential(&self, z: f64) -> f64 {
        self.area(self.line(z))
    }

    fn conjugate(&self, p: f64) -> f64 {
        if is_probability(p) { 0.5 * p * ((p - 2.0 * self.b) / self.a) } else { f64::NAN }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::Builtin { name: "clipped-line".to_string(), params: vec![self.a, self.b] }
    }

    fn one_minus_u(&self, z: f64) -> f64 {
        self.line_from_top(z).clamp(0.0, 1.0)
    }

    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        if is_probability(q) { ((self.top.0 - q) + self.top.1) / self.a } else { f64::NAN }
    }

    fn upper_potential(&self, z: f64) -> f64 {
        self.area(self.line_from_top(z))
    }

    fn support(&self) -> (f64, f64) {
        (-self.b / self.a, (1.0 - self.b) / self.a)
    }

    // Inside: a (a - b)²/2. From b inside to a outside, the square up to the end of the line plus
    // the rectangle beyond it; from b outside, where u(b) is 0 or 1, a potential.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        let (from_bottom, from_top) = (self.line(b), self.line_from_top(b));
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        if a == b {
            return 0.0;
        }
        if from_bottom <= 0.0 {
            return self.potential(a);
        }
        if from_top <= 0.0 {
            return self.upper_potential(a);
        }
        let (below, above) = (-self.line(a), -self.line_from_top(a));
        if below > 0.0 {
            from_bottom * ((0.5 * from_bottom + below) / self.a)
        } else if above > 0.0 {
            from_top * ((0.5 * from_top + above) / self.a)
        } else {
            0.5 * self.a * (a - b) * (a - b)
        }
    }

    fn conjugate_divergence(&self, p: f64, q: f64) -> f64 {
        if is_probability(p) && is_probability(q) {
            0.5 * (p - q) * ((p - q) / self.a)
        } else {
            f64::NAN
        }
    }
}
