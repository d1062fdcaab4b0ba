//! The rows of some blocks as one: what the trainers ask of them, block by block.
//!
//! Blocks keep nothing. What rows in memory keep (scores, directions, curvatures, predictions) follows from
//! weights and a link, and these are kept here and sent with every question. Whatever a round can tell of
//! a point beside what was asked is remembered: the Newton matrix with the gradient, the gradient with a
//! loss that was tried. A Newton step is one round, a gradient step under a fixed link too.

use super::counted::Points;
use super::local::Placed;
use super::program::{Carried, Program, Told, Want};
use super::{
    Answer, BlockQuestion, Blocks, ByScore, Carry, Predictions, Question, RowState, Rows, Shape,
    fingerprint,
};
use crate::chain::ScoreOrder;
use crate::design::{FittedScaling, Scaling, SpectralNorm};
use crate::error::{Error, Result, total_weight};
use crate::link::{InverseLink, LinkSpec};
use crate::loss::LossKind;
use crate::sample::{Matrix, Sample};

/// Up to this dimension `E[x̃ x̃']` is asked for at once (8 MB), and not its products one by one.
const FORMED: usize = 1024;
/// Points whose sums are remembered.
const REMEMBERED: usize = 4;

/// All rows of some blocks, for the methods that ask in parts.
pub struct InBlocks<'a> {
    blocks: &'a dyn Blocks,
    shape: Shape,
    stop: &'a (dyn Fn() -> bool + Send + Sync),
    rounds: usize,
    scaling: FittedScaling,
    intercept: bool,
    /// The weights whose scores the rows have, and those before them.
    w: Vec<f64>,
    before: Option<Vec<f64>>,
    /// The weights of `q`, and of `s`.
    direction: Vec<f64>,
    product: Vec<f64>,
    /// Where the curvatures are from, and whether their sums are wanted as a matrix.
    curved: Option<(LossKind, LinkSpec, Vec<f64>)>,
    formed: bool,
    /// The link whose values at the scores are the predictions.
    predictions: Option<LinkSpec>,
    carry: Carry,
    seen: Vec<Seen>,
    counted: Counted,
}

/// What a round told of a point.
struct Seen {
    w: Vec<f64>,
    link: LinkSpec,
    /// Of [`Want::Terms`]; else of [`Want::Loss`].
    kind: Option<LossKind>,
    answers: Vec<Answer>,
}

/// The cells as if each were a row.
#[derive(Default)]
struct Counted {
    labels: Vec<u8>,
    weights: Vec<f64>,
    values: Vec<f64>,
    numbers: Vec<f64>,
    predicted: bool,
    carried: Vec<f64>,
    order: ScoreOrder,
    group_weights: Vec<f64>,
    placed: Placed,
}

