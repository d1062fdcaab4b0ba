//! The neighbour graph of the approximability lemma.

use crate::error::{Error, Result};

/// All pairwise distances of the rows, the upper triangle without its diagonal.
struct Distances {
    rows: usize,
    d: Vec<f64>,
}

impl Distances {
    fn new(x: &[f64], columns: usize, minimum: usize) -> Result<Self> {
        if columns == 0 || !x.len().is_multiple_of(columns) {
            return Err(Error::LengthMismatch {
                what: "x",
                length: x.len(),
                other: "one row",
                other_length: columns,
            });
        }
        let rows = x.len() / columns;
        if rows < minimum {
            return Err(Error::TooShort { what: "rows", length: rows, minimum });
        }
        if let Some((index, &value)) = x.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(Error::NotFinite { what: "x", index, value });
        }
        let row = |i: usize| &x[i * columns..(i + 1) * columns];
        let mut d = Vec::with_capacity(rows * (rows - 1) / 2);
        for i in 0..rows {
            for j in i + 1..rows {
                d.push(distance(row(i), row(j)));
            }
        }
        Ok(Self { rows, d })
    }

    #[inline]
    fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = if i < j { (i, j) } else { (j, i) };
        // Row i of the triangle starts after (rows-1) + ... + (rows-i) entries.
        self.d[i * (2 * self.rows - i - 1) / 2 + (j - i - 1)]
    }

    /// The longest edge of a minimum spanning tree (Prim, O(m²)).
    fn bottleneck(&self) -> f64 {
        let mut nearest: Vec<f64> = vec![f64::INFINITY; self.rows];
        let mut outside: Vec<usize> = (1..self.rows).collect();
        let (mut added, mut longest) = (0, 0.0);
        while !outside.is_empty() {
            let mut best = 0;
            for (slot, &j) in outside.iter().enumerate() {
                nearest[j] = nearest[j].min(self.get(added, j));
                if nearest[j] < nearest[outside[best]] {
                    best = slot;
                }
            }
            added = outside.swap_remove(best);
            longest = f64::max(longest, nearest[added]);
        }
        longest
    }

    /// Whether the graph of the pairs at distance at most `epsilon` is connected and stays so when
    /// any one vertex is removed: a depth-first search with low points (Hopcroft and Tarjan), O(m²).
    fn two_connected(&self, epsilon: f64) -> bool {
        const UNSEEN: usize = usize::MAX;
        let mut depth = vec![UNSEEN; self.rows];
        let mut low = vec![0; self.rows];
        let mut next = vec![0; self.rows];
        let (mut path, mut seen, mut root_children) = (vec![0_usize], 1, 0);
        depth[0] = 0;
        while let Some(&v) = path.last() {
            let parent = path.len().checked_sub(2).map(|k| path[k]);
            if next[v] < self.rows {
                let to = next[v];
                next[v] += 1;
                if to == v || Some(to) == parent || self.get(v, to) > epsilon {
                    continue;
                }
                if depth[to] == UNSEEN {
                    depth[to] = path.len();
                    low[to] = path.len();
                    seen += 1;
                    path.push(to);
                } else {
                    low[v] = low[v].min(depth[to]);
                }
                continue;
            }
            path.pop();
            match parent {
                None => {}
                Some(0) => root_children += 1,
                Some(parent) => {
                    if low[v] >= depth[parent] {
                        return false; // removing the parent separates v
                    }
                    low[parent] = low[parent].min(low[v]);
                }
            }
        }
        seen == self.rows && root_children <= 1
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The smallest `ε` for which the graph of the rows at Euclidean distance at most `ε` is connected:
/// the longest edge of a minimum spanning tree. `x` is row-major; O(m² d) time, O(m²) memory.
pub fn connectivity_radius(x: &[f64], columns: usize) -> Result<f64> {
    Ok(Distances::new(x, columns, 2)?.bottleneck())
}

/// The smallest `ε` for which that graph is 2-vertex-connected (the hypothesis of the paper's
/// Lemma 7 of the paper); at least three rows. For a few thousand rows: O(m² (d + log m)) time, O(m²) memory.
///
/// The answer is one of the distances, and no less than [`connectivity_radius`] nor than the
/// distance of any row to its second neighbour; a binary search over the distances above both
/// tests each candidate by its articulation points.
pub fn biconnectivity_radius(x: &[f64], columns: usize) -> Result<f64> {
    Ok(radii(x, columns)?.1)
}

/// Both radii from one table of distances.
pub(super) fn radii(x: &[f64], columns: usize) -> Result<(f64, f64)> {
    let distances = Distances::new(x, columns, 3)?;
    let connected = distances.bottleneck();
    let mut least = connected;
    for i in 0..distances.rows {
        let (mut first, mut second) = (f64::INFINITY, f64::INFINITY);
        for j in (0..distances.rows).filter(|&j| j != i) {
            let d = distances.get(i, j);
            if d < first {
                (first, second) = (d, first);
            } else if d < second {
                second = d;
            }
        }
        least = f64::max(least, second);
    }
    if distances.two_connected(least) {
        return Ok((connected, least));
    }
    let mut candidates: Vec<f64> = distances.d.iter().copied().filter(|&d| d > least).collect();
    candidates.sort_unstable_by(f64::total_cmp);
    let at = candidates.partition_point(|&epsilon| !distances.two_connected(epsilon));
    Ok((connected, candidates[at]))
}
