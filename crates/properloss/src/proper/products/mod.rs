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

mod sweeps;

use super::rows::{LANES, Lane};
use crate::design::{arch, run};
use sweeps::{Advance, Sum, SumGradient};
pub(super) use sweeps::{advance_along, columns_of};

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