impl std::fmt::Debug for InBlocks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InBlocks").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl<'a> InBlocks<'a> {
    /// Both classes must occur, and the blocks must have the same columns. `stop` ends a run.
    pub fn new(blocks: &'a dyn Blocks, stop: &'a (dyn Fn() -> bool + Send + Sync)) -> Result<Self> {
        Ok(Self {
            shape: shape(blocks)?,
            blocks,
            stop,
            rounds: 0,
            scaling: FittedScaling::None,
            intercept: true,
            w: Vec::new(),
            before: None,
            direction: Vec::new(),
            product: Vec::new(),
            curved: None,
            formed: false,
            predictions: None,
            carry: Carry::Nothing,
            seen: Vec::new(),
            counted: Counted::default(),
        })
    }

    /// Puts a question to every block and adds up what they tell.
    fn round(&mut self, want: Want) -> Result<Told> {
        if self.interrupted() {
            return Err(Error::Interrupted);
        }
        self.rounds += 1;
        let (scaling, intercept, total) =
            (self.scaling.clone(), self.intercept, self.shape.total_weight);
        let question = BlockQuestion::of(Program { scaling, intercept, total, want });
        let mut sum: Option<Told> = None;
        let stop = self.stop;
        self.blocks.ask(&question, &|| stop(), &mut |answer| {
            match (&mut sum, answer.told()?) {
                (Some(sum), Some(told)) => sum.add(told)?,
                (none, told) => *none = none.take().or(told),
            }
            Ok(())
        })?;
        sum.ok_or(Error::WrongAnswer { expected: "rows of positive weight" })
    }

    fn answers(&mut self, want: Want) -> Result<Vec<Answer>> {
        match self.round(want)? {
            Told::Answers(answers) => Ok(answers),
            _ => Err(Error::WrongAnswer { expected: "sums" }),
        }
    }

    fn answer(&mut self, want: Want) -> Result<Answer> {
        self.answers(want)?.pop().ok_or(Error::WrongAnswer { expected: "a sum" })
    }

    /// Fits a scaling in one round and puts it over the rows.
    fn scale(&mut self, scaling: Scaling, intercept: bool) -> Result<Answer> {
        (self.scaling, self.intercept) = (FittedScaling::None, false);
        self.scaling = match scaling {
            Scaling::None => FittedScaling::None,
            Scaling::UnitRows => FittedScaling::UnitRows,
            Scaling::MaxNorm => {
                let largest = self.answer(Want::MaxNorm)?.number()?;
                FittedScaling::MaxNorm { factor: if largest > 0.0 { 1.0 / largest } else { 1.0 } }
            }
            Scaling::Standardise => match self.round(Want::Scaling(scaling))? {
                Told::Scaling(fitted, _) => fitted,
                _ => return Err(Error::WrongAnswer { expected: "a scaling" }),
            },
        };
        self.intercept = intercept;
        self.seen.clear();
        Ok(Answer::Scaling(self.scaling.clone()))
    }

    fn spectral_norm(&mut self, tolerance: f64, rounds: usize) -> Result<Answer> {
        let d = (self as &dyn Rows).dimension();
        let norm = if d <= FORMED {
            let gram = self.answer(Want::Gram)?.vector()?;
            let trace = (0..d).map(|j| gram[j * d + j]).sum();
            SpectralNorm::of(d, trace, tolerance, rounds, |v, a_v| {
                for (row, a) in gram.chunks_exact(d).zip(a_v) {
                    *a = row.iter().zip(v).map(|(g, v)| g * v).sum();
                }
                Ok(())
            })?
        } else {
            let trace = self.answer(Want::SecondMoments)?.vector()?.iter().sum();
            SpectralNorm::of(d, trace, tolerance, rounds, |v, a_v| {
                a_v.copy_from_slice(&self.answer(Want::Product { v: v.to_vec() })?.vector()?);
                Ok(())
            })?
        };
        Ok(Answer::SpectralNorm(norm.estimate, norm.upper_bound, norm.iterations))
    }

    /// The weights after a step.
    fn moved(&self, eta: f64) -> Vec<f64> {
        if eta == 0.0 || self.direction.is_empty() {
            return self.w.clone();
        }
        self.w.iter().zip(&self.direction).map(|(w, g)| w + eta * g).collect()
    }

    /// What is known of a point under a link, from memory or by a round.
    fn look(&mut self, w: Vec<f64>, link: LinkSpec, kind: Option<LossKind>) -> Result<&[Answer]> {
        let needed = 2 + usize::from(kind.is_none() || self.formed);
        let known = self.seen.iter().position(|seen| {
            seen.kind == kind && seen.answers.len() >= needed && seen.w == w && seen.link == link
        });
        let at = match known {
            Some(at) => at,
            None => {
                let (w_sent, link_sent, gram) = (w.clone(), link.clone(), self.formed);
                let answers = self.answers(match kind {
                    Some(kind) => Want::Terms { kind, link: link_sent, w: w_sent, gram },
                    None => Want::Loss { link: link_sent, w: w_sent },
                })?;
                if self.seen.len() == REMEMBERED {
                    self.seen.remove(0);
                }
                self.seen.push(Seen { w, link, kind, answers });
                self.seen.len() - 1
            }
        };
        Ok(&self.seen[at].answers)
    }

    /// The sums of [`Want::Loss`]: mean loss, gap, range.
    fn under(&mut self, link: LinkSpec, eta: f64, which: usize) -> Result<Answer> {
        let w = self.moved(eta);
        Ok(self.look(w, link, None)?[which].clone())
    }

    fn terms(&mut self, w: Vec<f64>, link: LinkSpec, kind: LossKind) -> Result<Vec<f64>> {
        self.look(w, link, Some(kind))?[0].clone().vector()
    }

    fn curved(&self) -> Result<(LossKind, LinkSpec, Vec<f64>)> {
        self.curved.clone().ok_or(Error::WrongAnswer { expected: "curvatures of the rows" })
    }

    /// Counts the scores of the rows, with what they carry.
    fn count(&mut self) -> Result<()> {
        let carried = match (self.carry, &self.before, &self.predictions) {
            (Carry::Scores, Some(before), _) => Carried::Scores(before.clone()),
            (Carry::Predictions, Some(before), Some(link)) => {
                Carried::Predictions(before.clone(), link.clone())
            }
            _ => Carried::Nothing,
        };
        let Told::Counted(counted) = self.round(Want::Counted { w: self.w.clone(), carried })?
        else {
            return Err(Error::WrongAnswer { expected: "counted scores" });
        };
        let Points { scores, labels, weights, carried } = counted.points();
        let counted = &mut self.counted;
        counted.order.update(&scores)?;
        counted.values = vec![0.0; scores.len()];
        (counted.numbers, counted.labels) = (scores, labels);
        (counted.weights, counted.carried) = (weights, carried);
        counted.predicted = false;
        counted.group_weights.clear();
        counted.order.group_weights(Some(&counted.weights), &mut counted.group_weights)
    }
}

