//! The model without features: where the path begins.

use super::rows::Rows;

/// No weights, and the log-frequencies of the rows each model sees, centred; a class that a model
/// does not see counts as half a row.
pub(super) fn intercepts(rows: &Rows<'_>) -> Vec<Vec<f64>> {
    let (folds, classes, d) = (rows.folds.count, rows.classes, rows.dimension());
    let mut inside = vec![0.0; (folds + 1) * classes];
    let mut total = vec![0.0; classes];
    for (i, &weight) in rows.weights.iter().enumerate() {
        let fold = (rows.folds.of_row[i] as usize).min(folds);
        inside[fold * classes + rows.labels[i] as usize] += weight;
        total[rows.labels[i] as usize] += weight;
    }
    let all: f64 = total.iter().sum();
    let half = 0.5 * all / rows.labels.len() as f64;
    (0..=folds)
        .map(|model| {
            let seen = |k: usize| {
                let held = if model < folds { inside[model * classes + k] } else { 0.0 };
                (total[k] - held).max(half).ln()
            };
            let mean = (0..classes).map(seen).sum::<f64>() / classes as f64;
            let mut w = vec![0.0; classes * d];
            (0..classes).for_each(|k| w[k * d + d - 1] = seen(k) - mean);
            w
        })
        .collect()
}
