//! Pictures of several classes: one panel a class.

use properloss::link::vector::Mixture;
use properloss::metrics::reliability_curve;
use properloss_data::ClassDataset;
use properloss_report::class_learned::{LOG_ODDS as RANGE, along};
use properloss_report::svg::{Axis, BLUE, Corner, Curve, GREY, Panel, calibration_panel, document};

use crate::failure::Result;

/// Panels in a picture; of more classes the first are drawn.
const PANELS: usize = 12;
/// Points of a curve.
const POINTS: usize = 400;
/// The learned link along each class against the rest.
pub fn links(link: &Mixture, names: &[String]) -> String {
    let grid: Vec<f64> =
        (0..=POINTS).map(|k| RANGE * (2.0 * k as f64 / POINTS as f64 - 1.0)).collect();
    let curve = |f: &dyn Fn(f64) -> f64| grid.iter().map(|&u| (u, f(u))).collect::<Vec<_>>();
    let panel = |(class, name): (usize, &String)| Panel {
        title: format!("{name:?} against the rest"),
        x: Axis::linear("log-odds of the softmax", -RANGE, RANGE),
        y: Axis::linear("probability", 0.0, 1.0),
        curves: vec![
            Curve::line("softmax", GREY, curve(&|u| 1.0 / (1.0 + (-u).exp()))).dashed(),
            Curve::line("learned link", BLUE, curve(&|u| along(link, class, u))),
        ],
        legend: Corner::TopLeft,
    };
    document(&names.iter().enumerate().take(PANELS).map(panel).collect::<Vec<_>>())
}

/// A reliability diagram of each class: what was forecast, and what happened.
pub fn reliability(probabilities: &[f64], dataset: &ClassDataset) -> Result<String> {
    let classes = dataset.classes.len();
    let mut panels = Vec::new();
    for (class, name) in dataset.classes.iter().enumerate().take(PANELS) {
        let p: Vec<f64> = probabilities.iter().skip(class).step_by(classes).copied().collect();
        let own: Vec<u8> = dataset.labels.iter().map(|&y| u8::from(y as usize == class)).collect();
        let blocks = reliability_curve(&p, &own, dataset.weights.as_deref())?;
        let title = format!("Reliability, class {name:?}");
        panels.push(calibration_panel(title, "share of the class", &blocks));
    }
    Ok(document(&panels))
}
