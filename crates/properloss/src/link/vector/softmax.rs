//! The softmax, at any temperature.

use super::{VectorLink, log_sum_exp, softmax_into};
use crate::error::{Error, Result, require};

/// `p = softmax(t z)`, the gradient of `F(z) = log Σ e^{t z_j} / t`.
///
/// At `t = 1` the canonical loss is log-loss; at any `t` it is `1/t` times the log-loss of the
/// probabilities. *Invariant*: `t` positive and finite, two classes or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softmax {
    classes: usize,
    t: f64,
}

impl Softmax {
    /// `softmax(t z)`.
    pub fn new(classes: usize, t: f64) -> Result<Self> {
        check_classes(classes)?;
        require("the factor t of a softmax", t, "positive and finite", t > 0.0 && t.is_finite())?;
        Ok(Self { classes, t })
    }

    /// `t`: above 1 the probabilities are sharper than the softmax's.
    pub fn t(&self) -> f64 {
        self.t
    }
}

/// Two classes or more.
pub(super) fn check_classes(classes: usize) -> Result<()> {
    if classes >= 2 {
        return Ok(());
    }
    Err(Error::TooShort { what: "classes", length: classes, minimum: 2 })
}

impl VectorLink for Softmax {
    fn classes(&self) -> usize {
        self.classes
    }

    fn probabilities(&self, z: &[f64], p: &mut [f64]) {
        assert!(z.len() == self.classes && p.len() == self.classes, "one score a class");
        softmax_into(self.t, z, p);
    }

    fn potential(&self, z: &[f64]) -> f64 {
        log_sum_exp(z.iter().map(|z| self.t * z)) / self.t
    }

    /// `t (diag(p) - p p')`.
    fn jacobian(&self, z: &[f64], jacobian: &mut [f64]) {
        let mut p = vec![0.0; self.classes];
        self.probabilities(z, &mut p);
        covariance(self.t, &p, jacobian);
    }

    fn vertex_conjugate(&self, class: usize) -> f64 {
        assert!(class < self.classes, "class {class}");
        0.0
    }

    /// `softmax(t z) >= share softmax(z)` everywhere only for `t = 1`: a class with the lowest score
    /// loses everything if `t > 1`, and so does the highest, up to a factor `K`, if `t < 1`.
    fn softmax_share(&self) -> f64 {
        if self.t == 1.0 {
            1.0
        } else if self.t < 1.0 {
            1.0 / self.classes as f64
        } else {
            0.0
        }
    }
}

/// `scale (diag(p) - p p')`, the diagonal as a sum of positive terms: `p_i Σ_{j≠i} p_j`.
pub(super) fn covariance(scale: f64, p: &[f64], matrix: &mut [f64]) {
    let k = p.len();
    assert_eq!(matrix.len(), k * k, "size of the Jacobian");
    for i in 0..k {
        let mut others = 0.0;
        for j in (0..k).filter(|&j| j != i) {
            matrix[i * k + j] = -scale * p[i] * p[j];
            others += p[j];
        }
        matrix[i * k + i] = scale * p[i] * others;
    }
}
