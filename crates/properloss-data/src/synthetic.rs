//! Synthetic examples whose true probabilities are known.

use properloss::link::InverseLink;

use crate::dataset::{DataDescription, Dataset, Features};
use crate::encoder::{Encoder, Label};
use crate::error::{Error, Result};
use crate::labels::Classes;
use crate::memory::COLUMN_LIMIT;
use crate::random::Random;

/// Purposes of the random streams; part of the definition of every data set.
const ROWS: u64 = 1;
const LABELS: u64 = 2;
const WEIGHTS: u64 = 3;

/// Examples and the truth behind them.
#[derive(Debug, Clone, PartialEq)]
pub struct Synthetic {
    /// The examples; features `x1`, `x2`, ..., classes `0` and `1`.
    pub dataset: Dataset,
    /// `P(y = 1 | x)` of each row, label noise included: no classifier can do better than this.
    pub bayes: Vec<f64>,
    /// `P(y = 1 | x)` of each row before label noise.
    pub clean: Vec<f64>,
    /// The true weights: `z = weights·x + intercept` orders the rows as `bayes` does.
    pub weights: Vec<f64>,
    /// The true intercept.
    pub intercept: f64,
}

/// The two readings of the paper's synthetic data: its text and its figures do not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Means {
    /// Means ±(1, 1), as the text says: Bayes AUC Φ(2) = 0.9772, Bayes accuracy Φ(√2) = 0.9214.
    #[default]
    Stated,
    /// Means ±(1, 1)/√2, which give the figure's AUC: Φ(√2) = 0.9214; Bayes accuracy Φ(1) = 0.8413.
    UnitNorm,
}

impl Means {
    /// Each coordinate of the positive mean.
    pub fn coordinate(self) -> f64 {
        match self {
            Self::Stated => 1.0,
            Self::UnitNorm => std::f64::consts::FRAC_1_SQRT_2,
        }
    }

    /// The AUC of the best classifier, `Φ(|μ_1 - μ_0|/√2)`.
    pub fn bayes_auc(self) -> f64 {
        normal_cdf(2.0 * self.coordinate())
    }

    /// The accuracy of the best classifier, `Φ(|μ_1 - μ_0|/2)`.
    pub fn bayes_accuracy(self) -> f64 {
        normal_cdf(self.coordinate() * std::f64::consts::SQRT_2)
    }
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The paper's two Gaussians in the plane, `N(±μ, I)` with the classes equally likely.
///
/// By Bayes' rule the log odds are `log N(x; μ) - log N(x; -μ) = 2 μ·x`: the true link is the
/// sigmoid.
pub fn gaussians(rows: usize, means: Means, seed: u64) -> Result<Synthetic> {
    check_rows(rows)?;
    let c = means.coordinate();
    let mut labels_stream = Random::stream(seed, LABELS);
    let mut rows_stream = Random::stream(seed, ROWS);
    let (mut values, mut labels, mut bayes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let label = u8::from(labels_stream.uniform() < 0.5);
        let mean = if label == 1 { c } else { -c };
        let x = [mean + rows_stream.gaussian(), mean + rows_stream.gaussian()];
        bayes.push(sigmoid(2.0 * c * (x[0] + x[1])));
        values.extend(x);
        labels.push(label);
    }
    let name = match means {
        Means::Stated => "gaussians",
        Means::UnitNorm => "gaussians-unit-norm",
    };
    Ok(Synthetic {
        dataset: dataset(name, seed, values, 2, labels)?,
        clean: bayes.clone(),
        bayes,
        weights: vec![2.0 * c; 2],
        intercept: 0.0,
    })
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

/// A single-index model: `x ~ N(0, I)`, and the probability depends on `z = weights·x + intercept`
/// alone,
///
/// ```text
/// clean(x) = floor + (ceiling - floor) u(z)
/// bayes(x) = (1 - flip_positive) clean(x) + flip_negative (1 - clean(x))
/// ```
///
/// The same seed gives the same rows whatever the link and the noise are.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleIndex {
    /// The true weights; their number is the number of features.
    pub weights: Vec<f64>,
    /// The true intercept.
    pub intercept: f64,
    /// The probability far to the left.
    pub floor: f64,
    /// The probability far to the right.
    pub ceiling: f64,
    /// The share of the negatives whose label is turned into 1.
    pub flip_negative: f64,
    /// The share of the positives whose label is turned into 0.
    pub flip_positive: f64,
}

impl SingleIndex {
    /// Weights in a random direction, of the given norm; no floor, ceiling or noise.
    pub fn new(features: usize, norm: f64, seed: u64) -> Result<Self> {
        if !(1..=COLUMN_LIMIT).contains(&features) {
            return Err(bad(
                "the number of features",
                &features.to_string(),
                "from 1 to 1,048,576",
            ));
        }
        let mut random = Random::stream(seed, WEIGHTS);
        let direction: Vec<f64> = (0..features).map(|_| random.gaussian()).collect();
        let length = direction.iter().map(|w| w * w).sum::<f64>().sqrt();
        Ok(Self {
            weights: direction.iter().map(|w| w * (norm / length)).collect(),
            intercept: 0.0,
            floor: 0.0,
            ceiling: 1.0,
            flip_negative: 0.0,
            flip_positive: 0.0,
        })
    }

