//! What a model of several classes is, seen along one class: its link beside the softmax, its weights.

use properloss::link::vector::{Mixture, VectorLink};
use properloss_data::model_file::ClassModelFile;

use crate::figure::{Column, Figure};
use crate::learned::of;
use crate::quality::COLOURS;
use crate::svg::{Axis, Corner, Curve, GREY, Panel};
use crate::text::{figure_name, rounded};
use crate::weights::{Linear, weights_figure};

/// Points of the curve.
const POINTS: usize = 120;
/// The log-odds that are drawn.
pub const LOG_ODDS: f64 = 7.0;

/// The probability of a class whose log-odds under the softmax are `u`, the others alike:
/// `p_k(z)` at `z_k = u + log(K - 1)`, else 0.
pub fn along(link: &Mixture, class: usize, u: f64) -> f64 {
    let classes = link.classes();
    let mut z = vec![0.0; classes];
    z[class] = u + ((classes - 1) as f64).ln();
    let mut p = vec![0.0; classes];
    link.probabilities(&z, &mut p);
    p[class]
}

/// The link along a class against the rest, beside the softmax; the model is number `number` of the
/// page, and `suffix` ends the names of the class.
pub fn class_link_figure(
    link: &Mixture,
    (class, name): (usize, &str),
    (number, letter): (usize, char),
    suffix: &str,
    owner: Option<&str>,
) -> Figure {
    // Rounded before the link is taken: what is read out is the link at the log-odds that are shown.
    let at = |k: usize| rounded(LOG_ODDS * (2.0 * k as f64 / POINTS as f64 - 1.0));
    let u: Vec<f64> = (0..=POINTS).map(at).collect();
    let softmax: Vec<f64> = u.iter().map(|u| 1.0 / (1.0 + (-u).exp())).collect();
    let p: Vec<f64> = u.iter().map(|&u| along(link, class, u)).collect();
    let zip = |values: &[f64]| u.iter().copied().zip(values.iter().copied()).collect();
    let panel = Panel {
        title: of(&format!("Link of {}", figure_name(name)), owner),
        x: Axis::linear("log-odds of the softmax", -LOG_ODDS, LOG_ODDS),
        y: Axis::linear("probability", 0.0, 1.0),
        curves: vec![
            Curve::line("softmax", GREY, zip(&softmax)).dashed(),
            Curve::line("learned link", COLOURS[number], zip(&p)),
        ],
        legend: Corner::TopLeft,
    };
    let words = "The probability that the model gives the class where softmax regression would give it \
                 these log-odds, the other classes being alike. A curve that ends above 0 or below 1 \
                 has found a floor of noise.";
    let columns = vec![
        Column::new("log-odds", u),
        Column::new("probability", p),
        Column::new("softmax", softmax),
    ];
    Figure::panel(&format!("link-{letter}{suffix}"), words, panel, columns, 0)
}

/// The features that move the score of a class most against the mean of all classes: adding the same
/// to every class changes no probability.
pub fn class_weights_figure(
    file: &ClassModelFile,
    (class, name): (usize, &str),
    deviations: Option<&[f64]>,
    (letter, suffix): (char, &str),
    owner: Option<&str>,
) -> (Figure, String) {
    let count = file.weights.len() as f64;
    let over_mean = |own: f64, all: f64| own - all / count;
    let mut sums = vec![0.0; file.weights[class].len()];
    for row in &file.weights {
        sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += w);
    }
    let own = file.weights[class].iter().zip(&sums);
    let weights: Vec<f64> = own.map(|(&own, &all)| over_mean(own, all)).collect();
    let linear = Linear {
        weights: &weights,
        intercept: over_mean(file.intercepts[class], file.intercepts.iter().sum()),
        scaling: &file.preprocessing.scaling,
        name: &|j| file.feature_name(j),
    };
    let title = of(&format!("Weights of {}", figure_name(name)), owner);
    let what = "the score of the class, against the mean of all classes,";
    weights_figure(&linear, deviations, &format!("weights-{letter}{suffix}"), &title, what)
}
