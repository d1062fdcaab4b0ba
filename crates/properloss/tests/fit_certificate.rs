//! The certificates that every fit carries: coverage in small, where there is none, the cost of the link.

mod certify_support;

use certify_support::Random;
use properloss::calibration_certificate::FitBound;
use properloss::link::InverseLink;
use properloss::proper::{Calibrator, Folds, ProperFit, ProperLoss};
use properloss::sample::{Matrix, Sample};

/// Scores in (-3, 3) with labels of probability `link`.
fn scored(random: &mut Random, rows: usize, link: fn(f64) -> f64) -> (Vec<f64>, Vec<u8>) {
    let scores: Vec<f64> = (0..rows).map(|_| random.between(-3.0, 3.0)).collect();
    let labels = scores.iter().map(|&s| u8::from(random.chance(link(s)))).collect();
    (scores, labels)
}

const LINKS: [fn(f64) -> f64; 4] = [
    |s| 1.0 / (1.0 + (-s).exp()),
    |s| if s < 0.3 { 0.1 } else { 0.8 },
    |_| 0.3,
    |s| 0.2 + 0.6 / (1.0 + (-3.0 * s).exp()),
];

/// The calibrated probabilities of the very rows the calibrator was fitted to. One score, so the
/// truth is the link. A wrong calibration (of other labels) is far from it, and the bound says so.
#[test]
fn calibrators_on_their_own_rows() {
    let mut random = Random(23);
    for sample in 0..60 {
        let link = LINKS[sample % 4];
        let (scores, labels) = scored(&mut random, 150 + 40 * (sample % 7), link);
        let map = Calibrator::default().fit(&scores, &labels, None).unwrap();
        let bound = map.calibration_bound(&scores, &labels, None, None, 0.95).unwrap();
        let truth = distance(&map.probabilities(&scores).unwrap(), &scores, link);
        assert!(bound.rms >= truth && bound.rms == bound.held_out_rms, "{bound:?} {truth}");
        assert!(bound.rms <= 0.6 && !bound.assumption_rejected(), "{bound:?}");
    }
    let (scores, labels) = scored(&mut random, 3000, LINKS[0]);
    let flipped: Vec<u8> = labels.iter().map(|y| 1 - y).collect();
    let wrong = Calibrator::default().fit(&scores, &flipped, None).unwrap();
    let bound = wrong.calibration_bound(&scores, &labels, None, None, 0.95).unwrap();
    let truth = distance(&wrong.probabilities(&scores).unwrap(), &scores, LINKS[0]);
    assert!(truth > 0.3 && bound.rms >= truth && bound.rms < truth + 0.15, "{bound:?} {truth}");
    // Labels that fall with the score contradict the assumption.
    let bound = wrong.calibration_bound(&scores, &flipped, None, None, 0.95).unwrap();
    assert!(bound.assumption_rejected());
}

fn distance(p: &[f64], scores: &[f64], link: fn(f64) -> f64) -> f64 {
    let sum: f64 = p.iter().zip(scores).map(|(p, &s)| (p - link(s)).powi(2)).sum();
    (sum / p.len() as f64).sqrt()
}

/// One column: every fold's score has the order of the column, so the truth is the link again.
#[test]
fn the_default_estimator_on_its_own_rows() {
    let mut random = Random(29);
    for sample in 0..24 {
        let link = LINKS[sample % 4];
        let (x, y) = scored(&mut random, 300 + 50 * (sample % 5), link);
        let fit = fitted(&ProperLoss::default(), &x, &y, None);
        let bound = fit.calibration_bound.unwrap();
        let matrix = Matrix::dense_f64(&x, x.len(), 1).unwrap();
        let shipped = distance(&fit.probabilities(&matrix).unwrap(), &x, link);
        let held_out: Vec<f64> = fit.held_out_scores.iter().map(|&z| fit.link.u(z)).collect();
        assert!(bound.rms >= shipped && bound.held_out_rms >= distance(&held_out, &x, link));
        assert!(bound.rms < 0.9 && bound.folds == 5 && bound.rows == x.len(), "{bound:?}");
        assert!(!bound.assumption_rejected(), "{bound:?}");
    }
    // More rows, a better bound.
    let of = |rows: usize| -> FitBound {
        let (x, y) = scored(&mut Random(31), rows, LINKS[0]);
        fitted(&ProperLoss::default(), &x, &y, None).calibration_bound.unwrap()
    };
    let (small, large) = (of(500), of(8000));
    assert!(large.rms < 0.5 * small.rms && large.rms < 0.2, "{small:?} {large:?}");
}

fn fitted(options: &ProperLoss, x: &[f64], y: &[u8], weights: Option<&[f64]>) -> ProperFit {
    let matrix = Matrix::dense_f64(x, x.len(), 1).unwrap();
    options.fit(&Sample::new(matrix, y, weights).unwrap()).unwrap()
}

/// No certificate where it would not be true; equal weights change nothing, a weight of 0 is no row.
#[test]
fn where_there_is_none() {
    let (x, y) = scored(&mut Random(37), 400, LINKS[0]);
    let plain = fitted(&ProperLoss::default(), &x, &y, None).calibration_bound.unwrap();
    let balanced = ProperLoss::default().with_class_weight([1.0, 2.0]);
    assert_eq!(fitted(&balanced, &x, &y, None).calibration_bound, None);
    let groups = (0..400).map(|i| i / 4).collect();
    let grouped = ProperLoss::default().with_folds(Folds::Grouped { groups, count: 5, seed: 0 });
    assert_eq!(fitted(&grouped, &x, &y, None).calibration_bound, None);
    let ones = fitted(&ProperLoss::default(), &x, &y, Some(&[1.0; 400]));
    assert_eq!(ones.calibration_bound, Some(plain));
    let mut weights = vec![1.0; 400];
    weights[7] = 0.0;
    let fewer = fitted(&ProperLoss::default(), &x, &y, Some(&weights)).calibration_bound.unwrap();
    assert_eq!(fewer.rows, 399);
}

/// The link never costs more than the constant beside the sigmoid, on labels of any kind; it is the
/// difference of the two held-out losses, and it gains where the sigmoid is wrong.
#[test]
fn the_link_costs_little() {
    let mut random = Random(41);
    let most = (0..5).map(|j| (-0.5 * f64::from(j)).exp()).sum::<f64>().ln();
    for sample in 0..40 {
        let (scores, labels) = scored(&mut random, 60 + 10 * sample, LINKS[sample % 4]);
        let map = Calibrator::default().fit(&scores, &labels, None).unwrap();
        let cost = map.link_cost;
        assert!((cost.at_most - most).abs() < 1e-15 && most < 5.0_f64.ln().min(0.933));
        assert!(cost.nats <= cost.at_most, "{cost:?}");
        let [_, result] = map.held_out_log_loss;
        let sigmoid = map.links[0].log_loss;
        let expected = (result - sigmoid) * scores.len() as f64;
        assert!((cost.nats - expected).abs() < 1e-9, "{cost:?} {expected}");
    }
    let (x, y) = scored(&mut random, 4000, LINKS[1]);
    let fit = fitted(&ProperLoss::default(), &x, &y, None);
    let [logistic, linked, _] = fit.held_out_log_loss;
    // Losses of the link are taken in cells of 1/128 of log-odds: a few hundredths of a nat.
    assert!((fit.link_cost.nats - 4000.0 * (linked - logistic)).abs() < 0.1);
    assert!(fit.link_cost.nats < -100.0);
}
