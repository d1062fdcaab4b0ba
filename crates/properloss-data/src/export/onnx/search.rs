//! The piece of a piecewise function that holds a number: on a grid, by a tree, or by bisection.
//!
//! 1e6 numbers, 300 pieces, onnxruntime 1.31 on one thread: 19 ms, 52 ms, 210 ms.

use super::graph::{Attribute, Graph, ML};

/// The index `k` with `x_k <= at < x_{k+1}`, the first or the last at the ends; `at` lies between
/// the first and the last `x`.
pub(super) fn piece(
    graph: &mut Graph,
    at: &str,
    x: &[f64],
    grid: Option<&Grid>,
    portable: bool,
) -> String {
    let inner = &x[1..x.len() - 1];
    match grid {
        Some(grid) => grid.write(graph, at),
        None if portable => bisection(graph, at, inner),
        None => tree(graph, at, inner),
    }
}

/// Knots that share a cell at most: each costs a comparison for every row.
const SHARED: usize = 3;
/// The most cells: their table stays in a processor's cache.
const CELLS: usize = 1 << 13;

/// Equal cells over the range, each with the number of the knots left of it and its own knots.
///
/// The cell of a number is `floor((at - x_0) scale)`, rounded as the runtime rounds it. That does not
/// decrease in `at`, so knots of earlier cells are below and those of later cells above any number
/// of this one: the search is exact.
#[derive(Debug)]
pub(super) struct Grid {
    origin: f64,
    scale: f64,
    /// The last knot.
    end: f64,
    /// The number of earlier knots, then the cell's own; infinite if there are fewer.
    cells: Vec<[f64; 1 + SHARED]>,
    /// The most knots of a cell.
    shared: usize,
}

impl Grid {
    /// The grid whose cells hold the fewest knots, and the smallest such; `None` where knots crowd.
    pub fn new(x: &[f64]) -> Option<Self> {
        let least = (2 * x.len()).next_power_of_two();
        let sizes =
            || std::iter::successors(Some(least), |n| Some(2 * n)).take_while(|&n| n <= CELLS);
        let grids: Vec<Self> = sizes().filter_map(|cells| Self::with_cells(x, cells)).collect();
        grids.into_iter().min_by_key(|grid| (grid.shared, grid.cells.len()))
    }

    fn with_cells(x: &[f64], count: usize) -> Option<Self> {
        let (origin, width) = (x[0], x[x.len() - 1] - x[0]);
        let scale = count as f64 / width;
        if !(scale.is_finite() && scale > f64::MIN_POSITIVE) {
            return None;
        }
        let mut grid = Self { origin, scale, end: x[x.len() - 1], cells: Vec::new(), shared: 0 };
        // The last number may be rounded into a cell of its own.
        let mut own: Vec<Vec<f64>> = vec![Vec::new(); count + 2];
        for &knot in &x[1..x.len() - 1] {
            own.get_mut(grid.cell(knot))?.push(knot);
        }
        let mut before = 0;
        for knots in &own {
            if knots.len() > SHARED {
                return None;
            }
            let mut cell = [f64::INFINITY; 1 + SHARED];
            cell[0] = before as f64;
            cell[1..=knots.len()].copy_from_slice(knots);
            grid.cells.push(cell);
            before += knots.len();
            grid.shared = grid.shared.max(knots.len());
        }
        Some(grid)
    }

    /// The cell of a number.
    pub fn cell(&self, at: f64) -> usize {
        ((at - self.origin) * self.scale) as usize
    }

    /// The cell of the last knot.
    pub fn last_cell(&self) -> usize {
        self.cell(self.end)
    }

    /// Where a cell starts, but for rounding.
    pub fn start_of(&self, cell: f64) -> f64 {
        self.origin + cell / self.scale
    }

    /// The knots of every cell.
    pub fn knots(&self) -> impl Iterator<Item = &[f64]> {
        self.cells.iter().map(|cell| {
            let own = &cell[1..];
            &own[..own.partition_point(|knot| knot.is_finite())]
        })
    }

