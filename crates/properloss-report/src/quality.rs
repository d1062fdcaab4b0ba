//! The figures of forecasts and outcomes, for one model or two over each other.

use crate::band::Band;
use crate::evaluation::{BARS, Evaluation};
use crate::figure::{Column, Figure, POINTS, thinned};
use crate::svg::{Axis, BLUE, Corner, Curve, GREY, ORANGE, Panel};
use crate::text::figure_name;
use crate::thresholds::thresholds;

/// The colours of the first and the second model.
pub const COLOURS: [&str; 2] = [BLUE, ORANGE];

/// What is known of one model's forecasts.
pub struct Forecast {
    /// The model's name.
    pub name: String,
    /// `a` or `b`.
    pub letter: char,
    /// The end of the names of its figures: a hyphen and the number of the class on a page of
    /// several classes, else nothing.
    pub suffix: String,
    /// The numbers.
    pub evaluation: Evaluation,
    /// What chance makes.
    pub band: Band,
}

/// The thresholds at which a curve is drawn: all of them, or every third on a page of several
/// classes, which holds many curves.
fn drawn(forecasts: &[Forecast]) -> Vec<usize> {
    let step = if forecasts[0].suffix.is_empty() { 1 } else { 3 };
    (0..thresholds().len()).step_by(step).collect()
}

/// Those entries of a column.
fn at(values: &[f64], indices: &[usize]) -> Vec<f64> {
    indices.iter().map(|&k| values[k]).collect()
}

/// `of what`, or `of what (name)` where there are two models.
fn titled(what: &str, forecast: &Forecast, alone: bool) -> String {
    if alone { what.into() } else { format!("{what}, {}", figure_name(&forecast.name)) }
}

/// Names in a legend are short; one model alone needs none.
fn legend(forecast: &Forecast, alone: bool) -> String {
    if alone { "model".into() } else { figure_name(&forecast.name) }
}

/// The CORP reliability curve with its consistency band.
pub fn reliability(forecast: &Forecast, number: usize, alone: bool) -> Figure {
    let (evaluation, band) = (&forecast.evaluation, &forecast.band);
    let mut steps = Vec::new();
    for at in thinned(evaluation.blocks.len(), POINTS / 2) {
        let block = &evaluation.blocks[at];
        steps.extend([(block.lowest, block.rate), (block.highest, block.rate)]);
    }
    let around = band.forecast.iter().copied();
    let mut area: Vec<(f64, f64)> = around.clone().zip(band.low.iter().copied()).collect();
    let above: Vec<(f64, f64)> = around.zip(band.high.iter().copied()).collect();
    area.extend(above.into_iter().rev());
    let recalibrated = band.forecast.iter().map(|&p| evaluation.recalibrated(p)).collect();
    let panel = Panel {
        title: titled("Reliability", forecast, alone),
        x: Axis::linear("forecast probability", 0.0, evaluation.reach),
        y: Axis::linear("share that happened", 0.0, evaluation.reach),
        curves: vec![
            Curve::line("perfect", GREY, vec![(0.0, 0.0), (1.0, 1.0)]).dashed(),
            Curve::line("if calibrated, 90 %", GREY, area).area(),
            Curve::line("recalibrated", COLOURS[number], steps),
        ],
        legend: Corner::TopLeft,
    };
    let words = "How often what was forecast happened: isotonic regression of the outcomes on the \
                 forecasts (CORP), so there are no bins to choose. Where the curve stays inside the \
                 grey band it differs from the diagonal by no more than chance would make of \
                 calibrated forecasts.";
    let columns = vec![
        Column::new("forecast", band.forecast.clone()),
        Column::new("happened", recalibrated),
        Column::new("band from", band.low.clone()),
        Column::new("band to", band.high.clone()),
    ];
    Figure::panel(
        &format!("reliability-{}{}", forecast.letter, forecast.suffix),
        words,
        panel,
        columns,
        0,
    )
    .marked("line", &forecast.suffix)
}

