//! Near-ties cannot make the solver quadratic.

mod chain_support;

use chain_support::{Rng, is_fuzz};
use properloss::chain::{ChainProblem, ChainSolution, Objective, solve};

/// Alternating labels at scores 1e-12 apart, with weights that grow so that every swing of the
/// root is a little wider than the one before: each step walks over nearly all knots so far.
fn near_ties(m: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let scores = (0..m).map(|i| 1e-12 * i as f64).collect();
    let weights = (0..m).map(|i| (10.0 * (i as f64 / m as f64).powi(2)).exp()).collect();
    let targets = (0..m).map(|i| (i % 2) as f64).collect();
    (scores, weights, targets)
}

fn adversarial(m: usize) -> ChainSolution {
    let (scores, weights, targets) = near_ties(m);
    let problem = ChainProblem::new(&scores, Objective::Quadratic { targets: &targets })
        .with_weights(&weights)
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

/// The tree and the stacks give the same solution: an adversarial head that needs the tree, then
/// ordinary points, against the same with the head merged into one point (the stacks suffice).
#[test]
fn tree_and_stacks_agree() {
    let (m, extra) = (20_000, 400);
    let mut rng = Rng(5);
    let (mut scores, mut weights, mut targets) = near_ties(m);
    let total: f64 = weights.iter().sum();
    let mean = weights.iter().zip(&targets).map(|(w, t)| w * t).sum::<f64>() / total;
    let (mut few_scores, mut few_weights, mut few_targets) = (vec![0.0], vec![total], vec![mean]);
    let mut z = scores[m - 1];
    for _ in 0..extra {
        z += rng.unit() * 0.01;
        let t = rng.unit();
        for (list, value) in [(&mut scores, z), (&mut weights, total / 400.0), (&mut targets, t)] {
            list.push(value);
        }
        for (list, value) in
            [(&mut few_scores, z), (&mut few_weights, total / 400.0), (&mut few_targets, t)]
        {
            list.push(value);
        }
    }
    let run = |scores: &[f64], weights: &[f64], targets: &[f64]| {
        let problem = ChainProblem::new(scores, Objective::Quadratic { targets });
        solve(&problem.with_weights(weights).with_slopes(0.001, 0.3)).unwrap()
    };
    let whole = run(&scores, &weights, &targets);
    let merged = run(&few_scores, &few_weights, &few_targets);
    assert!(whole.used_tree && !merged.used_tree);
    assert!(whole.kkt_residual <= 1e-12 && whole.duality_gap <= 1e-9 * total);
    for i in 0..extra {
        let (a, b) = (whole.values[m + i], merged.values[1 + i]);
        // The head spans 2e-8 of score, so 6e-9 of value.
        assert!((a - b).abs() <= 2e-8, "{i}: {a} {b}");
    }
}
