//! Lemma 7 of the paper: the discrepancy against quadrature, the radii against brute force, the bounds.

mod certify_support;

use certify_support::{Random, link_from_steps};
use properloss::certify::*;
use properloss::link::{InverseLink, PiecewiseLink};

/// The sigmoid, as a link of its own so that this test does not lean on the registry.
#[derive(Debug)]
struct Sigmoid {
    scale: f64,
}

impl InverseLink for Sigmoid {
    fn u(&self, z: f64) -> f64 {
        1.0 / (1.0 + (-self.scale * z).exp())
    }
    fn derivative(&self, z: f64) -> f64 {
        self.scale * self.u(z) * (1.0 - self.u(z))
    }
    fn u_inverse(&self, p: f64) -> f64 {
        (p / (1.0 - p)).ln() / self.scale
    }
    fn potential(&self, z: f64) -> f64 {
        let z = self.scale * z;
        (z.max(0.0) + (-z.abs()).exp().ln_1p()) / self.scale
    }
    fn conjugate(&self, p: f64) -> f64 {
        let term = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
        (term(p) + term(1.0 - p)) / self.scale
    }
}

/// Midpoint rule between all breakpoints.
fn quadrature(u: &PiecewiseLink, v: &dyn InverseLink, a: f64, b: f64) -> f64 {
    let n = 400_000;
    let step = (b - a) / f64::from(n);
    (0..n).map(|i| a + (f64::from(i) + 0.5) * step).map(|z| (u.u(z) - v.u(z)).abs() * step).sum()
}

#[test]
fn discrepancy_against_quadrature() {
    let mut random = Random(5);
    for round in 0..20 {
        let steps: Vec<(f64, f64)> = (0..1 + random.below(8))
            .map(|_| (random.unit() + 0.05, random.unit() + 0.05))
            .collect();
        let u = link_from_steps(random.between(-2.5, 0.0), &steps);
        let range = (random.between(-2.0, -0.5), random.between(0.5, 2.0));
        let sigmoid = Sigmoid { scale: random.between(0.5, 6.0) };
        let steps: Vec<(f64, f64)> = (0..1 + random.below(8))
            .map(|_| (random.unit() + 0.05, random.unit() + 0.05))
            .collect();
        let other = link_from_steps(random.between(-2.5, 0.0), &steps);
        let target: &dyn InverseLink = if round % 2 == 0 { &sigmoid } else { &other };
        let exact = restricted_discrepancy(&u, target, range, &[0.0]).unwrap();
        let numeric = quadrature(&u, target, range.0, range.1);
        // Midpoint rule with a Lipschitz integrand that has kinks: h (b-a) Lip.
        assert!((exact - numeric).abs() < 1e-7, "round {round}: {exact} {numeric}");
    }
    let u = link_from_steps(-1.0, &[(2.0, 1.0)]);
    assert_eq!(restricted_discrepancy(&u, &u, (-3.0, 3.0), &[]).unwrap(), 0.0);
    assert!(restricted_discrepancy(&u, &u, (1.0, -1.0), &[]).is_err());
}

/// Connectivity with a vertex removed, by flooding: the definition.
fn connected_without(x: &[f64], columns: usize, epsilon: f64, removed: Option<usize>) -> bool {
    let rows: Vec<&[f64]> = x.chunks_exact(columns).collect();
    let kept: Vec<usize> = (0..rows.len()).filter(|&i| Some(i) != removed).collect();
    let near = |i: usize, j: usize| {
        let d: f64 = rows[i].iter().zip(rows[j]).map(|(a, b)| (a - b) * (a - b)).sum();
        d.sqrt() <= epsilon
    };
    let mut reached = vec![kept[0]];
    let mut at = 0;
    while at < reached.len() {
        let from = reached[at];
        for &to in &kept {
            if !reached.contains(&to) && near(from, to) {
                reached.push(to);
            }
        }
        at += 1;
    }
    reached.len() == kept.len()
}

