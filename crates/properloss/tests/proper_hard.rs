//! Small and hard samples: nothing blows up, and cross-validation never does much worse than the
//! base rate.

mod congruence;

use congruence::Congruence;
use properloss::proper::{Folds, ProperFit, ProperLoss};
use properloss::sample::{Matrix, Sample};

fn fit(x: &[f64], y: &[u8], folds: Folds) -> ProperFit {
    let matrix = Matrix::dense_f64(x, y.len(), x.len() / y.len()).unwrap();
    let sample = Sample::new(matrix, y, None).unwrap();
    let fit = ProperLoss::default().with_folds(folds).fit(&sample).unwrap();
    let p = fit.probabilities(&matrix).unwrap();
    assert!(p.iter().all(|&p| p > 0.0 && p < 1.0), "probabilities inside (0, 1)");
    assert!(fit.model.coefficients().iter().all(|w| w.is_finite()));
    assert!(fit.held_out_scores.iter().all(|z| z.is_finite()));
    let weights: f64 = fit.path.iter().map(|point| point.weight).sum();
    assert!((weights - 1.0).abs() < 1e-12);
    fit
}

/// At most two nats above the base rate, over all held-out rows: the averaged path and the result.
fn check(name: &str, fit: &ProperFit) {
    let rows = fit.held_out_scores.len() as f64;
    assert_eq!(fit.path[0].c, 0.0, "the first point is the base rate");
    let base = fit.path[0].log_loss;
    for loss in [fit.held_out_log_loss[0], fit.held_out_log_loss[2]] {
        let excess = (loss - base) * rows;
        assert!(excess < 2.0, "{name}: {excess} nats above the base rate");
    }
}

fn labels(rows: usize, positives: usize, random: &mut Congruence) -> Vec<u8> {
    let mut y: Vec<u8> = (0..rows).map(|i| u8::from(i < positives)).collect();
    for last in (1..rows).rev() {
        y.swap(last, (random.uniform() * (last + 1) as f64) as usize);
    }
    y
}

#[test]
fn few_rows_of_noise() {
    for seed in 0..12 {
        let mut random = Congruence(seed * 977 + 5);
        for (rows, columns) in [(20, 2), (20, 30), (50, 5), (100, 10), (100, 200)] {
            let y = labels(rows, rows / 3, &mut random);
            let x: Vec<f64> = (0..rows * columns).map(|_| random.normal()).collect();
            check(&format!("{rows} x {columns}, seed {seed}"), &fit(&x, &y, Folds::default()));
        }
    }
}

/// Normal columns, one of which is larger for positives.
fn informative(
    y: &[u8],
    columns: usize,
    (at, by): (usize, f64),
    random: &mut Congruence,
) -> Vec<f64> {
    let shift = |k: usize| if k % columns == at { by * f64::from(y[k / columns]) } else { 0.0 };
    (0..y.len() * columns).map(|k| random.normal() + shift(k)).collect()
}

#[test]
fn five_positives() {
    for seed in 0..8 {
        let mut random = Congruence(seed * 31 + 7);
        for columns in [3, 20] {
            let y = labels(150, 5, &mut random);
            let x = informative(&y, columns, (0, 1.0), &mut random);
            check(&format!("{columns} columns, seed {seed}"), &fit(&x, &y, Folds::default()));
        }
    }
}

#[test]
fn one_informative_column_among_a_thousand() {
    for seed in 0..3 {
        let mut random = Congruence(seed * 57 + 11);
        let y = labels(100, 50, &mut random);
        let x = informative(&y, 1000, (417, 3.0), &mut random);
        check(&format!("seed {seed}"), &fit(&x, &y, Folds::default()));
    }
}

#[test]
fn nearly_separable() {
    for seed in 0..4 {
        let mut random = Congruence(seed * 13 + 3);
        for rows in [30, 100, 1000] {
            let y = labels(rows, rows / 2, &mut random);
            let mut x = Vec::new();
            for (i, &y) in y.iter().enumerate() {
                // One row in a hundred is on the wrong side.
                let side = if i % 100 == 50 { 1.0 - f64::from(y) } else { f64::from(y) };
                x.extend([20.0 * side + random.normal(), random.normal(), random.normal()]);
            }
            let fit = fit(&x, &y, Folds::default());
            check(&format!("{rows} rows, seed {seed}"), &fit);
            assert!(fit.held_out_log_loss[2] < 0.35, "{:?}", fit.held_out_log_loss);
        }
    }
}

