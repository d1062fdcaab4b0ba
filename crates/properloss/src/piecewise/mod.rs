//! Strictly increasing piecewise-affine functions: the shape of every learned link.

mod area;
mod simplify;

pub(crate) use area::excess_area;
pub use simplify::Simplified;

use crate::error::{Error, Result, same_length};

/// A continuous, strictly increasing, piecewise-affine function given by its knots.
///
/// *Invariant* (the constructor enforces it): at least two knots, all coordinates finite, `x` and
/// `y` both strictly increasing. Outside `[x_0, x_K]` the function is constant, `y_0` to the left
/// and `y_K` to the right.
///
/// ```
/// use properloss::piecewise::PiecewiseAffine;
/// let f = PiecewiseAffine::new(vec![-1.0, 0.0, 2.0], vec![0.0, 0.5, 1.0])?;
/// assert_eq!(f.eval(1.0), 0.75);
/// assert_eq!(f.inverse(0.75), 1.0);
/// assert_eq!(f.integral(-1.0, 2.0), 0.25 + 1.5);
/// # Ok::<(), properloss::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Knots"))]
pub struct PiecewiseAffine {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// Knots as they are stored, not yet checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Knots {
    x: Vec<f64>,
    y: Vec<f64>,
}

#[cfg(feature = "serde")]
impl TryFrom<Knots> for PiecewiseAffine {
    type Error = Error;

    fn try_from(Knots { x, y }: Knots) -> Result<Self> {
        Self::new(x, y)
    }
}

impl PiecewiseAffine {
    /// From knots `(x_k, y_k)` in order; O(K).
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Result<Self> {
        same_length(("x", x.len()), ("y", y.len()))?;
        if x.len() < 2 {
            return Err(Error::TooShort { what: "x", length: x.len(), minimum: 2 });
        }
        check_strictly_increasing("x", &x)?;
        check_strictly_increasing("y", &y)?;
        check_extent("x", &x)?;
        check_extent("y", &y)?;
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

    /// How many knots there are; one more than the pieces.
    pub fn knot_count(&self) -> usize {
        self.x.len()
    }

    /// The inverse function.
    pub fn inverted(self) -> Self {
        Self { x: self.y, y: self.x }
    }

    /// The value at `x`, constant outside the knots. NaN for NaN.
    pub fn eval(&self, x: f64) -> f64 {
        interpolate(&self.x, &self.y, x)
    }

    /// The abscissa at which the value `y` is taken, clamped to the knots. NaN for NaN.
    pub fn inverse(&self, y: f64) -> f64 {
        interpolate(&self.y, &self.x, y)
    }

    /// The values at many abscissae in any order, each by binary search.
    pub fn eval_slice(&self, x: &[f64]) -> Vec<f64> {
        x.iter().map(|&x| self.eval(x)).collect()
    }

    /// The values at abscissae in increasing order: one merge of the two lists, O(m + K).
    ///
    /// `out` has to be as long as `x`; the error names the first abscissa below its predecessor.
    pub fn eval_sorted_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        merge(&self.x, &self.y, "x", x, out)
    }

