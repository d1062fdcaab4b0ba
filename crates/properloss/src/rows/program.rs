//! What the methods of one model ask of a block: complete questions, so that a block keeps nothing.
//!
//! A block puts the scaling over its rows, scores them with the weights that came with the question, and
//! answers as rows in memory would ([`Local`]): means over its own weight, times its share of all weight.

use super::counted::CountedScores;
use super::{Answer, Block, Local, Predictions, Question, Rows};
use crate::design::{FittedScaling, Scaling};
use crate::error::{Error, Result};
use crate::link::LinkSpec;
use crate::loss::LossKind;
use crate::sample::Sample;

/// A question with the scaling it is about.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Program {
    pub scaling: FittedScaling,
    pub intercept: bool,
    /// The weight of all rows.
    pub total: f64,
    pub want: Want,
}

/// What is wanted, and at which weights.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Want {
    /// This scaling, fitted to the block's rows.
    Scaling(Scaling),
    /// `max |x̃|`.
    MaxNorm,
    /// `Σ ω x̃_j²`.
    SecondMoments,
    /// `Σ ω x̃ x̃'`.
    Gram,
    /// `Σ ω x̃ (x̃·v)`.
    Product { v: Vec<f64> },
    /// The sums of [`Question::Terms`], the range of the scores, and `Σ h x̃ x̃'` if it is wanted.
    Terms { kind: LossKind, link: LinkSpec, w: Vec<f64>, gram: bool },
    /// `Σ h x̃_j²`, or `Σ h x̃ (x̃·v)`.
    Curved { kind: LossKind, link: LinkSpec, w: Vec<f64>, v: Option<Vec<f64>> },
    /// Mean loss, `Σ ω (y - u(z)) x̃`, the range of the scores.
    Loss { link: LinkSpec, w: Vec<f64> },
    /// Scores counted in cells, with what their rows carry.
    Counted { w: Vec<f64>, carried: Carried },
}

/// What rows carry from one iteration to the next.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Carried {
    Nothing,
    /// The scores of these weights.
    Scores(Vec<f64>),
    /// The predictions of this link at them.
    Predictions(Vec<f64>, LinkSpec),
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Told {
    Answers(Vec<Answer>),
    Counted(CountedScores),
    /// A scaling of the rows of this weight.
    Scaling(FittedScaling, f64),
}

impl Told {
    /// Adds what the next block told.
    pub fn add(&mut self, next: Self) -> Result<()> {
        match (self, next) {
            (Self::Answers(mine), Self::Answers(next)) if mine.len() == next.len() => {
                for (mine, next) in mine.iter_mut().zip(next) {
                    *mine = std::mem::replace(mine, Answer::Done).merge(next)?;
                }
            }
            (Self::Counted(mine), Self::Counted(next)) => mine.add(next),
            (Self::Scaling(mine, weight), Self::Scaling(next, more)) => {
                merge_scaling(mine, *weight, &next, more)?;
                *weight += more;
            }
            _ => return Err(Error::WrongAnswer { expected: "answers to one question" }),
        }
        Ok(())
    }
}

/// Means and deviations of two parts together (Chan, Golub and LeVeque):
///
/// ```text
/// mean = m₁ + (m₂ - m₁) w₂/w,    variance = (w₁ s₁² + w₂ s₂²)/w + (m₂ - m₁)² w₁ w₂/w²
/// ```
fn merge_scaling(
    mine: &mut FittedScaling,
    weight: f64,
    next: &FittedScaling,
    more: f64,
) -> Result<()> {
    let (
        FittedScaling::Standardise { mean, factor },
        FittedScaling::Standardise { mean: next_mean, factor: next_factor },
    ) = (mine, next)
    else {
        return Err(Error::WrongAnswer { expected: "means and deviations" });
    };
    if [&*factor, next_mean, next_factor].iter().any(|numbers| numbers.len() != mean.len()) {
        return Err(Error::WrongAnswer { expected: "means and deviations of the same columns" });
    }
    let total = weight + more;
    let variance = |factor: f64| if factor > 0.0 { 1.0 / (factor * factor) } else { 0.0 };
    for j in 0..mean.len() {
        let apart = next_mean[j] - mean[j];
        let inside = (weight * variance(factor[j]) + more * variance(next_factor[j])) / total;
        let deviation = (inside + apart * apart * (weight / total) * (more / total)).sqrt();
        mean[j] += apart * (more / total);
        // As for rows in memory: within rounding of a constant column.
        let constant = deviation <= 8.0 * f64::EPSILON * mean[j].abs();
        factor[j] = if constant { 0.0 } else { 1.0 / deviation };
    }
    Ok(())
}

