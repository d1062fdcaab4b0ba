//! A model of several classes as an ONNX graph in `double`: all classes of all rows at once.

use super::super::several::{ClassExportable, FARTHEST};
use super::encode::{Text, numbers};
use super::graph::{Attribute, Element, Extent, Graph};
use super::steps::interpolate;
use super::{OnnxOptions, Opsets, file, integer};
use crate::encoder::ColumnKind;
use crate::error::Result;

/// The bytes of the file.
pub(in super::super) fn write(model: &ClassExportable, options: OnnxOptions) -> Result<Vec<u8>> {
    let classes = model.classes.len();
    let mut graph = Graph::default();
    let opsets = Opsets::of(&model.base, options);
    let z = scores(&mut graph, model, options);
    let p = link(&mut graph, model, &z, options.portable, opsets.core);
    // Infinite scores, too, have no answer: z - z is not a number then.
    let axis = graph.ints(&[1], &[1]);
    let nothing = graph.node("Sub", &[&z, &z]);
    let nothing = graph.node_with("ReduceSum", "", &[&nothing, &axis], &[]);
    let missing = graph.node("IsNaN", &[&nothing]);
    graph.named_node("Where", &[&missing, &nothing, &p], "probabilities", &[]);
    let numbers: Vec<i64> = model.classes.iter().filter_map(|name| integer(name)).collect();
    let options_of_best = [("axis", Attribute::Int(1)), ("keepdims", Attribute::Int(0))];
    let best = graph.node_with("ArgMax", "", &["probabilities"], &options_of_best);
    let (element, names) = if numbers.len() == classes {
        (Element::Int64, graph.ints(&numbers, &[classes]))
    } else {
        let names: Vec<&str> = model.classes.iter().map(String::as_str).collect();
        (Element::Text, graph.texts(&names, &[classes]))
    };
    graph.named_node("Gather", &[&names, &best], "label", &[]);
    graph.output("label", element, &[Extent::Rows]);
    graph.output("probabilities", Element::Double, &[Extent::Rows, Extent::Fixed(classes)]);
    let link = serde_json::to_string(&model.link).unwrap_or_default();
    Ok(file(&model.base, opsets, &model.headline(), &model.classes, link, graph))
}

/// `W x + b`, one column a class.
fn scores(graph: &mut Graph, model: &ClassExportable, options: OnnxOptions) -> String {
    let (base, classes) = (&model.base, model.classes.len());
    let weights_of = |from: usize, to: usize| -> Vec<f64> {
        (from..to).flat_map(|j| model.weights.iter().map(move |row| row[j])).collect()
    };
    let mut sum: Option<String> = None;
    if base.is_numeric() {
        let x = numbers(graph, "X", &base.columns, options);
        let features = base.feature_names.len();
        let w = graph.doubles(&weights_of(0, features), &[features, classes]);
        sum = Some(graph.node("MatMul", &[&x, &w]));
    } else {
        let mut start = 0;
        for column in &base.columns {
            let end = start + column.width();
            let part = match &column.kind {
                ColumnKind::Categorical { categories, fill } => {
                    let text = Text { model: base, categories, fill: fill.as_deref() };
                    graph.input(&column.name, Element::Text, &[Extent::Rows, Extent::Fixed(1)]);
                    let place = text.place(graph, &column.name, options.portable);
                    let mut columns = Vec::new();
                    for row in &model.weights {
                        let own = &row[start..end];
                        let dot = |x: &[f64]| x.iter().zip(own).map(|(x, w)| x * w).sum();
                        columns.push(text.table(dot));
                    }
                    let rows = columns[0].len();
                    let flat: Vec<f64> = (0..rows)
                        .flat_map(|i| columns.iter().map(move |column| column[i]))
                        .collect();
                    let table = graph.doubles(&flat, &[rows, classes]);
                    let axis = graph.ints(&[1], &[1]);
                    let place = graph.node("Squeeze", &[&place, &axis]);
                    graph.node_with("Gather", "", &[&table, &place], &[("axis", Attribute::Int(0))])
                }
                _ => {
                    let x = numbers(graph, &column.name, std::slice::from_ref(column), options);
                    let w = graph.doubles(&weights_of(start, end), &[1, classes]);
                    graph.node("Mul", &[&x, &w])
                }
            };
            start = end;
            sum = Some(match sum {
                None => part,
                Some(sum) => graph.node("Add", &[&sum, &part]),
            });
        }
    }
    let b = graph.doubles(&model.intercepts, &[1, classes]);
    // A model has at least one column.
    let z = graph.node("Add", &[&sum.unwrap_or_default(), &b]);
    let Some((margin, t)) = model.margin else { return z };
    let (zero, one) = (graph.scalar(0.0), graph.scalar(1.0));
    let (margin, t) = (graph.scalar(margin), graph.scalar(t));
    // A minimum may make a number of NaN; 0 times the score puts it back.
    let nothing = graph.node("Mul", &[&z, &zero]);
    let p = graph.node("Min", &[&z, &one]);
    let p = graph.node("Max", &[&p, &zero]);
    let p = graph.node("Add", &[&p, &margin]);
    let p = graph.node("Log", &[&p]);
    let p = graph.node("Mul", &[&t, &p]);
    graph.node("Add", &[&p, &nothing])
}

