//! Random instances, and checks of a solution that share no code with the solver.
#![allow(dead_code)]

#[path = "../random_support/mod.rs"]
mod random_support;

use properloss::chain::{ChainProblem, ChainSolution, Objective};
use properloss::link::{InverseLink, PiecewiseLink};
use properloss::piecewise::PiecewiseAffine;
pub use random_support::Random as Rng;

/// `PROPERLOSS_PROFILE=fuzz` or `full` asks for the long runs.
pub fn is_fuzz() -> bool {
    std::env::var("PROPERLOSS_PROFILE").is_ok_and(|p| p == "fuzz" || p == "full")
}

/// `small` instances by default, `large` in the fuzz profile.
pub fn instances(small: usize, large: usize) -> usize {
    if is_fuzz() { large } else { small }
}

/// An instance that owns its data.
#[derive(Debug, Clone)]
pub struct Instance {
    pub scores: Vec<f64>,
    pub weights: Vec<f64>,
    /// Targets, or target scores where `link` is given.
    pub targets: Vec<f64>,
    pub slopes: (f64, f64),
    pub first: (f64, f64),
    pub last: (f64, f64),
    pub link: Option<PiecewiseLink>,
}

impl Instance {
    pub fn problem(&self) -> ChainProblem<'_> {
        let objective = match &self.link {
            None => Objective::Quadratic { targets: &self.targets },
            Some(link) => Objective::Bregman { link, target_scores: &self.targets },
        };
        ChainProblem::new(&self.scores, objective)
            .with_weights(&self.weights)
            .with_slopes(self.slopes.0, self.slopes.1)
            .with_first(self.first.0, self.first.1)
            .with_last(self.last.0, self.last.1)
    }

    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// `g(y) - c`, from the knots, without cancellation where the scores have a large offset.
    pub fn pull(&self, y: f64, c: f64) -> f64 {
        let Some(link) = &self.link else { return y - c };
        let (x, u) = (link.knots().x(), link.knots().y());
        let y = y.clamp(0.0, 1.0);
        let k = u.partition_point(|&knot| knot <= y).clamp(1, u.len() - 1) - 1;
        (x[k] - c) + (y - u[k]) / (u[k + 1] - u[k]) * (x[k + 1] - x[k])
    }

    /// Width of the scores of the link: the unit in which `g - c` is measured. 1 without a link.
    pub fn unit(&self) -> f64 {
        self.link.as_ref().map_or(1.0, |link| link.support().1 - link.support().0)
    }

    /// `Σ ω D(y_i, target_i)`, each term the integral of `g - c` from the target to `y_i`, summed
    /// over the pieces of the link by the trapezium rule (exact there).
    pub fn cost(&self, y: &[f64]) -> f64 {
        let term = |y: f64, c: f64| {
            let Some(link) = &self.link else { return 0.5 * (y - c).powi(2) };
            let (target, y) = (link.u(c), y.clamp(0.0, 1.0));
            let (a, b) = (target.min(y), target.max(y));
            let inner = link.knots().y().iter().copied().filter(|&u| u > a && u < b);
            let mut sum = 0.0;
            let mut from = a;
            for to in inner.chain([b]) {
                sum += 0.5 * (self.pull(from, c) + self.pull(to, c)) * (to - from);
                from = to;
            }
            if y >= target { sum } else { -sum }
        };
        (0..self.len()).map(|i| self.weights[i] * term(y[i], self.targets[i])).sum()
    }

    /// Largest violation of any constraint.
    pub fn infeasibility(&self, y: &[f64]) -> f64 {
        let mut worst = (self.first.0 - y[0]).max(y[0] - self.first.1);
        let last = y[y.len() - 1];
        worst = worst.max(self.last.0 - last).max(last - self.last.1);
        for i in 0..y.len() - 1 {
            let dz = self.scores[i + 1] - self.scores[i];
            let dy = y[i + 1] - y[i];
            worst = worst.max(self.slopes.0 * dz - dy);
            let cap = if dz == 0.0 { 0.0 } else { self.slopes.1 * dz };
            worst = worst.max(dy - cap);
        }
        worst.max(0.0)
    }

    /// KKT residual over the sum of the weights, from the values alone: a bound counts as active
    /// when its slack is at most 1e-12.
    pub fn kkt(&self, y: &[f64]) -> f64 {
        self.kkt_with(y, |y, c| self.pull(y, c))
    }

    /// The same with `g(y) - c` given.
    pub fn kkt_with(&self, y: &[f64], pull: impl Fn(f64, f64) -> f64) -> f64 {
        let tight = 1e-12;
        let (mut least, mut most) = (0.0_f64, 0.0_f64);
        if y[0] - self.first.0 <= tight {
            least = f64::NEG_INFINITY;
        }
        if self.first.1 - y[0] <= tight {
            most = f64::INFINITY;
        }
        let mut kappa = 0.0;
        let m = y.len();
        for i in 0..m {
            kappa += self.weights[i] * pull(y[i], self.targets[i]);
            let (lower, upper) = if i + 1 < m {
                let dz = self.scores[i + 1] - self.scores[i];
                let dy = y[i + 1] - y[i];
                let cap = if dz == 0.0 { 0.0 } else { self.slopes.1 * dz };
                (dy - self.slopes.0 * dz <= tight, cap - dy <= tight)
            } else {
                (self.last.1 - y[i] <= tight, y[i] - self.last.0 <= tight)
            };
            if !upper {
                most = most.min(-kappa);
            }
            if !lower {
                least = least.max(-kappa);
            }
        }
        // Lower active: kappa <= 0 may hold with any size; upper likewise.
        let total: f64 = self.weights.iter().sum();
        ((least - most) / 2.0).max(0.0) / total
    }
}

