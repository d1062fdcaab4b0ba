//! L-BFGS by inner products: directions from a few sweeps over the columns.
//!
//! ```text
//! H = B^-1 corrected by the pairs (s_i, ŷ_i),   ŷ_i = y_i + P s_i,   g = ∇loss + P w
//! H g = B^-1 (g - Σ a_i ŷ_i) + Σ c_i s_i
//! B: gamma Σ_j r_j² b_j² + gamma (b_0 + Σ_j o_j b_j)² + Σ_j P_j b_j²     r_j, o_j: deviation and mean of column j
//! B^-1 g:  b_j = (g_j - o_j g_0) / D_j,  D_j = gamma r_j² + P_j;   b_0 = g_0 / gamma - Σ o_j b_j
//! ```
//!
//! Columns are standardised over all rows; over those that a model sees they have the deviation `r_j` and the
//! mean `o_j`. A column that is nearly constant there (a pixel that is lit outside the fold) has next to no
//! curvature and next to no penalty: with `D = gamma + P` its weight would never come to its minimum, and
//! cross-validation would not see what it does to the rows of the fold.
//!
//! The two loops of L-BFGS (Nocedal and Wright, algorithm 7.4) only need products of these vectors to
//! find `a` and `c` (Chen, Wang and Zhou 2014). So a step costs two sweeps, one for the products of the
//! new pair and gradient and one for the point it leads to, where the two loops make four a pair: with
//! many columns the vectors do not stay in the cache, and sweeps are what costs.

use super::rows::{LANES, Lane};
use crate::design::{Kernel, Lanes, arch, run};

/// Columns whose intermediate results are kept at hand.
const BLOCK: usize = 32;

/// Most pairs that are remembered.
pub(super) const MAX_PAIRS: usize = 8;

/// Runs a kernel that is compiled for every number of pairs: then what belongs to a column stays in registers.
macro_rules! by_count {
    ($count:expr, $kernel:ident { $($field:ident),+ $(,)? }) => {
        match $count {
            0 => run(arch(), $kernel::<0> { $($field),+ }),
            1 => run(arch(), $kernel::<1> { $($field),+ }),
            2 => run(arch(), $kernel::<2> { $($field),+ }),
            3 => run(arch(), $kernel::<3> { $($field),+ }),
            4 => run(arch(), $kernel::<4> { $($field),+ }),
            5 => run(arch(), $kernel::<5> { $($field),+ }),
            6 => run(arch(), $kernel::<6> { $($field),+ }),
            7 => run(arch(), $kernel::<7> { $($field),+ }),
            _ => run(arch(), $kernel::<MAX_PAIRS> { $($field),+ }),
        }
    };
}

pub(super) use by_count;

/// A step and the change of the unpenalised gradient along it; zero in the lanes that did not move.
///
/// Stored in single precision: a pair only shapes the metric, and a metric that is off in the eighth digit
/// leads to the same minimum. With many columns, reading the pairs is most of a step.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Pair {
    pub s: Vec<Short>,
    pub y: Vec<Short>,
}

/// A [`Lane`] in single precision.
pub(super) type Short = [f32; LANES];

/// The nearest numbers of single precision. (Written out: `map` is compiled for the baseline set, and
/// called for every column.)
#[inline(always)]
pub(super) fn shortened(x: Lane) -> Short {
    let [a, b, c, d, e, f, g, h] = x;
    [a as f32, b as f32, c as f32, d as f32, e as f32, f as f32, g as f32, h as f32]
}

/// How the columns lie in the rows that eight models see: squared deviation and mean, in the units of the
/// standardised columns; 1 and 0 for the intercept, 1 for the square of a column that is constant there.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Seen {
    pub square: Vec<Short>,
    pub offset: Vec<Short>,
}

impl Seen {
    /// Every column as over all rows.
    pub(super) fn plain(size: usize) -> Self {
        Self { square: vec![[1.0; LANES]; size], offset: vec![[0.0; LANES]; size] }
    }
}

/// Products of the remembered pairs, oldest first, and of a gradient, under one penalty.
#[derive(Debug)]
pub(super) struct Products {
    /// What `D` has beside the penalty.
    pub gamma: Lane,
    /// `s_i·ŷ_j` and `ŷ_i·B^-1 ŷ_j`, at `[j][i]` for `i <= j`.
    pub sy: Vec<Vec<Lane>>,
    pub yy: Vec<Vec<Lane>>,
    /// `s_i·g` and `ŷ_i·B^-1 g`.
    pub sg: Vec<Lane>,
    pub yg: Vec<Lane>,
    /// `g·B^-1 g`.
    pub gg: Lane,
}