fn link(graph: &mut Graph, model: &ClassExportable, z: &str, portable: bool, core: i64) -> String {
    let classes = model.classes.len();
    let axis = graph.ints(&[1], &[1]);
    // From version 18 on the axes are an input.
    let top = if core < 18 {
        graph.node_with("ReduceMax", "", &[z], &[("axes", Attribute::Ints(vec![1]))])
    } else {
        graph.node("ReduceMax", &[z, &axis])
    };
    let below = graph.node("Sub", &[z, &top]);
    let farthest = graph.scalar(FARTHEST);
    let below = graph.node("Max", &[&below, &farthest]);
    let mut powers: Vec<(f64, String)> = Vec::new();
    let floor = graph.doubles(&model.link.floor, &[1, classes]);
    let mut sum: Option<String> = model.link.floor.iter().any(|&c| c > 0.0).then_some(floor);
    let mut add = |graph: &mut Graph, part: String| {
        sum = Some(match &sum {
            None => part,
            Some(sum) => graph.node("Add", &[sum, &part]),
        });
    };
    for part in model.link.softmax.iter().filter(|part| part.mass > 0.0) {
        let e = power(graph, &mut powers, &below, part.t);
        let total = graph.node_with("ReduceSum", "", &[&e, &axis], &[]);
        let mass = graph.scalar(part.mass);
        let factor = graph.node("Div", &[&mass, &total]);
        let part = graph.node("Mul", &[&e, &factor]);
        add(graph, part);
    }
    let curves = model.curves();
    if !curves.is_empty() {
        let e = power(graph, &mut powers, &below, 1.0);
        let total = graph.node_with("ReduceSum", "", &[&e, &axis], &[]);
        let p = graph.node("Div", &[&e, &total]);
        let zero = graph.node("Sub", &[&top, &top]);
        let mut columns = vec![zero; classes];
        let mut masses = vec![0.0; classes];
        for curve in &curves {
            let place = graph.ints(&[curve.class as i64], &[1]);
            let own = graph.node_with("Gather", "", &[&p, &place], &[("axis", Attribute::Int(1))]);
            columns[curve.class] = interpolate(graph, &own, &curve.p, &curve.v, None, portable);
            masses[curve.class] = curve.mass;
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let v = graph.node_with("Concat", "", &columns, &[("axis", Attribute::Int(1))]);
        // Σ over the other classes, by a matrix of ones with an empty diagonal: no cancellation.
        let others: Vec<f64> = (0..classes * classes)
            .map(|i| f64::from(u8::from(i / classes != i % classes)))
            .collect();
        let others = graph.doubles(&others, &[classes, classes]);
        let rest = graph.node("MatMul", &[&e, &others]);
        let masses = graph.doubles(&masses, &[1, classes]);
        let left = graph.node("Sub", &[&masses, &v]);
        let factor = graph.node("Div", &[&left, &rest]);
        let factor = graph.node("MatMul", &[&factor, &others]);
        let split = graph.node("Mul", &[&e, &factor]);
        add(graph, v);
        add(graph, split);
    }
    // The masses sum to 1: there is a part.
    sum.unwrap_or_default()
}

/// `exp(t d)`; a square or a root of one that is known is cheaper.
fn power(graph: &mut Graph, known: &mut Vec<(f64, String)>, below: &str, t: f64) -> String {
    let find = |wanted: f64| known.iter().find(|(t, _)| *t == wanted).map(|(_, e)| e.clone());
    if let Some(e) = find(t) {
        return e;
    }
    let e = if let Some(half) = find(0.5 * t) {
        graph.node("Mul", &[&half, &half])
    } else if let Some(twice) = find(2.0 * t) {
        graph.node("Sqrt", &[&twice])
    } else {
        let factor = graph.scalar(t);
        let exponent =
            if t == 1.0 { below.to_owned() } else { graph.node("Mul", &[&factor, below]) };
        graph.node("Exp", &[&exponent])
    };
    known.push((t, e.clone()));
    e
}
