//! Synthetic data and splits: statistics, exact formulas, and streams that never change.

mod common;

use common::{rows, strings};
use properloss_data::random::Random;
use properloss_data::split::{folds, train_test};
use properloss_data::synthetic::{Means, SingleIndex, Synthetic, gaussians};
use properloss_data::{Error, ReadOptions, Source, read, write_csv};
use proptest::prelude::*;

/// The share of (positive, negative) pairs in the right order.
fn auc(scores: &[f64], labels: &[u8]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let positives = labels.iter().filter(|&&y| y == 1).count() as f64;
    let ranks: f64 = order
        .iter()
        .zip(1..)
        .filter(|(i, _)| labels[**i] == 1)
        .map(|(_, rank)| f64::from(rank))
        .sum();
    (ranks - positives * (positives + 1.0) / 2.0) / (positives * (labels.len() as f64 - positives))
}

/// |observed - expected| within 5 standard deviations of a mean of `m` values of deviation `sd`.
fn near(observed: f64, expected: f64, sd: f64, m: usize) {
    let margin = 5.0 * sd / (m as f64).sqrt();
    assert!((observed - expected).abs() < margin, "{observed} is not {expected} +- {margin}");
}

/// These bits are a promise: data named by a seed are the same in every version. They were computed
/// by an independent program.
#[test]
fn the_streams_never_change() {
    let mut random = Random::new(42);
    let bits: Vec<u64> = (0..3).map(|_| random.bits()).collect();
    assert_eq!(bits, [0xd076_4d4f_4476_689f, 0x519e_4174_576f_3791, 0xfbe0_7cfb_0c24_ed8c]);
    let mut random = Random::new(42);
    let gaussian: Vec<u64> = (0..3).map(|_| random.gaussian().to_bits()).collect();
    assert_eq!(gaussian, GAUSSIAN_BITS);
    let data = gaussians(3, Means::Stated, 1).unwrap();
    let values: Vec<u64> =
        rows(&data.dataset.features).concat().iter().map(|x| x.to_bits()).collect();
    assert_eq!(values, ROW_BITS);
    assert_eq!(data.dataset.labels, LABELS);
    let mut order: Vec<usize> = (0..8).collect();
    Random::stream(5, 1).shuffle(&mut order);
    assert_eq!(order, ORDER);
    assert_eq!(train_test(&[0u8, 1, 0, 1, 0, 1, 0, 1], 0.25, 9).unwrap().test, TEST_ROWS);
}

const GAUSSIAN_BITS: [u64; 3] =
    [4_607_014_870_392_941_435, 13_826_642_810_105_263_476, 4_608_715_109_237_900_042];
const ROW_BITS: [u64; 6] = [
    4_608_447_395_726_693_556,
    4_608_551_108_580_676_078,
    4_573_389_008_548_827_136,
    13_833_285_254_887_288_671,
    13_833_716_498_568_801_204,
    13_828_021_634_240_372_354,
];
const LABELS: [u8; 3] = [1, 0, 0];
const ORDER: [usize; 8] = [0, 5, 2, 4, 6, 3, 7, 1];
const TEST_ROWS: [usize; 2] = [4, 5];

#[test]
fn uniform_and_gaussian_moments() {
    let m = 200_000;
    let mut random = Random::new(7);
    let uniform: Vec<f64> = (0..m).map(|_| random.uniform()).collect();
    assert!(uniform.iter().all(|u| (0.0..1.0).contains(u)));
    near(uniform.iter().sum::<f64>() / m as f64, 0.5, (1.0f64 / 12.0).sqrt(), m);
    let normal: Vec<f64> = (0..m).map(|_| random.gaussian()).collect();
    let moment = |k: i32| normal.iter().map(|x| x.powi(k)).sum::<f64>() / m as f64;
    // E x^2k = (2k - 1)!!, and the deviations of x, x^2, x^3, x^4 follow from it.
    near(moment(1), 0.0, 1.0, m);
    near(moment(2), 1.0, 2f64.sqrt(), m);
    near(moment(3), 0.0, 15f64.sqrt(), m);
    near(moment(4), 3.0, 96f64.sqrt(), m);
    // Phi(1) = 0.841344746...
    let below = normal.iter().filter(|x| **x < 1.0).count() as f64 / m as f64;
    near(below, 0.841_344_746_068_543, (0.8413f64 * 0.1587).sqrt(), m);
    let mut counts = [0usize; 7];
    (0..m).for_each(|_| counts[random.below(7)] += 1);
    for count in counts {
        near(count as f64 / m as f64, 1.0 / 7.0, (6.0f64 / 49.0).sqrt(), m);
    }
}

