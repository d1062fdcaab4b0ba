//! Rows in memory, borrowed.

mod ready;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{Answer, ByScore, Predictions, Question, RowState, Rows, Shape, fingerprint, terms};
use crate::certify::Pieces;
use crate::chain::ScoreOrder;
use crate::design::{Design, FittedScaling, Intercept, Scaling};
use crate::error::{Error, Result, same_length};
use crate::link::{InverseLink, PiecewiseLink};
use crate::loss::LossKind;
use crate::sample::Sample;

/// Rows summed in one piece. Fixed, so that sums have the same bits for any number of threads.
const CHUNK: usize = 8192;
/// The same for sums whose terms cost more.
const SMALL_CHUNK: usize = 2048;

/// Where each row stands on a piecewise link.
#[derive(Debug, Default)]
pub(super) struct Placed {
    pub pieces: Pieces,
    pub row_piece: Vec<u32>,
    pub row_value: Vec<f64>,
}

/// One partition: matrix, labels, weights, and the state of its rows. It alone calls the kernels.
#[derive(Debug)]
pub struct Local<'a> {
    sample: Sample<'a>,
    design: Design<'a>,
    /// The scores; after Step 3 the predictions take their place, and Step 1 turns these into
    /// residuals before it writes the next scores: 8 bytes a row for all of them.
    numbers: Vec<f64>,
    predicted: bool,
    /// `X g`.
    direction: Vec<f64>,
    /// `ω_i (y_i - ŷ_i)`, where the scores have to stay.
    residual: Vec<f64>,
    /// `ω_i ℓ_i''`, and `X v`: of Newton steps only.
    curvature: Vec<f64>,
    product: Vec<f64>,
    carried: Vec<f64>,
    placed: Placed,
    order: ScoreOrder,
    group_weights: Vec<f64>,
    stop: Option<&'a AtomicBool>,
    folds: Option<&'a [u32]>,
}

impl<'a> Local<'a> {
    /// Rows as they are, not yet scaled.
    pub fn new(sample: &Sample<'a>) -> Self {
        Self {
            sample: *sample,
            design: Design::new(sample, Scaling::None, Intercept::Zero),
            numbers: Vec::new(),
            predicted: false,
            direction: Vec::new(),
            residual: Vec::new(),
            curvature: Vec::new(),
            product: Vec::new(),
            carried: Vec::new(),
            placed: Placed::default(),
            order: ScoreOrder::new(),
            group_weights: Vec::new(),
            stop: None,
            folds: None,
        }
    }

    /// Rows of a block under a scaling that was fitted to all rows.
    pub(super) fn scaled(
        sample: &Sample<'a>,
        scaling: FittedScaling,
        intercept: Intercept,
    ) -> Result<Self> {
        let design = Design::with_unchecked_values(sample.matrix(), scaling, intercept)?;
        Ok(Self { design, ..Self::new(sample) })
    }

    /// `h = ω`, for the questions that ask for sums over curvatures.
    pub(super) fn take_uniform_curvature(&mut self) {
        let (sample, total) = (&self.sample, self.weight_sum());
        self.curvature = (0..sample.rows()).map(|i| sample.weight(i) / total).collect();
    }