impl Rows for InBlocks<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn stored(&self) -> usize {
        self.blocks.facts().iter().map(|facts| facts.stored as usize).sum()
    }

    fn ask(&mut self, question: &Question<'_>) -> Result<Answer> {
        Ok(match question {
            Question::Scale { scaling, intercept } => self.scale(*scaling, *intercept)?,
            Question::MaxNorm => self.answer(Want::MaxNorm)?,
            Question::SpectralNorm { tolerance, rounds } => {
                self.spectral_norm(*tolerance, *rounds)?
            }
            Question::SecondMoments => self.answer(Want::SecondMoments)?,
            Question::Score { w } => {
                self.before = (!self.w.is_empty()).then(|| std::mem::take(&mut self.w));
                self.w = w.to_vec();
                Answer::Done
            }
            Question::Direct { g } => {
                self.direction = g.to_vec();
                Answer::Done
            }
            Question::Advance { eta } => {
                let next = self.moved(*eta);
                self.before = Some(std::mem::replace(&mut self.w, next));
                Answer::Done
            }
            Question::Predict { link } => {
                self.take_link(&**link)?;
                Answer::Done
            }
            Question::Gap { predictions: Predictions::Kept } => {
                // A method that gives rows their predictions one by one.
                let missing = Error::NeedsMemory { what: "this method" };
                let link = self.predictions.clone().ok_or(missing)?;
                self.under(link, 0.0, 1)?
            }
            Question::Gap { predictions: Predictions::Of(link) } => {
                self.under(link.spec(), 0.0, 1)?
            }
            Question::Loss { link, eta } => self.under(link.spec(), *eta, 0)?,
            Question::Terms { kind, link } => {
                let (w, link) = (self.w.clone(), link.spec());
                self.curved = Some((*kind, link.clone(), w.clone()));
                Answer::Sum(self.terms(w, link, *kind)?)
            }
            // The gradient along the direction: Σ ω ℓ' q = (Σ ω ℓ' x̃)·p.
            Question::Along { kind, link, t } => {
                let terms = self.terms(self.moved(*t), link.spec(), *kind)?;
                let slope = terms[2..].iter().zip(&self.direction).map(|(g, p)| g * p).sum();
                Answer::Sum(vec![terms[0], slope])
            }
            Question::Gram => {
                let (kind, link, w) = self.curved()?;
                self.formed = true;
                self.look(w, link, Some(kind))?[2].clone()
            }
            Question::GramDiagonal => {
                let (kind, link, w) = self.curved()?;
                self.answer(Want::Curved { kind, link, w, v: None })?
            }
            Question::GramProduct { v } => {
                let (kind, link, w) = self.curved()?;
                self.product = v.to_vec();
                let v = Some(v.to_vec());
                self.answer(Want::Curved { kind, link, w, v })?
            }
            Question::Extend { length } => {
                for (g, v) in self.direction.iter_mut().zip(&self.product) {
                    *g += length * v;
                }
                Answer::Done
            }
            Question::Reach { eta } => {
                let w = self.moved(*eta);
                let known = self.seen.iter().find(|seen| seen.w == w);
                match known {
                    Some(seen) => seen.answers[if seen.kind.is_some() { 1 } else { 2 }].clone(),
                    None => self.under(LinkSpec::builtin("sigmoid"), *eta, 2)?,
                }
            }
            Question::Keep | Question::Divergences { .. } | Question::MeanPrediction { .. } => {
                return Err(Error::NeedsMemory { what: "this method" });
            }
        })
    }

    fn by_score(&mut self) -> Result<ByScore<'_>> {
        self.count()?;
        self.ordered()
    }

    fn ordered(&mut self) -> Result<ByScore<'_>> {
        let counted = &mut self.counted;
        let matrix = Matrix::dense_f64(&counted.values, counted.values.len(), 1)?;
        let sample = Sample::of_block(matrix, &counted.labels, Some(&counted.weights));
        Ok(ByScore {
            order: &counted.order,
            sample: sample.ok_or(Error::WrongAnswer { expected: "counted scores" })?,
            weights: Some(&counted.group_weights),
            numbers: &mut counted.numbers,
            predicted: &mut counted.predicted,
            carried: &mut counted.carried,
            placed: &mut counted.placed,
        })
    }

    fn carry(&mut self, carry: Carry) {
        self.carry = carry;
    }

    fn take_link(&mut self, link: &dyn InverseLink) -> Result<()> {
        self.predictions = Some(link.spec());
        Ok(())
    }

    fn scaling(&self) -> (&FittedScaling, bool) {
        (&self.scaling, self.intercept)
    }

    fn blocks(&self) -> Option<&dyn Blocks> {
        Some(self.blocks)
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn interrupted(&self) -> bool {
        (self.stop)()
    }

    /// Weights in the places of what rows in memory compute from them.
    fn state(&self) -> RowState {
        RowState {
            numbers: self.w.clone(),
            direction: self.direction.clone(),
            carried: self.before.clone().unwrap_or_default(),
            ..RowState::default()
        }
    }

    fn restore(&mut self, state: RowState) -> Result<()> {
        let dimension = (self as &dyn Rows).dimension();
        for vector in [&state.numbers, &state.direction, &state.carried] {
            let fits = vector.is_empty() || vector.len() == dimension;
            if !(fits && vector.iter().all(|x| x.is_finite())) {
                let reason = "its vectors do not belong to these columns".to_owned();
                return Err(Error::Checkpoint { reason });
            }
        }
        (self.w, self.direction) = (state.numbers, state.direction);
        self.before = (!state.carried.is_empty()).then_some(state.carried);
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        fingerprint::mixed(self.blocks.facts().iter().map(|facts| facts.fingerprint))
    }
}

