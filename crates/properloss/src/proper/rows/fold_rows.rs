//! Whom the algorithm asks: the rows of a sample in memory, or blocks elsewhere.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::ask::{Ask, BlockAnswer, BlockQuestion, CurveSpec, Dealt, Reply};
use super::gather::{Gathered, RowsOf};
use super::lane_sums::LaneSums;
use super::moments::sample_step;
use super::{
    FoldBlock, FoldGrams, FoldMoments, Halt, Halted, HeldOut, LANES, Lane, Numbers, Scored, Split,
};
use crate::design::FittedScaling;
use crate::error::{Error, same_length};
use crate::proper::curve::Curve;
use crate::proper::folds::{Folds, check_count, fewest};
use crate::rows::{Blocks, Rows};
use crate::sample::{Matrix, Sample};

/// Rows of the largest sample, at most, and the bytes they may take; but always these.
const MAX_SAMPLE: usize = 1 << 17;
const MAX_SAMPLE_BYTES: usize = 64 << 20;
const MIN_SAMPLE: usize = 1 << 14;
const MIN_SAMPLE_PER_COLUMN: usize = 20;
/// Columns up to which a sample has rows for Newton's method.
const MAX_NEWTON: usize = 1 << 10;
/// Rows that the skewness is taken from, about.
const SKEW_ROWS: usize = 1 << 16;

/// Where the rows are.
pub(in crate::proper) enum Source<'a> {
    Memory(Sample<'a>, Option<&'a [u32]>),
    Blocks(&'a dyn Blocks),
}

impl<'a> Source<'a> {
    pub(in crate::proper) fn of(rows: &'a dyn Rows) -> Result<Self, Error> {
        if let Some(blocks) = rows.blocks() {
            return Ok(Self::Blocks(blocks));
        }
        let sample = rows.sample().ok_or(Error::NeedsMemory { what: "this method" })?;
        Ok(Self::Memory(sample, rows.folds()))
    }
}

/// What is known of all rows, beside them.
#[derive(Debug)]
pub(in crate::proper) struct Facts {
    /// Number of rows.
    pub rows: usize,
    pub columns: usize,
    /// Number of stored values.
    pub stored: usize,
    /// Number of folds.
    pub folds: usize,
    used: usize,
    /// The sum of the weights, class by class.
    pub total_weight: f64,
    /// Total weight of the rows each model is trained on.
    pub totals: Vec<f64>,
    /// Weight of the positives among them.
    pub positives: Vec<f64>,
    mean: Vec<f64>,
    factor: Vec<f64>,
}

impl Facts {
    fn new(
        (rows, columns, stored): (usize, usize, usize),
        used: usize,
        class_weights: [f64; 2],
        fold_weights: &[[f64; 2]],
    ) -> Self {
        let folds = fold_weights.len() - 1;
        let outside = |class: usize| -> Vec<f64> {
            let all = fold_weights[folds][class];
            let models = fold_weights.iter().enumerate();
            models.map(|(k, inside)| if k < folds { all - inside[class] } else { all }).collect()
        };
        Self {
            rows,
            columns,
            stored,
            folds,
            used,
            total_weight: class_weights[0] + class_weights[1],
            totals: outside(0),
            positives: outside(1),
            mean: vec![0.0; columns],
            factor: vec![1.0; columns],
        }
    }

    /// Rows of the largest sample.
    fn most_sampled(&self) -> usize {
        let bytes = 8 * (self.stored / self.rows.max(1) + 1);
        let least =
            if self.columns <= MAX_NEWTON { MIN_SAMPLE_PER_COLUMN * (self.columns + 1) } else { 0 };
        MAX_SAMPLE.min(MAX_SAMPLE_BYTES / bytes).max(MIN_SAMPLE).max(least)
    }

    /// The limit of the hashes of about `wanted` rows; none for all of them.
    fn limit(&self, wanted: usize) -> Option<u64> {
        let share = wanted as f64 / self.used as f64;
        (wanted < self.used).then_some((share * u64::MAX as f64) as u64)
    }
}

/// All that a fit keeps of the rows beside the rows.
#[derive(Debug)]
pub(in crate::proper) struct Prepared {
    facts: Facts,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Memory { split: Split, scores: Mutex<Scores> },
    Blocks { dealt: Dealt, spaced: Box<Picked>, sample: Box<Picked> },
}

/// Held-out scores of the rows in memory, and the models of the folds that they are of.
#[derive(Debug, Default)]
struct Scores {
    z: Vec<f64>,
    of: Vec<Option<Vec<Lane>>>,
}

/// Rows that were gathered.
#[derive(Debug)]
struct Picked {
    rows: RowsOf,
    offsets: Vec<usize>,
    split: Split,
}

