//! Probabilities of several classes: proper scores, confusion, and each class against the rest.

use super::{
    CorpDecomposition, LOG_LOSS_CLIP, Summary, auc, corp_decomposition, expected_calibration_error,
    reliability_bins,
};
use crate::error::{Error, Result, class_labels};

/// All measures of probabilities of several classes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct ClassSummary {
    /// Mean of `-log p_y` in nats, clipped at [`LOG_LOSS_CLIP`].
    pub log_loss: f64,
    /// Mean of `Σ_k (p_k - [y = k])²`: the sum of the classes' own.
    pub brier: f64,
    /// Mean over the classes of their calibration errors.
    pub ece: f64,
    /// Share of rows whose most probable class is their own.
    pub accuracy: f64,
    /// Each class against the rest.
    pub classes: Vec<ClassMeasures>,
    /// `confusion[k * K + j]`: the weight of the rows of class `k` that were taken for `j`.
    pub confusion: Vec<f64>,
}

/// One class against the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ClassMeasures {
    /// The weight of its rows.
    pub weight: f64,
    /// Mean of its probability.
    pub forecast: f64,
    /// Area under the ROC curve of its probability; NaN if no row, or every row, is of the class.
    pub auc: f64,
    /// Mean squared error of its probability, with its CORP decomposition.
    pub brier: CorpDecomposition,
    /// Expected calibration error of its probability over 15 bins of equal count.
    pub ece: f64,
}

impl ClassSummary {
    /// Of probabilities (rows × K, row-major) with the class of each row.
    pub fn new(
        probabilities: &[f64],
        labels: &[u32],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let rows = labels.len();
        if rows == 0 || probabilities.len() != rows * classes {
            let length = probabilities.len();
            return Err(Error::MatrixShape { rows, columns: classes, length });
        }
        class_labels(labels, classes)?;
        let mut each = Vec::with_capacity(classes);
        for class in 0..classes {
            each.push(against_the_rest(probabilities, labels, classes, class, weights)?);
        }
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..rows).map(weight).sum();
        let (mut loss, mut confusion) = (0.0, vec![0.0; classes * classes]);
        for (i, (p, &y)) in probabilities.chunks_exact(classes).zip(labels).enumerate() {
            let y = y as usize;
            loss -= weight(i) * p[y].max(LOG_LOSS_CLIP).ln();
            confusion[y * classes + most_probable(p)] += weight(i);
        }
        let right: f64 = (0..classes).map(|k| confusion[k * classes + k]).sum();
        Ok(Self {
            log_loss: loss / total,
            brier: each.iter().map(|class| class.brier.brier).sum(),
            ece: each.iter().map(|class| class.ece).sum::<f64>() / classes as f64,
            accuracy: right / total,
            classes: each,
            confusion,
        })
    }
}

/// The class of the largest probability; of equal ones the first.
pub fn most_probable(p: &[f64]) -> usize {
    (1..p.len()).fold(0, |best, k| if p[k] > p[best] { k } else { best })
}

fn against_the_rest(
    probabilities: &[f64],
    labels: &[u32],
    classes: usize,
    class: usize,
    weights: Option<&[f64]>,
) -> Result<ClassMeasures> {
    // A sum of masses may be rounded above 1.
    let own = probabilities.iter().skip(class).step_by(classes);
    let p: Vec<f64> = own.map(|p| if *p <= 1.0 + 1e-12 { p.min(1.0) } else { *p }).collect();
    let own: Vec<u8> = labels.iter().map(|&y| u8::from(y as usize == class)).collect();
    let brier = corp_decomposition(&p, &own, weights)?;
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let total: f64 = (0..own.len()).map(weight).sum();
    let of_class: f64 = (0..own.len()).filter(|&i| own[i] == 1).map(weight).sum();
    let bins = reliability_bins(&p, &own, weights, Summary::ECE_BINNING)?;
    let mixed = of_class > 0.0 && of_class < total;
    Ok(ClassMeasures {
        weight: of_class,
        forecast: p.iter().enumerate().map(|(i, p)| weight(i) * p).sum::<f64>() / total,
        auc: if mixed { auc(&p, &own, weights)? } else { f64::NAN },
        brier,
        ece: expected_calibration_error(&bins),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_by_hand() {
        // Three rows of classes 0, 1, 1; class 2 never occurs.
        let p = [0.5, 0.25, 0.25, 0.2, 0.7, 0.1, 0.6, 0.3, 0.1];
        let found = ClassSummary::new(&p, &[0, 1, 1], 3, None).unwrap();
        let loss = -(0.5f64.ln() + 0.7f64.ln() + 0.3f64.ln()) / 3.0;
        assert!((found.log_loss - loss).abs() < 1e-15);
        // 0.25 + 0.0625 + 0.0625, 0.04 + 0.09 + 0.01, 0.36 + 0.49 + 0.01.
        assert!((found.brier - (0.375 + 0.14 + 0.86) / 3.0).abs() < 1e-15);
        assert_eq!(found.confusion, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert!((found.accuracy - 2.0 / 3.0).abs() < 1e-15);
        // Class 0: 0.5 against 0.2 and 0.6: one pair of two in order.
        assert_eq!(found.classes[0].auc, 0.5);
        assert!(found.classes[2].auc.is_nan());
        assert_eq!(found.classes[2].weight, 0.0);
        // A class that never occurs: its error is its mean forecast.
        assert!((found.classes[2].ece - 0.15).abs() < 1e-15);
        assert!((found.classes[2].forecast - 0.15).abs() < 1e-15);
    }

    #[test]
    fn weight_2_is_a_duplicate_and_weight_0_a_removal() {
        let p = [0.5, 0.25, 0.25, 0.2, 0.7, 0.1, 0.6, 0.3, 0.1];
        let twice = [&p[..3], &p[..3], &p[3..6]].concat();
        let one = ClassSummary::new(&p, &[0, 1, 2], 3, Some(&[2.0, 1.0, 0.0])).unwrap();
        let two = ClassSummary::new(&twice, &[0, 0, 1], 3, None).unwrap();
        assert!((one.log_loss - two.log_loss).abs() < 1e-15);
        assert!((one.brier - two.brier).abs() < 1e-15);
        assert!((one.ece - two.ece).abs() < 1e-15);
        assert_eq!(one.confusion, two.confusion);
    }

    #[test]
    fn shapes_and_labels_are_checked() {
        assert!(ClassSummary::new(&[0.5, 0.5], &[0], 3, None).is_err());
        let error = ClassSummary::new(&[0.5, 0.25, 0.25], &[3], 3, None).unwrap_err();
        assert!(error.to_string().contains("labels"), "{error}");
    }
}
