//! The path of the default estimator against models that are fitted to the last digit, one by one.

mod congruence;

use congruence::Congruence;
use properloss::proper::{Folds, PathPoint, ProperFit, ProperLoss, Refit};
use properloss::sample::{Matrix, Sample};

/// Dense rows with labels, weights and folds.
struct Case {
    name: &'static str,
    x: Vec<f64>,
    y: Vec<u8>,
    weights: Vec<f64>,
    folds: Vec<u32>,
    columns: usize,
}

impl Case {
    /// `column(j, random)` draws a value, `signal` is the size of the true score, `shift` its mean.
    fn new(
        name: &'static str,
        rows: usize,
        columns: usize,
        signal: f64,
        shift: f64,
        column: impl Fn(usize, &mut Congruence) -> f64,
    ) -> Self {
        let mut random = Congruence(rows as u64 * 31 + columns as u64);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let w: Vec<f64> = (0..columns).map(|_| random.normal()).collect();
        let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
        for _ in 0..rows {
            let row: Vec<f64> = (0..columns).map(|j| column(j, &mut random)).collect();
            let z: f64 = row.iter().zip(&w).map(|(a, b)| a * b).sum::<f64>() * signal / norm;
            y.push(u8::from(random.uniform() < 1.0 / (1.0 + (-z - shift).exp())));
            x.extend(row);
        }
        // Every fold has rows of both classes.
        let mut seen = [0u32; 2];
        let folds = y
            .iter()
            .map(|&y| {
                seen[usize::from(y)] += 1;
                seen[usize::from(y)] % 5
            })
            .collect();
        Self { name, x, y, weights: vec![1.0; rows], folds, columns }
    }

    fn rows(&self) -> usize {
        self.y.len()
    }

    fn fit(&self) -> ProperFit {
        let matrix = Matrix::dense_f64(&self.x, self.rows(), self.columns).unwrap();
        let sample = Sample::new(matrix, &self.y, Some(&self.weights)).unwrap();
        let folds = Folds::Given(self.folds.clone());
        ProperLoss::default().with_folds(folds).with_refit(Refit::None).fit(&sample).unwrap()
    }

    /// Mean and deviation of a column over the rows of model `k`.
    fn moments(&self, j: usize, k: u32) -> (f64, f64) {
        let sees = |i: &usize| self.folds[*i] != k;
        let rows: Vec<usize> = (0..self.rows()).filter(sees).collect();
        let total: f64 = rows.iter().map(|&i| self.weights[i]).sum();
        let value = |i: usize| self.x[i * self.columns + j];
        let mean = rows.iter().map(|&i| self.weights[i] * value(i)).sum::<f64>() / total;
        let square =
            rows.iter().map(|&i| self.weights[i] * (value(i) - mean).powi(2)).sum::<f64>() / total;
        (mean, if square.sqrt() > 1e-9 * mean.abs() { square.sqrt() } else { 0.0 })
    }
}

/// All models of one point `(a, g)`, by Newton's method on standardised columns.
struct Reference<'a> {
    case: &'a Case,
    /// Standardised rows with a 1 at the end.
    x: Vec<Vec<f64>>,
    deviation: Vec<f64>,
    own: Vec<Vec<f64>>,
}

impl<'a> Reference<'a> {
    fn new(case: &'a Case) -> Self {
        let all: Vec<(f64, f64)> = (0..case.columns).map(|j| case.moments(j, 99)).collect();
        let x = (0..case.rows())
            .map(|i| {
                let row = &case.x[i * case.columns..(i + 1) * case.columns];
                let scaled = row
                    .iter()
                    .zip(&all)
                    .map(|(x, (m, s))| if *s > 0.0 { (x - m) / s } else { 0.0 });
                scaled.chain([1.0]).collect()
            })
            .collect();
        let own = (0..6)
            .map(|k| {
                (0..case.columns).map(|j| case.moments(j, if k < 5 { k } else { 99 }).1).collect()
            })
            .collect();
        Self { case, x, deviation: all.iter().map(|m| m.1).collect(), own }
    }

    fn penalty(&self, k: usize, a: f64, g: f64) -> Vec<f64> {
        let kept = |s: &&f64| **s > 0.0;
        let trace: f64 = self.own[k].iter().filter(kept).map(|s| s.powf(2.0 - 2.0 * a)).sum();
        let mut penalty: Vec<f64> = (0..self.case.columns)
            .map(|j| {
                let s = self.deviation[j];
                if s == 0.0 {
                    return 1.0;
                }
                let own = if self.own[k][j] > 0.0 { self.own[k][j] } else { s };
                10f64.powf(-g) * trace * own.powf(2.0 * a) / (s * s)
            })
            .collect();
        penalty.push(0.0);
        penalty
    }

