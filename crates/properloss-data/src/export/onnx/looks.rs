//! A steep link in two looks: all rows by a quick sum, and those that need it once more by ours.
//!
//! Where a link has a slope of more than 256, the last places of a score are seen (`ordered.rs`). As a link rises by 1 at
//! most, all its steep pieces together are less than 1/256 of a unit of the score wide, and few rows have their score
//! there. So
//!
//! ```text
//! z = MatMul(x, w) -> cells of a grid -> p, open (NaN) near steep pieces and where knots crowd
//! rows of open p -> their x -> w.x in our order -> the link -> scattered into p
//! ```
//!
//! A quick score is taken to be within `2⁻²⁶ (1 + |z|)` of ours: with `d` features that is so if
//! `Σ|w_j x_j|` is at most `1.3e8/d` of those.

use properloss::link::LinkSpec;

use super::super::Exportable;
use super::super::link;
use super::super::program::{Program, Value, slopes};
use super::cells::Cells;
use super::graph::{Attribute, Graph};
use super::ordered::{Seen, seen};
use super::search::Grid;
use super::{OnnxOptions, answers, encode, steps};
use crate::error::Result;

/// How far a quick score may be from ours, relative to `1 + |z|`.
const MARGIN: f64 = 1.0 / (1u64 << 26) as f64;
/// The largest share of the cells that may be open for a first look to pay.
const OPEN: f64 = 0.25;

/// The lines of a learned link over a grid of scores, open where they are to be looked at again.
pub(super) struct FirstLook<'m> {
    /// What they are learned on: `at = u(score)`; without it `at` is the score.
    base: Option<&'m LinkSpec>,
    cells: Cells,
}

impl<'m> FirstLook<'m> {
    /// `None` if one look does: the link is flat, or so steep in most places that nothing is gained.
    pub fn of(model: &'m Exportable) -> Option<Self> {
        // The product of one weight has no order.
        if model.line().0.len() < 2 || !encode::wide(model) {
            return None;
        }
        let Seen::At(steep) = seen(&model.link) else { return None };
        if steep.is_empty() {
            return None;
        }
        let (base, mut cells) = match &model.link {
            LinkSpec::Piecewise { z: x, u: y } | LinkSpec::Isotonic { z: x, u: y } => {
                (None, Cells::new(Grid::crowded(x)?, x, y, &slopes(x, y))?)
            }
            LinkSpec::Relative { base, p: x, v: y } => {
                let u = base.build().ok()?;
                let grid = Grid::crowded(&steps::apart(&*u, x)?)?;
                (Some(&**base), Cells::along(grid, &*u, x, y, &slopes(x, y))?)
            }
            _ => return None,
        };
        let margin = |z: f64| MARGIN * (1.0 + z.abs());
        let near: Vec<[f64; 2]> =
            steep.iter().map(|&[low, high]| [low - margin(low), high + margin(high)]).collect();
        (cells.leave_open(&near) < OPEN).then_some(Self { base, cells })
    }

    /// Writes both looks; answers with the name of the probabilities. The second is by `program`, from
    /// the score to `p`.
    pub fn write(
        &self,
        graph: &mut Graph,
        model: &Exportable,
        options: OnnxOptions,
        (program, p): (&Program, Value),
    ) -> Result<String> {
        let x = encode::features(graph, model, options);
        let z = encode::quick_score(graph, model, &x);
        let score = clamp(graph, &z, self.cells.range());
        let at = match self.base {
            None => score.clone(),
            Some(base) => {
                let mut program = Program::default();
                let argument = program.score();
                let pair = link::link(&mut program, base, argument)?;
                let [at] = steps::write(graph, &program, [pair.p], &z, options.portable);
                at
            }
        };
        let (mut first, risen) = self.cells.write_open(graph, &at, &score);
        if model.range != [0.0, 1.0] {
            first = clamp(graph, &first, model.range);
        }

        let [open, missing] = [&risen, &z].map(|value| graph.node("IsNaN", &[value]));
        let again = graph.node("Or", &[&open, &missing]);
        let [rows, columns] = [0, 1].map(|axis| graph.ints(&[axis], &[1]));
        let again = graph.node("Squeeze", &[&again, &columns]);
        // The numbers of the rows, of shape (1, k).
        let again = graph.node("NonZero", &[&again]);
        let places = graph.node("Transpose", &[&again]);
        let again = graph.node("Squeeze", &[&again, &rows]);
        let x = graph.node_with("Gather", "", &[&x, &again], &[("axis", Attribute::Int(0))]);
        let z = encode::ordered_score(graph, model, &x);
        let second = steps::write(graph, program, [p], &z, options.portable);
        let [second] = answers(graph, &z, second);
        Ok(graph.node("ScatterND", &[&first, &places, &second]))
    }
}

/// Within a range; NaN becomes anything.
fn clamp(graph: &mut Graph, value: &str, [low, high]: [f64; 2]) -> String {
    let (low, high) = (graph.scalar(low), graph.scalar(high));
    let value = graph.node("Min", &[value, &high]);
    graph.node("Max", &[&value, &low])
}
