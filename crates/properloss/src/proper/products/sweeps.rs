//! The sweeps over the columns: sums of products, and the point that a step leads to.

use super::{Coefficients, Moves, Pair, Place, Products, Short};
use crate::design::{Kernel, Lanes, arch, run};
use crate::proper::rows::{LANES, Lane};

/// Columns whose intermediate results are kept at hand.
const BLOCK: usize = 32;

/// Steps and changes of `N` pairs, cut to as many columns.
#[inline(always)]
pub(in crate::proper) fn columns_of<const N: usize>(
    pairs: &[Pair],
    size: usize,
) -> ([&[Short]; N], [&[Short]; N]) {
    let (mut s, mut y): ([&[Short]; N], [&[Short]; N]) = ([&[]; N], [&[]; N]);
    for i in 0..N {
        (s[i], y[i]) = (&pairs[i].s[..size], &pairs[i].y[..size]);
    }
    (s, y)
}

pub(super) struct Sum<'a> {
    pub products: &'a mut Products,
    pub pairs: &'a [Pair],
    pub place: Place<'a>,
    pub known: usize,
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
pub(super) struct SumGradient<'a, const N: usize> {
    pub products: &'a mut Products,
    pub pairs: &'a [Pair],
    pub place: Place<'a>,
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

pub(super) struct Advance<'a, const N: usize> {
    pub gamma: Lane,
    pub pairs: &'a [Pair],
    pub place: Place<'a>,
    pub moves: Moves,
    pub coefficients: Coefficients,
    pub trial: &'a mut [Lane],
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
pub(in crate::proper) fn advance_along(
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
