//! Weights, scores, link, and the exact changes of loss that the schedules ask for.

use rayon::prelude::*;

use crate::certify::{
    ScoreTail, divergence_from, link_change, link_through, locate_sorted, loss_sorted, norm,
};
use crate::chain::{ChainProblem, Objective, ScoreOrder, Workspace, fit_link_with};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};
use crate::sample::Sample;

/// Rows summed in one piece. Fixed, so that sums have the same bits for any number of threads.
const CHUNK: usize = 8192;
/// Scores are updated by `z + η X g`; this often they are computed afresh.
const REFRESH: usize = 50;

pub(super) struct State<'s, 'a> {
    sample: &'s Sample<'a>,
    design: &'s Design<'a>,
    max_norm: f64,
    base_rate: f64,
    w: Vec<f64>,
    z: Vec<f64>,
    /// The scores before Step 1.
    old_z: Vec<f64>,
    link: PiecewiseLink,
    loss: f64,
    gradient: Vec<f64>,
    gap: f64,
    residual: Vec<f64>,
    /// `X g`.
    direction: Vec<f64>,
    order: ScoreOrder,
    groups: Groups,
    tail: ScoreTail,
    workspace: Workspace,
    since_refresh: usize,
    moved: (f64, f64),
}

/// The distinct scores: weights of both classes, and where the link stands.
#[derive(Default)]
struct Groups {
    weight: Vec<f64>,
    negative: Vec<f64>,
    positive: Vec<f64>,
    piece: Vec<u32>,
    value: Vec<f64>,
    target: Vec<f64>,
    /// Of each row.
    row_piece: Vec<u32>,
    row_value: Vec<f64>,
}

impl<'s, 'a> State<'s, 'a> {
    /// At `w = 0` under a given link.
    pub fn new(
        sample: &'s Sample<'a>,
        design: &'s Design<'a>,
        link: PiecewiseLink,
    ) -> Result<Self> {
        let (rows, dimension) = (sample.rows(), design.dimension());
        let max_norm = design.max_row_norm(sample.weights());
        if max_norm <= 0.0 {
            return Err(Error::OutOfDomain {
                what: "the largest norm of a row",
                value: max_norm,
                expected: "above 0: every row is zero, there is nothing to learn from",
            });
        }
        let base_rate = sample.base_rate();
        let mut state = Self {
            sample,
            design,
            max_norm,
            base_rate,
            w: vec![0.0; dimension],
            z: vec![0.0; rows],
            old_z: vec![0.0; rows],
            link,
            loss: 0.0,
            gradient: vec![0.0; dimension],
            gap: 0.0,
            residual: vec![0.0; rows],
            direction: vec![0.0; rows],
            order: ScoreOrder::new(),
            groups: Groups::default(),
            tail: ScoreTail::from_groups(&[], &[], 1.0, base_rate),
            workspace: Workspace::default(),
            since_refresh: 0,
            moved: (0.0, 0.0),
        };
        state.groups.row_piece = vec![0; rows];
        state.groups.row_value = vec![0.0; rows];
        state.sort()?;
        state.locate()?;
        Ok(state)
    }

    pub fn w(&self) -> &[f64] {
        &self.w
    }

    pub fn link(&self) -> &PiecewiseLink {
        &self.link
    }

    pub fn into_link(self) -> PiecewiseLink {
        self.link
    }

    /// `ℓ_u(w)`.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// `X`.
    pub fn max_norm(&self) -> f64 {
        self.max_norm
    }

    pub fn base_rate(&self) -> f64 {
        self.base_rate
    }

    /// The distinct scores, increasing.
    pub fn scores(&self) -> &[f64] {
        self.order.scores()
    }

    /// Estimate (from below) of `λ_max(E[x xᵀ])`, for the first step: a rough one will do, since too
    /// long a step is halved, and each round costs two passes over the data.
    pub fn curvature(&self) -> f64 {
        let estimate = self.design.spectral_norm(self.sample.weights(), 0.1, 4).estimate;
        if estimate > 0.0 { estimate } else { self.max_norm * self.max_norm }
    }

    /// `max_i |u_{t+1}(z_i) - u_t(z_i)|`.
    pub fn link_moved(&self) -> f64 {
        self.moved.0
    }

