//! Mixture weights of greatest likelihood: a convex problem, solved to a certificate.
//!
//! ```text
//! b = argmax Σ_i w_i log q_i(b),   q_i = L_i0 / tau + (1 - 1/tau) Σ_j b_j L_ij,   b >= 0, Σ b = 1
//! ```
//!
//! With `L'_ij = L_i0 / tau + (1 - 1/tau) L_ij`, `q = L' b` is homogeneous, and the constraint on the
//! sum may be replaced by the term `-N Σ b`, `N = Σ w`: at the optimum the sum is 1 by itself (Kim,
//! Carbonetto, Stephens, Anitescu 2020). What is left is Newton's method with a quadratic program on
//! `b >= 0` a step. *Certificate*: with `g_j = Σ_i w_i L'_ij / q_i`, Jensen gives
//!
//! ```text
//! Σ w log(q* / q) <= N log(Σ_i w_i q*_i / (N q_i)) = N log(Σ_j b*_j g_j / N) <= N log(max_j g_j / N)
//! ```
//!
//! so the loop stops when the right-hand side is small: no other weights gain more than that.

/// Nats over all rows that may be left on the table: far below the one nat that a ratio costs.
pub(super) const GAP: f64 = 3e-3;
const MAX_STEPS: usize = 60;

/// Likelihoods of the parts for every row's label, and their sums over the rows outside a fold (or all).
pub(super) trait Likelihoods: Sync {
    /// Number of weights; number 0 is the softmax.
    fn parts(&self) -> usize;
    /// `Σ w`.
    fn weight(&self, without: Option<u32>) -> f64;
    /// `Σ w log q` and `Σ w L_j / q`.
    fn slopes(&self, without: Option<u32>, tau: f64, b: &[f64]) -> (f64, Vec<f64>);
    /// `Σ w L_j L_k / q²`.
    fn bends(&self, without: Option<u32>, tau: f64, b: &[f64]) -> Vec<f64>;
    /// A sharper certificate than `N log(max_j g_j / N)` from `g` at `b`, where there is one.
    fn sharper(&self, _without: Option<u32>, _g: &[f64], _b: &[f64]) -> f64 {
        f64::INFINITY
    }
    /// `q` of the rows in a fold.
    fn probabilities(&self, fold: u32, tau: f64, b: &[f64], out: &mut [f64]);
}

/// A solution with its certificate.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    pub b: Vec<f64>,
    /// No weights have a likelihood that is greater by more than this, in nats.
    pub gap: f64,
}

/// `Σ w log q`, and `g_j = Σ w L'_j / q`.
pub(super) fn gradient(
    of: &dyn Likelihoods,
    without: Option<u32>,
    tau: f64,
    b: &[f64],
) -> (f64, Vec<f64>) {
    let (value, mut g) = of.slopes(without, tau, b);
    let (c, g0) = (1.0 - 1.0 / tau, g[0]);
    g.iter_mut().for_each(|g| *g = g0 / tau + c * *g);
    (value, g)
}

/// `H_jk = Σ w L'_j L'_k / q²`.
fn hessian(of: &dyn Likelihoods, without: Option<u32>, tau: f64, b: &[f64]) -> Vec<f64> {
    let (n, mut h) = (of.parts(), of.bends(without, tau, b));
    let (c, h00, h0) = (1.0 - 1.0 / tau, h[0], h[..n].to_vec());
    for a in 0..n {
        for k in 0..n {
            let cross = (c / tau) * (h0[a] + h0[k]);
            h[a * n + k] = h00 / (tau * tau) + cross + c * c * h[a * n + k];
        }
    }
    h
}

