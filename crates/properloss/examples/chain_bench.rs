//! The chain solver against a sort of the same size: `cargo run --release --example chain_bench`.
//!
//! Prints one line for each size and case: nanoseconds an element, the ratio to an unstable sort of
//! `(f64, u32)` in the same run, and the certificate. Arguments: the largest exponent (default 7),
//! repetitions (default 3), and the figures of `bench/chain/isotonic_sklearn.py` (ns an element at
//! 1e4, 1e5, ..., separated by commas). `CLARABEL=1` adds Clarabel at 1e5; `CASES=quadratic` runs
//! the cases of that name only.

use properloss::chain::{
    ChainProblem, ChainSolution, Objective, Resort, ScoreOrder, Workspace, fit_link, isotonic_into,
};
use properloss::link::{InverseLink, PiecewiseLink};
use std::hint::black_box;
use std::time::Instant;

struct Rng(u64);

impl Rng {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (a, b) = (self.unit().max(1e-300), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Best of at least `reps` runs, and of more if they are short, in nanoseconds an element.
fn best(reps: usize, m: usize, mut run: impl FnMut() -> f64) -> f64 {
    let (mut least, mut total) = (f64::INFINITY, 0.0);
    for k in 0..100 {
        let seconds = run();
        least = least.min(seconds);
        total += seconds;
        if k + 1 >= reps && (reps == 1 || total > 0.3) {
            break;
        }
    }
    least * 1e9 / m as f64
}

/// Seconds taken by `f`: of the clock, or for long runs of the processor time of this thread where
/// the system tells it (Linux), so that other programs on the machine disturb the figures less.
fn timed(f: impl FnOnce()) -> f64 {
    let processor = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    let (clock, before) = (Instant::now(), processor());
    f();
    let elapsed = clock.elapsed().as_secs_f64();
    match (before, processor()) {
        // The system counts in steps of a few milliseconds.
        (Some(before), Some(after)) if elapsed > 0.04 => (after - before) * 1e-9,
        _ => elapsed,
    }
}

struct Table {
    sort: f64,
    m: usize,
    only: Option<String>,
}

impl Table {
    fn wants(&self, case: &str) -> bool {
        self.only.as_ref().is_none_or(|only| case.contains(only.as_str()))
    }

    fn line(&self, case: &str, ns: f64, solution: Option<&ChainSolution>) {
        let tail = solution.map_or(String::new(), |s| {
            format!(
                "{:>7} {:>9.1} {:>10.1e} {:>10.1e}{}",
                s.passes,
                s.knot_moves as f64 / self.m as f64,
                s.kkt_residual,
                s.duality_gap,
                if s.used_tree { "  tree" } else { "" }
            )
        });
        println!("{:>9} {:<34} {:>9.1} {:>8.2} {}", self.m, case, ns, ns / self.sort, tail);
    }
}

/// All on one thread, which also is the one whose processor time is read: a chain from 4,096 points
/// on would else be solved by two others.
fn main() {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(all_sizes),
        Err(error) => eprintln!("no thread: {error}"),
    }
}

fn all_sizes() {
    let mut args = std::env::args().skip(1);
    let top: u32 = args.next().and_then(|a| a.parse().ok()).unwrap_or(7);
    let reps: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(3);
    let sklearn: Vec<f64> =
        args.next().map_or(Vec::new(), |a| a.split(',').filter_map(|x| x.parse().ok()).collect());
    println!(
        "{:>9} {:<34} {:>9} {:>8} {:>7} {:>9} {:>10} {:>10}",
        "m", "case", "ns/elem", "/sort", "passes", "moves/m", "kkt", "gap"
    );
    for exponent in 4..=top {
        size(10usize.pow(exponent), reps, sklearn.get(exponent as usize - 4).copied());
    }
}

fn size(m: usize, reps: usize, sklearn: Option<f64>) {
    let mut rng = Rng(m as u64);
    // Scores with a spread of 2, labels with the logistic probability of their score.
    let z: Vec<f64> = (0..m).map(|_| 2.0 * rng.normal()).collect();
    let mut keyed: Vec<(f64, u32)> = Vec::with_capacity(m);
    let sort = best(reps, m, || {
        keyed.clear();
        keyed.extend(z.iter().zip(0u32..).map(|(&z, i)| (z, i)));
        timed(|| keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0)))
    });
    let table = Table { sort, m, only: std::env::var("CASES").ok() };
    table.line("unstable sort of (f64, u32)", sort, None);
    let sorted: Vec<f64> = keyed.iter().map(|k| k.0).collect();
    let labels: Vec<f64> =
        sorted.iter().map(|&z| f64::from(u8::from(rng.unit() < sigmoid(z)))).collect();
    drop(keyed);

    let mut workspace = Workspace::new();
    let quadratic = ChainProblem::new(&sorted, Objective::Quadratic { targets: &labels })
        .with_slopes(0.01, 1.0);
    if table.wants("quadratic") {
        let ns = best(reps, m, || timed(|| run(&mut workspace, &quadratic)));
        table.line("quadratic, labels, n .01, N 1", ns, Some(workspace.solution()));
        if m == 100_000 && std::env::var_os("CLARABEL").is_some() {
            let peer = clarabel_seconds(&sorted, &labels, 0.01, 1.0) * 1e9 / m as f64;
            table.line("  Clarabel, same problem", peer, None);
            println!("{:>9}   Clarabel takes {:.0} times as long", m, peer / ns);
        }
    }
    if table.wants("isotonic") {
        isotonic_cases(&table, &z, &sorted, &labels, &mut rng, reps, sklearn);
    }
    if table.wants("general, smooth, rough, label") {
        // Two iterations of a trainer: the scores moved a little, the link is the one before.
        let moved: Vec<f64> = sorted.iter().map(|&z| z + 0.02 * rng.normal()).collect();
        let mut order = ScoreOrder::new();
        let _ = order.update(&moved);
        let old: Vec<f64> = order.order().iter().map(|&r| sorted[r as usize]).collect();
        let _ = workspace.solve(&quadratic);
        let rough = fit_link(workspace.solution(), &sorted).and_then(PiecewiseLink::new);
        let rough = rough.expect("a link from a solution with n > 0");
        let smooth = smooth_link(m.min(1_000_000));
        let hard: Vec<f64> = labels.iter().map(|&y| rough.u_inverse(y)).collect();
        for (case, link, targets) in [
            ("general, smooth link, warm", &smooth, &old),
            ("general, learned rough link, warm", &rough, &old),
            ("general, label targets, learned", &rough, &hard),
        ] {
            if !table.wants(case) {
                continue;
            }
            if targets == &hard && m > 1_000_000 {
                continue;
            }
            let objective = Objective::Bregman { link, target_scores: targets };
            let problem = ChainProblem::new(order.scores(), objective).with_slopes(0.01, 1.0);
            let ns = best(reps, m, || timed(|| run(&mut workspace, &problem)));
            table.line(case, ns, Some(workspace.solution()));
        }
    }
    if table.wants("re-sort") {
        resort(&table, &sorted, reps);
    }
}

