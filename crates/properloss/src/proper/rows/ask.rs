//! Questions that go to blocks of rows elsewhere, and what comes back.

use super::gather::Gathered;
use super::lane_sums::LaneSums;
use super::{FoldBlock, FoldGrams, FoldMoments, HeldOut, LANES, Lane, Numbers, Scored, Split};
use crate::error::{Error, Result, binary_labels};
use crate::link::LinkSpec;
use crate::proper::curve::Curve;
use crate::proper::folds::{Assignment, Dealer};
use crate::proper::relative::RelativeTable;
use crate::rows::{Block, Program, Told};

/// A question to a block: plain data that can be sent. How its rows are weighed and dealt to folds
/// comes with it, so that a block keeps nothing between questions.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockQuestion {
    pub(super) dealt: Dealt,
    pub(super) ask: Ask,
}

/// What a block answers: sums over its rows, or some of its rows.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockAnswer(pub(super) Reply);

/// How rows are weighed, dealt to folds and standardised.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Dealt {
    pub class_weight: [f64; 2],
    pub folds: usize,
    pub seed: u64,
    /// Rows before each block, and those of positive weight of each class.
    pub before: Vec<(u64, [u64; 2])>,
    pub mean: Vec<f64>,
    pub factor: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Ask {
    Gather {
        step: u64,
        limit: u64,
    },
    Moments {
        shift: Vec<f64>,
        unit: Vec<f64>,
    },
    LaneSums {
        curve: CurveSpec,
        first: usize,
        w: Vec<Lane>,
    },
    Losses {
        w: Vec<Vec<Lane>>,
    },
    Grams {
        curve: CurveSpec,
        w: Vec<f64>,
    },
    Scored {
        w: Vec<Vec<Lane>>,
    },
    /// Of a method with one model and no folds.
    Program(Box<Program>),
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Reply {
    /// The block has no rows.
    Nothing,
    Gathered(Box<Gathered>),
    Moments(Box<FoldMoments>),
    LaneSums(LaneSums),
    Losses(Lane),
    Grams(Box<FoldGrams>),
    Scored(Box<Scored>),
    Told(Box<Told>),
}

/// A [`Curve`] as data.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum CurveSpec {
    Logistic,
    Likelihood(LinkSpec),
    Canonical(LinkSpec),
}

impl CurveSpec {
    pub fn of(curve: &Curve<'_>) -> Self {
        match curve {
            Curve::Logistic => Self::Logistic,
            Curve::Likelihood(link) => Self::Likelihood(link.spec()),
            Curve::Relative(table) => Self::Likelihood(table.spec().clone()),
            Curve::Canonical(link) => Self::Canonical(link.spec()),
        }
    }

    fn with<R>(&self, work: impl FnOnce(&Curve<'_>) -> R) -> Result<R> {
        Ok(match self {
            Self::Logistic => work(&Curve::Logistic),
            Self::Likelihood(spec) => match RelativeTable::new(spec) {
                Some(table) => work(&Curve::Relative(&table)),
                None => work(&Curve::Likelihood(&*spec.build()?)),
            },
            Self::Canonical(spec) => work(&Curve::Canonical(&*spec.build()?)),
        })
    }
}

impl Dealt {
    /// Nobody is held out.
    fn nobody() -> Self {
        let (before, mean, factor) = Default::default();
        Self { class_weight: [1.0; 2], folds: 0, seed: 0, before, mean, factor }
    }

    /// Weights and folds of a block's rows.
    fn split(&self, block: &Block<'_>, number: usize) -> Result<Split> {
        let columns = block.matrix.columns();
        let Some(&(first, before)) = self.before.get(number) else {
            return Err(Error::WrongAnswer { expected: "a question for this block" });
        };
        let weight =
            |(i, &label): (usize, &u8)| block.weight(i) * self.class_weight[usize::from(label)];
        let weights: Vec<f64> = block.labels.iter().enumerate().map(weight).collect();
        let mut dealer = Dealer::new(self.folds, self.seed, before);
        let deal = |(&label, &weight): (&u8, &f64)| {
            if weight > 0.0 { dealer.next(label) } else { 0 }
        };
        let of_row = block.labels.iter().zip(&weights).map(deal).collect();
        let folds = Assignment { of_row, count: self.folds };
        let mut split = Split::new(weights, folds, Numbers::From(first), columns);
        split.standardise(&self.mean, &self.factor);
        Ok(split)
    }
}

impl BlockQuestion {
    /// A question of a method without folds.
    pub(crate) fn of(program: Program) -> Self {
        Self { dealt: Dealt::nobody(), ask: Ask::Program(Box::new(program)) }
    }

