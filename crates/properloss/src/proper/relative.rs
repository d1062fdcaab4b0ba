//! Log-loss under a link that was learned relative to the sigmoid, quickly: a pass asks for it once a row and
//! model.
//!
//! ```text
//! p = sigma(z), q = 1 - p, both from e^-|z|;   on the piece k of v:
//! u = v_k + s_k (p - p_k),   1 - u = (1 - v_{k+1}) + s_k (q - (1 - p_{k+1})),   u' = s_k p q
//! ```
//!
//! The piece is found in a table of equal cells of log-odds: knots lie some .05 apart, so that a cell has one or
//! two.

use super::curve::{LEAST, Point};
use super::rows::{LANES, Lane};
use crate::link::LinkSpec;

/// Cells a unit of log-odds, and the range they cover on both sides of 0.
const CELLS: f64 = 16.0;
const REACH: f64 = 24.0;

/// `v o sigma` with what its values are computed from.
#[derive(Debug)]
pub(super) struct RelativeTable {
    spec: LinkSpec,
    pieces: Vec<Piece>,
    /// The first piece of each cell.
    cells: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it ends; infinite for the last.
    end: f64,
    slope: f64,
    /// `p_k`, `v_k`, `1 - p_{k+1}`, `1 - v_{k+1}`.
    p: f64,
    v: f64,
    q: f64,
    w: f64,
}

impl RelativeTable {
    /// `None` if the link is not one relative to the sigmoid.
    pub(super) fn new(spec: &LinkSpec) -> Option<Self> {
        let LinkSpec::Relative { base, p, v } = spec else { return None };
        let count = p.len().min(v.len());
        if base.name() != "sigmoid" || count < 2 {
            return None;
        }
        let pieces: Vec<Piece> = (0..count - 1)
            .map(|k| Piece {
                end: if k + 2 == count {
                    f64::INFINITY
                } else {
                    (p[k + 1] / (1.0 - p[k + 1])).ln()
                },
                slope: (v[k + 1] - v[k]) / (p[k + 1] - p[k]),
                p: p[k],
                v: v[k],
                q: 1.0 - p[k + 1],
                w: 1.0 - v[k + 1],
            })
            .collect();
        let number = (2.0 * REACH * CELLS) as usize;
        let mut piece = 0;
        let cells = (0..number)
            .map(|cell| {
                let from = cell as f64 / CELLS - REACH;
                // Whatever is below the first cell belongs to it.
                while cell > 0 && pieces[piece].end <= from {
                    piece += 1;
                }
                piece as u32
            })
            .collect();
        Some(Self { spec: spec.clone(), pieces, cells })
    }

    pub(super) fn spec(&self) -> &LinkSpec {
        &self.spec
    }

    #[inline]
    fn piece(&self, z: f64) -> &Piece {
        let cell = ((z + REACH) * CELLS).clamp(0.0, (self.cells.len() - 1) as f64) as usize;
        let mut k = self.cells[cell] as usize;
        while self.pieces[k].end <= z && k + 1 < self.pieces.len() {
            k += 1;
        }
        &self.pieces[k]
    }

    /// Of eight scores the slope of their pieces, and a point of the line of the label's likelihood:
    /// `(s, b, a)` with `likelihood = a + s (the sigmoid's - b)`.
    #[inline(always)]
    pub(super) fn lines(&self, z: &Lane, label: u8) -> (Lane, Lane, Lane) {
        let (mut s, mut b, mut a) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            let piece = self.piece(z[l]);
            s[l] = piece.slope;
            (b[l], a[l]) = if label == 1 { (piece.p, piece.v) } else { (piece.q, piece.w) };
        }
        (s, b, a)
    }

    /// `u`, `1 - u` and `u'`.
    #[inline]
    fn values(&self, z: f64) -> (f64, f64, f64) {
        let e = (-z.abs()).exp();
        let near = 1.0 / (1.0 + e);
        let far = e * near;
        let (p, q) = if z >= 0.0 { (near, far) } else { (far, near) };
        let piece = self.piece(z);
        let u = (piece.v + piece.slope * (p - piece.p)).clamp(0.0, 1.0);
        let rest = (piece.w + piece.slope * (q - piece.q)).clamp(0.0, 1.0);
        (u, rest, piece.slope * near * far)
    }

    /// Loss and slope of a row with label `y` at score `z`.
    #[inline]
    pub(super) fn at(&self, z: f64, y: f64) -> Point {
        let (u, rest, derivative) = self.values(z);
        if y > 0.5 {
            let u = u.max(LEAST);
            Point { loss: -u.ln(), slope: -derivative / u }
        } else {
            let rest = rest.max(LEAST);
            Point { loss: -rest.ln(), slope: derivative / rest }
        }
    }

    /// Fisher information in the score.
    pub(super) fn curvature(&self, z: f64) -> f64 {
        let (u, rest, derivative) = self.values(z);
        derivative * derivative / (u * rest).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{InverseLink, RelativeLink, Sigmoid};
    use crate::piecewise::PiecewiseAffine;
    use crate::proper::curve::Curve;
    use std::sync::Arc;

    /// Against the link itself: on knots, beside them, and far outside.
    #[test]
    fn values_are_those_of_the_link() {
        let z: Vec<f64> =
            (0..90).map(|k| -9.0 + 0.2 * f64::from(k) + 0.01 * f64::from(k % 7)).collect();
        let mut p: Vec<f64> = z.iter().map(|&z| Sigmoid.u(z)).collect();
        p.insert(0, 0.0);
        p.push(1.0);
        let mut v = vec![0.003];
        for k in 1..p.len() {
            let slope = 0.6 + 0.3 * (k as f64).sin();
            v.push(v[k - 1] + slope * (p[k] - p[k - 1]));
        }
        let link =
            RelativeLink::new(Arc::new(Sigmoid), PiecewiseAffine::new(p, v).unwrap()).unwrap();
        let table = RelativeTable::new(&link.spec()).unwrap();
        let slow = Curve::Likelihood(&link);
        let beside = z.iter().flat_map(|&z| [z - 1e-9, z + 1e-9]);
        let far = [-800.0, -40.0, -24.1, -23.9, 23.9, 24.1, 40.0, 800.0];
        for z in (-400..400).map(|k| f64::from(k) / 17.0).chain(beside).chain(far) {
            for y in [0.0, 1.0] {
                let (a, b) = (table.at(z, y), slow.at(z, y));
                assert!((a.loss - b.loss).abs() < 1e-13 * (1.0 + b.loss.abs()), "{z}: {a:?} {b:?}");
                assert!(
                    (a.slope - b.slope).abs() < 1e-13 * (1.0 + b.slope.abs()),
                    "{z}: {a:?} {b:?}"
                );
            }
            let (a, b) = (table.curvature(z), slow.curvature(z));
            assert!((a - b).abs() < 1e-13, "{z}: {a} {b}");
        }
    }
}
