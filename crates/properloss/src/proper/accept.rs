//! The end of a step: where it led, the pair it leaves, and the products of that pair.
//!
//! With many columns the sweeps over them are what costs: the pair is multiplied with all others where it
//! is made.

use super::products::{MAX_PAIRS, Pair, Products, Seen, by_count, columns_of, shortened};
use super::rows::{Lane, Line};
use crate::design::{Kernel, Lanes, arch, run};

/// What a new pair is judged by: `s·B s` and `y·B^-1 y` with `gamma = 1` and no penalty, `s·y`, `Σ P s²`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub ss: Lane,
    pub yy: Lane,
    pub sy: Lane,
    pub sps: Lane,
}

/// A step that was made.
pub(super) struct Made<'a> {
    /// Where it began; moved on to its end.
    pub w: &'a mut [Lane],
    pub gradient: &'a mut [Lane],
    /// Its end, and the gradient there.
    pub trial: &'a [Lane],
    pub found: &'a [Line],
    pub penalty: &'a [Lane],
    pub seen: &'a Seen,
    /// -1 in the lanes that moved, 1 in the others.
    pub moved: &'a Lane,
    /// Gets the differences.
    pub pair: &'a mut Pair,
}

impl Made<'_> {
    /// Moves `w` and `gradient`, and leaves the differences in the pair.
    pub(super) fn accept(self) -> Sizes {
        run(arch(), Accept { made: self })
    }

    /// Also sums up the products of the new pair, with itself and those before it, and of the gradient.
    pub(super) fn accept_and_sum(self, products: &mut Products, before: &[Pair]) -> Sizes {
        products.make_room(before.len() + 1);
        let made = self;
        by_count!(before.len(), AcceptAndSum { made, products, before })
    }
}

/// What [`Made::accept`] adds up.
#[derive(Clone, Copy)]
struct Sums<L: Lanes> {
    lanes: L,
    moved: L::Vector,
    /// The change of the intercept's gradient.
    y_last: L::Vector,
    /// `o·s`.
    shift: L::Vector,
    sums: [L::Vector; 4],
}

impl<L: Lanes> Sums<L> {
    #[inline(always)]
    fn new(lanes: L, made: &Made<'_>) -> Self {
        let last = made.w.len() - 1;
        let zero = lanes.splat(0.0);
        let moved = lanes.load(made.moved);
        let y = lanes.sub(lanes.load(&made.found[last].0), lanes.load(&made.gradient[last]));
        let y_last = lanes.where_negative(moved, y, zero);
        Self { lanes, moved, y_last, shift: zero, sums: [zero; 4] }
    }

    /// Moves column `j`, the intercept last.
    #[inline(always)]
    fn accept(&mut self, made: &mut Made<'_>, j: usize) {
        let Self { lanes, moved, .. } = *self;
        let zero = lanes.splat(0.0);
        let (w, trial) = (lanes.load(&made.w[j]), lanes.load(&made.trial[j]));
        let (g, found) = (lanes.load(&made.gradient[j]), lanes.load(&made.found[j].0));
        let p = lanes.load(&made.penalty[j]);
        let s = lanes.where_negative(moved, lanes.sub(trial, w), zero);
        let y = lanes.where_negative(moved, lanes.sub(found, g), zero);
        let square = lanes.load(&made.seen.square[j]);
        let offset = lanes.load(&made.seen.offset[j]);
        let own = lanes.sub(y, lanes.mul(offset, self.y_last));
        self.shift = lanes.fused(self.shift, offset, s);
        self.sums[0] = lanes.fused(self.sums[0], lanes.mul(square, s), s);
        self.sums[1] = lanes.fused(self.sums[1], lanes.div(own, square), own);
        if j + 1 == made.w.len() {
            // (s_0 + o·s)² in place of s_0².
            let whole = lanes.add(s, self.shift);
            self.sums[0] = lanes.sub(self.sums[0], lanes.mul(s, s));
            self.sums[0] = lanes.fused(self.sums[0], whole, whole);
        }
        self.sums[2] = lanes.fused(self.sums[2], s, y);
        self.sums[3] = lanes.fused(self.sums[3], lanes.mul(p, s), s);
        made.pair.s[j] = shortened(lanes.array(s));
        made.pair.y[j] = shortened(lanes.array(y));
        made.w[j] = lanes.array(lanes.where_negative(moved, trial, w));
        made.gradient[j] = lanes.array(lanes.where_negative(moved, found, g));
    }