impl Picked {
    fn new(rows: RowsOf, folds: usize) -> Self {
        Self { offsets: rows.offsets(), split: rows.split(folds), rows }
    }

    fn block(&self) -> Result<FoldBlock<'_>, Error> {
        let matrix = self.rows.matrix(&self.offsets)?;
        // Dense rows of one block and sparse ones of another do not make one matrix.
        same_length(("the rows of a sample", matrix.rows()), ("labels", self.rows.labels.len()))?;
        Ok(FoldBlock { matrix, labels: &self.rows.labels, split: &self.split })
    }
}

impl Prepared {
    /// Weights, folds and what follows from them; one pass over blocks.
    pub(in crate::proper) fn new(
        source: &Source<'_>,
        class_weight: [f64; 2],
        folds: &Folds,
        halt: Halt<'_>,
    ) -> Result<Self, Error> {
        match source {
            Source::Memory(sample, given) => {
                let given = given.map(|folds| Folds::Given(folds.to_vec()));
                Self::in_memory(sample, class_weight, given.as_ref().unwrap_or(folds))
            }
            Source::Blocks(blocks) => Self::in_blocks(*blocks, class_weight, folds, halt),
        }
    }

    fn in_memory(
        sample: &Sample<'_>,
        class_weight: [f64; 2],
        folds: &Folds,
    ) -> Result<Self, Error> {
        let labels = sample.labels();
        let weight = |i: usize| sample.weight(i) * class_weight[usize::from(labels[i])];
        let weights: Vec<f64> = (0..labels.len()).map(weight).collect();
        let _ = sample.with_weights(Some(&weights))?;
        let folds = folds.assign(labels, &weights)?;
        let split = Split::new(weights, folds, Numbers::From(0), sample.columns());
        let block = FoldBlock { matrix: sample.matrix(), labels, split: &split };
        let shape = (sample.rows(), sample.columns(), sample.matrix().stored());
        let facts = Facts::new(shape, block.used(), block.class_weights(), &block.fold_weights());
        Ok(Self { facts, held: Held::Memory { split, scores: Mutex::default() } })
    }

    fn in_blocks(
        blocks: &dyn Blocks,
        class_weight: [f64; 2],
        folds: &Folds,
        halt: Halt<'_>,
    ) -> Result<Self, Error> {
        let Folds::Stratified { count, seed } = folds else {
            return Err(Error::NeedsMemory { what: "a fold or a group for every row" });
        };
        let (mut rows, mut counts, mut stored, mut columns) = (0, [0; 2], 0, 0);
        let mut before = Vec::new();
        for facts in blocks.facts() {
            before.push((rows, counts));
            rows += facts.rows;
            stored += facts.stored;
            (0..2).for_each(|class| counts[class] += facts.counts[class]);
            if facts.rows > 0 {
                columns = facts.columns as usize;
            }
        }
        for label in [0, 1u8] {
            let rows = counts[usize::from(label)] as usize;
            if rows < 2 {
                return Err(Error::ClassTooSmall { label, rows, minimum: 2 });
            }
        }
        let count = fewest(check_count(*count)?, counts);
        let dealt = Dealt {
            class_weight,
            folds: count,
            seed: *seed,
            before,
            mean: vec![0.0; columns],
            factor: vec![1.0; columns],
        };
        let shape = (rows as usize, columns, stored as usize);
        let used = (counts[0] + counts[1]) as usize;
        let empty = vec![[0.0; 2]; count + 1];
        let facts = Facts::new(shape, used, [0.0; 2], &empty);
        let limit = facts.limit(facts.most_sampled()).unwrap_or(u64::MAX);
        let step = sample_step(shape.0) as u64;
        let asked = Ask::Gather { step, limit };
        let Reply::Gathered(gathered) = ask(blocks, &dealt, asked, halt)? else {
            return Err(Error::WrongAnswer { expected: "rows" });
        };
        let Gathered { spaced, sample, fold_weights, class_weights } = *gathered;
        let facts = Facts::new(shape, used, class_weights, &fold_weights);
        let (spaced, sample) =
            (Box::new(Picked::new(spaced, count)), Box::new(Picked::new(sample, count)));
        Ok(Self { facts, held: Held::Blocks { dealt, spaced, sample } })
    }

    /// From now on weights are those of `F (x - c)`.
    pub(in crate::proper) fn standardise(&mut self, mean: Vec<f64>, factor: Vec<f64>) {
        match &mut self.held {
            Held::Memory { split, .. } => split.standardise(&mean, &factor),
            Held::Blocks { dealt, sample, .. } => {
                (dealt.mean, dealt.factor) = (mean.clone(), factor.clone());
                sample.split.standardise(&mean, &factor);
            }
        }
        (self.facts.mean, self.facts.factor) = (mean, factor);
    }