/// Rows of a block: far from overflow.
const MOST_ROWS: u64 = 1 << 40;

/// The shape of all rows.
fn shape(blocks: &dyn Blocks) -> Result<Shape> {
    let facts = blocks.facts();
    let (mut rows, mut weights) = (0, [0.0; 2]);
    let columns = facts.iter().find(|facts| facts.rows > 0).map_or(0, |facts| facts.columns);
    for (number, facts) in facts.iter().enumerate().filter(|(_, facts)| facts.rows > 0) {
        if facts.columns != columns {
            return Err(Error::BlockColumns {
                block: number,
                columns: facts.columns as usize,
                expected: columns as usize,
            });
        }
        let classes = facts.counts[0].checked_add(facts.counts[1]);
        if facts.rows > MOST_ROWS || classes.is_none_or(|classes| classes > facts.rows) {
            return Err(Error::WrongAnswer { expected: "facts of a block" });
        }
        rows += facts.rows;
        weights[0] += facts.weights[0];
        weights[1] += facts.weights[1];
    }
    for (what, length) in [("rows", rows), ("columns", columns)] {
        if length == 0 {
            return Err(Error::TooShort { what, length: 0, minimum: 1 });
        }
    }
    let total = weights[0] + weights[1];
    total_weight(total)?;
    if weights.contains(&0.0) {
        return Err(Error::OneClass { label: u8::from(weights[0] == 0.0) });
    }
    Ok(Shape {
        rows: rows as usize,
        columns: columns as usize,
        total_weight: total,
        base_rate: weights[1] / total,
    })
}
