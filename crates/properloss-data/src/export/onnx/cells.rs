//! A piecewise function on a grid of cells, at most one knot in each: one lookup gives all that a number
//! needs.
//!
//! With `k` the knot of the cell, or the last one before it,
//!
//! ```text
//! f(at) = min(y_k + s (at - x_k), ceiling),    s = the left slope of k if at < x_k, else the right one.
//! ```
//!
//! Every line is anchored at a knot, so that steep pieces lose no digits. In a cell `f` does not
//! decrease, rounding included; the ceiling is `f` at the first number of the next cell, so it does
//! not decrease anywhere: ranks are kept.
//!
//! Where knots crowd in `at`, the cells may be those of a score with `at = u(score)`: the knots of a
//! link that is learned on the sigmoid are close together near 0 and 1, but not in log-odds. The
//! runtime's `u` is not ours to the last place; a ceiling a little lower keeps the ranks.

use properloss::link::InverseLink;

use super::graph::Graph;
use super::search::Grid;

/// One cell: `x_k`, `y_k`, the left slope, the right slope, the ceiling.
type Cell = [f64; 5];

/// The cells of a grid, each with its lines.
#[derive(Debug)]
pub(super) struct Cells {
    grid: Grid,
    cells: Vec<Cell>,
}

/// How far the runtime's `u` may be from ours, relative to it.
const MARGIN: f64 = 4.0 * f64::EPSILON;

impl Cells {
    /// Cells of `at`.
    pub fn new(grid: Grid, x: &[f64], y: &[f64], slope: &[f64]) -> Option<Self> {
        Self::with(grid, |first| first, 0.0, x, y, slope)
    }

    /// Cells of the score, `at = u(score)`.
    pub fn along(
        grid: Grid,
        u: &dyn InverseLink,
        x: &[f64],
        y: &[f64],
        slope: &[f64],
    ) -> Option<Self> {
        Self::with(grid, |first| u.u(first), MARGIN, x, y, slope)
    }

    fn with(
        grid: Grid,
        at: impl Fn(f64) -> f64,
        margin: f64,
        x: &[f64],
        y: &[f64],
        slope: &[f64],
    ) -> Option<Self> {
        let last = slope.len() - 1;
        let mut cells: Vec<Cell> = Vec::new();
        let mut anchor = 0;
        for &own in grid.held() {
            anchor += own;
            let right = slope[anchor.min(last)];
            let left = if own > 0 { slope[anchor - 1] } else { right };
            cells.push([x[anchor], y[anchor], left, right, y[y.len() - 1]]);
        }
        let mut found = Self { grid, cells };
        // The last cell in use holds all that is beyond, up to the last value.
        for c in 0..found.grid.last_cell() {
            let first = found.grid.first_number(c + 1)?;
            let cell = found.grid.cell(first);
            let (next, first) = (found.cells[cell], at(first));
            // A cell of several knots has a line for each.
            let one = found.grid.held()[cell] < 2;
            let k = piece_of(x, first);
            let value = if one { line(&next, first) } else { y[k] + slope[k] * (first - x[k]) };
            found.cells[c][4] = value - margin * (value + slope[k] * first);
        }
        Some(found)
    }

    /// Leaves `f` open (NaN) in the cells of several knots, and in those of the numbers of each range. Answers with
    /// the share of the cells that are open.
    pub fn leave_open(&mut self, ranges: &[[f64; 2]]) -> f64 {
        let grid = &self.grid;
        let mut open: Vec<bool> = grid.held().iter().map(|&knots| knots > 1).collect();
        for &[low, high] in ranges {
            let [from, to] = [low, high].map(|at| grid.cell(at.clamp(grid.origin(), grid.end())));
            open[from..=to].fill(true);
        }
        for (cell, &open) in self.cells.iter_mut().zip(&open) {
            if open {
                *cell = [f64::NAN; 5];
            }
        }
        open.iter().filter(|&&open| open).count() as f64 / open.len() as f64
    }

    /// The first and the last number of the grid.
    pub fn range(&self) -> [f64; 2] {
        [self.grid.origin(), self.grid.end()]
    }

    /// Writes the nodes; answers with the name of `f(at)`.
    pub fn write(&self, graph: &mut Graph, at: &str) -> String {
        self.write_along(graph, at, at)
    }

    /// The same by the cells of `score`, which lies within the grid.
    pub fn write_along(&self, graph: &mut Graph, at: &str, score: &str) -> String {
        self.write_open(graph, at, score).0
    }

    /// `f(at)`, and a number that is NaN for certain where `f` was left open or `at` is none (a
    /// runtime's minimum may hide it in the first).
    pub fn write_open(&self, graph: &mut Graph, at: &str, score: &str) -> (String, String) {
        let index = self.grid.write_cell(graph, score);
        let [x, y, left, right, ceiling] = graph.lookup(&self.cells, &index);
        let zero = graph.scalar(0.0);
        let distance = graph.node("Sub", &[at, &x]);
        let before = graph.node("Less", &[&distance, &zero]);
        let slope = graph.node("Where", &[&before, &left, &right]);
        let rise = graph.node("Mul", &[&slope, &distance]);
        let value = graph.node("Add", &[&y, &rise]);
        (graph.node("Min", &[&value, &ceiling]), value)
    }
}

