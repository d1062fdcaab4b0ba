//! The default estimator for several classes: softmax regression whose strength and link are weighed
//! by cross-validation.
//!
//! ```text
//! PATH   W, Z = the L2 path of multinomial logistic regression, averaged          (path.rs)
//! LINK   p = a mixture of canonical links with at least 1/tau of the softmax      (link.rs)
//! REFIT  W again under the link, blended in as far as held-out likelihood asks    (`Refit`)
//! STACK  W again from its own held-out scores, blended in as far as they ask      (stack.rs)
//! RAMPS  the link again with a monotone curve for every class, blended likewise
//! ```
//!
//! At every point `p >= softmax/tau`, so the log-loss is at most that of the softmax plus `log tau`
//! and no probability is 0. All fold models are fitted together, one pass over the rows a step
//! (`rows.rs`, `panel.rs`), by L-BFGS in the metric of Boehning's bound (`descent.rs`, `metric.rs`).

mod calibrator;
mod curve;
mod descent;
mod dictionary;
mod gram;
mod link;
mod math;
mod metric;
mod null;
mod packed;
mod panel;
mod path;
mod prior;
mod rows;
mod sample;
mod scales;
mod sparse;
mod stack;
mod weights;

pub use calibrator::{MulticlassCalibration, MulticlassCalibrator};
pub use link::ShareBound;
pub use path::ClassPathPoint;
pub use sample::{ClassSample, NEVER};

use crate::design::{Design, FittedScaling, Intercept, Scaling};
use crate::error::{Error, Result, same_length};
use crate::link::vector::Mixture;
use crate::options::options;
use crate::proper::Folds;
use crate::sample::{Matrix, Sample};
use curve::Curve;
use descent::{States, Stop};
use link::{Link, Parts, Scored};
use rows::Rows;
use scales::Scales;

/// The doubt a refit has to overcome, in nats.
const REFIT_DOUBT: f64 = 3.0;
/// The doubt the ramps have to overcome, in nats.
const RAMP_DOUBT: f64 = 2.0;
/// Shares below these are not worth the work.
const LEAST_REFIT: f64 = 0.01;
const LEAST_RAMPS: f64 = 1e-3;
/// The likelihood under a learned link is not convex and over-fits: few steps from a good start.
const REFIT_STOP: Stop = Stop { decrease: 1e-2, max_steps: 10 };
/// The ratios of the link with ramps.
const RAMP_TAUS: [f64; 2] = [2.5, 10.0];

options! {
    /// Options of the default estimator for several classes; the defaults need no thought.
    ///
    /// ```
    /// use properloss::multiclass::{ClassSample, MulticlassProperLoss};
    /// use properloss::sample::Matrix;
    ///
    /// let x: Vec<f64> = (0..60).map(|i| f64::from(i % 30)).collect();
    /// let y: Vec<u32> = (0..60).map(|i| i % 30 / 10).collect();
    /// let sample = ClassSample::new(Matrix::dense_f64(&x, 60, 1)?, &y, 3, None)?;
    /// let fit = MulticlassProperLoss::default().fit(&sample)?;
    /// let p = fit.probabilities(&Matrix::dense_f64(&[2.0, 27.0], 2, 1)?)?;
    /// assert!(p[0] > 0.5 && p[5] > 0.5);
    /// # Ok::<(), properloss::Error>(())
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct MulticlassProperLoss {
        /// Who is held out with whom.
        pub folds: Folds => with_folds,
        /// Factors on the weights of the classes; empty for 1 each.
        pub class_weight: Vec<f64> => with_class_weight,
        /// `log10(2 C d)` of the path's strengths, increasing.
        pub grid: Vec<f64> => with_grid,
        /// Exponents `a` of the column scales that are weighed.
        pub scale_exponents: Vec<f64> => with_scale_exponents,
        /// The ratios `tau >= 1` that are weighed, increasing; the first is 1, the softmax itself.
        pub share_bounds: Vec<f64> => with_share_bounds,
        /// Whether the weights are fitted again, to the held-out scores and under the link.
        pub refit: bool => without_refit = false,
        /// Keep the order of the classes: no floors of single classes, no ramps.
        pub preserve_order: bool => preserving_order = true,
    }
}

