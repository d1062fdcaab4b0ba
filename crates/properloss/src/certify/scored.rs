//! Scores with their labels and weights: the losses of the analysis.

use crate::error::{Error, Result, binary_labels, row_weights, same_length, total_weight};
use crate::link::{InverseLink, PiecewiseLink};
use crate::special::Sum;

/// Scores `z_i = w·x_i` with labels `y_i` and weights (none: all equal), in any order.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    z: &'a [f64],
    y: &'a [u8],
    weights: Option<&'a [f64]>,
    total: f64,
}

impl<'a> Scored<'a> {
    /// Checks lengths, labels and weights once.
    pub fn new(z: &'a [f64], y: &'a [u8], weights: Option<&'a [f64]>) -> Result<Self> {
        if z.is_empty() {
            return Err(Error::TooShort { what: "z", length: 0, minimum: 1 });
        }
        same_length(("z", z.len()), ("labels", y.len()))?;
        binary_labels(y)?;
        let total = match weights {
            None => z.len() as f64,
            Some(weights) => {
                same_length(("z", z.len()), ("weights", weights.len()))?;
                row_weights(weights)?;
                let mut total = Sum::default();
                weights.iter().for_each(|&weight| total.add(weight));
                total.value()
            }
        };
        total_weight(total)?;
        Ok(Self { z, y, weights, total })
    }

    /// The same examples at other scores.
    pub fn with_scores(self, z: &'a [f64]) -> Result<Self> {
        same_length(("z", z.len()), ("y", self.y.len()))?;
        Ok(Self { z, ..self })
    }

    /// The scores.
    pub fn z(&self) -> &'a [f64] {
        self.z
    }

    /// The labels, 0 or 1.
    pub fn y(&self) -> &'a [u8] {
        self.y
    }

    /// The weight of example `i`, before normalisation.
    #[inline]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// Sum of the weights.
    pub fn total_weight(&self) -> f64 {
        self.total
    }

    /// `E[value_i]`, the weighted mean.
    pub fn mean(&self, mut value: impl FnMut(usize) -> f64) -> f64 {
        let mut sum = Sum::default();
        for i in 0..self.z.len() {
            sum.add(self.weight(i) * value(i));
        }
        sum.value() / self.total
    }

    /// `π = E[y]`.
    pub fn base_rate(&self) -> f64 {
        self.mean(|i| f64::from(self.y[i]))
    }

    /// `ℓ_u(w) = E[(1-y) ∫_{-∞}^z u + y ∫_z^∞ (1-u)]`: a mean of nonnegative terms, equal to
    /// `E[U(z) + U*(y) - y z]`.
    pub fn loss(&self, u: &dyn InverseLink) -> f64 {
        self.mean(|i| {
            if self.y[i] == 0 { u.potential(self.z[i]) } else { u.upper_potential(self.z[i]) }
        })
    }

    /// The mixed loss `ℓ^r_t(S, w_{t'}) = E[D_{U_r*}(y ‖ u_t(w_{t'}·x))]`, the scores being those
    /// of `w_{t'}`. With `h = u_r⁻¹(u_t(z))` it is `E[(1-y) ∫_{-∞}^h u_r + y ∫_h^∞ (1-u_r)]`.
    ///
    /// For `r = t` it is [`loss`](Self::loss) if every score is in the range of `u_t`, and less if not.
    pub fn mixed_loss(&self, u_r: &PiecewiseLink, u_t: &PiecewiseLink) -> f64 {
        self.mean(|i| {
            let h = u_r.u_inverse(u_t.u(self.z[i]));
            if self.y[i] == 0 { u_r.potential(h) } else { u_r.upper_potential(h) }
        })
    }

    /// Whether every score lies in `[z_min, z_max]` of the link.
    pub fn in_range(&self, u: &PiecewiseLink) -> bool {
        let (z_min, z_max) = u.support();
        self.z.iter().all(|z| (z_min..=z_max).contains(z))
    }
}
