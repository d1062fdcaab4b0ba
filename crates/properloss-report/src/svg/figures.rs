//! The figures of the commands.

use properloss::certify::Certificate;
use properloss::link::InverseLink;
use properloss::loss::{Loss, LossKind};
use properloss::metrics::CalibrationBlock;

use super::{Axis, BLUE, Corner, Curve, GREY, ORANGE, Panel, document};

/// How many points a smooth curve has.
const POINTS: usize = 400;

/// A link and its losses. `references` are further links for the left panel, dashed.
pub fn link_and_losses(
    title: &str,
    link: &dyn InverseLink,
    references: &[(&str, &dyn Fn(f64) -> f64)],
    loss: &Loss,
) -> String {
    let (low, high) = score_range(link);
    let curve = |f: &dyn Fn(f64) -> f64| grid(low, high).map(|z| (z, f(z))).collect();
    let mut curves: Vec<Curve> =
        references.iter().map(|(name, u)| Curve::line(name, GREY, curve(u)).dashed()).collect();
    curves.push(Curve::line("link u(z)", BLUE, link_points(link, low, high)));
    let mut panels = vec![Panel {
        title: title.to_owned(),
        x: Axis::linear("score z", low, high),
        y: Axis::linear("probability u(z)", 0.0, 1.0),
        curves,
        // Where the curve is not: above it before it rises, below it after.
        legend: if link.u_inverse(0.5) > 0.5 * (low + high) {
            Corner::TopLeft
        } else {
            Corner::BottomRight
        },
    }];
    panels.push(match loss.kind() {
        LossKind::Canonical => losses(loss),
        LossKind::Composite => losses_of_scores(loss, low, high),
    });
    document(&panels)
}

/// The two partial losses, beside log-loss scaled to the same sum at 1/2.
fn losses(loss: &Loss) -> Panel {
    let scale = (loss.partial_loss(0.0, 0.5) + loss.partial_loss(1.0, 0.5))
        / (2.0 * std::f64::consts::LN_2);
    let inner = || grid(0.002, 0.998);
    let partial = |y: f64| -> Vec<(f64, f64)> {
        grid(0.0, 1.0).map(|p| (p, loss.partial_loss(y, p))).collect()
    };
    let (zero, one) = (partial(0.0), partial(1.0));
    let log: [Vec<(f64, f64)>; 2] = [
        inner().map(|p| (p, -scale * (-p).ln_1p())).collect(),
        inner().map(|p| (p, -scale * p.ln())).collect(),
    ];
    // What is seen is up to the loss of a forecast of 2 %; beyond that log-loss goes to infinity.
    let top = [loss.partial_loss(0.0, 0.98), loss.partial_loss(1.0, 0.02), 3.0 * scale]
        .into_iter()
        .filter(|l| l.is_finite())
        .fold(0.0, f64::max);
    let [log_zero, log_one] = log;
    Panel {
        title: "Losses".into(),
        x: Axis::linear("forecast probability p", 0.0, 1.0),
        y: Axis::linear("loss", 0.0, 1.05 * top),
        curves: vec![
            Curve::line("log-loss, same scale", GREY, log_zero).dashed(),
            Curve::line("", GREY, log_one).dashed(),
            Curve::line("if the label is 0", ORANGE, zero),
            Curve::line("if the label is 1", BLUE, one),
        ],
        legend: Corner::Top,
    }
}

/// Log-loss under the link: of forecasts it is plain log-loss, so what was learned shows over the
/// scores.
fn losses_of_scores(loss: &Loss, low: f64, high: f64) -> Panel {
    let curve = |y: f64| grid(low, high).map(|z| (z, loss.loss(y, z))).collect::<Vec<_>>();
    let (zero, one) = (curve(0.0), curve(1.0));
    let top = zero.iter().chain(&one).map(|&(_, l)| l).fold(0.0, f64::max);
    Panel {
        title: "Losses: log-loss under the link".into(),
        x: Axis::linear("score z", low, high),
        y: Axis::linear("loss", 0.0, 1.05 * top),
        curves: vec![
            Curve::line("if the label is 0", ORANGE, zero),
            Curve::line("if the label is 1", BLUE, one),
        ],
        legend: Corner::Top,
    }
}

