//! One walk over the knots of two links and the sorted scores: everything a change of link needs.

use crate::link::PiecewiseLink;
use crate::special::Sum;

/// The masses between the distinct scores `z_1 < .. < z_G`: entry `k` belongs to the interval with `k`
/// scores at or left of it. By form (0) the loss is `∫ u N + (1-u) P` with `N` the mass of the
/// negatives above and `P` that of the positives at or below; `N - P = G_w - π` of Lemma 1.
#[derive(Debug, Default)]
pub(crate) struct Masses {
    pub negative_above: Vec<f64>,
    pub positive_below: Vec<f64>,
}

impl Masses {
    /// From the weights of negatives and positives at each score; O(G).
    pub fn fill(&mut self, negative: &[f64], positive: &[f64], total: f64) {
        let groups = negative.len();
        self.negative_above.resize(groups + 1, 0.0);
        self.positive_below.resize(groups + 1, 0.0);
        self.negative_above[groups] = 0.0;
        self.positive_below[0] = 0.0;
        let (mut above, mut below) = (Sum::default(), Sum::default());
        for k in (0..groups).rev() {
            above.add(negative[k]);
            self.negative_above[k] = above.value() / total;
        }
        for k in 0..groups {
            below.add(positive[k]);
            self.positive_below[k + 1] = below.value() / total;
        }
    }
}

/// Where a link stands at the distinct scores.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// The number of knots at or left of each score.
    pub piece: Vec<u32>,
    /// `u` there.
    pub value: Vec<f64>,
}

/// What replacing `u` by `v` does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacement {
    /// `ℓ_v(w) - ℓ_u(w)` (Lemma 1).
    pub change: f64,
    /// `ℓ_v(w)`, a sum of nonnegative terms.
    pub loss: f64,
    /// `max |v - u|` at the scores.
    pub moved: f64,
}

/// Lemma 1 and the loss of `v` at increasing scores, and where `v` stands there; O(G + K_u + K_v).
pub(crate) fn replace(
    u: &PiecewiseLink,
    v: &PiecewiseLink,
    scores: &[f64],
    masses: &Masses,
    placement: &mut Placement,
) -> Replacement {
    placement.piece.resize(scores.len(), 0);
    placement.value.resize(scores.len(), 0.0);
    let (negative, positive) = (&masses.negative_above, &masses.positive_below);
    let (mut change, mut loss, mut moved) = (Sum::default(), Sum::default(), 0.0);
    walk(
        u,
        v,
        scores,
        |k, width, (u_from, v_from), (u_to, v_to)| {
            let difference = 0.5 * ((v_from - u_from) + (v_to - u_to)) * width;
            change.add(difference * (negative[k] - positive[k]));
            let v = 0.5 * (v_from + v_to);
            loss.add((v * negative[k] + (1.0 - v) * positive[k]) * width);
        },
        |k, knots_of_v, u_at, v_at| {
            placement.piece[k] = knots_of_v as u32;
            placement.value[k] = v_at;
            moved = f64::max(moved, (v_at - u_at).abs());
        },
    );
    Replacement { change: change.value(), loss: loss.value(), moved }
}

/// Goes once over the scores and the knots of `u` and `v`, from left to right.
///
/// `interval(k, width, (u, v) at its left end, (u, v) at its right end)`: both links are affine in
/// between, and `k` scores are at or left of it. `score(k, knots of v at or left, u, v)`.
#[inline]
pub(super) fn walk(
    u: &PiecewiseLink,
    v: &PiecewiseLink,
    scores: &[f64],
    mut interval: impl FnMut(usize, f64, (f64, f64), (f64, f64)),
    mut score: impl FnMut(usize, usize, f64, f64),
) {
    let (mut on_u, mut on_v) = (Cursor::new(u), Cursor::new(v));
    let first = on_u.next.min(on_v.next);
    let mut from = scores.first().map_or(first, |&z| z.min(first));
    let (mut at, mut k) = ((0.0, 0.0), 0);
    loop {
        let knot = on_u.next.min(on_v.next);
        while k < scores.len() && scores[k] < knot {
            let z = scores[k];
            let here = (on_u.value(z), on_v.value(z));
            interval(k, z - from, at, here);
            score(k, on_v.passed, here.0, here.1);
            (from, at) = (z, here);
            k += 1;
        }
        if knot == f64::INFINITY {
            return;
        }
        // At its own knots a link is what the knot says.
        if on_u.next == knot {
            on_u.pass();
        }
        if on_v.next == knot {
            on_v.pass();
        }
        let here = (on_u.value(knot), on_v.value(knot));
        interval(k, knot - from, at, here);
        (from, at) = (knot, here);
    }
}

/// A piece of a link, moved along from left to right.
struct Cursor<'a> {
    x: &'a [f64],
    y: &'a [f64],
    /// Knots at or left of the piece.
    passed: usize,
    /// The next knot, or infinity.
    next: f64,
    left: (f64, f64),
    right: (f64, f64),
    slope: f64,
}

impl<'a> Cursor<'a> {
    /// Left of the link, where it is 0.
    fn new(link: &'a PiecewiseLink) -> Self {
        let (x, y) = (link.knots().x(), link.knots().y());
        let corner = (x[0], 0.0);
        Self { x, y, passed: 0, next: x[0], left: corner, right: corner, slope: 0.0 }
    }

    fn pass(&mut self) {
        let k = self.passed;
        self.passed += 1;
        self.left = (self.x[k], self.y[k]);
        if k + 1 < self.x.len() {
            self.right = (self.x[k + 1], self.y[k + 1]);
            self.next = self.right.0;
            self.slope = (self.right.1 - self.left.1) / (self.right.0 - self.left.0);
        } else {
            (self.right, self.next, self.slope) = (self.left, f64::INFINITY, 0.0);
        }
    }

    /// Interpolation, anchored at the nearer knot; exact at the knots.
    #[inline]
    fn value(&self, s: f64) -> f64 {
        let (left, right) = (s - self.left.0, self.right.0 - s);
        let from_left = self.left.1 + self.slope * left;
        let from_right = self.right.1 - self.slope * right;
        if left <= right { from_left } else { from_right }
    }
}
