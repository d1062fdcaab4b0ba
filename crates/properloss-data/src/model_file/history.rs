//! The course of a fit, thinned to a length that a file can carry.

use properloss::train::Iteration;
use serde::{Deserialize, Serialize};

use super::finite;

/// Loss and gradient norm at some iterations, among them the first and the last.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct History {
    /// The iterations, increasing.
    pub iteration: Vec<u64>,
    /// The loss at each.
    pub loss: Vec<f64>,
    /// The gradient norm at each.
    pub gradient_norm: Vec<f64>,
}

impl History {
    /// At most `limit` (and at least two) of the iterations of a fit, evenly spaced; those whose
    /// loss or gradient norm is not finite are left out.
    pub fn of(fit: &[Iteration], limit: usize) -> Self {
        let course = fit.iter().map(|t| (t.iteration as u64, t.loss, t.gap));
        Self::thinned(course, limit)
    }

    /// The same from `(iteration, loss, gradient norm)`.
    pub fn thinned(course: impl IntoIterator<Item = (u64, f64, f64)>, limit: usize) -> Self {
        let finite = |&(_, loss, gradient): &(u64, f64, f64)| (loss + gradient).is_finite();
        let course: Vec<(u64, f64, f64)> = course.into_iter().filter(finite).collect();
        let mut history = Self::default();
        let kept = limit.max(2).min(course.len());
        for k in 0..kept {
            // From the first to the last in `kept - 1` equal steps, rounded down.
            let at = if kept == 1 { 0 } else { k * (course.len() - 1) / (kept - 1) };
            let (iteration, loss, gradient_norm) = course[at];
            history.iteration.push(iteration);
            history.loss.push(loss);
            history.gradient_norm.push(gradient_norm);
        }
        history
    }

    pub(super) fn check(&self) -> Result<(), (String, String)> {
        for (field, values) in
            [("history.loss", &self.loss), ("history.gradient_norm", &self.gradient_norm)]
        {
            finite(field, values)?;
            if values.len() != self.iteration.len() {
                let reason =
                    format!("{} values for {} iterations", values.len(), self.iteration.len());
                return Err((field.into(), reason));
            }
        }
        Ok(())
    }
}
