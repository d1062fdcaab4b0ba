//! Near-ties cannot make the solver quadratic.

mod chain_support;

use chain_support::{Rng, is_fuzz};
use properloss::chain::{ChainProblem, ChainSolution, Objective, solve};

/// Alternating labels at scores 1e-12 apart: the root sweeps over nearly all knots at every step.
fn adversarial(m: usize) -> ChainSolution {
    let scores: Vec<f64> = (0..m).map(|i| 1e-12 * i as f64).collect();
    let targets: Vec<f64> = (0..m).map(|i| (i % 2) as f64).collect();
    let problem = ChainProblem::new(&scores, Objective::Quadratic { targets: &targets })
        .with_slopes(0.01, 1.0);
    solve(&problem).unwrap()
}

#[test]
fn adversarial_near_ties_stay_below_m_log_m() {
    let exponents = if is_fuzz() { 14..=20 } else { 14..=16 };
    let mut before: Option<f64> = None;
    for e in exponents {
        let m = 1usize << e;
        let solution = adversarial(m);
        assert!(solution.used_tree, "2^{e}: the tree was not needed");
        assert!(solution.kkt_residual <= 1e-12, "2^{e}: {:e}", solution.kkt_residual);
        let moves = solution.knot_moves as f64;
        println!("2^{e}: {:.1} moves a point", moves / m as f64);
        if let Some(before) = before {
            assert!(moves < 2.3 * before, "2^{e}: {moves} moves after {before}");
        }
        before = Some(moves);
    }
}

/// The two stores give the same solution: the alternating problem small enough for the stacks,
/// and embedded in one that the tree solves.
#[test]
fn tree_and_stacks_agree() {
    let (m, extra) = (20_000, 400);
    let mut rng = Rng(5);
    let mut scores: Vec<f64> = (0..m).map(|i| 1e-12 * i as f64).collect();
    let mut targets: Vec<f64> = (0..m).map(|i| 0.2 + 0.1 * (i % 2) as f64).collect();
    let start = scores[m - 1];
    let mut z = start;
    for _ in 0..extra {
        z += rng.unit() * 0.1;
        scores.push(z);
        targets.push(rng.unit());
    }
    let objective = Objective::Quadratic { targets: &targets };
    let whole = solve(&ChainProblem::new(&scores, objective).with_slopes(0.001, 0.3)).unwrap();
    assert!(whole.used_tree);
    assert!(whole.kkt_residual <= 1e-12 && whole.duality_gap <= 1e-9);
    // The near-ties are one point but for 2e-8: replace them by their mean.
    let merged_scores: Vec<f64> = [&[0.0], &scores[m..]].concat();
    let merged_targets: Vec<f64> = [&[0.25], &targets[m..]].concat();
    let mut weights = vec![1.0; extra + 1];
    weights[0] = m as f64;
    let objective = Objective::Quadratic { targets: &merged_targets };
    let problem =
        ChainProblem::new(&merged_scores, objective).with_weights(&weights).with_slopes(0.001, 0.3);
    let merged = solve(&problem).unwrap();
    assert!(!merged.used_tree);
    for i in 0..extra {
        let (a, b) = (whole.values[m + i], merged.values[1 + i]);
        // The head of the chain spans 2e-8 of score, so 6e-9 of value.
        assert!((a - b).abs() <= 2e-8, "{i}: {a} {b}");
    }
}
