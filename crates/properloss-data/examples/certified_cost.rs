//! What a certificate costs: seconds an iteration of certified mode and of plain BregmanTron with
//! the same candidate, line search and data, alternating in one run; the least of five rounds.
//!
//! `cargo run --release -p properloss-data --example certified_cost [gap.csv]` also writes the
//! certificates of the longest run, for a plot of the gap against its bound.

use std::time::Instant;

use properloss::certify::Certificate;
use properloss::design::Scaling;
use properloss::train::{BregmanTron, Certified, Silent, Step, Target};
use properloss_data::idx::{Part, find_image_set};
use properloss_data::synthetic::{Means, gaussians};
use properloss_data::{Classes, ReadOptions, Result, read};

const ITERATIONS: usize = 60;

fn main() -> Result<()> {
    let mut sets = vec![("synth 20000", gaussians(20_000, Means::Stated, 1)?.dataset)];
    let digits = Classes::new(vec!["0".into()], vec!["8".into()])?;
    for (name, classes) in [("mnist", digits), ("fashion-mnist", Classes::odd_v_even())] {
        let Ok(source) = find_image_set(name, Part::Train) else { continue };
        let options = ReadOptions {
            negative: classes.negative,
            positive: classes.positive,
            ..ReadOptions::default()
        };
        let data = read(&source, &options)?;
        let rows = data.rows().min(12_000);
        sets.push((name, data.select(&(0..rows).collect::<Vec<_>>())));
    }
    for (name, data) in &sets {
        let sample = data.sample()?;
        let (mut plain, mut certified) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            let trainer = BregmanTron {
                step: Step::Auto,
                max_iter: ITERATIONS,
                tol: 0.0,
                scaling: Scaling::UnitRows,
                ..BregmanTron::new(Target::Labels)
            };
            let start = Instant::now();
            let fit = trainer.fit(&sample, &mut Silent)?;
            plain = plain.min(start.elapsed().as_secs_f64() / fit.iterations() as f64);
            let trainer = Certified {
                max_iter: ITERATIONS,
                scaling: Scaling::UnitRows,
                ..Certified::default()
            };
            let start = Instant::now();
            let run = trainer.fit(&sample, &mut Silent)?;
            let each = start.elapsed().as_secs_f64() / run.certificates.len() as f64;
            certified = certified.min(each);
        }
        println!(
            "{name:14} m {:6} d {:4}: plain {:8.1} us, certified {:8.1} us an iteration, ratio {:.2}",
            data.rows(),
            data.columns(),
            1e6 * plain,
            1e6 * certified,
            certified / plain
        );
    }
    if let Some(path) = std::env::args().nth(1) {
        let (_, data) = &sets[sets.len() - 1];
        let data = data.select(&(0..1_000).collect::<Vec<_>>());
        let trainer = Certified { scaling: Scaling::UnitRows, ..Certified::default() };
        let run = trainer.fit(&data.sample()?, &mut Silent)?;
        std::fs::write(&path, Certificate::csv(&run.certificates)).map_err(|source| {
            eprintln!("{path}: {source}");
            std::process::exit(1)
        })
    } else {
        Ok(())
    }
}