/// How the forecasts of the two classes are distributed.
pub fn distribution(forecast: &Forecast, alone: bool) -> Figure {
    let evaluation = &forecast.evaluation;
    let share = |class: usize| -> Vec<f64> {
        evaluation.histogram[class].iter().map(|w| w / evaluation.totals[class]).collect()
    };
    let shares = [share(0), share(1)];
    let reach = evaluation.reach;
    let edge = |k: usize| reach * k as f64 / BARS as f64;
    let outline = |values: &[f64]| -> Vec<(f64, f64)> {
        let mut points = vec![(0.0, 0.0)];
        for (k, &value) in values.iter().enumerate() {
            points.extend([(edge(k), value), (edge(k + 1), value)]);
        }
        points.push((reach, 0.0));
        points
    };
    let top = shares.iter().flatten().copied().fold(0.0, f64::max);
    let curves = ["negatives", "positives"]
        .into_iter()
        .zip([ORANGE, BLUE])
        .zip(&shares)
        .flat_map(|((name, colour), values)| {
            let points = outline(values);
            [Curve::line("", colour, points.clone()).area(), Curve::line(name, colour, points)]
        })
        .collect();
    let panel = Panel {
        title: titled("Forecasts of both classes", forecast, alone),
        x: Axis::linear("forecast probability", 0.0, reach),
        y: Axis::linear("share of the class", 0.0, 1.3 * top),
        curves,
        legend: Corner::TopRight,
    };
    let mut words =
        "The share of each class whose forecast falls into each of fifty equal steps. The \
                     less the two overlap, the better a threshold separates the classes."
            .to_owned();
    if reach < 1.0 {
        words.push_str(" Few forecasts are larger than shown here; the last step counts them.");
    }
    let columns = vec![
        Column::new("forecast up to", (1..=BARS).map(edge).collect()),
        Column::new("of negatives", shares[0].clone()),
        Column::new("of positives", shares[1].clone()),
    ];
    Figure::panel(
        &format!("scores-{}{}", forecast.letter, forecast.suffix),
        &words,
        panel,
        columns,
        0,
    )
    .marked("line", &forecast.suffix)
}

/// `2 (θ FP + (1 - θ) FN) / n`: the mean cost of deciding at `θ`, whose area is the Brier score.
fn murphy_curve(evaluation: &Evaluation) -> Vec<f64> {
    let total = evaluation.totals[0] + evaluation.totals[1];
    let cost = |(k, &t): (usize, &f64)| {
        let missed = evaluation.totals[1] - evaluation.above[1][k];
        2.0 * (t * evaluation.above[0][k] + (1.0 - t) * missed) / total
    };
    thresholds().iter().enumerate().map(cost).collect()
}

/// The Murphy diagram.
pub fn murphy(forecasts: &[Forecast]) -> Figure {
    let (kept, alone) = (drawn(forecasts), forecasts.len() == 1);
    let grid = at(thresholds(), &kept);
    let rate = forecasts[0].evaluation.base_rate();
    let base: Vec<f64> =
        grid.iter().map(|&t| 2.0 * (t * (1.0 - rate)).min((1.0 - t) * rate)).collect();
    let zip = |values: &[f64]| grid.iter().copied().zip(values.iter().copied()).collect();
    let mut columns = vec![Column::new("threshold", grid.clone())];
    let mut curves = vec![Curve::line("base rate alone", GREY, zip(&base)).dashed()];
    for (number, forecast) in forecasts.iter().enumerate() {
        let values = at(&murphy_curve(&forecast.evaluation), &kept);
        curves.push(Curve::line(&legend(forecast, alone), COLOURS[number], zip(&values)));
        columns.push(Column::new(&legend(forecast, alone), values));
    }
    let top = columns[1..].iter().flat_map(|c| &c.values).chain(&base).copied().fold(0.0, f64::max);
    columns.push(Column::new("base rate", base));
    let panel = Panel {
        title: "Murphy diagram".into(),
        x: Axis::linear("threshold", 0.0, 1.0),
        y: Axis::linear("mean cost", 0.0, 1.4 * top),
        curves,
        legend: Corner::TopRight,
    };
    let words = "The mean cost of deciding at each threshold when a false alarm costs twice the \
                 threshold and a miss twice the rest; the area under the curve is the Brier score. \
                 A model that lies below another everywhere is better for every user, whatever the \
                 costs.";
    Figure::panel(&format!("murphy{}", forecasts[0].suffix), words, panel, columns, 0)
        .marked("line", &forecasts[0].suffix)
}

