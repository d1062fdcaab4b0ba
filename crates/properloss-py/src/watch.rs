//! A fit as seen from Python: interruptible, with progress and callbacks.
//!
//! A fit runs on a thread of its own while the calling thread waits for it. The caller wakes every
//! [`TICK`] to let Python run its signal handlers (which it does on the main thread only), to report
//! progress, and to answer the callbacks, so that Python code always runs on the thread that called
//! `fit`. Nothing is attached to the interpreter between two ticks.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use properloss::Result;
use properloss::train::{self, Iteration, Observer, Stage};
use pyo3::prelude::*;

use crate::doorway::{on_live_threads, while_a_fit_waits};
use crate::model::Model;

/// How often the caller looks at signals and progress during a fit.
const TICK: Duration = Duration::from_millis(100);

/// What a fit tells to Python while it runs.
#[derive(Default)]
pub struct Listeners {
    /// Called with the latest iteration at most every [`TICK`].
    pub progress: Option<Py<PyAny>>,
    /// Called with every iteration; the fit waits for it and stops if it answers true.
    pub callback: Option<Py<PyAny>>,
}

/// Runs `work` without the GIL and returns its result.
///
/// An exception (Ctrl-C, or one raised by a listener) sets the flag that `work` looks at, and is
/// returned in place of the result.
pub fn train<T: Send>(
    py: Python<'_>,
    listeners: &Listeners,
    work: impl FnOnce(&AtomicBool, &mut Watch<'_>) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let every_iteration = listeners.callback.is_some();
    let report = every_iteration || listeners.progress.is_some();
    py.detach(|| {
        std::thread::scope(|scope| {
            let stop = &stop;
            let fit = scope.spawn(move || {
                let mut watch = Watch { stop, sender, report, every_iteration, stage: None };
                on_live_threads(|| work(stop, &mut watch))
            });
            let outcome = wait(listeners, &receiver);
            if outcome.is_err() {
                stop.store(true, Ordering::Relaxed);
                // Answers the iteration that may be waiting, and lets the run end.
                drop(receiver);
            }
            let done = fit.join();
            outcome?;
            done.map_err(|_| {
                pyo3::exceptions::PyRuntimeError::new_err(
                    "the engine stopped at an internal error; please report it",
                )
            })
        })
    })
}

/// What a fit sends: an iteration and, if it waits for an answer, what the answer is about.
struct Report {
    iteration: Iteration,
    stage: Option<Stage>,
    question: Option<Question>,
}

/// Shall the run stop at this classifier?
struct Question {
    model: train::Model,
    answer: mpsc::SyncSender<bool>,
}

/// Serves signals and listeners until the fit hangs up.
fn wait(listeners: &Listeners, receiver: &mpsc::Receiver<Report>) -> PyResult<()> {
    let mut next_tick = Instant::now() + TICK;
    let mut latest = None;
    loop {
        let timeout = next_tick.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(timeout) {
            Ok(Report { iteration, stage, question }) => {
                if let (Some(callback), Some(Question { model, answer })) =
                    (&listeners.callback, question)
                {
                    let stop = Python::attach(|py| -> PyResult<bool> {
                        let row = crate::train::row(py, &iteration, stage.as_ref())?;
                        let model = Model::unscaled(model);
                        while_a_fit_waits(|| callback.bind(py).call1((row, model)))?.is_truthy()
                    })?;
                    // The fit waits for this answer; it can only be gone if it panicked.
                    let _ = answer.send(stop);
                }
                latest = Some((iteration, stage));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if Instant::now() >= next_tick {
            Python::attach(|py| -> PyResult<()> {
                py.check_signals()?;
                if let (Some(progress), Some((at, stage))) = (&listeners.progress, latest.take()) {
                    progress.bind(py).call1((crate::train::row(py, &at, stage.as_ref())?,))?;
                }
                Ok(())
            })?;
            next_tick = Instant::now() + TICK;
        }
    }
}

/// The observer of every fit that is started from Python.
pub struct Watch<'a> {
    stop: &'a AtomicBool,
    sender: mpsc::Sender<Report>,
    report: bool,
    every_iteration: bool,
    stage: Option<Stage>,
}

impl Observer for Watch<'_> {
    fn observe(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        let stage = if self.report { self.stage.clone() } else { None };
        let report = Report { iteration: *iteration, stage, question: None };
        if self.stop.load(Ordering::Relaxed) || (self.report && self.sender.send(report).is_err()) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn observe_model(
        &mut self,
        iteration: &Iteration,
        model: &dyn Fn() -> Result<train::Model>,
    ) -> ControlFlow<()> {
        if !self.every_iteration {
            return self.observe(iteration);
        }
        // Weights that are not finite make no model: the result of the run will say so.
        let Ok(model) = model() else { return ControlFlow::Break(()) };
        let (answer, stop) = mpsc::sync_channel(1);
        let question = Some(Question { model, answer });
        let stage = self.stage.clone();
        let sent = self.sender.send(Report { iteration: *iteration, stage, question });
        // No answer comes when the caller has left with an exception.
        if sent.is_err() || stop.recv().unwrap_or(true) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, stage: &Stage) {
        self.stage = Some(stage.clone());
    }
}
