//! The default estimator: against independent fits, under changes that must not matter, and on the
//! inputs that break estimators.

mod congruence;

use std::sync::Arc;

use congruence::Congruence;
use properloss::Error;
use properloss::link::{InverseLink, Sigmoid};
use properloss::metrics::{auc, log_loss};
use properloss::proper::{Folds, ProperFit, ProperLoss, Refit};
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};
use properloss::train::{CanonicalLossTrainer, Silent};

/// Rows from a linear congruence, labels from `P = link(x.w)`.
struct Data {
    x: Vec<f64>,
    y: Vec<u8>,
    rows: usize,
    columns: usize,
}

fn data(rows: usize, columns: usize, seed: u64, link: impl Fn(f64) -> f64) -> Data {
    let mut random = Congruence(seed.wrapping_mul(0x9E37_79B9).wrapping_add(77));
    let w: Vec<f64> =
        (0..columns).map(|_| random.normal() * 1.5 / (columns as f64).sqrt()).collect();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let row: Vec<f64> = (0..columns).map(|_| random.normal()).collect();
        let z: f64 = row.iter().zip(&w).map(|(a, b)| a * b).sum();
        y.push(u8::from(random.uniform() < link(z)));
        x.extend(row);
    }
    Data { x, y, rows, columns }
}

impl Data {
    fn sample(&self) -> Sample<'_> {
        self.weighted(None)
    }

    fn weighted<'a>(&'a self, weights: Option<&'a [f64]>) -> Sample<'a> {
        let matrix = Matrix::dense_f64(&self.x, self.rows, self.columns).unwrap();
        Sample::new(matrix, &self.y, weights).unwrap()
    }

    fn matrix(&self) -> Matrix<'_> {
        Matrix::dense_f64(&self.x, self.rows, self.columns).unwrap()
    }
}

fn sigma(z: f64) -> f64 {
    Sigmoid.u(z)
}

fn fit(data: &Data) -> ProperFit {
    ProperLoss::default().fit(&data.sample()).unwrap()
}

/// What every result has to satisfy.
fn check(fit: &ProperFit, data: &Data) {
    let p = fit.probabilities(&data.matrix()).unwrap();
    assert!(p.iter().all(|&p| p > 0.0 && p < 1.0), "probabilities strictly inside (0, 1)");
    let z = fit.model.scores(data.matrix()).unwrap();
    // Strictly increasing links keep the ranking; scores of equal rank are the only ties.
    let by_score = auc(&z, &data.y, None).unwrap();
    let by_probability = auc(&p, &data.y, None).unwrap();
    assert!((by_score - by_probability).abs() < 1e-12, "{by_score} {by_probability}");
    let weights: f64 = fit.path.iter().map(|point| point.weight).sum();
    assert!((weights - 1.0).abs() < 1e-12);
    let weights: f64 = fit.links.iter().map(|point| point.weight).sum();
    assert!((weights - 1.0).abs() < 1e-12);
    assert!(fit.model.coefficients().iter().all(|w| w.is_finite()));
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} {b}");
    }
}

/// One strength, no link, no refit: L2 logistic regression, which another minimiser also solves.
#[test]
fn one_strength_is_logistic_regression() {
    let data = data(400, 7, 1, sigma);
    let options =
        ProperLoss::default().with_grid(vec![1.0]).with_smoothness(vec![]).with_refit(Refit::None);
    let fit = options.fit(&data.sample()).unwrap();
    let c = fit.path[1].c;
    assert!((c - 10.0 / 7.0).abs() < 1e-12);
    let mut other = CanonicalLossTrainer::new(Arc::new(Sigmoid));
    other.l2 = 1.0 / (c * 400.0);
    let other = other.fit(&data.sample(), &mut Silent).unwrap();
    // The path stops when a step gains less than 1e-3 nats over all rows; the null model has
    // weight exp(-100) or less.
    let p = fit.probabilities(&data.matrix()).unwrap();
    let q = other.model.probabilities(data.matrix()).unwrap();
    close(&p, &q, 3e-3);
    let excess = log_loss(&p, &data.y, None).unwrap() - log_loss(&q, &data.y, None).unwrap();
    assert!(excess.abs() < 1e-4, "{excess}");
}

