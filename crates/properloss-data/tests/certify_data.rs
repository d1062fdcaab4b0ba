//! Certified mode on real data and on the paper's Gaussians: no claim is ever broken.
//!
//! By default short runs on 1,000 rows; `PROPERLOSS_PROFILE=full` (with `--release`) runs the three
//! schedules under three scalings on 1,000 rows and on the full training sets.

mod image_sets;
mod images;

use properloss::design::Scaling;
use properloss::train::{Candidate, Certified, CertifiedFit, Schedule, Silent, Slopes};
use properloss_data::synthetic::{Means, gaussians};
use properloss_data::{Classes, Dataset, ReadOptions};

fn full() -> bool {
    std::env::var("PROPERLOSS_PROFILE").is_ok_and(|value| value == "full")
}

/// `mnist` 0 v 8 or `fashion-mnist` even v odd.
fn image_set(name: &str, classes: Classes) -> Option<Dataset> {
    let Classes { negative, positive, .. } = classes;
    let options = ReadOptions::default().with_negative(negative).with_positive(positive);
    images::image_set(name, "train", &options)
}

fn data_sets() -> Vec<(&'static str, Dataset)> {
    let digits = Classes::new(vec!["0".into()], vec!["8".into()]).unwrap();
    let mut sets = vec![("synth", gaussians(20_000, Means::Stated, 1).unwrap().dataset)];
    sets.extend(image_set("mnist", digits).map(|data| ("mnist 0 v 8", data)));
    sets.extend(
        image_set("fashion-mnist", Classes::odd_v_even()).map(|data| ("fashion-mnist", data)),
    );
    sets
}

fn first_rows(data: &Dataset, rows: usize) -> Dataset {
    data.select(&(0..rows.min(data.rows())).collect::<Vec<_>>())
}

fn run(data: &Dataset, schedule: Schedule, scaling: Scaling, max_iter: usize) -> CertifiedFit {
    let trainer =
        Certified::default().with_schedule(schedule).with_scaling(scaling).with_max_iter(max_iter);
    trainer.fit(&data.sample().unwrap(), &mut Silent).unwrap()
}

/// Every claim holds, by the exact changes and by the losses themselves.
fn check(run: &CertifiedFit) {
    let first = run.certificates.first().map_or(0.0, |c| c.loss_before);
    for c in &run.certificates {
        assert!(!c.violated(), "{c:?}");
        // Sums over up to 60,000 rows of scores that are rounded where they are added up.
        let rounding = 1e-12 * (first + 1.0 / c.slope_max);
        assert!(((c.loss_before - c.loss_after) - c.observed).abs() <= rounding, "{c:?}");
    }
}

fn report(name: &str, scaling: Scaling, schedule: &str, run: &CertifiedFit) {
    let violated = run.certificates.iter().filter(|c| c.violated()).count();
    let gap = |c: Option<&properloss::certify::Certificate>| c.map_or(f64::NAN, |c| c.gap);
    println!(
        "{name:14} {scaling:?} {schedule:18} {:5} iterations, {:?}; violations {violated}; least observed/claimed {:.6}; gap {:.2e} -> {:.2e}",
        run.certificates.len(),
        run.fit.termination,
        run.least_ratio().unwrap_or(f64::NAN),
        gap(run.certificates.first()),
        gap(run.certificates.last()),
    );
}

const SCALINGS: [Scaling; 3] = [Scaling::UnitRows, Scaling::MaxNorm, Scaling::Standardise];

#[test]
fn no_claim_is_broken() {
    for (name, data) in data_sets() {
        let sizes = if full() { vec![1_000, data.rows()] } else { vec![1_000] };
        for rows in sizes {
            let data = first_rows(&data, rows);
            let iterations = if !full() {
                20
            } else if rows == 1_000 {
                1_000
            } else {
                100
            };
            for scaling in if full() { &SCALINGS[..] } else { &SCALINGS[..1] } {
                let monotone =
                    |candidate| Schedule::Monotone { candidate, theta: 0.5, freeze_after: None };
                for candidate in [Candidate::Labels, Candidate::Previous, Candidate::PreviousLink] {
                    let run = run(&data, monotone(candidate), *scaling, iterations);
                    check(&run);
                    assert!(run.certificates.iter().all(|c| c.least_gap <= c.gap_bound));
                    report(name, *scaling, &format!("{candidate:?} {rows}"), &run);
                }
                for slopes in [Slopes::Constant, Slopes::Widest] {
                    let kept = run(&data, Schedule::Repaired { slopes }, *scaling, iterations);
                    check(&kept);
                    report(name, *scaling, &format!("repaired {slopes:?}"), &kept);
                    let stated = run(&data, Schedule::Paper { slopes }, *scaling, iterations);
                    report(name, *scaling, &format!("paper {slopes:?}"), &stated);
                }
            }
        }
    }
}

/// Still decreasing at T = 1000 (only in the full profile): the loss of the last iteration is below
/// that of the one before, and the gap is orders below the first.
#[test]
fn still_decreasing_at_one_thousand() {
    if !full() {
        println!("skipped: set PROPERLOSS_PROFILE=full");
        return;
    }
    for (name, data) in data_sets().into_iter().filter(|(name, _)| *name != "synth") {
        let run = run(&first_rows(&data, 1_000), Schedule::default(), Scaling::UnitRows, 1_000);
        let last = run.certificates.last().unwrap();
        assert_eq!(run.certificates.len(), 1_000, "{name}");
        assert!(last.observed > 0.0 && last.loss_after < run.certificates[900].loss_before);
        assert!(last.least_gap < 1e-2 * run.certificates[0].gap, "{name} {last:?}");
        report(name, Scaling::UnitRows, "T = 1000", &run);
    }
}