#[test]
fn the_gaussians_have_the_auc_and_accuracy_they_should() {
    let m = 40_000;
    // Phi(2), Phi(sqrt 2), Phi(1), from tables.
    let expected = [(0.977_249_868, 0.921_350_396), (0.921_350_396, 0.841_344_746)];
    for (means, (expected_auc, expected_accuracy)) in
        [Means::Stated, Means::UnitNorm].into_iter().zip(expected)
    {
        assert!((means.bayes_auc() - expected_auc).abs() < 1e-9);
        assert!((means.bayes_accuracy() - expected_accuracy).abs() < 1e-9);
        let Synthetic { dataset, bayes, clean, weights, intercept } =
            gaussians(m, means, 3).unwrap();
        assert_eq!(clean, bayes);
        // The deviation of an AUC is at most that of a mean of min(m0, m1) values in [0, 1].
        near(auc(&bayes, &dataset.labels), expected_auc, 0.5, m / 2);
        let right = bayes.iter().zip(&dataset.labels).filter(|(p, y)| (**p > 0.5) == (**y == 1));
        near(right.count() as f64 / m as f64, expected_accuracy, 0.37, m);
        near(dataset.positives() as f64 / m as f64, 0.5, 0.5, m);
        // The returned weights explain the returned probabilities.
        for (row, p) in rows(&dataset.features).iter().zip(&bayes).take(100) {
            let z = intercept + row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>();
            assert!((p.ln() - (1.0 - p).ln() - z).abs() < 1e-9 * (1.0 + z.exp().max((-z).exp())));
        }
    }
}

#[test]
fn single_index_labels_follow_the_returned_probabilities() {
    let m = 60_000;
    let model = SingleIndex {
        floor: 0.1,
        ceiling: 0.9,
        flip_negative: 0.05,
        flip_positive: 0.2,
        intercept: 0.3,
        ..SingleIndex::new(5, 2.0, 11).unwrap()
    };
    let norm = model.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    assert!((norm - 2.0).abs() < 1e-12);
    let u = |z: f64| 1.0 - (-z.exp()).exp(); // complementary log-log
    let data = model.generate("cloglog", u, m, 4).unwrap();
    for (i, row) in rows(&data.dataset.features).iter().enumerate() {
        let z = 0.3 + row.iter().zip(&model.weights).map(|(x, w)| x * w).sum::<f64>();
        let clean = 0.1 + 0.8 * u(z);
        let bayes = 0.8 * clean + 0.05 * (1.0 - clean);
        // A score of five terms: a few roundings, and u is 1-Lipschitz or nearly.
        assert!((data.clean[i] - clean).abs() < 1e-13 && (data.bayes[i] - bayes).abs() < 1e-13);
    }
    // In each tenth of the probabilities the labels have that mean.
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| data.bayes[a].total_cmp(&data.bayes[b]));
    for part in order.chunks(m / 10) {
        let mean =
            |f: &dyn Fn(usize) -> f64| part.iter().map(|&i| f(i)).sum::<f64>() / part.len() as f64;
        near(
            mean(&|i| f64::from(data.dataset.labels[i])),
            mean(&|i| data.bayes[i]),
            0.5,
            part.len(),
        );
    }
}

#[test]
fn the_rows_do_not_depend_on_link_or_noise() {
    let model = SingleIndex::new(3, 1.0, 1).unwrap();
    let step = |z: f64| f64::from(u8::from(z > 0.0));
    let a = model.generate("step", step, 500, 8).unwrap();
    let noisy = model.clone().with_symmetric_noise(0.25);
    assert_eq!((noisy.flip_negative, noisy.flip_positive), (0.25, 0.25));
    let b = noisy.generate("step", step, 500, 8).unwrap();
    assert_eq!(a.dataset.features, b.dataset.features);
    assert_eq!(a.clean, b.clean);
    assert!(b.bayes.iter().all(|&q| q == 0.25 || q == 0.75));
    // Without noise a step leaves no doubt.
    assert!(a.bayes.iter().zip(&a.dataset.labels).all(|(&p, &y)| p == f64::from(y)));
    let flipped = a.dataset.labels.iter().zip(&b.dataset.labels).filter(|(a, b)| a != b).count();
    near(flipped as f64 / 500.0, 0.25, (0.25f64 * 0.75).sqrt(), 500);
    assert_ne!(model.generate("step", step, 500, 9).unwrap().dataset.features, a.dataset.features);
}

#[test]
fn wrong_arguments_are_named() {
    let model = SingleIndex::new(2, 1.0, 0).unwrap();
    let half = |_: f64| 0.5;
    let what = |result: properloss_data::Result<Synthetic>| result.unwrap_err().to_string();
    assert_eq!(
        what(gaussians(0, Means::Stated, 0)),
        "the number of rows is 0; it must be 1 or more"
    );
    assert!(SingleIndex::new(0, 1.0, 0).is_err());
    assert!(what(model.generate("two", |_| 2.0, 5, 0)).contains("it must be inside [0, 1]"));
    assert!(what(model.generate("nan", |_| f64::NAN, 5, 0)).contains("it must be inside [0, 1]"));
    let bad = SingleIndex { floor: 0.5, ceiling: 0.5, ..model.clone() };
    assert!(what(bad.generate("half", half, 5, 0)).contains("floor and ceiling is [0.5, 0.5]"));
    let bad = model.clone().with_symmetric_noise(0.5);
    assert!(what(bad.generate("half", half, 5, 0)).contains("is 1; it must be below 1"));
    let bad = SingleIndex { flip_positive: -0.1, ..model.clone() };
    assert!(what(bad.generate("half", half, 5, 0)).contains("the label noise is -0.1"));
    let bad = SingleIndex { weights: vec![f64::NAN], ..model };
    assert!(what(bad.generate("half", half, 5, 0)).contains("a true weight is NaN"));
}

