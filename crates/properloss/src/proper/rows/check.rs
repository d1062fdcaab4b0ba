//! What a question and an answer must be before anyone works with them: they may come from another
//! process, late, damaged, or meant for other rows.

use super::ask::{Ask, BlockQuestion, Dealt, Reply};
use super::{LANES, Lane};
use crate::error::{Error, Result};
use crate::proper::folds::check_count;

/// Numbers of rows stay far from overflow.
const MOST_ROWS: u64 = 1 << 48;

fn all_finite(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.is_finite())
}

impl Dealt {
    /// How the rows of a block are weighed, dealt and standardised.
    fn fits(&self, columns: usize, number: usize) -> bool {
        let placed = |&(rows, [zeros, ones]): &(u64, [u64; 2])| {
            rows <= MOST_ROWS && zeros <= rows && ones <= rows - zeros
        };
        self.before.get(number).is_some_and(placed)
            && check_count(self.folds).is_ok()
            && self.class_weight.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
            && self.mean.len() == columns
            && self.factor.len() == columns
            && all_finite(&self.mean)
            && all_finite(&self.factor)
    }
}

impl Ask {
    /// Every vector has a number for each column, and there are as many models as folds say.
    fn fits(&self, columns: usize, folds: usize) -> bool {
        let weights = |w: &Vec<Lane>| w.len() == columns + 1;
        match self {
            Self::Gather { step, .. } => (1..=MOST_ROWS).contains(step),
            Self::Moments { shift, unit } => {
                shift.len() == columns
                    && unit.len() == columns
                    && all_finite(shift)
                    && unit.iter().all(|unit| unit.is_normal() && *unit > 0.0)
            }
            Self::LaneSums { first, w, .. } => {
                weights(w) && first.is_multiple_of(LANES) && *first <= folds
            }
            Self::Losses { w } => w.len() == folds && w.iter().all(weights),
            Self::Grams { w, .. } => w.len() == columns + 1,
            Self::Scored { w } => {
                (folds.div_ceil(LANES)..=folds / LANES + 1).contains(&w.len())
                    && w.iter().all(weights)
            }
            // Has no folds; it is checked where it is answered.
            Self::Program(_) => true,
        }
    }
}

impl BlockQuestion {
    /// Refuses a question that is not for block `number`, which has so many columns.
    pub(super) fn check(&self, columns: usize, number: usize) -> Result<()> {
        if self.dealt.fits(columns, number) && self.ask.fits(columns, self.dealt.folds) {
            return Ok(());
        }
        Err(Error::WrongAnswer { expected: "a question for this block" })
    }

    /// Refuses an answer to another question.
    pub(super) fn check_answer(&self, reply: &Reply) -> Result<()> {
        let (columns, folds) = (self.dealt.mean.len(), self.dealt.folds);
        let each = |sums: &[Vec<f64>], length: usize| {
            sums.len() == folds && sums.iter().all(|sums| sums.len() == length)
        };
        let weight = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        let fits = match (&self.ask, reply) {
            (_, Reply::Nothing) => true,
            (Ask::Gather { .. }, Reply::Gathered(gathered)) => {
                gathered.spaced.fits(columns, folds)
                    && gathered.sample.fits(columns, folds)
                    && gathered.fold_weights.len() == folds + 1
                    && gathered.fold_weights.iter().flatten().all(weight)
                    && gathered.class_weights.iter().all(weight)
            }
            (Ask::Moments { shift, unit }, Reply::Moments(moments)) => {
                moments.shift == *shift
                    && moments.unit == *unit
                    && moments.weight.len() == folds
                    && moments.weight.iter().all(weight)
                    && each(&moments.first, columns)
                    && each(&moments.second, columns)
                    && moments.third.len() == columns
                    && moments.fourth.len() == columns
            }
            (Ask::LaneSums { w, .. }, Reply::LaneSums(sums)) => {
                sums.gradient.len() == w.len() && sums.held_out.is_some()
            }
            (Ask::Losses { .. }, Reply::Losses(_)) => true,
            (Ask::Grams { w, .. }, Reply::Grams(grams)) => {
                let d = w.len();
                grams.dimension == d
                    && each(&grams.gram, d * d)
                    && each(&grams.gradient, d)
                    && grams.loss.len() == folds
                    && grams.weight.len() == folds
            }
            (Ask::Scored { .. }, Reply::Scored(scored)) => scored.bins.fits(folds),
            (Ask::Program(_), Reply::Told(_)) => true,
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(Error::WrongAnswer { expected: "an answer to what was asked" })
        }
    }
}
