//! The default estimator of several classes: against independent fits, under changes that must not
//! matter, and on the inputs that break estimators.

mod congruence;

use congruence::Congruence;
use properloss::Error;
use properloss::link::vector::VectorLink;
use properloss::multiclass::{
    ClassSample, MulticlassCalibrator, MulticlassFit, MulticlassProperLoss, NEVER,
};
use properloss::proper::{Folds, ProperLoss};
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};

struct Data {
    x: Vec<f64>,
    y: Vec<u32>,
    rows: usize,
    columns: usize,
    classes: usize,
}

/// Scores `2 W x / sqrt(d)`; labels from the softmax, or with probability `floor` from anything.
fn data(rows: usize, columns: usize, classes: usize, seed: u64, floor: f64) -> Data {
    let mut random = Congruence(seed.wrapping_mul(0x9E37_79B9).wrapping_add(77));
    let scale = 2.0 / (columns as f64).sqrt();
    let w: Vec<f64> = (0..columns * classes).map(|_| scale * random.normal()).collect();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        // Numbers that single precision holds exactly.
        let row: Vec<f64> = (0..columns).map(|_| (random.normal() * 64.0).round() / 64.0).collect();
        let noisy = |k: usize, random: &mut Congruence| {
            let z: f64 = row.iter().zip(&w[k * columns..]).map(|(x, w)| x * w).sum();
            z - (-random.uniform().ln()).ln()
        };
        let scores: Vec<f64> = (0..classes).map(|k| noisy(k, &mut random)).collect();
        let best = (0..classes).fold(0, |b, k| if scores[k] > scores[b] { k } else { b });
        let any = (random.uniform() * classes as f64) as usize;
        y.push(if random.uniform() < floor { any } else { best } as u32);
        x.extend(row);
    }
    Data { x, y, rows, columns, classes }
}

impl Data {
    fn matrix(&self) -> Matrix<'_> {
        Matrix::dense_f64(&self.x, self.rows, self.columns).unwrap()
    }

    fn fit(&self, options: &MulticlassProperLoss) -> MulticlassFit {
        self.weighted(options, None)
    }

    fn weighted(&self, options: &MulticlassProperLoss, weights: Option<&[f64]>) -> MulticlassFit {
        let sample = ClassSample::new(self.matrix(), &self.y, self.classes, weights).unwrap();
        options.fit(&sample).unwrap()
    }

    /// Fold `i % 5` for every row: stays with the row under permutations.
    fn given(&self) -> Folds {
        Folds::Given((0..self.rows as u32).map(|i| i % 5).collect())
    }
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "at {i}: {a} and {b}");
    }
}

