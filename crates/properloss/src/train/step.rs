//! The step size of Step 1.

use crate::error::{Error, Result};

/// How long the gradient step `w <- w + eta (mu_y - mu_t)` is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// `eta = 1`, the paper's choice; it presumes rows of norm at most 1.
    Paper,
    /// `eta` given.
    Constant(f64),
    /// A line search on the loss of the current link: twice the last step, halved until the loss
    /// falls by `eta |g|^2 / 2`. It starts at `1 / (N X^2)`, which always passes (Lemma 2 of the
    /// convergence notes), so the search ends. One more product with `X` serves all trials.
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
