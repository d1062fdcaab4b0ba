//! The trainers on real images: mnist 0 v 8, the full training set, default options.

mod image_sets;
mod images;

use std::sync::Arc;

use properloss::link::Sigmoid;
use properloss::metrics;
use properloss::train::{BregmanTron, CanonicalLossTrainer, Fit, Silent, Target, Termination};
use properloss_data::{Dataset, ReadOptions, Storage};

/// 0 v 8.
fn mnist(part: &str) -> Option<Dataset> {
    let options = ReadOptions::default()
        .with_negative(vec!["0".into()])
        .with_positive(vec!["8".into()])
        .with_storage(Storage::F32);
    images::image_set("mnist", part, &options)
}

/// Test AUC and log-loss.
fn measure(fit: &Fit, test: &Dataset) -> (f64, f64) {
    let scores = fit.model.scores(test.matrix().unwrap()).unwrap();
    let probabilities = fit.model.probabilities(test.matrix().unwrap()).unwrap();
    let auc = metrics::auc(&scores, &test.labels, None).unwrap();
    (auc, metrics::log_loss(&probabilities, &test.labels, None).unwrap())
}

#[test]
fn labels_on_mnist_stops_by_its_own_rule_and_is_calibrated() {
    let (Some(train), Some(test)) = (mnist("train"), mnist("t10k")) else { return };
    assert_eq!((train.rows(), test.rows()), (11_774, 1_954));
    let sample = train.sample().unwrap();
    let fit = BregmanTron::new(Target::Labels).fit(&sample, &mut Silent).unwrap();
    assert_eq!(fit.termination, Termination::Converged);
    let (auc, log_loss) = measure(&fit, &test);
    assert!(auc >= 0.999 && log_loss <= 0.04, "AUC {auc}, log-loss {log_loss}");
    // The yardstick: logistic regression with scikit-learn's C = 1 on the same scaled features.
    let l2 = 1.0 / sample.total_weight();
    let logistic = CanonicalLossTrainer::new(Arc::new(Sigmoid)).with_l2(l2);
    let (baseline, _) = measure(&logistic.fit(&sample, &mut Silent).unwrap(), &test);
    assert!(auc >= baseline - 0.001, "AUC {auc} against {baseline}");
}
