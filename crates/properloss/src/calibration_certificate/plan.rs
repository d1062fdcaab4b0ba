//! Which e-values are mixed: decided from the probabilities alone, so that it costs nothing.
//!
//! The bound holds for every choice that does not look at the labels. The best one depends on the
//! excess to be expected, which labels drawn from the probabilities themselves tell.

use super::excess::{Excess, excess};
use super::rows::Fold;

/// So many draws of labels; their mean excess is known to a few per cent.
const DRAWS: u64 = 8;
/// The share of the component that the draws prefer; the other is there for surprises.
const FAVOURITE: f64 = 0.9;

/// One e-value: `exp(κ D - λ E)` has a mean of at most 1 at the true `D`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Component {
    pub loss: Loss,
    pub lambda: f64,
    pub kappa: f64,
    /// `ln ω_c`.
    pub log_share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Log,
    Brier,
}

impl Component {
    pub fn excess(&self, excess: Excess) -> f64 {
        match self.loss {
            Loss::Log => excess.log,
            Loss::Brier => excess.brier,
        }
    }
}

/// `λ` minimises the bound `(λE + L)/κ(λ)` for the expected excess `E`, with `L = K ln(1/δ)`. To the
/// excess of right probabilities `regret` nats are added, for those that are being learned.
pub(super) fn components(folds: &[Fold], log_delta: f64, regret: f64) -> [Component; 2] {
    let mut expected = expected_excess(folds);
    let share = if expected.log > 0.0 { expected.brier / expected.log } else { 0.0 };
    expected = expected + Excess { log: regret, brier: regret * share };
    let level = folds.len() as f64 * log_delta;
    // κ = 2λ(1-λ): Eλ² + 2Lλ - L = 0. Written without cancellation.
    let log = level / (level + (level * (level + expected.log)).sqrt());
    // κ = λ(1-λ/2): Eλ²/2 + Lλ - L = 0.
    let brier = 2.0 * level / (level + (level * (level + 2.0 * expected.brier)).sqrt());
    let mut components = [
        Component { loss: Loss::Log, lambda: log, kappa: 2.0 * log * (1.0 - log), log_share: 0.0 },
        Component {
            loss: Loss::Brier,
            lambda: brier,
            kappa: brier * (1.0 - 0.5 * brier),
            log_share: 0.0,
        },
    ];
    let predicted = components.map(|c| (c.lambda * c.excess(expected) + level) / c.kappa);
    let favourite = usize::from(predicted[1] < predicted[0]);
    components[favourite].log_share = FAVOURITE.ln();
    components[1 - favourite].log_share = (1.0 - FAVOURITE).ln();
    components
}

/// The mean excess of labels drawn from the references, with a fixed seed.
fn expected_excess(folds: &[Fold]) -> Excess {
    let mut expected = Excess::default();
    for (k, fold) in folds.iter().enumerate() {
        let rows = fold.sample.all();
        let mut sum = Excess::default();
        for draw in 0..DRAWS {
            let seed = (k as u64 * DRAWS + draw) << 40;
            let label = |i: usize, p: f64| unit(seed.wrapping_add(i as u64)) < p;
            sum = sum + excess(rows, |i, row| label(i, row.probability)).at_least_zero();
        }
        let scale = (fold.rows() as f64 / rows.len() as f64).cbrt() / DRAWS as f64;
        expected = expected + Excess { log: scale * sum.log, brier: scale * sum.brier };
    }
    expected
}

/// A number in `[0, 1)` from a counter: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn unit(counter: u64) -> f64 {
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}