    /// The scores, which the rows then no longer have.
    pub(super) fn take_numbers(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.numbers)
    }

    /// The same; every question is refused once `stop` is true.
    pub fn with_stop(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The same, with the fold that each row is held out in.
    pub fn with_folds(mut self, folds: Option<&'a [u32]>) -> Self {
        self.folds = folds;
        self
    }

    fn check(&self) -> Result<()> {
        if self.interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// `ω_i (y_i - ŷ_i)` in the place of `ŷ`.
    fn to_residual(sample: &Sample<'_>, y_hat: &mut [f64]) {
        let (total, labels) = (sample.total_weight(), sample.labels());
        y_hat.par_chunks_mut(CHUNK).enumerate().for_each(|(c, chunk)| {
            for (k, r) in chunk.iter_mut().enumerate() {
                let i = c * CHUNK + k;
                *r = sample.weight(i) / total * (f64::from(labels[i]) - *r);
            }
        });
    }

    /// `Σ ω (y - ŷ) x̃`. The gradient of the loss is its negative:
    /// `d/dw E[U(w·x) + U*(y) - y w·x] = μ_t - μ_y`.
    fn gap(&mut self, predictions: &Predictions<'_>) -> Vec<f64> {
        let mut gap = vec![0.0; self.design.dimension()];
        match predictions {
            Predictions::Kept if self.predicted => {
                Self::to_residual(&self.sample, &mut self.numbers);
                self.design.adjoint(&self.numbers, &mut gap);
                return gap;
            }
            Predictions::Kept => self.residual.clone_from(&self.placed.row_value),
            Predictions::Of(link) => {
                self.residual.clear();
                self.residual.extend(self.numbers.iter().map(|&z| link.u(z)));
            }
        }
        Self::to_residual(&self.sample, &mut self.residual);
        self.design.adjoint(&self.residual, &mut gap);
        gap
    }

    /// The score of a row after a step.
    fn moved(&self, i: usize, eta: f64) -> f64 {
        if eta == 0.0 { self.numbers[i] } else { self.numbers[i] + eta * self.direction[i] }
    }

    /// `E[value(i)]` for several values at once, in fixed pieces.
    fn means<const T: usize>(&self, value: impl Fn(usize) -> [f64; T] + Sync) -> Answer {
        let (sample, rows) = (&self.sample, self.sample.rows());
        let starts: Vec<usize> = (0..rows).step_by(SMALL_CHUNK).collect();
        let partial: Vec<[f64; T]> = starts
            .par_iter()
            .map(|&start| {
                let mut sums = [0.0; T];
                for i in start..rows.min(start + SMALL_CHUNK) {
                    let (weight, values) = (sample.weight(i), value(i));
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += weight * value;
                    }
                }
                sums
            })
            .collect();
        let total = sample.total_weight();
        let mean = |t: usize| partial.iter().map(|sums| sums[t]).sum::<f64>() / total;
        Answer::Sum((0..T).map(mean).collect())
    }

    /// `E[D_U(z + η X g ‖ z)]` (Lemma 2) for several `η` in one pass, the largest first.
    fn divergences<const T: usize>(&self, link: &PiecewiseLink, etas: [f64; T]) -> Answer {
        let Placed { pieces, row_piece, .. } = &self.placed;
        self.means(|i| {
            let (z, direction, piece) = (self.numbers[i], self.direction[i], row_piece[i] as usize);
            pieces.divergences(link, etas.map(|eta| z + eta * direction), z, piece)
        })
    }

    /// The sum of the weights in the order of the rows.
    fn weight_sum(&self) -> f64 {
        self.sample.weights().map_or(self.sample.rows() as f64, |weights| weights.iter().sum())
    }

    /// `Σ ω ℓ`, `Σ ω ℓ''`, `Σ ω ℓ' x̃`.
    fn terms(&mut self, kind: LossKind, link: &dyn InverseLink) -> Vec<f64> {
        let (rows, total) = (self.sample.rows(), self.weight_sum());
        let r = Self::resize(&mut self.residual, rows);
        let h = Self::resize(&mut self.curvature, rows);
        let value = terms::evaluate(kind, link, &self.sample, total, &self.numbers, r, h);
        let mut sums = vec![0.0; 2 + self.design.dimension()];
        (sums[0], sums[1]) = (value, h.iter().sum());
        self.design.adjoint(&self.residual, &mut sums[2..]);
        sums
    }

    /// `Σ h x̃ (x̃·v)`.
    fn gram_product(&mut self, v: &[f64]) -> Vec<f64> {
        let rows = self.sample.rows();
        self.design.scores(v, Self::resize(&mut self.product, rows));
        let weighted = Self::resize(&mut self.residual, rows);
        for (s, (h, z)) in weighted.iter_mut().zip(self.curvature.iter().zip(&self.product)) {
            *s = h * z;
        }
        let mut product = vec![0.0; v.len()];
        self.design.adjoint(&self.residual, &mut product);
        product
    }

    fn resize(numbers: &mut Vec<f64>, rows: usize) -> &mut [f64] {
        numbers.resize(rows, 0.0);
        numbers
    }
}

