//! A method of the registry with its options, run on rows in memory: what every front end does.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use properloss::rows::{Blocks, InBlocks, Local, Rows};
use properloss::sample::Sample;
use properloss::train::registry::method;
use properloss::train::{Fit, Iteration, Method, Model, Observer, Settings, Stage, Value};

use crate::checkpoint::{self, Run};
use crate::error::{Error, Result};
use crate::fit_memory::{self, FitShape};
use crate::model_file::{Fitted, History, learned, plain_options, program};
use crate::{DataDescription, Dataset, Encoder, ModelFile};

/// A method, the options that were given, and where its state goes.
#[derive(Debug, Clone)]
pub struct Training {
    method: Method,
    given: Settings,
    checkpoints: Option<Checkpoints>,
    folds: Option<Vec<u32>>,
}

/// What a training hands back.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The name of the method.
    pub method: &'static str,
    /// Model, termination and history.
    pub fit: Fit,
    /// All options, for the model file.
    pub options: Settings,
    /// The sum of the weights of the rows.
    pub total_weight: f64,
    /// Rounds of questions to blocks, where the rows were in blocks and the method has no folds.
    pub rounds: Option<usize>,
}

/// Where the state of a run goes, and how often.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    /// The file.
    pub file: PathBuf,
    /// Time between two states.
    pub every: Duration,
}

impl Trained {
    /// The file of the model, fitted to this data.
    pub fn model_file(&self, dataset: &Dataset) -> ModelFile {
        let Dataset { encoder, classes, description, .. } = dataset;
        self.file_of(encoder.clone(), classes.clone(), description.clone())
    }

    /// The file of the model, fitted to rows that were encoded in this way.
    pub fn file_of(
        &self,
        encoder: Encoder,
        classes: [String; 2],
        description: DataDescription,
    ) -> ModelFile {
        /// How many iterations of the history a model file keeps.
        const HISTORY: usize = 200;
        let fitted = Fitted {
            method: self.method.to_owned(),
            options: plain_options(&self.options),
            data: description,
            termination: self.fit.termination.name().to_owned(),
            iterations: self.iterations() as u64,
            total_weight: Some(self.total_weight),
            learned: self.fit.proper.as_deref().map(learned),
            program: program(),
        };
        let scaling = self.fit.scaling.clone();
        let mut file = ModelFile::new(&self.fit.model, encoder, scaling, classes, fitted);
        if !self.fit.history.is_empty() {
            file.history = Some(History::of(&self.fit.history, HISTORY));
        }
        file
    }

    /// Iterations, or passes over the rows where iterations differ in what they cost.
    pub fn iterations(&self) -> usize {
        self.fit.proper.as_ref().map_or(self.fit.iterations(), |proper| proper.passes)
    }
}

impl Training {
    /// The method of this name with all defaults.
    pub fn named(name: &str) -> Result<Self> {
        Ok(Self::new(method(name)?, Settings::new()))
    }

    /// A method with options.
    pub fn new(method: Method, given: Settings) -> Self {
        Self { method, given, checkpoints: None, folds: None }
    }

    /// The fold that each row is held out in, for methods that cross-validate.
    #[must_use]
    pub fn with_folds(mut self, folds: Option<Vec<u32>>) -> Self {
        self.folds = folds;
        self
    }

    /// The state is written to a file on the way, and taken up from it if it is there.
    #[must_use]
    pub fn with_checkpoints(mut self, checkpoints: Option<Checkpoints>) -> Self {
        self.checkpoints = checkpoints;
        self
    }

