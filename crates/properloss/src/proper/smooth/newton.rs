//! Newton's method on a smooth link: every iterate strictly inside the bounds.

use super::banded::Factor;
use super::objective::{Derivatives, Objective};
use super::{HIGHEST, LOWEST};

/// Steps at most; warm starts need one to four.
const MAX_STEPS: usize = 60;
/// On the detour: the weight of all rows at first, the factor from one stage to the next, and the
/// decrement at which a stage ends.
const FIRST_TOTAL: f64 = 100.0;
const STAGE: f64 = 10.0;
const STAGE_TOLERANCE: f64 = 0.1;
const MAX_HALVINGS: usize = 40;
/// A step goes at most this share of the way to a bound.
const SHORT_OF_BOUND: f64 = 0.95;
/// Share of the predicted decrease that a step has to bring.
const ARMIJO: f64 = 1e-4;

/// How a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Certificate {
    /// Newton steps.
    pub steps: usize,
    /// Newton's decrement `g' H^-1 g` at the result: it lies about half of it (in nats) above the
    /// minimum.
    pub decrement: f64,
}

/// What a minimisation works in.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace {
    here: Derivatives,
    there: Derivatives,
    factor: Factor,
    step: Vec<f64>,
    trial: Vec<f64>,
}

/// Minimises from `v`, which is strictly inside the bounds, until the decrement is below `tolerance`
/// or rounding hides what a step would gain.
///
/// Rows of enormous weight push slopes against their bounds, where Newton's steps are short. Then the
/// weights are raised in stages instead, from [`FIRST_TOTAL`] on: the central path.
pub(super) fn minimise(
    objective: &Objective<'_>,
    v: &mut Vec<f64>,
    tolerance: f64,
    work: &mut Workspace,
) -> Certificate {
    let direct = descend(objective, v, tolerance, work);
    let total: f64 = objective.weights.iter().map(|[negative, positive]| negative + positive).sum();
    if direct.decrement <= tolerance.max(work.noise()) || total <= FIRST_TOTAL {
        return direct;
    }
    let mut staged = objective.pieces.start();
    let (mut scale, mut steps) = (FIRST_TOTAL / total, direct.steps);
    while scale < 1.0 {
        let stage = Objective { scale, ..*objective };
        steps += descend(&stage, &mut staged, STAGE_TOLERANCE, work).steps;
        scale *= STAGE;
    }
    let last = descend(objective, &mut staged, tolerance, work);
    if last.decrement < direct.decrement {
        *v = staged;
        return Certificate { steps: steps + last.steps, ..last };
    }
    direct
}

/// Newton's method with steps short of the bounds.
fn descend(
    objective: &Objective<'_>,
    v: &mut Vec<f64>,
    tolerance: f64,
    work: &mut Workspace,
) -> Certificate {
    let mut certificate = Certificate { steps: 0, decrement: f64::INFINITY };
    if !objective.at(v, &mut work.here) {
        return certificate;
    }
    while certificate.steps < MAX_STEPS {
        certificate.decrement = work.newton_step();
        let noise = work.noise();
        if certificate.decrement <= tolerance.max(noise) {
            break;
        }
        let longest = longest_step(objective, v, &work.step);
        if !work.search(objective, v, longest, certificate.decrement, noise) {
            break;
        }
        std::mem::swap(v, &mut work.trial);
        std::mem::swap(&mut work.here, &mut work.there);
        certificate.steps += 1;
    }
    certificate
}

impl Workspace {
    /// What rounding does to the value.
    fn noise(&self) -> f64 {
        64.0 * f64::EPSILON * (1.0 + self.here.value.abs())
    }

    /// `step = -H^-1 g`; its decrement.
    fn newton_step(&mut self) -> f64 {
        let mut ridge = 0.0;
        // Positive definite but for rounding.
        while !self.factor.of(&self.here.hessian, ridge) && ridge < 1.0 {
            ridge = if ridge == 0.0 { 1e-14 } else { ridge * 100.0 };
        }
        self.step.clear();
        self.step.extend(self.here.gradient.iter().map(|g| -g));
        self.factor.solve(&mut self.step);
        -self.step.iter().zip(&self.here.gradient).map(|(s, g)| s * g).sum::<f64>()
    }

    /// Halves the step until `J` falls as promised; the point is in `trial`, `J` there in `there`.
    fn search(
        &mut self,
        objective: &Objective<'_>,
        v: &[f64],
        longest: f64,
        decrement: f64,
        noise: f64,
    ) -> bool {
        let mut length = longest;
        for _ in 0..MAX_HALVINGS {
            self.trial.clear();
            self.trial.extend(v.iter().zip(&self.step).map(|(v, step)| v + length * step));
            if objective.at(&self.trial, &mut self.there) {
                let wanted = self.here.value - ARMIJO * length * decrement;
                if self.there.value <= wanted + noise {
                    return true;
                }
            }
            length *= 0.5;
        }
        false
    }
}

/// 1, or less where that would reach a bound.
fn longest_step(objective: &Objective<'_>, v: &[f64], step: &[f64]) -> f64 {
    let last = v.len() - 1;
    let mut length = 1.0f64;
    // From `at` by `by` towards a bound that is `room` away.
    let mut keep = |room: f64, by: f64| {
        if by >= room {
            length = length.min(SHORT_OF_BOUND * room / by);
        }
    };
    keep(v[0], -step[0]);
    keep(1.0 - v[last], step[last]);
    for (j, width) in objective.pieces.inverse_width.iter().enumerate() {
        let s = (v[j + 1] - v[j]) * width;
        let by = (step[j + 1] - step[j]) * width;
        keep(s - LOWEST, -by);
        keep(HIGHEST - s, by);
    }
    length
}
