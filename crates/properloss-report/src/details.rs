//! Whatever else is known of a fit, shown as it comes: facts, tables, and curves of those tables
//! that have one.

use serde_json::{Map, Value};

use crate::figure::{Column, Figure, POINTS, table, thinned};
use crate::quality::COLOURS;
use crate::readable::scaling_name;
use crate::svg::{Axis, BLUE, Corner, Curve, GREY, ORANGE, Panel, Scale};
use crate::text::{escaped, figure_name, name, shown};

/// Facts and tables that are shown, at most: a file may hold anything.
const LIMIT: usize = 60;
/// Rows of a table, at most.
const ROWS: usize = 30;

/// Columns that say which of several curves a row belongs to: how features were scaled.
const GROUPS: [&str; 2] = ["scaling", "scale"];

/// A fact: its name and its value, both as they are.
pub type Fact = (String, String);

/// Numbers in columns of equal length.
pub struct Numbers {
    /// What they are.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
}

/// Sorts a JSON object into facts and tables; names of nested objects are joined by a space.
pub fn sort(details: &Map<String, Value>) -> (Vec<Fact>, Vec<Numbers>) {
    let (mut facts, mut tables) = (Vec::new(), Vec::new());
    walk("", details, &mut facts, &mut tables);
    facts.truncate(LIMIT);
    tables.truncate(LIMIT / 4);
    (facts, tables)
}

fn walk(
    prefix: &str,
    object: &Map<String, Value>,
    facts: &mut Vec<Fact>,
    tables: &mut Vec<Numbers>,
) {
    let full = |key: &str| {
        let key = key.replace('_', " ");
        if prefix.is_empty() { key } else { format!("{prefix} {key}") }
    };
    let mut columns: Vec<Column> = Vec::new();
    for (key, value) in object {
        match value {
            Value::Object(inner) => walk(&full(key), inner, facts, tables),
            Value::Array(items) => {
                if let Some(numbers) = numbers(items) {
                    columns.push(Column { name: key.replace('_', " "), values: numbers });
                } else if let Some(columns) = records(items) {
                    tables.push(Numbers { title: full(key), columns });
                } else {
                    let text: Vec<String> = items.iter().take(LIMIT).map(plain).collect();
                    facts.push((full(key), text.join(", ")));
                }
            }
            Value::Null => {}
            value => facts.push((full(key), plain(value))),
        }
    }
    // Columns of one length belong together.
    while let Some(first) = columns.first() {
        let length = first.values.len();
        let (same, rest) = columns.into_iter().partition(|c: &Column| c.values.len() == length);
        let title = if prefix.is_empty() { "Numbers".to_owned() } else { prefix.to_owned() };
        tables.push(Numbers { title, columns: same });
        columns = rest;
    }
}

/// An array of numbers (null is none), if it is one.
fn numbers(items: &[Value]) -> Option<Vec<f64>> {
    let number = |item: &Value| match item {
        Value::Null => Some(f64::NAN),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        item => item.as_f64(),
    };
    if items.is_empty() { None } else { items.iter().map(number).collect() }
}

/// An array of objects of numbers, as columns.
fn records(items: &[Value]) -> Option<Vec<Column>> {
    let first = items.first()?.as_object()?;
    let names: Vec<&String> =
        first.iter().filter(|(_, v)| !v.is_string()).map(|(k, _)| k).collect();
    let column = |name: &String| {
        let values: Vec<Value> =
            items.iter().map(|item| item.get(name).cloned().unwrap_or(Value::Null)).collect();
        numbers(&values).map(|values| Column { name: name.replace('_', " "), values })
    };
    let columns: Option<Vec<Column>> = names.into_iter().map(column).collect();
    columns.filter(|columns| !columns.is_empty())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), shown),
        value => value.to_string(),
    }
}

/// Facts as a list of terms.
pub fn facts_html(facts: &[Fact]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut out = String::from("<dl class=\"facts\">");
    for (term, value) in facts {
        out.push_str(&format!("<div><dt>{}</dt><dd>{}</dd></div>\n", name(term), name(value)));
    }
    out + "</dl>\n"
}

