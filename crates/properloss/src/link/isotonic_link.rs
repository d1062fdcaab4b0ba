//! A link with flat pieces, as plain isotonic regression makes them.

use super::{InverseLink, LinkSpec, is_probability};
use crate::error::{Error, Result, finite, require_at, same_length};

/// A nondecreasing piecewise-affine inverse link from 0 to 1: [`super::PiecewiseLink`] without the
/// lower slope bound.
///
/// *Invariant*: at least two knots, scores finite and strictly increasing, probabilities
/// nondecreasing, the first 0 and the last 1. On a flat piece distinct scores share a probability,
/// so the link has no inverse there and its loss, though proper, is not strictly proper. It is what
/// SLIsotron learns; the other trainers keep slopes positive.
#[derive(Debug, Clone, PartialEq)]
pub struct IsotonicLink {
    z: Vec<f64>,
    u: Vec<f64>,
    /// `∫_{z_0}^{z_k} u`.
    below: Vec<f64>,
    /// `∫_{z_k}^{z_K} (1 - u)`.
    above: Vec<f64>,
}

impl IsotonicLink {
    /// From scores, strictly increasing, and probabilities, nondecreasing from 0 to 1.
    pub fn new(z: Vec<f64>, u: Vec<f64>) -> Result<Self> {
        same_length(("z", z.len()), ("u", u.len()))?;
        if z.len() < 2 {
            return Err(Error::TooShort { what: "z", length: z.len(), minimum: 2 });
        }
        for (what, values) in [("z", &z), ("u", &u)] {
            finite(what, values)?;
        }
        for index in 1..z.len() {
            let (previous, value) = (z[index - 1], z[index]);
            if value <= previous {
                return Err(Error::NotIncreasing { what: "z", index, previous, value });
            }
            if u[index] < u[index - 1] {
                return Err(Error::ElementOutOfDomain {
                    what: "u",
                    index,
                    value: u[index],
                    expected: "at least the value before it",
                });
            }
        }
        let last = z.len() - 1;
        require_at("u", 0, u[0], "0 at the first knot", u[0] == 0.0)?;
        require_at("u", last, u[last], "1 at the last knot", u[last] == 1.0)?;
        let extent = z[last] - z[0];
        require_at("z", last, z[last], "at a finite distance from the first", extent.is_finite())?;
        let mut below = vec![0.0; z.len()];
        for k in 0..last {
            below[k + 1] = below[k] + 0.5 * (u[k] + u[k + 1]) * (z[k + 1] - z[k]);
        }
        let mut above = vec![0.0; z.len()];
        for k in (0..last).rev() {
            let mean = 0.5 * ((1.0 - u[k]) + (1.0 - u[k + 1]));
            above[k] = above[k + 1] + mean * (z[k + 1] - z[k]);
        }
        Ok(Self { z, u, below, above })
    }

    /// Scores of the knots.
    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// Probabilities at the knots.
    pub fn values(&self) -> &[f64] {
        &self.u
    }

    /// The piece `k` with `z_k <= z < z_{k+1}`, for `z` inside the support.
    fn piece(&self, z: f64) -> usize {
        self.z.partition_point(|&knot| knot <= z).clamp(1, self.z.len() - 1) - 1
    }

    fn slope(&self, k: usize) -> f64 {
        (self.u[k + 1] - self.u[k]) / (self.z[k + 1] - self.z[k])
    }
}

impl InverseLink for IsotonicLink {
    fn u(&self, z: f64) -> f64 {
        let (z_min, z_max) = self.support();
        if z <= z_min {
            return 0.0;
        }
        if z >= z_max {
            return 1.0;
        }
        // NaN comes through: every difference with it is NaN.
        let k = self.piece(z);
        let slope = self.slope(k);
        // Between scores that are next to each other near 0 the slope overflows, and 0 times it is
        // no number; the share of the way is one.
        let rise = if slope.is_finite() {
            slope * (z - self.z[k])
        } else {
            (self.u[k + 1] - self.u[k]) * ((z - self.z[k]) / (self.z[k + 1] - self.z[k]))
        };
        (self.u[k] + rise).clamp(self.u[k], self.u[k + 1])
    }

    fn derivative(&self, z: f64) -> f64 {
        let (z_min, z_max) = self.support();
        if z < z_min || z >= z_max { 0.0 } else { self.slope(self.piece(z)) }
    }

    /// The least score at which `u` reaches `p`.
    fn u_inverse(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        let k = self.u.partition_point(|&value| value < p);
        if k == 0 {
            return self.z[0];
        }
        // u_{k-1} < p <= u_k, so the piece is not flat.
        let z = self.z[k - 1] + (p - self.u[k - 1]) / self.slope(k - 1);
        z.clamp(self.z[k - 1], self.z[k])
    }

    fn potential(&self, z: f64) -> f64 {
        let (z_min, z_max) = self.support();
        if z <= z_min {
            return 0.0;
        }
        if z >= z_max {
            return self.below[self.z.len() - 1] + (z - z_max);
        }
        let k = self.piece(z);
        self.below[k] + 0.5 * (z - self.z[k]) * (self.u[k] + self.u(z))
    }

    // On a flat piece p z - U(z) does not depend on z, so any score with u(z) = p will do.
    fn conjugate(&self, p: f64) -> f64 {
        let z = self.u_inverse(p);
        p * z - self.potential(z)
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::Isotonic { z: self.z.clone(), u: self.u.clone() }
    }

