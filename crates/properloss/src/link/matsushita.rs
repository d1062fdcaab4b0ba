//! The link of Matsushita's loss: algebraic tails, a square-root Bayes risk.

use super::{InverseLink, LinkSpec, is_probability};

/// `u(z) = (1 + z/√(1 + z²)) / 2`.
///
/// `U(z) = (z + √(1 + z²)) / 2` and `U*(p) = -√(p (1 - p))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Matsushita;

impl InverseLink for Matsushita {
    // With h = √(1 + z²): for z < 0, (h - |z|)/(2h) = 1/(2 h (h + |z|)), since (h-|z|)(h+|z|) = 1.
    fn u(&self, z: f64) -> f64 {
        let h = z.hypot(1.0);
        let tail = 0.5 / h / (h + z.abs());
        if z.is_infinite() {
            return if z > 0.0 { 1.0 } else { 0.0 };
        }
        if z < 0.0 { tail } else { 1.0 - tail }
    }

    // 1 / (2 h³).
    fn derivative(&self, z: f64) -> f64 {
        let h = z.hypot(1.0);
        0.5 / h / h / h
    }

    // (2p - 1) / (2 √(p (1 - p))); 2p - 1 is exact near 1/2, 1 - p is exact near 1.
    fn u_inverse(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        (2.0 * p - 1.0) / (2.0 * p.sqrt() * (1.0 - p).sqrt())
    }

    // For z < 0, (h - |z|)/2 = 1/(2 (h + |z|)).
    fn potential(&self, z: f64) -> f64 {
        let h = z.hypot(1.0);
        if z < 0.0 { 0.5 / (h - z) } else { 0.5 * z + 0.5 * h }
    }

    fn conjugate(&self, p: f64) -> f64 {
        if is_probability(p) { -(p.sqrt() * (1.0 - p).sqrt()) } else { f64::NAN }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("matsushita")
    }

    symmetric!(upper_potential);

    // 2 h_b D_U(a, b) = h_a h_b - 1 - ab = (a - b)² / (h_a h_b + 1 + ab): the right form where
    // 1 + ab does not cancel, the left one where a and b lie far apart on the two sides of 0.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        if b.is_infinite() {
            return if b > 0.0 { self.upper_potential(a) } else { self.potential(a) };
        }
        let (ha, hb, d) = (a.hypot(1.0), b.hypot(1.0), a - b);
        let ab = a * b;
        if a.is_infinite() {
            f64::INFINITY
        } else if ab < -0.5 {
            0.5 * (ha - 1.0 / hb - a * (b / hb))
        } else {
            0.5 * (d / hb) * (d / (ha * hb + 1.0 + ab))
        }
    }

    // ½ (√(p q') - √(q p'))² / √(q q') with p' = 1 - p: √(pq') - √(qp') = (p - q)/(√(pq') + √(qp')).
    fn conjugate_divergence(&self, p: f64, q: f64) -> f64 {
        if !(is_probability(p) && is_probability(q)) {
            return f64::NAN;
        }
        if p == q {
            return 0.0;
        }
        let (sp, sq) = (p.sqrt(), q.sqrt());
        let (cp, cq) = ((1.0 - p).sqrt(), (1.0 - q).sqrt());
        let difference = (p - q) / (sp * cq + sq * cp);
        0.5 * (difference / sq) * (difference / cq)
    }
}