    /// The bytes of the question.
    #[cfg(feature = "serde")]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// The question in some bytes.
    #[cfg(feature = "serde")]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| Error::WrongAnswer { expected: "a question" })
    }

    pub(crate) fn answer(
        &self,
        block: &Block<'_>,
        number: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<BlockAnswer> {
        if block.labels.is_empty() {
            return Ok(BlockAnswer(Reply::Nothing));
        }
        // Rows that were checked elsewhere are not checked again, but no label may be an index too far.
        binary_labels(block.labels)?;
        if let Ask::Program(program) = &self.ask {
            let told = program.answer(block)?.map(|told| Reply::Told(Box::new(told)));
            return Ok(BlockAnswer(told.unwrap_or(Reply::Nothing)));
        }
        self.check(block.matrix.columns(), number)?;
        let split = self.dealt.split(block, number)?;
        let rows = FoldBlock { matrix: block.matrix, labels: block.labels, split: &split };
        let halted = |super::Halted| Error::Interrupted;
        let reply = match &self.ask {
            Ask::Gather { step, limit } => Reply::Gathered(Box::new(rows.gather(*step, *limit))),
            Ask::Moments { shift, unit } => Reply::Moments(Box::new(
                rows.moments(shift.clone(), unit.clone(), stop).map_err(halted)?,
            )),
            Ask::LaneSums { curve, first, w } => {
                let mut z = vec![0.0; block.labels.len()];
                let (sums, held_out) = curve.with(|curve| {
                    let sums = rows.lane_sums(curve, *first, w, &mut z, stop);
                    let is_held_out = *first < self.dealt.folds;
                    let held_out =
                        if is_held_out { rows.held_out(curve, *first, &z) } else { HeldOut::NONE };
                    (sums, held_out)
                })?;
                Reply::LaneSums(LaneSums { held_out: Some(held_out), ..sums.map_err(halted)? })
            }
            Ask::Losses { w } => Reply::Losses(rows.losses(w, stop).map_err(halted)?),
            Ask::Grams { curve, w } => {
                let all = (None, rows.used());
                let grams = curve.with(|curve| rows.grams(curve, w, all, stop))?;
                Reply::Grams(Box::new(grams.map_err(halted)?))
            }
            Ask::Scored { w } => {
                let mut z = vec![0.0; block.labels.len()];
                rows.scores(w, &mut z, stop).map_err(halted)?;
                Reply::Scored(Box::new(rows.scored(&z)?))
            }
            Ask::Program(_) => Reply::Nothing,
        };
        Ok(BlockAnswer(reply))
    }
}

impl BlockAnswer {
    /// What a block told a method without folds; `None` if it has no weight.
    pub(crate) fn told(self) -> Result<Option<Told>> {
        match self.0 {
            Reply::Told(told) => Ok(Some(*told)),
            Reply::Nothing => Ok(None),
            _ => Err(Error::WrongAnswer { expected: "answers to one question" }),
        }
    }

    /// The bytes of the answer.
    #[cfg(feature = "serde")]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// The answer in some bytes.
    #[cfg(feature = "serde")]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| Error::WrongAnswer { expected: "an answer" })
    }
}

impl Reply {
    /// Adds the answer of the next block.
    pub fn add(&mut self, other: Self) -> Result<()> {
        match (&mut *self, other) {
            (_, Self::Nothing) => {}
            (mine @ Self::Nothing, other) => *mine = other,
            (Self::Gathered(mine), Self::Gathered(other)) => mine.add(&other),
            (Self::Moments(mine), Self::Moments(other)) => mine.add(&other),
            (Self::LaneSums(mine), Self::LaneSums(other)) => mine.add(&other),
            (Self::Losses(mine), Self::Losses(other)) => {
                (0..LANES).for_each(|l| mine[l] += other[l]);
            }
            (Self::Grams(mine), Self::Grams(other)) => mine.add(&other),
            (Self::Scored(mine), Self::Scored(other)) => mine.add(&other),
            _ => return Err(Error::WrongAnswer { expected: "answers to one question" }),
        }
        Ok(())
    }
}
