//! How far a fit has come: the stages of the default estimator, one step after the other.
//!
//! ```text
//! Columns -> Path, point by point -> Average -> Link -> Refit -> Done
//! ```
//!
//! The state is plain data, so that a fit can be stored and taken up again. Not stored is what follows
//! from rows, options and state: weights and folds of the rows, and the Hessians of the path.

use std::sync::Arc;

use super::linalg::lane;
use super::path::{Models, Path, PathState, Scales};
use super::refit::{self, Refitted, Round};
use super::rows::{FoldRows, Halt, Here, LANES, Prepared, Scored, Source};
use super::smooth::{self, Smooth, SmoothLink};
use super::{LinkCost, ProperFit, ProperLoss};
use crate::design::FittedScaling;
use crate::error::{Error, Result};
use crate::link::{InverseLink, RelativeLink, Sigmoid};
use crate::piecewise::PiecewiseAffine;
use crate::rows::{Rows, Shape};
use crate::sample::Sample;
use crate::train::{Iteration, Model};

/// What a step of the default estimator did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Stage {
    /// Means and deviations of the columns.
    Columns,
    /// A point of the path, or exact scores of eight.
    Path,
    /// The average of the points.
    Average,
    /// The link.
    Link,
    /// The weights again under the link, and their link.
    Refit,
}

impl Stage {
    /// The name used in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Path => "path",
            Self::Average => "average",
            Self::Link => "link",
            Self::Refit => "refit",
        }
    }
}

/// Where the fit stands, with what the next step needs.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum At {
    Columns,
    Path(Box<PathState>),
    Link(Box<Path>),
    Refit(Box<Path>, Box<SmoothLink>),
    Done(Box<Outcome>),
}

/// What the stages led to.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Outcome {
    path: Path,
    link: SmoothLink,
    /// The fold models whose held-out scores the link was fitted to.
    models: Models,
    refit_share: f64,
    /// Scores of the link on the averaged path.
    before: f64,
    /// What that link cost against the sigmoid.
    link_cost: LinkCost,
    /// What counting scores in cells may have changed in the link.
    link_error: f64,
}

/// The state of a fit.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    #[cfg_attr(feature = "serde", serde(skip))]
    prepared: Option<Prepared>,
    at: At,
    /// A number that other folds would hardly have.
    folds: Option<u64>,
    /// The fit was stopped: no further points, no refit.
    stopped: bool,
    scaling: FittedScaling,
    /// The model of all rows that was reached, and its link relative to the sigmoid.
    w: Vec<f64>,
    v: PiecewiseAffine,
    /// Held-out log-loss of the averaged path, summed.
    plain: f64,
    passes: usize,
    stages: Vec<Stage>,
    last: Iteration,
}

/// Most steps of a fit.
pub(super) fn most_steps(options: &ProperLoss) -> usize {
    PathState::most_steps(options.grid.len(), options.scalings.len()) + 4
}

impl State {
    /// Before the first step: the model without features.
    pub(super) fn new(shape: Shape) -> Result<Self> {
        let mut w = vec![0.0; shape.columns + 1];
        let rate = shape.base_rate;
        w[shape.columns] = (rate / (1.0 - rate)).ln();
        let loss = -rate * rate.ln() - (1.0 - rate) * (-rate).ln_1p();
        Ok(Self {
            prepared: None,
            at: At::Columns,
            folds: None,
            stopped: false,
            scaling: FittedScaling::None,
            v: smooth::identity()?,
            plain: 0.0,
            passes: 0,
            stages: Vec::new(),
            last: Iteration {
                iteration: 0,
                loss,
                gap: 0.0,
                step: 1.0,
                score_min: w[shape.columns],
                score_max: w[shape.columns],
                slope_min: 1.0,
                slope_max: 1.0,
                link_change: 0.0,
                weight_change: 0.0,
            },
            w,
        })
    }

    /// Whether a stored state is one of rows with so many columns.
    pub(super) fn check(&self, columns: usize) -> Result<()> {
        if self.w.len() == columns + 1 && self.w.iter().all(|w| w.is_finite()) {
            return self.scaling.check(columns);
        }
        let reason = "its vectors do not belong to these columns".to_owned();
        Err(Error::Checkpoint { reason })
    }

