//! Keeps the state after an iteration, and stops there.

use std::ops::ControlFlow;

use properloss::train::{Iteration, Observer};

/// The state after the iteration `after`; the run ends with the next one.
#[derive(Default)]
pub struct CutOff {
    pub after: usize,
    pub state: Vec<u8>,
    reached: usize,
}

impl CutOff {
    pub fn after(after: usize) -> Self {
        Self { after, ..Self::default() }
    }
}

impl Observer for CutOff {
    fn observe(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        self.reached = iteration.iteration;
        if self.reached > self.after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.reached == self.after
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> properloss::Result<()> {
        self.state = bytes.to_vec();
        Ok(())
    }
}