/// The `k` with `x_k <= at < x_{k+1}`.
fn piece_of(x: &[f64], at: f64) -> usize {
    x.partition_point(|&x| x <= at).clamp(1, x.len() - 1) - 1
}

/// `y_k + s (at - x_k)`, rounded as a graph rounds it.
fn line(&[x, y, left, right, _]: &Cell, at: f64) -> f64 {
    let distance = at - x;
    y + if distance < 0.0 { left } else { right } * distance
}

#[cfg(test)]
mod tests {
    use properloss::link::LinkSpec;

    use super::super::super::program::slopes;
    use super::*;

    /// What the written nodes compute.
    fn value(cells: &Cells, at: f64) -> f64 {
        let cell = &cells.cells[cells.grid.cell(at)];
        line(cell, at).min(cell[4])
    }

    fn random_knots(state: &mut u64, count: usize) -> Vec<f64> {
        let mut steps = vec![0.0];
        for _ in 1..count {
            *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let step = 10f64.powf(-2.0 * (*state >> 11) as f64 / (1u64 << 53) as f64);
            steps.push(steps[steps.len() - 1] + step);
        }
        let total = steps[count - 1];
        steps.iter().map(|step| step / total).collect()
    }

    #[test]
    fn the_function_is_ours_and_never_falls() {
        check_on(Grid::new);
    }

    #[test]
    fn nor_does_it_where_cells_are_cut() {
        check_on(Grid::nested);
    }

    fn check_on(grid_of: impl Fn(&[f64]) -> Option<Grid>) {
        let mut state = 1u64;
        let mut found = 0;
        for (start, width) in [(0.0, 1.0), (-7.3, 12.0), (1e10, 3.0), (-1e-12, 1e-9)] {
            for count in [2, 3, 10, 100] {
                let mut x: Vec<f64> =
                    random_knots(&mut state, count).iter().map(|t| start + width * t).collect();
                x.dedup();
                let mut y = random_knots(&mut state, x.len());
                if count == 10 {
                    // A flat piece.
                    y[4] = y[3];
                }
                let slope = slopes(&x, &y);
                let Some(grid) = grid_of(&x) else { continue };
                let cells = Cells::new(grid, &x, &y, &slope).expect("cells");
                found += 1;
                let last = x.len() - 1;
                let mut places: Vec<f64> =
                    (0..=4000).map(|k| x[0] + (x[last] - x[0]) * f64::from(k) / 4000.0).collect();
                let starts = (1..cells.cells.len()).filter_map(|c| cells.grid.first_number(c));
                for near in x.iter().copied().chain(starts).collect::<Vec<f64>>() {
                    let below = std::iter::successors(Some(near), |at| Some(at.next_down()));
                    let above = std::iter::successors(Some(near), |at| Some(at.next_up()));
                    places.extend(below.take(4).chain(above.take(4)));
                }
                places.retain(|at| (x[0]..=x[last]).contains(at));
                places.sort_by(f64::total_cmp);
                let mut before = 0.0;
                for at in places {
                    let k = piece_of(&x, at);
                    let ours = (y[k] + slope[k] * (at - x[k])).min(y[k + 1]);
                    let here = value(&cells, at);
                    assert!((here - ours).abs() <= 1e-15, "{at} among {x:?}: {here} for {ours}");
                    assert!(here >= before, "{here} after {before} at {at} among {x:?}");
                    before = here;
                }
            }
        }
        assert!(found >= 14, "{found} of 16");
    }

    #[test]
    fn knots_that_crowd_at_the_ends_lie_apart_along_the_score() {
        let u = LinkSpec::builtin("sigmoid").build().unwrap();
        let mut state = 5u64;
        let scores: Vec<f64> =
            (0..400).map(|k| 0.07 * f64::from(k) - 14.0 + 0.02 * f64::from(k).sin()).collect();
        let mut x: Vec<f64> = scores.iter().map(|&z| u.u(z)).collect();
        x.insert(0, 0.0);
        x.push(1.0);
        let y: Vec<f64> =
            random_knots(&mut state, x.len()).iter().map(|t| 0.05 + 0.9 * t).collect();
        let slope = slopes(&x, &y);
        assert!(Grid::new(&x).is_none());
        let mut knots = scores.clone();
        knots.insert(0, -14.5);
        knots.push(14.5);
        let grid = Grid::new(&knots).expect("a grid of scores");
        let cells = Cells::along(grid, &*u, &x, &y, &slope).expect("one knot a cell");
        let mut before = 0.0;
        for k in -40_000..=40_000 {
            let score = f64::from(k) / 1000.0;
            let at = u.u(score);
            let cell = &cells.cells[cells.grid.cell(score.clamp(-14.5, 14.5))];
            let here = line(cell, at).min(cell[4]);
            let k = piece_of(&x, at);
            let ours = (y[k] + slope[k] * (at - x[k])).min(y[k + 1]);
            // A step of 1/1000 over a hundred thousandth of the probabilities is steep.
            let bound = 1e-15 + 4.0 * f64::EPSILON * slope[k] * at;
            assert!((here - ours).abs() <= bound, "{score}: {here} for {ours}");
            assert!(here >= before, "{here} after {before} at {score}");
            before = here;
        }
    }
}
