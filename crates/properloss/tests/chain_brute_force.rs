//! The solver against enumeration of all active sets, m <= 8.

mod chain_support;

use chain_support::{Instance, Rng, check, instances, random_instance};
use properloss::chain::solve;

/// Tries every assignment of the edges (free, lower, upper) and of the two ends; a block between
/// free edges is shifted to the root of its derivative (or to the end it is bound to); the best
/// feasible point is the optimum.
fn brute_force(p: &Instance) -> Vec<f64> {
    let m = p.len();
    let (n, cap) = p.slopes;
    let mut best: Option<(f64, Vec<f64>)> = None;
    let count = 3usize.pow(m as u32 - 1);
    for code in 0..count * 9 {
        let (mut edges, ends) = (code / 9, code % 9);
        let mut y = vec![0.0; m];
        let mut starts = vec![0];
        let mut possible = true;
        for i in 0..m - 1 {
            let dz = p.scores[i + 1] - p.scores[i];
            match edges % 3 {
                0 => {
                    starts.push(i + 1);
                    y[i + 1] = 0.0;
                }
                1 => y[i + 1] = y[i] + n * dz,
                _ if cap.is_infinite() && dz > 0.0 => possible = false,
                _ => y[i + 1] = y[i] + if dz > 0.0 { cap * dz } else { 0.0 },
            }
            edges /= 3;
        }
        if !possible {
            continue;
        }
        starts.push(m);
        for b in 0..starts.len() - 1 {
            let (s, e) = (starts[b], starts[b + 1]);
            let mut theta = None;
            if s == 0 && ends % 3 > 0 {
                theta = Some(if ends % 3 == 1 { p.first.0 } else { p.first.1 } - y[0]);
            }
            if e == m && ends / 3 > 0 {
                let at = (if ends / 3 == 1 { p.last.0 } else { p.last.1 }) - y[m - 1];
                if theta.is_some_and(|t: f64| (t - at).abs() > 1e-9) {
                    possible = false;
                }
                theta = Some(at);
            }
            let theta = theta.unwrap_or_else(|| root(p, &y, s, e));
            if !theta.is_finite() {
                possible = false;
                break;
            }
            y[s..e].iter_mut().for_each(|y| *y += theta);
        }
        // Ends that are bound from both sides leave rounding of the size of the slack.
        if !possible || p.infeasibility(&y) > 1e-9 {
            continue;
        }
        let cost = p.cost(&y);
        if best.as_ref().is_none_or(|(c, _)| cost < *c) {
            best = Some((cost, y));
        }
    }
    best.expect("a feasible active set").1
}

/// Bisection on the derivative of the block.
fn root(p: &Instance, y: &[f64], s: usize, e: usize) -> f64 {
    let force = |theta: f64| -> f64 {
        (s..e).map(|i| p.weights[i] * p.pull(y[i] + theta, p.targets[i])).sum()
    };
    let (mut low, mut high) = (-4.0, 4.0);
    for _ in 0..200 {
        let mid = 0.5 * (low + high);
        if force(mid) > 0.0 { high = mid } else { low = mid }
    }
    0.5 * (low + high)
}

fn compare(bregman: bool, seed: u64, count: usize) {
    let mut rng = Rng(seed);
    for k in 0..count {
        let p = random_instance(&mut rng, if k % 16 == 0 { 8 } else { 6 }, bregman);
        let solution = solve(&p.problem()).unwrap();
        if let Err(why) = check(&p, &solution) {
            panic!("instance {k}: {why}\n{p:?}\n{solution:?}");
        }
        let exact = brute_force(&p);
        let (ours, theirs) = (p.cost(&solution.values), p.cost(&exact));
        // Enumeration is feasible within 1e-9 only, so it may be lower by as much.
        let total: f64 = p.weights.iter().sum();
        let scale = total * p.unit();
        assert!(
            ours <= theirs * (1.0 + 1e-9) + 1e-9 * scale,
            "instance {k}: {ours:e} > {theirs:e}\n{p:?}\n{:?}\n{exact:?}",
            solution.values
        );
        // Strong convexity turns a small gap into near values where the weights allow it.
        for i in 0..p.len() {
            let distance = (solution.values[i] - exact[i]).abs();
            let share = p.weights[i] / total;
            assert!(distance * distance * share <= 1e-7, "instance {k}, value {i}\n{p:?}");
        }
    }
}

#[test]
fn quadratic_agrees_with_enumeration() {
    compare(false, 1, instances(150, 3000));
}

#[test]
fn bregman_agrees_with_enumeration() {
    compare(true, 2, instances(60, 1500));
}