    #[inline(always)]
    fn sizes(self) -> Sizes {
        let [ss, yy, sy, sps] = self.sums.map(|sum| self.lanes.array(sum));
        Sizes { ss, yy, sy, sps }
    }
}

struct Accept<'a> {
    made: Made<'a>,
}

impl Kernel for Accept<'_> {
    type Output = Sizes;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Sizes {
        let mut made = self.made;
        let mut sums = Sums::new(lanes, &made);
        for j in 0..made.w.len() {
            sums.accept(&mut made, j);
        }
        sums.sizes()
    }
}

struct AcceptAndSum<'a, 'p, const N: usize> {
    made: Made<'a>,
    products: &'p mut Products,
    before: &'p [Pair],
}

impl<const N: usize> Kernel for AcceptAndSum<'_, '_, N> {
    type Output = Sizes;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Sizes {
        let Self { mut made, products, before } = self;
        let mut sums = Sums::new(lanes, &made);
        let (one, zero, gamma) = (lanes.splat(1.0), lanes.splat(0.0), lanes.load(&products.gamma));
        let size = made.w.len();
        let last = size - 1;
        let (all_s, all_y) = columns_of::<N>(before, size);
        let g_last = lanes.where_negative(
            sums.moved,
            lanes.load(&made.found[last].0),
            lanes.load(&made.gradient[last]),
        );
        let y_new = lanes.load(&shortened(lanes.array(sums.y_last)));
        let mut y_last = [zero; N];
        for i in 0..N {
            y_last[i] = lanes.load(&all_y[i][last]);
        }
        // s·g, ŷ·B^-1 g, s·ŷ and ŷ·B^-1 ŷ of the new pair, and of those before it with the new gradient and pair.
        let (mut gg, mut own_sums) = (zero, [zero; 4]);
        let (mut sg, mut yg, mut sy, mut yy) = ([zero; N], [zero; N], [zero; N], [zero; N]);
        for j in 0..size {
            sums.accept(&mut made, j);
            let p = lanes.load(&made.penalty[j]);
            let g = lanes.fused(lanes.load(&made.gradient[j]), p, lanes.load(&made.w[j]));
            let square = lanes.load(&made.seen.square[j]);
            let offset = lanes.load(&made.seen.offset[j]);
            let scale = lanes.div(one, lanes.fused(p, gamma, square));
            let own_g = lanes.sub(g, lanes.mul(offset, g_last));
            let divided_g = lanes.mul(scale, own_g);
            gg = lanes.fused(gg, own_g, divided_g);
            let s = lanes.load(&made.pair.s[j]);
            let curved = lanes.fused(lanes.load(&made.pair.y[j]), p, s);
            let own_y = lanes.sub(curved, lanes.mul(offset, y_new));
            let divided = lanes.mul(own_y, scale);
            own_sums[0] = lanes.fused(own_sums[0], s, g);
            own_sums[1] = lanes.fused(own_sums[1], own_y, divided_g);
            own_sums[2] = lanes.fused(own_sums[2], s, curved);
            own_sums[3] = lanes.fused(own_sums[3], own_y, divided);
            for i in 0..N {
                let s = lanes.load(&all_s[i][j]);
                let y = lanes.fused(lanes.load(&all_y[i][j]), p, s);
                let own = lanes.sub(y, lanes.mul(offset, y_last[i]));
                sg[i] = lanes.fused(sg[i], s, g);
                yg[i] = lanes.fused(yg[i], own, divided_g);
                sy[i] = lanes.fused(sy[i], s, curved);
                yy[i] = lanes.fused(yy[i], own, divided);
            }
        }
        products.gg = lanes.array(gg);
        for i in 0..N {
            (products.sg[i], products.yg[i]) = (lanes.array(sg[i]), lanes.array(yg[i]));
            (products.sy[N][i], products.yy[N][i]) = (lanes.array(sy[i]), lanes.array(yy[i]));
        }
        (products.sg[N], products.yg[N]) = (lanes.array(own_sums[0]), lanes.array(own_sums[1]));
        let newest = (lanes.array(own_sums[2]), lanes.array(own_sums[3]));
        (products.sy[N][N], products.yy[N][N]) = newest;
        sums.sizes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proper::products::Place;
    use crate::proper::rows::LANES;

    /// What is summed up where a pair is made is what a sweep over all pairs sums up afterwards.
    #[test]
    fn products_of_a_new_pair_are_those_of_a_sweep() {
        (0..MAX_PAIRS).for_each(products_after);
    }

    fn products_after(before: usize) {
        let mut state = 7u64;
        let mut next = || {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let size = 73;
        let mut vector =
            || -> Vec<Lane> { (0..size).map(|_| [0.0; LANES].map(|_| next())).collect() };
        let mut penalty: Vec<Lane> = vector().iter().map(|p| p.map(|p| 0.2 + p * p)).collect();
        penalty[size - 1] = [0.0; LANES];
        let mut seen = Seen::plain(size);
        for (j, (square, offset)) in vector().into_iter().zip(vector()).enumerate().take(size - 1) {
            seen.square[j] = shortened(square.map(|x| 1.0 + x));
            seen.offset[j] = shortened(offset);
        }
        let mut pairs: Vec<Pair> = (0..before)
            .map(|_| Pair {
                s: vector().into_iter().map(shortened).collect(),
                y: vector().into_iter().map(shortened).collect(),
            })
            .collect();
        let (mut w, mut gradient) = (vector(), vector());
        let (trial, found) = (vector(), vector().into_iter().map(Line).collect::<Vec<Line>>());
        let place = Place { penalty: &penalty, w: &w, gradient: &gradient, seen: &seen };
        let mut products = Products::new(&pairs, [0.7; LANES], place);
        // Two lanes stay where they are.
        let moved = [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0];
        let before = (w.clone(), gradient.clone());
        let mut pair = Pair::zero(size);
        let made = Made {
            w: &mut w,
            gradient: &mut gradient,
            trial: &trial,
            found: &found,
            penalty: &penalty,
            seen: &seen,
            moved: &moved,
            pair: &mut pair,
        };
        made.accept_and_sum(&mut products, &pairs);
        for j in 0..size {
            for l in 0..LANES {
                let (to, g) = if moved[l] < 0.0 {
                    (trial[j][l], found[j].0[l])
                } else {
                    (before.0[j][l], before.1[j][l])
                };
                assert_eq!((w[j][l], gradient[j][l]), (to, g));
                assert_eq!(pair.s[j][l], (to - before.0[j][l]) as f32);
                assert_eq!(pair.y[j][l], (g - before.1[j][l]) as f32);
            }
        }
        pairs.push(pair);
        let place = Place { penalty: &penalty, w: &w, gradient: &gradient, seen: &seen };
        let fresh = Products::new(&pairs, [0.7; LANES], place);
        let same = |a: &Lane, b: &Lane| {
            // Sums of some hundred products of size 1.
            (0..LANES).for_each(|l| assert!((a[l] - b[l]).abs() < 1e-12, "{a:?} {b:?}"));
        };
        same(&products.gg, &fresh.gg);
        for j in 0..pairs.len() {
            same(&products.sg[j], &fresh.sg[j]);
            same(&products.yg[j], &fresh.yg[j]);
            for i in 0..=j {
                same(&products.sy[j][i], &fresh.sy[j][i]);
                same(&products.yy[j][i], &fresh.yy[j][i]);
            }
        }
    }
}
