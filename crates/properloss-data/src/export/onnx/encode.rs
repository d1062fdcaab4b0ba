//! From the columns of a table to the score `z`, one column of `double`.

use super::super::Exportable;
use super::OnnxOptions;
use super::graph::{Attribute, Element, Extent, Graph, ML};
use super::ordered;
use crate::encoder::{Column, ColumnKind};
use crate::options::UnknownCategory;

/// Adds the inputs and the score. A model of numbers has one input `X`, any other one input of shape
/// (rows, 1) for each column, by its name.
pub(super) fn score(graph: &mut Graph, model: &Exportable, options: OnnxOptions) -> String {
    if wide(model) && ordered::seen(&model.link).somewhere() {
        let x = features(graph, model, options);
        return ordered_score(graph, model, &x);
    }
    if model.is_numeric() {
        let x = numbers(graph, "X", &model.columns, options);
        return quick_score(graph, model, &x);
    }
    let (weights, intercept) = model.line();
    let (mut parts, mut sum): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut start = 0;
    for column in &model.columns {
        let weights = &weights[start..start + column.width()];
        start += column.width();
        let part = match &column.kind {
            ColumnKind::Numeric { .. } | ColumnKind::LogOdds { .. } => {
                let x = numbers(graph, &column.name, std::slice::from_ref(column), options);
                let w = graph.scalar(weights[0]);
                let part = graph.node("Mul", &[&x, &w]);
                parts.push(x);
                part
            }
            ColumnKind::Categorical { categories, fill } => {
                let text = Text { model, categories, fill: fill.as_deref() };
                graph.input(&column.name, Element::Text, &[Extent::Rows, Extent::Fixed(1)]);
                let place = text.place(graph, &column.name, options.portable);
                if model.unit_rows {
                    parts.push(text.lookup(graph, &place, norm));
                }
                let dot = |x: &[f64]| x.iter().zip(weights).map(|(x, w)| x * w).sum();
                text.lookup(graph, &place, dot)
            }
        };
        sum = Some(match sum {
            None => part,
            Some(sum) => graph.node("Add", &[&sum, &part]),
        });
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    // A model has at least one column.
    let dot = sum.unwrap_or_default();
    finish(graph, model, &parts, dot, intercept, None)
}

/// Whether every column has features: one without could not say that it has no answer.
pub(super) fn wide(model: &Exportable) -> bool {
    model.columns.iter().all(|column| column.width() > 0)
}

/// The score of the features `x`, added in the runtime's order.
pub(super) fn quick_score(graph: &mut Graph, model: &Exportable, x: &str) -> String {
    let (weights, intercept) = model.line();
    let w = graph.doubles(&weights, &[weights.len(), 1]);
    let dot = graph.node("MatMul", &[x, &w]);
    finish(graph, model, &[x], dot, intercept, None)
}

/// The same in ours.
pub(super) fn ordered_score(graph: &mut Graph, model: &Exportable, x: &str) -> String {
    let (weights, intercept) = model.line();
    let dot = ordered::dot(graph, x, &weights);
    finish(graph, model, &[x], dot, intercept, Some(weights.len()))
}

/// All features side by side, as the engine's encoder makes them.
pub(super) fn features(graph: &mut Graph, model: &Exportable, options: OnnxOptions) -> String {
    if model.is_numeric() {
        return numbers(graph, "X", &model.columns, options);
    }
    let mut parts = Vec::new();
    for column in &model.columns {
        let ColumnKind::Categorical { categories, fill } = &column.kind else {
            parts.push(numbers(graph, &column.name, std::slice::from_ref(column), options));
            continue;
        };
        let text = Text { model, categories, fill: fill.as_deref() };
        graph.input(&column.name, Element::Text, &[Extent::Rows, Extent::Fixed(1)]);
        let place = text.place(graph, &column.name, options.portable);
        let width = categories.len();
        let row = |x: Option<Vec<f64>>| x.unwrap_or_else(|| vec![f64::NAN; width]);
        let rows: Vec<f64> = text.rows().into_iter().flat_map(row).collect();
        let rows = graph.doubles(&rows, &[width + 2, width]);
        let axis = graph.ints(&[1], &[1]);
        let place = graph.node("Squeeze", &[&place, &axis]);
        parts.push(graph.node_with("Gather", "", &[&rows, &place], &[("axis", Attribute::Int(0))]));
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    graph.node_with("Concat", "", &parts, &[("axis", Attribute::Int(1))])
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Numeric columns as one input, missing values filled where there is a rule.
pub(super) fn numbers(
    graph: &mut Graph,
    name: &str,
    columns: &[Column],
    options: OnnxOptions,
) -> String {
    let element = if options.float_input { Element::Float } else { Element::Double };
    graph.input(name, element, &[Extent::Rows, Extent::Fixed(columns.len())]);
    let mut x = name.to_owned();
    if options.float_input {
        x = graph.node_with("Cast", "", &[&x], &[("to", Attribute::Int(11))]);
    }
    let fill = |column: &Column| match column.kind {
        ColumnKind::Numeric { fill } => fill,
        ColumnKind::Categorical { .. } | ColumnKind::LogOdds { .. } => None,
    };
    if columns.iter().any(|column| fill(column).is_some()) {
        let fills: Vec<f64> = columns.iter().map(|c| fill(c).unwrap_or(f64::NAN)).collect();
        let fills = graph.doubles(&fills, &[1, columns.len()]);
        let missing = graph.node("IsNaN", &[&x]);
        x = graph.node("Where", &[&missing, &fills, &x]);
    }
    x
}

/// `z = s dot + b`, `s = 1/|x|` for unit rows; `parts` are the columns of `x`, or norms of some. Squares of
/// `ordered` features are added one by one.
fn finish(
    graph: &mut Graph,
    model: &Exportable,
    parts: &[&str],
    dot: String,
    intercept: f64,
    ordered: Option<usize>,
) -> String {
    let mut z = dot;
    if model.unit_rows {
        let x = match parts {
            [x] => (*x).to_owned(),
            parts => graph.node_with("Concat", "", parts, &[("axis", Attribute::Int(1))]),
        };
        let norm = row_norm(graph, &x, ordered);
        let (zero, one) = (graph.scalar(0.0), graph.scalar(1.0));
        let none = graph.node("Equal", &[&norm, &zero]);
        let divisor = graph.node("Where", &[&none, &one, &norm]);
        let factor = graph.node("Div", &[&one, &divisor]);
        let factor = graph.node("Where", &[&none, &zero, &factor]);
        z = graph.node("Mul", &[&z, &factor]);
    }
    if intercept != 0.0 {
        let b = graph.scalar(intercept);
        z = graph.node("Add", &[&z, &b]);
    }
    z
}

/// The norm of each row; squares that overflow or vanish are taken of numbers that were scaled first.
fn row_norm(graph: &mut Graph, x: &str, ordered: Option<usize>) -> String {
    let axis = graph.ints(&[1], &[1]);
    let mut scaled_norm = |scale: f64| {
        let c = graph.scalar(scale);
        let scaled = if scale == 1.0 { x.to_owned() } else { graph.node("Mul", &[x, &c]) };
        let sum = match ordered {
            Some(features) => ordered::squares(graph, &scaled, features),
            None => {
                let squares = graph.node("Mul", &[&scaled, &scaled]);
                let keep = ("keepdims", Attribute::Int(1));
                graph.node_with("ReduceSum", "", &[&squares, &axis], &[keep])
            }
        };
        let root = graph.node("Sqrt", &[&sum]);
        (graph.node("Div", &[&root, &c]), sum)
    };
    let (norm, squares) = scaled_norm(1.0);
    let (of_large, _) = scaled_norm(1e-200);
    let (of_small, _) = scaled_norm(1e200);
    let (most, least) = (graph.scalar(1e300), graph.scalar(1e-290));
    let small = graph.node("Less", &[&squares, &least]);
    let large = graph.node("Greater", &[&squares, &most]);
    let norm = graph.node("Where", &[&small, &of_small, &norm]);
    graph.node("Where", &[&large, &of_large, &norm])
}

/// A text column: the row's category, then what it adds.
pub(super) struct Text<'a> {
    pub model: &'a Exportable,
    pub categories: &'a [String],
    pub fill: Option<&'a [f64]>,
}

impl Text<'_> {
    /// The number of the category; then come a missing value and an unknown text.
    pub(super) fn place(&self, graph: &mut Graph, input: &str, portable: bool) -> String {
        let count = self.categories.len() as i64;
        let words: Vec<&str> = self.model.missing_words.iter().map(String::as_str).collect();
        // A missing word is missing even if it is a category, too.
        let kept = |name: &&String| !self.model.missing_words.contains(name);
        let places = self.categories.iter().zip(0i64..).filter(|(name, _)| kept(name));
        let (mut keys, mut values): (Vec<&str>, Vec<i64>) =
            places.map(|(name, k)| (name.as_str(), k)).unzip();
        keys.extend(&words);
        values.extend(words.iter().map(|_| count));
        if !portable {
            return graph.node_with(
                "LabelEncoder",
                ML,
                &[input],
                &[
                    ("keys_strings", Attribute::Texts(keys)),
                    ("values_int64s", Attribute::Ints(values)),
                    ("default_int64", Attribute::Int(count + 1)),
                ],
            );
        }
        // (rows, 1) against (1, keys): at most one is equal. Its value less that of "unknown", summed.
        let less: Vec<f64> = values.iter().map(|&value| (value - count - 1) as f64).collect();
        let names = graph.texts(&keys, &[1, keys.len()]);
        let equal = graph.node("Equal", &[input, &names]);
        let equal = graph.node_with("Cast", "", &[&equal], &[("to", Attribute::Int(11))]);
        let less = graph.doubles(&less, &[less.len(), 1]);
        let place = graph.node("MatMul", &[&equal, &less]);
        let base = graph.scalar((count + 1) as f64);
        let place = graph.node("Add", &[&place, &base]);
        graph.node_with("Cast", "", &[&place], &[("to", Attribute::Int(7))])
    }

    /// A number that depends on the encoded features of the category.
    fn lookup(&self, graph: &mut Graph, place: &str, of: impl Fn(&[f64]) -> f64) -> String {
        let table: Vec<[f64; 1]> = self.table(of).into_iter().map(|value| [value]).collect();
        let [found] = graph.lookup(&table, place);
        found
    }

    /// The number for each category, for a missing value and for an unknown text.
    pub(super) fn table(&self, of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        self.rows().iter().map(|x| x.as_ref().map_or(f64::NAN, |x| of(x))).collect()
    }

    /// The features of each category, of a missing value and of an unknown text; `None`: no answer.
    fn rows(&self) -> Vec<Option<Vec<f64>>> {
        let count = self.categories.len();
        let one = |k| Some((0..count).map(|j| f64::from(u8::from(j == k))).collect());
        let mut rows: Vec<Option<Vec<f64>>> = (0..count).map(one).collect();
        rows.push(self.fill.map(<[f64]>::to_vec));
        rows.push(match self.model.unknown {
            UnknownCategory::Zeros => Some(vec![0.0; count]),
            UnknownCategory::Error => None,
        });
        rows
    }
}
