//! The bound that every fit carries, on the very rows it was fitted to.

use properloss::calibration_certificate::FitBound;
use properloss::proper::{Calibrator, ProperFit, ProperLoss};
use properloss::sample::{Matrix, Sample};
use properloss_data::random::Random;

use crate::SIZES;
use crate::links::{LINKS, draw, rms};

const HEADER: &str = "| fits | failures of the fit | of its held-out part | assumption rejected | true RMS | bound | true RMS, held-out part | bound |\n|---|---|---|---|---|---|---|---|---|";

#[derive(Default)]
struct Tally {
    fits: usize,
    failures: [usize; 2],
    rejected: usize,
    /// Of the fit, then of its held-out part: true distance and bound.
    values: [[Vec<f64>; 2]; 2],
}

impl Tally {
    fn add(&mut self, bound: &FitBound, truth: [f64; 2]) {
        self.fits += 1;
        self.rejected += usize::from(bound.assumption_rejected());
        for (part, claimed) in [bound.rms, bound.held_out_rms].into_iter().enumerate() {
            self.failures[part] += usize::from(claimed < truth[part]);
            self.values[part][0].push(truth[part]);
            self.values[part][1].push(claimed);
        }
    }

    fn line(&mut self, name: &str) -> String {
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            format!("{:.4}", values[values.len() / 2])
        };
        let columns: Vec<String> = self.values.iter_mut().flatten().map(median).collect();
        let [fit, held_out] = self.failures;
        let (fits, rejected) = (self.fits, self.rejected);
        format!("| {name} | {fits} | {fit} | {held_out} | {rejected} | {} |", columns.join(" | "))
    }
}

fn print(title: &str, mut by_size: Vec<Tally>, mut by_link: Vec<Tally>) {
    println!("{title}\n\n| rows {HEADER}");
    for (tally, size) in by_size.iter_mut().zip(SIZES) {
        println!("{}", tally.line(&size.to_string()));
    }
    println!("\n| link {HEADER}");
    for (tally, (name, _)) in by_link.iter_mut().zip(LINKS) {
        println!("{}", tally.line(name));
    }
    println!();
}

fn tallies(count: usize) -> Vec<Tally> {
    (0..count).map(|_| Tally::default()).collect()
}

/// Every size, link and repetition, each with a stream of its own.
fn each_fit(fits: usize, stream: usize, mut each: impl FnMut(usize, usize, &mut Random)) {
    for size_index in 0..SIZES.len() {
        for k in 0..LINKS.len() {
            for fit in 0..fits {
                let number = (stream + size_index * 10 + k) as u64;
                each(size_index, k, &mut Random::stream(fit as u64, number));
            }
        }
    }
}

/// Calibrators: one score, so the truth is the link itself.
pub fn calibrators(fits: usize) {
    let (mut by_size, mut by_link) = (tallies(SIZES.len()), tallies(LINKS.len()));
    each_fit(fits, 300, |size_index, k, random| {
        let link = LINKS[k].1;
        let rows = draw(random, link, SIZES[size_index]);
        let (s, y) = (&rows.scores, &rows.labels);
        let Ok(map) = Calibrator::default().fit(s, y, None) else { return };
        let bound = map.calibration_bound(s, y, None, None, 0.95).expect("a bound");
        let truth = rms(&map.probabilities(s).expect("finite"), s, link);
        by_size[size_index].add(&bound, [truth; 2]);
        by_link[k].add(&bound, [truth; 2]);
    });
    print("Calibrators on their own rows", by_size, by_link);
}

const COLUMNS: usize = 4;
/// The true weights; scores have a deviation of 1.5, as in the other tables.
const TRUE: [f64; COLUMNS] = [1.2, -0.9, 0.0, 0.0];

