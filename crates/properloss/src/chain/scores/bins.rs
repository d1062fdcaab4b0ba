//! Scores merged onto a grid: small, exact to merge, with a stated error.
//!
//! For points that share one value `y` the objective `Σ ω (G(y) - c y)` depends on the data only
//! through `Σ ω` and the weighted mean of `c`, so a bin is kept by sums, and the bins of two
//! machines are added. What is lost is that the points of a bin have one value instead of values up
//! to `N h` apart, `h` the width of a bin:
//!
//! ```text
//! F(ũ) - F(u*) <= 2 W N h R,    R = max |g(y) - c| over the box,  W = Σ ω
//! ```
//!
//! *Proof.* Let `F̂` be the objective with every score replaced by its bin's. A link of slope at most
//! `N` changes by at most `N h` in a bin, and a term of `F` by at most `ω R` times that, so
//! `|F̂(u) - F(u)| <= W N h R` for every feasible `u`. The box of the binned chain is the one that the
//! full chain leaves to its inner points, so `u*` is feasible for it and `ũ` extends to the whole
//! range; hence `F(ũ) <= F̂(ũ) + W N h R <= F̂(u*) + W N h R <= F(u*) + 2 W N h R`. QED

use crate::chain::problem::{ChainProblem, Objective};
use crate::chain::solution::ChainSolution;
use crate::error::{Error, Result, require};
use crate::link::InverseLink;

/// Sums over a grid of `bins` equal bins of `[low, high]`.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedScores {
    low: f64,
    high: f64,
    /// `Σ ω`, `Σ ω c` and `Σ ω z` of each bin.
    weight: Vec<f64>,
    target: Vec<f64>,
    score: Vec<f64>,
    /// Smallest and largest score seen: the range over which slopes count.
    seen: (f64, f64),
    /// Smallest and largest target seen.
    targets: (f64, f64),
}

/// The occupied bins as the points of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedChain {
    /// Mean score of each occupied bin, increasing.
    pub scores: Vec<f64>,
    /// Sum of the weights.
    pub weights: Vec<f64>,
    /// Weighted mean of the targets (or target scores).
    pub targets: Vec<f64>,
    /// From the first score seen to the first point, and from the last point to the last score.
    margins: (f64, f64),
}

impl BinnedScores {
    /// An empty grid.
    pub fn new(low: f64, high: f64, bins: usize) -> Result<Self> {
        if !(low.is_finite() && high.is_finite() && low < high && (high - low).is_finite()) {
            let expected = "finite and above the lower end of the grid";
            return Err(Error::OutOfDomain {
                what: "the upper end of the grid",
                value: high,
                expected,
            });
        }
        require("bins", 0.0, "at least 1", bins != 0)?;
        Ok(Self {
            low,
            high,
            weight: vec![0.0; bins],
            target: vec![0.0; bins],
            score: vec![0.0; bins],
            seen: (f64::INFINITY, f64::NEG_INFINITY),
            targets: (f64::INFINITY, f64::NEG_INFINITY),
        })
    }

    /// Adds a point; its score has to lie on the grid. Weight 0 adds nothing.
    pub fn add(&mut self, score: f64, weight: f64, target: f64) -> Result<()> {
        require("the score", score, "on the grid", score >= self.low && score <= self.high)?;
        if !(weight >= 0.0 && weight.is_finite()) {
            let expected = "0 or positive, and finite";
            return Err(Error::OutOfDomain { what: "the weight", value: weight, expected });
        }
        require("the target", target, "finite", target.is_finite())?;
        if weight == 0.0 {
            return Ok(());
        }
        let bins = self.weight.len();
        let share = (score - self.low) / (self.high - self.low);
        let bin = ((share * bins as f64) as usize).min(bins - 1);
        self.weight[bin] += weight;
        self.target[bin] += weight * target;
        self.score[bin] += weight * score;
        self.seen = (self.seen.0.min(score), self.seen.1.max(score));
        self.targets = (self.targets.0.min(target), self.targets.1.max(target));
        Ok(())
    }

