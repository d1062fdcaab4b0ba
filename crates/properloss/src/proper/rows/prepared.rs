//! What a fit knows of its rows before it begins, and keeps of them beside them.

use std::sync::Mutex;

use rayon::prelude::*;

use super::ask::{Ask, BlockAnswer, BlockQuestion, Dealt, Reply};
use super::fold_rows::{At, FoldRows};
use super::gather::{Gathered, RowsOf};
use super::known_scores::KnownScores;
use super::moments::sample_step;
use super::{FoldBlock, Halt, Numbers, Split};
use crate::error::{Error, same_length};
use crate::proper::folds::{Folds, check_count, fewest};
use crate::rows::{Blocks, Rows};
use crate::sample::Sample;

/// Rows of the largest sample, at most, and the bytes they may take; but always these.
const MAX_SAMPLE: usize = 1 << 17;
const MAX_SAMPLE_BYTES: usize = 64 << 20;
const MIN_SAMPLE: usize = 1 << 14;
const MIN_SAMPLE_PER_COLUMN: usize = 20;
/// Columns up to which a sample has rows for Newton's method.
const MAX_NEWTON: usize = 1 << 10;
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
    /// Rows of positive weight.
    pub used: usize,
    /// The sum of the weights, class by class.
    pub total_weight: f64,
    /// Total weight of the rows each model is trained on.
    pub totals: Vec<f64>,
    /// Weight of the positives among them.
    pub positives: Vec<f64>,
    pub mean: Vec<f64>,
    pub factor: Vec<f64>,
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
    pub(super) fn most_sampled(&self) -> usize {
        let bytes = 8 * (self.stored / self.rows.max(1) + 1);
        let least =
            if self.columns <= MAX_NEWTON { MIN_SAMPLE_PER_COLUMN * (self.columns + 1) } else { 0 };
        MAX_SAMPLE.min(MAX_SAMPLE_BYTES / bytes).max(MIN_SAMPLE).max(least)
    }

    /// The limit of the hashes of about `wanted` rows; none for all of them.
    pub(super) fn limit(&self, wanted: usize) -> Option<u64> {
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
    Memory { split: Split, scores: Mutex<KnownScores> },
    Blocks { dealt: Dealt, spaced: Box<Picked>, sample: Box<Picked> },
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
        let weights: Vec<f64> =
            (0..labels.len()).into_par_iter().with_min_len(1 << 14).map(weight).collect();
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
pub(super) fn ask(
    blocks: &dyn Blocks,
    dealt: &Dealt,
    ask: Ask,
    halt: Halt<'_>,
) -> Result<Reply, Error> {
    let question = BlockQuestion { dealt: dealt.clone(), ask };
    let mut total = Reply::Nothing;
    blocks.ask(&question, halt, &mut |BlockAnswer(reply)| {
        question.check_answer(&reply)?;
        total.add(reply)
    })?;
    Ok(total)
}