    fn model(&self, k: usize, a: f64, g: f64) -> Vec<f64> {
        let d = self.case.columns + 1;
        let penalty = self.penalty(k, a, g);
        let value = |w: &[f64]| {
            let mut sum = 0.5 * (0..d).map(|j| penalty[j] * w[j] * w[j]).sum::<f64>();
            for i in (0..self.x.len()).filter(|&i| self.case.folds[i] as usize != k) {
                sum += self.case.weights[i] * loss(score(&self.x[i], w), self.case.y[i]);
            }
            sum
        };
        let mut w = vec![0.0; d];
        for _ in 0..100 {
            let (mut h, mut b) = (vec![0.0; d * d], vec![0.0; d]);
            for i in (0..self.x.len()).filter(|&i| self.case.folds[i] as usize != k) {
                let (x, weight) = (&self.x[i], self.case.weights[i]);
                let p = 1.0 / (1.0 + (-score(x, &w)).exp());
                for r in 0..d {
                    b[r] += weight * (p - f64::from(self.case.y[i])) * x[r];
                    for c in 0..=r {
                        h[r * d + c] += weight * p * (1.0 - p) * x[r] * x[c];
                    }
                }
            }
            for r in 0..d {
                b[r] += penalty[r] * w[r];
                h[r * d + r] += penalty[r] + 1e-12;
            }
            let gradient = b.clone();
            solve(&mut h, &mut b, d);
            let decrement: f64 = gradient.iter().zip(&b).map(|(a, b)| a * b).sum();
            let (before, mut step) = (value(&w), 1.0);
            loop {
                let trial: Vec<f64> = w.iter().zip(&b).map(|(w, s)| w - step * s).collect();
                if value(&trial) <= before + 1e-12 * before.abs() || step < 1e-9 {
                    w = trial;
                    break;
                }
                step *= 0.5;
            }
            if decrement < 1e-14 {
                break;
            }
        }
        w
    }

    /// Held-out scores, and the summed loss.
    fn held_out(&self, a: f64, g: f64) -> (Vec<f64>, f64) {
        let models: Vec<Vec<f64>> = (0..5).map(|k| self.model(k, a, g)).collect();
        let z: Vec<f64> = (0..self.x.len())
            .map(|i| score(&self.x[i], &models[self.case.folds[i] as usize]))
            .collect();
        let sum = (0..z.len()).map(|i| self.case.weights[i] * loss(z[i], self.case.y[i])).sum();
        (z, sum)
    }
}

fn score(x: &[f64], w: &[f64]) -> f64 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

fn loss(z: f64, y: u8) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p() - f64::from(y) * z
}

fn solve(a: &mut [f64], b: &mut [f64], d: usize) {
    for i in 0..d {
        for j in 0..=i {
            let s: f64 = (0..j).map(|k| a[i * d + k] * a[j * d + k]).sum();
            a[i * d + j] =
                if i == j { (a[i * d + i] - s).sqrt() } else { (a[i * d + j] - s) / a[j * d + j] };
        }
    }
    for i in 0..d {
        let s: f64 = (0..i).map(|k| a[i * d + k] * b[k]).sum();
        b[i] = (b[i] - s) / a[i * d + i];
    }
    for i in (0..d).rev() {
        let s: f64 = (i + 1..d).map(|k| a[k * d + i] * b[k]).sum();
        b[i] = (b[i] - s) / a[i * d + i];
    }
}