    fn write(&self, graph: &mut Graph, at: &str) -> String {
        match self.shared {
            0 | 1 => self.write_with::<2>(graph, at),
            2 => self.write_with::<3>(graph, at),
            _ => self.write_with::<4>(graph, at),
        }
    }

    /// The number of the cell.
    pub fn write_cell(&self, graph: &mut Graph, at: &str) -> String {
        let mut cell = at.to_owned();
        if self.origin != 0.0 {
            let origin = graph.scalar(self.origin);
            cell = graph.node("Sub", &[&cell, &origin]);
        }
        let scale = graph.scalar(self.scale);
        cell = graph.node("Mul", &[&cell, &scale]);
        // NaN has no cell; a cast of it may be any integer.
        let missing = graph.node("IsNaN", &[&cell]);
        let zero = graph.scalar(0.0);
        cell = graph.node("Where", &[&missing, &zero, &cell]);
        graph.node_with("Cast", "", &[&cell], &[("to", Attribute::Int(7))])
    }

    /// Columns: the count, and the knots that are needed.
    fn write_with<const N: usize>(&self, graph: &mut Graph, at: &str) -> String {
        let cell = self.write_cell(graph, at);
        let rows: Vec<[f64; N]> =
            self.cells.iter().map(|cell| std::array::from_fn(|k| cell[k])).collect();
        let columns = graph.lookup(&rows, &cell);
        let mut index = columns[0].clone();
        let (one, zero) = (graph.scalar(1.0), graph.scalar(0.0));
        for knot in &columns[1..] {
            let left = graph.node("Less", &[at, knot]);
            let step = graph.node("Where", &[&left, &zero, &one]);
            index = graph.node("Add", &[&index, &step]);
        }
        graph.node_with("Cast", "", &[&index], &[("to", Attribute::Int(7))])
    }
}

/// A regression tree whose leaves are the numbers of the pieces: its output is `float`, which holds
/// integers up to 2^24 exactly; all else is in `double`.
fn tree(graph: &mut Graph, at: &str, inner: &[f64]) -> String {
    let mut nodes = Nodes::default();
    nodes.grow(inner, 0, inner.len());
    let count = nodes.values.len();
    let zeros = || Attribute::Ints(vec![0; count]);
    let leaves: Vec<usize> = (0..count).filter(|&i| nodes.modes[i] == "LEAF").collect();
    let of_leaves = |values: &[i64]| leaves.iter().map(|&i| values[i]).collect();
    let numbers: Vec<i64> = (0..count as i64).collect();
    let weights: Vec<f64> = leaves.iter().map(|&i| nodes.pieces[i] as f64).collect();
    let index = graph.node_with(
        "TreeEnsembleRegressor",
        ML,
        &[at],
        &[
            ("n_targets", Attribute::Int(1)),
            ("nodes_treeids", zeros()),
            ("nodes_nodeids", Attribute::Ints(numbers.clone())),
            ("nodes_featureids", zeros()),
            ("nodes_modes", Attribute::Texts(nodes.modes.clone())),
            ("nodes_values_as_tensor", Attribute::Doubles(nodes.values.clone())),
            ("nodes_truenodeids", Attribute::Ints(nodes.below.clone())),
            ("nodes_falsenodeids", Attribute::Ints(nodes.above.clone())),
            ("nodes_missing_value_tracks_true", zeros()),
            ("target_treeids", Attribute::Ints(vec![0; leaves.len()])),
            ("target_nodeids", Attribute::Ints(of_leaves(&numbers))),
            ("target_ids", Attribute::Ints(vec![0; leaves.len()])),
            ("target_weights_as_tensor", Attribute::Doubles(weights)),
        ],
    );
    graph.node_with("Cast", "", &[&index], &[("to", Attribute::Int(7))])
}

#[derive(Default)]
struct Nodes {
    modes: Vec<&'static str>,
    values: Vec<f64>,
    below: Vec<i64>,
    above: Vec<i64>,
    pieces: Vec<usize>,
}

