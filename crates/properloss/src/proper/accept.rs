//! The end of a step: where it led, the pair it leaves, and the products of that pair.
//!
//! With many columns the sweeps over them are what costs: the pair is multiplied with all others where it
//! is made.

use super::products::{BLOCK, Pair, Products, Seen, shortened};
use super::rows::{LANES, Lane, Line};
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
        run(arch(), AcceptAndSum { made: self, products, before })
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

struct AcceptAndSum<'a, 'p> {
    made: Made<'a>,
    products: &'p mut Products,
    before: &'p [Pair],
}

impl Kernel for AcceptAndSum<'_, '_> {
    type Output = Sizes;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Sizes {
        let Self { mut made, products, before } = self;
        let mut sums = Sums::new(lanes, &made);
        let (one, zero, gamma) = (lanes.splat(1.0), lanes.splat(0.0), lanes.load(&products.gamma));
        let new = before.len();
        let mut g = [[0.0; LANES]; BLOCK];
        let mut divided_g = [[0.0; LANES]; BLOCK];
        let mut curved = [[0.0; LANES]; BLOCK];
        let mut divided = [[0.0; LANES]; BLOCK];
        let mut gg = zero;
        // s·g, ŷ·B^-1 g, s·ŷ and ŷ·B^-1 ŷ of the new pair.
        let mut own_sums = [zero; 4];
        let last = made.w.len() - 1;
        let g_last = lanes.where_negative(
            sums.moved,
            lanes.load(&made.found[last].0),
            lanes.load(&made.gradient[last]),
        );
        let y_new = lanes.load(&shortened(lanes.array(sums.y_last)));
        let y_last: Vec<L::Vector> = before.iter().map(|pair| lanes.load(&pair.y[last])).collect();
        for start in (0..made.w.len()).step_by(BLOCK) {
            let count = BLOCK.min(made.w.len() - start);
            for k in 0..count {
                let j = start + k;
                sums.accept(&mut made, j);
                let p = lanes.load(&made.penalty[j]);
                let sum = lanes.fused(lanes.load(&made.gradient[j]), p, lanes.load(&made.w[j]));
                let square = lanes.load(&made.seen.square[j]);
                let offset = lanes.load(&made.seen.offset[j]);
                let scale = lanes.div(one, lanes.fused(p, gamma, square));
                let own = lanes.sub(sum, lanes.mul(offset, g_last));
                let scaled = lanes.mul(scale, own);
                gg = lanes.fused(gg, own, scaled);
                let s = lanes.load(&made.pair.s[j]);
                let y = lanes.fused(lanes.load(&made.pair.y[j]), p, s);
                let own_y = lanes.sub(y, lanes.mul(offset, y_new));
                let scaled_y = lanes.mul(own_y, scale);
                own_sums[0] = lanes.fused(own_sums[0], s, sum);
                own_sums[1] = lanes.fused(own_sums[1], own_y, scaled);
                own_sums[2] = lanes.fused(own_sums[2], s, y);
                own_sums[3] = lanes.fused(own_sums[3], own_y, scaled_y);
                g[k] = lanes.array(sum);
                divided_g[k] = lanes.array(scaled);
                curved[k] = lanes.array(y);
                divided[k] = lanes.array(scaled_y);
            }
            let penalty = &made.penalty[start..start + count];
            let offsets = &made.seen.offset[start..start + count];
            for (i, pair) in before.iter().enumerate() {
                let (s, y) = (&pair.s[start..start + count], &pair.y[start..start + count]);
                let mut sg = lanes.load(&products.sg[i]);
                let mut yg = lanes.load(&products.yg[i]);
                let mut sy = lanes.load(&products.sy[new][i]);
                let mut yy = lanes.load(&products.yy[new][i]);
                for k in 0..count {
                    let s = lanes.load(&s[k]);
                    let y = lanes.fused(lanes.load(&y[k]), lanes.load(&penalty[k]), s);
                    let own = lanes.sub(y, lanes.mul(lanes.load(&offsets[k]), y_last[i]));
                    sg = lanes.fused(sg, s, lanes.load(&g[k]));
                    yg = lanes.fused(yg, own, lanes.load(&divided_g[k]));
                    sy = lanes.fused(sy, s, lanes.load(&curved[k]));
                    yy = lanes.fused(yy, own, lanes.load(&divided[k]));
                }
                products.sg[i] = lanes.array(sg);
                products.yg[i] = lanes.array(yg);
                products.sy[new][i] = lanes.array(sy);
                products.yy[new][i] = lanes.array(yy);
            }
        }
        products.gg = lanes.array(gg);
        let [sg, yg, sy, yy] = own_sums.map(|sum| lanes.array(sum));
        (products.sg[new], products.yg[new]) = (sg, yg);
        (products.sy[new][new], products.yy[new][new]) = (sy, yy);
        sums.sizes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proper::products::Place;

    /// What is summed up where a pair is made is what a sweep over all pairs sums up afterwards.
    #[test]
    fn products_of_a_new_pair_are_those_of_a_sweep() {
        let mut state = 7u64;
        let mut next = || {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let size = BLOCK * 2 + 9;
        let mut vector =
            || -> Vec<Lane> { (0..size).map(|_| [0.0; LANES].map(|_| next())).collect() };
        let mut penalty: Vec<Lane> = vector().iter().map(|p| p.map(|p| 0.2 + p * p)).collect();
        penalty[size - 1] = [0.0; LANES];
        let mut seen = Seen::plain(size);
        for (j, (square, offset)) in vector().into_iter().zip(vector()).enumerate().take(size - 1) {
            seen.square[j] = shortened(square.map(|x| 1.0 + x));
            seen.offset[j] = shortened(offset);
        }
        let mut pairs: Vec<Pair> = (0..3)
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