fn cases() -> Vec<Case> {
    let normal = |_: usize, random: &mut Congruence| random.normal();
    let mut cases = vec![
        Case::new("tall", 1500, 6, 2.0, 0.0, normal),
        Case::new("tall, many columns", 2500, 40, 2.0, 0.5, normal),
        Case::new("tall, 3 % positives", 3000, 8, 1.5, -4.5, normal),
        Case::new("tall, nearly separable", 900, 5, 30.0, 0.0, normal),
        Case::new("tall, heavy tails", 1200, 7, 1.0, 0.0, |_, random| {
            random.normal() / random.uniform().max(1e-3)
        }),
        Case::new("tall, scales from 1 to 1e-3", 1200, 9, 1.5, 0.0, |j, random| {
            random.normal() * 10f64.powf(-3.0 * j as f64 / 8.0)
        }),
        Case::new("about as wide as tall", 150, 60, 3.0, 0.0, normal),
        Case::new("wide", 60, 90, 4.0, 0.0, normal),
        Case::new("wide, rare columns", 120, 70, 3.0, 0.0, |j, random| {
            let rate = 0.5 / (1.0 + j as f64);
            if random.uniform() < rate { 1.0 } else { 0.0 }
        }),
        // Hundreds of nats: points are looked at loosely first.
        Case::new("wide, rare columns, much to gain", 900, 120, 6.0, 0.0, |j, random| {
            let rate = 0.5 / (1.0 + 0.1 * j as f64);
            if random.uniform() < rate { 0.5 + random.uniform() } else { 0.0 }
        }),
        Case::new("small", 60, 12, 2.0, 0.0, normal),
    ];
    // Columns with one large value: outside its fold they are nearly constant.
    let mut lonely = Case::new("wide, columns of one row", 100, 70, 3.0, 0.0, normal);
    for j in 10..70 {
        for i in 0..100 {
            lonely.x[i * 70 + j] *= if i == (17 * j) % 100 { 3.0 } else { 0.01 };
        }
    }
    cases.push(lonely);
    let mut weighted = Case::new("weights", 800, 6, 2.0, 0.3, normal);
    for (i, weight) in weighted.weights.iter_mut().enumerate() {
        *weight = [0.3, 2.0, 1.0, 0.0, 5.5][i % 5];
    }
    cases.push(weighted);
    let mut correlated = Case::new("correlated columns", 1000, 12, 2.0, 0.0, normal);
    for row in correlated.x.chunks_exact_mut(12) {
        for j in 1..12 {
            row[j] = 0.95 * row[j - 1] + 0.1 * row[j];
        }
    }
    cases.push(correlated);
    cases
}

#[test]
fn scores_and_averages_are_those_of_converged_models() {
    let (mut worst, mut worst_z) = (0.0f64, 0.0f64);
    for case in cases() {
        let fit = case.fit();
        let reference = Reference::new(&case);
        let total: f64 = case.weights.iter().sum();
        let mut averaged = vec![0.0; case.rows()];
        for point in fit.path.iter().filter(|point| point.weight > 0.0) {
            if point.c == 0.0 {
                let rate = |k: u32| {
                    let sees = |i: &usize| case.folds[*i] != k;
                    let sum = |f: &dyn Fn(usize) -> f64| {
                        (0..case.rows()).filter(sees).map(f).sum::<f64>()
                    };
                    let n = sum(&|i| case.weights[i]);
                    sum(&|i| case.weights[i] * f64::from(case.y[i])) / n
                };
                for i in 0..case.rows() {
                    let p = rate(case.folds[i]);
                    averaged[i] += point.weight * (p / (1.0 - p)).ln();
                }
                continue;
            }
            let trace: f64 = reference
                .deviation
                .iter()
                .filter(|s| **s > 0.0)
                .map(|s| s.powf(2.0 - 2.0 * point.scaling))
                .sum();
            let g = (point.c * trace).log10();
            assert!(
                (2.0 * g - (2.0 * g).round()).abs() < 1e-6,
                "{}: {g} is on the grid",
                case.name
            );
            let (z, loss) = reference.held_out(point.scaling, g);
            let error = point.log_loss * total - loss;
            worst = worst.max(error.abs());
            assert!(error.abs() < 0.05, "{}: a = {}, g = {g}: {error}", case.name, point.scaling);
            for (sum, z) in averaged.iter_mut().zip(z) {
                *sum += point.weight * z;
            }
        }
        for i in (0..case.rows()).filter(|&i| case.weights[i] > 0.0) {
            let error = (fit.held_out_scores[i] - averaged[i]).abs() / (1.0 + averaged[i].abs());
            worst_z = worst_z.max(error);
            assert!(
                error < 0.02,
                "{}: row {i}: {} {}",
                case.name,
                fit.held_out_scores[i],
                averaged[i]
            );
        }
        println!(
            "{:30} {:3} passes, worst so far {worst:.1e} nats, {worst_z:.1e} in scores",
            case.name, fit.passes
        );
    }
}

