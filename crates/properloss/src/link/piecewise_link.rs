//! The learned link, Definition 2 of the paper: piecewise affine from `(z_min, 0)` to `(z_max, 1)`.

use std::sync::OnceLock;

use super::{InverseLink, LinkSpec, is_probability};
use crate::error::{Result, require_at};
use crate::piecewise::{PiecewiseAffine, excess_area};
use crate::special::Double;

/// A strictly increasing piecewise-affine inverse link, `u(z_min) = 0`, `u(z_max) = 1`.
///
/// *Invariant*: the first ordinate is exactly 0 and the last exactly 1. `U` and `U*` are piecewise
/// quadratic and are evaluated from their exact values at the knots: prefix sums of positive terms,
/// in double-double, so that differences of them are exact too. The sums are taken when one of them
/// is first asked for: a trainer makes a link an iteration and needs only its knots.
#[derive(Debug, Clone)]
pub struct PiecewiseLink {
    knots: PiecewiseAffine,
    integrals: OnceLock<Integrals>,
}

/// The integrals of a link up to its knots, and from them on.
#[derive(Debug, Clone)]
struct Integrals {
    /// `CU_k = ∫_{z_min}^{z_k} u`.
    below: Vec<Double>,
    /// `∫_{z_k}^{z_max} (1 - u)`.
    above: Vec<f64>,
}

impl PartialEq for PiecewiseLink {
    fn eq(&self, other: &Self) -> bool {
        self.knots == other.knots
    }
}

impl PiecewiseLink {
    /// From the knots of a [`PiecewiseAffine`] that runs from 0 to 1.
    pub fn new(knots: PiecewiseAffine) -> Result<Self> {
        let u = knots.y();
        let last = u.len() - 1;
        require_at("u", 0, u[0], "0, the value of an inverse link at z_min", u[0] == 0.0)?;
        require_at("u", last, u[last], "1, the value of an inverse link at z_max", u[last] == 1.0)?;
        Ok(Self { knots, integrals: OnceLock::new() })
    }

    /// From scores and probabilities, both strictly increasing, the latter from 0 to 1.
    pub fn from_knots(z: Vec<f64>, u: Vec<f64>) -> Result<Self> {
        Self::new(PiecewiseAffine::new(z, u)?)
    }

    /// The knots `(z_k, u_k)`.
    pub fn knots(&self) -> &PiecewiseAffine {
        &self.knots
    }

    /// `u` of scores in increasing order, by merging: O(m + K).
    pub fn u_sorted_into(&self, z: &[f64], out: &mut [f64]) -> Result<()> {
        self.knots.eval_sorted_into(z, out)
    }

    fn integrals(&self) -> &Integrals {
        self.integrals.get_or_init(|| Integrals::of(&self.knots))
    }

    /// `CU_k = ∫_{z_min}^{z_k} u`.
    fn below(&self, k: usize) -> Double {
        self.integrals().below[k]
    }

    /// `∫_{z_k}^{z_max} (1 - u)`.
    fn above(&self, k: usize) -> f64 {
        self.integrals().above[k]
    }

    /// `∫ u` between the knots `i < j`.
    fn integral_between(&self, i: usize, j: usize) -> Double {
        self.below(j).minus(self.below(i))
    }

    /// `∫ u⁻¹` between the values at the knots `i < j`: by parts, `z_j u_j - z_i u_i - ∫ u`.
    fn inverse_integral_between(&self, i: usize, j: usize) -> Double {
        let (z, u) = (self.knots.x(), self.knots.y());
        Double::product(z[j], u[j])
            .minus(Double::product(z[i], u[i]))
            .minus(self.integral_between(i, j))
    }

    /// `D_U(a, b)` for `a` and `b` in the support.
    fn divergence_inside(&self, a: f64, b: f64) -> f64 {
        let (z, u) = (self.knots.x(), self.knots.y());
        excess_area(z, u, a, b, |i, j| self.integral_between(i, j))
    }
}

impl Integrals {
    /// O(K).
    fn of(knots: &PiecewiseAffine) -> Self {
        let (z, u) = (knots.x(), knots.y());
        let last = u.len() - 1;
        // CU_{k+1} = CU_k + (u_k + u_{k+1})/2 dz_k, and from the right for 1 - u. Each trapezoid below
        // is exact as an unevaluated sum, and the errors of the additions are added up beside.
        let mut below = vec![Double::default(); z.len()];
        let mut sum = Double::default();
        for k in 0..last {
            let (mean, width) = (Double::sum(u[k], u[k + 1]), Double::sum(z[k + 1], -z[k]));
            let trapezoid = Double::product(0.5 * mean.hi, width.hi);
            let small = 0.5 * (mean.hi * width.lo + mean.lo * width.hi);
            let next = Double::sum(sum.hi, trapezoid.hi);
            sum = Double { hi: next.hi, lo: sum.lo + (next.lo + trapezoid.lo + small) };
            below[k + 1] = sum;
        }
        let mut above = vec![0.0; z.len()];
        let mut sum = Double::default();
        for k in (0..last).rev() {
            let mean = 0.5 * ((1.0 - u[k]) + (1.0 - u[k + 1]));
            let next = Double::sum(sum.hi, mean * (z[k + 1] - z[k]));
            sum = Double { hi: next.hi, lo: sum.lo + next.lo };
            above[k] = sum.value();
        }
        Self { below, above }
    }
}

