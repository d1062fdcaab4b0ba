//! The likelihoods of softmaxes and floors, eight rows of one label and fold a block: what the masses
//! are fitted on when there are no ramps.
//!
//! A block knows its floor, so that every sum runs in lanes without a look at a label:
//!
//! ```text
//! q = L_0 / tau + (1 - 1/tau) (Σ_t b_t L_t + φ b_floor)         φ: 1, or 1/K for a floor of all classes
//! Σ w log q,   Σ (w/q) L_t,   Σ (w/q) φ,   Σ (w/q²) L_t L_u,   Σ (w/q²) L_t φ,   Σ (w/q²) φ²
//! ```

use super::curve::TEMPERATURES;
use super::math::{Eight, log};
use super::weights::Likelihoods;
use crate::design::{Lanes, kernel};

/// Softmaxes of the dictionary.
const T: usize = TEMPERATURES.len();
/// The triangle of the curvatures of softmaxes and floor.
const TRIANGLE: usize = (T + 1) * (T + 2) / 2;

/// Eight rows of one label and fold; lanes without a row have weight 0 and likelihood 1.
#[derive(Debug, Clone)]
struct Block {
    weight: Eight,
    value: [Eight; T],
}

/// Blocks of one label and fold.
#[derive(Debug, Clone)]
struct Run {
    /// The number of the floor among the parts.
    floor: usize,
    fold: u32,
    blocks: Vec<Block>,
    /// The row in every lane of every block.
    rows: Vec<u32>,
    weight: f64,
}

/// The dictionary without ramps.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    runs: Vec<Run>,
    parts: usize,
    /// `φ`.
    height: f64,
}

impl Packed {
    /// From the likelihoods of the softmaxes (rows × `T`), the floor's number of every row and its
    /// height, folds and weights; rows of weight 0 are left out.
    pub(super) fn new(
        value: &[f64],
        (floor, floors, height): (impl Fn(usize) -> usize, usize, f64),
        folds: &[u32],
        weights: &[f64],
    ) -> Self {
        let mut order: Vec<u32> =
            (0..weights.len()).filter(|&i| weights[i] > 0.0).map(|i| i as u32).collect();
        order.sort_by_key(|&i| (floor(i as usize), folds[i as usize]));
        let key = |i: u32| (floor(i as usize), folds[i as usize]);
        let runs = order.chunk_by(|&a, &b| key(a) == key(b)).map(|rows| {
            let (floor, fold) = key(rows[0]);
            let blocks = rows.chunks(8).map(|rows| {
                let mut block = Block { weight: [0.0; 8], value: [[1.0; 8]; T] };
                for (l, &i) in rows.iter().enumerate() {
                    block.weight[l] = weights[i as usize];
                    for t in 0..T {
                        block.value[t][l] = value[i as usize * T + t];
                    }
                }
                block
            });
            let weight = rows.iter().map(|&i| weights[i as usize]).sum();
            Run { floor: T + floor, fold, blocks: blocks.collect(), rows: rows.to_vec(), weight }
        });
        Self { runs: runs.collect(), parts: T + floors, height }
    }

    /// `b` scaled so that `q = Σ_t a_t L_t + a_floor`.
    fn masses(&self, run: &Run, tau: f64, b: &[f64]) -> [f64; T + 1] {
        let c = 1.0 - 1.0 / tau;
        let mut a: [f64; T + 1] =
            std::array::from_fn(|t| if t < T { c * b[t] } else { c * self.height * b[run.floor] });
        a[0] += 1.0 / tau;
        a
    }
}

impl Likelihoods for Packed {
    fn parts(&self) -> usize {
        self.parts
    }

    fn weight(&self, without: Option<u32>) -> f64 {
        self.runs.iter().filter(|run| Some(run.fold) != without).map(|run| run.weight).sum()
    }

