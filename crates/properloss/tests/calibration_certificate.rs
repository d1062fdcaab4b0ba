//! The calibration certificate by hand, its invariances, its coverage in small, and the companion.

mod certify_support;

use certify_support::Random;
use properloss::calibration_certificate::{HeldOut, averaging_cost, calibration_bound};

fn bound(p: &[f64], y: &[u8]) -> properloss::calibration_certificate::CalibrationBound {
    calibration_bound(&HeldOut::new(p, y, None, None).unwrap(), 0.95).unwrap()
}

/// Labels with probabilities of `link(p)`.
fn draw(random: &mut Random, rows: usize, link: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<u8>) {
    let p: Vec<f64> = (0..rows).map(|_| random.unit()).collect();
    let y = p.iter().map(|&p| u8::from(random.chance(link(p)))).collect();
    (p, y)
}

/// Four rows: PAV pools the middle two. Excess by hand.
#[test]
fn excess_by_hand() {
    let b = bound(&[0.8, 0.2, 0.4, 0.6], &[1, 0, 1, 0]);
    // In order .2 (0), .4 (1), .6 (0), .8 (1); PAV 0, 1/2, 1/2, 1.
    let log = -(0.8_f64.ln() + 0.4_f64.ln() + 0.4_f64.ln() + 0.8_f64.ln()) + 2.0 * 0.5_f64.ln();
    let brier = (0.04 + 0.36 + 0.36 + 0.04) - 0.5;
    assert!((b.log_excess - log).abs() < 1e-14, "{b:?} {log}");
    assert!((b.brier_excess - brier).abs() < 1e-14, "{b:?} {brier}");
    assert_eq!((b.rows, b.folds, b.rms), (4, 1, 1.0));
}

/// No excess at all (one probability, its own frequency): the bound is that of its e-values, in
/// closed form. With `E = 0` the favourite is the log-loss at `λ = 1/2` or the Brier score at
/// `λ = 1`, both with `κ = 1/2`.
#[test]
fn no_excess_in_closed_form() {
    let (p, y) = (vec![0.5; 400], (0..400).map(|i| (i % 2) as u8).collect::<Vec<_>>());
    let b = bound(&p, &y);
    assert!(b.log_excess.abs() < 1e-12 && b.brier_excess.abs() < 1e-12);
    // The draws expect an excess of half a degree of freedom, so λ is a little smaller: κ is known
    // to lie between 0.49 and 0.5 only.
    let floor = (20.0_f64.ln() / 0.5 / 400.0).sqrt();
    assert!(b.rms >= floor && b.rms <= 1.05 * floor, "{} {floor}", b.rms);
}

/// The order of the rows does not matter, a constant factor of the weights neither; rows of weight 0
/// are not there; tied probabilities are pooled.
#[test]
fn invariances() {
    let mut random = Random(5);
    let (p, y) = draw(&mut random, 500, |p| p);
    let p: Vec<f64> = p.iter().map(|p| (p * 40.0).round() / 40.0).collect();
    let reference = bound(&p, &y);
    let reversed = bound(
        &p.iter().rev().copied().collect::<Vec<_>>(),
        &y.iter().rev().copied().collect::<Vec<_>>(),
    );
    assert!((reversed.log_excess - reference.log_excess).abs() < 1e-10);
    // λ is the same: the draws see the probabilities in order.
    assert!((reversed.rms - reference.rms).abs() < 1e-12);

    let weighted = |w: f64, extra: bool| {
        let (mut p, mut y, mut weights) = (p.clone(), y.clone(), vec![w; 500]);
        if extra {
            p.push(0.5);
            y.push(1);
            weights.push(0.0);
        }
        let rows = HeldOut::new(&p, &y, Some(&weights), None).unwrap();
        calibration_bound(&rows, 0.95).unwrap()
    };
    assert_eq!(weighted(3.0, false).rms, reference.rms);
    assert_eq!(weighted(0.25, true).rms, reference.rms);
    assert_eq!(weighted(1.0, false).population_rms, None);
    assert!(reference.population_rms.unwrap() > reference.rms);
}

/// A wrong certainty makes the log-loss useless; the Brier score still certifies.
#[test]
fn a_wrong_certainty_is_no_catastrophe() {
    let mut random = Random(9);
    let (mut p, mut y) = draw(&mut random, 5000, |p| p);
    p.push(0.0);
    y.push(1);
    let b = bound(&p, &y);
    assert_eq!(b.log_excess, f64::INFINITY);
    assert!(b.rms < 0.12, "{b:?}");
}

/// Coverage in small: probabilities that are right, and wrong in three ways, 1,000 samples; failures
/// are far below 5 %. And the bound follows the truth.
#[test]
fn coverage_in_small() {
    let mut random = Random(11);
    let links: [fn(f64) -> f64; 4] =
        [|p| p, |p| 0.3 + 0.4 * p, |p| p * p, |p| if p < 0.5 { 0.1 } else { 0.7 }];
    let mut failures = 0;
    for sample in 0..1000 {
        let link = links[sample % 4];
        let rows = 100 + random.below(300);
        let (p, y) = draw(&mut random, rows, link);
        let truth: f64 = p.iter().map(|&p| (p - link(p)).powi(2)).sum::<f64>() / p.len() as f64;
        failures += usize::from(bound(&p, &y).rms < truth.sqrt());
    }
    assert!(failures <= 10, "{failures}");
    // Twenty thousand rows: within three hundredths of a true distance of 0.1155.
    let (p, y) = draw(&mut random, 20_000, |p| 0.3 + 0.4 * p);
    let b = bound(&p, &y);
    let truth = (p.iter().map(|&p| (0.6 * p - 0.3).powi(2)).sum::<f64>() / 20_000.0).sqrt();
    assert!(b.rms > truth && b.rms < truth + 0.08, "{} {truth}", b.rms);
}

