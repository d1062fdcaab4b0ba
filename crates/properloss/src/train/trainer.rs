//! What a trainer is, and how one is run: started or taken up again, step by step, watched.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Fit, Iteration, Model, Observer, Stage, Termination};
use crate::certify::Certificate;
use crate::error::Result;
use crate::link::InverseLink;
use crate::rows::Rows;

/// A state that a checkpoint can hold: with the feature `serde`, whatever serde can store and read.
#[cfg(feature = "serde")]
pub trait Stored: serde::Serialize + serde::de::DeserializeOwned + Send {}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + Send> Stored for T {}

/// A state that a checkpoint can hold: without the feature `serde` there are no checkpoints.
#[cfg(not(feature = "serde"))]
pub trait Stored: Send {}
#[cfg(not(feature = "serde"))]
impl<T: Send> Stored for T {}

/// What a step gives: an iteration, or why there is none.
pub type Stepped = Result<ControlFlow<Termination, Iteration>>;

/// An algorithm in steps. It knows neither files nor progress bars: [`run`] does.
pub trait Trainer: Sync {
    /// Everything that the next step needs, beside what the rows keep themselves.
    type State: Stored;

    /// Checks the options and prepares the rows.
    fn start(&self, rows: &mut dyn Rows) -> Result<Self::State>;

    /// After a checkpoint was taken up: what the rows have to find again.
    fn resumed(&self, _state: &mut Self::State, _rows: &mut dyn Rows) -> Result<()> {
        Ok(())
    }

    /// One iteration; `Break` if the run is over without one.
    fn step(&self, state: &mut Self::State, rows: &mut dyn Rows) -> Stepped;

    /// Whether the run is over, by the iterations made so far.
    fn settled(&self, history: &[Iteration]) -> Option<Termination>;

    /// The weights reached, in the coordinates of the scaled rows, and the link.
    fn reached<'s>(&'s self, state: &'s Self::State) -> (&'s [f64], Arc<dyn InverseLink>);

    /// What the state has a number of for every coefficient; a checkpoint must agree.
    fn vectors<'s>(&'s self, state: &'s Self::State) -> Vec<&'s [f64]> {
        vec![self.reached(state).0]
    }

    /// The classifier reached so far.
    fn model(&self, state: &Self::State, rows: &dyn Rows) -> Result<Model> {
        let (w, link) = self.reached(state);
        rows.model(w, link)
    }

    /// What the next step does, and how many there may be; `None` where iterations say it all.
    fn stage(&self, _state: &Self::State) -> Option<Stage> {
        None
    }

    /// What a method has to add to its fit, also to one that was stopped early.
    fn finish(&self, _state: Self::State, _rows: &mut dyn Rows, fit: Fit) -> Result<Fit> {
        Ok(fit)
    }

    /// One certificate an iteration, from a trainer that gives any.
    fn certificates(&self, _state: &Self::State) -> Vec<Certificate> {
        Vec::new()
    }
}

/// All that a run needs to go on.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Snapshot<S> {
    fingerprint: u64,
    history: Vec<Iteration>,
    rows: crate::rows::RowState,
    state: S,
}

/// Runs a trainer to its end, from the start or from the bytes of a checkpoint.
///
/// The observer sees every iteration, may stop the run, and may take a checkpoint after each.
pub fn run<T: Trainer>(
    trainer: &T,
    rows: &mut dyn Rows,
    resume: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<Fit> {
    // One visit to the thread pool for all the small tasks of a step: every visit costs two changes
    // of thread.
    let mut state = rayon_scope(|| trainer.start(rows))?;
    let mut history: Vec<Iteration> = Vec::new();
    let mut ended = None;
    if let Some(bytes) = resume {
        let snapshot: Snapshot<T::State> = read(bytes)?;
        if snapshot.fingerprint != rows.fingerprint() {
            let reason = "it was made on other data".to_owned();
            return Err(crate::Error::Checkpoint { reason });
        }
        for vector in trainer.vectors(&snapshot.state) {
            if vector.len() != rows.dimension() || vector.iter().any(|value| !value.is_finite()) {
                let reason = "its vectors do not belong to these columns".to_owned();
                return Err(crate::Error::Checkpoint { reason });
            }
        }
        rows.restore(snapshot.rows)?;
        (state, history) = (snapshot.state, snapshot.history);
        rayon_scope(|| trainer.resumed(&mut state, rows))?;
        ended = trainer.settled(&history);
    }
    let termination = loop {
        if let Some(termination) = ended {
            break termination;
        }
        if let Some(stage) = trainer.stage(&state) {
            observer.begin(&stage);
        }
        let iteration = match rayon_scope(|| trainer.step(&mut state, rows))? {
            ControlFlow::Continue(iteration) => {
                Iteration { iteration: history.len() + 1, ..iteration }
            }
            ControlFlow::Break(termination) => break termination,
        };
        history.push(iteration);
        let model = || trainer.model(&state, rows);
        if observer.observe_model(&iteration, &model).is_break() {
            break Termination::Stopped;
        }
        ended = trainer.settled(&history);
        if observer.wants_checkpoint() {
            let bytes = write(&state, &history, rows)?;
            observer.checkpoint(&bytes)?;
        }
    };
    let fit = Fit {
        model: trainer.model(&state, rows)?,
        scaling: rows.scaling().0.clone(),
        termination,
        certificates: trainer.certificates(&state),
        history,
        proper: None,
    };
    rayon_scope(|| trainer.finish(state, rows, fit))
}

fn rayon_scope<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::scope(|_| work())
}

#[cfg(feature = "serde")]
fn write<S: Stored>(state: &S, history: &[Iteration], rows: &dyn Rows) -> Result<Vec<u8>> {
    #[derive(serde::Serialize)]
    struct Borrowed<'a, S> {
        fingerprint: u64,
        history: &'a [Iteration],
        rows: crate::rows::RowState,
        state: &'a S,
    }
    let snapshot = Borrowed { fingerprint: rows.fingerprint(), history, rows: rows.state(), state };
    postcard::to_allocvec(&snapshot)
        .map_err(|error| crate::Error::Checkpoint { reason: error.to_string() })
}

#[cfg(feature = "serde")]
fn read<S: Stored>(bytes: &[u8]) -> Result<Snapshot<S>> {
    postcard::from_bytes(bytes).map_err(|_| {
        let reason = "it is damaged, or was made by another method or version".to_owned();
        crate::Error::Checkpoint { reason }
    })
}

#[cfg(not(feature = "serde"))]
fn write<S: Stored>(_: &S, _: &[Iteration], _: &dyn Rows) -> Result<Vec<u8>> {
    Ok(Vec::new())
}

#[cfg(not(feature = "serde"))]
fn read<S: Stored>(_: &[u8]) -> Result<Snapshot<S>> {
    let reason = "this build cannot read checkpoints: it lacks the feature serde".to_owned();
    Err(crate::Error::Checkpoint { reason })
}
