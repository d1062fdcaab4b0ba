//! Inverse links `u`: from a score to a probability, with everything a proper loss needs of them.

mod piecewise_link;

pub use piecewise_link::PiecewiseLink;

/// An inverse link `u`: nondecreasing from 0 to 1, strictly increasing where it is strictly inside.
///
/// With `u` come its potential `U(z) = ∫_{-∞}^z u` and the conjugate `U*`, whose derivative is
/// `u⁻¹`. Both are normalised so that `U*(0) = 0`. The five required methods are the whole
/// interface; the others have defaults that a link overrides where it has a more exact form.
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

    /// `1 - u(z)`, without cancellation where `u` is near 1.
    fn one_minus_u(&self, z: f64) -> f64 {
        1.0 - self.u(z)
    }

    /// `∫_z^∞ (1 - u(s)) ds = U(z) - z + U*(1)`: what a positive at score `z` loses.
    fn upper_potential(&self, z: f64) -> f64 {
        self.potential(z) - z + self.conjugate(1.0)
    }

    /// `(z_min, z_max)`: where `u` leaves 0 and reaches 1; infinite if it does so only in the limit.
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The knots, if this link is piecewise affine; what lets a solver take its exact path.
    fn as_piecewise(&self) -> Option<&PiecewiseLink> {
        None
    }
}
