//! Held-out scores that a pass has left: whoever asks for those of the same models need not ask the rows.

use std::sync::{Mutex, PoisonError};

use super::{FoldBlock, Halt, Halted, LANES, Lane};

/// Held-out scores of the rows in memory, and the models of the folds that they are of.
#[derive(Debug, Default)]
pub(super) struct KnownScores {
    pub z: Vec<f64>,
    of: Vec<Option<Vec<Lane>>>,
}

/// The scores are taken out meanwhile: no lock is held while threads work.
pub(super) fn with_scores<R>(
    scores: &Mutex<KnownScores>,
    rows: usize,
    work: impl FnOnce(&mut KnownScores) -> R,
) -> R {
    let lock = || scores.lock().unwrap_or_else(PoisonError::into_inner);
    let mut taken = std::mem::take(&mut *lock());
    taken.z.resize(rows, 0.0);
    let result = work(&mut taken);
    *lock() = taken;
    result
}

impl KnownScores {
    pub(super) fn forget(&mut self, first: usize) {
        if let Some(of) = self.of.get_mut(first / LANES) {
            *of = None;
        }
    }

    pub(super) fn remember(&mut self, first: usize, w: &[Lane]) {
        let group = first / LANES;
        self.of.resize(self.of.len().max(group + 1), None);
        self.of[group] = Some(w.to_vec());
    }

    /// The scores of these models, which are known no longer; none if they were not.
    pub(super) fn take(&mut self, models: &[Vec<Lane>]) -> Vec<f64> {
        let of = |group: usize| self.of.get(group).and_then(Option::as_ref);
        let is_known = models.iter().enumerate().all(|(group, w)| of(group) == Some(w));
        if is_known { std::mem::take(self).z } else { Vec::new() }
    }

    /// The scores of these models, if they are not those already.
    pub(super) fn renew(
        &mut self,
        block: &FoldBlock<'_>,
        models: &[Vec<Lane>],
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        for (group, w) in models.iter().enumerate() {
            let first = group * LANES;
            if self.of.get(group).and_then(Option::as_ref) != Some(w) {
                self.forget(first);
                block.held_out_scores(first, w, &mut self.z, halt)?;
                self.remember(first, w);
            }
        }
        Ok(())
    }
}
