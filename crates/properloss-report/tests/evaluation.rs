//! The one-sort evaluation against the metrics of the core, and against brute force.

use std::sync::Arc;

use properloss::link::InverseLink;
use properloss::link::{IsotonicLink, Probit, Sigmoid};
use properloss::metrics::{Summary, log_loss, reliability_curve};
use properloss_data::random::Random;
use properloss_report::Evaluation;
use properloss_report::evaluation::log_loss_difference;
use properloss_report::thresholds::thresholds;

/// Scores with ties, labels of another truth, weights with zeros.
fn rows(count: usize, seed: u64) -> (Vec<f64>, Vec<u8>, Vec<f64>) {
    let mut random = Random::new(seed);
    let scores: Vec<f64> = (0..count).map(|_| (20.0 * random.gaussian()).round() / 10.0).collect();
    let labels = scores.iter().map(|z| u8::from(random.uniform() < Probit.u(0.5 * z))).collect();
    let weights = (0..count).map(|_| random.below(4) as f64 * 0.5).collect();
    (scores, labels, weights)
}

#[test]
fn it_is_the_summary_of_the_core() {
    let isotonic = IsotonicLink::new(vec![-2.0, -1.0, 1.0, 2.0], vec![0.0, 0.4, 0.4, 1.0]).unwrap();
    let links: [Arc<dyn InverseLink>; 2] = [Arc::new(Sigmoid), Arc::new(isotonic)];
    for (seed, link) in (0..6).flat_map(|seed| links.iter().map(move |link| (seed, link))) {
        let (scores, labels, weights) = rows(500, seed);
        let weights = (seed % 2 == 0).then_some(&weights[..]);
        let p: Vec<f64> = scores.iter().map(|&z| link.u(z)).collect();
        let expected = Summary::new(&scores, &p, &labels, weights).unwrap();
        let found = Evaluation::new(Some(link), &scores, &labels, weights).unwrap();
        let pairs = [
            (found.summary.auc, expected.auc),
            (found.summary.log_loss, expected.log_loss),
            (found.summary.brier.brier, expected.brier.brier),
            (found.summary.brier.miscalibration, expected.brier.miscalibration),
            (found.summary.brier.discrimination, expected.brier.discrimination),
            (found.summary.brier.uncertainty, expected.brier.uncertainty),
            (found.summary.ece, expected.ece),
            (found.summary.accuracy, expected.accuracy),
        ];
        for (found, expected) in pairs {
            // Sums of 500 terms in another order.
            assert!((found - expected).abs() < 1e-12, "seed {seed}: {found} {expected}");
        }
        let curve = reliability_curve(&p, &labels, weights).unwrap();
        assert_eq!(found.blocks.len(), curve.len());
        for (found, expected) in found.blocks.iter().zip(&curve) {
            assert!((found.rate - expected.rate).abs() < 1e-12);
            assert_eq!((found.lowest, found.highest), (expected.lowest, expected.highest));
        }
    }
}

#[test]
fn counts_above_thresholds_are_those_of_the_rows() {
    let (scores, labels, _) = rows(1000, 9);
    let link: Arc<dyn InverseLink> = Arc::new(Sigmoid);
    let found = Evaluation::new(Some(&link), &scores, &labels, None).unwrap();
    for (k, &t) in thresholds().iter().enumerate() {
        for class in 0..2u8 {
            let count =
                scores.iter().zip(&labels).filter(|(z, y)| Sigmoid.u(**z) > t && **y == class);
            assert_eq!(found.above[usize::from(class)][k], count.count() as f64, "{t}");
        }
    }
    let all: f64 = found.histogram.iter().flatten().sum();
    assert_eq!(all, 1000.0);
}

#[test]
fn pictures_of_a_rare_class_end_where_its_forecasts_do() {
    let (scores, labels, _) = rows(1000, 9);
    let link: Arc<dyn InverseLink> = Arc::new(Sigmoid);
    assert_eq!(Evaluation::new(Some(&link), &scores, &labels, None).unwrap().reach, 1.0);
    // Forecasts of 1 to 10 %, as often true as they say, and one of 90 %.
    let mut p: Vec<f64> = (0..2000).map(|i| 0.01 * f64::from(i % 10 + 1)).collect();
    let mut labels: Vec<u8> = (0..2000).map(|i| u8::from(i / 10 % 100 < i % 10 + 1)).collect();
    p.push(0.9);
    labels.push(1);
    let found = Evaluation::new(None, &p, &labels, None).unwrap();
    assert!((found.reach - 0.11).abs() < 1e-12, "{}", found.reach);
    // Nothing is lost: the one beyond is in the last step.
    assert_eq!(found.histogram.iter().flatten().sum::<f64>(), 2001.0);
    assert_eq!(found.histogram[1].last(), Some(&1.0));
}

#[test]
fn the_recalibrated_log_loss_is_that_of_the_isotonic_regression() {
    let (scores, labels, _) = rows(400, 3);
    let link: Arc<dyn InverseLink> = Arc::new(Sigmoid);
    let found = Evaluation::new(Some(&link), &scores, &labels, None).unwrap();
    let recalibrated: Vec<f64> = scores.iter().map(|&z| found.recalibrated(Sigmoid.u(z))).collect();
    let expected = log_loss(&recalibrated, &labels, None).unwrap();
    assert!((found.recalibrated_log_loss - expected).abs() < 1e-12);
}

#[test]
fn the_difference_of_two_forecasts_is_the_difference_of_their_losses() {
    let (scores, labels, weights) = rows(300, 4);
    let (a, b): (Arc<dyn InverseLink>, Arc<dyn InverseLink>) =
        (Arc::new(Sigmoid), Arc::new(Probit));
    let loss = |link: &dyn InverseLink| {
        let p: Vec<f64> = scores.iter().map(|&z| link.u(z)).collect();
        log_loss(&p, &labels, Some(&weights)).unwrap()
    };
    let expected = loss(&Probit) - loss(&Sigmoid);
    let found =
        log_loss_difference((Some(&a), &scores), (Some(&b), &scores), &labels, Some(&weights));
    assert!((found.mean - expected).abs() < 1e-12);
    assert!(found.error > 0.0);
}

#[test]
fn the_order_of_the_rows_does_not_matter_and_bad_rows_are_refused() {
    let (scores, labels, weights) = rows(300, 5);
    let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
    let backwards: Vec<u8> = labels.iter().rev().copied().collect();
    let link: Arc<dyn InverseLink> = Arc::new(Sigmoid);
    let one = Evaluation::new(Some(&link), &scores, &labels, Some(&weights)).unwrap();
    let other =
        Evaluation::new(Some(&link), &reversed(&scores), &backwards, Some(&reversed(&weights)));
    assert_eq!(one, other.unwrap());
    for (scores, labels) in [
        (vec![f64::NAN, 0.0], vec![0, 1]),
        (vec![0.1, 0.2], vec![1, 1]),
        (vec![0.1], vec![0, 1]),
        (vec![0.1, 1.5], vec![0, 1]),
        (vec![], vec![]),
    ] {
        assert!(Evaluation::new(None, &scores, &labels, None).is_err(), "{scores:?}");
    }
}