impl Program {
    /// What a block tells; `None` if it has no weight.
    pub fn answer(&self, block: &Block<'_>) -> Result<Option<Told>> {
        let Some(sample) = Sample::of_block(block.matrix, block.labels, block.weights) else {
            return Ok(None);
        };
        let weight = sample.total_weight();
        if let Want::Scaling(scaling) = &self.want {
            return Ok(Some(Told::Scaling(scaling.fit(&sample), weight)));
        }
        let mut local = Local::scaled(&sample, self.scaling.clone(), self.intercept.into())?;
        if self.want.vectors().any(|vector| vector.len() != (&local as &dyn Rows).dimension()) {
            return Err(Error::WrongAnswer { expected: "a question for this block" });
        }
        if let Want::Counted { w, carried } = &self.want {
            return Ok(counted(&mut local, w, carried)?.map(Told::Counted));
        }
        let mut answers = self.want.answers(&mut local)?;
        let share = weight / self.total;
        for answer in &mut answers {
            if let Answer::Sum(sum) = answer {
                sum.iter_mut().for_each(|value| *value *= share);
            }
        }
        Ok(Some(Told::Answers(answers)))
    }
}

impl Want {
    /// The vectors that have a number for every coefficient.
    fn vectors(&self) -> impl Iterator<Item = &Vec<f64>> {
        let (first, second) = match self {
            Self::Scaling(_) | Self::MaxNorm | Self::SecondMoments | Self::Gram => (None, None),
            Self::Product { v } => (Some(v), None),
            Self::Terms { w, .. } | Self::Loss { w, .. } => (Some(w), None),
            Self::Curved { w, v, .. } => (Some(w), v.as_ref()),
            Self::Counted { w, carried } => (
                Some(w),
                match carried {
                    Carried::Nothing => None,
                    Carried::Scores(v) | Carried::Predictions(v, _) => Some(v),
                },
            ),
        };
        first.into_iter().chain(second)
    }

    fn answers(&self, local: &mut Local<'_>) -> Result<Vec<Answer>> {
        let uniform = matches!(self, Self::Gram | Self::Product { .. });
        if uniform {
            local.take_uniform_curvature();
        }
        let rows: &mut dyn Rows = local;
        let link = |spec: &LinkSpec| spec.build();
        Ok(match self {
            Self::Scaling(_) | Self::Counted { .. } => Vec::new(),
            Self::MaxNorm => vec![rows.ask(&Question::MaxNorm)?],
            Self::SecondMoments => vec![rows.ask(&Question::SecondMoments)?],
            Self::Gram => vec![rows.ask(&Question::Gram)?],
            Self::Product { v } => vec![rows.ask(&Question::GramProduct { v: v.into() })?],
            Self::Terms { kind, link: spec, w, gram } => {
                rows.score(w)?;
                let reach = rows.ask(&Question::Reach { eta: 0.0 })?;
                let link = link(spec)?;
                let terms = rows.ask(&Question::Terms { kind: *kind, link: (&*link).into() })?;
                let mut answers = vec![terms, reach];
                if *gram {
                    answers.push(rows.ask(&Question::Gram)?);
                }
                answers
            }
            Self::Curved { kind, link: spec, w, v } => {
                rows.score(w)?;
                let link = link(spec)?;
                rows.ask(&Question::Terms { kind: *kind, link: (&*link).into() })?;
                vec![match v {
                    None => rows.ask(&Question::GramDiagonal)?,
                    Some(v) => rows.ask(&Question::GramProduct { v: v.into() })?,
                }]
            }
            Self::Loss { link: spec, w } => {
                rows.score(w)?;
                let reach = rows.ask(&Question::Reach { eta: 0.0 })?;
                let link = link(spec)?;
                let loss = rows.ask(&Question::Loss { link: (&*link).into(), eta: 0.0 })?;
                let predictions = Predictions::Of((&*link).into());
                vec![loss, rows.ask(&Question::Gap { predictions })?, reach]
            }
        })
    }
}

fn counted(local: &mut Local<'_>, w: &[f64], carried: &Carried) -> Result<Option<CountedScores>> {
    let mut carry = Vec::new();
    if let Carried::Scores(before) | Carried::Predictions(before, _) = carried {
        (local as &mut dyn Rows).score(before)?;
        carry = local.take_numbers();
        if let Carried::Predictions(_, spec) = carried {
            let link = spec.build()?;
            carry.iter_mut().for_each(|z| *z = link.u(*z));
        }
    }
    (local as &mut dyn Rows).score(w)?;
    let scores = local.take_numbers();
    let Some(sample) = local.sample() else { return Ok(None) };
    CountedScores::new(&scores, sample.labels(), |i| sample.weight(i), &carry)
}
