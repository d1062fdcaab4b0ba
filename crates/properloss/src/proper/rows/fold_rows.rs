//! Whom the algorithm asks: the rows of a sample in memory, or blocks elsewhere.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::ask::{Ask, CurveSpec, Dealt, Reply};
use super::known_scores::{KnownScores, with_scores};
use super::lane_sums::LaneSums;
use super::moments::sample_step;
use super::prepared::{Facts, ask};
use super::{FoldBlock, FoldGrams, FoldMoments, Halt, Halted, HeldOut, Lane, Scored, Split};
use crate::design::FittedScaling;
use crate::error::Error;
use crate::proper::curve::Curve;
use crate::rows::Blocks;
use crate::sample::Matrix;

/// Rows that the skewness is taken from, about.
const SKEW_ROWS: usize = 1 << 16;

/// The rows with what is known of them.
pub(in crate::proper) struct FoldRows<'a> {
    pub(super) facts: &'a Facts,
    pub(super) at: At<'a>,
    pub(super) failed: Mutex<Option<Error>>,
}

pub(super) enum At<'a> {
    Memory {
        block: FoldBlock<'a>,
        scores: &'a Mutex<KnownScores>,
    },
    Blocks {
        blocks: &'a dyn Blocks,
        dealt: &'a Dealt,
        spaced: FoldBlock<'a>,
        sample: FoldBlock<'a>,
    },
}

impl Deref for FoldRows<'_> {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.facts
    }
}

impl<'a> FoldRows<'a> {
    /// The standardisation, as a model file stores it.
    pub(in crate::proper) fn scaling(&self) -> FittedScaling {
        FittedScaling::Standardise { mean: self.mean.clone(), factor: self.factor.clone() }
    }

    /// Number of models: one a fold, and one for all rows.
    pub(in crate::proper) fn models(&self) -> usize {
        self.folds + 1
    }

    /// Weights of a model: the columns and an intercept.
    pub(in crate::proper) fn dimension(&self) -> usize {
        self.columns + 1
    }

    /// What ended a question.
    pub(in crate::proper) fn why(&self, _: Halted) -> Error {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().unwrap_or(Error::Interrupted)
    }

    fn fail<T>(&self, error: Error) -> Result<T, Halted> {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Err(Halted)
    }

    fn ask(&self, asked: Ask, halt: Halt<'_>) -> Result<Reply, Halted> {
        let At::Blocks { blocks, dealt, .. } = &self.at else {
            return self.fail(Error::WrongAnswer { expected: "rows in blocks" });
        };
        ask(*blocks, dealt, asked, halt).or_else(|error| self.fail(error))
    }

    fn wrong<T>(&self) -> Result<T, Halted> {
        self.fail(Error::WrongAnswer { expected: "sums over the rows" })
    }

    /// Moments of the raw columns over the rows of positive weight.
    pub(in crate::proper) fn moments(&self, halt: Halt<'_>) -> Result<FoldMoments, Halted> {
        match &self.at {
            At::Memory { block, .. } => {
                let few = (0..self.rows).step_by(sample_step(self.rows));
                let (shift, unit) = block.shift_and_unit(few);
                block.moments(shift, unit, halt)
            }
            At::Blocks { spaced, .. } => {
                let (shift, unit) = spaced.shift_and_unit(0..spaced.labels.len());
                match self.ask(Ask::Moments { shift, unit }, halt)? {
                    Reply::Moments(moments) => Ok(*moments),
                    _ => self.wrong(),
                }
            }
        }
    }

    /// Summed loss and gradient of the models `first..first + 8` at the weights `w`, over the rows
    /// that each may see. [`Self::held_out`] knows of the group's held-out scores afterwards.
    pub(in crate::proper) fn lane_sums(
        &self,
        curve: &Curve<'_>,
        first: usize,
        w: &[Lane],
        halt: Halt<'_>,
    ) -> Result<LaneSums, Halted> {
        match &self.at {
            At::Memory { block, scores } => with_scores(scores, self.rows, |scores| {
                scores.forget(first);
                let sums = block.lane_sums(curve, first, w, &mut scores.z, halt)?;
                // With more columns than rows a copy costs more than it may save.
                if w.len() <= self.rows && !block.is_short() {
                    scores.remember(first, w);
                }
                Ok(sums)
            }),
            At::Blocks { .. } => {
                let asked = Ask::LaneSums { curve: CurveSpec::of(curve), first, w: w.to_vec() };
                match self.ask(asked, halt)? {
                    Reply::LaneSums(sums) => Ok(sums),
                    _ => self.wrong(),
                }
            }
        }
    }

    /// Loss and reach of the held-out scores of a group, after the pass under this curve that gave these sums.
    pub(in crate::proper) fn held_out(
        &self,
        curve: &Curve<'_>,
        first: usize,
        sums: &LaneSums,
    ) -> HeldOut {
        match (&self.at, sums.held_out) {
            (_, Some(held_out)) => held_out,
            (At::Memory { block, scores }, None) if first < self.folds => {
                with_scores(scores, self.rows, |scores| block.held_out(curve, first, &scores.z))
            }
            _ => HeldOut::NONE,
        }
    }

