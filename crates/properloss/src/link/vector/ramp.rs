//! One class against the rest, along a monotone curve.

use super::floor::check_class;
use super::softmax::{check_classes, covariance};
use super::{VectorLink, log_sum_exp, softmax_into};
use crate::error::{Error, Result};
use crate::link::{InverseLink, Sigmoid};

/// A nondecreasing piecewise-affine `r` from `r(0) = 0` to `r(1) = 1`; pieces may be flat.
///
/// With `U' = r ∘ σ`, `U(-∞) = 0`: on a piece that starts at `u_i = σ⁻¹(p_i)` with slope `s_i`,
/// `U(u) = U(u_i) + r_i (u - u_i) + s_i D_B(u, u_i)`, `B` the softplus: no term is negative.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    p: Vec<f64>,
    r: Vec<f64>,
    /// `σ⁻¹(p_i)`.
    u: Vec<f64>,
    /// `U(u_i)`; the ends are not used.
    potential: Vec<f64>,
    /// `∫ (1 - r(σ(u))) du` from `u_i` on.
    above: Vec<f64>,
}

impl Ramp {
    /// From its knots `(p_i, r_i)`.
    pub fn new(p: Vec<f64>, r: Vec<f64>) -> Result<Self> {
        if p.len() != r.len() {
            let (length, other_length) = (p.len(), r.len());
            return Err(Error::LengthMismatch { what: "p", length, other: "r", other_length });
        }
        if p.len() < 2 {
            return Err(Error::TooShort { what: "p", length: p.len(), minimum: 2 });
        }
        let last = p.len() - 1;
        let ends = [("p", 0, p[0], 0.0), ("p", last, p[last], 1.0)];
        let values = [("r", 0, r[0], 0.0), ("r", last, r[last], 1.0)];
        for (what, index, value, wanted) in ends.into_iter().chain(values) {
            if value != wanted {
                let expected = if wanted == 0.0 { "0 at the start" } else { "1 at the end" };
                return Err(Error::ElementOutOfDomain { what, index, value, expected });
            }
        }
        for i in 1..=last {
            if p[i].is_nan() || p[i] <= p[i - 1] {
                let (previous, value) = (p[i - 1], p[i]);
                return Err(Error::NotIncreasing { what: "p", index: i, previous, value });
            }
            if r[i].is_nan() || r[i] < r[i - 1] {
                let (previous, value) = (r[i - 1], r[i]);
                return Err(Error::NotSorted { what: "r", index: i, previous, value });
            }
            if !((r[i] - r[i - 1]) / (p[i] - p[i - 1])).is_finite() {
                let expected = "far enough from the one before it for a finite slope";
                return Err(Error::ElementOutOfDomain {
                    what: "p",
                    index: i,
                    value: p[i],
                    expected,
                });
            }
        }
        let u = p.iter().map(|&p| Sigmoid.u_inverse(p)).collect();
        let (potential, above) = (vec![0.0; last + 1], vec![0.0; last + 1]);
        let mut ramp = Self { p, r, u, potential, above };
        for i in 1..last {
            ramp.potential[i] = ramp.potential_from(i - 1, ramp.u[i]);
        }
        for i in (1..last).rev() {
            ramp.above[i] = ramp.above_from(i, ramp.u[i]);
        }
        Ok(ramp)
    }

    /// 0 up to `a`, 1 from `b` on, straight between.
    pub fn between(a: f64, b: f64) -> Result<Self> {
        let (mut p, mut r) = (vec![a, b], vec![0.0, 1.0]);
        if a > 0.0 {
            p.insert(0, 0.0);
            r.insert(0, 0.0);
        }
        if b < 1.0 {
            p.push(1.0);
            r.push(1.0);
        }
        Self::new(p, r)
    }

    /// Abscissae of the knots, from 0 to 1.
    pub fn p(&self) -> &[f64] {
        &self.p
    }

    /// Values at the knots, from 0 to 1.
    pub fn r(&self) -> &[f64] {
        &self.r
    }

    fn piece(&self, u: f64) -> usize {
        self.u.partition_point(|&knot| knot <= u).clamp(1, self.u.len() - 1) - 1
    }

    fn slope(&self, i: usize) -> f64 {
        (self.r[i + 1] - self.r[i]) / (self.p[i + 1] - self.p[i])
    }

    /// `(r, 1 - r)` at `σ(u)`, neither by cancellation.
    pub fn at(&self, u: f64) -> (f64, f64) {
        let i = self.piece(u);
        let (low, high) = (Sigmoid.u(u), Sigmoid.one_minus_u(u));
        let from_left = self.slope(i) * (low - self.p[i]);
        // To the right end of the piece, from 1 - σ where that is the smaller number.
        let gap =
            if self.p[i + 1] > 0.5 { high - (1.0 - self.p[i + 1]) } else { self.p[i + 1] - low };
        let r = (self.r[i] + from_left).clamp(0.0, 1.0);
        let rest = ((1.0 - self.r[i + 1]) + self.slope(i) * gap).clamp(0.0, 1.0);
        (r, rest)
    }