    /// The same model with labels flipped at random, in either class alike.
    #[must_use]
    pub fn with_symmetric_noise(mut self, flip: f64) -> Self {
        (self.flip_negative, self.flip_positive) = (flip, flip);
        self
    }

    /// Examples under a link of the core.
    pub fn generate_with_link(
        &self,
        name: &str,
        link: &dyn InverseLink,
        rows: usize,
        seed: u64,
    ) -> Result<Synthetic> {
        self.generate(name, |z| link.u(z), rows, seed)
    }

    /// Examples under any function `u` from scores to [0, 1]; `name` goes into the description.
    pub fn generate(
        &self,
        name: &str,
        u: impl Fn(f64) -> f64,
        rows: usize,
        seed: u64,
    ) -> Result<Synthetic> {
        check_rows(rows)?;
        self.check()?;
        let columns = self.weights.len();
        let mut labels_stream = Random::stream(seed, LABELS);
        let mut rows_stream = Random::stream(seed, ROWS);
        let mut values = Vec::with_capacity(rows * columns);
        let (mut labels, mut clean, mut bayes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let mut z = self.intercept;
            for w in &self.weights {
                let x = rows_stream.gaussian();
                z += w * x;
                values.push(x);
            }
            let value = u(z);
            if !(0.0..=1.0).contains(&value) {
                return Err(bad("the true link", &format!("{value} at {z}"), "inside [0, 1]"));
            }
            let p = self.floor + (self.ceiling - self.floor) * value;
            let q = (1.0 - self.flip_positive) * p + self.flip_negative * (1.0 - p);
            labels.push(u8::from(labels_stream.uniform() < q));
            clean.push(p);
            bayes.push(q);
        }
        Ok(Synthetic {
            dataset: dataset(&format!("single-index {name}"), seed, values, columns, labels)?,
            bayes,
            clean,
            weights: self.weights.clone(),
            intercept: self.intercept,
        })
    }

    fn check(&self) -> Result<()> {
        if self.weights.is_empty() {
            return Err(bad("the number of features", "0", "1 or more"));
        }
        if let Some(w) = self.weights.iter().chain([&self.intercept]).find(|w| !w.is_finite()) {
            return Err(bad("a true weight", &w.to_string(), "finite"));
        }
        let inside = |value: f64| (0.0..=1.0).contains(&value);
        if !(inside(self.floor) && inside(self.ceiling) && self.floor < self.ceiling) {
            let value = format!("[{}, {}]", self.floor, self.ceiling);
            return Err(bad("the range of floor and ceiling", &value, "inside [0, 1], not empty"));
        }
        for flip in [self.flip_negative, self.flip_positive] {
            if !inside(flip) {
                return Err(bad("the label noise", &flip.to_string(), "inside [0, 1]"));
            }
        }
        if self.flip_negative + self.flip_positive >= 1.0 {
            let sum = (self.flip_negative + self.flip_positive).to_string();
            return Err(bad("the sum of the two label noises", &sum, "below 1"));
        }
        Ok(())
    }
}

fn check_rows(rows: usize) -> Result<()> {
    if rows == 0 { Err(bad("the number of rows", "0", "1 or more")) } else { Ok(()) }
}

fn bad(what: &'static str, value: &str, expected: &str) -> Error {
    Error::BadOption { what, value: value.to_owned(), expected: expected.to_owned() }
}

fn dataset(
    name: &str,
    seed: u64,
    values: Vec<f64>,
    columns: usize,
    labels: Vec<u8>,
) -> Result<Dataset> {
    let mut encoder = Encoder::numeric((1..=columns).map(|j| format!("x{j}")));
    let classes = Classes::new(vec!["0".into()], vec!["1".into()])?;
    encoder.label =
        Some(Label { column: Some("label".into()), classes: classes.clone(), skip_others: false });
    Ok(Dataset {
        features: Features::DenseF64 { values, columns },
        description: DataDescription {
            source: format!("{name}, seed {seed}"),
            format: "synthetic".into(),
            rows: labels.len() as u64,
            features: columns as u64,
            ..DataDescription::default()
        },
        labels,
        weights: None,
        classes: classes.names(),
        encoder,
    })
}