    /// From now on only what makes a model of the points seen so far.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// What the next step does, in words; `None` at the end.
    pub(super) fn next_words(&self) -> Option<String> {
        let words = match &self.at {
            At::Columns => "the columns".to_owned(),
            At::Path(path) => path.next_words(),
            At::Link(_) => "the link".to_owned(),
            At::Refit(..) => "the weights under the link".to_owned(),
            At::Done(_) => return None,
        };
        Some(if self.passes == 0 { words } else { format!("{words} ({} passes)", self.passes) })
    }

    /// One step; `None` if the fit is done.
    pub(super) fn step(
        &mut self,
        options: &ProperLoss,
        rows: &dyn Rows,
    ) -> Result<Option<Iteration>> {
        if matches!(self.at, At::Done(_)) {
            return Ok(None);
        }
        let (source, halt) = (Source::of(rows)?, || rows.interrupted());
        let fresh = self.prepared.is_none();
        let mut prepared = match self.prepared.take() {
            Some(prepared) => prepared,
            None => self.prepare_again(options, &source, &halt)?,
        };
        if fresh && let At::Path(path) = &mut self.at {
            let rows = prepared.rows(&source)?;
            path.restore(&rows, &halt).map_err(|halted| rows.why(halted))?;
        }
        // Once in the pool, and not for every sum over the rows: waking a thread costs more than a
        // small sum.
        let stage = rayon::scope(|_| self.advance(options, &source, &mut prepared, &halt))?;
        self.prepared = Some(prepared);
        self.stages.push(stage);
        Ok(Some(self.last))
    }

    /// Weights and folds of the rows, which are not stored; the folds may have come with the rows.
    fn prepare_again(
        &mut self,
        options: &ProperLoss,
        source: &Source<'_>,
        halt: Halt<'_>,
    ) -> Result<Prepared> {
        let mut prepared = Prepared::new(source, options.class_weight, &options.folds, halt)?;
        let print = prepared.fold_print();
        if *self.folds.get_or_insert(print) != print {
            return Err(Error::Checkpoint { reason: "it was made with other folds".to_owned() });
        }
        if let FittedScaling::Standardise { mean, factor } = &self.scaling {
            prepared.standardise(mean.clone(), factor.clone());
        }
        Ok(prepared)
    }

    fn advance(
        &mut self,
        options: &ProperLoss,
        source: &Source<'_>,
        prepared: &mut Prepared,
        halt: Halt<'_>,
    ) -> Result<Stage> {
        let at = std::mem::replace(&mut self.at, At::Columns);
        if matches!(at, At::Columns) {
            let rows = prepared.rows(source)?;
            let scales = Scales::new(&rows.moments(halt).map_err(|halted| rows.why(halted))?);
            prepared.standardise(scales.mean.clone(), scales.factors());
            self.scaling = prepared.rows(source)?.scaling();
            let path = PathState::new(&options.grid, &options.scalings, scales);
            self.at = At::Path(Box::new(path));
            return Ok(Stage::Columns);
        }
        let rows = prepared.rows(source)?;
        match at {
            At::Columns | At::Done(_) => Err(Error::Interrupted),
            At::Path(mut path) => {
                if self.stopped {
                    path.stop_walking();
                }
                if path.step(&rows, halt).map_err(|halted| rows.why(halted))?.is_continue() {
                    self.see_path(&path, rows.total_weight);
                    self.passes = path.passes();
                    self.at = At::Path(path);
                    return Ok(Stage::Path);
                }
                let path = path.finish(&rows, halt).map_err(|halted| rows.why(halted))?;
                self.plain = path.scored.held_out.loss;
                self.passes = path.passes;
                let w = model_of_all(&rows, &path.w);
                self.see(w, None, self.plain / rows.total_weight, 1.0, &path.scored);
                self.at = At::Link(Box::new(path));
                Ok(Stage::Average)
            }
            At::Link(path) => {
                let link = link(options, &path.scored)?;
                let w = self.w.clone();
                let v = Some(link.v.clone());
                self.see(w, v, -link.score / rows.total_weight, 1.0, &path.scored);
                let skipped = self.stopped || !refit::is_worth_it(&link.v, options.refit);
                self.at = if skipped {
                    let (models, before) = (path.w.clone(), link.score);
                    let link_cost = LinkCost::of(&link, rows.total_weight)?;
                    let link_error = link.error_bound(&path.scored.bins)?;
                    At::Done(Box::new(Outcome {
                        path: *path,
                        link,
                        models,
                        refit_share: 0.0,
                        before,
                        link_cost,
                        link_error,
                    }))
                } else {
                    At::Refit(path, Box::new(link))
                };
                Ok(Stage::Link)
            }
            At::Refit(path, first) => {
                let outcome = self.refit(options, &rows, *path, *first, halt)?;
                self.at = At::Done(Box::new(outcome));
                Ok(Stage::Refit)
            }
        }
    }