/// `a` and `c` of every pair.
type Coefficients = Vec<(Lane, Lane)>;

/// How every lane moves on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moves {
    /// -1: to `w - length H g`. Else, if `back` is -1: to `w + length (trial - w)`. Else it stays at `w`.
    pub on: Lane,
    pub back: Lane,
    pub length: Lane,
}

/// Where the products are taken, and under which penalty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub penalty: &'a [Lane],
    pub w: &'a [Lane],
    /// Of the loss without penalty.
    pub gradient: &'a [Lane],
    pub seen: &'a Seen,
}

impl Products {
    pub(super) fn new(pairs: &[Pair], gamma: Lane, place: Place<'_>) -> Self {
        let mut products = Self {
            gamma,
            sy: Vec::new(),
            yy: Vec::new(),
            sg: Vec::new(),
            yg: Vec::new(),
            gg: [0.0; LANES],
        };
        products.sum(pairs, place);
        products
    }

    /// At another place, under the same penalty: the products of the pairs stay.
    pub(super) fn at(&mut self, pairs: &[Pair], place: Place<'_>) {
        self.sum(pairs, place);
    }

    /// What the products with the gradient are, to be put back later.
    pub(super) fn of_gradient(&self) -> (Vec<Lane>, Vec<Lane>, Lane) {
        (self.sg.clone(), self.yg.clone(), self.gg)
    }

    /// Puts products with a gradient back.
    pub(super) fn set_gradient(&mut self, (sg, yg, gg): (Vec<Lane>, Vec<Lane>, Lane)) {
        (self.sg, self.yg, self.gg) = (sg, yg, gg);
    }

    /// The oldest pair is gone.
    pub(super) fn forget_oldest(&mut self) {
        for table in [&mut self.sy, &mut self.yy] {
            table.remove(0);
            table.iter_mut().for_each(|row| {
                row.remove(0);
            });
        }
    }

    /// Room for the products of a new pair, the last of `size`, and of a gradient.
    pub(super) fn make_room(&mut self, size: usize) {
        for table in [&mut self.sy, &mut self.yy] {
            table.push(vec![[0.0; LANES]; size]);
        }
        (self.sg, self.yg) = (vec![[0.0; LANES]; size], vec![[0.0; LANES]; size]);
    }

    /// The newest pair is zero in the lanes that are not kept.
    pub(super) fn keep_of_newest(&mut self, keep: &[bool; LANES]) {
        let newest = [self.sy.last_mut(), self.yy.last_mut()].into_iter().flatten().flatten();
        let products = newest.chain(self.sg.last_mut()).chain(self.yg.last_mut());
        for product in products {
            (0..LANES).filter(|&l| !keep[l]).for_each(|l| product[l] = 0.0);
        }
    }

    /// `gamma` is what `D` should have by now: far from what it has, everything is summed up again.
    pub(super) fn renew(&mut self, pairs: &[Pair], gamma: Lane, place: Place<'_>) {
        let far = |l: usize| !(0.25..=4.0).contains(&(gamma[l] / self.gamma[l]));
        if (0..LANES).any(far) {
            self.gamma = gamma;
            self.sy.clear();
            self.yy.clear();
            self.sum(pairs, place);
        }
    }

    /// Fills in the rows of the tables that are missing.
    fn sum(&mut self, pairs: &[Pair], place: Place<'_>) {
        let known = self.sy.len();
        let size = pairs.len();
        for j in known..size {
            self.sy.push(vec![[0.0; LANES]; j + 1]);
            self.yy.push(vec![[0.0; LANES]; j + 1]);
        }
        self.sg = vec![[0.0; LANES]; size];
        self.yg = vec![[0.0; LANES]; size];
        self.gg = [0.0; LANES];
        let products = self;
        if known == size {
            by_count!(size, SumGradient { products, pairs, place });
        } else {
            run(arch(), Sum { products, pairs, place, known });
        }
    }

