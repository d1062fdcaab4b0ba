//! What a method has to beat: logistic regression with a cross-validated penalty, and the two usual
//! calibrations of its held-out scores.

use properloss::chain::{ScoreOrder, isotonic};
use properloss::metrics::log_loss;
use properloss::sample::{Matrix, Sample};
use properloss::train::registry::method;
use properloss::train::{Model, Settings, Silent, Value};
use properloss_data::Dataset;
use properloss_data::groups::fold_of_row;
use properloss_data::split::folds;
use properloss_data::training::Training;

use crate::failure::Result;
use crate::interrupt::STOP;

/// A baseline of `compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// Logistic regression whose `C` has the best held-out log-loss.
    LogisticCv,
    /// Its scores under Platt's sigmoid, fitted to held-out scores.
    Platt,
    /// Its scores under isotonic regression of held-out scores.
    Isotonic,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::LogisticCv, Self::Platt, Self::Isotonic];

    /// The name by which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogisticCv => "logistic-cv",
            Self::Platt => "platt",
            Self::Isotonic => "isotonic",
        }
    }

    /// The baseline of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|baseline| baseline.name() == name)
    }
}

/// Logistic regression on standardised columns, `C` chosen among ten by five folds, as scikit-learn's
/// `LogisticRegressionCV` does; with the held-out scores of the chosen one.
pub struct LogisticCv {
    model: Model,
    held_out: Vec<f64>,
    labels: Vec<u8>,
    weights: Option<Vec<f64>>,
}

impl LogisticCv {
    /// Folds keep `groups` together, if there are any.
    pub fn fit(train: &Dataset, groups: Option<&[u32]>, seed: u64) -> Result<Self> {
        const FOLDS: usize = 5;
        let fold = match groups {
            Some(groups) => fold_of_row(&train.labels, groups, FOLDS, seed)?,
            None => {
                let smallest = train.positives().min(train.rows() - train.positives());
                let mut fold = vec![0; train.rows()];
                let splits = folds(&train.labels, FOLDS.min(smallest), seed)?;
                for (number, split) in splits.iter().enumerate() {
                    for &row in &split.test {
                        fold[row] = number as u32;
                    }
                }
                fold
            }
        };
        let count = fold.iter().max().map_or(0, |&last| last + 1);
        let mut parts = Vec::new();
        for k in 0..count {
            let (test, rest): (Vec<usize>, Vec<usize>) =
                (0..train.rows()).partition(|&i| fold[i] == k);
            parts.push((train.select(&rest), train.select(&test), test));
        }
        let mut best: Option<(f64, f64, Vec<f64>)> = None;
        for step in 0..10 {
            let c = 10f64.powf(-4.0 + 8.0 * f64::from(step) / 9.0);
            let mut scores = vec![0.0; train.rows()];
            for (rest, test, rows) in &parts {
                let model = logistic(&rest.sample()?, c)?;
                for (&i, z) in rows.iter().zip(model.scores(test.matrix()?)?) {
                    scores[i] = z;
                }
            }
            let p: Vec<f64> = scores.iter().map(|&z| sigmoid(z)).collect();
            let loss = log_loss(&p, &train.labels, train.weights.as_deref())?;
            if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
                best = Some((loss, c, scores));
            }
        }
        let (_, c, held_out) = best.unwrap_or((0.0, 1.0, vec![0.0; train.rows()]));
        let (labels, weights) = (train.labels.clone(), train.weights.clone());
        Ok(Self { model: logistic(&train.sample()?, c)?, held_out, labels, weights })
    }

    /// Scores and probabilities of rows under one of the baselines. Isotonic regression ranks by its
    /// probabilities, with their ties.
    pub fn predict(&self, baseline: Baseline, test: &Dataset) -> Result<(Vec<f64>, Vec<f64>)> {
        let scores = self.model.scores(test.matrix()?)?;
        let p: Vec<f64> = match baseline {
            Baseline::LogisticCv => scores.iter().map(|&z| sigmoid(z)).collect(),
            Baseline::Platt => {
                let [a, b] = self.platt()?;
                scores.iter().map(|&z| sigmoid(a * z + b)).collect()
            }
            Baseline::Isotonic => {
                let curve = self.isotonic()?;
                let p: Vec<f64> = scores.iter().map(|&z| interpolate(&curve, z)).collect();
                return Ok((p.clone(), p));
            }
        };
        Ok((scores, p))
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// Platt's `a` and `b`: the targets are `(n₁ + 1)/(n₁ + 2)` and `1/(n₀ + 2)`, so that separable
    /// scores have a finite answer. A target `t` is a positive row of weight `t` and a negative one of
    /// weight `1 - t`.
    fn platt(&self) -> Result<[f64; 2]> {
        let mut total = [0.0f64; 2];
        for (i, &label) in self.labels.iter().enumerate() {
            total[usize::from(label)] += self.weight(i);
        }
        let (mut z, mut labels, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &label) in self.labels.iter().enumerate() {
            let target = match label {
                1 => (total[1] + 1.0) / (total[1] + 2.0),
                _ => 1.0 / (total[0] + 2.0),
            };
            for (label, share) in [(1, target), (0, 1.0 - target)] {
                z.push(self.held_out[i]);
                labels.push(label);
                weights.push(self.weight(i) * share);
            }
        }
        let matrix = Matrix::dense_f64(&z, z.len(), 1)?;
        let sample = Sample::new(matrix, &labels, Some(&weights))?;
        let model = logistic(&sample, f64::INFINITY)?;
        Ok([model.coefficients()[0], model.intercept()])
    }

    /// Scores and values of isotonic regression, equal scores taken together.
    fn isotonic(&self) -> Result<Vec<(f64, f64)>> {
        let (mut order, mut means, mut weights) = (ScoreOrder::new(), Vec::new(), Vec::new());
        order.update(&self.held_out)?;
        order.group_weights(self.weights.as_deref(), &mut weights)?;
        let label = |i: usize| f64::from(self.labels[i]);
        order.group_means(self.weights.as_deref(), label, &mut means)?;
        let values = isotonic(&means, Some(&weights))?;
        Ok(order.scores().iter().copied().zip(values).collect())
    }
}

/// The least of `C Σ w log-loss + |w|²/2` on standardised columns, in the engine's units
/// `l2 = 1/(C Σ w)`.
fn logistic(sample: &Sample<'_>, c: f64) -> Result<Model> {
    let l2 = if c.is_finite() { 1.0 / (c * sample.total_weight()) } else { 0.0 };
    let settings = Settings::from([("l2".to_owned(), Value::Number(l2))]);
    let trained = Training::new(method("logistic")?, settings).run(sample, &STOP, &mut Silent)?;
    Ok(trained.fit.model)
}

fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 { 1.0 / (1.0 + (-z).exp()) } else { z.exp() / (1.0 + z.exp()) }
}

/// Straight lines between the points, level beyond the ends: as scikit-learn's isotonic regression.
fn interpolate(curve: &[(f64, f64)], z: f64) -> f64 {
    let after = curve.partition_point(|&(x, _)| x <= z);
    let Some(&(x1, y1)) = curve.get(after) else { return curve[curve.len() - 1].1 };
    let Some(&(x0, y0)) = after.checked_sub(1).and_then(|k| curve.get(k)) else { return y1 };
    y0 + (y1 - y0) * ((z - x0) / (x1 - x0))
}