impl Numbers {
    /// As a table.
    pub fn html(&self) -> String {
        let length = self.columns.iter().map(|c| c.values.len()).max().unwrap_or(0);
        let head: Vec<String> =
            self.columns.iter().map(|c| escaped(&figure_name(&c.name))).collect();
        let cell =
            |c: &Column, row: usize| c.values.get(row).map_or_else(String::new, |&v| shown(v));
        let body: Vec<Vec<String>> = thinned(length, ROWS)
            .into_iter()
            .map(|row| self.columns.iter().take(12).map(|c| cell(c, row)).collect())
            .collect();
        table(&self.title, &head[..head.len().min(12)], &body)
    }

    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Curves, one a scaling of the columns where there are several: weights, held-out losses, claimed and observed decreases, over the first column that
    /// is none of these.
    pub fn figures(&self, id: &str, number: usize, owner: Option<&str>) -> Vec<Figure> {
        const VALUES: [&str; 9] = [
            "weight",
            "log loss",
            "score",
            "loss",
            "gap",
            "gap bound",
            "least gap",
            "claimed",
            "observed",
        ];
        let group = self.columns.iter().find(|c| GROUPS.contains(&c.name.as_str()));
        let other =
            |c: &&Column| !VALUES.contains(&c.name.as_str()) && !GROUPS.contains(&c.name.as_str());
        let axis = self.columns.iter().find(other);
        let Some(axis) = axis.filter(|axis| axis.values.len() > 1) else { return Vec::new() };
        let mut figures = Vec::new();
        for (names, words) in [
            (
                &["weight"][..],
                "The share that each candidate has in the averaged model. \
               Cross-validation gives it by held-out log-likelihood, so a sharp peak means that the \
               data decided.",
            ),
            (
                &["log loss"][..],
                "The held-out log-loss of each candidate, in nats a row. The lowest point is what a \
               single choice would have taken.",
            ),
            (
                &["claimed", "observed"][..],
                "The decrease of the loss that was proved at each \
               iteration and the one that happened. The certificate holds where the second is not \
               below the first.",
            ),
            (
                &["gap bound", "gap", "least gap"][..],
                "The gap of the mean operators and its proved \
               bound. The fit is at its optimum where the gap is zero.",
            ),
            (
                &["loss"][..],
                "The loss at each iteration: of held-out rows where the fit cross-validates, else of the \
               training rows. A curve that is still falling at its end was stopped early.",
            ),
        ] {
            let shown: Vec<&Column> = names.iter().filter_map(|name| self.column(name)).collect();
            if shown.is_empty() {
                continue;
            }
            let what = match names[0] {
                "log loss" => "held-out log-loss",
                "claimed" => "decrease of the loss",
                "gap bound" => "gap",
                name => name,
            };
            let title = owner.map_or_else(
                || format!("{}: {what}", self.title),
                |owner| format!("{}: {what}, {}", self.title, figure_name(owner)),
            );
            let id = format!("{id}-{}", names[0].replace(' ', "-"));
            figures.push(match group {
                Some(group) => grouped(&id, &title, words, axis, shown[0], group),
                None => curve(&id, &title, words, axis, &shown, number),
            });
        }
        figures
    }
}

/// The colours of the groups of a figure.
const GROUP_COLOURS: [&str; 3] = [BLUE, ORANGE, GREY];