    fn coefficients(&self) -> Coefficients {
        let size = self.sg.len();
        let zero = [0.0; LANES];
        let mut both: Coefficients = vec![(zero, zero); size];
        for l in 0..LANES {
            let rho = |i: usize| {
                let sy = self.sy[i][i][l];
                if sy > 0.0 { 1.0 / sy } else { 0.0 }
            };
            for i in (0..size).rev() {
                let later: f64 = (i + 1..size).map(|j| both[j].0[l] * self.sy[j][i][l]).sum();
                both[i].0[l] = rho(i) * (self.sg[i][l] - later);
            }
            for i in 0..size {
                let yy = |j: usize| if j <= i { self.yy[i][j][l] } else { self.yy[j][i][l] };
                let curved: f64 = (0..size).map(|j| both[j].0[l] * yy(j)).sum();
                let earlier: f64 = (0..i).map(|j| both[j].1[l] * self.sy[i][j][l]).sum();
                both[i].1[l] = both[i].0[l] - rho(i) * (self.yg[i][l] - curved + earlier);
            }
        }
        both
    }

    /// `g·H g`.
    pub(super) fn decrements(&self) -> Lane {
        let both = self.coefficients();
        std::array::from_fn(|l| {
            let parts = both.iter().zip(self.sg.iter().zip(&self.yg));
            self.gg[l] + parts.map(|((a, c), (s, y))| c[l] * s[l] - a[l] * y[l]).sum::<f64>()
        })
    }

    /// Moves `trial`; `Σ P trial²`.
    pub(super) fn advance(
        &self,
        pairs: &[Pair],
        place: Place<'_>,
        moves: Moves,
        trial: &mut [Lane],
    ) -> Lane {
        let coefficients = self.coefficients();
        let gamma = self.gamma;
        let pairs = &pairs[..coefficients.len()];
        by_count!(pairs.len(), Advance { gamma, pairs, place, moves, coefficients, trial })
    }
}

/// Steps and changes of `N` pairs, cut to as many columns.
#[inline(always)]
pub(super) fn columns_of<const N: usize>(
    pairs: &[Pair],
    size: usize,
) -> ([&[Short]; N], [&[Short]; N]) {
    let (mut s, mut y): ([&[Short]; N], [&[Short]; N]) = ([&[]; N], [&[]; N]);
    for i in 0..N {
        (s[i], y[i]) = (&pairs[i].s[..size], &pairs[i].y[..size]);
    }
    (s, y)
}

struct Sum<'a> {
    products: &'a mut Products,
    pairs: &'a [Pair],
    place: Place<'a>,
    known: usize,
}

impl Kernel for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { products, pairs, place, known } = self;
        let (one, gamma) = (lanes.splat(1.0), lanes.load(&products.gamma));
        let mut g = [[0.0; LANES]; BLOCK];
        let mut divided_g = [[0.0; LANES]; BLOCK];
        let mut inverse = [[0.0; LANES]; BLOCK];
        let mut divided = [[0.0; LANES]; BLOCK];
        let mut curved = vec![[[0.0; LANES]; BLOCK]; pairs.len()];
        let mut centred = curved.clone();
        let mut gg = lanes.splat(0.0);
        // What belongs to the intercept, which has no penalty.
        let last = place.w.len() - 1;
        let g_last = lanes.load(&place.gradient[last]);
        let y_last: Vec<L::Vector> = pairs.iter().map(|pair| lanes.load(&pair.y[last])).collect();
        for start in (0..place.w.len()).step_by(BLOCK) {
            let count = BLOCK.min(place.w.len() - start);
            let penalty = &place.penalty[start..start + count];
            for (k, penalty) in penalty.iter().enumerate() {
                let p = lanes.load(penalty);
                let sum = lanes.load(&place.gradient[start + k]);
                let sum = lanes.fused(sum, p, lanes.load(&place.w[start + k]));
                let square = lanes.load(&place.seen.square[start + k]);
                let scale = lanes.div(one, lanes.fused(p, gamma, square));
                let offset = lanes.load(&place.seen.offset[start + k]);
                let own = lanes.sub(sum, lanes.mul(offset, g_last));
                let scaled = lanes.mul(scale, own);
                gg = lanes.fused(gg, own, scaled);
                g[k] = lanes.array(sum);
                divided_g[k] = lanes.array(scaled);
                inverse[k] = lanes.array(scale);
            }
            for (i, pair) in pairs.iter().enumerate() {
                let (s, y) = (&pair.s[start..start + count], &pair.y[start..start + count]);
                let mut sg = lanes.load(&products.sg[i]);
                let mut yg = lanes.load(&products.yg[i]);
                for k in 0..count {
                    let s = lanes.load(&s[k]);
                    let y = lanes.fused(lanes.load(&y[k]), lanes.load(&penalty[k]), s);
                    let offset = lanes.load(&place.seen.offset[start + k]);
                    let own = lanes.sub(y, lanes.mul(offset, y_last[i]));
                    sg = lanes.fused(sg, s, lanes.load(&g[k]));
                    yg = lanes.fused(yg, own, lanes.load(&divided_g[k]));
                    curved[i][k] = lanes.array(y);
                    centred[i][k] = lanes.array(own);
                }
                products.sg[i] = lanes.array(sg);
                products.yg[i] = lanes.array(yg);
            }
            for j in known..pairs.len() {
                for k in 0..count {
                    let y = lanes.load(&centred[j][k]);
                    divided[k] = lanes.array(lanes.mul(y, lanes.load(&inverse[k])));
                }
                for (i, pair) in pairs[..=j].iter().enumerate() {
                    let s = &pair.s[start..start + count];
                    let mut sy = lanes.load(&products.sy[j][i]);
                    let mut yy = lanes.load(&products.yy[j][i]);
                    for k in 0..count {
                        sy = lanes.fused(sy, lanes.load(&s[k]), lanes.load(&curved[j][k]));
                        yy = lanes.fused(yy, lanes.load(&centred[i][k]), lanes.load(&divided[k]));
                    }
                    products.sy[j][i] = lanes.array(sy);
                    products.yy[j][i] = lanes.array(yy);
                }
            }
        }
        products.gg = lanes.array(gg);
    }
}

