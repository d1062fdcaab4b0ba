//! A link learned relative to another: `u = v ∘ base`, `v` piecewise affine on `[0, 1]`.

use std::sync::Arc;

use super::{InverseLink, LinkSpec, is_probability};
use crate::bregman;
use crate::error::{Error, Result};
use crate::piecewise::PiecewiseAffine;

/// `u = v ∘ base`, with `v` strictly increasing and piecewise affine on `[0, 1]`.
///
/// With the slopes of `v` in `[1/τ, τ]` the log-loss at every score is at most that of the base
/// link plus `ln τ` (see [`Self::slope_ratio`]).
///
/// On a piece of slope `s_k` between `z_k = base⁻¹(p_k)` and `z_{k+1}`,
/// `U(z) = U(z_k) + v_k (z - z_k) + s_k D_B(z, z_k)`, where `B` is the potential of the base link:
/// positive terms, as exact as the base link's divergence.
///
/// *Invariant*: `v` runs over `[0, 1]` exactly, its values lie in `[0, 1]`. If `v(0) > 0` or
/// `v(1) < 1`, or if the base link has no canonical loss, neither has this link: its `U` is then
/// normalised at score 0 (see [`InverseLink`]).
#[derive(Debug, Clone)]
pub struct RelativeLink {
    base: Arc<dyn InverseLink>,
    v: PiecewiseAffine,
    /// `z_k`.
    z: Vec<f64>,
    /// `U(z_k)`, `∫_{z_k}^∞ (1 - u)`; zero at the ends, unused where they do not exist.
    below: Vec<f64>,
    above: Vec<f64>,
    /// `U*(v_k)`, where the base link has a finite `B*`.
    conjugate: Vec<f64>,
    /// The base link has a finite `B*`; so has this one, and its range is all of `[0, 1]`.
    base_bounded: bool,
    bounded: bool,
}

impl RelativeLink {
    /// From a base link and `v`.
    pub fn new(base: Arc<dyn InverseLink>, v: PiecewiseAffine) -> Result<Self> {
        let (p, values) = (v.x(), v.y());
        let last = p.len() - 1;
        let wrong = |what, index, value, expected| {
            Err(Error::ElementOutOfDomain { what, index, value, expected })
        };
        if p[0] != 0.0 {
            return wrong("p", 0, p[0], "0, where the base link starts");
        }
        if p[last] != 1.0 {
            return wrong("p", last, p[last], "1, where the base link ends");
        }
        if values[0] < 0.0 {
            return wrong("v", 0, values[0], "a probability, from 0 to 1");
        }
        if values[last] > 1.0 {
            return wrong("v", last, values[last], "a probability, from 0 to 1");
        }
        let z: Vec<f64> = p.iter().map(|&p| base.u_inverse(p)).collect();
        if let Some(k) = (1..=last).find(|&k| z[k] <= z[k - 1]) {
            return Err(Error::NotIncreasing {
                what: "base link at p",
                index: k,
                previous: z[k - 1],
                value: z[k],
            });
        }
        let base_bounded = base.conjugate(0.0).is_finite() && base.conjugate(1.0).is_finite();
        let bounded = base_bounded && values[0] == 0.0 && values[last] == 1.0;
        let count = last + 1;
        let mut link = Self {
            base,
            v,
            z,
            below: vec![0.0; count],
            above: vec![0.0; count],
            conjugate: vec![0.0; count],
            base_bounded,
            bounded,
        };
        link.accumulate();
        Ok(link)
    }

    /// Sums over the pieces: `U` from the left, `∫ (1 - u)` from the right, `U*` from the left.
    fn accumulate(&mut self) {
        let last = self.z.len() - 1;
        for k in 1..last {
            self.below[k] = self.below_from_piece(k - 1, self.z[k]);
        }
        for k in (1..last).rev() {
            self.above[k] = self.above_from_piece(k, self.z[k]);
        }
        for k in 0..last {
            self.conjugate[k + 1] = self.conjugate_from_piece(k, self.v.y()[k + 1]);
        }
        if !self.bounded {
            // Normalise by U(0) = 0.
            let k = self.piece(0.0);
            let offset = self.below_from_piece(k, 0.0);
            self.below.iter_mut().for_each(|value| *value -= offset);
            let offset = self.conjugate_in_piece(self.u(0.0));
            self.conjugate.iter_mut().for_each(|value| *value -= offset);
        }
    }

    /// The base link.
    pub fn base(&self) -> &Arc<dyn InverseLink> {
        &self.base
    }

