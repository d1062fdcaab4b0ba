//! The steps of a program as nodes.

use super::super::program::{Binary, Op, Program, Unary, Value, slopes};
use super::cells::Cells;
use super::graph::Graph;
use super::search::{Grid, piece};

/// Writes what `results` need; answers with their names.
pub(super) fn write<const N: usize>(
    graph: &mut Graph,
    program: &Program,
    results: [Value; N],
    score: &str,
    portable: bool,
) -> [String; N] {
    let mut needed = vec![false; program.ops().len()];
    results.iter().for_each(|value| needed[value.0] = true);
    for i in (0..needed.len()).rev() {
        if needed[i] {
            Program::arguments(program.op(Value(i))).iter().for_each(|a| needed[a.0] = true);
        }
    }
    let mut steps = Steps { graph, portable, names: Vec::new() };
    for (op, needed) in program.ops().iter().zip(needed) {
        let name = if needed { steps.step(op, score) } else { String::new() };
        steps.names.push(name);
    }
    results.map(|value| steps.names[value.0].clone())
}

struct Steps<'g> {
    graph: &'g mut Graph,
    portable: bool,
    names: Vec<String>,
}

impl Steps<'_> {
    fn step(&mut self, op: &Op, score: &str) -> String {
        match op {
            Op::Score => score.to_owned(),
            Op::Given(name) => name.clone(),
            Op::Constant(value) => self.graph.scalar(*value),
            Op::Unary(op, a) => {
                let operator = match op {
                    Unary::Negative => "Neg",
                    Unary::Absolute => "Abs",
                    Unary::Exponential => "Exp",
                    Unary::Logarithm => "Log",
                    Unary::Root => "Sqrt",
                };
                self.graph.node(operator, &[&self.names[a.0]])
            }
            Op::Binary(op, a, b) => {
                let operator = match op {
                    Binary::Add => "Add",
                    Binary::Subtract => "Sub",
                    Binary::Multiply => "Mul",
                    Binary::Divide => "Div",
                    Binary::Least => "Min",
                    Binary::Largest => "Max",
                };
                self.graph.node(operator, &[&self.names[a.0], &self.names[b.0]])
            }
            Op::Select { left, right, then, other } => {
                let name = |value: &Value| self.names[value.0].as_str();
                let less = self.graph.node("Less", &[name(left), name(right)]);
                self.graph.node("Where", &[&less, name(then), name(other)])
            }
            Op::Interpolate { at, x, y } => {
                let at = self.names[at.0].clone();
                interpolate(self.graph, &at, x, y, self.portable)
            }
        }
    }
}

/// Straight lines through `(x_k, y_k)`: on a grid with at most one knot a cell, else on piece `k`
/// `min(y_k + slope_k (at - x_k), y_{k+1})`, anchored at a knot, so that steep pieces lose no digits,
/// and never above the next knot's value, so that ranks are kept.
pub(super) fn interpolate(
    graph: &mut Graph,
    at: &str,
    x: &[f64],
    y: &[f64],
    portable: bool,
) -> String {
    let slope = slopes(x, y);
    let grid = Grid::new(x);
    if let Some(cells) = grid.as_ref().and_then(|grid| Cells::new(grid, x, y, &slope)) {
        return cells.write(graph, at);
    }
    let index = piece(graph, at, x, grid.as_ref(), portable);
    let rows: Vec<[f64; 4]> = (0..slope.len()).map(|k| [x[k], slope[k], y[k], y[k + 1]]).collect();
    let [anchor, slope, offset, ceiling] = graph.lookup(&rows, &index);
    let distance = graph.node("Sub", &[at, &anchor]);
    let rise = graph.node("Mul", &[&slope, &distance]);
    let value = graph.node("Add", &[&offset, &rise]);
    graph.node("Min", &[&value, &ceiling])
}