#[test]
fn radii_against_the_definition() {
    let mut random = Random(7);
    for _ in 0..300 {
        let (m, columns) = (3 + random.below(10), 1 + random.below(3));
        let grid = random.chance(0.3);
        let x: Vec<f64> = (0..m * columns)
            .map(|_| if grid { random.below(4) as f64 } else { random.unit() })
            .collect();
        let mut distances: Vec<f64> = vec![0.0];
        let rows: Vec<&[f64]> = x.chunks_exact(columns).collect();
        for i in 0..m {
            for j in i + 1..m {
                let d: f64 = rows[i].iter().zip(rows[j]).map(|(a, b)| (a - b) * (a - b)).sum();
                distances.push(d.sqrt());
            }
        }
        distances.sort_by(f64::total_cmp);
        let least = |test: &dyn Fn(f64) -> bool| *distances.iter().find(|&&d| test(d)).unwrap();
        let one = least(&|d| connected_without(&x, columns, d, None));
        let two = least(&|d| {
            connected_without(&x, columns, d, None)
                && (0..m).all(|i| connected_without(&x, columns, d, Some(i)))
        });
        assert_eq!(connectivity_radius(&x, columns).unwrap(), one);
        assert_eq!(biconnectivity_radius(&x, columns).unwrap(), two);
    }
    // Two triangles that share a vertex: connected at 1, but the shared vertex is a cut vertex.
    let bow_tie = [0.0, 0.0, -0.9, 0.4, -0.9, -0.4, 0.9, 0.4, 0.9, -0.4];
    assert!(connectivity_radius(&bow_tie, 2).unwrap() < 1.0);
    assert!((biconnectivity_radius(&bow_tie, 2).unwrap() - 1.8).abs() < 1e-15);
    assert!(biconnectivity_radius(&[0.0, 1.0], 1).is_err());
    assert!(connectivity_radius(&[0.0, f64::NAN], 1).is_err());
}

/// The bounds on samples: discrepancy of the interpolating link ≤ by gaps ≤ connected, and ≤ paper.
/// The first is attained in the limit of a target that jumps at each score.
#[test]
fn bounds_hold_on_samples() {
    let mut random = Random(11);
    for round in 0..60 {
        let (m, columns) =
            (if round == 0 { 800 } else { 5 + random.below(60) }, 1 + random.below(4));
        let x: Vec<f64> = (0..m * columns).map(|_| random.between(-1.0, 1.0)).collect();
        let w: Vec<f64> = (0..columns).map(|_| random.between(-2.0, 2.0)).collect();
        let target = Sigmoid { scale: random.between(0.5, 20.0) };
        let mut z: Vec<f64> = x
            .chunks_exact(columns)
            .map(|row| row.iter().zip(&w).map(|(x, w)| x * w).sum())
            .collect();
        z.sort_by(f64::total_cmp);
        z.dedup();
        let u = interpolating_link(&target, &z).unwrap();
        let error = restricted_discrepancy(&u, &target, (z[0], z[z.len() - 1]), &[0.0]).unwrap();
        let bound = approximation_bound(&x, &w, &target).unwrap();
        let rounding = 1e-13;
        assert!(error <= bound.by_gaps + rounding, "{error} {bound:?}");
        assert!(bound.by_gaps <= bound.connected + rounding, "{bound:?}");
        assert!(error <= bound.paper + rounding, "{error} {bound:?}");
        assert!(bound.epsilon_connected <= bound.epsilon_biconnected);
    }
    // A target that rises just after each score: the area over the chord tends to half the box.
    let jump = 1e-6;
    let steps: Vec<(f64, f64)> = (0..4).flat_map(|_| [(jump, 1.0), (1.0 - jump, 1e-6)]).collect();
    let target = link_from_steps(0.0, &steps);
    let z: Vec<f64> = (0..5).map(f64::from).collect();
    let u = interpolating_link(&target, &z).unwrap();
    let error = restricted_discrepancy(&u, &target, (0.0, 4.0), &[]).unwrap();
    let half_boxes = 0.5; // ½ Σ Δu Δz with Δz = 1, Σ Δu = 1
    assert!(error <= half_boxes && error > half_boxes * (1.0 - 1e-5), "{error}");
}
