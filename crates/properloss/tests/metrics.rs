//! Metrics against their definitions, against scikit-learn's numbers, and under changes that must
//! not matter.

use properloss::Error;
use properloss::metrics::{
    Binning, Summary, accuracy, auc, binned_decomposition, brier, corp_decomposition,
    expected_calibration_error, log_loss, maximum_calibration_error, reliability_bins,
    reliability_curve,
};
use proptest::prelude::*;

/// The case the scikit-learn numbers below were computed on: ties, exact 0 and 1.
fn reference_case() -> (Vec<f64>, Vec<u8>, Vec<f64>) {
    let n = 200;
    let p: Vec<f64> = (0..n).map(|i| f64::from((i * 37) % 101) / 100.0).collect();
    let y = (0..n)
        .map(|i| u8::from(f64::from((i * 53) % 97) / 97.0 < 0.15 + 0.7 * p[i as usize]))
        .collect();
    let weights = (0..n).map(|i| 1.0 + f64::from(i % 4)).collect();
    (p, y, weights)
}

/// Sums of 200 terms of order 1 in another order: 1e-13 is about 500 ε.
fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-13 * (1.0 + b.abs()), "{a} {b}");
}

/// scikit-learn 1.9: `roc_auc_score`, `log_loss`, `brier_score_loss`, `accuracy_score(y, p > .5)`;
/// the CORP parts from `IsotonicRegression().fit(p, y, w)`, ten bins of equal width by hand.
#[test]
fn agrees_with_scikit_learn() {
    let (p, y, weights) = reference_case();
    let cases = [
        (
            None,
            [0.7324891970656215, 0.8173576241098075, 0.21833750000000002, 0.68],
            [0.01757141812865498, 0.04800891812865496, 0.248775],
            0.09414999999999994,
        ),
        (
            Some(&weights[..]),
            [0.731063829787234, 0.7207909980707911, 0.2190546, 0.682],
            [0.020127440343286646, 0.050172840343286645, 0.2491],
            0.10633999999999999,
        ),
    ];
    for (w, [area, log, square, correct], [miscalibration, discrimination, uncertainty], ece) in
        cases
    {
        close(auc(&p, &y, w).unwrap(), area);
        close(log_loss(&p, &y, w).unwrap(), log);
        close(brier(&p, &y, w).unwrap(), square);
        close(accuracy(&p, &y, w).unwrap(), correct);
        let corp = corp_decomposition(&p, &y, w).unwrap();
        close(corp.brier, square);
        close(corp.miscalibration, miscalibration);
        close(corp.discrimination, discrimination);
        close(corp.uncertainty, uncertainty);
        let binning = Binning::EqualWidth(10);
        close(expected_calibration_error(&reliability_bins(&p, &y, w, binning).unwrap()), ece);
        let summary = Summary::new(&p, &p, &y, w).unwrap();
        assert_eq!((summary.auc, summary.brier), (auc(&p, &y, w).unwrap(), corp));
    }
    // `calibration_curve(y, p, n_bins=10)`.
    let rates = [5.0 / 22.0, 0.35, 9.0 / 19.0, 0.3, 0.45, 0.55, 11.0 / 19.0, 0.8, 0.8, 0.85];
    let bins = reliability_bins(&p, &y, None, Binning::EqualWidth(10)).unwrap();
    for (bin, rate) in bins.iter().zip(rates) {
        close(bin.rate, rate);
    }
    assert_eq!(bins.len(), 10);
}

#[test]
fn small_cases_by_hand() {
    let y = [0, 0, 1, 1];
    assert_eq!(auc(&[0.1, 0.4, 0.35, 0.8], &y, None).unwrap(), 0.75);
    assert_eq!(auc(&[1.0; 4], &y, None).unwrap(), 0.5);
    assert_eq!(auc(&[f64::NEG_INFINITY, -0.0, 0.0, f64::INFINITY], &y, None).unwrap(), 0.875);
    // A certain forecast that is wrong costs -ln ε, and that is stated.
    close(log_loss(&[1.0, 0.0], &[0, 0], None).unwrap(), -0.5 * f64::EPSILON.ln());
    assert_eq!(accuracy(&[0.5, 0.5], &[0, 1], None).unwrap(), 0.5, "1/2 is class 0");
    // Perfectly ordered and calibrated: nothing but discrimination.
    let corp = corp_decomposition(&[0.0, 0.0, 1.0, 1.0], &y, None).unwrap();
    assert_eq!((corp.miscalibration, corp.discrimination, corp.uncertainty), (0.0, 0.25, 0.25));
    // Perfectly wrong: isotonic regression pools everything.
    let curve = reliability_curve(&[1.0, 1.0, 0.0, 0.0], &y, None).unwrap();
    assert_eq!(curve.len(), 1);
    assert_eq!((curve[0].lowest, curve[0].highest, curve[0].rate), (0.0, 1.0, 0.5));
    let corp = corp_decomposition(&[1.0, 1.0, 0.0, 0.0], &y, None).unwrap();
    assert_eq!((corp.brier, corp.miscalibration, corp.discrimination), (1.0, 0.75, 0.0));
    // Two bins by count: (0.1, 0.2) and (0.3, 0.9).
    let p = [0.1, 0.3, 0.2, 0.9];
    let bins = reliability_bins(&p, &y, None, Binning::EqualCount(2)).unwrap();
    assert_eq!((bins[0].lowest, bins[0].highest, bins[1].lowest), (0.1, 0.2, 0.3));
    assert_eq!((bins[0].rate, bins[1].rate), (0.5, 0.5));
    close(expected_calibration_error(&bins), 0.225);
    close(maximum_calibration_error(&bins), 0.35);
}