/// [`Sum`] where the products of the pairs are known: those with the gradient alone.
struct SumGradient<'a, const N: usize> {
    products: &'a mut Products,
    pairs: &'a [Pair],
    place: Place<'a>,
}

impl<const N: usize> Kernel for SumGradient<'_, N> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { products, pairs, place } = self;
        let (zero, gamma) = (lanes.splat(0.0), lanes.load(&products.gamma));
        let size = place.w.len();
        let last = size - 1;
        let (all_s, all_y) = columns_of::<N>(pairs, size);
        let g_last = lanes.load(&place.gradient[last]);
        let (mut gg, mut y_last, mut sg, mut yg) = (zero, [zero; N], [zero; N], [zero; N]);
        for i in 0..N {
            y_last[i] = lanes.load(&all_y[i][last]);
        }
        for j in 0..size {
            let p = lanes.load(&place.penalty[j]);
            let g = lanes.fused(lanes.load(&place.gradient[j]), p, lanes.load(&place.w[j]));
            let square = lanes.load(&place.seen.square[j]);
            let offset = lanes.load(&place.seen.offset[j]);
            let scale = lanes.div(lanes.splat(1.0), lanes.fused(p, gamma, square));
            let own_g = lanes.sub(g, lanes.mul(offset, g_last));
            let divided_g = lanes.mul(scale, own_g);
            gg = lanes.fused(gg, own_g, divided_g);
            for i in 0..N {
                let s = lanes.load(&all_s[i][j]);
                let y = lanes.fused(lanes.load(&all_y[i][j]), p, s);
                let own = lanes.sub(y, lanes.mul(offset, y_last[i]));
                sg[i] = lanes.fused(sg[i], s, g);
                yg[i] = lanes.fused(yg[i], own, divided_g);
            }
        }
        products.gg = lanes.array(gg);
        for i in 0..N {
            (products.sg[i], products.yg[i]) = (lanes.array(sg[i]), lanes.array(yg[i]));
        }
    }
}

struct Advance<'a, const N: usize> {
    gamma: Lane,
    pairs: &'a [Pair],
    place: Place<'a>,
    moves: Moves,
    coefficients: Coefficients,
    trial: &'a mut [Lane],
}