    fn upper_potential(&self, z: f64) -> f64 {
        let (z_min, z_max) = self.support();
        if z >= z_max {
            return 0.0;
        }
        if z <= z_min {
            return self.above[0] + (z_min - z);
        }
        let k = self.piece(z);
        let mean = 0.5 * ((1.0 - self.u[k + 1]) + (1.0 - self.u(z)));
        self.above[k + 1] + (self.z[k + 1] - z) * mean
    }

    fn support(&self) -> (f64, f64) {
        (self.z[0], self.z[self.z.len() - 1])
    }

    /// By its definition: the closed forms of a strictly increasing link do not apply.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        let (u, rest) = (self.u(b), self.potential(a) - self.potential(b));
        (rest - (a - b) * u).max(0.0)
    }

    fn conjugate_divergence(&self, p: f64, q: f64) -> f64 {
        self.divergence(self.u_inverse(q), self.u_inverse(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // u: 0 at -1, 1/4 from 0 to 2, 1 at 3.
    fn steps() -> IsotonicLink {
        IsotonicLink::new(vec![-1.0, 0.0, 2.0, 3.0], vec![0.0, 0.25, 0.25, 1.0]).unwrap()
    }

    #[test]
    fn values_integrals_and_generalised_inverse() {
        let link = steps();
        assert_eq!(
            [link.u(-2.0), link.u(-0.5), link.u(1.0), link.u(2.5), link.u(9.0)],
            [0.0, 0.125, 0.25, 0.625, 1.0]
        );
        // 1/8 + 2/4 + 5/8 up to z = 3.
        assert_eq!(link.potential(3.0), 1.25);
        assert_eq!(link.potential(1.0), 0.375);
        // 7/8 + 6/4 + 3/8 from z = -1.
        assert_eq!(link.upper_potential(-1.0), 2.75);
        assert_eq!(link.upper_potential(1.0), 1.125);
        assert_eq!(link.u_inverse(0.25), 0.0);
        assert_eq!(link.conjugate(0.25), 0.25 * 2.0 - link.potential(2.0));
        // U(z) - z + U*(1) = ∫_z^∞ (1 - u)
        let z = 0.7;
        assert!(
            (link.potential(z) - z + link.conjugate(1.0) - link.upper_potential(z)).abs() < 1e-15
        );
    }

    #[test]
    fn divergences_over_a_flat_piece() {
        let link = steps();
        // ∫_b^a (u - u(b)): over the flat piece nothing, then a triangle of 1 by 3/4.
        assert_eq!(link.divergence(2.0, 0.0), 0.0);
        assert_eq!(link.divergence(3.0, 1.0), 0.375);
        assert_eq!(link.divergence(1.0, 3.0), 1.125);
        assert_eq!(link.divergence(-1.0, 1.0), 0.125 + 0.0);
        assert_eq!(link.conjugate_divergence(0.25, 1.0), link.divergence(3.0, 0.0));
        assert_eq!(link.conjugate_divergence(0.125, 0.25), link.divergence(0.0, -0.5));
        assert_eq!(
            [link.derivative(-0.5), link.derivative(1.0), link.derivative(2.0)],
            [0.25, 0.0, 0.75]
        );
        assert_eq!([link.derivative(-1.5), link.derivative(3.0)], [0.0, 0.0]);
        assert_eq!(
            [
                link.u_inverse(0.0),
                link.u_inverse(0.125),
                link.u_inverse(0.625),
                link.u_inverse(1.0)
            ],
            [-1.0, -0.5, 2.5, 3.0]
        );
        assert_eq!(
            (link.z(), link.values()),
            (&[-1.0, 0.0, 2.0, 3.0][..], &[0.0, 0.25, 0.25, 1.0][..])
        );
    }

    #[test]
    fn a_step_narrower_than_its_slope_can_say() {
        // 2^-1026: half of it is a number too, and 0.5 / 2^-1026 is none.
        let narrow = f64::MIN_POSITIVE / 16.0;
        let link = IsotonicLink::new(vec![-1.0, 0.0, narrow], vec![0.0, 0.5, 1.0]).unwrap();
        assert_eq!([link.u(0.0), link.u(narrow / 2.0), link.u(narrow)], [0.5, 0.75, 1.0]);
        assert!([0.25, 0.5, 0.75].iter().all(|&p| link.conjugate(p).is_finite()));
        let wide = IsotonicLink::new(vec![-1.7e308, 1.7e308], vec![0.0, 1.0]);
        assert!(wide.is_err());
    }

    #[test]
    fn bad_knots_are_refused() {
        let bad = [
            (vec![0.0], vec![0.0]),
            (vec![0.0, 1.0], vec![0.0]),
            (vec![0.0, f64::NAN], vec![0.0, 1.0]),
            (vec![0.0, 0.0], vec![0.0, 1.0]),
            (vec![0.0, 1.0], vec![0.1, 1.0]),
            (vec![0.0, 1.0], vec![0.0, 0.9]),
            (vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 0.5, 0.4, 1.0]),
        ];
        for (z, u) in bad {
            assert!(IsotonicLink::new(z.clone(), u.clone()).is_err(), "{z:?} {u:?}");
        }
    }
}