    /// The name of the method.
    pub fn name(&self) -> &'static str {
        self.method.name
    }

    /// Whether rows in blocks will do: the method asks for sums over rows, and nothing else.
    pub fn streams(&self) -> bool {
        !["certified", "slisotron"].contains(&self.name())
    }

    /// The number of folds that it cross-validates with, if it does.
    pub fn folds(&self) -> Option<usize> {
        let option = self.method.option("cv")?;
        match self.given.get("cv").or(option.default.as_ref()) {
            Some(Value::Count(count)) => usize::try_from(*count).ok(),
            _ => None,
        }
    }

    /// What its memory depends on, with so many rows, columns and stored values.
    pub fn shape(&self, rows: usize, columns: usize, stored: usize) -> FitShape {
        FitShape {
            rows: rows as u64,
            columns: columns as u64,
            stored: stored as u64,
            classes: 2,
            folds: self.folds().unwrap_or(0) as u64,
        }
    }

    /// At most this many iterations, if it counts any.
    pub fn max_iter(&self) -> Option<usize> {
        let default = self.method.option("max_iter").and_then(|option| option.default.clone());
        let settings = self.given.get("max_iter").cloned().or(default);
        let settings = settings.into_iter().map(|value| ("max_iter".to_owned(), value)).collect();
        self.method.max_iter(&settings)
    }

    /// Trains, from the checkpoint if there is one; `stop` ends it.
    pub fn run(
        &self,
        sample: &Sample<'_>,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Trained> {
        let (stored, rows) = (sample.matrix().stored(), sample.rows());
        fit_memory::ask(self.name(), &self.shape(rows, sample.columns(), stored))?;
        let mut rows = Local::new(sample).with_stop(stop).with_folds(self.folds.as_deref());
        self.run_rows(&mut rows, observer)
    }

    /// The same on rows in blocks.
    pub fn run_blocks(
        &self,
        blocks: &dyn Blocks,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Trained> {
        let columns = blocks.facts().iter().map(|facts| facts.columns).max().unwrap_or(0);
        fit_memory::ask(self.name(), &self.shape(0, columns as usize, 0))?;
        let mut whole = None;
        if self.method.option("cv").is_none() {
            // One block fits into memory: it has the bits of the same rows there.
            blocks.look_at_one(&mut |block| {
                let sample = Sample::new(block.matrix(), block.labels(), block.weights());
                whole = Some(match sample {
                    Ok(sample) => self.run(&sample, stop, observer),
                    Err(error) => Err(error.into()),
                });
            })?;
        }
        if let Some(trained) = whole {
            return trained;
        }
        let stop = || stop.load(Ordering::Relaxed);
        self.run_rows(&mut InBlocks::new(blocks, &stop)?, observer)
    }

    fn run_rows(&self, rows: &mut dyn Rows, observer: &mut dyn Observer) -> Result<Trained> {
        let shape = rows.shape();
        let (estimator, mut options) = self.method.build(&self.given, &shape)?;
        if let Some(folds) = &self.folds {
            // They were not drawn.
            let count = folds.iter().max().map_or(0, |last| u64::from(*last) + 1);
            options.insert("cv".into(), Value::Count(count));
            options.remove("seed");
        }
        let fit = match &self.checkpoints {
            None => estimator.run(rows, None, observer)?,
            Some(Checkpoints { file, every }) => {
                let run = Run::new(self.name(), plain_options(&options));
                let resume = checkpoint::read(file, &run)?;
                let (every, last) = (*every, Instant::now());
                let mut keeper = Keeper { observer, file, run, every, last, failed: None };
                let fit = estimator.run(rows, resume.as_deref(), &mut keeper);
                fit.map_err(|error| match (keeper.failed, error) {
                    (Some(failed), _) => failed,
                    (None, properloss::Error::Checkpoint { reason }) => {
                        checkpoint::refused(file, &reason)
                    }
                    (None, error) => error.into(),
                })?
            }
        };
        let rounds = Some(rows.rounds()).filter(|&rounds| rounds > 0);
        Ok(Trained { method: self.name(), fit, options, total_weight: shape.total_weight, rounds })
    }

    /// The result is safe: the state has served.
    pub fn forget_checkpoint(&self) {
        if let Some(Checkpoints { file, .. }) = &self.checkpoints {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Writes the state of a run every now and then.
struct Keeper<'a> {
    observer: &'a mut dyn Observer,
    file: &'a Path,
    run: Run,
    every: Duration,
    last: Instant,
    /// Why the state could not be written.
    failed: Option<Error>,
}

impl Observer for Keeper<'_> {
    fn observe(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        self.observer.observe(iteration)
    }

    fn observe_model(
        &mut self,
        iteration: &Iteration,
        model: &dyn Fn() -> properloss::Result<Model>,
    ) -> ControlFlow<()> {
        self.observer.observe_model(iteration, model)
    }

    fn begin(&mut self, stage: &Stage) {
        self.observer.begin(stage);
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.last.elapsed() >= self.every
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> properloss::Result<()> {
        let written = checkpoint::write(self.file, &self.run, bytes);
        self.last = Instant::now();
        written.map_err(|error| {
            let reason = error.to_string();
            self.failed = Some(error);
            properloss::Error::Checkpoint { reason }
        })
    }
}
