//! `∫_b^a (f - f(b))`: the Bregman divergence of which `f` is the derivative, in positive terms.

use super::piece_at;
use crate::special::Double;

/// Beyond this many pieces the middle is taken from prefix sums.
const FEW: usize = 64;

/// `∫_b^a (f - f(b))` for `a`, `b` inside `[x_0, x_K]`, with `f` straight between the knots `(x_k, y_k)`; with the
/// two exchanged, that of the inverse. `integral(i, j)` is `∫ f` between two knots in double-double, for when they
/// are many.
///
/// In one piece `s (a - b)²/2`. Across pieces, with `c` the first knot met on the way from `b` to
/// `a`: the triangle up to `c`, of height `h = |f(c) - f(b)|`; the rectangle of that height from `c`
/// to `a`; and above `f(c)` the trapezoids from `c` to `a`. Every term is positive and every height
/// is a difference of knots or a slope times a length, so nothing cancels.
pub(crate) fn excess_area(
    x: &[f64],
    y: &[f64],
    a: f64,
    b: f64,
    integral: impl Fn(usize, usize) -> Double,
) -> f64 {
    if a == b {
        return 0.0;
    }
    // Of the two pieces at a knot, the one that faces the other point.
    let facing = |at: f64, other: f64| {
        let k = piece_at(x, at);
        if other < at && x[k] == at && k > 0 { k - 1 } else { k }
    };
    let (from, to) = (facing(b, a), facing(a, b));
    let rise = |k: usize, length: f64| (y[k + 1] - y[k]) * (length.abs() / (x[k + 1] - x[k]));
    if from == to {
        return 0.5 * rise(from, a - b) * (a - b).abs();
    }
    let (first, end) = if a > b { (from + 1, to) } else { (from, to + 1) };
    let height = rise(from, x[first] - b);
    let triangle = 0.5 * height * (x[first] - b).abs();
    let rectangle = height * (a - x[first]).abs();
    let above_end = (y[end] - y[first]).abs() + 0.5 * rise(to, a - x[end]);
    let last = above_end * (a - x[end]).abs();
    triangle + rectangle + middle_area(x, y, first, end, integral) + last
}

/// `|∫ (f - y_first)|` from the knot `first` to the knot `end`.
fn middle_area(
    x: &[f64],
    y: &[f64],
    first: usize,
    end: usize,
    integral: impl Fn(usize, usize) -> Double,
) -> f64 {
    let (low, high) = (first.min(end), first.max(end));
    if high - low <= FEW {
        let height = |k: usize| (y[k] - y[first]).abs();
        return (low..high).map(|k| 0.5 * (height(k) + height(k + 1)) * (x[k + 1] - x[k])).sum();
    }
    let level = Double { hi: y[first], lo: 0.0 };
    let rectangle = Double::sum(x[high], -x[low]).times(level);
    integral(low, high).minus(rectangle).value().abs()
}
