//! What a smooth link minimises, with its derivatives.
//!
//! ```text
//! J(v) = - sum_b [ n1_b log v(p_b) + n0_b log(1 - v(p_b)) ]             likelihood of the bins
//!        + lambda/2 sum_j (s_j - s_{j-1})^2 / (z_j - z_{j-1})           slopes: a random walk over log-odds
//!        + kappa sum_j l_j b(s_j)                                       slopes near 1, inside (a, A)
//!        - log(1 - v(0)) - e log v(0) - log v(1) - e log(1 - v(1))      a prior row at each end, e of the other class
//! b(s) = -log((s-a)/(1-a)) + (s-1)/(1-a) - log((A-s)/(A-1)) - (s-1)/(A-1)
//! ```
//!
//! Convex in the values at the knots; `b(1) = b'(1) = 0`. Three neighbouring values meet in a term,
//! so the Hessian has five diagonals.

use super::banded::Pentadiagonal;
use super::logs::weighted_logs;
use super::pieces::{Pieces, Place};
use super::{HIGHEST, LOWEST, OTHER_CLASS};

/// `J` for one strength and one set of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objective<'a> {
    pub pieces: &'a Pieces,
    pub places: &'a [Place],
    /// `[n0_b, n1_b]`.
    pub weights: &'a [[f64; 2]],
    /// A factor on them: 1, but for detours to a minimum that is hard to reach.
    pub scale: f64,
    /// `lambda`.
    pub smoothness: f64,
}

/// `J` and its derivatives at a point.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    pub value: f64,
    pub gradient: Vec<f64>,
    pub hessian: Pentadiagonal,
    /// What the logarithms of `J` are taken of, and their factors.
    arguments: Vec<f64>,
    factors: Vec<f64>,
}

impl Derivatives {
    /// `- factor log(x)` is a part of the value.
    fn minus_log(&mut self, factor: f64, x: f64) {
        self.factors.push(factor);
        self.arguments.push(x);
    }
}

impl Objective<'_> {
    /// Value, gradient and Hessian at `v`; false where `v` is not strictly inside the bounds.
    pub fn at(&self, v: &[f64], out: &mut Derivatives) -> bool {
        let last = v.len() - 1;
        if !(v[0] > 0.0 && v[last] < 1.0) {
            return false;
        }
        out.gradient.clear();
        out.gradient.resize(v.len(), 0.0);
        out.hessian.clear(v.len());
        out.value = 0.0;
        out.arguments.clear();
        out.factors.clear();
        if !self.slopes(v, out) {
            return false;
        }
        self.likelihood(v, out);
        ends(v, out);
        out.value -= weighted_logs(&out.factors, &out.arguments);
        out.value.is_finite()
    }

    /// Penalty and barrier; false if a slope is not strictly between its bounds.
    fn slopes(&self, v: &[f64], out: &mut Derivatives) -> bool {
        let (a, big) = (LOWEST, HIGHEST);
        let (at_low, at_high) = (1.0 / (1.0 - a), 1.0 / (big - 1.0));
        let (mut value, mut before) = (0.0, 0.0);
        for (j, ends) in v.windows(2).enumerate() {
            let width = self.pieces.inverse_width[j];
            let s = (ends[1] - ends[0]) * width;
            let (above, below) = (s - a, big - s);
            if !(above > 0.0 && below > 0.0) {
                return false;
            }
            let barrier = self.pieces.barrier[j];
            let inside = (above * at_low) * (below * at_high);
            value += barrier * (s - 1.0) * (at_low - at_high);
            out.minus_log(barrier, inside);
            let (g, h) = (&mut out.gradient, &mut out.hessian);
            let (r_above, r_below) = (1.0 / above, 1.0 / below);
            let slope = barrier * (at_low - at_high - r_above + r_below) * width;
            let curvature = barrier * (r_above * r_above + r_below * r_below) * width * width;
            g[j] -= slope;
            g[j + 1] += slope;
            h.own[j] += curvature;
            h.own[j + 1] += curvature;
            h.next[j] -= curvature;
            if j > 0 {
                // s_j - s_{j-1} = b0 v_{j-1} + b1 v_j + b2 v_{j+1}
                let b0 = self.pieces.inverse_width[j - 1];
                let (b1, b2) = (-(b0 + width), width);
                let c = self.smoothness * self.pieces.inverse_step[j - 1];
                let pull = c * (s - before);
                value += 0.5 * pull * (s - before);
                g[j - 1] += pull * b0;
                g[j] += pull * b1;
                g[j + 1] += pull * b2;
                h.own[j - 1] += c * b0 * b0;
                h.own[j] += c * b1 * b1;
                h.own[j + 1] += c * b2 * b2;
                h.next[j - 1] += c * b0 * b1;
                h.next[j] += c * b1 * b2;
                h.second[j - 1] += c * b0 * b2;
            }
            before = s;
        }
        out.value += value;
        true
    }

    fn likelihood(&self, v: &[f64], out: &mut Derivatives) {
        for (place, &[negative, positive]) in self.places.iter().zip(self.weights) {
            let (negative, positive) = (self.scale * negative, self.scale * positive);
            let (j, u) = (place.piece, place.share);
            let rest = 1.0 - u;
            let x = v[j] * rest + v[j + 1] * u;
            let y = 1.0 - x;
            let (mut slope, mut curvature) = (0.0, 0.0);
            if positive > 0.0 {
                let r = 1.0 / x;
                out.minus_log(positive, x);
                slope -= positive * r;
                curvature += positive * r * r;
            }
            if negative > 0.0 {
                let r = 1.0 / y;
                out.minus_log(negative, y);
                slope += negative * r;
                curvature += negative * r * r;
            }
            let (g, h) = (&mut out.gradient, &mut out.hessian);
            g[j] += slope * rest;
            g[j + 1] += slope * u;
            h.own[j] += curvature * rest * rest;
            h.own[j + 1] += curvature * u * u;
            h.next[j] += curvature * rest * u;
        }
    }
}

/// The prior rows: `-log(1 - v(0)) - e log v(0)`, and its mirror at the other end.
fn ends(v: &[f64], out: &mut Derivatives) {
    let last = v.len() - 1;
    let (low, high, e) = (v[0], v[last], OTHER_CLASS);
    let (low_rest, high_rest) = (1.0 - low, 1.0 - high);
    for (factor, x) in [(1.0, low_rest), (e, low), (1.0, high), (e, high_rest)] {
        out.minus_log(factor, x);
    }
    out.gradient[0] += 1.0 / low_rest - e / low;
    out.gradient[last] += e / high_rest - 1.0 / high;
    out.hessian.own[0] += 1.0 / (low_rest * low_rest) + e / (low * low);
    out.hessian.own[last] += 1.0 / (high * high) + e / (high_rest * high_rest);
}