impl Rows for Local<'_> {
    fn shape(&self) -> Shape {
        Shape {
            rows: self.sample.rows(),
            columns: self.sample.columns(),
            total_weight: self.sample.total_weight(),
            base_rate: self.sample.base_rate(),
        }
    }

    fn stored(&self) -> usize {
        self.sample.matrix().stored()
    }

    fn ask(&mut self, question: &Question<'_>) -> Result<Answer> {
        self.check()?;
        self.ready(question)?;
        let rows = self.sample.rows();
        Ok(match question {
            Question::Scale { scaling, intercept } => {
                self.design = Design::new(&self.sample, *scaling, (*intercept).into());
                Answer::Scaling(self.design.scaling().clone())
            }
            Question::MaxNorm => Answer::Largest(self.design.max_row_norm(self.sample.weights())),
            Question::SpectralNorm { tolerance, rounds } => {
                let norm = self.design.spectral_norm(self.sample.weights(), *tolerance, *rounds);
                Answer::SpectralNorm(norm.estimate, norm.upper_bound, norm.iterations)
            }
            Question::Score { w } if w.iter().all(|&w| w == 0.0) => {
                // Fresh zeros are pages that nobody has touched: they take no memory until Step 3 writes its
                // predictions, when the room of the first sort has gone.
                self.numbers = vec![0.0; rows];
                self.predicted = false;
                Answer::Done
            }
            Question::Score { w } => {
                self.design.scores(w, Self::resize(&mut self.numbers, rows));
                self.predicted = false;
                Answer::Done
            }
            Question::Direct { g } if g.iter().all(|&g| g == 0.0) => {
                Self::resize(&mut self.direction, rows).fill(0.0);
                Answer::Done
            }
            Question::Direct { g } => {
                self.design.scores(g, Self::resize(&mut self.direction, rows));
                Answer::Done
            }
            Question::Advance { eta } => {
                for (z, q) in self.numbers.iter_mut().zip(&self.direction) {
                    *z += eta * q;
                }
                Answer::Done
            }
            Question::Predict { link } => {
                self.numbers.iter_mut().for_each(|z| *z = link.u(*z));
                self.predicted = true;
                Answer::Done
            }
            Question::Keep => {
                self.carried.clone_from(&self.numbers);
                Answer::Done
            }
            Question::Gap { predictions: Predictions::Kept }
                if !self.predicted && self.placed.row_value.len() != rows =>
            {
                return Err(Error::WrongAnswer { expected: "predictions of the rows" });
            }
            Question::Gap { predictions } => Answer::Sum(self.gap(predictions)),
            Question::Loss { link, eta } => {
                let (sample, z, q) = (&self.sample, &self.numbers, &self.direction);
                Answer::Sum(vec![match eta {
                    0.0 => mean_loss(&**link, sample, |i| z[i]),
                    eta => mean_loss(&**link, sample, |i| z[i] + eta * q[i]),
                }])
            }
            Question::Terms { kind, link } => Answer::Sum(self.terms(*kind, &**link)),
            Question::Gram => {
                let d = self.design.dimension();
                let mut gram = vec![0.0; d * d];
                self.design.weighted_gram(&self.curvature, &mut gram);
                Answer::Sum(gram)
            }
            Question::GramDiagonal => {
                let mut diagonal = vec![0.0; self.design.dimension()];
                self.design.weighted_squares(&self.curvature, &mut diagonal);
                Answer::Sum(diagonal)
            }
            Question::GramProduct { v } => Answer::Sum(self.gram_product(v)),
            Question::Extend { length } => {
                for (q, s) in self.direction.iter_mut().zip(&self.product) {
                    *q += length * s;
                }
                Answer::Done
            }
            Question::SecondMoments => {
                let total = self.weight_sum();
                let share: Vec<f64> = (0..rows).map(|i| self.sample.weight(i) / total).collect();
                let mut moments = vec![0.0; self.design.dimension()];
                self.design.weighted_squares(&share, &mut moments);
                Answer::Sum(moments)
            }
            Question::Along { kind, link, t } => {
                let (z, q, total) = (&self.numbers, &self.direction, self.weight_sum());
                Answer::Sum(
                    terms::evaluate_along(*kind, &**link, &self.sample, total, z, q, *t).to_vec(),
                )
            }
            Question::Reach { eta } => {
                let ends = (f64::INFINITY, f64::NEG_INFINITY);
                let (least, largest) = (0..rows)
                    .map(|i| self.moved(i, *eta))
                    .fold(ends, |(low, high), z| (low.min(z), high.max(z)));
                Answer::Range(least, largest)
            }
            Question::Divergences { link, etas } => {
                let Some(link) = link.as_piecewise() else {
                    return Err(Error::WrongAnswer { expected: "a piecewise link" });
                };
                if self.placed.pieces.is_empty() {
                    self.placed.pieces.fill(link);
                    let count = self.placed.pieces.count();
                    if self.placed.row_piece.iter().any(|&piece| piece as usize >= count) {
                        let reason = "its rows lie outside of its link".to_owned();
                        return Err(Error::Checkpoint { reason });
                    }
                }
                match etas[..] {
                    [eta] => self.divergences(link, [eta]),
                    [eta, next] => self.divergences(link, [eta, next]),
                    _ => return Err(Error::WrongAnswer { expected: "one or two steps" }),
                }
            }
            Question::MeanPrediction { link, eta } => {
                self.means(|i| [link.u(self.numbers[i] + eta * self.direction[i])])
            }
        })
    }

    fn by_score(&mut self) -> Result<ByScore<'_>> {
        self.check()?;
        self.order.update(&self.numbers)?;
        let unit = self.sample.weights().is_none() && !self.order.has_ties();
        self.group_weights.clear();
        if !unit {
            self.order.group_weights(self.sample.weights(), &mut self.group_weights)?;
        }
        self.ordered()
    }

    fn ordered(&mut self) -> Result<ByScore<'_>> {
        Ok(ByScore {
            order: &self.order,
            sample: self.sample,
            weights: (!self.group_weights.is_empty()).then_some(&self.group_weights[..]),
            numbers: &mut self.numbers,
            predicted: &mut self.predicted,
            carried: &mut self.carried,
            placed: &mut self.placed,
        })
    }

    fn scaling(&self) -> (&FittedScaling, bool) {
        (self.design.scaling(), self.design.has_intercept())
    }

    fn sample(&self) -> Option<Sample<'_>> {
        Some(self.sample)
    }

    fn folds(&self) -> Option<&[u32]> {
        self.folds
    }

    fn interrupted(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn state(&self) -> RowState {
        RowState {
            numbers: self.numbers.clone(),
            predicted: self.predicted,
            direction: self.direction.clone(),
            predictions: self.placed.row_value.clone(),
            carried: self.carried.clone(),
            pieces: self.placed.row_piece.clone(),
        }
    }

    fn restore(&mut self, state: RowState) -> Result<()> {
        let rows = self.sample.rows();
        // What the start of the run has filled, its checkpoint has too.
        let lengths = [
            (state.numbers.len(), self.numbers.len()),
            (state.direction.len(), self.direction.len()),
            (state.predictions.len(), self.placed.row_value.len()),
            (state.carried.len(), self.carried.len()),
            (state.pieces.len(), self.placed.row_piece.len()),
        ];
        for (length, here) in lengths {
            if (length, here) != (0, 0) {
                same_length(("a column of the checkpoint", length), ("rows", rows))?;
            }
        }
        for numbers in [&state.numbers, &state.direction, &state.predictions, &state.carried] {
            if numbers.iter().any(|number| !number.is_finite()) {
                let reason = "not all of its numbers are finite".to_owned();
                return Err(Error::Checkpoint { reason });
            }
        }
        self.numbers = state.numbers;
        self.predicted = state.predicted;
        self.direction = state.direction;
        self.carried = state.carried;
        self.placed.row_value = state.predictions;
        self.placed.row_piece = state.pieces;
        // Of another link: filled again with the link of the next question.
        self.placed.pieces = Pieces::default();
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let sample = &self.sample;
        fingerprint::of(&sample.matrix(), sample.labels(), sample.weights())
    }
}

/// `E[ℓ(y_i, z(i))]`: `U(z)` for a negative, `∫_z^∞ (1 - u)` for a positive.
pub(super) fn mean_loss(
    link: &dyn InverseLink,
    sample: &Sample<'_>,
    z: impl Fn(usize) -> f64 + Sync,
) -> f64 {
    // Where the canonical loss is infinite (heavy tails: Cauchy), U(z) - y z differs from it by a
    // constant only.
    let finite = link.conjugate(1.0).is_finite();
    let partial: Vec<f64> = sample
        .labels()
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(c, chunk)| {
            let mut sum = 0.0;
            for (k, &label) in chunk.iter().enumerate() {
                let i = c * CHUNK + k;
                let z = z(i);
                let loss = match label {
                    0 => link.potential(z),
                    _ if finite => link.upper_potential(z),
                    _ => link.potential(z) - z,
                };
                sum += sample.weight(i) * loss;
            }
            sum
        })
        .collect();
    partial.iter().sum::<f64>() / sample.total_weight()
}