/// The scores where the link varies: its support, or from 0.2 % to 99.8 %.
pub(crate) fn score_range(link: &dyn InverseLink) -> (f64, f64) {
    let (mut low, mut high) = link.support();
    // A link may have limits other than 0 and 1.
    let (bottom, top) = (link.u(f64::NEG_INFINITY), link.u(f64::INFINITY));
    if !low.is_finite() {
        low = link.u_inverse(bottom + 0.002 * (top - bottom));
    }
    if !high.is_finite() {
        high = link.u_inverse(top - 0.002 * (top - bottom));
    }
    let margin = 0.05 * (high - low);
    if margin.is_finite() && margin > 0.0 { (low - margin, high + margin) } else { (-5.0, 5.0) }
}

/// The knots of a piecewise link, a grid of any other; not more points than can be seen.
fn link_points(link: &dyn InverseLink, low: f64, high: f64) -> Vec<(f64, f64)> {
    match link.as_piecewise() {
        Some(piecewise) if piecewise.knots().knot_count() <= POINTS => {
            let knots = piecewise.knots();
            let inside = knots.x().iter().zip(knots.y()).map(|(&x, &y)| (x, y));
            [(low, 0.0)].into_iter().chain(inside).chain([(high, 1.0)]).collect()
        }
        _ => grid(low, high).map(|z| (z, link.u(z))).collect(),
    }
}

fn grid(low: f64, high: f64) -> impl Iterator<Item = f64> {
    (0..=POINTS).map(move |k| low + (high - low) * (k as f64 / POINTS as f64))
}

/// The CORP reliability curve: what was forecast, and what happened.
pub fn calibration(title: &str, blocks: &[CalibrationBlock]) -> String {
    document(&[calibration_panel(title.to_owned(), "share of positives", blocks)])
}

/// The same as a panel of a picture, with the name of its vertical axis.
pub fn calibration_panel(title: String, share: &str, blocks: &[CalibrationBlock]) -> Panel {
    let mut points = Vec::new();
    for block in blocks {
        points.extend([(block.lowest, block.rate), (block.highest, block.rate)]);
    }
    let dots = blocks.iter().map(|block| (block.forecast, block.rate)).collect();
    Panel {
        title,
        x: Axis::linear("forecast probability", 0.0, 1.0),
        y: Axis::linear(share, 0.0, 1.0),
        curves: vec![
            Curve::line("perfect", GREY, vec![(0.0, 0.0), (1.0, 1.0)]).dashed(),
            Curve::line("isotonic recalibration", BLUE, points),
            Curve::line("mean of each block", ORANGE, dots).dots(),
        ],
        legend: Corner::TopLeft,
    }
}

/// The loss of a certified run, and its gap against the bound.
pub fn certificate(certificates: &[Certificate]) -> String {
    let series = |f: fn(&Certificate) -> f64| -> Vec<(f64, f64)> {
        certificates.iter().map(|c| (c.iteration as f64, f(c))).collect()
    };
    let positive = |points: &[&Vec<(f64, f64)>]| {
        let values = points.iter().flat_map(|p| p.iter().map(|p| p.1));
        let values: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (low, values.iter().copied().fold(0.0, f64::max))
    };
    let last = certificates.len().max(2) as f64;
    let x = || {
        if last > 20.0 {
            Axis::log("iteration", 1.0, last)
        } else {
            Axis::linear("iteration", 1.0, last)
        }
    };
    let loss = series(|c| c.loss_after);
    let (loss_low, loss_high) = positive(&[&loss]);
    let (gap, bound) = (series(|c| c.least_gap), series(|c| c.gap_bound));
    let (claimed, observed) = (series(|c| c.claimed), series(|c| c.observed));
    // What is proved, and what came out.
    let beside = |title: &str, axis: &str, name: &str, proved: &Vec<_>, observed: &Vec<_>| {
        let (low, high) = positive(&[proved, observed]);
        Panel {
            title: title.into(),
            x: x(),
            y: Axis::log(axis, low, high),
            curves: vec![
                Curve::line(name, GREY, proved.clone()).dashed(),
                Curve::line("observed", BLUE, observed.clone()),
            ],
            legend: Corner::BottomLeft,
        }
    };
    document(&[
        Panel {
            title: "Loss".into(),
            x: x(),
            y: Axis::linear("loss", loss_low.min(loss_high * 0.98), loss_high * 1.01),
            curves: vec![Curve::line("", BLUE, loss)],
            legend: Corner::TopRight,
        },
        beside("Decrease at each iteration", "decrease", "claimed", &claimed, &observed),
        beside("Gap of the mean operators", "smallest gap so far", "bound", &bound, &gap),
    ])
}
