//! The steps of a program as nodes.

use std::sync::Arc;

use properloss::link::InverseLink;

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
            Op::Interpolate { at, x, y, along } => {
                let at = self.names[at.0].clone();
                let score = along.as_ref().map(|along| self.names[along.score.0].clone());
                let along = along
                    .as_ref()
                    .zip(score.as_deref())
                    .and_then(|(along, score)| Some(Rising { score, u: along.u.build().ok()? }));
                interpolate(self.graph, &at, x, y, along, self.portable)
            }
        }
    }
}

/// `at = u(score)`, by the name of the score.
pub(super) struct Rising<'a> {
    score: &'a str,
    u: Arc<dyn InverseLink>,
}

/// Straight lines through `(x_k, y_k)`: on a grid with at most one knot a cell, over `at` or over the
/// score that it rises with, with cut cells if it must be; else on piece `k` `min(y_k + slope_k (at - x_k), y_{k+1})`, anchored
/// at a knot, so that steep pieces lose no digits, and never above the next knot's value, so that
/// ranks are kept.
pub(super) fn interpolate(
    graph: &mut Graph,
    at: &str,
    x: &[f64],
    y: &[f64],
    along: Option<Rising<'_>>,
    portable: bool,
) -> String {
    let slope = slopes(x, y);
    let knots = along.as_ref().and_then(|along| apart(&*along.u, x));
    for grid_of in [Grid::new, Grid::nested] {
        if let Some(cells) = grid_of(x).and_then(|grid| Cells::new(grid, x, y, &slope)) {
            return cells.write(graph, at);
        }
        let Some((Rising { score, u }, knots)) = along.as_ref().zip(knots.as_deref()) else {
            continue;
        };
        let cells = grid_of(knots).and_then(|grid| Cells::along(grid, &**u, x, y, &slope));
        if let Some(cells) = cells {
            let (low, high) = (graph.scalar(knots[0]), graph.scalar(knots[knots.len() - 1]));
            let score = graph.node("Max", &[score, &low]);
            let score = graph.node("Min", &[&score, &high]);
            return cells.write_along(graph, at, &score);
        }
    }
    let index = piece(graph, at, x, portable);
    let rows: Vec<[f64; 4]> = (0..slope.len()).map(|k| [x[k], slope[k], y[k], y[k + 1]]).collect();
    let [anchor, slope, offset, ceiling] = graph.lookup(&rows, &index);
    let distance = graph.node("Sub", &[at, &anchor]);
    let rise = graph.node("Mul", &[&slope, &distance]);
    let value = graph.node("Add", &[&offset, &rise]);
    graph.node("Min", &[&value, &ceiling])
}

/// The inner knots as scores, with an end half a unit beyond the first and the last; `None` if they
/// are not finite and distinct.
pub(super) fn apart(u: &dyn InverseLink, x: &[f64]) -> Option<Vec<f64>> {
    let mut scores: Vec<f64> = x[1..x.len() - 1].iter().map(|&x| u.u_inverse(x)).collect();
    let (first, last) = (*scores.first()?, *scores.last()?);
    scores.insert(0, first - 0.5);
    scores.push(last + 0.5);
    let rises = scores.windows(2).all(|pair| pair[0] < pair[1]);
    (rises && first.is_finite() && last.is_finite()).then_some(scores)
}