impl Nodes {
    /// The tree over `inner[from..to]`; answers with the number of its root.
    fn grow(&mut self, inner: &[f64], from: usize, to: usize) -> i64 {
        let node = self.values.len();
        let leaf = from == to;
        let middle = from + (to - from) / 2;
        self.modes.push(if leaf { "LEAF" } else { "BRANCH_LT" });
        self.values.push(if leaf { 0.0 } else { inner[middle] });
        self.pieces.push(from);
        self.below.push(0);
        self.above.push(0);
        if !leaf {
            self.below[node] = self.grow(inner, from, middle);
            self.above[node] = self.grow(inner, middle + 1, to);
        }
        node as i64
    }
}

/// The number of inner knots that are at most `at`: the highest bit first, a `Gather` each. The
/// knots are filled up to a power of two (less one) by the largest number.
fn bisection(graph: &mut Graph, at: &str, inner: &[f64]) -> String {
    let zero = graph.ints(&[0], &[1, 1]);
    if inner.is_empty() {
        let comparison = graph.node("Less", &[at, at]);
        return graph.node_with("Cast", "", &[&comparison], &[("to", Attribute::Int(7))]);
    }
    let bits = usize::BITS - inner.len().leading_zeros();
    let mut padded = inner.to_vec();
    padded.resize((1 << bits) - 1, f64::INFINITY);
    let table = graph.doubles(&padded, &[padded.len()]);
    let mut found: Option<String> = None;
    for bit in (0..bits).rev() {
        let step = 1i64 << bit;
        let step_name = graph.ints(&[step], &[1, 1]);
        let knot = match &found {
            None => graph.scalar(padded[step as usize - 1]),
            Some(index) => {
                let before = graph.ints(&[step - 1], &[1, 1]);
                let probe = graph.node("Add", &[index, &before]);
                graph.node("Gather", &[&table, &probe])
            }
        };
        // An infinite score is not at an infinite knot.
        let at_or_right = graph.node("LessOrEqual", &[&knot, at]);
        let rise = graph.node("Where", &[&at_or_right, &step_name, &zero]);
        found = Some(match found {
            None => rise,
            Some(index) => graph.node("Add", &[&index, &rise]),
        });
    }
    found.unwrap_or(zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the written nodes compute.
    fn find(grid: &Grid, at: f64) -> usize {
        let cell = grid.cells[grid.cell(at)];
        cell[0] as usize + cell[1..].iter().filter(|&&knot| at >= knot).count()
    }

    #[test]
    fn a_grid_finds_the_piece_of_every_number() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut found = 0;
        for (start, width) in [(0.0, 1.0), (-7.3, 12.0), (1e10, 3.0), (-1e-12, 1e-9)] {
            for knots in [2, 3, 10, 300] {
                let mut x: Vec<f64> = (0..knots).map(|_| start + width * random()).collect();
                x.sort_by(f64::total_cmp);
                x.dedup();
                let Some(grid) = Grid::new(&x) else { continue };
                found += 1;
                let last = x.len() - 1;
                let inside = (0..2000).map(|_| x[0] + (x[last] - x[0]) * random());
                let beside = x.iter().flat_map(|&x| [x, x.next_up(), x.next_down()]);
                for at in inside.chain(beside).map(|at| at.clamp(x[0], x[last])) {
                    let piece = x.partition_point(|&x| x <= at).clamp(1, last) - 1;
                    assert_eq!(find(&grid, at).min(last - 1), piece, "{at} among {x:?}");
                }
            }
        }
        assert!(found >= 14, "{found} grids of 16");
    }

    #[test]
    fn crowded_knots_have_no_grid() {
        let x = [0.0, 1e-9, 2e-9, 3e-9, 4e-9, 5e-9, 1.0];
        assert!(Grid::new(&x).is_none());
        assert!(Grid::new(&[0.0, 1e-9, 2e-9, 1.0]).is_some());
    }
}