impl InverseLink for PiecewiseLink {
    fn u(&self, z: f64) -> f64 {
        self.knots.eval(z)
    }

    fn derivative(&self, z: f64) -> f64 {
        self.knots.slope(z)
    }

    fn u_inverse(&self, p: f64) -> f64 {
        if is_probability(p) { self.knots.inverse(p) } else { f64::NAN }
    }

    // U(z) = CU_k + (z - z_k)(u_k + u(z))/2 inside a piece; linear with slope 1 beyond z_max.
    fn potential(&self, z: f64) -> f64 {
        let (x, u) = (self.knots.x(), self.knots.y());
        let last = x.len() - 1;
        if z.is_nan() {
            f64::NAN
        } else if z <= x[0] {
            0.0
        } else if z >= x[last] {
            self.below(last).value() + (z - x[last])
        } else {
            let k = self.knots.piece_at(z);
            self.below(k).value() + 0.5 * (z - x[k]) * (u[k] + self.u(z))
        }
    }

    // U*(p) = CG_k + (p - u_k)(z_k + u⁻¹(p))/2, with CG_k = z_k u_k - CU_k in double-double: at 0 it
    // is p (z_min + u⁻¹(p))/2, and no digits are lost where z u and U are large and near each other.
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        let (z, u) = (self.knots.x(), self.knots.y());
        let k = u.partition_point(|&knot| knot <= p).clamp(1, u.len() - 1) - 1;
        let at_knot = Double::product(z[k], u[k]).minus(self.below(k));
        let mean = Double::sum(z[k], self.u_inverse(p)).scaled(0.5);
        at_knot.plus(Double::sum(p, -u[k]).times(mean)).value()
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::Piecewise { z: self.knots.x().to_vec(), u: self.knots.y().to_vec() }
    }

    // The same interpolation on 1 - u_k, anchored at the right knot where 1 - u is smallest.
    fn one_minus_u(&self, z: f64) -> f64 {
        let (x, u) = (self.knots.x(), self.knots.y());
        let last = x.len() - 1;
        if z.is_nan() {
            f64::NAN
        } else if z <= x[0] {
            1.0
        } else if z >= x[last] {
            0.0
        } else {
            let k = self.knots.piece_at(z);
            let rise = (u[k + 1] - u[k]) * ((x[k + 1] - z) / (x[k + 1] - x[k]));
            ((1.0 - u[k + 1]) + rise).min(1.0 - u[k])
        }
    }

    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        if !is_probability(q) {
            return f64::NAN;
        }
        let (x, u) = (self.knots.x(), self.knots.y());
        let k = u.partition_point(|&knot| 1.0 - knot >= q).clamp(1, u.len() - 1) - 1;
        let share = (q - (1.0 - u[k + 1])) / (u[k + 1] - u[k]);
        (x[k + 1] - share * (x[k + 1] - x[k])).clamp(x[k], x[k + 1])
    }

    fn upper_potential(&self, z: f64) -> f64 {
        let (x, u) = (self.knots.x(), self.knots.y());
        let last = x.len() - 1;
        if z.is_nan() {
            f64::NAN
        } else if z >= x[last] {
            0.0
        } else if z <= x[0] {
            self.above(0) + (x[0] - z)
        } else {
            let k = self.knots.piece_at(z);
            let mean = 0.5 * ((1.0 - u[k + 1]) + self.one_minus_u(z));
            self.above(k + 1) + (x[k + 1] - z) * mean
        }
    }

    fn support(&self) -> (f64, f64) {
        let x = self.knots.x();
        (x[0], x[x.len() - 1])
    }

    // Beyond the support u is 0 or 1: from b there, a potential; to a there, a rectangle more.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        let (z_min, z_max) = self.support();
        if b <= z_min {
            self.potential(a)
        } else if b >= z_max {
            self.upper_potential(a)
        } else if a < z_min {
            self.divergence_inside(z_min, b) + (z_min - a) * self.u(b)
        } else if a > z_max {
            self.divergence_inside(z_max, b) + (a - z_max) * self.one_minus_u(b)
        } else {
            self.divergence_inside(a, b)
        }
    }

    fn conjugate_divergence(&self, p: f64, q: f64) -> f64 {
        if !(is_probability(p) && is_probability(q)) {
            return f64::NAN;
        }
        let (z, u) = (self.knots.x(), self.knots.y());
        excess_area(u, z, p, q, |i, j| self.inverse_integral_between(i, j))
    }

    fn as_piecewise(&self) -> Option<&PiecewiseLink> {
        Some(self)
    }
}