/// A column over an axis, one curve a group, each from left to right. What a logarithmic axis cannot
/// show (no feature at all, `C = 0`) is in the table only.
fn grouped(
    id: &str,
    title: &str,
    words: &str,
    axis: &Column,
    column: &Column,
    group: &Column,
) -> Figure {
    let length = axis.values.len().min(column.values.len()).min(group.values.len());
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|&a, &b| axis.values[a].total_cmp(&axis.values[b]).then(a.cmp(&b)));
    let mut x = scaled(&axis.name, &axis.values[..length], false);
    if x.range().2 == Scale::Log {
        order.retain(|&k| axis.values[k] > 0.0);
        let kept: Vec<f64> = order.iter().map(|&k| axis.values[k]).collect();
        x = scaled(&axis.name, &kept, false);
    }
    let pick = |column: &Column| -> Vec<f64> { order.iter().map(|&k| column.values[k]).collect() };
    let (at, values, groups) = (pick(axis), pick(column), pick(group));
    let mut kinds = groups.clone();
    kinds.sort_by(|a, b| b.total_cmp(a));
    kinds.dedup();
    let mut curves = Vec::new();
    for (kind, colour) in kinds.iter().zip(GROUP_COLOURS) {
        let points: Vec<(f64, f64)> = at
            .iter()
            .zip(&values)
            .zip(&groups)
            .filter(|(_, of)| *of == kind)
            .map(|((&x, &y), _)| (x, y))
            .collect();
        let label = if kinds.len() > 1 { scaling_name(*kind) } else { String::new() };
        curves.push(Curve::line(&label, colour, points.clone()));
        curves.push(Curve::line("", colour, points).dots());
    }
    let panel = Panel {
        title: title.to_owned(),
        x,
        y: scaled(&column.name, &values, column.name == "weight"),
        curves,
        legend: Corner::TopRight,
    };
    let named = |column: &Column, values| Column { name: column.name.clone(), values };
    let columns = vec![named(axis, at), named(column, values), named(group, groups)];
    Figure::panel(id, words, panel, columns, 0)
}

/// What the vertical axis is called: the column's name, or what several have in common.
fn what_is_drawn<'a>(columns: &[&'a Column]) -> &'a str {
    match columns {
        [one] => &one.name,
        [first, ..] if first.name == "claimed" => "decrease",
        _ => "gap",
    }
}

/// Columns over an axis, logarithmic where the numbers ask for it.
fn curve(
    id: &str,
    title: &str,
    words: &str,
    axis: &Column,
    columns: &[&Column],
    number: usize,
) -> Figure {
    let rows = thinned(axis.values.len(), POINTS);
    let pick = |column: &Column| -> Vec<f64> {
        rows.iter().map(|&k| column.values.get(k).copied().unwrap_or(f64::NAN)).collect()
    };
    let x = pick(axis);
    let values: Vec<Vec<f64>> = columns.iter().map(|column| pick(column)).collect();
    let several = columns.len() > 1;
    let curves = columns
        .iter()
        .zip(&values)
        .enumerate()
        .flat_map(|(k, (column, values))| {
            let points: Vec<(f64, f64)> = x.iter().copied().zip(values.iter().copied()).collect();
            let label = if several { column.name.as_str() } else { "" };
            let colour = if several && k == 0 { GREY } else { COLOURS[number] };
            let line = Curve::line(label, colour, points.clone());
            let dots = Curve::line("", colour, points).dots();
            let line = if several && k == 0 { line.dashed() } else { line };
            if x.len() <= 60 { vec![line, dots] } else { vec![line] }
        })
        .collect();
    let flat: Vec<f64> = values.concat();
    let panel = Panel {
        title: title.to_owned(),
        x: scaled(&axis.name, &x, false),
        y: scaled(what_is_drawn(columns), &flat, columns[0].name == "weight"),
        curves,
        legend: Corner::TopRight,
    };
    let mut all = vec![Column { name: axis.name.clone(), values: x }];
    all.extend(columns.iter().zip(values).map(|(c, v)| Column { name: c.name.clone(), values: v }));
    Figure::panel(id, words, panel, all, 0)
}

fn scaled(label: &str, values: &[f64], from_zero: bool) -> Axis {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let low = finite.clone().fold(f64::INFINITY, f64::min);
    let high = finite.clone().fold(f64::NEG_INFINITY, f64::max);
    let least = finite.filter(|&v| v > 0.0).fold(f64::INFINITY, f64::min);
    if from_zero {
        return Axis::linear(label, 0.0, 1.05 * high);
    }
    if low >= 0.0 && high > 50.0 * least {
        return Axis::log(label, least, high);
    }
    let margin = 0.05 * (high - low);
    Axis::linear(label, low - margin, high + margin)
}