    /// `|w_{t+1} - w_t| / |w_{t+1}|`.
    pub fn weight_moved(&self) -> f64 {
        self.moved.1
    }

    /// `g = E[(y - u(w·x)) x]`, its norm, and `X g`: two passes over the data.
    pub fn find_gap(&mut self) {
        let (sample, values) = (self.sample, &self.groups.row_value);
        let (labels, total) = (sample.labels(), sample.total_weight());
        self.residual.par_chunks_mut(CHUNK).enumerate().for_each(|(c, chunk)| {
            for (k, r) in chunk.iter_mut().enumerate() {
                let i = c * CHUNK + k;
                *r = sample.weight(i) / total * (f64::from(labels[i]) - values[i]);
            }
        });
        self.design.adjoint(&self.residual, &mut self.gradient);
        self.gap = norm(&self.gradient);
        self.design.scores(&self.gradient, &mut self.direction);
    }

    /// `E[value(i, z_i + η (X g)_i)]` in fixed pieces.
    fn mean_along(&self, eta: f64, value: impl Fn(usize, f64) -> f64 + Sync) -> f64 {
        let sample = self.sample;
        let partial: Vec<f64> = self
            .z
            .par_chunks(CHUNK)
            .zip(self.direction.par_chunks(CHUNK))
            .enumerate()
            .map(|(c, (z, direction))| {
                let mut sum = 0.0;
                for (k, (z, d)) in z.iter().zip(direction).enumerate() {
                    let i = c * CHUNK + k;
                    sum += sample.weight(i) * value(i, z + eta * d);
                }
                sum
            })
            .collect();
        partial.iter().sum::<f64>() / sample.total_weight()
    }

    /// `E[D_U(z + η X g ‖ z)]` (Lemma 2).
    pub fn divergence(&self, eta: f64) -> f64 {
        let (link, pieces) = (&self.link, &self.groups.row_piece);
        self.mean_along(eta, |i, to| divergence_from(link, to, self.z[i], pieces[i] as usize))
    }

    /// `E[u_t(w_{t+1}·x)]` for a step of size `η`.
    pub fn mean_prediction(&self, eta: f64) -> f64 {
        self.mean_along(eta, |_, z| self.link.u(z))
    }

    /// Whether every score after a step of size `η` lies in the range of the link, up to rounding.
    pub fn stays_in_range(&self, eta: f64) -> bool {
        let (z_min, z_max) = self.link.support();
        let rounding = 8.0 * f64::EPSILON * (z_min.abs() + z_max.abs());
        let range = z_min - rounding..=z_max + rounding;
        self.z.par_iter().zip(&self.direction).all(|(z, d)| range.contains(&(z + eta * d)))
    }

    /// Step 1 and Step 2: `w + η g`, the new scores, their order.
    pub fn advance(&mut self, eta: f64) -> Result<()> {
        for (w, g) in self.w.iter_mut().zip(&self.gradient) {
            *w += eta * g;
        }
        self.moved.1 = eta * self.gap / norm(&self.w).max(f64::MIN_POSITIVE);
        self.old_z.copy_from_slice(&self.z);
        self.since_refresh += 1;
        if self.since_refresh >= REFRESH {
            self.design.scores(&self.w, &mut self.z);
            self.since_refresh = 0;
        } else {
            for (z, d) in self.z.iter_mut().zip(&self.direction) {
                *z += eta * d;
            }
        }
        self.sort()
    }

    fn sort(&mut self) -> Result<()> {
        let labels = self.sample.labels();
        let groups = &mut self.groups;
        self.order.update(&self.z)?;
        self.order.group_weights(self.sample.weights(), &mut groups.weight)?;
        let count = groups.weight.len();
        groups.positive.clear();
        groups.negative.clear();
        for g in 0..count {
            let rows = self.order.rows(g).iter().map(|&row| row as usize);
            let positive =
                rows.filter(|&i| labels[i] == 1).map(|i| self.sample.weight(i)).sum::<f64>();
            groups.positive.push(positive);
            groups.negative.push((groups.weight[g] - positive).max(0.0));
        }
        let total = self.sample.total_weight();
        let scores = self.order.scores();
        self.tail = ScoreTail::from_groups(scores, &groups.weight, total, self.base_rate);
        Ok(())
    }

