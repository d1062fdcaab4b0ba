//! The problem: sorted scores, slope bounds, boxes on the two ends, a separable convex objective.

use crate::error::{Error, Result, require, same_length};
use crate::link::InverseLink;

/// What is minimised over the chain, point by point.
#[derive(Debug, Clone, Copy)]
pub enum Objective<'a> {
    /// `½ Σ ω_i (y_i - t_i)²` for targets `t`.
    Quadratic {
        /// `t_i`, finite.
        targets: &'a [f64],
    },
    /// `Σ ω_i (U*(y_i) - c_i y_i)`, which is `Σ ω_i D_{U*}(y_i, u(c_i))` up to a constant.
    ///
    /// The target `u(c_i)` is given by its score `c_i = u⁻¹(target)`: the *old score* of the row,
    /// so that nothing has to be inverted.
    Bregman {
        /// The link `u` whose conjugate potential measures the distance.
        link: &'a dyn InverseLink,
        /// `c_i`, finite.
        target_scores: &'a [f64],
    },
}

impl<'a> Objective<'a> {
    /// The linear part: targets `t`, or target scores `c`.
    pub(super) fn targets(&self) -> &'a [f64] {
        match *self {
            Objective::Quadratic { targets } => targets,
            Objective::Bregman { target_scores, .. } => target_scores,
        }
    }
}

/// Minimise a separable convex objective over `y_1, …, y_m` subject to
///
/// ```text
/// n (z_{i+1} - z_i) <= y_{i+1} - y_i <= N (z_{i+1} - z_i),   lo <= y_1 <= hi,   low <= y_m <= top.
/// ```
///
/// Scores `z` are in nondecreasing order; equal scores force equal values. Defaults: weights 1,
/// `n = 0`, `N = ∞`, `lo = 0`, `hi = 1`, `top = 1`, no `low`.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct ChainProblem<'a> {
    pub(super) scores: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) objective: Objective<'a>,
    pub(super) slope_min: f64,
    pub(super) slope_max: f64,
    pub(super) first: (f64, f64),
    pub(super) last: (f64, f64),
}

impl<'a> ChainProblem<'a> {
    /// A problem with the default bounds. Everything is checked by [`solve`](super::solve).
    pub fn new(scores: &'a [f64], objective: Objective<'a>) -> Self {
        Self {
            scores,
            weights: None,
            objective,
            slope_min: 0.0,
            slope_max: f64::INFINITY,
            first: (0.0, 1.0),
            last: (f64::NEG_INFINITY, 1.0),
        }
    }

    /// Weights `ω_i >= 0`; a point of weight 0 only has to be feasible.
    pub fn with_weights(mut self, weights: &'a [f64]) -> Self {
        self.weights = Some(weights);
        self
    }

    /// Slope bounds `n` (`>= 0`) and `N` (`>= n`, may be infinite).
    pub fn with_slopes(mut self, slope_min: f64, slope_max: f64) -> Self {
        (self.slope_min, self.slope_max) = (slope_min, slope_max);
        self
    }

    /// Bounds on the first value; `hi` may be infinite.
    pub fn with_first(mut self, lo: f64, hi: f64) -> Self {
        self.first = (lo, hi);
        self
    }