/// The default estimator, on four normal columns: the truth given the score of a fold model is a mean of
/// the link over what that score leaves open.
pub fn classifiers(fits: usize) {
    let (mut by_size, mut by_link) = (tallies(SIZES.len()), tallies(LINKS.len()));
    each_fit(fits, 400, |size_index, k, random| {
        let (size, link) = (SIZES[size_index], LINKS[k].1);
        let x: Vec<f64> = (0..size * COLUMNS).map(|_| random.gaussian()).collect();
        let y: Vec<u8> = x
            .chunks_exact(COLUMNS)
            .map(|row| u8::from(random.uniform() < link(dot(row, &TRUE))))
            .collect();
        let matrix = Matrix::dense_f64(&x, size, COLUMNS).expect("a matrix");
        let sample = Sample::new(matrix, &y, None).expect("a sample");
        let options = ProperLoss::default();
        let Ok(fitted) = options.fit(&sample) else { return };
        let bound = options.calibration_bound(&fitted, &sample, 0.95);
        let bound = bound.expect("rows").expect("a bound");
        let truth = truths(&fitted, &x, link);
        let distance = |p: &[f64]| {
            let square = |(p, t): (&f64, &f64)| (p - t).powi(2);
            (p.iter().zip(&truth).map(square).sum::<f64>() / size as f64).sqrt()
        };
        let held_out: Vec<f64> = fitted
            .held_out_scores
            .iter()
            .map(|&z| properloss::link::InverseLink::u(fitted.link.as_ref(), z))
            .collect();
        let shipped = fitted.probabilities(&matrix).expect("probabilities");
        let truth = [distance(&shipped), distance(&held_out)];
        by_size[size_index].add(&bound, truth);
        by_link[k].add(&bound, truth);
    });
    print("The default estimator on its own rows", by_size, by_link);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `η(s_i) = E[link(TRUE.x) | w.x = s_i]`, `w` the weights of the fold's model.
fn truths(fit: &ProperFit, x: &[f64], link: fn(f64) -> f64) -> Vec<f64> {
    let folds = fit.folds.iter().max().map_or(0, |&last| last as usize + 1);
    let models: Vec<[f64; COLUMNS + 1]> = (0..folds)
        .map(|k| {
            let inside: Vec<usize> =
                (0..fit.folds.len()).filter(|&i| fit.folds[i] as usize == k).collect();
            line_through(&inside, x, &fit.point_scores)
        })
        .collect();
    (0..fit.folds.len())
        .map(|i| {
            let w = &models[fit.folds[i] as usize];
            let (weights, intercept) = (&w[..COLUMNS], w[COLUMNS]);
            let norm = dot(weights, weights);
            let along = if norm > 1e-20 { dot(&TRUE, weights) / norm } else { 0.0 };
            let left = (dot(&TRUE, &TRUE) - along * along * norm).max(0.0).sqrt();
            let centre = along * (fit.point_scores[i] - intercept);
            normal_mean(|t| link(centre + left * t))
        })
        .collect()
}

/// The mean over a standard normal variable, on a grid.
fn normal_mean(f: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for k in -60..=60 {
        let t = f64::from(k) / 12.0;
        let density = (-0.5 * t * t).exp();
        sum += density * f(t);
        total += density;
    }
    sum / total
}

/// Weights and intercept of scores that are affine in the columns: least squares, by elimination.
fn line_through(rows: &[usize], x: &[f64], scores: &[f64]) -> [f64; COLUMNS + 1] {
    const N: usize = COLUMNS + 1;
    let mut a = [[0.0; N + 1]; N];
    for &i in rows {
        let mut row = [1.0; N];
        row[..COLUMNS].copy_from_slice(&x[i * COLUMNS..(i + 1) * COLUMNS]);
        for j in 0..N {
            (0..N).for_each(|l| a[j][l] += row[j] * row[l]);
            a[j][N] += row[j] * scores[i];
        }
    }
    for j in 0..N {
        for l in (0..N).filter(|&l| l != j) {
            let factor = a[l][j] / a[j][j];
            (0..=N).for_each(|m| a[l][m] -= factor * a[j][m]);
        }
    }
    std::array::from_fn(|j| a[j][N] / a[j][j])
}
