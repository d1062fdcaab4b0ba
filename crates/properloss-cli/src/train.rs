//! A method of the registry with its options, and its run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use properloss::rows::{Local, Rows};
use properloss::sample::Sample;
use properloss::train::registry::method;
use properloss::train::{Fit, Iteration, Method, Observer, Settings};
use properloss_data::checkpoint::{self, Run};
use properloss_data::model_file::{Fitted, History, plain_options, program};
use properloss_data::{Dataset, ModelFile};

use crate::failure::Result;
use crate::interrupt::STOP;

/// A method and the options that were given.
pub struct Trainer {
    method: Method,
    given: Settings,
}

/// What a trainer hands back.
pub struct Trained {
    /// Model, termination and history.
    pub fit: Fit,
    /// All options, for the model file.
    pub options: Settings,
    total_weight: f64,
}

/// Where the state of a run goes, and how often.
pub struct Checkpoints {
    /// The file.
    pub file: PathBuf,
    /// Time between two states.
    pub every: Duration,
}

impl Trained {
    /// The file of the model, fitted to this data by this trainer.
    pub fn model_file(&self, trainer: &Trainer, dataset: &Dataset) -> ModelFile {
        /// How many iterations of the history a model file keeps.
        const HISTORY: usize = 200;
        let fitted = Fitted {
            method: trainer.name().to_owned(),
            options: plain_options(&self.options),
            data: dataset.description.clone(),
            termination: self.fit.termination.name().to_owned(),
            iterations: self.iterations() as u64,
            total_weight: Some(self.total_weight),
            program: program(),
        };
        let (encoder, classes) = (dataset.encoder.clone(), dataset.classes.clone());
        let scaling = self.fit.scaling.clone();
        let mut file = ModelFile::new(&self.fit.model, encoder, scaling, classes, fitted);
        if !self.fit.history.is_empty() {
            file.history = Some(History::of(&self.fit.history, HISTORY));
        }
        file
    }

    /// Iterations, or passes over the rows where there are no iterations.
    pub fn iterations(&self) -> usize {
        self.fit.proper.as_ref().map_or(self.fit.iterations(), |proper| proper.passes)
    }
}

impl Trainer {
    /// The method of this name with all defaults.
    pub fn named(name: &str) -> Result<Self> {
        Ok(Self::new(method(name)?, Settings::new()))
    }

    /// A method with options.
    pub fn new(method: Method, given: Settings) -> Self {
        Self { method, given }
    }

    /// The name of the method.
    pub fn name(&self) -> &'static str {
        self.method.name
    }

    /// At most this many iterations, if it counts any.
    pub fn max_iter(&self) -> Option<usize> {
        let default = self.method.option("max_iter").and_then(|option| option.default.clone());
        let settings = self.given.get("max_iter").cloned().or(default);
        let settings = settings.into_iter().map(|value| ("max_iter".to_owned(), value)).collect();
        self.method.max_iter(&settings)
    }

    /// Trains.
    pub fn run(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Trained> {
        self.run_with(sample, observer, None)
    }

    /// Trains, from a checkpoint if there is one, leaving others on the way.
    pub fn run_with(
        &self,
        sample: &Sample<'_>,
        observer: &mut dyn Observer,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Trained> {
        let mut rows = Local::new(sample).with_stop(&STOP);
        let shape = rows.shape();
        let (estimator, options) = self.method.build(&self.given, &shape)?;
        let total_weight = shape.total_weight;
        let Some(Checkpoints { file, every }) = checkpoints else {
            let fit = estimator.run(&mut rows, None, observer)?;
            return Ok(Trained { fit, options, total_weight });
        };
        let run = Run::new(self.name(), plain_options(&options));
        let resume = checkpoint::read(file, &run)?;
        let mut keeper = Keeper { observer, file, run, every: *every, last: Instant::now() };
        let fit = estimator.run(&mut rows, resume.as_deref(), &mut keeper)?;
        Ok(Trained { fit, options, total_weight })
    }
}

/// Writes the state of a run every now and then.
struct Keeper<'a> {
    observer: &'a mut dyn Observer,
    file: &'a Path,
    run: Run,
    every: Duration,
    last: Instant,
}

impl Observer for Keeper<'_> {
    fn observe(&mut self, iteration: &Iteration) -> std::ops::ControlFlow<()> {
        self.observer.observe(iteration)
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.last.elapsed() >= self.every
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> properloss::Result<()> {
        checkpoint::write(self.file, &self.run, bytes)
            .map_err(|error| properloss::Error::Checkpoint { reason: error.to_string() })?;
        self.last = Instant::now();
        Ok(())
    }
}