fn softmax(z: &[f64]) -> Vec<f64> {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = z.iter().map(|z| (z - top).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

/// `Σ log-loss + Σ P s_j² w_kj² / 2` on raw columns, and its gradient (weights, then intercepts).
fn objective(data: &Data, penalty: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 {
    let (d, k) = (data.columns, data.classes);
    gradient.fill(0.0);
    let mut value = 0.0;
    for (x, &y) in data.x.chunks(d).zip(&data.y) {
        let z: Vec<f64> = (0..k)
            .map(|c| w[k * d + c] + x.iter().zip(&w[c * d..]).map(|(x, w)| x * w).sum::<f64>())
            .collect();
        let p = softmax(&z);
        value -= p[y as usize].ln();
        for c in 0..k {
            let r = p[c] - f64::from(u8::from(c == y as usize));
            gradient[k * d + c] += r;
            (0..d).for_each(|j| gradient[c * d + j] += r * x[j]);
        }
    }
    for c in 0..k {
        for j in 0..d {
            value += 0.5 * penalty[j] * w[c * d + j] * w[c * d + j];
            gradient[c * d + j] += penalty[j] * w[c * d + j];
        }
    }
    value
}

#[test]
fn a_strength_of_the_path_is_the_penalised_minimum() {
    let data = data(300, 3, 4, 1, 0.0);
    for g in [-0.5, 1.0] {
        let options = MulticlassProperLoss::default()
            .with_grid(vec![g])
            .with_scale_exponents(vec![1.0])
            .with_share_bounds(vec![1.0])
            .without_refit()
            .preserving_order();
        let fit = data.fit(&options);
        assert!(fit.path[1].weight > 0.999, "the null model is out of the question");
        // P = 2 d / 10^g on standardised columns, so P s_j² on raw ones.
        let penalty: Vec<f64> = (0..3)
            .map(|j| {
                let column = || data.x.iter().skip(j).step_by(3);
                let mean = column().sum::<f64>() / 300.0;
                let variance = column().map(|x| (x - mean).powi(2)).sum::<f64>() / 300.0;
                2.0 * 3.0 / 10f64.powf(g) * variance
            })
            .collect();
        // The oracle: plain gradient descent, long enough.
        let mut w = vec![0.0; 16];
        let mut gradient = vec![0.0; 16];
        for _ in 0..20_000 {
            objective(&data, &penalty, &w, &mut gradient);
            w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= 2e-3 * g);
        }
        let best = objective(&data, &penalty, &w, &mut gradient);
        let ours: Vec<f64> = fit.coefficients.iter().chain(&fit.intercepts).copied().collect();
        let reached = objective(&data, &penalty, &ours, &mut gradient);
        // The descent stops within 3e-3 nats of the minimum.
        assert!(reached < best + 6e-3, "{reached} {best}");
        close(&ours, &w, 0.03);
        let z = fit.scores(&data.matrix()).unwrap();
        let p = fit.probabilities(&data.matrix()).unwrap();
        close(&p[..4], &softmax(&z[..4]), 1e-15);
    }
}

#[test]
fn two_classes_walk_the_binary_path() {
    let data = data(600, 4, 2, 2, 0.0);
    let options =
        MulticlassProperLoss::default().with_folds(data.given()).with_scale_exponents(vec![1.0]);
    let fit = data.fit(&options);
    let labels: Vec<u8> = data.y.iter().map(|&y| y as u8).collect();
    let sample = Sample::new(data.matrix(), &labels, None).unwrap();
    let binary = ProperLoss::default().with_folds(data.given()).fit(&sample).unwrap();
    let mut compared = 0;
    let best = binary.path.iter().map(|point| point.score).fold(f64::NEG_INFINITY, f64::max);
    for point in &fit.path {
        // The binary strength on w_1 - w_0 is twice that on (w_0, w_1).
        let same = binary.path.iter().find(|p| (p.c - 2.0 * point.c).abs() <= 1e-9 * p.c);
        // Points far below the best are not brought to their minima.
        if let Some(same) = same.filter(|same| same.score > best - 7.0) {
            // Deviations per fold or of all rows: a few percent of the penalty.
            assert!((same.log_loss - point.log_loss).abs() < 1e-3, "{same:?} {point:?}");
            compared += 1;
        }
    }
    assert!(compared >= 4, "{compared}");
}

#[test]
fn bound_holds_and_rows_sum_to_one() {
    for (seed, floor) in [(3, 0.0), (4, 0.3)] {
        let data = data(700, 5, 4, seed, floor);
        let fit = data.fit(&MulticlassProperLoss::default());
        let new = self::data(400, 5, 4, seed + 100, 0.0);
        let p = fit.probabilities(&new.matrix()).unwrap();
        let z = fit.scores(&new.matrix()).unwrap();
        for (p, z) in p.chunks(4).zip(z.chunks(4)) {
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            for (p, q) in p.iter().zip(softmax(z)) {
                assert!(*p >= q / fit.tau() * (1.0 - 1e-13));
            }
        }
        // One nat of price a ratio, three of them for the refit: never far behind the softmax.
        assert!(fit.held_out_cost() * 700.0 < (5f64).ln() + 0.1);
    }
}

#[test]
fn a_floor_in_the_labels_is_found() {
    let data = data(3000, 20, 3, 5, 0.3);
    let fit = data.fit(&MulticlassProperLoss::default());
    assert!(fit.link_gap < 3e-3);
    assert!(fit.held_out_cost() < -0.01, "{}", fit.held_out_cost());
    // The truth keeps .1 for every class.
    for &c in fit.link.floor() {
        assert!((0.05..0.13).contains(&c), "{:?}", fit.link.floor());
    }
    assert!(fit.refit_share > 0.9, "{} {:?}", fit.refit_share, fit.held_out_log_loss);
    // A quarter of the labels are noise: the weights of the softmax are too small, those of the refit
    // not.
    assert!(fit.tau() > 1.2 && fit.tau() < 10.0);
}

#[test]
fn order_is_kept_on_request() {
    let data = data(1500, 3, 4, 6, 0.25);
    let options = MulticlassProperLoss::default().preserving_order();
    let fit = data.fit(&options);
    assert!(fit.link.keeps_order() && fit.tau() > 1.1);
    let z = fit.scores(&data.matrix()).unwrap();
    let p = fit.probabilities(&data.matrix()).unwrap();
    for (p, z) in p.chunks(4).zip(z.chunks(4)) {
        for a in 0..4 {
            for b in 0..4 {
                assert!(z[a] <= z[b] || p[a] > p[b]);
            }
        }
    }
}

#[test]
fn storage_does_not_matter() {
    let mut data = data(210, 4, 3, 7, 0.1);
    // A third of the values are zeros, so that sparse rows leave something out.
    data.x.iter_mut().step_by(3).for_each(|x| *x = 0.0);
    let options = MulticlassProperLoss::default();
    let double = data.fit(&options);
    let single: Vec<f32> = data.x.iter().map(|&x| x as f32).collect();
    let matrix = Matrix::dense_f32(&single, data.rows, data.columns).unwrap();
    let other = options.fit(&ClassSample::new(matrix, &data.y, 3, None).unwrap()).unwrap();
    assert_eq!(double.coefficients, other.coefficients);
    assert_eq!(double.link, other.link);
    let (mut offsets, mut indices, mut values) = (vec![0usize], Vec::new(), Vec::new());
    for row in data.x.chunks(data.columns) {
        for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            indices.push(j as u32);
            values.push(x);
        }
        offsets.push(values.len());
    }
    let matrix = Matrix::csr(
        Offsets::Usize(&offsets),
        Indices::U32(&indices),
        Values::F64(&values),
        data.columns,
    )
    .unwrap();
    let sparse = options.fit(&ClassSample::new(matrix, &data.y, 3, None).unwrap()).unwrap();
    // Other roundings on the way to the same point.
    close(&double.coefficients, &sparse.coefficients, 1e-6);
    let (p, q) = (double.probabilities(&matrix).unwrap(), sparse.probabilities(&matrix).unwrap());
    close(&p, &q, 1e-6);
}

#[test]
fn threads_do_not_matter() {
    let data = data(1300, 6, 3, 8, 0.2);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| data.fit(&MulticlassProperLoss::default()))
    };
    let (one, four) = (fit(1), fit(4));
    assert_eq!(one.coefficients, four.coefficients);
    assert_eq!(one.link, four.link);
    assert_eq!(one.held_out_scores, four.held_out_scores);
}

