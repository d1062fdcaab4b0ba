//! Jensen's slack: how much of the loss is the labels' own.

use super::scored::Scored;
use crate::error::{Error, Result, same_length};
use crate::link::{InverseLink, PiecewiseLink};

/// The loss of a sample, split at the means of the labels of equal observations:
///
/// `E[D_{U*}(y ‖ u(z))] = E_x[D_{U*}(E[y|x] ‖ u(z))] + E_x[I_{U*}(Y|x)]`,
/// `I_{U*}(Y|x) = E[U*(y)|x] - U*(E[y|x])`,
///
/// the Bregman information of the labels (the paper, after its Theorem 1). For the square loss the
/// second term is half the variance of the labels, a constant of the sample: minimising the lower
/// bound (the paper's kkkLOSS) is minimising the loss. For a learned loss it **changes with the
/// link**, so the lower bound of two iterations cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LabelInformation {
    /// `E[D_{U*}(y ‖ u(z))]`, the mixed loss of one link.
    pub loss: f64,
    /// `E_x[D_{U*}(E[y|x] ‖ u(z))]`, Jensen's lower bound.
    pub lower_bound: f64,
    /// `E_x[I_{U*}(Y|x)]`, the slack.
    pub information: f64,
}

impl LabelInformation {
    /// `observation[i]` numbers the observation `x_i`, from 0 without gaps; rows of one observation
    /// must have one score.
    pub fn new(u: &PiecewiseLink, scored: &Scored, observation: &[usize]) -> Result<Self> {
        let (m, z) = (scored.z().len(), scored.z());
        same_length(("observation", observation.len()), ("z", m))?;
        let count = observation.iter().max().map_or(0, |last| last + 1);
        // Weight, weight of the positives, score.
        let mut groups = vec![(0.0, 0.0, f64::NAN); count];
        for i in 0..m {
            let group = &mut groups[observation[i]];
            if !group.2.is_nan() && group.2 != z[i] {
                let expected = "one score for all rows of an observation";
                return Err(Error::ElementOutOfDomain {
                    what: "z",
                    index: i,
                    value: z[i],
                    expected,
                });
            }
            let weight = scored.weight(i);
            group.0 += weight;
            group.1 += weight * f64::from(scored.y()[i]);
            group.2 = z[i];
        }
        let (mut lower_bound, mut information) = (0.0, 0.0);
        for &(weight, positive, z) in groups.iter().filter(|group| group.0 > 0.0) {
            let mean = positive / weight;
            lower_bound += weight * u.conjugate_divergence(mean, u.u(z));
            // U*(0) = 0 in our convention, so E[U*(y)|x] = mean U*(1).
            information += weight * (mean * u.conjugate(1.0) - u.conjugate(mean));
        }
        let total = scored.total_weight();
        Ok(Self {
            loss: scored.mixed_loss(u, u),
            lower_bound: lower_bound / total,
            information: information / total,
        })
    }
}
