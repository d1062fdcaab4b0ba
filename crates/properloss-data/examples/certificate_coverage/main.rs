//! `make certificate-coverage`: does the calibration certificate hold as often as it says, and how
//! tight is it? Simulated fits of the calibrator over ten links and four sizes; the true probability
//! of every row is known. `own_rows.rs`: the bound that every fit carries, on the rows it was fitted to.
//!
//! Arguments: fits per link and size on fresh rows (default 250), with folds (default 50).

use properloss::calibration_certificate::{CalibrationBound, HeldOut, calibration_bound};
use properloss::proper::Calibrator;
use properloss_data::random::Random;

mod links;
mod own_rows;

use links::{LINKS, Rows, draw, rms};

const SIZES: [usize; 4] = [200, 1_000, 5_000, 20_000];
const FOLDS: usize = 5;

/// A calibrator's probabilities for scores; `None` if a class is missing.
fn fitted(train: &Rows) -> Option<impl Fn(&[f64]) -> Vec<f64> + use<>> {
    let calibration = Calibrator::default().fit(&train.scores, &train.labels, None).ok()?;
    Some(move |scores: &[f64]| calibration.probabilities(scores).expect("finite scores"))
}

/// The grid and weights of the population of scores.
fn population() -> (Vec<f64>, Vec<f64>) {
    let grid: Vec<f64> = (0..=1200).map(|k| 1.5 * (f64::from(k) / 100.0 - 6.0)).collect();
    let density: Vec<f64> = grid.iter().map(|s| (-0.5 * (s / 1.5_f64).powi(2)).exp()).collect();
    let total: f64 = density.iter().sum();
    (grid, density.iter().map(|d| d / total).collect())
}

#[derive(Default)]
struct Tally {
    fits: usize,
    failures: usize,
    population_failures: usize,
    distance: Vec<f64>,
    bound: Vec<f64>,
    population_bound: Vec<f64>,
    /// With exponent 1/2 and the log-loss alone, no choice of λ.
    plain: Vec<f64>,
    rejected: usize,
}

impl Tally {
    fn add(&mut self, bound: CalibrationBound, distance: f64, population: f64) {
        self.fits += 1;
        self.failures += usize::from(bound.rms < distance);
        let population_bound = bound.population_rms.expect("no weights");
        self.population_failures += usize::from(population_bound < population);
        self.distance.push(distance);
        self.bound.push(bound.rms);
        self.population_bound.push(population_bound);
        let (n, k) = (bound.rows as f64, bound.folds as f64);
        let level = 2.0 * k * (1.0 / (1.0 - bound.confidence)).ln();
        self.plain.push(((bound.log_excess + level) / n).sqrt().min(1.0));
        self.rejected += usize::from(bound.assumption_rejected());
    }

    fn line(&mut self, name: &str) -> String {
        let median = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        format!(
            "| {name} | {} | {} | {} | {} | {:.4} | {:.4} | {:.4} | {:.4} |",
            self.fits,
            self.failures,
            self.population_failures,
            self.rejected,
            median(&mut self.distance),
            median(&mut self.bound),
            median(&mut self.population_bound),
            median(&mut self.plain),
        )
    }
}

/// A line for each size, over every link and repetition; each has a stream of its own.
fn by_size(
    fits: usize,
    stream: usize,
    mut each: impl FnMut(&mut Tally, usize, usize, &mut Random),
) {
    for (size_index, &size) in SIZES.iter().enumerate() {
        let mut tally = Tally::default();
        for k in 0..LINKS.len() {
            for fit in 0..fits {
                let number = (stream + size_index * 10 + k) as u64;
                each(&mut tally, size, k, &mut Random::stream(fit as u64, number));
            }
        }
        println!("{}", tally.line(&size.to_string()));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let fresh_fits = arguments.next().unwrap_or(250);
    let fold_fits = arguments.next().unwrap_or(50);
    own_rows::calibrators(fresh_fits);
    own_rows::classifiers(fold_fits);
    let (grid, density) = population();
    let population_rms = |at: &[f64], link: fn(f64) -> f64| {
        let square = |((v, s), w): ((&f64, &f64), &f64)| w * (v - link(*s)).powi(2);
        at.iter().zip(&grid).zip(&density).map(square).sum::<f64>().sqrt()
    };
    let mut by_link: Vec<Tally> = LINKS.iter().map(|_| Tally::default()).collect();
    let header = "| fits | failures | failures, population | assumption rejected | true RMS | bound | bound, population | plain bound |\n|---|---|---|---|---|---|---|---|---|";

    println!("Fresh rows, fitted on as many others\n\n| rows {header}");
    by_size(fresh_fits, 0, |tally, size, k, random| {
        let link = LINKS[k].1;
        let Some(model) = fitted(&draw(random, link, size)) else { return };
        let rows = draw(random, link, size);
        let p = model(&rows.scores);
        let held_out = HeldOut::new(&p, &rows.labels, None, None).expect("rows");
        let bound = calibration_bound(&held_out, 0.95).expect("a bound");
        let (here, all) = (rms(&p, &rows.scores, link), population_rms(&model(&grid), link));
        tally.add(bound, here, all);
        by_link[k].add(bound, here, all);
    });
    println!("\nBy link\n\n| link {header}");
    for (tally, (name, _)) in by_link.iter_mut().zip(LINKS) {
        println!("{}", tally.line(name));
    }

    println!("\nThe truth itself on fresh rows\n\n| rows {header}");
    by_size(fold_fits, 200, |tally, size, k, random| {
        let link = LINKS[k].1;
        let rows = draw(random, link, size);
        let p: Vec<f64> = rows.scores.iter().map(|&s| link(s)).collect();
        let held_out = HeldOut::new(&p, &rows.labels, None, None).expect("rows");
        tally.add(calibration_bound(&held_out, 0.95).expect("a bound"), 0.0, 0.0);
    });

    println!("\nFive fold models, each on the rows it has not seen\n\n| rows {header}");
    by_size(fold_fits, 100, |tally, size, k, random| {
        let link = LINKS[k].1;
        let rows = draw(random, link, size);
        let folds: Vec<u32> = (0..size).map(|i| (i % FOLDS) as u32).collect();
        let mut p = vec![0.0; size];
        let mut squares = 0.0;
        let mut complete = true;
        for fold in 0..FOLDS {
            let part = |inside: bool| Rows {
                scores: pick(&rows.scores, fold, inside),
                labels: pick(&rows.labels, fold, inside),
            };
            let Some(model) = fitted(&part(false)) else {
                complete = false;
                break;
            };
            for (j, value) in model(&part(true).scores).into_iter().enumerate() {
                p[fold + j * FOLDS] = value;
            }
            squares += population_rms(&model(&grid), link).powi(2) / FOLDS as f64;
        }
        if complete {
            let held_out = HeldOut::new(&p, &rows.labels, None, Some(&folds)).expect("rows");
            let bound = calibration_bound(&held_out, 0.95).expect("a bound");
            tally.add(bound, rms(&p, &rows.scores, link), squares.sqrt());
        }
    });
}

/// The rows of one fold, or all others.
fn pick<T: Copy>(values: &[T], fold: usize, inside: bool) -> Vec<T> {
    let wanted = |i: usize| (i % FOLDS == fold) == inside;
    values.iter().enumerate().filter(|&(i, _)| wanted(i)).map(|(_, &value)| value).collect()
}