/// A random instance of `1..=max_m` points: ties, near-ties, wide weights, all kinds of bounds.
pub fn random_instance(rng: &mut Rng, max_m: usize, bregman: bool) -> Instance {
    let m = 1 + rng.below(max_m);
    let (tie, near) = (rng.unit() * 0.3, rng.unit() * 0.3);
    let scale = rng.power(-3.0, 3.0);
    let mut z = (rng.unit() - 0.5) * 4.0;
    let mut scores = Vec::with_capacity(m);
    for _ in 0..m {
        scores.push(z * scale);
        let r = rng.unit();
        if r < tie {
        } else if r < tie + near {
            z += 1e-12 * rng.unit();
        } else {
            z += rng.unit() * 4.0 / m as f64;
        }
    }
    let range = scores[m - 1] - scores[0];
    let decades = if rng.chance(0.3) { 8.0 } else { rng.unit() * 4.0 };
    let weights = (0..m).map(|_| rng.power(-decades / 2.0, decades / 2.0)).collect();
    let (lo, hi, low, top) = if rng.chance(0.3) {
        let lo = 0.2 * rng.unit();
        let top = 0.6 + 0.4 * rng.unit();
        (lo, lo + rng.unit() * (top - lo), f64::NEG_INFINITY, top)
    } else {
        (0.0, 1.0, f64::NEG_INFINITY, 1.0)
    };
    let room = if range > 0.0 { (top - lo) / range } else { 1.0 };
    let n = match rng.below(5) {
        0 => 0.0,
        1 => room,
        2 => room * 0.999,
        _ => room * rng.unit() * rng.unit(),
    };
    let cap = match rng.below(5) {
        0 => f64::INFINITY,
        1 => n,
        _ => n + room * rng.power(-2.0, 1.5),
    };
    // A window: a lower bound on the last value that can be reached.
    let reach = top.min(hi + if range > 0.0 { cap * range } else { 0.0 });
    let low = if rng.chance(0.3) { reach - rng.unit() * 0.5 } else { low };
    let low = low.min(top);
    let link = bregman.then(|| random_link(rng, scores[0], scores[m - 1]));
    let labels = rng.chance(0.5);
    let noise = rng.unit();
    let targets = (0..m)
        .map(|i| {
            let trend = (i as f64 + 0.5) / m as f64;
            let p = if labels {
                f64::from(rng.chance(trend))
            } else {
                trend + noise * (rng.unit() - 0.5)
            };
            link.as_ref().map_or(p, |link: &PiecewiseLink| link.u_inverse(p.clamp(0.0, 1.0)))
        })
        .collect();
    Instance { scores, weights, targets, slopes: (n, cap), first: (lo, hi), last: (low, top), link }
}