impl Default for MulticlassProperLoss {
    fn default() -> Self {
        Self {
            folds: Folds::default(),
            class_weight: Vec::new(),
            grid: path::default_grid(),
            scale_exponents: vec![1.0, 0.5, 0.0],
            share_bounds: vec![1.0, 1.5, 2.5, 5.0, 10.0],
            refit: true,
            preserve_order: false,
        }
    }
}

/// A fitted classifier `x -> p(W x + b)` and what cross-validation weighed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MulticlassFit {
    /// Weights on the features as they were given, class after class.
    pub coefficients: Vec<f64>,
    /// Intercept of every class.
    pub intercepts: Vec<f64>,
    /// The link.
    pub link: Mixture,
    /// The standardisation the weights were fitted under.
    pub scaling: FittedScaling,
    /// Geometric mean of the strengths under the weights of the path.
    pub c: f64,
    /// Share of the weights that the held-out scores ask for, from 0 to 1.
    pub stack_share: f64,
    /// Share of the second fit in the weights, from 0 to 1.
    pub refit_share: f64,
    /// Share of the link with ramps, from 0 to 1.
    pub ramp_share: f64,
    /// Every strength with its held-out log-loss and weight.
    pub path: Vec<ClassPathPoint>,
    /// Every ratio with its cross-fitted log-loss and weight.
    pub ratios: Vec<ShareBound>,
    /// Held-out log-loss of softmax regression (the averaged path), with the link, after the refit,
    /// with the ramps: the result.
    pub held_out_log_loss: [f64; 4],
    /// Certificate of the link: no other masses of its parts are more likely by more than this many
    /// nats over all rows.
    pub link_gap: f64,
    /// Held-out scores of every training row, rows × K (0 for rows that are never held out).
    pub held_out_scores: Vec<f64>,
    /// The fold of every training row; [`NEVER`] for rows that are never held out.
    pub folds: Vec<u32>,
    /// Passes over the rows that were made, in units of all models together.
    pub passes: f64,
}

