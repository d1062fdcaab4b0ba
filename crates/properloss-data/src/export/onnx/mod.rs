//! A model as an ONNX graph in `double`.
//!
//! ```text
//! columns -> x -> MatMul -> z -> link -> P(y = 1) -> label, probabilities
//! ```
//!
//! The line of a learned link is looked up by `Gather` in the cells of a grid, some of which are cut where
//! knots all but meet. Where more crowd the number of the piece comes first, from a
//! `TreeEnsembleRegressor` (which gives nothing but that number); with `portable` the tree is a
//! bisection, so that the graph has core operators only. `Erf` and `Atan` have no `double` form in onnxruntime: those
//! links are polynomials.

mod cells;
mod encode;
mod graph;
mod looks;
mod ordered;
mod proto;
mod search;
mod several;
mod steps;

use properloss::link::LinkSpec;
use properloss::options;

use super::Exportable;
use crate::error::Result;
use graph::{Attribute, Element, Extent, Graph, ML};
use proto::Message;
pub(super) use several::write as write_several;

options! {
    /// How the graph is written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    #[non_exhaustive]
    pub struct OnnxOptions {
        /// Core operators only.
        pub portable: bool => portable = true,
        /// Numbers come in as `float` (and are cast to `double` first).
        pub float_input: bool => with_float_input = true,
    }
}

/// The operator sets of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opsets {
    /// The version of the core set.
    pub core: i64,
    /// The version of `ai.onnx.ml`, if the graph uses it.
    pub ml: Option<i64>,
    /// The version of the file format.
    pub ir: i64,
}

impl Opsets {
    /// Comparing texts came with core version 19; `double` trees with version 3 of `ai.onnx.ml`.
    pub fn of(model: &Exportable, options: OnnxOptions) -> Self {
        match (options.portable, model.is_numeric()) {
            (true, false) => Self { core: 19, ml: None, ir: 9 },
            (true, true) => Self { core: 17, ml: None, ir: 8 },
            (false, _) => Self { core: 17, ml: Some(3), ir: 8 },
        }
    }
}

pub(super) fn write(model: &Exportable, options: OnnxOptions) -> Result<Vec<u8>> {
    let (program, pair) = model.program()?;
    let mut graph = Graph::default();
    let [q, p] = if let Some(first) = looks::FirstLook::of(model) {
        let p = first.write(&mut graph, model, options, (&program, pair.p))?;
        [complement(&mut graph, &p, model.range), p]
    } else if matches!(model.link, LinkSpec::Builtin { .. }) {
        let z = encode::score(&mut graph, model, options);
        let pair = [pair.q, pair.p];
        let pair = steps::write(&mut graph, &program, pair, &z, options.portable);
        answers(&mut graph, &z, pair)
    } else {
        let z = encode::score(&mut graph, model, options);
        let p = steps::write(&mut graph, &program, [pair.p], &z, options.portable);
        let [p] = answers(&mut graph, &z, p);
        [complement(&mut graph, &p, model.range), p]
    };
    graph.named_node("Concat", &[&q, &p], "probabilities", &[("axis", Attribute::Int(1))]);
    let element = labels(&mut graph, &model.classes, &p);
    graph.output("label", element, &[Extent::Rows]);
    graph.output("probabilities", Element::Double, &[Extent::Rows, Extent::Fixed(2)]);

    let opsets = Opsets::of(model, options);
    let link = model.link.name();
    Ok(file(model, opsets, &model.headline(), &model.classes, link, graph))
}

/// No answer stays no answer, whatever the runtime's minimum or cast makes of NaN.
fn answers<const N: usize>(graph: &mut Graph, z: &str, values: [String; N]) -> [String; N] {
    let missing = graph.node("IsNaN", &[z]);
    values.map(|value| graph.node("Where", &[&missing, z, &value]))
}

/// `1 - p` of a learned link, within the range that `p` has already.
fn complement(graph: &mut Graph, p: &str, [low, high]: [f64; 2]) -> String {
    let one = graph.scalar(1.0);
    let mut q = graph.node("Sub", &[&one, p]);
    if 1.0 - low > high {
        let high = graph.scalar(high);
        q = graph.node("Min", &[&q, &high]);
    }
    if 1.0 - high < low {
        let low = graph.scalar(low);
        q = graph.node("Max", &[&q, &low]);
    }
    q
}

/// `ModelProto`.
fn file(
    model: &Exportable,
    opsets: Opsets,
    headline: &str,
    classes: &[String],
    link: String,
    graph: Graph,
) -> Vec<u8> {
    let opset = |domain: &str, version: i64| {
        let message =
            if domain.is_empty() { Message::new() } else { Message::new().text(1, domain) };
        message.int(2, version)
    };
    let mut file = Message::new()
        .int(1, opsets.ir)
        .text(2, "properloss")
        .text(3, env!("CARGO_PKG_VERSION"))
        .text(6, headline)
        .message(7, &graph.finish("properloss"))
        .message(8, &opset("", opsets.core));
    if let Some(version) = opsets.ml {
        file = file.message(8, &opset(ML, version));
    }
    for (key, value) in metadata(model, opsets, classes, link) {
        file = file.message(14, &Message::new().text(1, key).text(2, &value));
    }
    file.into_bytes()
}

/// The class of each row: the second where its probability is above 1/2. Names that are integers
/// become integers.
fn labels(graph: &mut Graph, classes: &[String; 2], p: &str) -> Element {
    let half = graph.scalar(0.5);
    let positive = graph.node("Greater", &[p, &half]);
    let numbers: Vec<i64> = classes.iter().filter_map(|name| integer(name)).collect();
    let axis = graph.ints(&[1], &[1]);
    if numbers == [0, 1] {
        let label = graph.node_with("Cast", "", &[&positive], &[("to", Attribute::Int(7))]);
        graph.named_node("Squeeze", &[&label, &axis], "label", &[]);
        return Element::Int64;
    }
    let (element, [no, yes]) = match numbers[..] {
        [no, yes] => (Element::Int64, [no, yes].map(|number| graph.ints(&[number], &[1, 1]))),
        _ => (Element::Text, [0, 1].map(|k| graph.texts(&[&classes[k]], &[1, 1]))),
    };
    let label = graph.node("Where", &[&positive, &yes, &no]);
    graph.named_node("Squeeze", &[&label, &axis], "label", &[]);
    element
}

/// The integer of a name that is written as that integer is.
fn integer(name: &str) -> Option<i64> {
    name.parse::<i64>().ok().filter(|number| number.to_string() == *name)
}

fn metadata(
    model: &Exportable,
    opsets: Opsets,
    classes: &[String],
    link: String,
) -> Vec<(&'static str, String)> {
    let json = |names: &[String]| serde_json::Value::from(names.to_vec()).to_string();
    let columns: Vec<String> = model.columns.iter().map(|column| column.name.clone()).collect();
    let mut opset = format!("ai.onnx {}", opsets.core);
    if let Some(version) = opsets.ml {
        opset.push_str(&format!(", {ML} {version}"));
    }
    vec![
        ("properloss.version", env!("CARGO_PKG_VERSION").into()),
        ("columns", json(&columns)),
        ("features", json(&model.feature_names)),
        ("classes", json(classes)),
        ("link", link),
        ("opset", opset),
    ]
}
