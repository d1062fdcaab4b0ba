//! `left' right` of rows that were copied out, tile by tile in registers: in double precision, or in single where there are
//! many columns.
//!
//! A Hessian is what steps are measured by, not what they lead to: six digits do. The products of a block of rows are
//! summed in single precision, the blocks in double.

use crate::design::{Kernel, Lanes};

/// Columns of a left panel.
pub(super) const LEFT: usize = 8;

/// The numbers that rows are copied out in.
pub(super) trait Precision: Copy + Send + Sync {
    type Number: Copy + Send;
    /// [`Self::WIDTH`] columns of a row in a right panel.
    type Group: Copy + Send;
    type Vector<L: Lanes>: Copy;
    const WIDTH: usize;
    const LEFT_ZEROS: [Self::Number; LEFT];
    const ZEROS: Self::Group;

    fn left(x: &[f64; LEFT]) -> [Self::Number; LEFT];
    /// `h x` for [`Self::WIDTH`] columns.
    fn right(h: f64, x: &[f64]) -> Self::Group;
    /// One number of a group.
    fn set(group: &mut Self::Group, at: usize, x: f64);
    fn zero<L: Lanes>(lanes: L) -> Self::Vector<L>;
    fn splat<L: Lanes>(lanes: L, x: Self::Number) -> Self::Vector<L>;
    fn load<L: Lanes>(lanes: L, from: &Self::Group) -> Self::Vector<L>;
    /// `a + b c`.
    fn fused<L: Lanes>(
        lanes: L,
        a: Self::Vector<L>,
        b: Self::Vector<L>,
        c: Self::Vector<L>,
    ) -> Self::Vector<L>;
    /// `sums += a`.
    fn add_to<L: Lanes>(lanes: L, sums: &mut [f64], a: Self::Vector<L>);
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Double;

impl Precision for Double {
    type Number = f64;
    type Group = [f64; 8];
    type Vector<L: Lanes> = L::Vector;
    const WIDTH: usize = 8;
    const LEFT_ZEROS: [f64; LEFT] = [0.0; LEFT];
    const ZEROS: [f64; 8] = [0.0; 8];

    #[inline(always)]
    fn left(x: &[f64; LEFT]) -> [f64; LEFT] {
        *x
    }

    #[inline(always)]
    fn right(h: f64, x: &[f64]) -> [f64; 8] {
        let (mut group, x) = ([0.0; 8], &x[..8]);
        for l in 0..8 {
            group[l] = h * x[l];
        }
        group
    }

    #[inline(always)]
    fn set(group: &mut [f64; 8], at: usize, x: f64) {
        group[at] = x;
    }

    #[inline(always)]
    fn zero<L: Lanes>(lanes: L) -> L::Vector {
        lanes.splat(0.0)
    }

    #[inline(always)]
    fn splat<L: Lanes>(lanes: L, x: f64) -> L::Vector {
        lanes.splat(x)
    }

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, from: &[f64; 8]) -> L::Vector {
        lanes.load(from)
    }

    #[inline(always)]
    fn fused<L: Lanes>(lanes: L, a: L::Vector, b: L::Vector, c: L::Vector) -> L::Vector {
        lanes.fused(a, b, c)
    }