fn run(workspace: &mut Workspace, problem: &ChainProblem) {
    black_box(workspace.solve(problem).expect("a feasible problem"));
}

fn isotonic_cases(
    table: &Table,
    z: &[f64],
    sorted: &[f64],
    labels: &[f64],
    rng: &mut Rng,
    reps: usize,
    sklearn: Option<f64>,
) {
    let m = z.len();
    let mut values = Vec::new();
    let ns = best(reps, m, || timed(|| drop(isotonic_into(labels, None, &mut values))));
    table.line("isotonic, sorted", ns, None);
    let rows: Vec<f64> = z.iter().map(|&z| f64::from(u8::from(rng.unit() < sigmoid(z)))).collect();
    let mut order = ScoreOrder::new();
    let (mut weights, mut means) = (Vec::new(), Vec::new());
    let ns = best(reps, m, || {
        order = ScoreOrder::new();
        timed(|| {
            let _ = order.update(z);
            let _ = order.group_means(None, |r| rows[r], &mut means);
            if order.has_ties() {
                let _ = order.group_weights(None, &mut weights);
                let _ = isotonic_into(&means, Some(&weights), &mut values);
            } else {
                let _ = isotonic_into(&means, None, &mut values);
            }
        })
    });
    table.line("isotonic, unsorted (sort included)", ns, None);
    if let Some(peer) = sklearn {
        table.line("  scikit-learn, same problem", peer, None);
        println!("{:>9}   scikit-learn takes {:.1} times as long", m, peer / ns);
    }
    let problem = ChainProblem::new(sorted, Objective::Quadratic { targets: labels });
    let mut workspace = Workspace::new();
    let ns = best(reps, m, || timed(|| run(&mut workspace, &problem)));
    table.line("isotonic by the quadratic core", ns, Some(workspace.solution()));
}