    /// Bounds on the last value; `low` may be `-∞`.
    pub fn with_last(mut self, low: f64, top: f64) -> Self {
        self.last = (low, top);
        self
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// No points at all; such a problem is refused by the solver.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// `ω_i`.
    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// `n (z_i - z_1)`: what separates `y_i` from `v_i`.
    pub(super) fn ramp(&self, i: usize) -> f64 {
        ramp(self.scores, self.slope_min, i)
    }

    /// `d_i = (N - n)(z_{i+1} - z_i)`, 0 for a tie even if `N` is infinite.
    pub(super) fn gap(&self, i: usize) -> f64 {
        gap(self.scores, self.slope_max - self.slope_min, i)
    }

    /// Checks every input once, O(m), and returns the frame in the variables `v`.
    pub(super) fn validate(&self) -> Result<Validated> {
        let m = self.scores.len();
        if m == 0 {
            return Err(Error::TooShort { what: "scores", length: 0, minimum: 1 });
        }
        let (targets, what) = match self.objective {
            Objective::Quadratic { targets } => (targets, "targets"),
            Objective::Bregman { target_scores, .. } => (target_scores, "target_scores"),
        };
        same_length((what, targets.len()), ("scores", m))?;
        check_scores(self.scores)?;
        let quadratic = matches!(self.objective, Objective::Quadratic { .. });
        for (index, &value) in targets.iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::NotFinite { what, index, value });
            }
            if quadratic && value.abs() > MAX_MAGNITUDE {
                let expected = "at most 1e100 in magnitude";
                return Err(Error::ElementOutOfDomain { what, index, value, expected });
            }
        }
        let mut total = m as f64;
        let mut has_zero = false;
        if let Some(weights) = self.weights {
            same_length(("weights", weights.len()), ("scores", m))?;
            total = 0.0;
            for (index, &value) in weights.iter().enumerate() {
                if !(0.0..=MAX_MAGNITUDE).contains(&value) {
                    let expected = "0 or positive, and at most 1e100";
                    return Err(Error::ElementOutOfDomain {
                        what: "weights",
                        index,
                        value,
                        expected,
                    });
                }
                has_zero |= value == 0.0;
                total += value;
            }
        }
        let frame = self.frame()?;
        Ok(Validated { frame, total_weight: total, has_zero })
    }

    /// The box in the variables `v`, or why it is empty.
    fn frame(&self) -> Result<Frame> {
        let (lo, hi) = self.first;
        let (low, top) = self.last;
        let (n, cap) = (self.slope_min, self.slope_max);
        let (first, last) =
            ("the lower bound of the first value", "the upper bound of the last value");
        require("slope_min", n, "0 or positive, and finite", n >= 0.0 && n.is_finite())?;
        require("slope_max", cap, "at least slope_min; it may be infinite", cap >= n)?;
        require(first, lo, "finite", lo.is_finite())?;
        require("the upper bound of the first value", hi, "at least its lower bound", hi >= lo)?;
        require(last, top, "finite", top.is_finite())?;
        require("the lower bound of the last value", low, "at most its upper bound", low <= top)?;
        if let Objective::Bregman { .. } = self.objective {
            require(first, lo, "at least 0 for a link", lo >= 0.0)?;
            require(last, top, "at most 1 for a link", top <= 1.0)?;
        }
        require(last, top, "at least the lower bound of the first value", top >= lo)?;
        let range = self.scores[self.scores.len() - 1] - self.scores[0];
        let climb = n * range;
        // Rounding of n * range and of the difference: feasible within it counts as feasible, so
        // that n = (top - lo) / range is always accepted.
        let slack = 8.0 * f64::EPSILON * (top.abs() + lo.abs() + top - lo);
        let wall = top - climb;
        if wall < lo - slack {
            let largest_slope_min = (top - lo) / range;
            return Err(Error::InfeasibleSlope { slope_min: n, range, largest_slope_min });
        }
        let wall = wall.max(lo);
        let last_min = low - climb;
        let spread = if range > 0.0 { (cap - n) * range } else { 0.0 };
        let reachable = wall.min(hi + spread);
        if last_min > reachable + slack {
            let smallest_slope_max = if hi >= low { n } else { (low - hi) / range };
            let reachable = reachable + climb;
            return Err(Error::UnreachableLast { last_min: low, reachable, smallest_slope_max });
        }
        Ok(Frame { lo, hi, wall, last_min: last_min.min(reachable) })
    }
}

/// Largest weight and (quadratic) target accepted: their products and sums stay finite.
pub(super) const MAX_MAGNITUDE: f64 = 1e100;

/// What the checks found out.
pub(super) struct Validated {
    pub frame: Frame,
    pub total_weight: f64,
    pub has_zero: bool,
}

/// The box in the variables `v`: `v_1 ∈ [lo, hi]`, `v_m ∈ [last_min, wall]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub lo: f64,
    pub hi: f64,
    pub wall: f64,
    pub last_min: f64,
}

impl Frame {
    /// Within this a value is at its bound: some units of the core's grid and of `v`.
    pub fn contact(&self) -> f64 {
        let size = self.lo.abs().max(self.wall.abs());
        8.0 * f64::EPSILON * (size + 2.0 * (self.wall - self.lo))
    }
}

pub(super) fn ramp(scores: &[f64], slope_min: f64, i: usize) -> f64 {
    slope_min * (scores[i] - scores[0])
}

pub(super) fn gap(scores: &[f64], freedom: f64, i: usize) -> f64 {
    let dz = scores[i + 1] - scores[i];
    if dz > 0.0 { freedom * dz } else { 0.0 }
}