/// A rough link around `[a, b]`: slopes over two decades.
pub fn random_link(rng: &mut Rng, a: f64, b: f64) -> PiecewiseLink {
    let pieces = 1 + rng.below(40);
    let width = (b - a).max(1e-6 * a.abs().max(1.0));
    let decades = 2.0 * rng.unit();
    let (mut x, mut y) = (vec![0.0], vec![0.0]);
    for k in 0..pieces {
        let dx = 0.05 + rng.unit();
        x.push(x[k] + dx);
        y.push(y[k] + dx * rng.power(-decades / 2.0, decades / 2.0));
    }
    let (sx, sy) = (x[pieces], y[pieces]);
    let x = x.iter().map(|x| a - 0.2 * width + 1.4 * width * x / sx).collect();
    let y = y.iter().map(|y| y / sy).collect();
    PiecewiseLink::new(PiecewiseAffine::new(x, y).unwrap()).unwrap()
}

/// The states say what the values are: at a bound within rounding, or off it.
pub fn check_states(instance: &Instance, solution: &ChainSolution) -> Result<(), String> {
    use properloss::chain::{EdgeState, EndState};
    let (z, y) = (&instance.scores, &solution.values);
    let (n, cap) = instance.slopes;
    let last = y.len() - 1;
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12;
    for i in 0..last {
        let (dz, dy) = (z[i + 1] - z[i], y[i + 1] - y[i]);
        let (low, high) = (n * dz, if dz > 0.0 { cap * dz } else { 0.0 });
        let right = match solution.edges[i] {
            EdgeState::Tied => near(dy, low) && near(low, high),
            EdgeState::Lower => near(dy, low),
            EdgeState::Upper => near(dy, high),
            EdgeState::Free => dz > 0.0,
        };
        if !right {
            return Err(format!("edge {i} is {:?}: {dy} in [{low}, {high}]", solution.edges[i]));
        }
    }
    for (what, state, value, (low, high)) in [
        ("first", solution.first, y[0], instance.first),
        ("last", solution.last, y[last], instance.last),
    ] {
        let right = match state {
            EndState::Fixed => near(value, low) && near(value, high),
            EndState::Lower => near(value, low),
            EndState::Upper => near(value, high),
            EndState::Free => value >= low && value <= high,
        };
        if !right {
            return Err(format!("{what} is {state:?}: {value} in [{low}, {high}]"));
        }
    }
    Ok(())
}

/// What every solution must satisfy.
pub fn check(instance: &Instance, solution: &ChainSolution) -> Result<(), String> {
    let y = &solution.values;
    // The residual of a link over scores of width 1000 is measured in them.
    let unit = instance.unit().max(1.0);
    let infeasible = instance.infeasibility(y);
    if infeasible > 1e-12 {
        return Err(format!("infeasible by {infeasible:e}"));
    }
    if solution.kkt_residual > 1e-12 * unit {
        return Err(format!("reported KKT residual {:e}", solution.kkt_residual));
    }
    let kkt = instance.kkt(y);
    if kkt > 1e-12 * unit {
        return Err(format!("KKT residual {kkt:e}, reported {:e}", solution.kkt_residual));
    }
    let total: f64 = instance.weights.iter().sum();
    if !(solution.duality_gap >= 0.0 && solution.duality_gap <= 1e-10 * total * unit) {
        return Err(format!("duality gap {:e}", solution.duality_gap));
    }
    Ok(())
}