/// A link of `pieces` pieces through the sigmoid, stretched to reach 0 and 1.
fn smooth_link(pieces: usize) -> PiecewiseLink {
    let x: Vec<f64> = (0..=pieces).map(|k| -12.0 + 24.0 * k as f64 / pieces as f64).collect();
    let a = sigmoid(-12.0);
    let y: Vec<f64> = x.iter().map(|&x| (sigmoid(x) - a) / (1.0 - 2.0 * a)).collect();
    let mut y = y;
    (y[0], y[pieces]) = (0.0, 1.0);
    let knots = properloss::piecewise::PiecewiseAffine::new(x, y).expect("increasing");
    PiecewiseLink::new(knots).expect("from 0 to 1")
}

fn resort(table: &Table, sorted: &[f64], reps: usize) {
    let m = sorted.len();
    let mut rng = Rng(7);
    let noise = 0.5 * (sorted[m / 2 + m / 100] - sorted[m / 2]) / (m / 100) as f64;
    let near: Vec<f64> = sorted.iter().map(|&z| z + noise * rng.normal()).collect();
    let mut how = Resort::Sorted;
    let ns = best(reps, m, || {
        let mut order = ScoreOrder::new();
        let _ = order.update(sorted);
        timed(|| how = order.update(&near).unwrap_or(Resort::Sorted))
    });
    let moves = if let Resort::Inserted(k) = how { k as f64 / m as f64 } else { f64::NAN };
    table.line(&format!("re-sort, {moves:.2} inversions a row"), ns, None);
}

/// The same quadratic problem by Clarabel's interior-point method.
fn clarabel_seconds(z: &[f64], t: &[f64], n: f64, cap: f64) -> f64 {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{
        DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SupportedConeT,
    };
    let m = z.len();
    let p = CscMatrix::identity(m);
    let q: Vec<f64> = t.iter().map(|t| -t).collect();
    // Rows: -(dy) <= -n dz, dy <= N dz, -y_1 <= 0, y_m <= 1.
    let (mut rows, mut cols, mut vals, mut b) = (vec![], vec![], vec![], vec![]);
    for i in 0..m - 1 {
        let dz = z[i + 1] - z[i];
        for (sign, rhs) in [(-1.0, -n * dz), (1.0, cap * dz)] {
            rows.extend([b.len(), b.len()]);
            cols.extend([i + 1, i]);
            vals.extend([sign, -sign]);
            b.push(rhs);
        }
    }
    for (col, sign, rhs) in [(0, -1.0, 0.0), (m - 1, 1.0, 1.0)] {
        rows.push(b.len());
        cols.push(col);
        vals.push(sign);
        b.push(rhs);
    }
    let a = CscMatrix::new_from_triplets(b.len(), m, rows, cols, vals);
    let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(b.len())];
    let settings = DefaultSettings { verbose: false, max_threads: 1, ..DefaultSettings::default() };
    timed(|| match DefaultSolver::new(&p, &q, &a, &b, &cones, settings) {
        Ok(mut solver) => solver.solve(),
        Err(error) => eprintln!("Clarabel refused the problem: {error}"),
    })
}
