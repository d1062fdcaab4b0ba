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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Sigmoid;

    /// Four bins of width 1 from -1; the third stays empty.
    fn filled() -> BinnedScores {
        let mut bins = BinnedScores::new(-1.0, 3.0, 4).unwrap();
        let points = [
            (-0.75, 1.0, 0.0),
            (-0.25, 3.0, 1.0),
            (0.5, 2.0, 0.25),
            (3.0, 1.0, 1.0),
            (2.5, 1.0, 0.5),
        ];
        for (score, weight, target) in points {
            bins.add(score, weight, target).unwrap();
        }
        bins.add(1.5, 0.0, 7.0).unwrap();
        bins
    }

    #[test]
    fn bins_are_weighted_means() {
        let bins = filled();
        assert_eq!(bins.width(), 1.0);
        let chain = bins.chain().unwrap();
        assert_eq!(chain.scores, [-0.375, 0.5, 2.75]);
        assert_eq!(chain.weights, [4.0, 2.0, 2.0]);
        assert_eq!(chain.targets, [0.75, 0.25, 0.75]);
        assert_eq!(chain.margins, (0.375, 0.25));
        // 2 W N h R with W = 8, N = 0.5, h = 1 and R = max(|1 - 0|, |1 - 0|) = 1.
        assert_eq!(bins.error_bound(0.5, None, 0.0, 1.0), 8.0);
        assert_eq!(bins.error_bound(0.5, None, -0.5, 1.25), 12.0);
        // Targets from 0.25 to 0.5 in a box from 0 to 1: R = max(|1 - 0.25|, |0.5 - 0|).
        let mut inner = BinnedScores::new(0.0, 1.0, 2).unwrap();
        inner.add(0.1, 1.0, 0.25).unwrap();
        inner.add(0.9, 3.0, 0.5).unwrap();
        assert_eq!(inner.error_bound(0.5, None, 0.0, 1.0), 2.0 * 4.0 * 0.5 * 0.5 * 0.75);
        assert_eq!(inner.error_bound(0.5, None, -0.5, 0.5), 2.0 * 4.0 * 0.5 * 0.5);
        // In scores of the link: u⁻¹ of the box is ±ln 3, the targets reach from 0 to 1.
        let bound = bins.error_bound(0.5, Some(&Sigmoid), 0.25, 0.75);
        assert!((bound - 8.0 * (1.0 + 3f64.ln())).abs() < 1e-13, "{bound}");
    }

    #[test]
    fn merged_bins_are_those_of_all_points() {
        let (mut left, mut right) =
            (BinnedScores::new(-1.0, 3.0, 4).unwrap(), BinnedScores::new(-1.0, 3.0, 4).unwrap());
        left.add(-0.75, 1.0, 0.0).unwrap();
        left.add(0.5, 2.0, 0.25).unwrap();
        right.add(-0.25, 3.0, 1.0).unwrap();
        right.add(3.0, 1.0, 1.0).unwrap();
        right.add(2.5, 1.0, 0.5).unwrap();
        left.merge(&right).unwrap();
        assert_eq!(left, filled());
        for (low, high, bins) in [(-2.0, 3.0, 4), (-1.0, 4.0, 4), (-1.0, 3.0, 5)] {
            let other = BinnedScores::new(low, high, bins).unwrap();
            assert!(left.merge(&other).is_err());
        }
        assert!(BinnedScores::new(0.0, 1.0, 2).unwrap().chain().is_err());
    }

    #[test]
    fn bad_grids_and_points_are_refused() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for (low, high) in
            [(nan, 1.0), (0.0, nan), (0.0, inf), (-inf, 0.0), (1.0, 1.0), (-1e308, 1e308)]
        {
            assert!(BinnedScores::new(low, high, 4).is_err(), "{low} {high}");
        }
        assert!(BinnedScores::new(0.0, 1.0, 0).is_err());
        let mut bins = filled();
        for (score, weight, target) in [
            (-1.1, 1.0, 0.0),
            (3.1, 1.0, 0.0),
            (nan, 1.0, 0.0),
            (0.0, -1.0, 0.0),
            (0.0, inf, 0.0),
            (0.0, nan, 0.0),
            (0.0, 1.0, nan),
            (0.0, 1.0, inf),
        ] {
            assert!(bins.add(score, weight, target).is_err(), "{score} {weight} {target}");
        }
        assert_eq!(bins, filled());
    }

    /// The box of the bins leaves room for the scores outside of the first and the last mean.
    #[test]
    fn the_problem_of_the_bins() {
        let chain = filled().chain().unwrap();
        let problem = chain.problem(None, (0.125, 0.5), (0.25, 0.5), (0.75, 1.0));
        // The margins 0.375 and 0.25 times n and N.
        assert_eq!(problem.first, (0.25 + 0.046875, 0.5 + 0.1875));
        assert_eq!(problem.last, (0.75 - 0.125, 1.0 - 0.03125));
        assert_eq!((problem.slope_min, problem.slope_max), (0.125, 0.5));
        let none = BinnedChain { margins: (0.0, 0.0), ..chain.clone() };
        let problem = none.problem(None, (0.125, f64::INFINITY), (0.25, 0.5), (0.75, 1.0));
        assert_eq!((problem.first, problem.last), ((0.25, 0.5), (0.75, 1.0)));
        assert!(matches!(
            chain.problem(Some(&Sigmoid), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)).objective,
            Objective::Bregman { .. }
        ));
    }

    #[test]
    fn values_between_and_beyond_the_bins() {
        let chain = BinnedChain {
            scores: vec![0.0, 1.0, 1.0, 3.0],
            weights: vec![1.0; 4],
            targets: vec![0.0; 4],
            margins: (1.0, 2.0),
        };
        let values = vec![0.25, 0.5, 0.5, 0.75];
        let solution = ChainSolution { values, slope_min: 0.0625, ..ChainSolution::default() };
        let at = |hi, low, score| chain.value_at(&solution, hi, low, score);
        assert_eq!(
            [0.0, 0.5, 1.0, 2.0, 3.0].map(|z| at(1.0, 0.0, z)),
            [0.25, 0.375, 0.5, 0.625, 0.75]
        );
        // Beyond them with the slope n, or steeper where a bound asks for it.
        assert_eq!((at(1.0, 0.0, -1.0), at(1.0, 0.0, 5.0)), (0.1875, 0.875));
        assert_eq!((at(0.125, 0.0, -1.0), at(0.125, 0.0, -0.5)), (0.125, 0.1875));
        assert_eq!((at(1.0, 1.0, 5.0), at(1.0, 1.0, 4.0)), (1.0, 0.875));
        // Without a margin there is nothing to be steeper over.
        let none = BinnedChain { margins: (0.0, 0.0), ..chain };
        assert_eq!(none.value_at(&solution, 0.0, 1.0, 0.0), 0.25);
        assert_eq!(none.value_at(&solution, 0.0, 1.0, 3.0), 0.75);
    }
}
