//! The solver against Clarabel's interior-point method.

mod chain_support;

use chain_support::{Instance, Rng, check, instances, random_instance};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
    ZeroConeT,
};
use properloss::chain::solve;

/// Rows `a·x = b` or `a·x <= b` of a sparse matrix under construction.
#[derive(Default)]
struct Rows {
    rows: Vec<usize>,
    cols: Vec<usize>,
    vals: Vec<f64>,
    rhs: Vec<f64>,
}

impl Rows {
    fn push(&mut self, terms: &[(usize, f64)], rhs: f64) {
        for &(col, val) in terms {
            self.rows.push(self.rhs.len());
            self.cols.push(col);
            self.vals.push(val);
        }
        self.rhs.push(rhs);
    }
}

/// The values by Clarabel, or `None` if it does not reach its tolerance.
///
/// A piecewise-linear `g` is written with one variable per point and piece, `y_i = Σ_k s_ik` with
/// `0 <= s_ik <= width_k` (a convex G fills the pieces in order), so the problem stays a QP.
fn clarabel(p: &Instance) -> Option<Vec<f64>> {
    let m = p.len();
    let (widths, starts, curvature): (Vec<f64>, Vec<f64>, Vec<f64>) = match &p.link {
        None => (vec![], vec![], vec![]),
        Some(link) => {
            let (x, u) = (link.knots().x(), link.knots().y());
            let k = x.len() - 1;
            (
                (0..k).map(|k| u[k + 1] - u[k]).collect(),
                x[..k].to_vec(),
                (0..k).map(|k| (x[k + 1] - x[k]) / (u[k + 1] - u[k])).collect(),
            )
        }
    };
    let pieces = widths.len();
    let columns = if pieces == 0 { m } else { m * pieces };
    let scale = p.weights.iter().cloned().fold(0.0, f64::max) * p.unit();
    let (mut diagonal, mut q) = (vec![0.0; columns], vec![0.0; columns]);
    for i in 0..m {
        let w = p.weights[i] / scale;
        if pieces == 0 {
            (diagonal[i], q[i]) = (w, -w * p.targets[i]);
        }
        for k in 0..pieces {
            diagonal[i * pieces + k] = w * curvature[k];
            q[i * pieces + k] = w * (starts[k] - p.targets[i]);
        }
    }
    // The terms of sign * y_i.
    let value = |i: usize, sign: f64| -> Vec<(usize, f64)> {
        if pieces == 0 {
            vec![(i, sign)]
        } else {
            (0..pieces).map(|k| (i * pieces + k, sign)).collect()
        }
    };
    let difference = |i: usize, sign: f64| [value(i + 1, sign), value(i, -sign)].concat();
    let (n, cap) = p.slopes;
    let (mut equal, mut below) = (Rows::default(), Rows::default());
    for i in 0..m - 1 {
        let dz = p.scores[i + 1] - p.scores[i];
        if dz == 0.0 || cap == n {
            equal.push(&difference(i, 1.0), n * dz);
            continue;
        }
        below.push(&difference(i, -1.0), -n * dz);
        if cap.is_finite() {
            below.push(&difference(i, 1.0), cap * dz);
        }
    }
    below.push(&value(0, -1.0), -p.first.0);
    below.push(&value(0, 1.0), p.first.1);
    below.push(&value(m - 1, 1.0), p.last.1);
    if p.last.0.is_finite() {
        below.push(&value(m - 1, -1.0), -p.last.0);
    }
    for i in 0..m * pieces {
        below.push(&[(i, -1.0)], 0.0);
        below.push(&[(i, 1.0)], widths[i % pieces]);
    }
    let cones: Vec<SupportedConeT<f64>> =
        vec![ZeroConeT(equal.rhs.len()), NonnegativeConeT(below.rhs.len())];
    let offset = equal.rhs.len();
    let rows: Vec<usize> =
        equal.rows.iter().copied().chain(below.rows.iter().map(|r| r + offset)).collect();
    let cols = [equal.cols, below.cols].concat();
    let vals = [equal.vals, below.vals].concat();
    let rhs = [equal.rhs, below.rhs].concat();
    let a = CscMatrix::new_from_triplets(rhs.len(), columns, rows, cols, vals);
    let index: Vec<usize> = (0..columns).collect();
    let hessian = CscMatrix::new_from_triplets(columns, columns, index.clone(), index, diagonal);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_abs: 1e-12,
        tol_gap_rel: 1e-12,
        tol_feas: 1e-12,
        ..DefaultSettings::default()
    };
    let mut solver = DefaultSolver::new(&hessian, &q, &a, &rhs, &cones, settings).ok()?;
    solver.solve();
    let solved = [SolverStatus::Solved, SolverStatus::AlmostSolved];
    if !solved.contains(&solver.solution.status) {
        return None;
    }
    let x = &solver.solution.x;
    Some(if pieces == 0 { x.clone() } else { x.chunks(pieces).map(|s| s.iter().sum()).collect() })
}

fn compare(bregman: bool, seed: u64, count: usize, max_m: usize) {
    let mut rng = Rng(seed);
    let mut compared = 0;
    for k in 0..count {
        let p = random_instance(&mut rng, max_m, bregman);
        let solution = solve(&p.problem()).unwrap();
        if let Err(why) = check(&p, &solution) {
            panic!("instance {k}: {why}\n{p:?}\n{solution:?}");
        }
        let Some(peer) = clarabel(&p) else { continue };
        compared += 1;
        let (ours, theirs) = (p.cost(&solution.values), p.cost(&peer));
        // Clarabel leaves the bounds by up to its tolerance, which lowers its cost by as much
        // times the forces: its tolerance of the total weight allows for it.
        let total: f64 = p.weights.iter().sum();
        let slack = 1e-9 * theirs + 1e-12 * total * p.unit();
        assert!(ours <= theirs + slack, "instance {k}: {ours:e} > {theirs:e}\n{p:?}");
    }
    assert!(compared * 10 >= count * 7, "Clarabel solved only {compared} of {count}");
}

#[test]
fn quadratic_is_never_worse() {
    compare(false, 11, instances(150, 4000), 60);
}

#[test]
fn bregman_is_never_worse() {
    compare(true, 12, instances(50, 1500), 25);
}

/// More instances, by the certificate alone.
#[test]
fn certificates_hold() {
    let mut rng = Rng(13);
    for k in 0..instances(600, 20_000) {
        let p = random_instance(&mut rng, if k % 50 == 0 { 3000 } else { 120 }, k % 2 == 0);
        let solution = solve(&p.problem()).unwrap();
        if let Err(why) = check(&p, &solution) {
            panic!("instance {k} of {} points: {why}, passes {}", p.len(), solution.passes);
        }
    }
}