#[test]
fn weights_count_rows() {
    let data = data(240, 3, 3, 9, 0.1);
    let folds = |rows: &[usize]| Folds::Given(rows.iter().map(|i| (i % 5) as u32).collect());
    let pick = |rows: &[usize]| Data {
        x: rows.iter().flat_map(|&i| data.x[3 * i..3 * i + 3].to_vec()).collect(),
        y: rows.iter().map(|&i| data.y[i]).collect(),
        rows: rows.len(),
        ..data
    };
    // Row i counts i % 3 times: 0, 1 or 2.
    let repeated: Vec<usize> = (0..240).flat_map(|i| vec![i; i % 3]).collect();
    let weights: Vec<f64> = (0..240).map(|i| (i % 3) as f64).collect();
    let all: Vec<usize> = (0..240).collect();
    let options = |rows: &[usize]| MulticlassProperLoss::default().with_folds(folds(rows));
    let a = data.weighted(&options(&all), Some(&weights));
    let b = pick(&repeated).fit(&options(&repeated));
    // The descents stop within a few thousandths of a nat of the same minimum.
    close(&a.held_out_log_loss, &b.held_out_log_loss, 1e-4);
    close(&a.coefficients, &b.coefficients, 0.01);
    // Class weights are row weights.
    let by_class = options(&all).with_class_weight(vec![1.0, 2.0, 0.5]);
    let weights: Vec<f64> = data.y.iter().map(|&y| [1.0, 2.0, 0.5][y as usize]).collect();
    let (a, b) = (data.fit(&by_class), data.weighted(&options(&all), Some(&weights)));
    assert_eq!(a.coefficients, b.coefficients);
}