/// The walk visits few of the 33 points of the path. What it leaves out would have had next to no weight: by the
/// scores of models that are fitted to the last digit at all of them.
#[test]
fn no_point_that_would_have_weight_is_left_out() {
    let mut left_out = 0;
    for case in cases().into_iter().filter(|case| case.name.contains("wide")) {
        let fit = case.fit();
        let reference = Reference::new(&case);
        let total: f64 = case.weights.iter().sum();
        let trace = |a: f64| -> f64 {
            let kept = reference.deviation.iter().filter(|s| **s > 0.0);
            kept.map(|s| s.powf(2.0 - 2.0 * a)).sum()
        };
        let strength = |point: &PathPoint| (point.c * trace(point.scaling)).log10();
        // The price of a scaling is 2 (1 - a)² V + 6 a D; it shows in any point of it.
        let of_scaling = |a: f64| fit.path.iter().find(|point| point.c > 0.0 && point.scaling == a);
        let price = |a: f64| {
            of_scaling(a).map_or(0.0, |point| {
                -point.score - point.log_loss * total - strength(point).powi(2)
            })
        };
        let of_half = of_scaling(0.5);
        let thin = price(1.0) / 6.0;
        let spread = of_half.map_or(0.0, |_| (price(0.5) - 3.0 * thin) / 0.5);
        let mut scores = vec![(true, fit.path[0].score)];
        // Where all columns have one scale, the first scaling stands for all three.
        let scalings: &[f64] = if of_half.is_some() { &[1.0, 0.5, 0.0] } else { &[1.0] };
        for &a in scalings {
            for step in 0..=10 {
                let g = -2.0 + 0.5 * f64::from(step);
                let is_here = |point: &&PathPoint| {
                    point.c > 0.0 && point.scaling == a && (strength(point) - g).abs() < 1e-6
                };
                let price = g * g + 2.0 * (1.0 - a).powi(2) * spread + 6.0 * a * thin;
                let score = -reference.held_out(a, g).1 - price;
                scores.push((fit.path.iter().find(is_here).is_some(), score));
            }
        }
        let best = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
        let weight = |seen: Option<bool>| -> f64 {
            let of = scores.iter().filter(|(is_seen, _)| seen.is_none_or(|seen| seen == *is_seen));
            of.map(|(_, score)| (score - best).exp()).sum()
        };
        let lost = weight(Some(false)) / weight(None);
        left_out += scores.iter().filter(|(is_seen, _)| !is_seen).count();
        // The strongest penalties of a scaling that is hopeless are as good as the model without features, which
        // is there: a few hundredths at most.
        assert!(lost < 0.02, "{}: {lost} of the weight was not looked at", case.name);
    }
    assert!(left_out > 50, "{left_out}: the walk is short");
}

/// What standardising costs shows in the scores: `6 D`, nothing that matters for columns that rest on many rows,
/// and 4.1 nats where every column is one row's.
#[test]
fn standardising_costs_where_columns_rest_on_few_rows() {
    let (rows, columns) = (40, 20);
    let label = |i: usize| u8::from(i % 2 == 1);
    let labels: Vec<u8> = (0..rows).map(label).collect();
    let price_of_standardised = |value: &dyn Fn(usize, usize) -> f64| {
        let x: Vec<f64> = (0..rows * columns).map(|at| value(at / columns, at % columns)).collect();
        let sample =
            Sample::new(Matrix::dense_f64(&x, rows, columns).unwrap(), &labels, None).unwrap();
        let fit = ProperLoss::default().fit(&sample).unwrap();
        let of = |point: &PathPoint| {
            // Standardised columns have 20 deviations of 1.
            let g = (point.c * columns as f64).log10();
            -point.score - point.log_loss * rows as f64 - g * g
        };
        let point = fit.path.iter().find(|point| point.c > 0.0 && point.scaling == 1.0).unwrap();
        of(point)
    };
    // A column with a value in one of m rows: n = (Σ c²)² / Σ c⁴ with c = 1 - 1/m once and -1/m elsewhere.
    let m = rows as f64;
    let square = (m - 1.0) / m;
    let fourth = (1.0 - 1.0 / m).powi(4) + (m - 1.0) / m.powi(4);
    let n = square * square / fourth;
    let alone = price_of_standardised(&|i, j| f64::from(u8::from(i == 2 * j)) * (1.0 + j as f64));
    assert!((alone - 6.0 * (10.0 / (n + 10.0)).powi(4)).abs() < 1e-9, "{alone}");
    assert!((4.0..4.2).contains(&alone));
    // Columns of 1 and -1 rest on all 40 rows.
    let signs =
        |i: usize, j: usize| if (i * (2 * j + 3) / 7).is_multiple_of(2) { 1.0 } else { -1.0 };
    let many = price_of_standardised(&|i, j| signs(i, j) * (1.0 + j as f64));
    assert!((0.0..0.012).contains(&many), "{many}");
}
