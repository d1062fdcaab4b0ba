//! The learned link of Definition 2: piecewise affine from `(z_min, 0)` to `(z_max, 1)`.

use super::InverseLink;
use crate::error::{Error, Result};
use crate::piecewise::PiecewiseAffine;

/// A strictly increasing piecewise-affine inverse link, `u(z_min) = 0`, `u(z_max) = 1`.
///
/// *Invariant*: the first ordinate is exactly 0 and the last exactly 1. `U` and `U*` are piecewise
/// quadratic and are evaluated from their exact values at the knots (prefix sums of positive terms).
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseLink {
    knots: PiecewiseAffine,
    /// `CU_k = ∫_{z_min}^{z_k} u`.
    potential_at_knots: Vec<f64>,
    /// `∫_{z_k}^{z_max} (1 - u)`.
    upper_potential_at_knots: Vec<f64>,
}

impl PiecewiseLink {
    /// From the knots of a [`PiecewiseAffine`] that runs from 0 to 1.
    pub fn new(knots: PiecewiseAffine) -> Result<Self> {
        let (z, u) = (knots.x(), knots.y());
        let last = u.len() - 1;
        if u[0] != 0.0 {
            return Err(Error::ElementOutOfDomain {
                what: "u",
                index: 0,
                value: u[0],
                expected: "0, the value of an inverse link at z_min",
            });
        }
        if u[last] != 1.0 {
            return Err(Error::ElementOutOfDomain {
                what: "u",
                index: last,
                value: u[last],
                expected: "1, the value of an inverse link at z_max",
            });
        }
        // CU_{k+1} = CU_k + (u_k + u_{k+1})/2 dz_k, and from the right for 1 - u.
        let mut below = vec![0.0; z.len()];
        for k in 0..last {
            below[k + 1] = below[k] + 0.5 * (u[k] + u[k + 1]) * (z[k + 1] - z[k]);
        }
        let mut above = vec![0.0; z.len()];
        for k in (0..last).rev() {
            let mean = 0.5 * ((1.0 - u[k]) + (1.0 - u[k + 1]));
            above[k] = above[k + 1] + mean * (z[k + 1] - z[k]);
        }
        Ok(Self { knots, potential_at_knots: below, upper_potential_at_knots: above })
    }

    /// The knots `(z_k, u_k)`.
    pub fn knots(&self) -> &PiecewiseAffine {
        &self.knots
    }

    /// Index of the piece that holds `z`, which lies inside the support.
    fn piece_of_score(&self, z: f64) -> usize {
        let knots = self.knots.x();
        knots.partition_point(|&knot| knot <= z).clamp(1, knots.len() - 1) - 1
    }
}

impl InverseLink for PiecewiseLink {
    fn u(&self, z: f64) -> f64 {
        self.knots.eval(z)
    }

    fn derivative(&self, z: f64) -> f64 {
        let (z_min, z_max) = self.support();
        if z < z_min || z >= z_max { 0.0 } else { self.knots.piece_slope(self.piece_of_score(z)) }
    }

    fn u_inverse(&self, p: f64) -> f64 {
        if (0.0..=1.0).contains(&p) { self.knots.inverse(p) } else { f64::NAN }
    }

    // U(z) = CU_k + (z - z_k)(u_k + u(z))/2 inside a piece; linear with slope 1 beyond z_max.
    fn potential(&self, z: f64) -> f64 {
        let (x, u) = (self.knots.x(), self.knots.y());
        let last = x.len() - 1;
        if z <= x[0] {
            return 0.0;
        }
        if z >= x[last] {
            return self.potential_at_knots[last] + (z - x[last]);
        }
        let k = self.piece_of_score(z);
        self.potential_at_knots[k] + 0.5 * (z - x[k]) * (u[k] + self.u(z))
    }

    fn conjugate(&self, p: f64) -> f64 {
        let z = self.u_inverse(p);
        p * z - self.potential(z)
    }

    fn upper_potential(&self, z: f64) -> f64 {
        let (x, u) = (self.knots.x(), self.knots.y());
        let last = x.len() - 1;
        if z >= x[last] {
            return 0.0;
        }
        if z <= x[0] {
            return self.upper_potential_at_knots[0] + (x[0] - z);
        }
        let k = self.piece_of_score(z);
        let mean = 0.5 * ((1.0 - u[k + 1]) + (1.0 - self.u(z)));
        self.upper_potential_at_knots[k + 1] + (x[k + 1] - z) * mean
    }

    fn support(&self) -> (f64, f64) {
        let x = self.knots.x();
        (x[0], x[x.len() - 1])
    }

    fn as_piecewise(&self) -> Option<&PiecewiseLink> {
        Some(self)
    }
}