#[test]
fn synthetic_data_survive_csv() {
    let data = gaussians(200, Means::UnitNorm, 5).unwrap();
    let mut out = Vec::new();
    write_csv(&data.dataset, &[("bayes", &data.bayes)], &mut out).unwrap();
    let text = String::from_utf8(out.clone()).unwrap();
    assert!(text.starts_with("x1,x2,bayes,label\n"));
    let options = ReadOptions::default().with_ignore(strings(&["bayes"]));
    let again = read(&Source::memory("synth.csv", out.clone()), &options).unwrap();
    assert_eq!((&again.features, &again.labels), (&data.dataset.features, &data.dataset.labels));
    assert_eq!(again.feature_names(), data.dataset.feature_names());
    let kept = read(&Source::memory("synth.csv", out), &ReadOptions::default()).unwrap();
    let bayes: Vec<f64> = rows(&kept.features).iter().map(|row| row[2]).collect();
    assert_eq!(bayes, data.bayes);
}

#[test]
fn wrong_splits_are_named() {
    for share in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(matches!(train_test(&[0u8, 0, 1, 1], share, 0), Err(Error::BadOption { .. })));
    }
    let error = train_test(&[0u8, 0, 1], 0.5, 0).unwrap_err();
    assert_eq!(error.to_string(), "class \"1\" has 1 row(s); 2 are needed for this split");
    assert!(matches!(folds(&[0u8, 1], 1, 0), Err(Error::BadOption { .. })));
    assert!(matches!(folds(&[0u8, 1, 0, 1], 3, 0), Err(Error::TooFewRows { count: 2, .. })));
    // However small the share, each part has each class.
    let split = train_test(&[0u8, 0, 1, 1], 1e-9, 0).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (2, 2));
}

#[test]
fn selected_rows_keep_their_order_in_every_storage() {
    let text = "1 1:1\n0 2:2\n1 1:3 2:4\n0 1:5\n";
    let data = read(&Source::memory("a.libsvm", text.as_bytes()), &ReadOptions::default()).unwrap();
    let part = data.select(&[2, 0]);
    assert_eq!(rows(&part.features), [[3.0, 4.0], [1.0, 0.0]]);
    assert_eq!((part.labels.clone(), part.description.rows), (vec![1, 1], 2));
    let text = "a,w,y\n1,5,0\n2,6,1\n3,7,0\n";
    for storage in [properloss_data::Storage::F32, properloss_data::Storage::F64] {
        let options = ReadOptions::default().with_weight(Some("w".into())).with_storage(storage);
        let data = read(&Source::memory("a.csv", text.as_bytes()), &options).unwrap();
        let part = data.select(&[2, 1]);
        assert_eq!(rows(&part.features), [[3.0], [2.0]]);
        assert_eq!((part.weights, part.labels), (Some(vec![7.0, 6.0]), vec![0, 1]));
    }
}

proptest! {
    #[test]
    fn splits_are_stratified_partitions(
        labels in prop::collection::vec(0u8..2, 0..200), share in 0.05f64..0.95, seed in any::<u64>(),
        k in 2usize..8,
    ) {
        let count = |class: u8, rows: &[usize]| rows.iter().filter(|&&i| labels[i] == class).count();
        let all: Vec<usize> = (0..labels.len()).collect();
        let sorted = |a: &[usize], b: &[usize]| {
            let mut rows = [a, b].concat();
            rows.sort_unstable();
            rows
        };
        if let Ok(split) = train_test(&labels, share, seed) {
            prop_assert_eq!(sorted(&split.train, &split.test), all.clone());
            for class in 0..2 {
                let total = count(class, &all);
                let expected = ((total as f64 * share).round() as usize).clamp(1, total - 1);
                prop_assert_eq!(count(class, &split.test), expected);
            }
            prop_assert_eq!(train_test(&labels, share, seed).unwrap(), split);
        } else {
            prop_assert!(count(0, &all) < 2 || count(1, &all) < 2);
        }
        if let Ok(folds) = folds(&labels, k, seed) {
            let mut tests: Vec<usize> = folds.iter().flat_map(|f| f.test.clone()).collect();
            tests.sort_unstable();
            prop_assert_eq!(&tests, &all);
            for fold in &folds {
                prop_assert_eq!(sorted(&fold.train, &fold.test), all.clone());
                for class in 0..2 {
                    let share = count(class, &all) / k;
                    prop_assert!((share..=share + 1).contains(&count(class, &fold.test)));
                }
                let share = labels.len() / k;
                prop_assert!((share..=share + 1).contains(&fold.test.len()));
            }
        }
    }
}