/// The ROC curve.
pub fn roc(forecasts: &[Forecast]) -> Figure {
    let (kept, alone) = (drawn(forecasts), forecasts.len() == 1);
    let mut columns = vec![Column::new("threshold", at(thresholds(), &kept))];
    let mut curves = vec![Curve::line("", GREY, vec![(0.0, 0.0), (1.0, 1.0)]).dashed()];
    for (number, forecast) in forecasts.iter().enumerate() {
        let evaluation = &forecast.evaluation;
        let rate = |class: usize| -> Vec<f64> {
            at(&evaluation.above[class], &kept)
                .iter()
                .map(|w| w / evaluation.totals[class])
                .collect()
        };
        let (alarms, hits) = (rate(0), rate(1));
        let mut points: Vec<(f64, f64)> =
            alarms.iter().copied().zip(hits.iter().copied()).collect();
        points.insert(0, (1.0, 1.0));
        points.push((0.0, 0.0));
        points.dedup();
        let name = legend(forecast, alone);
        let label = format!("{name}: area {:.4}", evaluation.summary.auc);
        curves.push(Curve::line(&label, COLOURS[number], points));
        let of = if alone { String::new() } else { format!(", {name}") };
        columns.push(Column::new(&format!("false alarms{of}"), alarms));
        columns.push(Column::new(&format!("hits{of}"), hits));
    }
    let panel = Panel {
        title: "ROC curve".into(),
        x: Axis::linear("share of negatives above the threshold", 0.0, 1.0),
        y: Axis::linear("share of positives above it", 0.0, 1.0),
        curves,
        legend: Corner::BottomRight,
    };
    let words = "What share of the positives is found at the price of what share of false alarms, \
                 from the highest threshold to the lowest. The area under it is the probability \
                 that a positive ranks above a negative; it says nothing about calibration.";
    Figure::panel(&format!("roc{}", forecasts[0].suffix), words, panel, columns, 1)
        .marked("dot", &forecasts[0].suffix)
}

/// The decision curve: `TP/n - FP/n t/(1 - t)`.
pub fn decision(forecasts: &[Forecast]) -> Figure {
    let (mut kept, alone) = (drawn(forecasts), forecasts.len() == 1);
    // At 1 the price of a false alarm is infinite.
    kept.retain(|&k| thresholds()[k] <= 0.99);
    let grid = at(thresholds(), &kept);
    let rate = forecasts[0].evaluation.base_rate();
    let all: Vec<f64> = grid.iter().map(|t| rate - (1.0 - rate) * t / (1.0 - t)).collect();
    let zip = |values: &[f64]| grid.iter().copied().zip(values.iter().copied()).collect();
    let mut columns = vec![Column::new("threshold", grid.clone())];
    let mut curves = vec![
        Curve::line("act on all", GREY, zip(&all)).dashed(),
        Curve::line("", GREY, vec![(0.0, 0.0), (1.0, 0.0)]),
    ];
    for (number, forecast) in forecasts.iter().enumerate() {
        let evaluation = &forecast.evaluation;
        let total = evaluation.totals[0] + evaluation.totals[1];
        let benefit = |&k: &usize| {
            let t = thresholds()[k];
            (evaluation.above[1][k] - evaluation.above[0][k] * t / (1.0 - t)) / total
        };
        let values: Vec<f64> = kept.iter().map(benefit).collect();
        curves.push(Curve::line(&legend(forecast, alone), COLOURS[number], zip(&values)));
        columns.push(Column::new(&legend(forecast, alone), values));
    }
    columns.push(Column::new("act on all", all));
    let panel = Panel {
        title: "Decision curve".into(),
        x: Axis::linear("threshold", 0.0, 1.0),
        y: Axis::linear("net benefit", -0.15 * rate, 1.05 * rate),
        curves,
        legend: Corner::TopRight,
    };
    let words = "The net benefit of acting on every forecast above the threshold, in true positives \
                 a row; a false alarm is charged at the odds of the threshold. The model is worth \
                 using where its curve lies above acting on all and above acting on none (zero).";
    Figure::panel(&format!("decision{}", forecasts[0].suffix), words, panel, columns, 0)
        .marked("line", &forecasts[0].suffix)
}