/// Held-out scores of every fold against a fit on the other folds: eleven models, so more than one
/// group of lanes.
#[test]
fn held_out_scores_are_those_of_the_other_folds() {
    let data = data(330, 5, 2, sigma);
    let folds: Vec<u32> = (0..330).map(|i| i % 10).collect();
    let options = ProperLoss::default()
        .with_grid(vec![0.5])
        .with_smoothness(vec![])
        .with_refit(Refit::None)
        .with_folds(Folds::Given(folds.clone()));
    let fit = options.fit(&data.sample()).unwrap();
    for k in 0..10 {
        let weights: Vec<f64> = folds.iter().map(|&f| f64::from(u8::from(f != k))).collect();
        let one = options.clone().with_folds(Folds::default());
        let other = one.fit(&data.weighted(Some(&weights))).unwrap();
        let z = other.model.scores(data.matrix()).unwrap();
        for i in (0..330).filter(|&i| folds[i] == k) {
            // Standardisation on nine tenths of the rows moves the penalty a little.
            assert!((z[i] - fit.held_out_scores[i]).abs() < 0.05, "{k} {i}");
        }
    }
}

#[test]
fn a_wrong_link_is_found_and_a_right_one_left_alone() {
    let noisy = |z: f64| 0.25 + 0.7 * sigma(4.0 * z);
    let train = data(4000, 6, 3, noisy);
    let learned = fit(&train);
    check(&learned, &train);
    let [plain, linked, final_loss] = learned.held_out_log_loss;
    assert!(linked < plain - 0.003, "{plain} {linked}");
    assert!(final_loss < plain - 0.003);
    assert!(learned.slope_ratio > 1.2);
    let train = data(4000, 6, 3, sigma);
    let learned = fit(&train);
    check(&learned, &train);
    assert!(learned.slope_ratio < 1.3, "{}", learned.slope_ratio);
    let [plain, _, final_loss] = learned.held_out_log_loss;
    assert!((final_loss - plain).abs() < 3e-4);
}

#[test]
fn log_loss_is_at_most_that_of_the_sigmoid_plus_log_tau() {
    for seed in 0..8 {
        let data = data(150, 3, seed, |z| if z > 0.3 { 0.9 } else { 0.1 });
        let fit = fit(&data);
        // The slopes are bounded up to the rounding of a division.
        let bound = fit.slope_ratio.ln() * (1.0 + 1e-12) + 1e-12;
        assert!(fit.slope_ratio <= 10.0 * (1.0 + 1e-9));
        for k in -300..=300 {
            let z = f64::from(k) * 0.1;
            assert!(-fit.link.u(z).ln() <= -sigma(z).ln() + bound, "positive at {z}");
            assert!(-fit.link.one_minus_u(z).ln() <= -sigma(-z).ln() + bound, "negative at {z}");
        }
    }
}