    #[inline(always)]
    fn add_to<L: Lanes>(lanes: L, sums: &mut [f64], a: L::Vector) {
        for (sum, a) in sums.iter_mut().zip(lanes.array(a)) {
            *sum += a;
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Single;

impl Precision for Single {
    type Number = f32;
    type Group = [f32; 16];
    type Vector<L: Lanes> = L::Short;
    const WIDTH: usize = 16;
    const LEFT_ZEROS: [f32; LEFT] = [0.0; LEFT];
    const ZEROS: [f32; 16] = [0.0; 16];

    #[inline(always)]
    fn left(x: &[f64; LEFT]) -> [f32; LEFT] {
        let mut left = [0.0; LEFT];
        for l in 0..LEFT {
            left[l] = x[l] as f32;
        }
        left
    }

    #[inline(always)]
    fn right(h: f64, x: &[f64]) -> [f32; 16] {
        let (mut group, x) = ([0.0; 16], &x[..16]);
        for l in 0..16 {
            group[l] = (h * x[l]) as f32;
        }
        group
    }

    #[inline(always)]
    fn set(group: &mut [f32; 16], at: usize, x: f64) {
        group[at] = x as f32;
    }

    #[inline(always)]
    fn zero<L: Lanes>(lanes: L) -> L::Short {
        lanes.splat_short(0.0)
    }

    #[inline(always)]
    fn splat<L: Lanes>(lanes: L, x: f32) -> L::Short {
        lanes.splat_short(x)
    }

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, from: &[f32; 16]) -> L::Short {
        lanes.load_short(from)
    }

    #[inline(always)]
    fn fused<L: Lanes>(lanes: L, a: L::Short, b: L::Short, c: L::Short) -> L::Short {
        lanes.fused_short(a, b, c)
    }

    #[inline(always)]
    fn add_to<L: Lanes>(lanes: L, sums: &mut [f64], a: L::Short) {
        for (sum, a) in sums.iter_mut().zip(lanes.array_short(a)) {
            *sum += f64::from(a);
        }
    }
}

/// Widths of the two factors: columns and intercept, and these with the gradient.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub dimension: usize,
    pub left: usize,
    pub right: usize,
}

impl Shape {
    pub fn new<P: Precision>(dimension: usize) -> Self {
        Self {
            dimension,
            left: dimension.next_multiple_of(LEFT),
            right: (dimension + 1).next_multiple_of(P::WIDTH),
        }
    }

    pub fn size(self) -> usize {
        self.left * self.right
    }

    /// Both triangles of the Gram alone, from the upper one, in the place of the sums.
    pub fn square(self, mut sums: Vec<f64>) -> Vec<f64> {
        let d = self.dimension;
        for a in 0..d {
            sums.copy_within(a * self.right..a * self.right + d, a * d);
        }
        sums.truncate(d * d);
        for a in 0..d {
            for b in a + 1..d {
                sums[b * d + a] = sums[a * d + b];
            }
        }
        sums
    }
}

/// Adds `left' right` to the upper triangle of `sums`: panels of columns, `count` rows each.
pub(super) struct AddGram<'a, P: Precision> {
    pub left: &'a [[P::Number; LEFT]],
    pub right: &'a [P::Group],
    pub count: usize,
    pub shape: Shape,
    pub sums: &'a mut [f64],
}

impl<P: Precision> Kernel for AddGram<'_, P> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { left, right, count, shape, sums } = self;
        let panels = shape.right / P::WIDTH;
        for (a, left) in left.chunks_exact(count).enumerate() {
            let mut b = a * LEFT / P::WIDTH;
            // Tiles of eight columns and three panels where the registers hold them, else of four and one.
            while L::MANY_REGISTERS && b + 3 <= panels {
                let sums = &mut sums[LEFT * a * shape.right..];
                tile::<P, L, LEFT, 3>(lanes, left, 0, right, b, count, sums, shape.right);
                b += 3;
            }
            while b < panels {
                for half in [0, LEFT / 2] {
                    let sums = &mut sums[(LEFT * a + half) * shape.right..];
                    tile::<P, L, 4, 1>(lanes, left, half, right, b, count, sums, shape.right);
                }
                b += 1;
            }
        }
    }
}

/// `A` columns of a left panel from `offset` on, times `B` right panels from `first` on.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn tile<P: Precision, L: Lanes, const A: usize, const B: usize>(
    lanes: L,
    left: &[[P::Number; LEFT]],
    offset: usize,
    right: &[P::Group],
    first: usize,
    count: usize,
    sums: &mut [f64],
    stride: usize,
) {
    let zero = P::zero(lanes);
    let mut tile = [[zero; B]; A];
    let panels: [&[P::Group]; B] =
        std::array::from_fn(|b| &right[(first + b) * count..(first + b + 1) * count]);
    for (i, left) in left[..count].iter().enumerate() {
        // A loop: closures in kernels are not always compiled into them.
        let mut right = [zero; B];
        for b in 0..B {
            right[b] = P::load(lanes, &panels[b][i]);
        }
        for a in 0..A {
            let x = P::splat(lanes, left[offset + a]);
            for b in 0..B {
                tile[a][b] = P::fused(lanes, tile[a][b], x, right[b]);
            }
        }
    }
    for a in 0..A {
        for b in 0..B {
            let at = a * stride + P::WIDTH * (first + b);
            P::add_to(lanes, &mut sums[at..at + P::WIDTH], tile[a][b]);
        }
    }
}