    /// Where the link stands at the scores, and its loss.
    fn locate(&mut self) -> Result<()> {
        let groups = &mut self.groups;
        let scores = self.order.scores();
        locate_sorted(&self.link, scores, &mut groups.piece, &mut groups.value);
        self.order.scatter(&groups.value, &mut groups.row_value)?;
        for g in 0..scores.len() {
            for &row in self.order.rows(g) {
                groups.row_piece[row as usize] = groups.piece[g];
            }
        }
        let weights = (groups.negative.as_slice(), groups.positive.as_slice());
        let sum = loss_sorted(&self.link, scores, weights, &groups.piece, &groups.value);
        self.loss = sum / self.sample.total_weight();
        Ok(())
    }

    /// `u_t` at the lowest new score.
    pub fn lowest_value(&self) -> f64 {
        self.link.u(self.scores()[0])
    }

    /// Lemma 1 at the new scores: what a change to `v` adds to the loss.
    pub fn link_change(&self, v: &PiecewiseLink) -> f64 {
        link_change(&self.link, v, &self.tail)
    }

    /// Step 4: the link is now `v`.
    pub fn set_link(&mut self, v: PiecewiseLink) -> Result<()> {
        let before = std::mem::replace(&mut self.link, v);
        locate_sorted(&before, self.order.scores(), &mut self.groups.piece, &mut self.groups.value);
        let old = std::mem::take(&mut self.groups.value);
        self.locate()?;
        let pairs = old.iter().zip(&self.groups.value);
        self.moved.0 = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        Ok(())
    }

    /// The link stays; only its place at the new scores is found.
    pub fn keep_link(&mut self) -> Result<()> {
        self.moved.0 = 0.0;
        self.locate()
    }

    /// Step 3 towards the labels (least squares).
    pub fn fit_labels(&mut self, bounds: Bounds) -> Result<PiecewiseLink> {
        let groups = &mut self.groups;
        groups.target.clear();
        let pairs = groups.positive.iter().zip(&groups.weight);
        groups.target.extend(pairs.map(|(p, w)| if *w > 0.0 { (p / w).min(1.0) } else { 0.0 }));
        self.solve(bounds, false)
    }

    /// Step 3 towards the old link at the new scores (least squares).
    pub fn fit_refit(&mut self, bounds: Bounds) -> Result<PiecewiseLink> {
        let groups = &mut self.groups;
        locate_sorted(&self.link, self.order.scores(), &mut groups.piece, &mut groups.target);
        self.solve(bounds, false)
    }

    /// The paper's Step 3: towards the previous predictions, by `D_{U_t*}`. The target enters by its
    /// score `u_t⁻¹(ŷ_t)`, which is the old score, cut off at the ends of the range.
    pub fn fit_previous(&mut self, bounds: Bounds) -> Result<PiecewiseLink> {
        let (z_min, z_max) = self.link.support();
        let old = &self.old_z;
        let target = |row: usize| old[row].clamp(z_min, z_max);
        self.order.group_means(self.sample.weights(), target, &mut self.groups.target)?;
        self.solve(bounds, true)
    }

    fn solve(&mut self, bounds: Bounds, bregman: bool) -> Result<PiecewiseLink> {
        let targets = self.groups.target.as_slice();
        let objective = if bregman {
            Objective::Bregman { link: &self.link, target_scores: targets }
        } else {
            Objective::Quadratic { targets }
        };
        let problem = ChainProblem::new(self.order.scores(), objective)
            .with_weights(&self.groups.weight)
            .with_slopes(bounds.slopes.0, bounds.slopes.1)
            .with_first(bounds.first.0, bounds.first.1);
        let solution = self.workspace.solve(&problem)?;
        if bounds.every_knot {
            return link_through(self.order.scores(), &solution.values, bounds.end_slope);
        }
        let knots = fit_link_with(solution, self.order.scores(), bounds.end_slope)?;
        PiecewiseLink::new(knots)
    }
}

/// The feasible set of Step 3 and the slope of the ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub slopes: (f64, f64),
    pub first: (f64, f64),
    pub end_slope: f64,
    /// A knot at every score: values exact to the last bit. Otherwise straight runs are one piece,
    /// which is faster to work with.
    pub every_knot: bool,
}
