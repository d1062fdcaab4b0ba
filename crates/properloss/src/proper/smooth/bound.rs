//! How far the link is from the one of scores that were kept one by one.
//!
//! A bin of [`Layout`] is a run of whole cells, so its weights `n0`, `n1` are those of its rows exactly.
//! What a cell loses is where in it the rows lie: the bin's place is `Σ w σ(z̄)` over the means of its
//! cells and not `Σ w σ(z)` over its rows. With `z` between the ends `a`, `b` of a cell,
//!
//! ```text
//! |E σ(z) - σ(z̄)| <= 1/2 max|σ''| Var z <= 1/2 max|σ''| (z̄ - a)(b - z̄)          (Taylor; Bhatia and Davis)
//! ```
//!
//! so the place `p_b` is known up to some `δ_b`. Let `J` be the objective with the true places, `Ĵ` ours,
//! `v` and `v̂` their minima at the same knots, `d = v - v̂`. For the term of one bin, with slope
//! `g(x) = -n1/x + n0/(1-x)`, curvature `c = g'`, and `s` the slope of `v`,
//!
//! ```text
//! <J' - Ĵ', d> = [g(v(p+δ)) - g(v(p))] d(p)  +  g(v(p+δ)) [d(p+δ) - d(p)]
//!             <= c s δ |d(p)|                +  |g| δ max|d'|
//! ```
//!
//! and summed over the bins, `<J' - Ĵ', d> <= ε |d|_H` in the norm of the Hessian `H` of `Ĵ` at `v̂`:
//!
//! ```text
//! ε = sqrt(Σ_b (c s δ)² / c)  +  Σ_j t_j |e_{j+1} - e_j|_{H⁻¹},    t_j = Σ_{b in piece j} |g| δ / width_j
//! ```
//!
//! `Ĵ/κ` is self-concordant if `κ` is at most the factor of every logarithm in it, hence
//! `<Ĵ'(v) - Ĵ'(v̂), d> >= r² κ/(1 + r)` with `r = |d|_{H/κ}`. Where `r/(1+r)` is above `ε/√κ`, `J`
//! grows outwards, so the minimum `v` lies within
//!
//! ```text
//! r <= (ε/√κ) / (1 - ε/√κ),      |v(p) - v̂(p)| <= √κ r sqrt(h' H⁻¹ h),   h: the hats at p
//! ```
//!
//! Where that says too little, the bins are followed one by one: `d = -H̄⁻¹ (J' - Ĵ')` with a mean Hessian
//! `H̄` between `(1 - r)² H` and `H / (1 - r)²`, so with `y = H⁻¹ h`
//!
//! ```text
//! |v(p) - v̂(p)| <= Σ_b c s δ |y(p_b)| + Σ_j t_j |y_{j+1} - y_j| + (1/(1-r)² - 1) ε sqrt(h' H⁻¹ h)
//! ```
//!
//! `c`, `s`, `g` are taken at their largest over the ball of radius `r`, so the bound holds and is not an
//! estimate. It is about the minimum for each strength, at the knots and the weights of the fit.

use super::banded::Factor;
use super::bins::Count;
use super::newton::{Workspace, minimise};
use super::objective::{Derivatives, Objective};
use super::pieces::{Layout, Pieces, bin_of_counts};
use super::{Bins, SmoothLink};
use crate::error::Result;
use crate::link::{InverseLink, Sigmoid};

/// `max |σ''|`, at the probabilities `1/2 ± √3/6`.
const STEEPEST_CHANGE: f64 = 0.096_225_044_864_937_63;
/// Models of a smaller weight count with that weight.
const NEGLIGIBLE: f64 = 1e-9;
/// Newton's decrement to which a minimum is found again.
const EXACT: f64 = 1e-12;
/// Above this the bins are followed one by one.
const CLOSER: f64 = 2e-5;