    /// `d r(σ(u)) / du`.
    pub fn derivative(&self, u: f64) -> f64 {
        self.slope(self.piece(u)) * Sigmoid.derivative(u)
    }

    /// `U(u)`.
    pub fn potential(&self, u: f64) -> f64 {
        self.potential_from(self.piece(u), u)
    }

    fn potential_from(&self, i: usize, u: f64) -> f64 {
        let s = self.slope(i);
        if i == 0 {
            return s * Sigmoid.potential(u);
        }
        let line = self.r[i] * (u - self.u[i]);
        self.potential[i] + line + s * Sigmoid.divergence(u, self.u[i])
    }

    /// `∫_u^∞ (1 - r ∘ σ)`, from the right end of its piece.
    fn above_from(&self, i: usize, u: f64) -> f64 {
        let s = self.slope(i);
        if i + 2 == self.u.len() {
            return s * Sigmoid.upper_potential(u);
        }
        let right = self.u[i + 1];
        let line = (1.0 - self.r[i + 1]) * (right - u);
        self.above[i + 1] + line + s * Sigmoid.divergence(u, right)
    }

    /// `U*(1) = sup_u u - U(u) = ∫ (1 - r ∘ σ) - U` at any `u`.
    fn conjugate_of_one(&self) -> f64 {
        if self.u.len() == 2 {
            return 0.0;
        }
        self.u[1] - self.potential[1] + self.above[1]
    }
}

/// `q_k = r(p_k)`, `q_j = (1 - r(p_k)) p_j / (1 - p_k)` with `p = softmax(z)`: the gradient of
/// `F = s + U(z_k - s)`, `s = log Σ_{j≠k} e^{z_j}`, `U' = r ∘ σ`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassRamp {
    classes: usize,
    class: usize,
    ramp: Ramp,
}

impl ClassRamp {
    /// `ramp` along class `class` of `classes`.
    pub fn new(classes: usize, class: usize, ramp: Ramp) -> Result<Self> {
        check_classes(classes)?;
        check_class(class, classes)?;
        Ok(Self { classes, class, ramp })
    }

    /// `k`.
    pub fn class(&self) -> usize {
        self.class
    }

    /// `r`.
    pub fn ramp(&self) -> &Ramp {
        &self.ramp
    }

    /// `s`, the joint score of the other classes.
    fn rest(&self, z: &[f64]) -> f64 {
        assert_eq!(z.len(), self.classes, "one score a class");
        let k = self.class;
        log_sum_exp(z.iter().enumerate().filter(move |(j, _)| *j != k).map(|(_, z)| *z))
    }

    /// The softmax of the other classes; 0 at `k`.
    fn others(&self, z: &[f64]) -> Vec<f64> {
        let mut masked = z.to_vec();
        masked[self.class] = f64::NEG_INFINITY;
        let mut p = vec![0.0; z.len()];
        softmax_into(1.0, &masked, &mut p);
        p
    }
}

impl VectorLink for ClassRamp {
    fn classes(&self) -> usize {
        self.classes
    }

    fn probabilities(&self, z: &[f64], p: &mut [f64]) {
        let (r, rest) = self.ramp.at(z[self.class] - self.rest(z));
        for (p, q) in p.iter_mut().zip(self.others(z)) {
            *p = rest * q;
        }
        p[self.class] = r;
    }

    fn potential(&self, z: &[f64]) -> f64 {
        let s = self.rest(z);
        s + self.ramp.potential(z[self.class] - s)
    }

    /// `(1 - r) (diag(π) - π π') + (r ∘ σ)' (e_k - π)(e_k - π)'`, `π` the softmax of the others.
    fn jacobian(&self, z: &[f64], jacobian: &mut [f64]) {
        let u = z[self.class] - self.rest(z);
        let (_, rest) = self.ramp.at(u);
        let slope = self.ramp.derivative(u);
        let mut direction = self.others(z);
        covariance(rest, &direction, jacobian);
        direction[self.class] = -1.0;
        for i in 0..self.classes {
            for j in 0..self.classes {
                jacobian[i * self.classes + j] += slope * direction[i] * direction[j];
            }
        }
    }

    /// `U*(1)` for class `k`; for another class `z_y - s <= 0` and `U >= 0`, both reached: 0.
    fn vertex_conjugate(&self, class: usize) -> f64 {
        if class == self.class { self.ramp.conjugate_of_one() } else { 0.0 }
    }

    /// The least of `r/p` and `(1 - r)/(1 - p)`, at a knot or in the slopes at the ends.
    fn softmax_share(&self) -> f64 {
        let (p, r) = (&self.ramp.p, &self.ramp.r);
        let last = p.len() - 1;
        let ends = [self.ramp.slope(0), self.ramp.slope(last - 1)];
        let inner = (1..last).map(|i| (r[i] / p[i]).min((1.0 - r[i]) / (1.0 - p[i])));
        ends.into_iter().chain(inner).fold(1.0, f64::min)
    }
}
