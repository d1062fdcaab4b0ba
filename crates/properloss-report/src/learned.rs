//! What the model is: its link beside the sigmoid, its losses beside log-loss.

use std::sync::Arc;

use properloss::link::{InverseLink, LinkSpec, Sigmoid};
use properloss::loss::{Loss, LossKind};

use crate::figure::{Column, Figure};
use crate::quality::COLOURS;
use crate::svg::{Axis, BLUE, Corner, Curve, GREY, ORANGE, Panel, score_range};
use crate::text::{figure_name, rounded, shown};

/// Points of a smooth curve.
const POINTS: usize = 200;

/// The sigmoid that is 1/4 and 3/4 where the link is.
pub fn matched_sigmoid(link: &dyn InverseLink) -> impl Fn(f64) -> f64 + use<> {
    let (first, third) = (link.u_inverse(0.25), link.u_inverse(0.75));
    let (centre, width) = (0.5 * (first + third), third - first);
    // The sigmoid goes from 1/4 to 3/4 within 2 log 3.
    let factor = 2.0 * 3f64.ln() / width;
    move |z| 1.0 / (1.0 + (-factor * (z - centre)).exp())
}

/// The sigmoid to compare a link with: itself where the link is made of it (or has no quartiles to
/// match), else the one of the same quartiles.
fn reference(link: &dyn InverseLink) -> (&'static str, Box<dyn Fn(f64) -> f64>) {
    let of_sigmoid = match link.spec() {
        LinkSpec::Builtin { name, .. } => name == "sigmoid",
        LinkSpec::Relative { base, .. } => base.name() == "sigmoid",
        _ => false,
    };
    let matched = (link.u_inverse(0.75) - link.u_inverse(0.25)).is_finite();
    if of_sigmoid || !matched {
        ("sigmoid", Box::new(|z| Sigmoid.u(z)))
    } else {
        ("sigmoid, same quartiles", Box::new(matched_sigmoid(link)))
    }
}

/// A title, and whose it is if there are two.
pub(crate) fn of(title: &str, owner: Option<&str>) -> String {
    owner.map_or_else(|| title.to_owned(), |owner| format!("{title}, {}", figure_name(owner)))
}

/// The link beside the sigmoid.
pub fn link_figure(
    link: &dyn InverseLink,
    letter: char,
    number: usize,
    owner: Option<&str>,
) -> Figure {
    let (low, high) = score_range(link);
    // Rounded before the link is taken: what is read out is the link at the score that is shown.
    let mut z: Vec<f64> =
        (0..=POINTS).map(|k| rounded(low + (high - low) * k as f64 / POINTS as f64)).collect();
    z.dedup();
    let u: Vec<f64> = z.iter().map(|&z| link.u(z)).collect();
    let (label, sigmoid) = reference(link);
    let other: Vec<f64> = z.iter().map(|&z| sigmoid(z)).collect();
    let zip = |values: &[f64]| z.iter().copied().zip(values.iter().copied()).collect();
    let panel = Panel {
        title: of("Link", owner),
        x: Axis::linear("score z", low, high),
        y: Axis::linear("probability u(z)", 0.0, 1.0),
        curves: vec![
            Curve::line(label, GREY, zip(&other)).dashed(),
            Curve::line("link u(z)", COLOURS[number], zip(&u)),
        ],
        legend: if link.u_inverse(0.5) > 0.5 * (low + high) {
            Corner::TopLeft
        } else {
            Corner::BottomRight
        },
    };
    let words = "The probability that the model gives each score, beside the sigmoid of logistic \
                 regression. Where the two part, the data asked for another curve.";
    let columns = vec![
        Column::new("score", z.clone()),
        Column::new("link", u),
        Column::new("sigmoid", other),
    ];
    Figure::panel(&format!("link-{letter}"), words, panel, columns, 0)
}