/// The gain in log-likelihood that Newton's quadratic model expects of weights `b` with a free
/// choice of all parts, in nats: on the rows themselves, and cross-fitted over folds `0..folds`.
pub(super) fn expected_gains(of: &dyn Likelihoods, folds: u32, tau: f64, b: &[f64]) -> [f64; 2] {
    let sums = |without| {
        let slopes = gradient(of, without, tau, b).1;
        (of.weight(without), slopes, hessian(of, without, tau, b))
    };
    let all = sums(None);
    let step = |(total, g, h): &(f64, Vec<f64>, Vec<f64>)| -> Vec<f64> {
        let target = nonnegative_step(h, g, *total, b);
        target.iter().zip(b).map(|(x, b)| x - b).collect()
    };
    let crossed = (0..folds).map(|fold| {
        let (total, g, h) = sums(Some(fold));
        let less = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        let inside = (all.0 - total, less(&all.1, &g), less(&all.2, &h));
        gain(&inside, &step(&(total, g, h)))
    });
    [gain(&all, &step(&all)), crossed.sum()]
}

/// `Σ_j c_j (g_j - N) - c' H c / 2`.
fn gain((total, g, h): &(f64, Vec<f64>, Vec<f64>), change: &[f64]) -> f64 {
    let n = change.len();
    let of = |j: usize| {
        let bend: f64 = h[j * n..].iter().zip(change).map(|(h, c)| h * c).sum();
        change[j] * (g[j] - total - 0.5 * bend)
    };
    (0..n).map(of).sum()
}

/// The weights of greatest likelihood on the rows outside a fold (or all), from `start`, up to
/// `allowed` nats.
pub(super) fn maximise(
    of: &dyn Likelihoods,
    without: Option<u32>,
    tau: f64,
    start: &[f64],
    allowed: f64,
) -> Weights {
    let total = of.weight(without);
    let mut b = start.to_vec();
    let (mut value, mut slopes) = gradient(of, without, tau, &b);
    let mut gap = f64::INFINITY;
    for _ in 0..MAX_STEPS {
        let most = slopes.iter().copied().fold(0.0, f64::max);
        gap = (total * (most / total).ln()).max(0.0);
        if gap < allowed {
            break;
        }
        let target = nonnegative_step(&hessian(of, without, tau, &b), &slopes, total, &b);
        let mut step = 1.0;
        let mut moved = false;
        while step > 1e-8 {
            let trial: Vec<f64> =
                b.iter().zip(&target).map(|(b, t)| (b + step * (t - b)).max(0.0)).collect();
            let sum: f64 = trial.iter().sum();
            // Scaled to sum 1, which never lowers the relaxed objective.
            let scaled: Vec<f64> = trial.iter().map(|b| b / sum).collect();
            let (reached, there) = gradient(of, without, tau, &scaled);
            if sum > 0.0 && reached > value {
                (b, value, slopes) = (scaled, reached, there);
                moved = true;
                break;
            }
            step *= 0.5;
        }
        if !moved {
            break;
        }
    }
    // A part with next to no weight can keep the plain one large when no step gains a digit any more.
    let gap = gap.min(of.sharper(without, &slopes, &b));
    debug_assert!(gap < allowed.max(1e-6 * total), "the certificate: {gap} nats over {total} rows");
    Weights { b, gap }
}

/// `argmin_{x >= 0} (x - b)' H (x - b) / 2 - (g - N)'(x - b)`, by active sets from the support of `b`
/// (Lawson and Hanson): exact, and cheap because few parts carry weight.
fn nonnegative_step(h: &[f64], g: &[f64], total: f64, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let trace: f64 = (0..n).map(|j| h[j * n + j]).sum();
    let ridge = 1e-12 * trace / n as f64 + f64::MIN_POSITIVE;
    let product = |x: &[f64], j: usize| -> f64 {
        h[j * n..(j + 1) * n].iter().zip(x).map(|(h, x)| h * x).sum()
    };
    // The minimum of x'Hx/2 - c'x.
    let c: Vec<f64> = (0..n).map(|j| g[j] - total + product(b, j)).collect();
    let mut x = b.to_vec();
    let mut free: Vec<usize> = (0..n).filter(|&j| b[j] > 0.0).collect();
    for _ in 0..4 * n {
        // Down to the minimum over the free parts, dropping those that reach 0 on the way.
        while !free.is_empty() {
            let target = solve_symmetric(h, n, &free, &c, ridge);
            let mut step = 1.0f64;
            for (&j, &t) in free.iter().zip(&target) {
                if t <= 0.0 {
                    step = step.min(x[j] / (x[j] - t).max(f64::MIN_POSITIVE));
                }
            }
            for (&j, &t) in free.iter().zip(&target) {
                x[j] += step * (t - x[j]);
                if t <= 0.0 && x[j] <= 1e-14 {
                    x[j] = 0.0;
                }
            }
            if step >= 1.0 {
                break;
            }
            free.retain(|&j| x[j] > 0.0);
        }
        // The part that would gain most, if any would.
        let gain = |j: usize| {
            let slope = c[j] - product(&x, j);
            if x[j] == 0.0 && slope > 1e-10 * total { slope } else { 0.0 }
        };
        let gains: Vec<f64> = (0..n).map(gain).collect();
        let best = (0..n).fold(0, |best, j| if gains[j] > gains[best] { j } else { best });
        if gains[best] == 0.0 || free.contains(&best) {
            break;
        }
        free.push(best);
    }
    x
}