    /// Adds the sums of another grid with the same bins.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let bins = self.weight.len();
        if (self.low, self.high, bins) != (other.low, other.high, other.weight.len()) {
            return Err(Error::LengthMismatch {
                what: "the grid",
                length: bins,
                other: "the other grid (or its ends)",
                other_length: other.weight.len(),
            });
        }
        for (mine, theirs) in [
            (&mut self.weight, &other.weight),
            (&mut self.target, &other.target),
            (&mut self.score, &other.score),
        ] {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.seen = (self.seen.0.min(other.seen.0), self.seen.1.max(other.seen.1));
        self.targets = (self.targets.0.min(other.targets.0), self.targets.1.max(other.targets.1));
        Ok(())
    }

    /// Width `h` of a bin.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.weight.len() as f64
    }

    /// The occupied bins, at their mean scores.
    pub fn chain(&self) -> Result<BinnedChain> {
        let mut chain = BinnedChain {
            scores: Vec::new(),
            weights: Vec::new(),
            targets: Vec::new(),
            margins: (0.0, 0.0),
        };
        let (first, last) = self.seen;
        for bin in (0..self.weight.len()).filter(|&b| self.weight[b] > 0.0) {
            let w = self.weight[bin];
            // A mean may leave the bin by a rounding; the order is kept.
            let before = chain.scores.last().copied().unwrap_or(first);
            chain.scores.push((self.score[bin] / w).max(before).min(last));
            chain.weights.push(w);
            chain.targets.push(self.target[bin] / w);
        }
        if chain.scores.is_empty() {
            return Err(Error::TooShort { what: "the occupied bins", length: 0, minimum: 1 });
        }
        chain.margins = (chain.scores[0] - first, last - chain.scores[chain.scores.len() - 1]);
        Ok(chain)
    }

    /// `2 W N h R`, the bound on `F(ũ) - F(u*)`. `link` is that of a Bregman objective, `lo` and `top`
    /// the box. Infinite if `N` or `R` is.
    pub fn error_bound(
        &self,
        slope_max: f64,
        link: Option<&dyn InverseLink>,
        lo: f64,
        top: f64,
    ) -> f64 {
        let total: f64 = self.weight.iter().sum();
        let (a, b) = link.map_or((lo, top), |link| (link.u_inverse(lo), link.u_inverse(top)));
        let force = (b - self.targets.0).abs().max((self.targets.1 - a).abs());
        2.0 * total * slope_max * self.width() * force
    }
}

impl BinnedChain {
    /// The chain problem on the bins. The bounds are those of the full problem; the two boxes are
    /// narrowed by what the scores outside the first and the last bin mean need.
    pub fn problem<'a>(
        &'a self,
        link: Option<&'a dyn InverseLink>,
        (n, cap): (f64, f64),
        (lo, hi): (f64, f64),
        (low, top): (f64, f64),
    ) -> ChainProblem<'a> {
        let objective = match link {
            None => Objective::Quadratic { targets: &self.targets },
            Some(link) => Objective::Bregman { link, target_scores: &self.targets },
        };
        let (before, after) = self.margins;
        let reach = |dz: f64| if dz > 0.0 { cap * dz } else { 0.0 };
        ChainProblem::new(&self.scores, objective)
            .with_weights(&self.weights)
            .with_slopes(n, cap)
            .with_first(lo + n * before, hi + reach(before))
            .with_last(low - reach(after), top - n * after)
    }

    /// The value at a score seen: on the line between the bins; outside them with the slope `n`,
    /// or as much steeper as the upper bound of the first and the lower bound of the last value
    /// ask for.
    pub fn value_at(
        &self,
        solution: &ChainSolution,
        first_hi: f64,
        last_low: f64,
        score: f64,
    ) -> f64 {
        let (z, y) = (&self.scores, &solution.values);
        let last = z.len() - 1;
        let n = solution.slope_min;
        let (before, after) = self.margins;
        if score <= z[0] {
            let slope = if before > 0.0 { n.max((y[0] - first_hi) / before) } else { n };
            return y[0] - slope * (z[0] - score);
        }
        if score >= z[last] {
            let slope = if after > 0.0 { n.max((last_low - y[last]) / after) } else { n };
            return y[last] + slope * (score - z[last]);
        }
        let k = z.partition_point(|&z| z <= score).clamp(1, last) - 1;
        let width = z[k + 1] - z[k];
        if width > 0.0 { y[k] + (y[k + 1] - y[k]) * ((score - z[k]) / width) } else { y[k] }
    }
}