#[test]
fn classes_may_be_numbered_in_any_order() {
    let mut data = data(400, 3, 3, 10, 0.2);
    let options = MulticlassProperLoss::default().with_folds(data.given());
    let a = data.fit(&options);
    let p = a.probabilities(&data.matrix()).unwrap();
    data.y.iter_mut().for_each(|y| *y = (*y + 1) % 3);
    let b = data.fit(&options);
    let q = b.probabilities(&data.matrix()).unwrap();
    let rotated: Vec<f64> = p.chunks(3).flat_map(|p| [p[2], p[0], p[1]]).collect();
    close(&rotated, &q, 1e-3);
    close(&a.held_out_log_loss, &b.held_out_log_loss, 1e-4);
}

#[test]
fn wide_and_constant_columns() {
    let mut data = data(60, 80, 3, 11, 0.0);
    for row in data.x.chunks_mut(80) {
        row[7] = 5.0;
    }
    let fit = data.fit(&MulticlassProperLoss::default());
    assert!(fit.coefficients.iter().skip(7).step_by(80).all(|&w| w == 0.0));
    assert!(fit.held_out_log_loss.iter().all(|l| l.is_finite() && *l < 1.2));
}

#[test]
fn pure_noise_keeps_the_frequencies() {
    let data = data(2000, 8, 3, 12, 1.0);
    let fit = data.fit(&MulticlassProperLoss::default());
    let p = fit.probabilities(&data.matrix()).unwrap();
    // The intercepts alone, or nearly.
    assert!(p.iter().all(|p| (p - 1.0 / 3.0).abs() < 0.12));
}

#[test]
fn a_rare_class_is_kept_and_held_out_less_often() {
    let mut data = data(200, 2, 3, 13, 0.0);
    // Class 3 has one row, class 4 has two.
    data.classes = 5;
    (data.y[10], data.y[20], data.y[30]) = (3, 4, 4);
    let fit = data.fit(&MulticlassProperLoss::default());
    assert_eq!(fit.folds[10], NEVER);
    assert!(fit.folds[20] != NEVER && fit.folds[30] != NEVER && fit.folds[20] != fit.folds[30]);
    assert_eq!(fit.folds.iter().filter(|&&f| f == NEVER).count(), 1);
    assert_eq!(fit.classes(), 5);
    let p = fit.probabilities(&data.matrix()).unwrap();
    assert!(p.iter().all(|&p| p > 0.0) && p[5 * 10 + 3] < 0.5);
    assert!(fit.held_out_log_loss[3].is_finite());
}

#[test]
fn a_class_missing_outside_its_fold_is_not_scored() {
    let data = data(200, 2, 3, 14, 0.0);
    // All rows of class 2 are in fold 0.
    let folds = (0..200).map(|i| if data.y[i] == 2 { 0 } else { i as u32 % 4 }).collect();
    let fit = data.fit(&MulticlassProperLoss::default().with_folds(Folds::Given(folds)));
    assert!(fit.held_out_log_loss.iter().all(|l| l.is_finite()));
    let groups = Folds::Grouped { groups: data.y.clone(), count: 3, seed: 0 };
    let sample = ClassSample::new(data.matrix(), &data.y, 3, None).unwrap();
    let error = MulticlassProperLoss::default().with_folds(groups).fit(&sample);
    assert_eq!(error.unwrap_err(), Error::NothingToHoldOut { classes: 3 });
}

#[test]
fn groups_stay_together() {
    let data = data(300, 2, 3, 15, 0.0);
    let groups: Vec<u32> = (0..300).map(|i| i / 10).collect();
    let folds = Folds::Grouped { groups, count: 4, seed: 3 };
    let fit = data.fit(&MulticlassProperLoss::default().with_folds(folds));
    for group in fit.folds.chunks(10) {
        assert!(group.iter().all(|f| f == &group[0]));
    }
}

