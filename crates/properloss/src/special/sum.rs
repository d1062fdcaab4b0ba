//! A sum whose error does not grow with the number of terms.

use super::two_sum;

/// A compensated sum: the rounding errors are carried along, so that sums of many terms can be
/// compared to a few units in the last place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    total: f64,
    compensation: f64,
}

impl Sum {
    /// Adds a term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let (total, error) = two_sum(self.total, term);
        self.compensation += error;
        self.total = total;
    }

    /// The sum so far.
    #[inline]
    pub fn value(self) -> f64 {
        self.total + self.compensation
    }
}