    /// Summed held-out log-loss of eight sets of fold models: `w[k]` has the weights of the model of
    /// fold `k` in every set.
    pub(in crate::proper) fn losses(
        &self,
        w: &[Vec<Lane>],
        halt: Halt<'_>,
    ) -> Result<Lane, Halted> {
        match &self.at {
            At::Memory { block, .. } => block.losses(w, halt),
            At::Blocks { .. } => match self.ask(Ask::Losses { w: w.to_vec() }, halt)? {
                Reply::Losses(losses) => Ok(losses),
                _ => self.wrong(),
            },
        }
    }

    /// About `wanted` rows, at most those of the largest sample; all if there are no more.
    pub(in crate::proper) fn choose(&self, wanted: usize) -> Chosen {
        let wanted = if wanted < self.used { wanted.min(self.most_sampled()) } else { self.used };
        let block = match &self.at {
            At::Memory { block, .. } => block,
            At::Blocks { sample, .. } => sample,
        };
        Chosen { rows: block.chosen(self.limit(wanted)), wanted }
    }

    /// Grams at the weights `w` of one model.
    pub(in crate::proper) fn grams(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        chosen: &Chosen,
        halt: Halt<'_>,
    ) -> Result<FoldGrams, Halted> {
        let rows = (chosen.rows.as_deref(), chosen.wanted);
        match &self.at {
            At::Memory { block, .. } => block.grams(curve, w, rows, halt),
            At::Blocks { sample, .. } if rows.0.is_some() => sample.grams(curve, w, rows, halt),
            At::Blocks { .. } => {
                let asked = Ask::Grams { curve: CurveSpec::of(curve), w: w.to_vec() };
                match self.ask(asked, halt)? {
                    Reply::Grams(grams) => Ok(*grams),
                    _ => self.wrong(),
                }
            }
        }
    }

    /// Grams over all rows.
    pub(in crate::proper) fn whole_grams(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        halt: Halt<'_>,
    ) -> Result<FoldGrams, Halted> {
        self.grams(curve, w, &self.choose(self.used), halt)
    }

    /// Held-out scores of these models, counted.
    pub(in crate::proper) fn scored(
        &self,
        models: &[Vec<Lane>],
        halt: Halt<'_>,
    ) -> Result<Scored, Halted> {
        match &self.at {
            At::Memory { block, scores } => {
                let scored = with_scores(scores, self.rows, |scores| {
                    scores.renew(block, models, halt)?;
                    Ok(block.scored(&scores.z))
                })?;
                scored.or_else(|error| self.fail(error))
            }
            At::Blocks { .. } => match self.ask(Ask::Scored { w: models.to_vec() }, halt)? {
                Reply::Scored(scored) => Ok(*scored),
                _ => self.wrong(),
            },
        }
    }

    /// How far a quadratic model of the loss is off along the held-out scores of these models.
    pub(in crate::proper) fn skew(&self, models: &[Vec<Lane>]) -> f64 {
        let wanted = SKEW_ROWS.min(self.most_sampled());
        let limit = self.limit(wanted);
        let share = (wanted as f64 / self.used as f64).min(1.0);
        match &self.at {
            At::Memory { block, .. } => block.skew(models, limit, share),
            At::Blocks { sample, .. } => sample.skew(models, limit, share),
        }
    }

    /// Rows that are here, all of them or a sample: matrix, labels, weights (the classes' included)
    /// and folds, with the held-out scores of two sets of models; 0 for rows of weight 0.
    pub(in crate::proper) fn here(
        &self,
        models: [&[Vec<Lane>]; 2],
        halt: Halt<'_>,
    ) -> Result<Here<'a>, Halted> {
        let (block, whole) = match &self.at {
            At::Memory { block, .. } => (block, true),
            At::Blocks { sample, .. } => (sample, false),
        };
        let scored = |models: &[Vec<Lane>]| {
            let mut z = match &self.at {
                At::Memory { scores, .. } => {
                    with_scores(scores, self.rows, |scores| scores.take(models))
                }
                At::Blocks { .. } => Vec::new(),
            };
            if z.is_empty() {
                z = vec![0.0; block.labels.len()];
                block.scores(models, &mut z, halt)?;
            }
            for (z, &weight) in z.iter_mut().zip(&block.split.weights) {
                *z = if weight == 0.0 { 0.0 } else { *z };
            }
            Ok(z)
        };
        let first = scored(models[0])?;
        // One point often has all the weight.
        let second = if models[0] == models[1] { first.clone() } else { scored(models[1])? };
        let scores = [first, second];
        let split: &'a Split = block.split;
        Ok(Here {
            matrix: block.matrix,
            labels: block.labels,
            weights: &split.weights,
            folds: &split.folds.of_row,
            scores,
            whole,
        })
    }
}

/// A sample of the rows.
pub(in crate::proper) struct Chosen {
    /// By fold; none for all rows.
    rows: Option<Vec<Vec<u32>>>,
    wanted: usize,
}

/// Rows that are here.
pub(in crate::proper) struct Here<'a> {
    pub matrix: Matrix<'a>,
    pub labels: &'a [u8],
    pub weights: &'a [f64],
    pub folds: &'a [u32],
    pub scores: [Vec<f64>; 2],
    /// All rows, not a sample of them.
    pub whole: bool,
}