impl MulticlassProperLoss {
    /// Fits to a sample.
    pub fn fit(&self, sample: &ClassSample<'_>) -> Result<MulticlassFit> {
        let classes = sample.classes();
        self.check(classes)?;
        let weights = self.weights(sample);
        let labels = sample.labels();
        let folds = sample::assign(&self.folds, labels, classes, &weights)?;
        // The standardisation looks at rows and weights alone.
        let rest: Vec<u8> = labels.iter().map(|&y| u8::from(y > 0)).collect();
        let two = Sample::new(sample.matrix(), &rest, Some(&weights))?;
        let design = Design::new(&two, Scaling::Standardise, Intercept::Learned);
        let FittedScaling::Standardise { mean, factor } = design.scaling() else {
            return Err(Error::TooShort { what: "columns", length: 0, minimum: 1 });
        };
        let scaling = (&mean[..], &factor[..]);
        let rows = Rows::new(sample.matrix(), scaling, labels, &weights, &folds, classes);
        let scales = Scales::new(&rows);

        let path = path::fit(&rows, &design, &scales, &self.grid, &self.scale_exponents);
        let plain = path::held_out_loss(&rows, &path.held_out);
        let (mut w, mut z) = (path.w[folds.count].clone(), path.held_out.clone());
        let parts = if self.preserve_order { Parts::UniformFloor } else { Parts::Floors };
        let fit_parts = |z: &[f64], parts, taus: &[f64]| {
            link::fit(Scored { z, labels, classes, folds: &folds }, parts, taus)
        };
        let fit_link = |z: &[f64]| fit_parts(z, parts, &self.share_bounds);
        let mut link = fit_link(&z);
        let before = link.score;
        let (mut share, mut passes) = (0.0, path.passes);
        if self.refit && link.masses[0] < 0.999 {
            let again = Refit { rows: &rows, path: &path, curve: &refit_curve(&link) };
            let second = again.fit(&(0..folds.count as u32).collect::<Vec<_>>());
            passes += second.passes;
            share = sigmoid(fit_link(&second.held_out).score - link.score - REFIT_DOUBT);
            if share > LEAST_REFIT {
                let all = again.fit(&[folds.count as u32]);
                passes += all.passes;
                blend(share, &mut w, &all.models[0].w);
                blend(share, &mut z, &second.held_out);
                link = fit_link(&z);
            } else {
                share = 0.0;
            }
        }
        let mut stack_share = 0.0;
        if self.refit
            && let Some(stacked) = stack::stack(&path, labels, classes, &folds, &self.grid)?
        {
            passes += stacked.passes * (classes + 1) as f64 / rows.dimension() as f64;
            stack_share = sigmoid(fit_link(&stacked.held_out).score - link.score - REFIT_DOUBT);
            if stack_share > LEAST_REFIT {
                blend(stack_share, &mut w, &stacked.w);
                blend(stack_share, &mut z, &stacked.held_out);
                link = fit_link(&z);
            } else {
                stack_share = 0.0;
            }
        }
        let (mut ramp_share, mut ramps) = (0.0, None);
        let mut last = link.score;
        let scored = Scored { z: &z, labels, classes, folds: &folds };
        if !self.preserve_order && link::ramps_could_help(scored, &link, RAMP_TAUS[1]) {
            let with = fit_parts(&z, Parts::Ramps, &RAMP_TAUS);
            ramp_share = sigmoid(with.score - link.score - RAMP_DOUBT);
            if ramp_share > LEAST_RAMPS {
                last = blended_likelihood(&folds.scored, ramp_share, &link, &with);
                ramps = Some(with);
            } else {
                ramp_share = 0.0;
            }
        }
        let total: f64 = folds.scored.iter().sum();
        let d = rows.dimension();
        let (mut coefficients, mut intercepts) = (Vec::new(), Vec::new());
        for w in w.chunks_exact(d) {
            let (raw, intercept) = design.original_coefficients(w);
            coefficients.extend(raw);
            intercepts.push(intercept);
        }
        Ok(MulticlassFit {
            coefficients,
            intercepts,
            link: link::mixture(&link, ramps.as_ref().map(|ramps| (ramp_share, ramps)))?,
            scaling: design.scaling().clone(),
            c: path.c,
            stack_share,
            refit_share: share,
            ramp_share,
            path: path.points,
            ratios: link.ratios,
            held_out_log_loss: [plain, -before, -link.score, -last].map(|sum| sum / total),
            link_gap: ramps.as_ref().map_or(link.gap, |ramps| link.gap.max(ramps.gap)),
            held_out_scores: z,
            folds: folds.of_row,
            passes,
        })
    }

    /// The weights of the rows times those of their classes.
    fn weights(&self, sample: &ClassSample<'_>) -> Vec<f64> {
        let class = |i: usize| self.class_weight.get(sample.labels()[i] as usize).unwrap_or(&1.0);
        (0..sample.rows()).map(|i| sample.weight(i) * class(i)).collect()
    }

    fn check(&self, classes: usize) -> Result<()> {
        if !self.class_weight.is_empty() {
            same_length(("class_weight", self.class_weight.len()), ("classes", classes))?;
        }
        for (what, values, expected, good) in [
            (
                "class_weight",
                &self.class_weight,
                "positive and finite",
                (|v| v > 0.0 && v.is_finite()) as fn(f64) -> bool,
            ),
            ("grid", &self.grid, "log10 of a strength, from -12 to 12", |v| v.abs() <= 12.0),
            ("scale_exponents", &self.scale_exponents, "from 0 to 1", |v| (0.0..=1.0).contains(&v)),
            ("share_bounds", &self.share_bounds, "1 or more", |v| v >= 1.0 && v.is_finite()),
        ] {
            if let Some(index) = values.iter().position(|&v| !good(v)) {
                let value = values[index];
                return Err(Error::ElementOutOfDomain { what, index, value, expected });
            }
            if values.is_empty() && what != "class_weight" {
                return Err(Error::TooShort { what, length: 0, minimum: 1 });
            }
        }
        for (what, values) in [("grid", &self.grid), ("share_bounds", &self.share_bounds)] {
            if let Some(index) = (1..values.len()).find(|&i| values[i] <= values[i - 1]) {
                let (previous, value) = (values[index - 1], values[index]);
                return Err(Error::NotIncreasing { what, index, previous, value });
            }
        }
        Ok(())
    }
}