impl SmoothLink {
    /// The largest distance, in probability and over the range of the scores, between this link and the
    /// one whose bins lie where the scores themselves say: what counting in cells has cost. `bins` are
    /// those it was fitted to. Infinite where nothing can be said.
    pub fn error_bound(&self, bins: &Bins) -> Result<f64> {
        let learned = |j: usize| self.points[j].weight;
        let count = self.points.len();
        if (1..count).all(|j| learned(j) == 0.0) {
            return Ok(0.0);
        }
        let layout = Layout::new(bins)?;
        let moves = place_errors(bins);
        let probes = probes(&layout.pieces, bins);
        let (mut total, mut closer) = (vec![0.0; probes.len()], vec![0.0; probes.len()]);
        for j in 1..count {
            let weight = learned(j);
            let add = |total: &mut [f64], distances: &dyn Fn(usize) -> f64| {
                total.iter_mut().enumerate().for_each(|(k, sum)| *sum += weight * distances(k));
            };
            let (smoothness, v) = (self.points[j].smoothness, self.models[j].0.y().to_vec());
            let found = if weight > NEGLIGIBLE {
                Perturbed::new(&layout, &moves, smoothness, v)
            } else {
                // Two links are never further apart than 1.
                add(&mut total, &|_| 1.0);
                add(&mut closer, &|_| 1.0);
                continue;
            };
            let Some((at, ball)) = found.and_then(|at| at.ball().map(|ball| (at, ball))) else {
                return Ok(f64::INFINITY);
            };
            add(&mut total, &|k| at.distance(&ball, probes[k]));
            if total.iter().any(|&sum| sum > CLOSER) {
                add(&mut closer, &|k| at.closer_distance(&ball, probes[k]));
            } else {
                add(&mut closer, &|k| at.distance(&ball, probes[k]));
            }
        }
        let least = total.iter().zip(&closer).map(|(a, b)| a.min(*b));
        Ok(least.fold(0.0, f64::max))
    }
}

/// `δ_b`, bin by bin.
fn place_errors(bins: &Bins) -> Vec<f64> {
    let of_count = bin_of_counts(bins);
    let size = of_count.last().map_or(0, |last| last + 1);
    let (mut sum, mut weight) = (vec![0.0; size], vec![0.0; size]);
    for (count, &bin) in bins.counts.iter().zip(&of_count) {
        sum[bin] += count.weight * mean_error(count);
        weight[bin] += count.weight;
    }
    sum.iter().zip(&weight).map(|(sum, weight)| sum / weight).collect()
}

/// `|E σ(z) - σ(z̄)|` of the rows of one count, at most.
fn mean_error(count: &Count) -> f64 {
    let ((a, b), mean) = (count.edges(), count.mean());
    // Neither can the mean be further away than the other end.
    let range = (Sigmoid.u(b) - Sigmoid.u(a)).abs();
    if !(a.is_finite() && b.is_finite()) {
        return range;
    }
    let spread = ((mean - a) * (b - mean)).max(0.0);
    (0.5 * largest_change(a, b) * spread).min(range)
}

/// `max |σ''|` between `a` and `b`.
fn largest_change(a: f64, b: f64) -> f64 {
    let at = |z: f64| {
        let (p, q) = (Sigmoid.u(z), Sigmoid.u(-z));
        (p * q * (q - p)).abs()
    };
    let peak = (2.0 + 3f64.sqrt()).ln();
    let inside = |z: f64| a <= z && z <= b;
    if inside(peak) || inside(-peak) { STEEPEST_CHANGE } else { at(a).max(at(b)) }
}

/// Where the distance is looked at: at the knots in the range of the scores, and at its ends. Between
/// them it is convex.
fn probes(pieces: &Pieces, bins: &Bins) -> Vec<(usize, f64)> {
    let (first, last) = (&bins.counts[0], &bins.counts[bins.counts.len() - 1]);
    let (low, high) = (Sigmoid.u(first.edges().0), Sigmoid.u(last.edges().1));
    let place = |p: f64| {
        let piece = pieces.piece_near(0, p);
        (piece, pieces.share(piece, p))
    };
    let inner = pieces.knots.iter().copied().filter(|&k| low < k && k < high);
    inner.chain([low, high]).map(place).collect()
}