#[test]
fn bad_samples_are_refused_with_a_reason() {
    let data = data(30, 2, 3, 16, 0.0);
    let sample = |y: &[u32], classes, weights: Option<&[f64]>| {
        ClassSample::new(data.matrix(), y, classes, weights).map(|_| ()).unwrap_err()
    };
    let all: Vec<u32> = (0..30).collect();
    let every = ClassSample::new(data.matrix(), &all, 30, None).unwrap();
    assert_eq!(
        MulticlassProperLoss::default().fit(&every).unwrap_err(),
        Error::NothingToHoldOut { classes: 30 }
    );
    let weights: Vec<f64> = data.y.iter().map(|&y| f64::from(y != 1)).collect();
    assert_eq!(
        sample(&data.y, 3, Some(&weights)),
        Error::ClassWithoutRows { class: 1, classes: 3 }
    );
    assert_eq!(sample(&data.y, 4, None), Error::ClassWithoutRows { class: 3, classes: 4 });
    assert!(matches!(sample(&data.y, 2, None), Error::ElementOutOfDomain { what: "labels", .. }));
    assert!(matches!(sample(&data.y[1..], 3, None), Error::LengthMismatch { .. }));
    let negative = vec![-1.0; 30];
    assert!(matches!(sample(&data.y, 3, Some(&negative)), Error::ElementOutOfDomain { .. }));
    let good = ClassSample::new(data.matrix(), &data.y, 3, None).unwrap();
    let bad = |options: MulticlassProperLoss| options.fit(&good).unwrap_err();
    let default = MulticlassProperLoss::default;
    assert!(matches!(
        bad(default().with_class_weight(vec![1.0, 2.0])),
        Error::LengthMismatch { .. }
    ));
    assert!(matches!(
        bad(default().with_class_weight(vec![1.0, 2.0, 0.0])),
        Error::ElementOutOfDomain { index: 2, .. }
    ));
    assert!(matches!(bad(default().with_grid(vec![1.0, 0.0])), Error::NotIncreasing { .. }));
    let fit = MulticlassProperLoss::default().fit(&good).unwrap();
    let narrow = Matrix::dense_f64(&[1.0], 1, 1).unwrap();
    assert!(matches!(fit.scores(&narrow), Err(Error::LengthMismatch { .. })));
    let infinite = Matrix::dense_f64(&[1.0, f64::NAN], 1, 2).unwrap();
    assert!(matches!(fit.scores(&infinite), Err(Error::NotFiniteCell { row: 0, column: 1, .. })));
}

#[test]
fn the_link_of_a_fit_is_canonical() {
    let data = data(2500, 2, 3, 17, 0.3);
    let fit = data.fit(&MulticlassProperLoss::default());
    let mut jacobian = [0.0; 9];
    fit.link.jacobian(&[0.4, -0.3, 1.0], &mut jacobian);
    for a in 0..3 {
        for b in 0..3 {
            assert!((jacobian[3 * a + b] - jacobian[3 * b + a]).abs() < 1e-15);
        }
    }
}

#[test]
fn the_calibrator_finds_a_temperature_and_a_floor() {
    // Scores three times too large, a fifth of the labels anything.
    let mut random = Congruence(99);
    let (rows, k) = (4000, 3);
    let (mut z, mut y) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let truth: Vec<f64> = (0..k).map(|_| 2.0 * random.normal()).collect();
        let noisy: Vec<f64> = truth.iter().map(|z| z - (-random.uniform().ln()).ln()).collect();
        let best = (0..k).fold(0, |b, c| if noisy[c] > noisy[b] { c } else { b });
        let any = (random.uniform() * k as f64) as usize;
        y.push(if random.uniform() < 0.2 { any } else { best } as u32);
        z.extend(truth.iter().map(|z| 3.0 * z));
    }
    let fit = MulticlassCalibrator::default().fit(&z, &y, k, None).unwrap();
    let p = fit.probabilities(&z).unwrap();
    // The truth: .8 softmax(z / 3) + .2 / 3, to a few standard errors of 4,000 rows.
    let mut worst = 0.0f64;
    for (p, z) in p.chunks(k).zip(z.chunks(k)) {
        let truth = softmax(&z.iter().map(|z| z / 3.0).collect::<Vec<_>>());
        for (p, q) in p.iter().zip(truth) {
            worst = worst.max((p - (0.8 * q + 0.2 / 3.0)).abs());
        }
    }
    assert!(worst < 0.06, "{worst}");
    assert!(fit.held_out_log_loss[1] < fit.held_out_log_loss[0] - 0.3);
    // Probabilities in: the same up to the margin of their logarithm.
    let probabilities: Vec<f64> = z.chunks(k).flat_map(softmax).collect();
    let options = MulticlassCalibrator::default().of_probabilities();
    let other = options.fit(&probabilities, &y, k, None).unwrap();
    assert!((other.held_out_log_loss[1] - fit.held_out_log_loss[1]).abs() < 0.02);
    assert!(other.probabilities(&[1.0, 0.0, 0.0]).unwrap().iter().all(|p| *p > 1e-6));
}