    /// [`Self::eval_sorted_into`] into a new vector.
    pub fn eval_sorted(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; x.len()];
        self.eval_sorted_into(x, &mut out)?;
        Ok(out)
    }

    /// Index of the piece `[x_k, x_{k+1})` that holds `x`; the first or last piece outside.
    pub fn piece_at(&self, x: f64) -> usize {
        piece_at(&self.x, x)
    }

    /// Slope of the piece `[x_k, x_{k+1}]`.
    pub fn piece_slope(&self, k: usize) -> f64 {
        (self.y[k + 1] - self.y[k]) / (self.x[k + 1] - self.x[k])
    }

    /// The slope at `x`: at a knot that of the piece to its right, 0 outside `[x_0, x_K)`.
    pub fn slope(&self, x: f64) -> f64 {
        if x.is_nan() {
            f64::NAN
        } else if x < self.x[0] || x >= self.x[self.x.len() - 1] {
            0.0
        } else {
            self.piece_slope(self.piece_at(x))
        }
    }

    /// The smallest and the largest slope of a piece.
    pub fn slope_range(&self) -> (f64, f64) {
        (0..self.x.len() - 1)
            .map(|k| self.piece_slope(k))
            .fold((f64::INFINITY, 0.0), |(low, high), s| (low.min(s), high.max(s)))
    }

    /// `∫_from^to f`, with the constant continuation outside the knots; O(log K + pieces between).
    pub fn integral(&self, from: f64, to: f64) -> f64 {
        if from > to {
            return -self.integral(to, from);
        }
        let (x, y) = (&self.x, &self.y);
        let last = x.len() - 1;
        let left = if from < x[0] { y[0] * (to.min(x[0]) - from) } else { 0.0 };
        let right = if to > x[last] { y[last] * (to - from.max(x[last])) } else { 0.0 };
        let (from, to) = (from.clamp(x[0], x[last]), to.clamp(x[0], x[last]));
        let trapezoid = |a: f64, fa: f64, b: f64, fb: f64| (b - a) * (0.5 * (fa + fb));
        let (i, j) = (self.piece_at(from), self.piece_at(to));
        let inside = if i == j {
            trapezoid(from, self.eval(from), to, self.eval(to))
        } else {
            let middle: f64 = (i + 1..j).map(|k| trapezoid(x[k], y[k], x[k + 1], y[k + 1])).sum();
            trapezoid(from, self.eval(from), x[i + 1], y[i + 1])
                + middle
                + trapezoid(x[j], y[j], to, self.eval(to))
        };
        left + inside + right
    }
}

/// Index of the piece `[x_k, x_{k+1})` that holds `at`.
fn piece_at(x: &[f64], at: f64) -> usize {
    x.partition_point(|&knot| knot <= at).clamp(1, x.len() - 1) - 1
}

/// Linear interpolation through `(x_k, y_k)`, constant outside; anchored at the nearer knot so that
/// the knots themselves are reproduced exactly and the result never leaves its piece.
fn interpolate(x: &[f64], y: &[f64], at: f64) -> f64 {
    let last = x.len() - 1;
    if at.is_nan() {
        f64::NAN
    } else if at <= x[0] {
        y[0]
    } else if at >= x[last] {
        y[last]
    } else {
        interpolate_piece(x, y, piece_at(x, at), at)
    }
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

/// [`interpolate`] at each of `at`, which increases; the piece only moves to the right.
fn merge(x: &[f64], y: &[f64], what: &'static str, at: &[f64], out: &mut [f64]) -> Result<()> {
    same_length((what, at.len()), ("out", out.len()))?;
    let last = x.len() - 1;
    let Some(first) = at.first() else { return Ok(()) };
    let mut k = x.partition_point(|x| x <= first).clamp(1, last) - 1;
    for (index, (&value, out)) in at.iter().zip(out).enumerate() {
        if value.is_nan() {
            return Err(Error::NotFinite { what, index, value });
        }
        if index > 0 && value < at[index - 1] {
            let expected = "at least the value before it (sort, or use the unsorted form)";
            return Err(Error::ElementOutOfDomain { what, index, value, expected });
        }
        while k + 1 < last && x[k + 1] <= value {
            k += 1;
        }
        *out = if value <= x[0] {
            y[0]
        } else if value >= x[last] {
            y[last]
        } else {
            interpolate_piece(x, y, k, value)
        };
    }
    Ok(())
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

/// Widths must not overflow: `x_K - x_0` is finite.
fn check_extent(what: &'static str, values: &[f64]) -> Result<()> {
    let index = values.len() - 1;
    let value = values[index];
    if (value - values[0]).is_finite() {
        return Ok(());
    }
    let expected = "within the range of f64 from the first value";
    Err(Error::ElementOutOfDomain { what, index, value, expected })
}