    /// REFIT, once or twice, and the link of the averaged weights.
    fn refit(
        &mut self,
        options: &ProperLoss,
        rows: &FoldRows<'_>,
        mut path: Path,
        first: SmoothLink,
        halt: Halt<'_>,
    ) -> Result<Outcome> {
        let scored = |models: &Models| rows.scored(models, halt).map_err(|halted| rows.why(halted));
        let (before, link_cost) = (first.score, LinkCost::of(&first, rows.total_weight)?);
        let start = Round { w: path.w.clone(), scored: path.scored.clone(), link: first };
        let mut rounds = vec![start];
        while refit::goes_on(rows, &rounds) {
            let last = &rounds[rounds.len() - 1];
            let Refitted { w, passes } = refit::refit(rows, &mut path, last, options.refit, halt)?;
            self.passes += passes;
            let Some(w) = w else { break };
            let scored = scored(&w)?;
            rounds.push(Round { link: link(options, &scored)?, w, scored });
        }
        let shares = refit::shares(&rounds);
        let Round { w: models, scored, link } = match refit::alone(&shares) {
            Some(round) => rounds.swap_remove(round),
            None => {
                let w = refit::averaged(&rounds, &shares);
                let scored = scored(&w)?;
                Round { link: link(options, &scored)?, w, scored }
            }
        };
        let share = if refit::alone(&shares) == Some(0) { 0.0 } else { 1.0 - shares[0] };
        let loss = -link.score / rows.total_weight;
        let w = model_of_all(rows, &models);
        self.see(w, Some(link.v.clone()), loss, share, &scored);
        let link_error = link.error_bound(&scored.bins)?;
        Ok(Outcome { path, link, models, refit_share: share, before, link_cost, link_error })
    }

    /// The iteration that led to a point of the path.
    fn see_path(&mut self, path: &PathState, total: f64) {
        let Some((w, loss)) = path.reached() else { return };
        let look = path.look();
        self.last.weight_change = change(&self.w, &w);
        self.w = w;
        self.last.loss = loss / total;
        self.last.gap = look.gap;
        (self.last.score_min, self.last.score_max) = look.reach;
    }

    /// The iteration that led to these weights and this link (as it was, if `None`).
    fn see(
        &mut self,
        w: Vec<f64>,
        v: Option<PiecewiseAffine>,
        loss: f64,
        step: f64,
        scored: &Scored,
    ) {
        self.last.weight_change = change(&self.w, &w);
        self.w = w;
        self.last.link_change = 0.0;
        if let Some(v) = v {
            (self.last.slope_min, self.last.slope_max) = v.slope_range();
            self.last.link_change = distance(&self.v, &v);
            self.v = v;
        }
        (self.last.loss, self.last.step) = (loss, step);
        (self.last.score_min, self.last.score_max) = scored.held_out.reach;
    }

    /// The weights reached, in the coordinates of the standardised columns, and the link.
    pub(super) fn reached(&self) -> (&[f64], Arc<dyn InverseLink>) {
        let link = RelativeLink::new(Arc::new(Sigmoid), self.v.clone());
        (&self.w, link.map_or_else(|_| Arc::new(Sigmoid) as Arc<dyn InverseLink>, |l| Arc::new(l)))
    }

