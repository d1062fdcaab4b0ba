//! The canonical loss of a link of several classes.

use super::VectorLink;
use crate::error::{Error, Result};

/// `ℓ(y, z) = F(z) + F*(e_y) - z_y`: proper, convex in `z`, not negative, with infimum 0.
///
/// *Invariant*: `F*(e_y)` is finite for every class (the constructor checks).
#[derive(Debug)]
pub struct VectorLoss<'a, L: VectorLink + ?Sized> {
    link: &'a L,
    vertices: Vec<f64>,
}

impl<'a, L: VectorLink + ?Sized> VectorLoss<'a, L> {
    /// The loss of `link`, or the error that it has no lower bound.
    pub fn new(link: &'a L) -> Result<Self> {
        let vertices: Vec<f64> = (0..link.classes()).map(|y| link.vertex_conjugate(y)).collect();
        match vertices.iter().position(|v| !v.is_finite()) {
            None => Ok(Self { link, vertices }),
            Some(class) => Err(Error::UnboundedVectorLoss { class }),
        }
    }

    /// `F(z) + F*(e_y) - z_y`.
    pub fn value(&self, class: usize, z: &[f64]) -> f64 {
        (self.link.potential(z) + self.vertices[class] - z[class]).max(0.0)
    }

    /// `p(z) - e_y`.
    pub fn gradient(&self, class: usize, z: &[f64], gradient: &mut [f64]) {
        self.link.probabilities(z, gradient);
        gradient[class] -= 1.0;
    }
}
