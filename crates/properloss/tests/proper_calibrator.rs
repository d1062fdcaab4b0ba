//! The calibrator: ranking strictly kept, probabilities strictly inside, never much worse than what
//! it starts from.

mod congruence;

use congruence::Congruence;
use proptest::prelude::*;

use properloss::Error;
use properloss::link::{InverseLink, Sigmoid};
use properloss::metrics::{auc, log_loss};
use properloss::proper::{Calibrator, ScoreKind};

/// Scores spread over `[-spread, spread]`, labels from `P = truth(score)`.
fn scored(rows: usize, seed: u64, spread: f64, truth: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<u8>) {
    let mut random = Congruence(seed.wrapping_mul(77).wrapping_add(3));
    (0..rows)
        .map(|_| {
            let z = spread * (2.0 * random.uniform() - 1.0);
            (z, u8::from(random.uniform() < truth(z)))
        })
        .unzip()
}

#[test]
fn a_floor_is_learned() {
    let truth = |z: f64| 0.2 + 0.6 * Sigmoid.u(3.0 * z);
    let (z, y) = scored(4000, 1, 3.0, truth);
    let fit = Calibrator::default().fit(&z, &y, None).unwrap();
    for k in -6..=6 {
        let at = f64::from(k) * 0.5;
        let error = (fit.probability(at) - truth(at)).abs();
        assert!(error < 0.06, "{at}: {error}");
    }
    assert!(fit.held_out_log_loss[1] < fit.held_out_log_loss[0] - 0.002);
}

#[test]
fn calibrated_logits_stay_as_they_are() {
    let (z, y) = scored(4000, 2, 3.0, |z| Sigmoid.u(z));
    let fit = Calibrator::default().fit(&z, &y, None).unwrap();
    for k in -6..=6 {
        let at = f64::from(k) * 0.5;
        assert!((fit.probability(at) - Sigmoid.u(at)).abs() < 0.02, "{at}");
    }
}

#[test]
fn any_scale_of_scores_is_found() {
    let (z, y) = scored(3000, 3, 3.0, |z| Sigmoid.u(2.0 * z - 1.0));
    let reference = Calibrator::default().fit(&z, &y, None).unwrap();
    let scaled: Vec<f64> = z.iter().map(|z| 1000.0 * z + 5e4).collect();
    let fit = Calibrator::default().with_kind(ScoreKind::Scores);
    let fit = fit.fit(&scaled, &y, None).unwrap();
    for (z, s) in z.iter().zip(&scaled) {
        assert!((reference.probability(*z) - fit.probability(*s)).abs() < 0.01);
    }
}

#[test]
fn probabilities_of_zero_and_one_stay_in_order() {
    let p: Vec<f64> = (0..200).map(|i| f64::from(i / 20) / 9.0).collect();
    let y: Vec<u8> = (0..200).map(|i| u8::from((i * 7) % 20 < 2 * (i / 20) + 1)).collect();
    let fit = Calibrator::default().fit(&p, &y, None).unwrap();
    assert!(fit.margin.is_some());
    let q: Vec<f64> = (0..10).map(|k| fit.probability(f64::from(k) / 9.0)).collect();
    assert!(q.windows(2).all(|pair| pair[0] < pair[1]), "{q:?}");
    assert!(q[0] > 0.0 && q[9] < 1.0);
    let error = Calibrator::default()
        .with_kind(ScoreKind::Probabilities)
        .fit(&[0.5, 1.5, 0.2, 0.3], &[0, 1, 0, 1], None)
        .unwrap_err();
    assert!(matches!(error, Error::ElementOutOfDomain { what: "probabilities", index: 1, .. }));
}