/// The minimum for one strength, with all that its neighbourhood needs.
struct Perturbed<'a> {
    layout: &'a Layout,
    moves: &'a [f64],
    v: Vec<f64>,
    /// `κ`.
    least: f64,
    factor: Factor,
    /// The diagonal of `H⁻¹`, and the one beside it.
    own: Vec<f64>,
    next: Vec<f64>,
}

/// Where the other minimum lies.
struct Ball {
    /// `r`.
    radius: f64,
    /// `ε`.
    pull: f64,
    /// `c s δ` of every bin, and `t` of every piece.
    own: Vec<f64>,
    along: Vec<f64>,
}

impl<'a> Perturbed<'a> {
    /// The minimum found again, exactly; `None` if its Hessian has no inverse.
    fn new(layout: &'a Layout, moves: &'a [f64], smoothness: f64, mut v: Vec<f64>) -> Option<Self> {
        let weights = layout.outside.last()?;
        let Layout { pieces, places, .. } = layout;
        let objective = Objective { pieces, places, weights, scale: 1.0, smoothness };
        minimise(&objective, &mut v, EXACT, &mut Workspace::default());
        let (mut here, mut factor) = (Derivatives::default(), Factor::default());
        if !(objective.at(&v, &mut here) && factor.of(&here.hessian, 0.0)) {
            return None;
        }
        let (own, next) = factor.inverse_band();
        let factors = weights.iter().flatten().chain(&pieces.barrier).copied();
        let least = factors.filter(|&n| n > 0.0).fold(super::OTHER_CLASS, f64::min);
        Some(Self { layout, moves, v, least, factor, own, next })
    }

    /// `sqrt(h' H⁻¹ h)`.
    fn spread(&self, (j, u): (usize, f64)) -> f64 {
        let (a, b) = (1.0 - u, u);
        let square = a * a * self.own[j] + b * b * self.own[j + 1] + 2.0 * a * b * self.next[j];
        square.max(0.0).sqrt()
    }

    /// `√κ r sqrt(h' H⁻¹ h)`.
    fn distance(&self, ball: &Ball, probe: (usize, f64)) -> f64 {
        self.least.sqrt() * ball.radius * self.spread(probe)
    }

    /// The same with every bin's part of it.
    fn closer_distance(&self, ball: &Ball, (j, u): (usize, f64)) -> f64 {
        let mut y = vec![0.0; self.v.len()];
        (y[j], y[j + 1]) = (1.0 - u, u);
        self.factor.solve(&mut y);
        let places = self.layout.places.iter();
        let bins = places.zip(&ball.own).map(|(place, force)| {
            let (j, u) = (place.piece, place.share);
            force * (y[j] * (1.0 - u) + y[j + 1] * u).abs()
        });
        let pieces = y.windows(2).zip(&ball.along).map(|(y, t)| t * (y[1] - y[0]).abs());
        let inside = 1.0 - ball.radius;
        let rest = (1.0 / (inside * inside) - 1.0) * ball.pull * self.spread((j, u));
        bins.sum::<f64>() + pieces.sum::<f64>() + rest
    }

    /// The least `r` that was found with `r/(1 + r) >= ε(r)/√κ`.
    fn ball(&self) -> Option<Ball> {
        let mut radius = 0.0;
        for _ in 0..30 {
            let ball = self.forces(radius)?;
            let share = ball.pull / self.least.sqrt();
            if share >= 0.45 {
                return None;
            }
            let needed = share / (1.0 - share);
            if needed <= radius {
                return Some(ball);
            }
            radius = 1.05 * needed;
        }
        None
    }

