//! A progress bar on stderr for whatever takes longer than a second.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use properloss::train::{Iteration, Observer, Stage};

use crate::output::Talk;

/// How long a command may be silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears after [`PATIENCE`] and disappears when it is dropped. Without a terminal on
/// stderr (or with `--quiet`) it never appears.
pub struct Progress {
    bar: ProgressBar,
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Work without a known end, such as reading a file.
    pub fn spinner(talk: Talk, title: &str) -> Self {
        Self::start(talk, ProgressBar::no_length(), "{spinner} {msg} ({elapsed})", title)
    }

    /// A fit of at most so many iterations; without a number it says itself what it is at.
    pub fn fit(talk: Talk, max_iter: Option<usize>) -> Self {
        let title = if max_iter.is_some() { "iterations" } else { "cross-validating" };
        let length = max_iter.unwrap_or(1);
        let template = "{spinner} [{bar:24}] {pos}/{len} {msg} ({elapsed}, at most {eta} left)";
        Self::start(talk, ProgressBar::new(length as u64), template, title)
    }

    /// Work of `length` steps.
    pub fn steps(talk: Talk, length: usize, title: &str) -> Self {
        let template = "{spinner} [{bar:24}] {pos}/{len} {msg} ({elapsed}, {eta} left)";
        Self::start(talk, ProgressBar::new(length as u64), template, title)
    }

    fn start(talk: Talk, bar: ProgressBar, template: &str, title: &str) -> Self {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if talk.quiet || !std::io::stderr().is_terminal() {
            return Self { bar, waiting: None };
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(title.to_owned());
        let (sender, receiver) = mpsc::channel();
        let shown = bar.clone();
        let thread = std::thread::spawn(move || {
            if receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
                let _ = receiver.recv();
            }
        });
        Self { bar, waiting: Some((sender, thread)) }
    }

    /// One step is done; `title` is the next one.
    pub fn step(&self, title: &str) {
        self.bar.inc(1);
        self.bar.set_message(title.to_owned());
    }

    /// What is being done now.
    pub fn message(&self, title: String) {
        if self.waiting.is_some() {
            self.bar.set_message(title);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.waiting.take() {
            drop(sender);
            let _ = thread.join();
            self.bar.finish_and_clear();
        }
    }
}

/// Shows the iterations of a fit.
pub struct Watch<'a> {
    progress: &'a Progress,
    /// What stands before the iteration, such as the method; then the bar counts other things.
    prefix: Option<String>,
    /// What the fit is at, where its steps differ.
    stage: Option<String>,
}

impl<'a> Watch<'a> {
    /// The bar counts the iterations.
    pub fn new(progress: &'a Progress) -> Self {
        Self { progress, prefix: None, stage: None }
    }

    /// The bar counts something else; the iteration goes into the message.
    pub fn within(progress: &'a Progress, prefix: String) -> Self {
        Self { progress, prefix: Some(prefix), stage: None }
    }
}

impl Observer for Watch<'_> {
    fn observe(&mut self, at: &Iteration) -> ControlFlow<()> {
        if self.progress.waiting.is_some() {
            match &self.prefix {
                Some(prefix) => {
                    let Iteration { iteration, loss, .. } = at;
                    self.progress
                        .message(format!("{prefix}: iteration {iteration}, loss {loss:.6}"));
                }
                None => {
                    self.progress.bar.set_position(at.iteration as u64);
                    let what = self.stage.as_deref().unwrap_or("iterations");
                    self.progress.message(format!("{what}, loss {:.6}", at.loss));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, stage: &Stage) {
        if self.progress.waiting.is_some() && self.prefix.is_none() {
            self.progress.bar.set_length(stage.at_most as u64);
            self.progress.message(stage.name.clone());
            self.stage = Some(stage.name.clone());
        }
    }
}