#[test]
fn separable_and_reversed_scores_are_survived() {
    let z: Vec<f64> = (0..80).map(|i| f64::from(i) - 39.5).collect();
    let up: Vec<u8> = (0..80).map(|i| u8::from(i >= 40)).collect();
    let down: Vec<u8> = up.iter().map(|y| 1 - y).collect();
    let fit = Calibrator::default().fit(&z, &up, None).unwrap();
    let p = fit.probabilities(&z).unwrap();
    assert!(log_loss(&p, &up, None).unwrap() < 0.1);
    // The wrong way round: nearly flat, and still increasing.
    let fit = Calibrator::default().fit(&z, &down, None).unwrap();
    let p = fit.probabilities(&z).unwrap();
    assert!(p.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(log_loss(&p, &down, None).unwrap() < 0.75);
}

#[test]
fn constant_scores_give_the_base_rate() {
    let y: Vec<u8> = (0..100).map(|i| u8::from(i % 5 == 0)).collect();
    let fit = Calibrator::default().fit(&[2.5; 100], &y, None).unwrap();
    assert!((fit.probability(2.5) - 0.2).abs() < 0.03, "{}", fit.probability(2.5));
}

#[test]
fn wrong_input_is_refused() {
    let fit = |z: &[f64], y: &[u8], w: Option<&[f64]>| Calibrator::default().fit(z, y, w);
    let not_finite = fit(&[0.0, f64::NAN], &[0, 1], None);
    assert!(matches!(not_finite, Err(Error::NotFinite { what: "scores", index: 1, .. })));
    let lengths = fit(&[0.0, 1.0], &[0], None);
    assert!(matches!(lengths, Err(Error::LengthMismatch { what: "labels", .. })));
    let label = fit(&[0.0, 1.0], &[0, 2], None);
    assert!(matches!(label, Err(Error::ElementOutOfDomain { what: "labels", .. })));
    let weight = fit(&[0.0, 1.0], &[0, 1], Some(&[1.0, -1.0]));
    assert!(matches!(weight, Err(Error::ElementOutOfDomain { what: "weights", .. })));
    let none = fit(&[0.0, 1.0, 2.0], &[0, 0, 0], None);
    assert!(matches!(none, Err(Error::ClassTooSmall { label: 1, rows: 0, .. })));
}

#[test]
fn one_row_of_a_class_gets_a_sigmoid() {
    let fit = Calibrator::default().fit(&[-2.0, -1.0, 0.0, 3.0], &[0, 0, 0, 1], None).unwrap();
    assert_eq!(fit.slope_ratio, 1.0);
    assert!(fit.probability(-2.0) < fit.probability(3.0));
    // Platt's targets: 1/5 and 2/3.
    assert!(fit.probability(3.0) > 0.4 && fit.probability(3.0) < 0.7);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        if std::env::var("PROPERLOSS_PROFILE").is_ok() { 2000 } else { 48 }
    ))]

    /// Strictly increasing in the score, strictly inside (0, 1), and the AUC does not change.
    #[test]
    fn the_ranking_is_strictly_kept(
        rows in prop::collection::vec((-40i32..40, any::<bool>(), 0u8..3), 8..120),
        scale in 0.05f64..2.0,
    ) {
        let z: Vec<f64> = rows.iter().map(|r| f64::from(r.0) * scale / 8.0).collect();
        let y: Vec<u8> = rows.iter().map(|r| u8::from(r.1)).collect();
        let w: Vec<f64> = rows.iter().map(|r| f64::from(r.2)).collect();
        let fit = match Calibrator::default().fit(&z, &y, Some(&w)) {
            Ok(fit) => fit,
            Err(Error::ClassTooSmall { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let p = fit.probabilities(&z).unwrap();
        prop_assert!(p.iter().all(|&p| p > 0.0 && p < 1.0));
        for i in 0..z.len() {
            for j in 0..z.len() {
                if z[i] < z[j] {
                    prop_assert!(p[i] < p[j], "{} {} -> {} {}", z[i], z[j], p[i], p[j]);
                } else if z[i] == z[j] {
                    prop_assert_eq!(p[i], p[j]);
                }
            }
        }
        prop_assert_eq!(auc(&z, &y, None).unwrap(), auc(&p, &y, None).unwrap());
        // log-loss <= that of the sigmoid + log tau, row by row.
        let bound = fit.slope_ratio.ln() + 1e-9;
        for (&z, &p) in z.iter().zip(&p) {
            let base = Sigmoid.u(fit.slope * z + fit.intercept);
            if fit.margin.is_none() {
                prop_assert!(-p.ln() <= -base.ln() + bound);
                prop_assert!(-(1.0 - p).ln() <= -(1.0 - base).ln() + bound + 1e-6);
            }
        }
    }
}