    /// With the rows themselves.
    pub(in crate::proper) fn rows<'a>(
        &'a self,
        source: &Source<'a>,
    ) -> Result<FoldRows<'a>, Error> {
        let at = match (&self.held, source) {
            (Held::Memory { split, scores }, Source::Memory(sample, _)) => {
                let (matrix, labels) = (sample.matrix(), sample.labels());
                At::Memory { block: FoldBlock { matrix, labels, split }, scores }
            }
            (Held::Blocks { dealt, spaced, sample }, Source::Blocks(blocks)) => {
                let (spaced, sample) = (spaced.block()?, sample.block()?);
                At::Blocks { blocks: *blocks, dealt, spaced, sample }
            }
            _ => return Err(Error::WrongAnswer { expected: "the rows of before" }),
        };
        Ok(FoldRows { facts: &self.facts, at, failed: Mutex::default() })
    }

    /// A number that other folds would hardly have (FNV-1a).
    pub(in crate::proper) fn fold_print(&self) -> u64 {
        let add = |print: u64, word: u64| (print ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        let start = 0xcbf2_9ce4_8422_2325;
        match &self.held {
            Held::Memory { split, .. } => {
                split.folds.of_row.iter().fold(start, |print, &fold| add(print, u64::from(fold)))
            }
            Held::Blocks { dealt, .. } => {
                let words = dealt.before.iter().flat_map(|(rows, n)| [*rows, n[0], n[1]]);
                [dealt.folds as u64, dealt.seed].into_iter().chain(words).fold(start, add)
            }
        }
    }
}

/// The answers of all blocks to one question, added up.
fn ask(blocks: &dyn Blocks, dealt: &Dealt, ask: Ask, halt: Halt<'_>) -> Result<Reply, Error> {
    let question = BlockQuestion { dealt: dealt.clone(), ask };
    let mut total = Reply::Nothing;
    blocks.ask(&question, halt, &mut |BlockAnswer(reply)| {
        question.check_answer(&reply)?;
        total.add(reply)
    })?;
    Ok(total)
}

/// The rows with what is known of them.
pub(in crate::proper) struct FoldRows<'a> {
    facts: &'a Facts,
    at: At<'a>,
    failed: Mutex<Option<Error>>,
}

enum At<'a> {
    Memory {
        block: FoldBlock<'a>,
        scores: &'a Mutex<Scores>,
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

    /// Rows of positive weight.
    pub(in crate::proper) fn used(&self) -> usize {
        self.used
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

    /// Grams at the weights `w` of one model, over about `wanted` rows (at most those of the largest
    /// sample, if not all).
    pub(in crate::proper) fn grams(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        wanted: usize,
        halt: Halt<'_>,
    ) -> Result<FoldGrams, Halted> {
        let wanted = if wanted < self.used { wanted.min(self.most_sampled()) } else { self.used };
        let chosen = (self.limit(wanted), wanted);
        match &self.at {
            At::Memory { block, .. } => block.grams(curve, w, chosen, halt),
            At::Blocks { sample, .. } if chosen.0.is_some() => sample.grams(curve, w, chosen, halt),
            At::Blocks { .. } => {
                let asked = Ask::Grams { curve: CurveSpec::of(curve), w: w.to_vec() };
                match self.ask(asked, halt)? {
                    Reply::Grams(grams) => Ok(*grams),
                    _ => self.wrong(),
                }
            }
        }
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
                    with_scores(scores, self.rows, |scores| scores.known(models))
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

/// The scores are taken out meanwhile: no lock is held while threads work.
fn with_scores<R>(scores: &Mutex<Scores>, rows: usize, work: impl FnOnce(&mut Scores) -> R) -> R {
    let lock = || scores.lock().unwrap_or_else(PoisonError::into_inner);
    let mut taken = std::mem::take(&mut *lock());
    taken.z.resize(rows, 0.0);
    let result = work(&mut taken);
    *lock() = taken;
    result
}

impl Scores {
    fn forget(&mut self, first: usize) {
        if let Some(of) = self.of.get_mut(first / LANES) {
            *of = None;
        }
    }

    fn remember(&mut self, first: usize, w: &[Lane]) {
        let group = first / LANES;
        self.of.resize(self.of.len().max(group + 1), None);
        self.of[group] = Some(w.to_vec());
    }

    /// The scores of these models; none if they are not known.
    fn known(&self, models: &[Vec<Lane>]) -> Vec<f64> {
        let of = |group: usize| self.of.get(group).and_then(Option::as_ref);
        let is_known = models.iter().enumerate().all(|(group, w)| of(group) == Some(w));
        if is_known { self.z.clone() } else { Vec::new() }
    }

    /// The scores of these models, if they are not those already.
    fn renew(
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
