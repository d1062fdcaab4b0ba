//! Nodes, constants, inputs and outputs of an ONNX graph. The numbers are those of `onnx.proto`.

use super::proto::Message;

/// The type of the elements of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Float = 1,
    Int64 = 7,
    Text = 8,
    Double = 11,
}

/// An attribute of a node.
pub(crate) enum Attribute<'a> {
    Int(i64),
    Ints(Vec<i64>),
    Texts(Vec<&'a str>),
    Doubles(Vec<f64>),
}

/// An extent of a tensor: given, or the number of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Extent {
    Rows,
    Fixed(usize),
}

/// A graph under construction.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    /// Scalars that are there already, by their bits.
    scalars: Vec<(u64, String)>,
    count: usize,
}

/// The domain of the tree and of the encoder of labels.
pub(crate) const ML: &str = "ai.onnx.ml";

impl Graph {
    /// An operator of the core; answers with the name of its output.
    pub fn node(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.node_with(operator, "", inputs, &[])
    }

    /// An operator of any domain with attributes.
    pub fn node_with(
        &mut self,
        operator: &str,
        domain: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute<'_>)],
    ) -> String {
        let output = self.fresh(operator);
        self.push_node(operator, domain, inputs, &output, attributes);
        output
    }

    /// An operator whose output has a given name.
    pub fn named_node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute<'_>)],
    ) {
        self.push_node(operator, "", inputs, output, attributes);
    }

    fn push_node(
        &mut self,
        operator: &str,
        domain: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute<'_>)],
    ) {
        let mut node = Message::new();
        for input in inputs {
            node = node.text(1, input);
        }
        node = node.text(2, output).text(3, &format!("make_{output}")).text(4, operator);
        for (name, value) in attributes {
            node = node.message(5, &attribute(name, value));
        }
        self.nodes.push(if domain.is_empty() { node } else { node.text(7, domain) });
    }

    fn fresh(&mut self, operator: &str) -> String {
        self.count += 1;
        format!("{}_{}", operator.to_lowercase(), self.count)
    }

    /// One number, shared by all that use it. Its shape is (1, 1), as that of a row's value: a runtime
    /// that broadcasts from the last axis on handles all rows at once (onnxruntime takes 50 times
    /// as long with a number of shape ()).
    pub fn scalar(&mut self, value: f64) -> String {
        if let Some((_, name)) = self.scalars.iter().find(|(bits, _)| *bits == value.to_bits()) {
            return name.clone();
        }
        let name = self.doubles(&[value], &[1, 1]);
        self.scalars.push((value.to_bits(), name.clone()));
        name
    }

    /// Numbers of a shape.
    pub fn doubles(&mut self, values: &[f64], shape: &[usize]) -> String {
        let name = self.fresh("constant");
        self.constants.push(doubles(&name, values, shape));
        name
    }

    /// Integers in a row.
    pub fn ints(&mut self, values: &[i64], shape: &[usize]) -> String {
        let name = self.fresh("constant");
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constants.push(tensor(&name, Element::Int64, shape).bytes(9, &raw));
        name
    }

    /// Texts in a row.
    pub fn texts(&mut self, values: &[&str], shape: &[usize]) -> String {
        let name = self.fresh("constant");
        let message = tensor(&name, Element::Text, shape);
        self.constants.push(values.iter().fold(message, |m, value| m.text(6, value)));
        name
    }

    /// The rows of a table that `index`, of shape (rows, 1), names: one value for each column.
    pub fn lookup<const N: usize>(&mut self, table: &[[f64; N]], index: &str) -> [String; N] {
        let flat: Vec<f64> = table.iter().flatten().copied().collect();
        let table = self.doubles(&flat, &[table.len(), N]);
        let axis = self.ints(&[1], &[1]);
        let rows = self.node("Squeeze", &[index, &axis]);
        let rows = self.node_with("Gather", "", &[&table, &rows], &[("axis", Attribute::Int(0))]);
        if N == 1 {
            return std::array::from_fn(|_| rows.clone());
        }
        let mut columns = self.split(&rows, &[1; N]).into_iter();
        std::array::from_fn(|_| columns.next().unwrap_or_default())
    }

    /// Columns side by side, of these numbers of columns each.
    pub fn split(&mut self, value: &str, sizes: &[i64]) -> Vec<String> {
        if sizes.len() == 1 {
            return vec![value.to_owned()];
        }
        let outputs: Vec<String> = sizes.iter().map(|_| self.fresh("split")).collect();
        let mut node = Message::new().text(1, value).text(1, &self.ints(sizes, &[sizes.len()]));
        for output in &outputs {
            node = node.text(2, output);
        }
        node = node.text(3, &format!("make_{}", outputs[0])).text(4, "Split");
        self.nodes.push(node.message(5, &attribute("axis", &Attribute::Int(1))));
        outputs
    }

    /// Declares an input.
    pub fn input(&mut self, name: &str, element: Element, shape: &[Extent]) {
        self.inputs.push(value_info(name, element, shape));
    }

    /// Declares an output.
    pub fn output(&mut self, name: &str, element: Element, shape: &[Extent]) {
        self.outputs.push(value_info(name, element, shape));
    }

    /// The finished `GraphProto`.
    pub fn finish(self, name: &str) -> Message {
        Message::new()
            .messages(1, &self.nodes)
            .text(2, name)
            .messages(5, &self.constants)
            .messages(11, &self.inputs)
            .messages(12, &self.outputs)
    }
}

/// `TensorProto` without its data.
fn tensor(name: &str, element: Element, shape: &[usize]) -> Message {
    let dims: Vec<i64> = shape.iter().map(|&d| d as i64).collect();
    Message::new().ints(1, &dims).int(2, element as i64).text(8, name)
}

fn doubles(name: &str, values: &[f64], shape: &[usize]) -> Message {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, Element::Double, shape).bytes(9, &raw)
}

/// `AttributeProto`; field 20 says which of the others holds the value.
fn attribute(name: &str, value: &Attribute<'_>) -> Message {
    let message = Message::new().text(1, name);
    match value {
        Attribute::Int(value) => message.int(3, *value).int(20, 2),
        Attribute::Ints(values) => {
            values.iter().fold(message, |m, &value| m.int(8, value)).int(20, 7)
        }
        Attribute::Texts(values) => {
            values.iter().fold(message, |m, value| m.text(9, value)).int(20, 8)
        }
        Attribute::Doubles(values) => {
            message.message(5, &doubles(name, values, &[values.len()])).int(20, 4)
        }
    }
}

/// `ValueInfoProto` of a tensor.
fn value_info(name: &str, element: Element, shape: &[Extent]) -> Message {
    let shape = shape.iter().fold(Message::new(), |shape, extent| {
        let extent = match extent {
            Extent::Rows => Message::new().text(2, "rows"),
            Extent::Fixed(size) => Message::new().int(1, *size as i64),
        };
        shape.message(1, &extent)
    });
    let tensor = Message::new().int(1, element as i64).message(2, &shape);
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}