/// Folds: the levels multiply (`K ln(1/δ)`), so five folds of one sample give a wider bound than the
/// sample in one piece; one fold is no folds; the numbers of the folds do not matter.
#[test]
fn folds() {
    let mut random = Random(13);
    let (p, y) = draw(&mut random, 2000, |p| p);
    let one = bound(&p, &y);
    let with = |folds: &[u32]| {
        calibration_bound(&HeldOut::new(&p, &y, None, Some(folds)).unwrap(), 0.95).unwrap()
    };
    assert_eq!(with(&[7; 2000]).rms, one.rms);
    let five: Vec<u32> = (0..2000).map(|i| i % 5).collect();
    assert_eq!(with(&five).folds, 5);
    assert!(with(&five).rms > 1.5 * one.rms && with(&five).rms < 3.0 * one.rms);
    let others: Vec<u32> = five.iter().map(|f| 10 * f + 3).collect();
    assert_eq!(with(&others).rms, with(&five).rms);
}

/// The check of the assumption: quiet for nondecreasing truths (an e-value of 20 in at most one of
/// twenty, here in none of 400), loud for a truth that falls.
#[test]
fn the_assumption_is_checked() {
    let mut random = Random(17);
    let mut mean = 0.0;
    for sample in 0..400 {
        let flat = sample % 2 == 0;
        let (p, y) = draw(&mut random, 400, |p| if flat { 0.4 } else { p });
        let b = bound(&p, &y);
        assert!(!b.assumption_rejected(), "{b:?}");
        mean += b.against_monotone / 400.0;
    }
    assert!(mean <= 1.0, "{mean}");
    let (p, y) = draw(&mut random, 2000, |p| 1.0 - p);
    assert!(bound(&p, &y).against_monotone > 1e6);
    let (p, y) = draw(&mut random, 4000, |p| 4.0 * (p - 0.5) * (p - 0.5));
    assert!(bound(&p, &y).assumption_rejected());
}

/// Bad rows are refused with their place.
#[test]
fn bad_rows() {
    let error = |p: &[f64], y: &[u8], w: Option<&[f64]>| {
        HeldOut::new(p, y, w, None).unwrap_err().to_string()
    };
    assert!(error(&[0.2, 1.2], &[0, 1], None).contains("1.2"));
    assert!(error(&[0.2, f64::NAN], &[0, 1], None).contains("NaN"));
    assert!(error(&[0.2], &[0, 1], None).contains("2"));
    assert!(error(&[0.2], &[2], None).contains("0 or 1"));
    assert!(error(&[0.2], &[1], Some(&[-1.0])).contains("-1"));
    HeldOut::new(&[], &[], None, None).unwrap_err();
    HeldOut::new(&[0.5], &[1], Some(&[0.0]), None).unwrap_err();
    let rows = HeldOut::new(&[0.5], &[1], None, None).unwrap();
    assert_eq!(calibration_bound(&rows, 0.95).unwrap().rms, 1.0);
    for confidence in [0.0, 1.0, -1.0, f64::NAN] {
        calibration_bound(&rows, confidence).unwrap_err();
    }
}

/// The companion: the averaged probabilities cost at most `cost`, which is at most `worst`, whatever
/// the candidates; and `worst` is attained by losses that are minus the prices.
#[test]
fn averaging_costs_little() {
    let mut random = Random(19);
    for _ in 0..300 {
        let (candidates, rows) = (1 + random.below(6), 1 + random.below(40));
        let p: Vec<Vec<f64>> = (0..candidates)
            .map(|_| (0..rows).map(|_| random.between(0.01, 0.99)).collect())
            .collect();
        let y: Vec<bool> = (0..rows).map(|_| random.chance(0.4)).collect();
        let loss = |p: &dyn Fn(usize) -> f64| -> f64 {
            (0..rows).map(|i| -(if y[i] { p(i) } else { 1.0 - p(i) }).ln()).sum()
        };
        let losses: Vec<f64> = p.iter().map(|p| loss(&|i| p[i])).collect();
        let prices: Vec<f64> = (0..candidates).map(|j| j as f64).collect();
        let found = averaging_cost(&losses, &prices).unwrap();
        let mean = |i: usize| (0..candidates).map(|j| found.weights[j] * p[j][i]).sum();
        let averaged = loss(&mean) - losses[0];
        assert!(averaged <= found.cost + 1e-12 && found.cost <= found.worst + 1e-12, "{found:?}");
        assert!(found.worst < 0.4587 + 1e-4);
    }
    // L_j + r_j equal makes a uniform; here a_j ∝ exp(-r_j) where all losses are equal: cost 0.
    let equal = averaging_cost(&[7.0, 7.0, 7.0], &[0.0, 1.0, 2.0]).unwrap();
    assert!(equal.cost.abs() < 1e-15);
    assert!((averaging_cost(&[1.0; 5], &[0.0; 5]).unwrap().worst - 5.0_f64.ln()).abs() < 1e-15);
    averaging_cost(&[], &[]).unwrap_err();
    averaging_cost(&[1.0], &[0.0, 1.0]).unwrap_err();
    averaging_cost(&[f64::NAN], &[0.0]).unwrap_err();
}