    /// The classifier reached, on the columns as they were given.
    pub(super) fn model(&self, columns: usize) -> Result<Model> {
        let (w, link) = self.reached();
        let (coefficients, intercept) = self.scaling.raw_coefficients(w, columns);
        Model::new(coefficients, intercept, link)
    }

    /// What a fit that is done learned and weighed.
    pub(super) fn fit(mut self, options: &ProperLoss, rows: &dyn Rows) -> Result<ProperFit> {
        let (source, halt) = (Source::of(rows)?, || rows.interrupted());
        let prepared = match self.prepared.take() {
            Some(prepared) => prepared,
            None => self.prepare_again(options, &source, &halt)?,
        };
        let At::Done(outcome) = self.at else { return Err(Error::Interrupted) };
        let Outcome { path, link, models, refit_share, before, link_cost, link_error } = *outcome;
        let rows = prepared.rows(&source)?;
        let here =
            rows.here([&models, &path.likeliest], &halt).map_err(|halted| rows.why(halted))?;
        let Here { matrix, labels, weights, folds, scores: [held_out_scores, point_scores], whole } =
            here;
        let (total, columns) = (rows.total_weight, rows.columns);
        drop(rows);
        let relative = Arc::new(RelativeLink::new(Arc::new(Sigmoid), link.v)?);
        let (raw, intercept) = self.scaling.raw_coefficients(&self.w, columns);
        let mut fit = ProperFit {
            model: Model::new(raw, intercept, relative.clone())?,
            slope_ratio: relative.slope_ratio(),
            link: relative,
            scaling: self.scaling,
            c: path.c,
            refit_share,
            scaling_weights: path.scaling_weights,
            path: path.points,
            links: link.points,
            held_out_log_loss: [self.plain / total, -before / total, -link.score / total],
            held_out_scores,
            point_scores,
            link_cost,
            link_error_bound: link_error,
            calibration_bound: None,
            folds: folds.to_vec(),
            passes: self.passes,
            stages: self.stages,
        };
        if let Source::Memory(sample, _) = &source {
            // What was kept of the rows makes room for the certificate's own.
            drop(prepared);
            fit.calibration_bound =
                rayon::scope(|_| options.calibration_bound(&fit, sample, 0.95))?;
        } else if options.class_weight[0] == options.class_weight[1] {
            // A sample of the rows, chosen without a look at them, is certified like all of them.
            if let Ok(sample) = Sample::new(matrix, labels, Some(weights)) {
                fit.calibration_bound = options.calibration_bound(&fit, &sample, 0.95)?;
            }
        }
        if !whole {
            (fit.held_out_scores, fit.point_scores, fit.folds) = Default::default();
        }
        Ok(fit)
    }
}

/// LINK on held-out scores.
fn link(options: &ProperLoss, scored: &Scored) -> Result<SmoothLink> {
    Smooth { smoothness: options.smoothness.clone(), ..Smooth::default() }.fit(&scored.bins)
}

/// The weights of the model of all rows.
fn model_of_all(rows: &FoldRows<'_>, models: &Models) -> Vec<f64> {
    let last = rows.models() - 1;
    lane(&models[last / LANES], last % LANES)
}

/// `|w' - w| / |w'|`.
fn change(before: &[f64], after: &[f64]) -> f64 {
    let difference: f64 = before.iter().zip(after).map(|(a, b)| (a - b) * (a - b)).sum();
    let size: f64 = after.iter().map(|b| b * b).sum();
    difference.sqrt() / size.sqrt().max(f64::MIN_POSITIVE)
}

/// The largest distance of two links: at a knot of one of them.
fn distance(a: &PiecewiseAffine, b: &PiecewiseAffine) -> f64 {
    let knots = a.x().iter().chain(b.x());
    knots.map(|&p| (a.eval(p) - b.eval(p)).abs()).fold(0.0, f64::max)
}