#[test]
fn storage_does_not_matter() {
    let data = data(300, 6, 4, sigma);
    let narrow: Vec<f32> = data.x.iter().map(|&x| x as f32).collect();
    let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
    let offsets: Vec<usize> = (0..=300).map(|i| i * 6).collect();
    let indices: Vec<u32> = (0..1800).map(|i| i % 6).collect();
    let matrices = [
        Matrix::dense_f64(&wide, 300, 6).unwrap(),
        Matrix::dense_f32(&narrow, 300, 6).unwrap(),
        Matrix::csr(Offsets::Usize(&offsets), Indices::U32(&indices), Values::F32(&narrow), 6)
            .unwrap(),
    ];
    let fits = matrices.map(|matrix| {
        let sample = Sample::new(matrix, &data.y, None).unwrap();
        ProperLoss::default().fit(&sample).unwrap()
    });
    // The same operations on the same numbers, in another order for sparse rows.
    assert_eq!(fits[0].model.coefficients(), fits[1].model.coefficients());
    close(fits[0].model.coefficients(), fits[2].model.coefficients(), 1e-9);
    close(&fits[0].held_out_scores, &fits[2].held_out_scores, 1e-9);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let data = data(3000, 9, 5, |z| 0.1 + 0.8 * sigma(2.0 * z));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&data))
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.model.coefficients(), three.model.coefficients());
    assert_eq!(one.held_out_scores, three.held_out_scores);
    assert_eq!(one.link.v(), three.link.v());
}

#[test]
fn a_shift_and_a_scale_of_the_features_do_not_matter() {
    let data = data(250, 4, 6, sigma);
    let moved: Vec<f64> =
        data.x.iter().enumerate().map(|(k, x)| x * [2.0, 0.5, 1024.0, 1.0][k % 4] + 3.0).collect();
    let moved = Data { x: moved, y: data.y.clone(), ..data };
    // Columns of one scale weigh units; standardised columns do not.
    let options = ProperLoss::default().with_scalings(vec![1.0]);
    let p = options.fit(&data.sample()).unwrap().probabilities(&data.matrix()).unwrap();
    let q = options.fit(&moved.sample()).unwrap().probabilities(&moved.matrix()).unwrap();
    // Sums of 250 rows with other roundings; the stopping rules do not flip on this data.
    close(&p, &q, 1e-8);
}

#[test]
fn rows_of_weight_zero_are_removed() {
    let data = data(240, 4, 7, sigma);
    let weights: Vec<f64> = (0..240).map(|i| if i % 4 == 1 { 0.0 } else { 1.0 }).collect();
    let kept: Vec<usize> = (0..240).filter(|i| i % 4 != 1).collect();
    let less = Data {
        x: kept.iter().flat_map(|&i| data.x[i * 4..i * 4 + 4].to_vec()).collect(),
        y: kept.iter().map(|&i| data.y[i]).collect(),
        rows: kept.len(),
        columns: 4,
    };
    let a = ProperLoss::default().fit(&data.weighted(Some(&weights))).unwrap();
    let b = fit(&less);
    close(a.model.coefficients(), b.model.coefficients(), 1e-9);
    assert!((a.slope_ratio - b.slope_ratio).abs() < 1e-6);
}

#[test]
fn weight_two_is_a_row_twice() {
    weights_are_copies(200, 3);
}

/// The same with more columns than rows, where the path is walked by L-BFGS.
#[test]
fn weight_two_is_a_row_twice_on_wide_data() {
    weights_are_copies(45, 30);
}

fn weights_are_copies(rows: usize, columns: usize) {
    let data = data(rows, columns, 8, sigma);
    let folds: Vec<u32> = (0..rows).map(|i| i as u32 % 5).collect();
    let weights: Vec<f64> = (0..rows).map(|i| (1 + i % 3) as f64).collect();
    let copies: Vec<usize> = (0..rows).flat_map(|i| vec![i; 1 + i % 3]).collect();
    let more = Data {
        x: copies.iter().flat_map(|&i| data.x[i * columns..(i + 1) * columns].to_vec()).collect(),
        y: copies.iter().map(|&i| data.y[i]).collect(),
        rows: copies.len(),
        columns,
    };
    let repeated = copies.iter().map(|&i| folds[i]).collect();
    let given = |folds| ProperLoss::default().with_folds(Folds::Given(folds));
    let a = given(folds).fit(&data.weighted(Some(&weights))).unwrap();
    let b = given(repeated).fit(&more.sample()).unwrap();
    close(a.model.coefficients(), b.model.coefficients(), 1e-8);
    let (p, q) =
        (a.probabilities(&data.matrix()).unwrap(), b.probabilities(&data.matrix()).unwrap());
    close(&p, &q, 1e-8);
}