#[test]
fn the_edges_of_equal_width_bins_belong_to_the_bin_below() {
    for count in 1..200 {
        let edges: Vec<f64> = (0..=count).map(|k| k as f64 / count as f64).collect();
        let labels = vec![0; edges.len()];
        let bins = reliability_bins(&edges, &labels, None, Binning::EqualWidth(count)).unwrap();
        assert_eq!(bins.len(), count);
        assert_eq!((bins[0].lowest, bins[0].highest), (0.0, edges[1]));
        for (bin, edge) in bins[1..].iter().zip(&edges[2..]) {
            assert_eq!((bin.lowest, bin.highest), (*edge, *edge));
        }
    }
}

#[test]
fn bad_input_is_refused() {
    assert!(matches!(auc(&[], &[], None), Err(Error::TooShort { .. })));
    assert!(matches!(auc(&[1.0], &[0, 1], None), Err(Error::LengthMismatch { .. })));
    assert!(matches!(auc(&[1.0, f64::NAN], &[0, 1], None), Err(Error::NotFinite { index: 1, .. })));
    assert_eq!(auc(&[1.0, 2.0], &[1, 1], None), Err(Error::OneClass { label: 1 }));
    assert_eq!(auc(&[1.0, 2.0], &[0, 1], Some(&[1.0, 0.0])), Err(Error::OneClass { label: 0 }));
    for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let error = brier(&[0.5, bad], &[0, 1], None).unwrap_err();
        assert!(matches!(error, Error::ElementOutOfDomain { index: 1, .. }), "{error}");
    }
    assert!(brier(&[0.5], &[2], None).is_err());
    assert!(brier(&[0.5, 0.5], &[0, 1], Some(&[1.0, -1.0])).is_err());
    assert!(brier(&[0.5, 0.5], &[0, 1], Some(&[0.0, 0.0])).is_err());
    assert!(reliability_bins(&[0.5], &[0], None, Binning::EqualWidth(0)).is_err());
}

proptest! {
    /// AUC by its definition over all pairs; the decompositions add up; weights are counts; the
    /// order of the rows does not matter.
    #[test]
    fn definitions_and_invariances(
        rows in prop::collection::vec((0u8..12, 0u8..2, 0u8..3), 2..40),
        bins in 1usize..12,
    ) {
        let mut rows = rows;
        rows.push((3, 0, 1));
        rows.push((4, 1, 2));
        let p: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 11.0).collect();
        let y: Vec<u8> = rows.iter().map(|row| row.1).collect();
        let w: Vec<f64> = rows.iter().map(|row| f64::from(row.2)).collect();
        let (mut wins, mut pairs) = (0.0, 0.0);
        for i in 0..p.len() {
            for j in 0..p.len() {
                if y[i] == 1 && y[j] == 0 {
                    let win = if p[i] > p[j] { 1.0 } else if p[i] == p[j] { 0.5 } else { 0.0 };
                    wins += w[i] * w[j] * win;
                    pairs += w[i] * w[j];
                }
            }
        }
        prop_assert_eq!(auc(&p, &y, Some(&w)).unwrap(), wins / pairs);

        let corp = corp_decomposition(&p, &y, Some(&w)).unwrap();
        let sum = corp.miscalibration - corp.discrimination + corp.uncertainty;
        prop_assert!((sum - corp.brier).abs() <= 1e-14);
        prop_assert!(corp.miscalibration >= 0.0 && corp.discrimination >= 0.0);
        let curve = reliability_curve(&p, &y, Some(&w)).unwrap();
        prop_assert!(curve.windows(2).all(|c| c[0].rate < c[1].rate && c[0].highest < c[1].lowest));

        let (mut p2, mut y2) = (Vec::new(), Vec::new());
        for (i, row) in rows.iter().enumerate().rev() {
            for _ in 0..row.2 {
                p2.push(p[i]);
                y2.push(y[i]);
            }
        }
        let a = Summary::new(&p, &p, &y, Some(&w)).unwrap();
        let b = Summary::new(&p2, &p2, &y2, None).unwrap();
        for (a, b) in [
            (a.auc, b.auc),
            (a.log_loss, b.log_loss),
            (a.brier.miscalibration, b.brier.miscalibration),
            (a.ece, b.ece),
            (a.accuracy, b.accuracy),
        ] {
            prop_assert!((a - b).abs() <= 1e-13 * (1.0 + a), "{a} {b}");
        }
        for binning in [Binning::EqualWidth(bins), Binning::EqualCount(bins)] {
            let parts = binned_decomposition(&p, &y, Some(&w), binning).unwrap();
            let whole = reliability_bins(&p, &y, Some(&w), binning).unwrap();
            prop_assert!(whole.len() <= bins);
            let weight: f64 = whole.iter().map(|bin| bin.weight).sum();
            prop_assert!((weight - 1.0).abs() <= 1e-14);
            // Var(p) - 2 Cov(p, y) within the bins, from the rows.
            let mut within = 0.0;
            for bin in &whole {
                for i in (0..p.len()).filter(|&i| bin.lowest <= p[i] && p[i] <= bin.highest) {
                    let (dp, dy) = (p[i] - bin.forecast, f64::from(y[i]) - bin.rate);
                    within += w[i] * (dp * dp - 2.0 * dp * dy);
                }
            }
            within /= w.iter().sum::<f64>();
            prop_assert!((parts.within - within).abs() <= 1e-14, "{} {}", parts.within, within);
        }
    }
}