impl<const N: usize> Kernel for Advance<'_, N> {
    type Output = Lane;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Lane {
        let Self { gamma, pairs, place, moves, coefficients, trial } = self;
        let (zero, gamma) = (lanes.splat(0.0), lanes.load(&gamma));
        let mover = Mover::new(lanes, &moves);
        let size = trial.len();
        let (all_s, all_y) = columns_of::<N>(pairs, size);
        // The intercept of what is divided by the metric, and what its columns move the scores by.
        let last = size - 1;
        let mut q_last = lanes.load(&place.gradient[last]);
        let (mut a, mut c) = ([zero; N], [zero; N]);
        for i in 0..N {
            let both = &coefficients[i];
            q_last = lanes.sub(q_last, lanes.mul(lanes.load(&both.0), lanes.load(&all_y[i][last])));
            (a[i], c[i]) = (lanes.sub(zero, lanes.load(&both.0)), lanes.load(&both.1));
        }
        let (mut squares, mut moved, mut s) = (zero, zero, [zero; N]);
        let (penalties, weights) = (&place.penalty[..size], &place.w[..size]);
        let gradients = &place.gradient[..size];
        let (all_squares, offsets) = (&place.seen.square[..size], &place.seen.offset[..size]);
        for j in 0..size {
            let p = lanes.load(&penalties[j]);
            let mut q = lanes.fused(lanes.load(&gradients[j]), p, lanes.load(&weights[j]));
            for i in 0..N {
                s[i] = lanes.load(&all_s[i][j]);
                q = lanes.fused(q, a[i], lanes.fused(lanes.load(&all_y[i][j]), p, s[i]));
            }
            let (square, offset) = (lanes.load(&all_squares[j]), lanes.load(&offsets[j]));
            q = lanes.sub(q, lanes.mul(offset, q_last));
            q = lanes.div(q, lanes.fused(p, gamma, square));
            moved = lanes.fused(moved, offset, q);
            if j == last {
                q = lanes.sub(q, moved);
            }
            for i in 0..N {
                q = lanes.fused(q, c[i], s[i]);
            }
            let at = mover.moved(lanes.load(&weights[j]), q, lanes.load(&trial[j]));
            squares = lanes.fused(squares, lanes.mul(p, at), at);
            trial[j] = lanes.array(at);
        }
        lanes.array(squares)
    }
}

/// [`Moves`] in registers.
#[derive(Clone, Copy)]
struct Mover<L: Lanes> {
    lanes: L,
    on: L::Vector,
    back: L::Vector,
    length: L::Vector,
}

impl<L: Lanes> Mover<L> {
    #[inline(always)]
    fn new(lanes: L, moves: &Moves) -> Self {
        let [on, back, length] = [&moves.on, &moves.back, &moves.length].map(|x| lanes.load(x));
        Self { lanes, on, back, length }
    }

    #[inline(always)]
    fn moved(&self, w: L::Vector, q: L::Vector, trial: L::Vector) -> L::Vector {
        let lanes = self.lanes;
        let on = lanes.sub(w, lanes.mul(self.length, q));
        let back = lanes.fused(w, self.length, lanes.sub(trial, w));
        lanes.where_negative(self.on, on, lanes.where_negative(self.back, back, w))
    }
}

/// Moves `trial` along directions `q` that are known; `Σ P trial²`.
pub(super) fn advance_along(
    q: &[Lane],
    w: &[Lane],
    penalty: &[Lane],
    moves: Moves,
    trial: &mut [Lane],
) -> Lane {
    run(arch(), AdvanceAlong { q, w, penalty, moves, trial })
}

struct AdvanceAlong<'a> {
    q: &'a [Lane],
    w: &'a [Lane],
    penalty: &'a [Lane],
    moves: Moves,
    trial: &'a mut [Lane],
}

impl Kernel for AdvanceAlong<'_> {
    type Output = Lane;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Lane {
        let mover = Mover::new(lanes, &self.moves);
        let mut squares = lanes.splat(0.0);
        for (j, trial) in self.trial.iter_mut().enumerate() {
            let (w, q) = (lanes.load(&self.w[j]), lanes.load(&self.q[j]));
            let at = mover.moved(w, q, lanes.load(&*trial));
            squares = lanes.fused(squares, lanes.mul(lanes.load(&self.penalty[j]), at), at);
            *trial = lanes.array(at);
        }
        lanes.array(squares)
    }
}

impl Pair {
    /// Of this size, and zero.
    pub(super) fn zero(size: usize) -> Self {
        Self { s: vec![[0.0; LANES]; size], y: vec![[0.0; LANES]; size] }
    }

