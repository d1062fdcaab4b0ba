//! What was measured and what was learned, for people and for machines.

use std::sync::Arc;

use properloss::link::{InverseLink, LinkSpec};
use properloss::loss::Loss;
use properloss::metrics::{ClassSummary, Summary};
use properloss::sample::Matrix;
use properloss::train::Model;
use properloss_data::Dataset;
use serde_json::{Value, json};

use crate::failure::Result;
use crate::table::{Table, short};

/// Scores and probabilities of rows.
pub fn forecasts(model: &Model, rows: Matrix<'_>) -> properloss::Result<(Vec<f64>, Vec<f64>)> {
    let scores = model.scores(rows)?;
    let mut probabilities = scores.clone();
    model.apply_link(&mut probabilities);
    Ok((scores, probabilities))
}

/// All metrics of a model on labelled examples.
pub fn measure(model: &Model, dataset: &Dataset) -> Result<Summary> {
    let (scores, probabilities) = forecasts(model, dataset.matrix()?)?;
    let weights = dataset.weights.as_deref();
    Ok(Summary::new(&scores, &probabilities, &dataset.labels, weights)?)
}

/// The metrics as JSON.
pub fn metrics_json(summary: &Summary) -> Value {
    json!({
        "auc": summary.auc,
        "log_loss": summary.log_loss,
        "brier": summary.brier.brier,
        "brier_miscalibration": summary.brier.miscalibration,
        "brier_discrimination": summary.brier.discrimination,
        "brier_uncertainty": summary.brier.uncertainty,
        "ece": summary.ece,
        "ece_bins": "15 of equal count",
        "accuracy": summary.accuracy,
    })
}

/// Measures of a round that can be averaged and shown.
pub trait Measures: Sized {
    /// The names of the cells.
    const NAMES: &'static [&'static str];
    /// Cells up to the log-loss, whose standard errors stand behind it.
    const LOG_LOSS: usize;
    /// The numbers of a table's row.
    fn cells(&self) -> Vec<String>;
    /// The mean over rounds.
    fn mean(rounds: &[Self]) -> Self;
}

fn cells(values: &[f64]) -> Vec<String> {
    values.iter().map(|value| format!("{value:.4}")).collect()
}

/// The mean of one measure over the rounds.
fn mean_of<S>(rounds: &[S], value: impl Fn(&S) -> f64) -> f64 {
    rounds.iter().map(value).sum::<f64>() / rounds.len() as f64
}

impl Measures for Summary {
    const NAMES: &'static [&'static str] = &["AUC", "log-loss", "Brier", "ECE", "accuracy"];
    const LOG_LOSS: usize = 2;

    fn cells(&self) -> Vec<String> {
        cells(&[self.auc, self.log_loss, self.brier.brier, self.ece, self.accuracy])
    }

    fn mean(rounds: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f64| mean_of(rounds, value);
        let mut summary = rounds[0];
        summary.auc = mean(|s| s.auc);
        summary.log_loss = mean(|s| s.log_loss);
        summary.brier.brier = mean(|s| s.brier.brier);
        summary.brier.miscalibration = mean(|s| s.brier.miscalibration);
        summary.brier.discrimination = mean(|s| s.brier.discrimination);
        summary.brier.uncertainty = mean(|s| s.brier.uncertainty);
        summary.ece = mean(|s| s.ece);
        summary.accuracy = mean(|s| s.accuracy);
        summary
    }
}

impl Measures for ClassSummary {
    const NAMES: &'static [&'static str] = &["log-loss", "Brier", "ECE", "accuracy"];
    const LOG_LOSS: usize = 1;

    fn cells(&self) -> Vec<String> {
        cells(&[self.log_loss, self.brier, self.ece, self.accuracy])
    }

    /// The first round with the means of what is not of a class.
    fn mean(rounds: &[Self]) -> Self {
        let mut summary = rounds[0].clone();
        summary.log_loss = mean_of(rounds, |s| s.log_loss);
        summary.brier = mean_of(rounds, |s| s.brier);
        summary.ece = mean_of(rounds, |s| s.ece);
        summary.accuracy = mean_of(rounds, |s| s.accuracy);
        summary
    }
}

/// A table of metrics, one row for each part.
pub fn metrics_table<S: Measures>(parts: &[(&str, S)]) -> Table {
    let mut names = vec![""];
    names.extend(S::NAMES);
    let mut table = Table::new(&names);
    for (name, summary) in parts {
        table.row([(*name).to_owned()].into_iter().chain(summary.cells()));
    }
    table
}

/// The probabilities at which a loss is shown.
const SHOWN: [f64; 11] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// What can be said of a link and its loss.
pub struct LinkReport {
    link: Arc<dyn InverseLink>,
    loss: Loss,
    knots: Option<usize>,
    slopes: (f64, f64),
}