    /// What pulls at the minimum over the ball of a radius; `None` where a probability could reach 0 or 1
    /// in it.
    fn forces(&self, radius: f64) -> Option<Ball> {
        let Layout { pieces, places, outside } = self.layout;
        let (mut squares, mut own) = (0.0, Vec::with_capacity(places.len()));
        let mut along = vec![0.0; pieces.inverse_width.len()];
        for ((place, weights), &shift) in places.iter().zip(outside.last()?).zip(self.moves) {
            let [negative, positive] = *weights;
            let (j, u) = (place.piece, place.share);
            let x = self.v[j] * (1.0 - u) + self.v[j + 1] * u;
            let p = pieces.knots[j] * (1.0 - u) + pieces.knots[j + 1] * u;
            let reached = pieces.reached(j, p - shift, p + shift);
            let slope = |i: usize| (self.v[i + 1] - self.v[i]) * pieces.inverse_width[i];
            let steepest = (1.0 + radius) * reached.clone().map(slope).fold(0.0, f64::max);
            let least = |x: f64| (1.0 - radius) * x - steepest * shift;
            let (x_least, y_least) = (least(x), least(1.0 - x));
            if !(x_least > 0.0 && y_least > 0.0) {
                return None;
            }
            let curvature = |x: f64, y: f64| positive / (x * x) + negative / (y * y);
            let (here, most) = (curvature(x, 1.0 - x), curvature(x_least, y_least));
            own.push(most * steepest * shift);
            squares += (most * steepest * shift).powi(2) / here;
            let slope_here = (negative / (1.0 - x) - positive / x).abs();
            let drift = self.least.sqrt() * radius / here.sqrt() + steepest * shift;
            let force = slope_here + most * drift;
            reached.for_each(|i| along[i] += force * shift * pieces.inverse_width[i]);
        }
        let step = |i: usize| (self.own[i] + self.own[i + 1] - 2.0 * self.next[i]).max(0.0).sqrt();
        let pieces = along.iter().enumerate().map(|(i, t)| t * step(i));
        let pull = squares.sqrt() + pieces.sum::<f64>();
        Some(Ball { radius, pull, own, along })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proper::folds::Random;
    use crate::proper::smooth::Smooth;

    fn uniform(random: &mut Random) -> f64 {
        (random.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Scores of many shapes, and labels whose link is not the sigmoid.
    fn rows(shape: usize, size: usize, seed: u64) -> (Vec<f64>, Vec<u8>, Vec<f64>, Vec<u32>) {
        let random = &mut Random(seed);
        let mut all = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for i in 0..size {
            let normal: f64 = (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0;
            let z = match shape {
                0 => 1.5 * normal,
                1 => -5.0 + 1.5 * normal,
                2 => 0.3 * normal,
                // All rows of a cell at its two ends: as wide as a cell can be.
                3 => ((1.2 * normal * 128.0).floor() + 0.999 * f64::from((i % 2) as u8)) / 128.0,
                // Heavy tails.
                _ => normal / (0.05 + uniform(random)),
            };
            let p = 0.03 + 0.94 * Sigmoid.u(1.3 * z.clamp(-30.0, 30.0));
            all.0.push(z);
            all.1.push(u8::from(uniform(random) < p));
            all.2.push(if shape == 4 { 0.5 + uniform(random) } else { 1.0 });
            all.3.push((random.next() % 5) as u32);
        }
        all
    }

    /// The places of the bins from the scores themselves.
    fn exact(layout: &Layout, bins: &Bins, z: &[f64], w: &[f64]) -> Layout {
        let of_count = bin_of_counts(bins);
        let bin = |z: f64| {
            let cell = Count::cell_of(z);
            of_count[bins.counts.partition_point(|count| count.cell() < cell)]
        };
        let (mut sum, mut weight) =
            (vec![0.0; layout.places.len()], vec![0.0; layout.places.len()]);
        for (z, w) in z.iter().zip(w) {
            sum[bin(*z)] += w * Sigmoid.u(*z);
            weight[bin(*z)] += w;
        }
        let centres: Vec<f64> = sum.iter().zip(&weight).map(|(s, w)| s / w).collect();
        let mut layout = layout.clone();
        layout.places = layout.pieces.places(&centres);
        layout
    }

    #[test]
    fn the_bound_holds_against_scores_that_are_not_counted_and_is_below_a_ten_thousandth() {
        let smooth = Smooth { tolerance: 1e-13, ..Smooth::default() };
        let mut furthest = 0.0f64;
        for shape in 0..6 {
            for (size, seed) in [(300, 1), (5_000, 2), (100_000, 3)] {
                let (mut z, mut y, mut w, mut fold) = rows(shape % 5, size, seed);
                if shape == 5 {
                    // Copies of few rows.
                    let few = size / 40;
                    z = z[..few].repeat(40);
                    y = y[..few].repeat(40);
                    (w, fold) = (w[..few].repeat(40), fold[..few].repeat(40));
                }
                let bins = Bins::of_rows(&z, &y, &w, &fold).unwrap();
                let link = smooth.fit(&bins).unwrap();
                let layout = Layout::new(&bins).unwrap();
                let true_layout = exact(&layout, &bins, &z, &w);
                // The places are where the cells say, up to what is claimed.
                for (b, &shift) in place_errors(&bins).iter().enumerate() {
                    let p = |layout: &Layout| {
                        let (place, knots) = (layout.places[b], &layout.pieces.knots);
                        knots[place.piece]
                            + place.share * (knots[place.piece + 1] - knots[place.piece])
                    };
                    let moved = (p(&layout) - p(&true_layout)).abs();
                    assert!(moved <= shift + 1e-15, "{shape} {size} bin {b}: {moved} {shift}");
                }
                // The same average of the minima with true places.
                let mut average = vec![0.0; layout.pieces.knots.len()];
                let mut ours = average.clone();
                for (j, point) in link.points.iter().enumerate() {
                    let mut v = layout.pieces.knots.clone();
                    if j > 0 {
                        v = link.models[j].0.y().to_vec();
                        ours.iter_mut().zip(&v).for_each(|(a, v)| *a += point.weight * v);
                        let weights = true_layout.outside.last().unwrap();
                        let Layout { pieces, places, .. } = &true_layout;
                        let (scale, smoothness) = (1.0, point.smoothness);
                        let objective = Objective { pieces, places, weights, scale, smoothness };
                        minimise(&objective, &mut v, 1e-13, &mut Workspace::default());
                    } else {
                        ours.iter_mut().zip(&v).for_each(|(a, v)| *a += point.weight * v);
                    }
                    average.iter_mut().zip(&v).for_each(|(a, v)| *a += point.weight * v);
                }
                let bound = link.error_bound(&bins).unwrap();
                let distance = probes(&layout.pieces, &bins).iter().fold(0.0, |most, &(j, u)| {
                    let at = |v: &[f64]| v[j] * (1.0 - u) + v[j + 1] * u;
                    f64::max(most, (at(&average) - at(&ours)).abs())
                });
                println!("{shape} {size}: distance {distance:.2e}, bound {bound:.2e}");
                // Both minima are found to 1e-13 nats.
                assert!(distance <= bound + 1e-9, "{shape} {size}: {distance} {bound}");
                assert!(bound < 1e-4, "{shape} {size}: {bound}");
                furthest = furthest.max(distance / bound.max(1e-300));
            }
        }
        // Not so wide that it says nothing.
        assert!(furthest > 1e-3, "{furthest}");
    }

    #[test]
    fn the_sigmoid_itself_has_no_error() {
        let (z, y, w, fold) = rows(0, 200, 5);
        let bins = Bins::of_rows(&z, &y, &w, &fold).unwrap();
        let none = Smooth { smoothness: Vec::new(), ..Smooth::default() };
        assert_eq!(none.fit(&bins).unwrap().error_bound(&bins).unwrap(), 0.0);
    }

    #[test]
    fn the_mean_of_a_cell_is_off_by_no_more_than_its_spread_allows() {
        for (z, w) in [([0.5003, 0.5077], [1.0, 3.0]), ([-3.0, -2.9923], [2.0, 1.0])] {
            let bins = Bins::of_rows(&z, &[0, 0], &w, &[0, 0]).unwrap();
            assert_eq!(bins.counts.len(), 1, "one cell");
            let mean = (w[0] * Sigmoid.u(z[0]) + w[1] * Sigmoid.u(z[1])) / (w[0] + w[1]);
            let error = (mean - Sigmoid.u(bins.counts[0].mean())).abs();
            let bound = mean_error(&bins.counts[0]);
            assert!(error <= bound && bound < 30.0 * error, "{error} {bound}");
        }
    }
}