    /// Nothing is remembered in the lanes that are not kept.
    pub(super) fn keep(&mut self, keep: &[bool; LANES]) {
        for l in (0..LANES).filter(|&l| !keep[l]) {
            for (s, y) in self.s.iter_mut().zip(&mut self.y) {
                (s[l], y[l]) = (0.0, 0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proper::linalg::{lane_add, lane_add_product, lane_dot};

    /// Against the two loops written out, pair by pair.
    #[test]
    fn directions_are_those_of_the_two_loops() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(144_115_188_075_855);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let size = 71;
        let mut vector =
            || -> Vec<Lane> { (0..size).map(|_| [0.0; LANES].map(|_| next())).collect() };
        let (w, gradient) = (vector(), vector());
        let mut penalty: Vec<Lane> = vector().iter().map(|p| p.map(|p| 0.2 + p * p)).collect();
        penalty[size - 1] = [0.0; LANES];
        let mut seen = Seen::plain(size);
        for (j, (square, offset)) in vector().into_iter().zip(vector()).enumerate().take(size - 1) {
            seen.square[j] = shortened(square.map(|x| 1.0 + x));
            seen.offset[j] = shortened(offset);
        }
        let place = Place { penalty: &penalty, w: &w, gradient: &gradient, seen: &seen };
        let gamma = [0.7; LANES];
        let mut pairs: Vec<Pair> = Vec::new();
        let mut products = Products::new(&pairs, gamma, place);
        for _ in 0..MAX_PAIRS + 2 {
            let s = vector();
            // Curvature between 1 and 2.
            let y =
                s.iter().zip(vector()).map(|(s, r)| std::array::from_fn(|l| s[l] * (1.5 + r[l])));
            pairs.push(Pair {
                y: y.map(shortened).collect(),
                s: s.iter().copied().map(shortened).collect(),
            });
            if pairs.len() > MAX_PAIRS {
                pairs.remove(0);
                products.forget_oldest();
            }
            products.at(&pairs, place);
            // Once more, now that the products of the pairs are known.
            let known = products.of_gradient();
            products.at(&pairs, place);
            let again = products.of_gradient();
            let both = known.0.iter().chain(&known.1).chain([&known.2]);
            for (a, b) in both.zip(again.0.iter().chain(&again.1).chain([&again.2])) {
                (0..LANES).for_each(|l| assert!((a[l] - b[l]).abs() < 1e-12, "{a:?} {b:?}"));
            }
            let mut g = gradient.clone();
            lane_add_product(&penalty, &w, &mut g);
            let mut q = g.clone();
            let curved: Vec<Vec<Lane>> = pairs
                .iter()
                .map(|pair| {
                    let mut y: Vec<Lane> = pair.y.iter().map(|y| y.map(f64::from)).collect();
                    lane_add_product(&penalty, &pair.s, &mut y);
                    y
                })
                .collect();
            let rho: Vec<Lane> = pairs
                .iter()
                .zip(&curved)
                .map(|(p, y)| lane_dot(&p.s, y).map(|x| 1.0 / x))
                .collect();
            let mut taken = vec![[0.0; LANES]; pairs.len()];
            for i in (0..pairs.len()).rev() {
                let sq = lane_dot(&pairs[i].s, &q);
                taken[i] = std::array::from_fn(|l| rho[i][l] * sq[l]);
                lane_add(&taken[i].map(|a| -a), &curved[i], &mut q);
            }
            // B^-1 q, the intercept last.
            for l in 0..LANES {
                let (last, mut moved) = (q[size - 1][l], 0.0);
                for j in 0..size - 1 {
                    let [square, offset] = [seen.square[j][l], seen.offset[j][l]].map(f64::from);
                    q[j][l] = (q[j][l] - offset * last) / (gamma[l] * square + penalty[j][l]);
                    moved += offset * q[j][l];
                }
                q[size - 1][l] = last / gamma[l] - moved;
            }
            for i in 0..pairs.len() {
                let yq = lane_dot(&curved[i], &q);
                let b: Lane = std::array::from_fn(|l| taken[i][l] - rho[i][l] * yq[l]);
                lane_add(&b, &pairs[i].s, &mut q);
            }
            let (decrements, direct) = (products.decrements(), lane_dot(&g, &q));
            let mut trial = w.clone();
            let moves = Moves { on: [-1.0; LANES], back: [1.0; LANES], length: [1.0; LANES] };
            let squares = products.advance(&pairs, place, moves, &mut trial);
            for l in 0..LANES {
                // Sums of some hundred products of size 1.
                assert!((decrements[l] - direct[l]).abs() < 1e-12, "{decrements:?} {direct:?}");
                let mut sum = 0.0;
                for j in 0..size {
                    assert!((trial[j][l] - (w[j][l] - q[j][l])).abs() < 1e-12);
                    sum += penalty[j][l] * trial[j][l] * trial[j][l];
                }
                assert!((squares[l] - sum).abs() < 1e-12 * sum);
            }
        }
    }
}