#[test]
fn the_calibrator_leaves_good_scores_alone_and_names_bad_ones() {
    let data = data(3000, 3, 3, 21, 0.0);
    let fit = data.fit(&MulticlassProperLoss::default());
    let z = &fit.held_out_scores;
    let calibration = MulticlassCalibrator::default().fit(z, &data.y, 3, None).unwrap();
    assert!((calibration.temperature - 1.0).abs() < 0.1);
    assert!(calibration.held_out_log_loss[1] < calibration.held_out_log_loss[0] + 1e-3);
    let mut bad = z.clone();
    bad[7] = f64::INFINITY;
    assert!(matches!(
        MulticlassCalibrator::default().fit(&bad, &data.y, 3, None),
        Err(Error::NotFiniteCell { row: 2, column: 1, .. })
    ));
    // Scores are no probabilities, and rounding is no mistake.
    let mut p: Vec<f64> = z.chunks(3).flat_map(softmax).collect();
    p[3] = 1.0 + 1e-12;
    let options = MulticlassCalibrator::default().of_probabilities();
    assert!(options.fit(&p, &data.y, 3, None).is_ok());
    p[4] = -0.01;
    assert!(matches!(
        options.fit(&p, &data.y, 3, None),
        Err(Error::ElementOutOfDomain { what: "probabilities", index: 4, .. })
    ));
    let order = MulticlassCalibrator::default().preserving_order();
    assert!(order.fit(z, &data.y, 3, None).unwrap().link.keeps_order());
}

#[test]
fn a_calibrator_that_can_hold_out_nothing_keeps_the_scores() {
    let scores = [1.0, 0.0, -1.0, 0.0, 2.0, 0.5, -1.0, 0.0, 3.0];
    let fit = MulticlassCalibrator::default().fit(&scores, &[0, 1, 2], 3, None).unwrap();
    assert_eq!((fit.temperature, fit.link.tau()), (1.0, 1.0));
    assert!(fit.held_out_log_loss.iter().all(|l| l.is_nan()));
    let mut p = [0.0; 3];
    fit.link.probabilities_of_rows(&scores[..3], &mut p);
    let total: f64 = scores[..3].iter().map(|z| z.exp()).sum();
    for (p, z) in p.iter().zip(&scores) {
        assert!((p - z.exp() / total).abs() < 1e-15, "{p}");
    }
}

#[test]
fn a_calibrator_that_deals_by_weight_takes_weight_two_for_the_row_twice() {
    let data = data(400, 3, 3, 5, 0.3);
    let z: Vec<f64> = (0..400).flat_map(|i| data.x[3 * i..3 * i + 3].to_vec()).collect();
    let weights: Vec<f64> = (0..400).map(|i| f64::from(i % 3)).collect();
    // Every row as often as it weighs, from the last to the first.
    let copies: Vec<usize> = (0..400).rev().flat_map(|i| vec![i; i % 3]).collect();
    let rows: Vec<f64> = copies.iter().flat_map(|&i| z[3 * i..3 * i + 3].to_vec()).collect();
    let labels: Vec<u32> = copies.iter().map(|&i| data.y[i]).collect();
    let p = |options: &MulticlassCalibrator| {
        let weighed = options.fit(&z, &data.y, 3, Some(&weights)).unwrap();
        let repeated = options.fit(&rows, &labels, 3, None).unwrap();
        let (a, b) = (weighed.probabilities(&z).unwrap(), repeated.probabilities(&z).unwrap());
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    // Sums of 400 terms in another order; without the rule it is another deal.
    assert!(p(&MulticlassCalibrator::default().dealing_by_weight()) < 1e-9);
    assert!(p(&MulticlassCalibrator::default()) > 1e-5);
}