/// Finite, nondecreasing, and of a range that does not overflow.
pub(super) fn check_scores(scores: &[f64]) -> Result<()> {
    let mut previous = f64::NEG_INFINITY;
    for (index, &value) in scores.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what: "scores", index, value });
        }
        if value < previous {
            return Err(Error::NotSorted { what: "scores", index, previous, value });
        }
        previous = value;
    }
    let range = previous - scores[0];
    if !range.is_finite() {
        let expected = "finite: divide the scores by a power of two";
        return Err(Error::OutOfDomain { what: "the range of the scores", value: range, expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: [f64; 3] = [0.0, 1.0, 4.0];

    fn problem() -> ChainProblem<'static> {
        ChainProblem::new(&SCORES, Objective::Quadratic { targets: &[0.5; 3] })
    }

    fn frame(problem: ChainProblem) -> [f64; 4] {
        let Frame { lo, hi, wall, last_min } = problem.validate().unwrap().frame;
        [lo, hi, wall, last_min]
    }

    /// In the variables v the ramp n (z - z_1) is taken off.
    #[test]
    fn the_frame_takes_the_ramp_off() {
        let inf = f64::INFINITY;
        assert_eq!(frame(problem()), [0.0, 1.0, 1.0, -inf]);
        assert_eq!(frame(problem().with_slopes(0.125, 1.0)), [0.0, 1.0, 0.5, -inf]);
        let narrow =
            problem().with_slopes(0.125, 0.25).with_first(0.125, 0.25).with_last(0.75, 1.0);
        assert_eq!(frame(narrow), [0.125, 0.25, 0.5, 0.25]);
        // Reached only with all slopes at N: 0.25 + 4 * 0.1875 = 1.
        let tight = problem().with_slopes(0.0, 0.1875).with_first(0.0, 0.25).with_last(1.0, 1.0);
        assert_eq!(frame(tight), [0.0, 0.25, 1.0, 1.0]);
        assert_eq!(problem().ramp(2), 0.0);
        assert_eq!(problem().with_slopes(0.125, 1.0).ramp(2), 0.5);
        assert_eq!(problem().with_slopes(0.125, 1.0).gap(1), 0.875 * 3.0);
        assert_eq!(gap(&[1.0, 1.0], f64::INFINITY, 0), 0.0);
        assert_eq!((problem().len(), problem().is_empty()), (3, false));
        let none = ChainProblem::new(&[], Objective::Quadratic { targets: &[] });
        assert_eq!((none.len(), none.is_empty()), (0, true));
    }

    #[test]
    fn every_bound_is_checked() {
        let nan = f64::NAN;
        let inf = f64::INFINITY;
        let wrong = [
            ("slope_min", problem().with_slopes(-0.1, 1.0)),
            ("slope_min", problem().with_slopes(nan, 1.0)),
            ("slope_min", problem().with_slopes(inf, inf)),
            ("slope_max", problem().with_slopes(0.1, 0.05)),
            ("slope_max", problem().with_slopes(0.1, nan)),
            ("the lower bound of the first value", problem().with_first(nan, 1.0)),
            ("the lower bound of the first value", problem().with_first(-inf, 1.0)),
            ("the upper bound of the first value", problem().with_first(0.5, 0.4)),
            ("the upper bound of the first value", problem().with_first(0.5, nan)),
            ("the upper bound of the last value", problem().with_last(0.0, inf)),
            ("the upper bound of the last value", problem().with_last(0.0, nan)),
            ("the lower bound of the last value", problem().with_last(nan, 1.0)),
            ("the lower bound of the last value", problem().with_last(0.9, 0.8)),
            (
                "the upper bound of the last value",
                problem().with_first(0.5, 1.0).with_last(0.0, 0.4),
            ),
        ];
        for (expected, problem) in wrong {
            match problem.validate().map(|_| ()) {
                Err(Error::OutOfDomain { what, .. }) => assert_eq!(what, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        let link = crate::link::Sigmoid;
        let objective = Objective::Bregman { link: &link, target_scores: &[0.0; 3] };
        let bregman = ChainProblem::new(&SCORES, objective);
        assert!(bregman.validate().is_ok());
        assert!(bregman.with_first(-1e-9, 1.0).validate().is_err());
        assert!(bregman.with_last(0.0, 1.0 + 1e-9).validate().is_err());
        assert!(problem().with_first(-1.0, 2.0).with_last(0.0, 3.0).validate().is_ok());
    }

    #[test]
    fn infeasible_bounds_say_what_would_do() {
        // n may be 0.25 exactly, and is accepted there; above, the largest is named.
        assert_eq!(frame(problem().with_slopes(0.25, 1.0))[2], 0.0);
        match problem().with_slopes(0.251, 1.0).validate().map(|_| ()) {
            Err(Error::InfeasibleSlope { range, largest_slope_min, .. }) => {
                assert_eq!((range, largest_slope_min), (4.0, 0.25));
            }
            other => panic!("{other:?}"),
        }
        // From at most 0.25 with slopes up to 0.125 the last value is at most 0.75.
        let far = problem().with_slopes(0.0, 0.125).with_first(0.0, 0.25);
        assert!(far.with_last(0.75, 1.0).validate().is_ok());
        match far.with_last(0.875, 1.0).validate().map(|_| ()) {
            Err(Error::UnreachableLast { last_min, reachable, smallest_slope_max }) => {
                assert_eq!((last_min, reachable, smallest_slope_max), (0.875, 0.75, 0.15625));
            }
            other => panic!("{other:?}"),
        }
        // n = 1/16 climbs 0.25 and is counted once.
        let ramped = far.with_slopes(0.0625, 0.125).with_last(0.875, 1.0);
        match ramped.validate().map(|_| ()) {
            Err(Error::UnreachableLast { reachable, smallest_slope_max, .. }) => {
                assert_eq!((reachable, smallest_slope_max), (0.75, 0.15625));
            }
            other => panic!("{other:?}"),
        }
    }

    /// The steepest slope that there is room for is accepted, however it and its climb are rounded, at any
    /// place and size of the bounds; what is steeper by more than rounding is not.
    #[test]
    fn the_steepest_slope_is_accepted_however_it_is_rounded() {
        let mut state = 5u64;
        let mut unit = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let targets = [0.0; 2];
        for place in [0.0, 1.0, -1.0, 1e6, -1e6] {
            for _ in 0..2000 {
                let lo = place * (1.0 + unit()) + unit();
                let top = lo + unit();
                let scores = [0.0, 10.0 * unit()];
                let n = (top - lo) / scores[1];
                let of = |n: f64| {
                    ChainProblem::new(&scores, Objective::Quadratic { targets: &targets })
                        .with_slopes(n, f64::INFINITY)
                        .with_first(lo, top)
                        .with_last(lo, top)
                        .validate()
                        .map(|_| ())
                };
                assert!(of(n).is_ok(), "{lo} {top} {n}");
                let rounding = 40.0 * f64::EPSILON * (lo.abs() + top.abs() + 1.0) / scores[1];
                let steep = n + rounding + 1e-12 * n;
                assert!(matches!(of(steep), Err(Error::InfeasibleSlope { .. })), "{lo} {top} {n}");
            }
        }
    }

    #[test]
    fn weights_targets_and_scores_are_checked() {
        let weighted = |w: &'static [f64]| problem().with_weights(w).validate();
        let sums = weighted(&[1.0, 0.0, 2.5]).unwrap();
        assert_eq!((sums.total_weight, sums.has_zero), (3.5, true));
        let sums = weighted(&[1.0, 1e100, 2.5]).unwrap();
        assert!(!sums.has_zero);
        for bad in [-1.0, f64::NAN, 1.1e100] {
            let weights = [1.0, 1.0, bad];
            let found = problem().with_weights(&weights).validate().map(|_| ());
            assert!(
                matches!(found, Err(Error::ElementOutOfDomain { what: "weights", index: 2, .. })),
                "{found:?}"
            );
        }
        assert!(weighted(&[1.0]).is_err());
        let of = |targets: &[f64]| {
            ChainProblem::new(&SCORES, Objective::Quadratic { targets }).validate().map(|_| ())
        };
        assert!(of(&[0.0, 1e100, -1e100]).is_ok());
        assert!(matches!(
            of(&[0.0, 0.0, -1.1e100]),
            Err(Error::ElementOutOfDomain { index: 2, .. })
        ));
        assert!(matches!(of(&[0.0, f64::NAN, 0.0]), Err(Error::NotFinite { index: 1, .. })));
        assert!(of(&[0.0]).is_err());
        assert!(matches!(check_scores(&[0.0, 2.0, 1.0]), Err(Error::NotSorted { index: 2, .. })));
        assert!(matches!(
            check_scores(&[0.0, f64::INFINITY]),
            Err(Error::NotFinite { index: 1, .. })
        ));
        assert!(matches!(check_scores(&[-1e308, 1e308]), Err(Error::OutOfDomain { .. })));
        assert!(check_scores(&[1.0, 1.0]).is_ok());
    }

    #[test]
    fn contact_is_eight_ulps_of_the_box() {
        let frame = Frame { lo: -2.0, hi: 0.0, wall: 1.0, last_min: 0.0 };
        assert_eq!(frame.contact(), 8.0 * f64::EPSILON * (2.0 + 6.0));
    }
}
