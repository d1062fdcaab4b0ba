//! Inverse links `u`: from a score to a probability, with everything a proper loss needs of them.
//!
//! One file per link. A link that is listed in [`registry`] can be named by model files and by the
//! command line, and runs the whole test battery without a new test being written.

/// What `u(-z) = 1 - u(z)` gives a link: the other side without cancellation, and its potential if asked for.
macro_rules! symmetric {
    () => {
        fn one_minus_u(&self, z: f64) -> f64 {
            self.u(-z)
        }

        fn u_inverse_of_complement(&self, q: f64) -> f64 {
            -self.u_inverse(q)
        }
    };
    (upper_potential) => {
        symmetric!();

        fn upper_potential(&self, z: f64) -> f64 {
            self.potential(-z)
        }
    };
}

mod cauchy;
mod clipped_line;
mod cloglog;
mod isotonic_link;
mod loglog;
mod matsushita;
mod piecewise_link;
mod probit;
mod registry;
mod relative;
mod sigmoid;
mod spec;
pub mod vector;

pub use cauchy::Cauchy;
pub use clipped_line::ClippedLine;
pub use cloglog::Cloglog;
pub use isotonic_link::IsotonicLink;
pub use loglog::Loglog;
pub use matsushita::Matsushita;
pub use piecewise_link::PiecewiseLink;
pub use probit::Probit;
pub use registry::{LinkEntry, Parameter, by_name, registry};
pub use relative::RelativeLink;
pub use sigmoid::Sigmoid;
pub use spec::LinkSpec;

use crate::bregman;

/// An inverse link `u`: nondecreasing from 0 to 1, strictly increasing where it is strictly inside.
///
/// With `u` come its potential `U(z) = ∫_{-∞}^z u` and the conjugate `U*`, whose derivative is
/// `u⁻¹`. Both are normalised so that `U*(0) = 0`.
///
/// Where `u` tends to 0 or 1 too slowly (or not at all) that integral diverges: then `U*(0)` and
/// `U*(1)` are `+∞`, `U` is normalised by `U(0) = 0` instead, [`Self::upper_potential`] is `+∞`,
/// and the link has no canonical loss ([`crate::loss::CanonicalLoss::new`] says so), while every
/// divergence between interior points is finite and exact. Of the built-in links that is
/// [`Cauchy`] alone.
///
/// The first five methods are the whole interface; the others have defaults, which a link overrides
/// where it has a more exact form.
pub trait InverseLink: std::fmt::Debug + Send + Sync {
    /// `u(z)`, in `[0, 1]`.
    fn u(&self, z: f64) -> f64;

    /// `u'(z)`; at a kink, the slope of the piece to the right.
    fn derivative(&self, z: f64) -> f64;

    /// `u⁻¹(p)` for `p` in `[0, 1]`; infinite at 0 or 1 where `u` only tends to them. NaN elsewhere.
    fn u_inverse(&self, p: f64) -> f64;

    /// `U(z) = ∫_{-∞}^z u(s) ds`.
    fn potential(&self, z: f64) -> f64;

    /// `U*(p) = p u⁻¹(p) - U(u⁻¹(p))`, for `p` in `[0, 1]`. NaN elsewhere.
    fn conjugate(&self, p: f64) -> f64;

    /// What is needed to build this link again: what a model file stores.
    ///
    /// The default names a link that no file can name: a model with it can be used, not stored.
    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("custom")
    }

    /// `1 - u(z)`, without cancellation where `u` is near 1.
    fn one_minus_u(&self, z: f64) -> f64 {
        1.0 - self.u(z)
    }

    /// `u⁻¹(1 - q)`, exact where `q` is too small for `1 - q`.
    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        self.u_inverse(1.0 - q)
    }

    /// `∫_z^∞ (1 - u(s)) ds = U(z) - z + U*(1)`: what a positive at score `z` loses.
    fn upper_potential(&self, z: f64) -> f64 {
        self.potential(z) - z + self.conjugate(1.0)
    }

    /// `(z_min, z_max)`: where `u` leaves 0 and reaches 1; infinite if it does so only in the limit.
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// `D_U(a, b) = U(a) - U(b) - (a - b) u(b)`, without cancellation.
    ///
    /// The default presumes that `u` is smooth and varies on the scale 1.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        bregman::smooth_divergence(self, a, b, 0.125)
    }

    /// `D_{U*}(p, q) = U*(p) - U*(q) - (p - q) u⁻¹(q)`, without cancellation.
    ///
    /// The default presumes that `u` is smooth.
    fn conjugate_divergence(&self, p: f64, q: f64) -> f64 {
        bregman::smooth_conjugate_divergence(self, p, q)
    }

    /// `u` of many scores. The default calls [`Self::u`] on each.
    ///
    /// Writes as many values as the shorter of the two slices holds.
    fn u_into(&self, z: &[f64], out: &mut [f64]) {
        for (value, &z) in out.iter_mut().zip(z) {
            *value = self.u(z);
        }
    }

    /// The knots, if this link is piecewise affine; what lets a solver take its exact path.
    fn as_piecewise(&self) -> Option<&PiecewiseLink> {
        None
    }
}

/// `p` is a probability (NaN is not).
pub(crate) fn is_probability(p: f64) -> bool {
    (0.0..=1.0).contains(&p)
}
