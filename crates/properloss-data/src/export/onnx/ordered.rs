//! `w.x` added up in the engine's order, for links that would show another.
//!
//! `MatMul` adds in an order of its own: its score is ours but for the last places, and a link of slope `s` makes
//! `s` times that of a probability. Additions of whole columns are rounded one by one, as the engine does:
//!
//! ```text
//! lane_l = sum_i w_{8i+l} x_{8i+l},   l = 0 to 7
//! w.x    = ((lane_0 + lane_4) + (lane_2 + lane_6)) + ((lane_1 + lane_5) + (lane_3 + lane_7)) + the rest, one by one
//! ```
//!
//! The scores are then ours to the last bit. It takes five times as long as `MatMul` (1e6 rows of 50 features
//! on onnxruntime 1.31; three times in batches of 1,000), so only the rows that need it are added so
//! (`looks.rs`), where they can be told.

use properloss::link::{InverseLink, LinkSpec};

use super::super::program::slopes;
use super::graph::Graph;

/// The slope above which a link needs our order: a score of a few units is off by 4e-15 at most,
/// so that a slope of 256 stays within 1e-12.
const STEEP: f64 = 256.0;
/// Steps of probability below this are not worth it, however steep.
const STEP: f64 = 1e-12;

/// Whether the order of the sum is seen, and where.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    /// Nowhere, or only at the scores of these pieces of the link.
    At(Vec<[f64; 2]>),
    /// Anywhere: the link below the learned one is steep.
    Anywhere,
}

impl Seen {
    /// Whether it is seen at some score.
    pub fn somewhere(&self) -> bool {
        *self != Self::At(Vec::new())
    }
}

/// Where a link is so steep that the order of the sum is seen.
pub(super) fn seen(link: &LinkSpec) -> Seen {
    match link {
        LinkSpec::Builtin { .. } => match link.build() {
            Ok(u) if u.derivative(0.0) > STEEP => Seen::Anywhere,
            _ => Seen::At(Vec::new()),
        },
        LinkSpec::Piecewise { z, u } | LinkSpec::Isotonic { z, u } => {
            let slopes = slopes(z, u);
            let steep = |&k: &usize| slopes[k] > STEEP && u[k + 1] - u[k] > STEP;
            Seen::At((0..slopes.len()).filter(steep).map(|k| [z[k], z[k + 1]]).collect())
        }
        LinkSpec::Relative { base, p, v } => {
            if seen(base).somewhere() {
                return Seen::Anywhere;
            }
            let Ok(u) = base.build() else { return Seen::At(Vec::new()) };
            let slopes = slopes(p, v);
            let steep = |&k: &usize| {
                v[k + 1] - v[k] > STEP && slopes[k] * steepest(&*u, p[k], p[k + 1]) > STEEP
            };
            let scores = |k: usize| [p[k], p[k + 1]].map(|p| u.u_inverse(p));
            Seen::At((0..slopes.len()).filter(steep).map(scores).collect())
        }
    }
}

/// The largest slope of `u` where it lies between two probabilities: those of the registry rise
/// fastest at 0; a learned one is asked for by itself.
fn steepest(u: &dyn InverseLink, low: f64, high: f64) -> f64 {
    let [from, to] = [low, high].map(|p| u.u_inverse(p));
    let at = |z: f64| if z.is_finite() { u.derivative(z) } else { 0.0 };
    at(from).max(at(to)).max(at(0f64.clamp(from, to)))
}

/// `w.x` of every row of `x`, of shape (rows, features).
pub(super) fn dot(graph: &mut Graph, x: &str, weights: &[f64]) -> String {
    let w = graph.doubles(weights, &[1, weights.len()]);
    let products = graph.node("Mul", &[x, &w]);
    let (lanes, rest) = (weights.len() / 8, weights.len() % 8);
    let mut sizes = vec![8; lanes];
    sizes.extend(vec![1; rest]);
    let parts = graph.split(&products, &sizes);
    let (groups, rest) = parts.split_at(lanes);
    let tree = added(graph, groups).map(|mut sum| {
        for half in [4, 2, 1] {
            let halves = graph.split(&sum, &[half, half]);
            sum = graph.node("Add", &[&halves[0], &halves[1]]);
        }
        sum
    });
    let parts: Vec<String> = tree.into_iter().chain(rest.iter().cloned()).collect();
    // A model has at least one feature.
    added(graph, &parts).unwrap_or_default()
}

/// `sum_j x_j²` one by one, as the engine adds squares.
pub(super) fn squares(graph: &mut Graph, x: &str, features: usize) -> String {
    let squares = graph.node("Mul", &[x, x]);
    let parts = graph.split(&squares, &vec![1; features]);
    added(graph, &parts).unwrap_or_default()
}

/// The sum from the first to the last.
fn added(graph: &mut Graph, parts: &[String]) -> Option<String> {
    let (first, rest) = parts.split_first()?;
    Some(rest.iter().fold(first.clone(), |sum, part| graph.node("Add", &[&sum, part])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(base: LinkSpec, p: Vec<f64>, v: Vec<f64>) -> LinkSpec {
        LinkSpec::Relative { base: Box::new(base), p, v }
    }

    fn needed(link: &LinkSpec) -> bool {
        seen(link).somewhere()
    }

    #[test]
    fn steep_links_are_told_from_others() {
        let sigmoid = LinkSpec::builtin("sigmoid");
        assert!(!needed(&sigmoid));
        let isotonic = |width: f64, u: f64| LinkSpec::Isotonic {
            z: vec![-1.0, 0.0, width, 2.0],
            u: vec![0.0, 0.1, u, 1.0],
        };
        assert_eq!(seen(&isotonic(1e-3, 0.4)), Seen::At(vec![[0.0, 1e-3]]));
        assert!(!needed(&isotonic(1e-2, 0.4)));
        // A step of 1e-13 over 1e-16.
        assert!(!needed(&isotonic(1e-16, 0.1 + 1e-13)));
        // Slopes of `v` count as much as the sigmoid rises there: 0.01 over 1e-7 at 1e-7, and at 1/2.
        let crowded =
            relative(sigmoid.clone(), vec![0.0, 1e-7, 2e-7, 1.0], vec![0.0, 0.01, 0.02, 1.0]);
        assert!(!needed(&crowded));
        let steep = relative(sigmoid, vec![0.0, 0.5, 0.5 + 1e-7, 1.0], vec![0.0, 0.4, 0.41, 1.0]);
        assert!(needed(&steep));
        let nested = relative(isotonic(1e-3, 0.4), vec![0.0, 1.0], vec![0.0, 1.0]);
        assert_eq!(seen(&nested), Seen::Anywhere);
    }
}
