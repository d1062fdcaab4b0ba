//! Lemma 1: at fixed `w` the loss is linear in the link.

use super::scored::Scored;
use super::sweep::walk;
use crate::error::{Error, Result};
use crate::link::PiecewiseLink;
use crate::special::Sum;

/// `G_w(s) = Pr_S[w·x > s]`, a step function, with the base rate `π` it is compared to.
///
/// *Invariant*: `z` increases strictly, `excess[k] = G_w(z_k) - π`; left of `z_0` it is `1 - π`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreTail {
    z: Vec<f64>,
    excess: Vec<f64>,
    base_rate: f64,
}

impl ScoreTail {
    /// Sorts the scores of the sample; O(m log m).
    pub fn new(scored: &Scored) -> Result<Self> {
        let mut order: Vec<usize> = (0..scored.z().len()).collect();
        order.sort_unstable_by(|&i, &j| scored.z()[i].total_cmp(&scored.z()[j]));
        Self::from_order(scored, order.into_iter())
    }

    /// From indices that sort the scores in increasing order; O(m).
    pub fn from_order(
        scored: &Scored,
        order: impl DoubleEndedIterator<Item = usize>,
    ) -> Result<Self> {
        let base_rate = scored.base_rate();
        // Sum from the right: the mass above a score is a sum of nonnegative terms.
        let (mut z, mut excess) = (Vec::new(), Vec::new());
        let mut above = Sum::default();
        let mut pending = 0.0;
        for i in order.rev() {
            let score = scored.z()[i];
            if !score.is_finite() {
                return Err(Error::NotFinite { what: "z", index: i, value: score });
            }
            if z.last() != Some(&score) {
                if z.last().is_some_and(|&next| score > next) {
                    return Err(Error::OutOfDomain {
                        what: "order",
                        value: score,
                        expected: "one that sorts the scores in increasing order",
                    });
                }
                above.add(pending);
                pending = 0.0;
                z.push(score);
                excess.push(above.value() / scored.total_weight() - base_rate);
            }
            pending += scored.weight(i);
        }
        z.reverse();
        excess.reverse();
        Ok(Self { z, excess, base_rate })
    }

    /// The distinct scores, in increasing order.
    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// `π = E[y]`.
    pub fn base_rate(&self) -> f64 {
        self.base_rate
    }

    /// `G_w(s) - π` by binary search.
    pub fn excess_at(&self, s: f64) -> f64 {
        match self.z.partition_point(|&z| z <= s) {
            0 => 1.0 - self.base_rate,
            k => self.excess[k - 1],
        }
    }
}

/// Lemma 1: `ℓ_v(w) - ℓ_u(w) = ∫ (v - u)(s) (G_w(s) - π) ds`, exactly, in O(m + K_u + K_v).
///
/// Between two consecutive breakpoints (knots of `u`, of `v`, scores) `v - u` is affine and `G_w`
/// constant, so each interval contributes the trapezoid of `v - u` times `G_w - π`. The change is
/// linear in `v - u`, and labels enter through `π` alone.
pub fn link_change(u: &PiecewiseLink, v: &PiecewiseLink, tail: &ScoreTail) -> f64 {
    let mut sum = Sum::default();
    walk(
        u,
        v,
        &tail.z,
        |k, width, (u_from, v_from), (u_to, v_to)| {
            let excess = if k == 0 { 1.0 - tail.base_rate } else { tail.excess[k - 1] };
            sum.add(0.5 * ((v_from - u_from) + (v_to - u_to)) * width * excess);
        },
        |_, _, _, _| {},
    );
    sum.value()
}