    fn slopes(&self, without: Option<u32>, tau: f64, b: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut g) = (0.0, vec![0.0; self.parts]);
        for run in self.runs.iter().filter(|run| Some(run.fold) != without) {
            let sums = slopes(&run.blocks, self.masses(run, tau, b)).map(total);
            (0..T).for_each(|t| g[t] += sums[t]);
            g[run.floor] += self.height * sums[T];
            value += sums[T + 1];
        }
        (value, g)
    }

    fn bends(&self, without: Option<u32>, tau: f64, b: &[f64]) -> Vec<f64> {
        let n = self.parts;
        let mut h = vec![0.0; n * n];
        for run in self.runs.iter().filter(|run| Some(run.fold) != without) {
            let mut sums = bends(&run.blocks, self.masses(run, tau, b)).into_iter().map(total);
            let part = |t: usize| if t < T { (t, 1.0) } else { (run.floor, self.height) };
            for t in 0..=T {
                for u in t..=T {
                    let ((a, left), (c, right)) = (part(t), part(u));
                    let sum = left * right * sums.next().unwrap_or(0.0);
                    h[a * n + c] += sum;
                    if u > t {
                        h[c * n + a] += sum;
                    }
                }
            }
        }
        h
    }

    fn probabilities(&self, fold: u32, tau: f64, b: &[f64], out: &mut [f64]) {
        for run in self.runs.iter().filter(|run| run.fold == fold) {
            let a = self.masses(run, tau, b);
            for (rows, block) in run.rows.chunks(8).zip(&run.blocks) {
                for (l, &i) in rows.iter().enumerate() {
                    let sum: f64 = (0..T).map(|t| a[t] * block.value[t][l]).sum();
                    out[i as usize] = (sum + a[T]).max(1e-300);
                }
            }
        }
    }
}

/// The sum of the lanes.
fn total(lanes: Eight) -> f64 {
    lanes.iter().sum()
}

/// `q` of a block, in lanes.
#[inline(always)]
fn mixture<L: Lanes>(lanes: L, value: &[L::Vector; T], a: &[f64; T + 1]) -> L::Vector {
    let mut q = lanes.splat(a[T]);
    for t in 0..T {
        q = lanes.add_product(q, lanes.splat(a[t]), value[t]);
    }
    lanes.max(q, lanes.splat(1e-300))
}

kernel! {
    /// `Σ (w/q) L_t`, `Σ w/q` and `Σ w log q`, by lanes.
    fn slopes<'k>(lanes: L, blocks: &'k [Block], a: [f64; T + 1]) -> [Eight; T + 2] {
        let mut sums = [lanes.splat(0.0); T + 2];
        for block in blocks {
            let v: [L::Vector; T] = std::array::from_fn(|t| lanes.load(&block.value[t]));
            let weight = lanes.load(&block.weight);
            let q = mixture(lanes, &v, &a);
            let first = lanes.div(weight, q);
            for t in 0..T {
                sums[t] = lanes.add_product(sums[t], first, v[t]);
            }
            sums[T] = lanes.add(sums[T], first);
            let logs = log(&lanes.array(q));
            sums[T + 1] = lanes.add_product(sums[T + 1], weight, lanes.load(&logs));
        }
        sums.map(|sum| lanes.array(sum))
    }
}

kernel! {
    /// `Σ (w/q²) L_t L_u`, row after row of the triangle, the floor last; by lanes.
    fn bends<'k>(lanes: L, blocks: &'k [Block], a: [f64; T + 1]) -> [Eight; TRIANGLE] {
        let mut sums = [lanes.splat(0.0); TRIANGLE];
        for block in blocks {
            let v: [L::Vector; T] = std::array::from_fn(|t| lanes.load(&block.value[t]));
            let over = lanes.div(lanes.splat(1.0), mixture(lanes, &v, &a));
            let second = lanes.mul(lanes.mul(lanes.load(&block.weight), over), over);
            let mut at = 0;
            for t in 0..T {
                let own = lanes.mul(second, v[t]);
                for u in t..T {
                    sums[at] = lanes.add_product(sums[at], own, v[u]);
                    at += 1;
                }
                sums[at] = lanes.add(sums[at], own);
                at += 1;
            }
            sums[at] = lanes.add(sums[at], second);
        }
        sums.map(|sum| lanes.array(sum))
    }
}
