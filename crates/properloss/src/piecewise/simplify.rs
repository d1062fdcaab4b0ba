//! Fewer knots with a known error.

use super::PiecewiseAffine;
use crate::error::{Error, Result};

/// A simplified function and the error made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Simplified {
    /// The function, on a subset of the knots.
    pub function: PiecewiseAffine,
    /// `max |f - function|`, attained at a dropped knot.
    pub error: f64,
    /// Indices of the knots that were kept.
    pub kept: Vec<usize>,
}

/// Up to this many chords are tried for the fewest knots; a longer function is thinned first.
const CHORDS: usize = 10_000_000;

impl PiecewiseAffine {
    /// The fewest knots, taken from this function's own, that stay within `max_error` of it in the
    /// sup norm.
    ///
    /// The end knots are always kept. Each new piece is a chord, so its slope is a mean of old
    /// slopes: the result increases strictly, and keeps any bounds on the slope. Where the search
    /// over all chords would be too long (beyond some 4,000 knots), the function is first
    /// thinned at a quarter of the error; the result is then within `max_error`, but may have a few
    /// knots more than the fewest.
    pub fn simplify_to_error(&self, max_error: f64) -> Result<Simplified> {
        if !(max_error.is_finite() && max_error >= 0.0) {
            return Err(Error::OutOfDomain {
                what: "max_error",
                value: max_error,
                expected: "finite and not negative",
            });
        }
        let mut budget = CHORDS;
        Ok(self.within(max_error, &mut budget))
    }

    /// [`Self::simplify_to_error`] with what is left of a budget of chords.
    fn within(&self, max_error: f64, budget: &mut usize) -> Simplified {
        let all: Vec<usize> = (0..self.x.len()).collect();
        let kept = self.fewest_knots(&all, max_error, budget).unwrap_or_else(|| {
            *budget = 0;
            let thinned = self.thin(0.25 * max_error);
            let mut unlimited = usize::MAX;
            self.fewest_knots(&thinned, max_error, &mut unlimited).unwrap_or(thinned)
        });
        self.restricted_to(kept)
    }

    /// The smallest sup-norm error that `knots` of this function's own knots can reach.
    ///
    /// By bisection on the error between what can and what cannot be reached; it ends at an error
    /// below which [`Self::simplify_to_error`] needs more knots.
    pub fn simplify_to_knots(&self, knots: usize) -> Result<Simplified> {
        if knots < 2 {
            return Err(Error::TooShort { what: "knots", length: knots, minimum: 2 });
        }
        if knots >= self.x.len() {
            return Ok(self.restricted_to((0..self.x.len()).collect()));
        }
        let mut best = self.restricted_to(vec![0, self.x.len() - 1]);
        if knots == 2 {
            return Ok(best);
        }
        let mut unreachable = 0.0;
        // Each of some 60 bisections may cost K²/2 chords: for long functions thin at once.
        let long = self.x.len() > 4096;
        let mut budget = if long { 0 } else { 256 * CHORDS };
        let exact = self.within(0.0, &mut budget);
        if exact.kept.len() <= knots {
            return Ok(exact);
        }
        while best.error > unreachable * (1.0 + 8.0 * f64::EPSILON) {
            // Geometric once both ends are known: the error may be tiny.
            let guess = if unreachable > 0.0 {
                (unreachable * best.error).sqrt()
            } else {
                best.error / 16.0
            };
            if guess <= f64::MIN_POSITIVE || guess >= best.error {
                break;
            }
            let candidate = self.within(guess, &mut budget);
            if candidate.kept.len() <= knots && candidate.error < best.error {
                best = candidate;
            } else {
                unreachable = guess;
            }
        }
        Ok(best)
    }

    /// Breadth-first search over the chords within `max_error` that join two of `candidates`.
    ///
    /// From knot `i` the admissible slopes form a wedge that only narrows with each knot passed;
    /// the chord to `j` is admissible if its slope lies in the wedge at `j`, and no chord is once
    /// the wedge is empty. `None` once more than `budget` chords were looked at.
    fn fewest_knots(
        &self,
        candidates: &[usize],
        max_error: f64,
        budget: &mut usize,
    ) -> Option<Vec<usize>> {
        let (x, y) = (&self.x, &self.y);
        let last = candidates.len() - 1;
        let mut pieces = vec![usize::MAX; last + 1];
        let mut before = vec![0; last + 1];
        pieces[0] = 0;
        for i in 0..last {
            let origin = candidates[i];
            let (mut low, mut high) = (0.0, f64::INFINITY);
            let mut passed = origin + 1;
            for j in i + 1..=last {
                *budget = budget.checked_sub(1)?;
                let target = candidates[j];
                // The dropped knots between, candidates or not, narrow the wedge.
                while passed < target {
                    let width = x[passed] - x[origin];
                    let rise = y[passed] - y[origin];
                    low = f64::max(low, (rise - max_error) / width);
                    high = f64::min(high, (rise + max_error) / width);
                    passed += 1;
                }
                if low > high {
                    break;
                }
                let slope = (y[target] - y[origin]) / (x[target] - x[origin]);
                let reached = pieces[i] + 1 < pieces[j];
                if reached && low <= slope && slope <= high {
                    pieces[j] = pieces[i] + 1;
                    before[j] = i;
                }
            }
        }
        let mut path = vec![candidates[last]];
        let mut at = last;
        while at > 0 {
            at = before[at];
            path.push(candidates[at]);
        }
        path.reverse();
        Some(path)
    }

    /// One pass from the left: each chord reaches as far as its wedge allows. O(K).
    fn thin(&self, max_error: f64) -> Vec<usize> {
        let (x, y) = (&self.x, &self.y);
        let last = x.len() - 1;
        let mut kept = vec![0];
        let mut origin = 0;
        while origin < last {
            let (mut low, mut high) = (0.0, f64::INFINITY);
            let mut reach = origin + 1;
            for j in origin + 1..=last {
                let (width, rise) = (x[j] - x[origin], y[j] - y[origin]);
                let slope = rise / width;
                if low <= slope && slope <= high {
                    reach = j;
                }
                low = f64::max(low, (rise - max_error) / width);
                high = f64::min(high, (rise + max_error) / width);
                if low > high {
                    break;
                }
            }
            kept.push(reach);
            origin = reach;
        }
        kept
    }

    fn restricted_to(&self, kept: Vec<usize>) -> Simplified {
        let x = kept.iter().map(|&k| self.x[k]).collect();
        let y = kept.iter().map(|&k| self.y[k]).collect();
        let function = PiecewiseAffine { x, y };
        let mut error: f64 = 0.0;
        for (piece, ends) in kept.windows(2).enumerate() {
            for k in ends[0] + 1..ends[1] {
                let value = super::interpolate_piece(&function.x, &function.y, piece, self.x[k]);
                error = error.max((value - self.y[k]).abs());
            }
        }
        Simplified { function, error, kept }
    }
}
