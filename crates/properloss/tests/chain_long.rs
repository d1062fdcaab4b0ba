//! Long chains, which are solved as rigid pieces, against an independent check of optimality.

mod chain_support;

use chain_support::{Rng, is_fuzz};
use properloss::chain::{ChainProblem, EdgeState, Objective, solve};

/// What the targets of a long chain can look like.
#[derive(Debug, Clone, Copy)]
enum Targets {
    Labels,
    Noise(f64),
    Smooth,
    /// Labels, with a stretch in the middle where the truth falls.
    Falling,
    /// Few labels of one kind.
    Rare,
}

fn targets(kind: Targets, z: &[f64], rng: &mut Rng) -> Vec<f64> {
    let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
    z.iter()
        .map(|&z| match kind {
            Targets::Labels => f64::from(u8::from(rng.unit() < sigmoid(z))),
            Targets::Noise(width) => sigmoid(z) + width * (rng.unit() - 0.5),
            Targets::Smooth => sigmoid(z),
            Targets::Falling => f64::from(u8::from(
                rng.unit() < if z.abs() < 1.0 { sigmoid(-z) } else { sigmoid(z) },
            )),
            Targets::Rare => f64::from(u8::from(rng.unit() < 0.001 * sigmoid(z))),
        })
        .collect()
}

/// Feasible, and every multiplier `κ_i = Σ_{j<=i} ω_j (y_j - t_j)` (from a free edge or end on) of
/// the sign that its edge asks for: with strict convexity this is the minimiser.
#[test]
fn long_chains_are_optimal() {
    let sizes: &[usize] = if is_fuzz() { &[4096, 9_999, 60_000, 400_000] } else { &[4096, 20_001] };
    let kinds = [
        Targets::Labels,
        Targets::Noise(0.3),
        Targets::Noise(3.0),
        Targets::Smooth,
        Targets::Falling,
        Targets::Rare,
    ];
    let mut rng = Rng(11);
    for &m in sizes {
        for kind in kinds {
            for (n, cap) in [(0.01, 1.0), (0.0, 0.2), (0.05, 0.06), (0.0, f64::INFINITY)] {
                for (tied, weighted) in [(false, false), (true, true)] {
                    let mut z: Vec<f64> = (0..m).map(|_| 8.0 * rng.unit() - 4.0).collect();
                    if tied {
                        z.iter_mut().for_each(|z| *z = (*z * 500.0).round() / 500.0);
                    }
                    z.sort_by(f64::total_cmp);
                    let t = targets(kind, &z, &mut rng);
                    let unit = |_| if weighted { (3.0 * rng.unit()).exp() } else { 1.0 };
                    let w: Vec<f64> = (0..m).map(unit).collect();
                    let problem = ChainProblem::new(&z, Objective::Quadratic { targets: &t })
                        .with_weights(&w)
                        .with_slopes(n, cap);
                    let solution = solve(&problem).unwrap();
                    let what = format!("{m} {kind:?} [{n}, {cap}] ties {tied}");
                    check(&what, (&z, &t, &w), (n, cap), &solution);
                }
            }
        }
    }
}

fn check(
    what: &str,
    (z, t, w): (&[f64], &[f64], &[f64]),
    (n, cap): (f64, f64),
    solution: &properloss::chain::ChainSolution,
) {
    let (y, m) = (&solution.values, z.len());
    let total: f64 = w.iter().sum();
    assert!(y[0] >= 0.0 && y[m - 1] <= 1.0, "{what}: {} {}", y[0], y[m - 1]);
    // The interval of κ_0 that all signs together ask for: rounding alone may empty it.
    let mut least = if y[0] <= 1e-15 { f64::NEG_INFINITY } else { 0.0 };
    let mut most: f64 = if y[0] >= 1.0 - 1e-15 { f64::INFINITY } else { 0.0 };
    let mut kappa = 0.0;
    for i in 0..m {
        kappa += w[i] * (y[i] - t[i]);
        let state = match solution.edges.get(i) {
            Some(&state) => state,
            None if y[i] >= 1.0 - 1e-15 => EdgeState::Lower,
            None => EdgeState::Free,
        };
        if let Some(&next) = y.get(i + 1) {
            let (rise, dz) = (next - y[i], z[i + 1] - z[i]);
            let top = if dz > 0.0 { cap * dz } else { 0.0 };
            assert!(rise >= n * dz - 1e-15 && rise <= top + 1e-15, "{what}: {i} {rise} {dz}");
            let off = match state {
                EdgeState::Free => 0.0,
                EdgeState::Lower | EdgeState::Tied => rise - n * dz,
                EdgeState::Upper => rise - top,
            };
            assert!(off.abs() <= 1e-15, "{what}: {i} {state:?} off by {off:e}");
        }
        if matches!(state, EdgeState::Lower | EdgeState::Free) {
            most = most.min(-kappa);
        }
        if matches!(state, EdgeState::Upper | EdgeState::Free) {
            least = least.max(-kappa);
        }
    }
    // Plain sums of m terms: their rounding, not the solver's, sets this.
    assert!(least - most <= 1e-13 * total, "{what}: {:e}", (least - most) / total);
    assert!(solution.kkt_residual <= 1e-15, "{what}: {:e}", solution.kkt_residual);
}
