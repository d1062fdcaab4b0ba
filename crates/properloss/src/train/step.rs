//! The step size of Step 1.

use crate::error::{Error, Result};

/// How long the gradient step `w <- w + η (μ_y - μ_t)` is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// `η = 1`, the paper's choice; it presumes rows of norm at most 1.
    Paper,
    /// `η` given.
    Constant(f64),
    /// A safe step found from the data. Under a learned link of slopes at most `N` it is
    /// `1 / (N λ_max(E[x x']))`, for which the loss of the current link falls (Lemma 2 of the
    /// convergence notes). Under a fixed link it is a line search: twice the last step, halved
    /// until the loss falls by `η |g|² / 2`; one more product with `X` serves all trials.
    Auto,
}

impl Step {
    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Constant(eta) if !(eta > 0.0 && eta.is_finite()) => Err(Error::OutOfDomain {
                what: "step",
                value: eta,
                expected: "a positive finite number",
            }),
            _ => Ok(()),
        }
    }
}
