//! Convex functions on `[0, 1]` that generate proper losses (the paper's Theorem 1).

use std::sync::Arc;

use super::PartialLosses;
use crate::link::InverseLink;

/// A convex function `F` on `[0, 1]`, generator of the proper loss `ℓ_y(p) = D_F(y, p)`.
pub trait Generator: std::fmt::Debug + Send + Sync {
    /// `F(p)`.
    fn value(&self, p: f64) -> f64;

    /// `F'(p)`: the canonical link of the loss.
    fn derivative(&self, p: f64) -> f64;

    /// `F''(p)`: the weight function of the loss.
    fn weight(&self, p: f64) -> f64;

    /// `D_F(y, p)`, where `complement` is `1 - p` (exact where `p` is too near 1 to tell).
    fn label_divergence(&self, y: f64, p: f64, complement: f64) -> f64 {
        let step = if y == 1.0 { complement } else { y - p };
        if step == 0.0 {
            return 0.0;
        }
        self.value(y) - self.value(p) - step * self.derivative(p)
    }
}

/// `F = U*` of a link, with the link's exact divergence.
#[derive(Debug, Clone)]
pub struct LinkGenerator(pub Arc<dyn InverseLink>);

impl LinkGenerator {
    /// The canonical score `u⁻¹(p)`, from whichever of `p` and `1 - p` is small.
    pub fn canonical_score(&self, p: f64, complement: f64) -> f64 {
        if p <= 0.5 { self.0.u_inverse(p) } else { self.0.u_inverse_of_complement(complement) }
    }
}

impl Generator for LinkGenerator {
    fn value(&self, p: f64) -> f64 {
        self.0.conjugate(p)
    }

    fn derivative(&self, p: f64) -> f64 {
        self.0.u_inverse(p)
    }

    fn weight(&self, p: f64) -> f64 {
        1.0 / self.0.derivative(self.0.u_inverse(p))
    }

    // D_{U*}(y, p) = D_U(u⁻¹(p), u⁻¹(y)).
    fn label_divergence(&self, y: f64, p: f64, complement: f64) -> f64 {
        let z = self.canonical_score(p, complement);
        if y == 0.0 {
            self.0.potential(z)
        } else if y == 1.0 {
            self.0.upper_potential(z)
        } else {
            self.0.conjugate_divergence(y, p)
        }
    }
}

type Function = Box<dyn Fn(f64) -> f64 + Send + Sync>;

/// A generator given by functions.
pub struct ConvexGenerator {
    value: Function,
    derivative: Function,
    weight: Function,
}

impl std::fmt::Debug for ConvexGenerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConvexGenerator")
    }
}

impl ConvexGenerator {
    /// From `F`, `F'` and `F''`.
    pub fn new(
        value: impl Fn(f64) -> f64 + Send + Sync + 'static,
        derivative: impl Fn(f64) -> f64 + Send + Sync + 'static,
        weight: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { value: Box::new(value), derivative: Box::new(derivative), weight: Box::new(weight) }
    }

    /// The paper's Theorem 1, from left to right: the generator `F = -L` of a proper loss, `L` being its
    /// conditional Bayes risk `L(π) = π ℓ_1(π) + (1 - π) ℓ_0(π)`.
    ///
    /// Because the loss is proper, `π` minimises the expected loss at `π`, so the derivative needs
    /// no differentiation: `F'(π) = ℓ_0(π) - ℓ_1(π)`. Then `D_F(y, p) = ℓ_y(p) - ℓ_y(y)`. The weight
    /// `F''` is a central difference of `F'`.
    pub fn of_loss(losses: PartialLosses<'static>) -> Self {
        let losses = Arc::new(losses);
        let (l1, l2, l3) = (losses.clone(), losses.clone(), losses);
        let derivative = move |p: f64| l2.negative(p) - l2.positive(p);
        Self::new(
            move |p| -l1.risk(p, p),
            derivative,
            move |p| {
                // The step that balances truncation h² and rounding eps/h, relative to the room.
                let h = f64::EPSILON.cbrt() * p.min(1.0 - p);
                let slope = |at: f64| l3.negative(at) - l3.positive(at);
                (slope(p + h) - slope(p - h)) / (2.0 * h)
            },
        )
    }
}

impl Generator for ConvexGenerator {
    fn value(&self, p: f64) -> f64 {
        (self.value)(p)
    }

    fn derivative(&self, p: f64) -> f64 {
        (self.derivative)(p)
    }

    fn weight(&self, p: f64) -> f64 {
        (self.weight)(p)
    }
}