/// A few steps from the averaged path on `-log p_y(W x) + Σ P w² / 2` under the link.
struct Refit<'a> {
    rows: &'a Rows<'a>,
    path: &'a path::Path,
    curve: &'a Curve,
}

impl Refit<'_> {
    /// The given models, which see the same share of the rows.
    fn fit(&self, numbers: &[u32]) -> States {
        let (rows, penalties) = (self.rows, &self.path.penalties);
        let first = numbers[0] as usize;
        let share =
            if first < rows.folds.count { 1.0 - 1.0 / rows.folds.count as f64 } else { 1.0 };
        let metric = self.path.curvature.metric(rows, share, &penalties[first]);
        let w = numbers.iter().map(|&k| self.path.w[k as usize].clone()).collect();
        let mut states = States::at(rows, self.curve, numbers, w);
        states.descend(rows, self.curve, penalties, &metric, REFIT_STOP);
        states
    }
}

fn refit_curve(link: &Link) -> Curve {
    Curve::Mixture { masses: link.softmax_masses(), floor: link.floor() }
}

/// `Σ w log((1 - share) p + share q)` of the cross-fitted probabilities.
fn blended_likelihood(weights: &[f64], share: f64, a: &Link, b: &Link) -> f64 {
    let pairs = a.held_out.iter().zip(&b.held_out).zip(weights);
    pairs
        .filter(|(_, w)| **w > 0.0)
        .map(|((p, q), w)| w * ((1.0 - share) * p + share * q).ln())
        .sum()
}

fn blend(share: f64, a: &mut [f64], b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += share * (b - *a));
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl MulticlassFit {
    /// `K`.
    pub fn classes(&self) -> usize {
        self.intercepts.len()
    }

    /// The scores `W x + b` of new rows, rows × K, row-major.
    pub fn scores(&self, matrix: &Matrix<'_>) -> Result<Vec<f64>> {
        class_scores(matrix, &self.coefficients, &self.intercepts)
    }

    /// The probabilities of new rows, rows × K, row-major; none is 0, every row sums to 1.
    pub fn probabilities(&self, matrix: &Matrix<'_>) -> Result<Vec<f64>> {
        let z = self.scores(matrix)?;
        let mut p = vec![0.0; z.len()];
        self.link.probabilities_of_rows(&z, &mut p);
        Ok(p)
    }

    /// `tau`: every probability is at least `1/tau` of the softmax's.
    pub fn tau(&self) -> f64 {
        self.link.tau()
    }

    /// Held-out log-loss of the result minus that of the softmax, in nats a row: what the link cost
    /// (if positive) or gained.
    pub fn held_out_cost(&self) -> f64 {
        self.held_out_log_loss[3] - self.held_out_log_loss[0]
    }
}

/// `W x + b` of new rows, rows × K, row-major. `coefficients` holds one class after the other.
pub fn class_scores(
    matrix: &Matrix<'_>,
    coefficients: &[f64],
    intercepts: &[f64],
) -> Result<Vec<f64>> {
    let (classes, columns) = (intercepts.len(), matrix.columns());
    same_length(
        ("columns of X times classes", classes * columns),
        ("coefficients", coefficients.len()),
    )?;
    let design = Design::with_fitted(*matrix, FittedScaling::None, Intercept::Learned)?;
    let rows = matrix.rows();
    let mut result = vec![0.0; rows * classes];
    let (mut z, mut w) = (vec![0.0; rows], vec![0.0; columns + 1]);
    for k in 0..classes {
        w[..columns].copy_from_slice(&coefficients[k * columns..(k + 1) * columns]);
        w[columns] = intercepts[k];
        design.scores(&w, &mut z);
        z.iter().enumerate().for_each(|(i, z)| result[i * classes + k] = *z);
    }
    Ok(result)
}
