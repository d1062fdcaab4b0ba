//! Links for several classes: from `K` scores to `K` probabilities.
//!
//! A link is *canonical* when it is the gradient of a convex potential,
//!
//! ```text
//! p(z) = grad F(z),    F convex,    F(z + c 1) = F(z) + c        (so the probabilities sum to 1)
//! ```
//!
//! because then `F(z) + F*(e_y) - z_y` is a proper loss of the scores, convex in them. Everything
//! here is canonical by construction: the softmax at any temperature, a constant (the floor), a
//! ramp of one class against the rest, and mixtures of these. A link that is listed in
//! [`vector_registry`] runs the whole test battery without a new test being written.

mod floor;
mod loss;
mod mixture;
mod ramp;
mod registry;
mod softmax;

pub use floor::Floor;
pub use loss::VectorLoss;
pub use mixture::Mixture;
pub use ramp::{ClassRamp, Ramp};
pub use registry::{VectorEntry, vector_registry};
pub use softmax::Softmax;

/// A canonical link of `K >= 2` classes.
///
/// # Panics
/// Every method panics if a slice is not as long as it has to be: `K` scores, `K` probabilities,
/// `K²` entries of a Jacobian.
pub trait VectorLink: std::fmt::Debug + Send + Sync {
    /// `K`.
    fn classes(&self) -> usize;

    /// `p = grad F(z)`.
    fn probabilities(&self, z: &[f64], p: &mut [f64]);

    /// `F(z)`.
    fn potential(&self, z: &[f64]) -> f64;

    /// The Hessian of `F`, row-major: symmetric, positive semidefinite, rows that sum to 0. At a
    /// kink, the slopes of the pieces to the right.
    fn jacobian(&self, z: &[f64], jacobian: &mut [f64]);

    /// `F*(e_y) = sup_z z_y - F(z)`; `+∞` where class `y` cannot reach probability 1.
    fn vertex_conjugate(&self, class: usize) -> f64;

    /// A lower bound of the share `1/τ` of the softmax: `p >= share · softmax(z)`.
    fn softmax_share(&self) -> f64;

    /// `-log p_y(z)` and its gradient in `z`, `-p_y'/p_y`: what a likelihood fit needs.
    fn log_loss(&self, z: &[f64], class: usize, gradient: &mut [f64]) -> f64 {
        let classes = self.classes();
        let mut p = vec![0.0; classes];
        let mut jacobian = vec![0.0; classes * classes];
        self.probabilities(z, &mut p);
        self.jacobian(z, &mut jacobian);
        for (g, j) in gradient.iter_mut().zip(&jacobian[class * classes..]) {
            *g = -j / p[class];
        }
        -p[class].ln()
    }
}

/// `log Σ e^{z_j}`, without overflow.
pub(crate) fn log_sum_exp(z: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = z.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + z.map(|z| (z - largest).exp()).sum::<f64>().ln()
}

/// `p = softmax(t z)`.
pub(crate) fn softmax_into(t: f64, z: &[f64], p: &mut [f64]) {
    let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (p, z) in p.iter_mut().zip(z) {
        *p = (t * (z - largest)).exp();
        sum += *p;
    }
    p.iter_mut().for_each(|p| *p /= sum);
}
