//! Mixtures of canonical links: canonical again, and bounded relative to the softmax.

use super::floor::{check_masses, check_total};
use super::softmax::check_classes;
use super::{ClassRamp, Softmax, VectorLink};
use crate::error::{Error, Result};

/// `p = Σ_t a_t softmax(t z) + c + Σ_k A_k ramp_k(z)`, the learned link of several classes.
///
/// With `a_1 >= 1/τ` on the softmax itself, `p >= softmax/τ`: at every point the log-loss is at most
/// that of the softmax plus `log τ`, and no probability is 0.
///
/// *Invariant*: all parts have `K` classes; the masses are not negative and sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    classes: usize,
    softmax: Vec<(f64, Softmax)>,
    floor: Vec<f64>,
    ramps: Vec<(f64, ClassRamp)>,
}

impl Mixture {
    /// From `(mass, factor t)` of the softmaxes, the floor of every class and `(mass, ramp)` of the
    /// class ramps. Parts of mass 0 are left out.
    pub fn new(
        classes: usize,
        softmax: &[(f64, f64)],
        floor: Vec<f64>,
        ramps: Vec<(f64, ClassRamp)>,
    ) -> Result<Self> {
        check_classes(classes)?;
        if floor.len() != classes {
            let (what, other) = ("floor", "classes");
            let length = floor.len();
            return Err(Error::LengthMismatch { what, length, other, other_length: classes });
        }
        let masses: Vec<f64> = softmax.iter().map(|part| part.0).collect();
        check_masses("masses of the softmaxes", &masses)?;
        check_masses("floor", &floor)?;
        let ramp_masses: Vec<f64> = ramps.iter().map(|part| part.0).collect();
        check_masses("masses of the ramps", &ramp_masses)?;
        let total: f64 = masses.iter().chain(&floor).chain(&ramp_masses).sum();
        check_total("the sum of the masses", total)?;
        if let Some((_, ramp)) = ramps.iter().find(|(_, ramp)| ramp.classes() != classes) {
            return Err(Error::LengthMismatch {
                what: "a ramp",
                length: ramp.classes(),
                other: "classes",
                other_length: classes,
            });
        }
        let softmax = softmax
            .iter()
            .filter(|(mass, _)| *mass > 0.0)
            .map(|&(mass, t)| Ok((mass, Softmax::new(classes, t)?)))
            .collect::<Result<_>>()?;
        let ramps = ramps.into_iter().filter(|(mass, _)| *mass > 0.0).collect();
        Ok(Self { classes, softmax, floor, ramps })
    }

    /// The softmax alone.
    pub fn identity(classes: usize) -> Result<Self> {
        Self::new(classes, &[(1.0, 1.0)], vec![0.0; classes], Vec::new())
    }

    /// `(mass, link)` of the softmaxes.
    pub fn softmax(&self) -> &[(f64, Softmax)] {
        &self.softmax
    }

    /// The floor `c` of every class.
    pub fn floor(&self) -> &[f64] {
        &self.floor
    }

    /// `(mass, link)` of the class ramps.
    pub fn ramps(&self) -> &[(f64, ClassRamp)] {
        &self.ramps
    }

    /// The least `τ` for which `p >= softmax/τ` is known: one over the mass of the softmax itself.
    pub fn tau(&self) -> f64 {
        1.0 / self.softmax_share()
    }

    /// Whether the classes come out in the order of their scores at every point: only softmaxes and
    /// a floor that is the same for all.
    pub fn keeps_order(&self) -> bool {
        self.ramps.is_empty() && self.floor.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The probabilities of many rows of `K` scores each, row after row.
    ///
    /// # Panics
    /// If the two are not equally long, or not whole rows.
    pub fn probabilities_of_rows(&self, z: &[f64], p: &mut [f64]) {
        use rayon::prelude::*;
        assert!(z.len() == p.len() && z.len().is_multiple_of(self.classes), "whole rows");
        let rows = 256 * self.classes;
        p.par_chunks_mut(rows).zip(z.par_chunks(rows)).for_each(|(p, z)| {
            for (p, z) in p.chunks_exact_mut(self.classes).zip(z.chunks_exact(self.classes)) {
                self.probabilities(z, p);
            }
        });
    }

    /// Calls `add(mass, part)` for every part that is a link of its own.
    fn each(&self, mut add: impl FnMut(f64, &dyn VectorLink)) {
        self.softmax.iter().for_each(|(mass, part)| add(*mass, part));
        self.ramps.iter().for_each(|(mass, part)| add(*mass, part));
    }
}

impl VectorLink for Mixture {
    fn classes(&self) -> usize {
        self.classes
    }

    fn probabilities(&self, z: &[f64], p: &mut [f64]) {
        p.copy_from_slice(&self.floor);
        let mut part = vec![0.0; self.classes];
        self.each(|mass, link| {
            link.probabilities(z, &mut part);
            p.iter_mut().zip(&part).for_each(|(p, q)| *p += mass * q);
        });
    }

    fn potential(&self, z: &[f64]) -> f64 {
        let mut sum = self.floor.iter().zip(z).map(|(c, z)| c * z).sum();
        self.each(|mass, link| sum += mass * link.potential(z));
        sum
    }

    fn jacobian(&self, z: &[f64], jacobian: &mut [f64]) {
        jacobian.fill(0.0);
        let mut part = vec![0.0; jacobian.len()];
        self.each(|mass, link| {
            link.jacobian(z, &mut part);
            jacobian.iter_mut().zip(&part).for_each(|(j, q)| *j += mass * q);
        });
    }

    /// `Σ a_j F_j*(e_y)`: every part reaches its supremum along `z = T e_y`, `T -> ∞`, so the
    /// supremum of the sum is the sum of the suprema.
    fn vertex_conjugate(&self, class: usize) -> f64 {
        assert!(class < self.classes, "class {class}");
        if self.floor.iter().enumerate().any(|(k, &c)| k != class && c > 0.0) {
            return f64::INFINITY;
        }
        let mut sum = 0.0;
        self.each(|mass, link| sum += mass * link.vertex_conjugate(class));
        sum
    }

    /// The mass of the softmax itself.
    fn softmax_share(&self) -> f64 {
        self.softmax.iter().filter(|(_, part)| part.t() == 1.0).map(|(mass, _)| mass).sum()
    }
}
