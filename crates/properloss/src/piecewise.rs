//! Strictly increasing piecewise-affine functions: the shape of every learned link.

use crate::error::{Error, Result};

/// A continuous, strictly increasing, piecewise-affine function given by its knots.
///
/// *Invariant* (the constructor enforces it): at least two knots, all coordinates finite, `x` and
/// `y` both strictly increasing. Outside `[x_0, x_K]` the function is constant, `y_0` to the left
/// and `y_K` to the right.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseAffine {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl PiecewiseAffine {
    /// From knots `(x_k, y_k)` in order; O(K).
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Result<Self> {
        if x.len() != y.len() {
            return Err(Error::LengthMismatch {
                what: "x",
                length: x.len(),
                other: "y",
                other_length: y.len(),
            });
        }
        if x.len() < 2 {
            return Err(Error::TooShort { what: "x", length: x.len(), minimum: 2 });
        }
        check_strictly_increasing("x", &x)?;
        check_strictly_increasing("y", &y)?;
        Ok(Self { x, y })
    }

    /// Abscissae of the knots.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// Ordinates of the knots.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The value at `x`, constant outside the knots.
    pub fn eval(&self, x: f64) -> f64 {
        interpolate(&self.x, &self.y, x)
    }

    /// The abscissa at which the value `y` is taken, clamped to the knots.
    pub fn inverse(&self, y: f64) -> f64 {
        interpolate(&self.y, &self.x, y)
    }

    /// Slope of the piece `[x_k, x_{k+1}]`.
    pub fn piece_slope(&self, k: usize) -> f64 {
        (self.y[k + 1] - self.y[k]) / (self.x[k + 1] - self.x[k])
    }
}

/// Linear interpolation through `(x_k, y_k)`, constant outside; anchored at the nearer knot so that
/// the knots themselves are reproduced exactly and the result never leaves its piece.
fn interpolate(x: &[f64], y: &[f64], at: f64) -> f64 {
    let last = x.len() - 1;
    if at.is_nan() {
        return f64::NAN;
    }
    if at <= x[0] {
        return y[0];
    }
    if at >= x[last] {
        return y[last];
    }
    // x[k] <= at < x[k + 1]
    let k = x.partition_point(|&knot| knot <= at) - 1;
    interpolate_piece(x, y, k, at)
}

/// The affine piece `k` at `at`, which lies in `[x_k, x_{k+1}]`.
fn interpolate_piece(x: &[f64], y: &[f64], k: usize, at: f64) -> f64 {
    let width = x[k + 1] - x[k];
    let rise = y[k + 1] - y[k];
    let from_left = at - x[k];
    let from_right = x[k + 1] - at;
    let value = if from_left <= from_right {
        y[k] + rise * (from_left / width)
    } else {
        y[k + 1] - rise * (from_right / width)
    };
    value.clamp(y[k], y[k + 1])
}

fn check_strictly_increasing(what: &'static str, values: &[f64]) -> Result<()> {
    for (index, &value) in values.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what, index, value });
        }
        if index > 0 && value <= values[index - 1] {
            let previous = values[index - 1];
            return Err(Error::NotIncreasing { what, index, previous, value });
        }
    }
    Ok(())
}
