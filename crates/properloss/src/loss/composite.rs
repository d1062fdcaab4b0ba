//! A proper loss composed with any invertible link.

use std::sync::Arc;

use super::generator::{Generator, LinkGenerator};
use super::{CanonicalLoss, PartialLosses};
use crate::link::InverseLink;

/// A proper loss, given by its Bregman generator `F`, with an inverse link `g`:
/// `ℓ(y, z) = D_F(y, g(z))` (the paper's Theorem 1, first line).
///
/// With `F = U*` of a link `u` this is `D_U(u⁻¹(g(z)), u⁻¹(y))` (second line), and with `g = u` the
/// canonical loss. Log-loss with another link is the likelihood of that generalised linear model:
///
/// ```
/// use std::sync::Arc;
/// use properloss::{link::{Probit, Sigmoid}, loss::{CanonicalLoss, CompositeLoss}};
/// let log_loss = CanonicalLoss::new(Arc::new(Sigmoid))?;
/// let probit_regression = CompositeLoss::new(&log_loss, Arc::new(Probit));
/// assert!((probit_regression.loss(1.0, 0.0) - 2f64.ln()).abs() < 1e-15);
/// # Ok::<(), properloss::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CompositeLoss {
    generator: Arc<dyn Generator>,
    link: Arc<dyn InverseLink>,
}

impl CompositeLoss {
    /// The proper loss of `loss`, its canonical link replaced by `link`.
    pub fn new(loss: &CanonicalLoss, link: Arc<dyn InverseLink>) -> Self {
        Self::from_generator(Arc::new(LinkGenerator(loss.link().clone())), link)
    }

    /// The paper's Theorem 1, from right to left: a Bregman generator and a link make a proper composite loss.
    pub fn from_generator(generator: Arc<dyn Generator>, link: Arc<dyn InverseLink>) -> Self {
        Self { generator, link }
    }

    /// The paper's Theorem 1, from left to right: the generator of the loss.
    pub fn generator(&self) -> &Arc<dyn Generator> {
        &self.generator
    }

    /// The inverse link `g`.
    pub fn link(&self) -> &Arc<dyn InverseLink> {
        &self.link
    }

    /// `ℓ(y, z) = D_F(y, g(z))`. Infinite where `g(z)` or `1 - g(z)` is zero in f64.
    pub fn loss(&self, y: f64, z: f64) -> f64 {
        self.generator.label_divergence(y, self.link.u(z), self.link.one_minus_u(z))
    }

    /// `∂ℓ/∂z = w(p) (p - y) g'(z)` with `p = g(z)` and `w = F''`.
    pub fn gradient(&self, y: f64, z: f64) -> f64 {
        let p = self.link.u(z);
        let residual = if y == 1.0 { -self.link.one_minus_u(z) } else { p - y };
        if residual == 0.0 {
            return 0.0;
        }
        self.generator.weight(p) * residual * self.link.derivative(z)
    }

    /// The expectation of `∂²ℓ/∂z²` over `y` of rate `g(z)`, `w(p) g'(z)²`: positive, unlike the
    /// second derivative itself, and what Fisher scoring uses.
    pub fn expected_curvature(&self, z: f64) -> f64 {
        let slope = self.link.derivative(z);
        if slope == 0.0 { 0.0 } else { self.generator.weight(self.link.u(z)) * slope * slope }
    }

    /// `ℓ_y(p) = D_F(y, p)`.
    pub fn partial_loss(&self, y: f64, p: f64) -> f64 {
        self.generator.label_divergence(y, p, 1.0 - p)
    }

    /// The two partial losses as functions of a probability.
    pub fn partial_losses(&self) -> PartialLosses<'_> {
        PartialLosses::new(|p| self.partial_loss(0.0, p), |p| self.partial_loss(1.0, p))
    }
}