#[test]
fn class_weights_multiply_row_weights() {
    let data = data(150, 3, 9, |z| sigma(z - 2.0));
    let weights: Vec<f64> = data.y.iter().map(|&y| if y == 1 { 4.0 } else { 1.0 }).collect();
    let options = ProperLoss::default().with_class_weight([1.0, 4.0]);
    let a = options.fit(&data.sample()).unwrap();
    let b = ProperLoss::default().fit(&data.weighted(Some(&weights))).unwrap();
    assert_eq!(a.model.coefficients(), b.model.coefficients());
}

#[test]
fn groups_stay_together_and_seeds_shuffle() {
    let data = data(120, 2, 10, sigma);
    let groups: Vec<u32> = (0..120).map(|i| i / 4).collect();
    let folds = Folds::Grouped { groups: groups.clone(), count: 5, seed: 0 };
    let fit = ProperLoss::default().with_folds(folds).fit(&data.sample()).unwrap();
    for i in 1..120 {
        if groups[i] == groups[i - 1] {
            assert_eq!(fit.folds[i], fit.folds[i - 1]);
        }
    }
    let seeded = |seed| {
        let folds = Folds::Stratified { count: 5, seed };
        ProperLoss::default().with_folds(folds).fit(&data.sample()).unwrap().folds
    };
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
    // Every fold has its share of both classes, within one row.
    let positives = |k: u32| (0..120).filter(|&i| seeded(1)[i] == k && data.y[i] == 1).count();
    let counts: Vec<usize> = (0..5).map(positives).collect();
    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
}

#[test]
fn twenty_rows() {
    for seed in 0..10 {
        let data = data(20, 3, 20 + seed, sigma);
        let positives: usize = data.y.iter().map(|&y| usize::from(y)).sum();
        assert!((2..=18).contains(&positives), "another seed is needed");
        check(&fit(&data), &data);
    }
}

#[test]
fn one_feature() {
    let data = data(100, 1, 30, sigma);
    let fit = fit(&data);
    check(&fit, &data);
    assert!(fit.held_out_log_loss[2] < 0.69);
}

#[test]
fn perfectly_separable() {
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) - 29.5).collect();
    let y: Vec<u8> = (0..60).map(|i| u8::from(i >= 30)).collect();
    let data = Data { x, y, rows: 60, columns: 1 };
    let fit = fit(&data);
    check(&fit, &data);
    let p = fit.probabilities(&data.matrix()).unwrap();
    assert!(log_loss(&p, &data.y, None).unwrap() < 0.1);
    assert!(p[0] < 0.02 && p[59] > 0.98);
}

#[test]
fn one_percent_positives() {
    let data = data(2000, 4, 31, |z| sigma(z - 5.5));
    let rate = data.y.iter().map(|&y| f64::from(y)).sum::<f64>() / 2000.0;
    assert!(rate < 0.02 && rate > 0.004, "{rate}");
    let fit = fit(&data);
    check(&fit, &data);
    let p = fit.probabilities(&data.matrix()).unwrap();
    let mean = p.iter().sum::<f64>() / 2000.0;
    assert!((mean - rate).abs() < 0.3 * rate, "{mean} {rate}");
    let null = -(rate * rate.ln() + (1.0 - rate) * (1.0 - rate).ln());
    assert!(fit.held_out_log_loss[2] < null);
}