/// Copies of a row on both sides of a fold tell its label; groups keep them together.
#[test]
fn duplicated_rows_in_groups() {
    for seed in 0..5 {
        let mut random = Congruence(seed * 71 + 9);
        let (rows, columns, copies) = (40, 30, 4);
        let y = labels(rows, 20, &mut random);
        let x: Vec<f64> = (0..rows * columns).map(|_| random.normal()).collect();
        let (mut many_x, mut many_y, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..rows {
            for _ in 0..copies {
                many_x.extend_from_slice(&x[i * columns..(i + 1) * columns]);
                many_y.push(y[i]);
                groups.push(i as u32);
            }
        }
        let grouped = fit(&many_x, &many_y, Folds::Grouped { groups, count: 5, seed: 0 });
        // Each row counts four times here: so does its noise.
        let base = grouped.path[0].log_loss;
        let excess = (grouped.held_out_log_loss[0] - base) * (rows * copies) as f64;
        assert!(excess < 2.0, "seed {seed}: {excess}");
    }
}

#[test]
fn heavy_tails_and_a_column_of_1e12() {
    for seed in 0..5 {
        let mut random = Congruence(seed * 101 + 1);
        for rows in [60, 400, 3000] {
            let y = labels(rows, rows / 2, &mut random);
            let mut x = Vec::new();
            for &y in &y {
                x.extend([
                    random.cauchy() * 10.0,
                    random.cauchy().powi(3),
                    random.normal() + f64::from(y),
                ]);
                x.push(1e12 * (1.0 + random.normal()));
                x.push(1e12 + random.normal());
            }
            check(&format!("{rows} rows, seed {seed}"), &fit(&x, &y, Folds::default()));
            // One value of 1e12 in a column of ordinary numbers.
            let columns = 5;
            for (i, row) in x.chunks_exact_mut(columns).enumerate() {
                (row[3], row[4]) = (random.normal(), if i == 7 { 1e12 } else { random.normal() });
            }
            check(&format!("{rows} rows, one value, seed {seed}"), &fit(&x, &y, Folds::default()));
        }
    }
}

/// A column that is lit in one fold only: constant in what the fold's model sees.
#[test]
fn a_column_that_is_constant_outside_a_fold() {
    let mut random = Congruence(8);
    let (rows, columns) = (200, 4);
    let y = labels(rows, 100, &mut random);
    let folds: Vec<u32> = (0..rows as u32).map(|i| i % 5).collect();
    let mut x: Vec<f64> = (0..rows * columns).map(|_| random.normal()).collect();
    for i in 0..rows {
        x[i * columns + 3] = if folds[i] == 2 { random.normal() * 100.0 } else { 7.0 };
    }
    check("constant outside a fold", &fit(&x, &y, Folds::Given(folds)));
}

/// Whole fits to hard data of every kind: ties, separable and shuffled labels, Cauchy columns, scales from
/// 1e-12 to 1e12, weights from 1e-8 to 1e8, few rows, few positives, more columns than rows. 10,000 under
/// `PROPERLOSS_PROFILE=fuzz`.
#[test]
fn stress_fits_keep_the_promises() {
    let fits = match std::env::var("PROPERLOSS_PROFILE").as_deref() {
        Ok("fuzz" | "full") => 10_000,
        _ => 150,
    };
    // The fit of seed 309 once did not end: two models that were stuck took turns in trying again.
    for seed in (0..fits).chain([309]) {
        let mut random = Congruence(seed * 2_654_435_761 + 17);
        let rows = 12 + (random.uniform().powi(2) * 120.0) as usize;
        let columns = 1 + (random.uniform().powi(2) * 40.0) as usize;
        let positives = (2.0 + random.uniform() * (rows as f64 - 4.0)) as usize;
        let (kind, informed) = (seed % 6, random.uniform() < 0.5);
        let mut y = labels(rows, positives, &mut random);
        let scales: Vec<f64> =
            (0..columns).map(|_| 10f64.powf(24.0 * random.uniform() - 12.0)).collect();
        let mut x = Vec::with_capacity(rows * columns);
        for &y in &y {
            for (j, scale) in scales.iter().enumerate() {
                let signal = if informed && j == 0 { 2.0 * f64::from(y) } else { 0.0 };
                x.push(match kind {
                    0 => signal + random.normal(),
                    1 => (signal + 2.0 * random.uniform()).round(),
                    2 => random.cauchy() + signal,
                    3 => scale * (random.normal() + signal),
                    4 => 50.0 * signal + random.normal(),
                    _ => f64::from(u8::from(random.uniform() < 0.05)) + signal,
                });
            }
        }
        if informed && random.uniform() < 0.2 {
            // Labels the wrong way round.
            y.iter_mut().for_each(|y| *y = 1 - *y);
        }
        let weighted = seed % 5 == 4;
        let weights: Option<Vec<f64>> = weighted
            .then(|| (0..rows).map(|_| 10f64.powf(16.0 * random.uniform() - 8.0)).collect());
        let matrix = Matrix::dense_f64(&x, rows, columns).unwrap();
        let sample = Sample::new(matrix, &y, weights.as_deref()).unwrap();
        let fit = ProperLoss::default().fit(&sample).unwrap();
        let name = format!("seed {seed}: {rows} x {columns}, {positives} positives, kind {kind}");
        assert!(fit.slope_ratio < 10.0, "{name}");
        assert!(fit.model.coefficients().iter().all(|w| w.is_finite()), "{name}");
        let p = fit.probabilities(&matrix).unwrap();
        let z = fit.model.scores(matrix).unwrap();
        for (&p, &z) in p.iter().zip(&z) {
            assert!(p > 0.0 && p < 1.0, "{name}");
            // Slopes relative to the sigmoid: the log-loss is at most the sigmoid's and log tau.
            let s = 1.0 / (1.0 + (-z).exp());
            let room = (1.0 + 1e-9) * fit.slope_ratio;
            assert!(p * room >= s || p == f64::MIN_POSITIVE, "{name}: {p} {s}");
            assert!((1.0 - p) * room >= 1.0 - s - 1e-15 || 1.0 - p < 1e-15, "{name}: {p} {s}");
        }
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by(|&a, &b| z[a].total_cmp(&z[b]));
        assert!(order.windows(2).all(|w| p[w[0]] <= p[w[1]]), "{name}: the order is kept");
        if !weighted {
            check(&name, &fit);
        }
    }
}