impl LinkReport {
    /// Of any loss.
    pub fn new(loss: Loss) -> Self {
        let link = loss.link().clone();
        let (knots, slopes) = match (link.as_piecewise(), link.spec()) {
            (Some(piecewise), _) => {
                (Some(piecewise.knots().knot_count()), piecewise.knots().slope_range())
            }
            (_, LinkSpec::Isotonic { z, u }) => (Some(z.len()), knot_slopes(&z, &u)),
            (_, LinkSpec::Relative { p, .. }) => (Some(p.len()), quantile_slopes(&*link)),
            _ => (None, quantile_slopes(&*link)),
        };
        Self { loss, link, knots, slopes }
    }

    /// The loss.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// How far from symmetric: the largest `|u(c + v) + u(c - v) - 1|`, `u(c) = 1/2`.
    fn asymmetry(&self) -> Option<f64> {
        let Loss::Canonical(loss) = &self.loss else { return None };
        let symmetry = loss.symmetry();
        Some(if symmetry.is_symmetric() { 0.0 } else { symmetry.largest_violation })
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let (low, high) = self.link.support();
        let table: Vec<Value> = self
            .rows()
            .map(|[p, z, zero, one, weight]| {
                json!({"p": p, "score": z, "loss_0": zero, "loss_1": one, "weight": weight})
            })
            .collect();
        json!({
            "loss": {"kind": self.loss.kind().name(), "why": self.loss.why()},
            "link": self.link.spec().name(),
            "knots": self.knots,
            "support": [low, high],
            "slope_min": self.slopes.0,
            "slope_max": self.slopes.1,
            "u_0": self.link.u(0.0),
            "half_at": self.link.u_inverse(0.5),
            "asymmetry": self.asymmetry(),
            "losses": table,
        })
    }

    /// `p, u⁻¹(p), ℓ_0(p), ℓ_1(p), w(p)`.
    fn rows(&self) -> impl Iterator<Item = [f64; 5]> {
        SHOWN.into_iter().map(|p| {
            let loss = |y: f64| self.loss.partial_loss(y, p);
            [p, self.link.u_inverse(p), loss(0.0), loss(1.0), self.loss.weight(p)]
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let (low, high) = self.link.support();
        let knots = self.knots.map_or(String::new(), |knots| format!(", {knots} knots"));
        let asymmetry = match self.asymmetry() {
            None => "none: l1(p) = l0(1 - p), log-loss".to_owned(),
            Some(0.0) => "none: l1(p) = l0(1 - p)".to_owned(),
            Some(value) => format!("{} (largest |u(c + v) + u(c - v) - 1|)", short(value)),
        };
        let support = match (low.is_finite(), high.is_finite()) {
            (false, false) => "any; the probability is never 0 or 1".to_owned(),
            (true, false) => format!("0 below {}, never 1", short(low)),
            (false, true) => format!("never 0, 1 above {}", short(high)),
            (true, true) => format!("0 below {}, 1 above {}", short(low), short(high)),
        };
        let slopes = format!("{} to {}", short(self.slopes.0), short(self.slopes.1));
        let mut text = String::new();
        for (name, value) in [
            ("loss", self.loss.why()),
            ("link", format!("{}{knots}", self.link.spec().name())),
            ("scores", support),
            ("slopes", slopes),
            ("u(0)", short(self.link.u(0.0))),
            ("u(c) = 1/2", format!("at c = {}", short(self.link.u_inverse(0.5)))),
            ("asymmetry", asymmetry),
        ] {
            text.push_str(&format!("{name:<11} {value}\n"));
        }
        let names = ["forecast p", "score", "loss if 0", "loss if 1", "weight"];
        let mut table = Table::new(&names);
        for row in self.rows() {
            table.row(row.map(short));
        }
        text.push('\n');
        text.push_str(&table.text(""));
        text
    }
}

fn knot_slopes(x: &[f64], y: &[f64]) -> (f64, f64) {
    let slopes = (1..x.len()).map(|k| (y[k] - y[k - 1]) / (x[k] - x[k - 1]));
    slopes.fold((f64::INFINITY, 0.0), |(low, high), s| (f64::min(low, s), f64::max(high, s)))
}

/// Of a smooth link between its 1 % and 99 % points.
fn quantile_slopes(link: &dyn InverseLink) -> (f64, f64) {
    (1..100)
        .map(|k| link.derivative(link.u_inverse(f64::from(k) / 100.0)))
        .fold((f64::INFINITY, 0.0), |(low, high), s| (f64::min(low, s), f64::max(high, s)))
}