/// `(H_PP + ridge)^-1 c_P` by Cholesky, of some ten rows and often singular: unlike those of `linalg`, no pivot
/// falls below the ridge.
fn solve_symmetric(h: &[f64], n: usize, free: &[usize], c: &[f64], ridge: f64) -> Vec<f64> {
    let m = free.len();
    let mut l = vec![0.0; m * m];
    for a in 0..m {
        for b in 0..=a {
            let dot: f64 = (0..b).map(|k| l[a * m + k] * l[b * m + k]).sum();
            let s = h[free[a] * n + free[b]] - dot;
            l[a * m + b] = if a == b { (s + ridge).max(ridge).sqrt() } else { s / l[b * m + b] };
        }
    }
    let mut x: Vec<f64> = free.iter().map(|&j| c[j]).collect();
    for a in 0..m {
        let dot: f64 = (0..a).map(|k| l[a * m + k] * x[k]).sum();
        x[a] = (x[a] - dot) / l[a * m + a];
    }
    for a in (0..m).rev() {
        let dot: f64 = (a + 1..m).map(|k| l[k * m + a] * x[k]).sum();
        x[a] = (x[a] - dot) / l[a * m + a];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::dictionary::Dictionary;
    use super::super::packed::Packed;
    use super::*;
    use crate::congruence::Congruence;

    /// Three parts, dense; EM with many steps as the oracle.
    #[test]
    fn weights_agree_with_many_steps_of_em() {
        let mut random = Congruence(12345);
        let mut uniform = || random.uniform();
        let (rows, parts) = (400, 4);
        let value: Vec<f64> = (0..rows * parts).map(|_| uniform().powi(3)).collect();
        let index: Vec<u32> = (0..rows * parts).map(|k| (k % parts) as u32).collect();
        let weights: Vec<f64> = (0..rows).map(|_| 0.5 + uniform()).collect();
        let folds = vec![0; rows];
        let runs = Vec::new();
        let dictionary = Dictionary {
            per_row: parts,
            index,
            value,
            parts,
            runs,
            weights: &weights,
            folds: &folds,
        };
        for tau in [1.5, 10.0] {
            let found = maximise(&dictionary, None, tau, &[1.0, 0.0, 0.0, 0.0], GAP);
            assert!(found.gap < GAP);
            let total: f64 = weights.iter().sum();
            let mut b = vec![0.25; 4];
            for _ in 0..20_000 {
                let mut next = vec![0.0; 4];
                for i in 0..rows {
                    let v = &dictionary.value[4 * i..4 * i + 4];
                    let mixed: f64 = v.iter().zip(&b).map(|(v, b)| v * b).sum();
                    let q = v[0] / tau + (1.0 - 1.0 / tau) * mixed;
                    for j in 0..4 {
                        let part = v[0] / tau + (1.0 - 1.0 / tau) * v[j];
                        next[j] += weights[i] * b[j] * part / q / total;
                    }
                }
                b = next;
            }
            let value = |b: &[f64]| dictionary.slopes(None, tau, b).0;
            let (ours, em) = (value(&found.b), value(&b));
            assert!(ours > em - GAP, "{ours} {em}");
            assert!((found.b.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn derivatives_of_ramps_are_those_of_the_likelihood() {
        // One softmax and a run of three ramps; a row sees two knots and the last.
        let dictionary = Dictionary {
            per_row: 4,
            index: vec![0, 1, 2, 3, 0, 2, 3, 3],
            value: vec![0.3, -0.1, -0.2, 0.5, 0.2, 0.4, 0.3, 0.0],
            parts: 4,
            runs: vec![(1, 4)],
            weights: &[1.0, 2.0],
            folds: &[0, 1],
        };
        let (b, tau) = ([0.4, 0.1, 0.2, 0.3], 3.0);
        let (_, g) = gradient(&dictionary, None, tau, &b);
        let h = hessian(&dictionary, None, tau, &b);
        // L' adds (1/tau) L_0 times the sum of b, which is 1: differentiate along b_j - b_0.
        let value = |b: &[f64]| dictionary.slopes(None, tau, b).0;
        for j in 1..4 {
            let at = |t: f64| {
                let mut b = b;
                b[j] += t;
                b[0] -= t;
                b
            };
            let t = 1e-5;
            let slope = (value(&at(t)) - value(&at(-t))) / (2.0 * t);
            assert!((slope - (g[j] - g[0])).abs() < 1e-8);
            let bend = (value(&at(t)) - 2.0 * value(&at(0.0)) + value(&at(-t))) / (t * t);
            let quadratic = h[j * 4 + j] - 2.0 * h[j] + h[0];
            assert!((bend + quadratic).abs() < 1e-4 * (1.0 + quadratic), "{bend} {quadratic}");
        }
    }

    /// Blocks of eight and sparse rows are two layouts of one likelihood.
    #[test]
    fn packed_rows_give_the_sums_of_sparse_ones() {
        let (rows, classes) = (101, 3);
        let value: Vec<f64> =
            (0..7 * rows).map(|i| 0.02 + ((i * 37) % 97) as f64 / 100.0).collect();
        let labels: Vec<usize> = (0..rows).map(|i| (i * i) % classes).collect();
        let folds: Vec<u32> = (0..rows).map(|i| (i % 4) as u32).collect();
        let weights: Vec<f64> = (0..rows).map(|i| (i % 5) as f64 / 2.0).collect();
        for uniform in [false, true] {
            let (floors, height) = if uniform { (1, 1.0 / 3.0) } else { (classes, 1.0) };
            let floor = |i: usize| if uniform { 0 } else { labels[i] };
            let packed = Packed::new(&value, (floor, floors, height), &folds, &weights);
            let number = |k: usize| {
                let (i, j) = (k / 8, k % 8);
                if j < 7 { (j as u32, value[7 * i + j]) } else { ((7 + floor(i)) as u32, height) }
            };
            let (index, value) = (0..8 * rows).map(number).unzip();
            let (weights, folds) = (&weights[..], &folds[..]);
            let (per_row, parts, runs) = (8, 7 + floors, Vec::new());
            let sparse = Dictionary { per_row, index, value, parts, runs, weights, folds };
            let b: Vec<f64> = (0..parts).map(|j| (1 + j % 3) as f64 / (2 * parts) as f64).collect();
            for without in [None, Some(2)] {
                assert_eq!(packed.weight(without), sparse.weight(without));
                let (a, left) = packed.slopes(without, 2.5, &b);
                let (c, right) = sparse.slopes(without, 2.5, &b);
                assert!((a - c).abs() < 1e-11, "{a} {c}");
                let (bent, other) =
                    (packed.bends(without, 2.5, &b), sparse.bends(without, 2.5, &b));
                for (x, y) in left.iter().chain(&bent).zip(right.iter().chain(&other)) {
                    assert!((x - y).abs() < 1e-11 * y.abs().max(1.0), "{x} {y}");
                }
            }
            let (mut p, mut q) = (vec![0.0; rows], vec![0.0; rows]);
            packed.probabilities(1, 2.5, &b, &mut p);
            sparse.probabilities(1, 2.5, &b, &mut q);
            for i in (0..rows).filter(|&i| weights[i] > 0.0) {
                assert!((p[i] - q[i]).abs() < 1e-14, "{i}");
            }
        }
    }
}