#[test]
fn duplicated_rows_constant_and_collinear_columns() {
    let base = data(50, 2, 32, sigma);
    // Every row four times; a constant column; a column twice; a sum of columns.
    let x = (0..200)
        .flat_map(|i| {
            let (a, b) = (base.x[(i % 50) * 2], base.x[(i % 50) * 2 + 1]);
            [a, b, 7.0, a, a + b]
        })
        .collect();
    let data = Data { x, y: (0..200).map(|i| base.y[i % 50]).collect(), rows: 200, columns: 5 };
    let fit = fit(&data);
    check(&fit, &data);
    let w = fit.model.coefficients();
    assert_eq!(w[2], 0.0, "a constant column has no weight");
    assert!((w[0] - w[3]).abs() < 1e-3 * w[0].abs().max(0.1), "equal columns share: {w:?}");
}

#[test]
fn only_constant_columns_give_the_base_rate() {
    let y: Vec<u8> = (0..40).map(|i| u8::from(i % 4 == 0)).collect();
    let data = Data { x: vec![3.0; 80], y, rows: 40, columns: 2 };
    let fit = fit(&data);
    let p = fit.probabilities(&data.matrix()).unwrap();
    assert!(p.iter().all(|p| (p - 0.25).abs() < 0.05), "{}", p[0]);
}

#[test]
fn pure_noise_is_nearly_left_alone() {
    let data = data(1000, 10, 33, |_| 0.5);
    let fit = fit(&data);
    let p = fit.probabilities(&data.matrix()).unwrap();
    let spread = p.iter().map(|p| (p - 0.5).powi(2)).sum::<f64>() / 1000.0;
    assert!(spread.sqrt() < 0.05, "{spread}");
    assert!(fit.path[0].weight > 0.3, "the null model: {}", fit.path[0].weight);
}

#[test]
fn many_columns_take_the_diagonal_metric() {
    // More columns than a dense metric is made for, nearly all of them noise and sparse.
    let (rows, columns) = (120, 1100);
    let mut random = Congruence(5);
    let mut x = vec![0.0; rows * columns];
    let y: Vec<u8> = (0..rows).map(|i| (i % 2) as u8).collect();
    for i in 0..rows {
        for _ in 0..20 {
            x[i * columns + (random.uniform() * columns as f64) as usize] = random.normal();
        }
        x[i * columns] = f64::from(y[i]) * 2.0 + random.normal();
    }
    let data = Data { x, y, rows, columns };
    let fit = fit(&data);
    check(&fit, &data);
    assert!(fit.held_out_log_loss[2] < 0.69, "{:?}", fit.held_out_log_loss);
}

#[test]
fn errors_say_what_to_do() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let sample = |y| Sample::new(Matrix::dense_f64(&x, 4, 1).unwrap(), y, None).unwrap();
    let fitted = ProperLoss::default().fit(&sample(&[0, 0, 0, 1]));
    assert_eq!(fitted.unwrap_err(), Error::ClassTooSmall { label: 1, rows: 1, minimum: 2 });
    let given = |folds: &[u32]| ProperLoss::default().with_folds(Folds::Given(folds.to_vec()));
    let y = &[0, 0, 1, 1];
    let error = given(&[0, 1, 0, 0]).fit(&sample(y)).unwrap_err();
    assert_eq!(error, Error::ClassInOneFold { label: 1, fold: 0 });
    let error = given(&[0, 2, 0, 2]).fit(&sample(y)).unwrap_err();
    assert_eq!(error, Error::EmptyFold { fold: 1 });
    let error = given(&[0, 1]).fit(&sample(y)).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { what: "folds", .. }));
    let error = given(&[0; 4]).fit(&sample(y)).unwrap_err();
    assert!(matches!(error, Error::OutOfDomain { what: "the number of folds", .. }));
    let options = ProperLoss::default().with_smoothness(vec![0.5, 2.0]);
    assert!(matches!(
        options.fit(&sample(y)),
        Err(Error::ElementOutOfDomain { what: "smoothness", .. })
    ));
    let options = ProperLoss::default().with_class_weight([1.0, 0.0]);
    assert!(matches!(
        options.fit(&sample(y)),
        Err(Error::OutOfDomain { what: "class_weight of 1", .. })
    ));
}