    /// `v`.
    pub fn v(&self) -> &PiecewiseAffine {
        &self.v
    }

    /// The smallest `τ >= 1` such that every slope of `v` lies in `[1/τ, τ]`.
    pub fn slope_ratio(&self) -> f64 {
        (0..self.z.len() - 1)
            .map(|k| self.v.piece_slope(k))
            .fold(1.0, |tau: f64, s| tau.max(s).max(1.0 / s))
    }

    /// The piece that holds `z`: `z_k <= z < z_{k+1}`.
    fn piece(&self, z: f64) -> usize {
        self.z.partition_point(|&knot| knot <= z).clamp(1, self.z.len() - 1) - 1
    }

    /// `U(z_k) + v_k (z - z_k) + s_k D_B(z, z_k)`; from the right knot in the first piece of a link
    /// whose `U` is not normalised at `-∞`.
    fn below_from_piece(&self, k: usize, z: f64) -> f64 {
        let slope = self.v.piece_slope(k);
        if k == 0 && !self.bounded {
            if self.z.len() == 2 {
                // One piece: v_0 z + s (B(z) - B(0)) up to a constant.
                let line = self.v.y()[0] * z + slope * self.base.potential(z);
                return self.below[0] + line;
            }
            let right = self.z[1];
            let tangent = self.v.y()[1] * (z - right);
            return self.below[1] + tangent + slope * self.base.divergence(z, right);
        }
        let left = self.z[k];
        let step = if left.is_finite() { self.v.y()[k] * (z - left) } else { 0.0 };
        self.below[k] + step + slope * self.base.divergence(z, left)
    }

    /// `V(z_{k+1}) + (1 - v_{k+1})(z_{k+1} - z) + s_k D_B(z, z_{k+1})`.
    fn above_from_piece(&self, k: usize, z: f64) -> f64 {
        let right = self.z[k + 1];
        let step = if right.is_finite() { (1.0 - self.v.y()[k + 1]) * (right - z) } else { 0.0 };
        self.above[k + 1] + step + self.v.piece_slope(k) * self.base.divergence(z, right)
    }

    /// `U*(v_k) + s_k (B*(p') - B*(p_k))` with `p' = v⁻¹(p)`, of which the second term is
    /// `(p - v_k) z_k + s_k D_{B*}(p', p_k)`; in the first piece `B*(p_0) = 0`.
    fn conjugate_from_piece(&self, k: usize, p: f64) -> f64 {
        let (slope, inner) = (self.v.piece_slope(k), self.v.inverse(p));
        if k == 0 {
            return self.conjugate[0] + slope * self.base.conjugate(inner);
        }
        let tangent = (p - self.v.y()[k]) * self.z[k];
        let beyond = slope * self.base.conjugate_divergence(inner, self.v.x()[k]);
        self.conjugate[k] + tangent + beyond
    }

    fn conjugate_in_piece(&self, p: f64) -> f64 {
        let v = self.v.y();
        let k = v.partition_point(|&knot| knot <= p).clamp(1, v.len() - 1) - 1;
        self.conjugate_from_piece(k, p)
    }

    /// `base(a) - base(b)`, without cancellation where they are near one another.
    fn base_difference(&self, a: f64, b: f64) -> f64 {
        let d = a - b;
        if d.abs() < 0.01 {
            d * bregman::gauss(|t| self.base.derivative(d.mul_add(t, b)))
        } else if self.base.u(b) <= 0.5 {
            self.base.u(a) - self.base.u(b)
        } else {
            self.base.one_minus_u(b) - self.base.one_minus_u(a)
        }
    }

    /// `∫_b^a (u - u(b))` over the pieces from that of `b` to that of `a`.
    fn divergence_across(&self, a: f64, b: f64, from: usize, to: usize) -> f64 {
        let upward = a > b;
        // The knots passed on the way from b to a, in that order.
        let passed: Vec<usize> =
            if upward { (from + 1..=to).collect() } else { (to + 1..=from).rev().collect() };
        let v = self.v.y();
        let slope = |k: usize| self.v.piece_slope(k);
        let first = passed[0];
        let own = slope(from);
        // |u(z_first) - u(b)|
        let rise = (own * self.base_difference(self.z[first], b)).abs();
        let mut sum = own * self.base.divergence(self.z[first], b);
        for (i, &knot) in passed.iter().enumerate() {
            let next = passed.get(i + 1).map_or(a, |&k| self.z[k]);
            let piece = if upward { knot } else { knot - 1 };
            let height = (v[knot] - v[first]).abs() + rise;
            sum += height * (next - self.z[knot]).abs();
            sum += slope(piece) * self.base.divergence(next, self.z[knot]);
        }
        sum
    }
}

