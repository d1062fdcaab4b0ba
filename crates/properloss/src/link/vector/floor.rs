//! Constant probabilities: what a mixture keeps for each class at every score.

use super::VectorLink;
use super::softmax::check_classes;
use crate::error::{Error, Result};

/// `p = c` whatever the scores, the gradient of `F(z) = c·z`.
///
/// *Invariant*: `c >= 0` sums to 1 (within rounding).
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    c: Vec<f64>,
}

impl Floor {
    /// The constant distribution `c`.
    pub fn new(c: Vec<f64>) -> Result<Self> {
        check_classes(c.len())?;
        check_masses("floor", &c)?;
        check_total("the sum of the floor", c.iter().sum())?;
        Ok(Self { c })
    }

    /// `e_k`: class `k` with certainty.
    pub fn vertex(classes: usize, class: usize) -> Result<Self> {
        check_classes(classes)?;
        check_class(class, classes)?;
        let mut c = vec![0.0; classes];
        c[class] = 1.0;
        Ok(Self { c })
    }

    /// `1/K` for every class.
    pub fn uniform(classes: usize) -> Result<Self> {
        check_classes(classes)?;
        Ok(Self { c: vec![1.0 / classes as f64; classes] })
    }

    /// `c`.
    pub fn c(&self) -> &[f64] {
        &self.c
    }
}

/// Masses are finite and not negative.
pub(super) fn check_masses(what: &'static str, masses: &[f64]) -> Result<()> {
    match masses.iter().position(|m| !(m.is_finite() && *m >= 0.0)) {
        None => Ok(()),
        Some(index) => Err(Error::ElementOutOfDomain {
            what,
            index,
            value: masses[index],
            expected: "0 or positive",
        }),
    }
}

/// Masses sum to 1; the tolerance is what a file with 15 digits loses.
pub(super) fn check_total(what: &'static str, total: f64) -> Result<()> {
    if (total - 1.0).abs() <= 1e-12 {
        return Ok(());
    }
    Err(Error::OutOfDomain { what, value: total, expected: "1" })
}

/// A class below `K`.
pub(super) fn check_class(class: usize, classes: usize) -> Result<()> {
    if class < classes {
        return Ok(());
    }
    let expected = "a class, from 0 to below the number of classes";
    Err(Error::OutOfDomain { what: "class", value: class as f64, expected })
}

impl VectorLink for Floor {
    fn classes(&self) -> usize {
        self.c.len()
    }

    fn probabilities(&self, z: &[f64], p: &mut [f64]) {
        assert_eq!(z.len(), self.c.len(), "one score a class");
        p.copy_from_slice(&self.c);
    }

    fn potential(&self, z: &[f64]) -> f64 {
        assert_eq!(z.len(), self.c.len(), "one score a class");
        self.c.iter().zip(z).map(|(c, z)| c * z).sum()
    }

    fn jacobian(&self, z: &[f64], jacobian: &mut [f64]) {
        assert_eq!(jacobian.len(), z.len() * z.len(), "size of the Jacobian");
        jacobian.fill(0.0);
    }

    /// `sup z_y - c·z` is 0 if `c = e_y` and infinite otherwise.
    fn vertex_conjugate(&self, class: usize) -> f64 {
        if self.c.iter().enumerate().all(|(k, &c)| c == f64::from(u8::from(k == class))) {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn softmax_share(&self) -> f64 {
        self.c.iter().copied().fold(f64::INFINITY, f64::min)
    }
}