/// The two sides of the loss beside log-loss: of a canonical loss over the forecasts; of log-loss under
/// the link over the scores, since of a forecast it is plain log-loss.
pub fn loss_figure(link: &Arc<dyn InverseLink>, letter: char, owner: Option<&str>) -> Figure {
    let loss = Loss::of_link(link.clone());
    let canonical = loss.kind() == LossKind::Canonical;
    let (low, high) = if canonical { (0.0, 1.0) } else { score_range(&**link) };
    let step = |k: usize| low + (high - low) * k as f64 / POINTS as f64;
    // Rounded first: what is read out is the loss at the number that is shown.
    let mut x: Vec<f64> = (1..POINTS).map(|k| rounded(step(k))).collect();
    x.dedup();
    let side = |y: f64| -> Vec<f64> {
        let one = |&x: &f64| if canonical { loss.partial_loss(y, x) } else { loss.loss(y, x) };
        x.iter().map(one).collect()
    };
    let (zero, one) = (side(0.0), side(1.0));
    let scale = (loss.partial_loss(0.0, 0.5) + loss.partial_loss(1.0, 0.5))
        / (2.0 * std::f64::consts::LN_2);
    let log = |y: f64| -> Vec<f64> {
        let of_forecast = |&p: &f64| -scale * if y == 1.0 { p.ln() } else { (-p).ln_1p() };
        let sigmoid =
            |&z: &f64| if y == 1.0 { Sigmoid.potential(-z) } else { Sigmoid.potential(z) };
        if canonical {
            x.iter().map(of_forecast).collect()
        } else {
            x.iter().map(sigmoid).collect()
        }
    };
    let (log_zero, log_one) = (log(0.0), log(1.0));
    let finite = zero.iter().chain(&one).copied().filter(|l| l.is_finite());
    let top = finite.fold(0.0, f64::max);
    let zip = |values: &[f64]| x.iter().copied().zip(values.iter().copied()).collect();
    let (axis, column, grey, note) = if canonical {
        (
            "forecast probability p",
            "forecast",
            "log-loss",
            "Log-loss is drawn on the same scale at 1/2.",
        )
    } else {
        (
            "score z",
            "score",
            "under the sigmoid",
            "What a forecast costs is plain log-loss; the link says which forecast a score becomes.",
        )
    };
    let panel = Panel {
        title: of("Losses", owner),
        x: Axis::linear(axis, low, high),
        y: Axis::linear("loss", 0.0, 1.25 * top),
        curves: vec![
            Curve::line(grey, GREY, zip(&log_zero)).dashed(),
            Curve::line("", GREY, zip(&log_one)).dashed(),
            Curve::line("if the label is 0", ORANGE, zip(&zero)),
            Curve::line("if the label is 1", BLUE, zip(&one)),
        ],
        legend: Corner::Top,
    };
    let words = format!(
        "What is paid when the label turns out 0 or 1, under the proper loss that belongs to the link. \
         It is {}. {note}",
        loss.why(),
    );
    let columns = vec![
        Column::new(column, x.clone()),
        Column::new("loss if 0", zero),
        Column::new("loss if 1", one),
        Column::new("log-loss if 0", log_zero),
        Column::new("log-loss if 1", log_one),
    ];
    Figure::panel(&format!("losses-{letter}"), &words, panel, columns, 0)
}

/// What holds for every forecast of the model, whatever the data: from the link alone.
pub fn guarantee(link: &dyn InverseLink) -> String {
    let (bottom, top) = (link.u(f64::NEG_INFINITY), link.u(f64::INFINITY));
    let order = match link.spec() {
        LinkSpec::Isotonic { .. } => {
            "The link has flat pieces, so rows of different scores may get the same probability."
        }
        _ => "Probabilities rank rows exactly as the scores do.",
    };
    let range = if bottom > 0.0 || top < 1.0 {
        format!("Every probability lies between {} and {}.", shown(bottom), shown(top))
    } else {
        let (low, high) = link.support();
        if low.is_finite() || high.is_finite() {
            format!(
                "The probability is 0 below the score {} and 1 above {}.",
                shown(low),
                shown(high)
            )
        } else {
            "No probability is exactly 0 or 1, except by rounding.".to_owned()
        }
    };
    let bound = match link.spec() {
        LinkSpec::Relative { base, p, v } => {
            let slopes = (1..p.len()).map(|k| (v[k] - v[k - 1]) / (p[k] - p[k - 1]));
            let ratio = slopes.fold(1.0, |t: f64, s| t.max(s).max(1.0 / s));
            format!(
                "At every score the log-loss is at most that of the {} plus {} nats (the logarithm \
                 of the largest slope ratio, {}), for either label.",
                base.name(),
                shown(ratio.ln()),
                shown(ratio),
            )
        }
        _ => "The link is increasing, so the loss that belongs to it is proper: the true \
              probability is the best forecast under it."
            .to_owned(),
    };
    format!("{bound} {range} {order}")
}