impl InverseLink for RelativeLink {
    fn u(&self, z: f64) -> f64 {
        self.v.eval(self.base.u(z))
    }

    fn derivative(&self, z: f64) -> f64 {
        self.v.piece_slope(self.piece(z)) * self.base.derivative(z)
    }

    fn u_inverse(&self, p: f64) -> f64 {
        if is_probability(p) { self.base.u_inverse(self.v.inverse(p)) } else { f64::NAN }
    }

    fn potential(&self, z: f64) -> f64 {
        if z.is_nan() {
            return z;
        }
        self.below_from_piece(self.piece(z), z)
    }

    // ∫ u⁻¹ over [v_k, p] is s_k (B*(p') - B*(p_k)); the first piece keeps its relative accuracy at 0.
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        let v = self.v.y();
        if p < v[0] || p > v[v.len() - 1] {
            f64::INFINITY
        } else if self.base_bounded {
            self.conjugate_in_piece(p)
        } else {
            let z = self.u_inverse(p);
            if z.is_finite() { p * z - self.potential(z) } else { f64::INFINITY }
        }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::Relative {
            base: Box::new(self.base.spec()),
            p: self.v.x().to_vec(),
            v: self.v.y().to_vec(),
        }
    }

    // From the right knot of the piece: (1 - v_{k+1}) + s_k ((1 - p) - (1 - p_{k+1})).
    fn one_minus_u(&self, z: f64) -> f64 {
        let k = self.piece(z);
        let (p, v) = (self.v.x()[k + 1], self.v.y()[k + 1]);
        let rise = self.v.piece_slope(k) * (self.base.one_minus_u(z) - (1.0 - p));
        ((1.0 - v) + rise).clamp(0.0, 1.0)
    }

    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        if !is_probability(q) {
            return f64::NAN;
        }
        let v = self.v.y();
        let k = v.partition_point(|&knot| 1.0 - knot >= q).clamp(1, v.len() - 1) - 1;
        let top = 1.0 - self.v.x()[k + 1];
        let bottom = 1.0 - self.v.x()[k];
        let q = top + (q - (1.0 - v[k + 1])) / self.v.piece_slope(k);
        self.base.u_inverse_of_complement(q.clamp(top, bottom))
    }

    fn upper_potential(&self, z: f64) -> f64 {
        if z.is_nan() {
            return z;
        }
        if !self.bounded {
            return f64::INFINITY;
        }
        self.above_from_piece(self.piece(z), z)
    }

    fn support(&self) -> (f64, f64) {
        if self.bounded { self.base.support() } else { (f64::NEG_INFINITY, f64::INFINITY) }
    }

    fn divergence(&self, a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        if a == b {
            return 0.0;
        }
        if b.is_infinite() {
            return match (self.bounded, b > 0.0) {
                (false, _) => f64::INFINITY,
                (true, true) => self.upper_potential(a),
                (true, false) => self.potential(a),
            };
        }
        let (from, to) = (self.piece(b), self.piece(a));
        // A knot belongs to both of its pieces.
        let from = if from > to && self.z[from] == b { from - 1 } else { from };
        if from == to {
            self.v.piece_slope(from) * self.base.divergence(a, b)
        } else {
            self.divergence_across(a, b, from, to)
        }
    }

    // Within a piece, s_k D_{B*} of the preimages, by quadrature where their difference would cancel.
    fn conjugate_divergence(&self, p: f64, q: f64) -> f64 {
        if !(is_probability(p) && is_probability(q)) {
            return f64::NAN;
        }
        if p == q {
            return 0.0;
        }
        if (p == 0.0 || p == 1.0) && !self.bounded {
            return f64::INFINITY;
        }
        let (low, high) = (p.min(q), p.max(q));
        let v = self.v.y();
        let k = v.partition_point(|&knot| knot <= low).clamp(1, v.len() - 1) - 1;
        if high <= v[k + 1] {
            let pre = |p: f64| self.v.inverse(p);
            let edge = pre(low).min(1.0 - pre(high));
            if pre(high) - pre(low) <= 0.5 * edge {
                let slope = self.v.piece_slope(k);
                let weight = |c: f64| {
                    let z = self.base.u_inverse(pre(c));
                    1.0 / (slope * self.base.derivative(z))
                };
                return bregman::quadrature(weight, p, q);
            }
        }
        self.divergence(self.u_inverse(q), self.u_inverse(p))
    }
}
