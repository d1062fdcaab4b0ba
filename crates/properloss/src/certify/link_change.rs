//! Lemma 1: at fixed `w` the loss is linear in the link.

use super::scored::{Scored, Sum};
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};

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

    /// From distinct increasing scores and the weight at each; O(m).
    pub(crate) fn from_groups(z: &[f64], weights: &[f64], total: f64, base_rate: f64) -> Self {
        let mut excess = vec![0.0; z.len()];
        let mut above = Sum::default();
        for k in (0..z.len()).rev() {
            excess[k] = above.value() / total - base_rate;
            above.add(weights[k]);
        }
        Self { z: z.to_vec(), excess, base_rate }
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

/// The value of a piecewise-affine link at nondecreasing arguments, O(1) amortised.
struct Cursor<'a> {
    x: &'a [f64],
    y: &'a [f64],
    k: usize,
}

impl<'a> Cursor<'a> {
    fn new(link: &'a PiecewiseLink) -> Self {
        Self { x: link.knots().x(), y: link.knots().y(), k: 0 }
    }

    /// The first knot strictly right of `s`, or infinity.
    fn next_knot(&mut self, s: f64) -> f64 {
        while self.k < self.x.len() && self.x[self.k] <= s {
            self.k += 1;
        }
        self.x.get(self.k).copied().unwrap_or(f64::INFINITY)
    }

    /// `u(s)`, after [`next_knot`](Self::next_knot) at a point not right of `s` and not left of the
    /// knot before.
    fn value(&mut self, s: f64) -> f64 {
        self.next_knot(s);
        match self.k {
            0 => 0.0,
            k if k == self.x.len() => 1.0,
            k => {
                let (left, right) = (s - self.x[k - 1], self.x[k] - s);
                let (width, rise) = (self.x[k] - self.x[k - 1], self.y[k] - self.y[k - 1]);
                if left <= right {
                    self.y[k - 1] + rise * (left / width)
                } else {
                    self.y[k] - rise * (right / width)
                }
            }
        }
    }
}

/// Lemma 1: `ℓ_v(w) - ℓ_u(w) = ∫ (v - u)(s) (G_w(s) - π) ds`, exactly, in O(m + K_u + K_v).
///
/// Between two consecutive breakpoints (knots of `u`, of `v`, scores) `v - u` is affine and `G_w`
/// constant, so each interval contributes the trapezoid of `v - u` times `G_w - π`. The change is
/// linear in `v - u`, and labels enter through `π` alone.
pub fn link_change(u: &PiecewiseLink, v: &PiecewiseLink, tail: &ScoreTail) -> f64 {
    let end = u.support().1.max(v.support().1);
    let mut from = u.support().0.min(v.support().0);
    let (mut at_u, mut at_v) = (Cursor::new(u), Cursor::new(v));
    let mut next_score = tail.z.partition_point(|&z| z <= from);
    let mut difference = at_v.value(from) - at_u.value(from);
    let mut sum = Sum::default();
    while from < end {
        let score = tail.z.get(next_score).copied().unwrap_or(f64::INFINITY);
        let to = at_u.next_knot(from).min(at_v.next_knot(from)).min(score).min(end);
        let excess = match next_score {
            0 => 1.0 - tail.base_rate,
            k => tail.excess[k - 1],
        };
        let next = at_v.value(to) - at_u.value(to);
        sum.add(0.5 * (difference + next) * (to - from) * excess);
        if to == score {
            next_score += 1;
        }
        (from, difference) = (to, next);
    }
    sum.value()
}
