//! Weights, scores, link, and the exact changes of loss that the schedules ask for.

use rayon::prelude::*;

use crate::certify::{Masses, Pieces, Placement, Replacement, link_through, norm, replace};
use crate::chain::{ChainProblem, Objective, ScoreOrder, Workspace, fit_link_with};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};
use crate::sample::Sample;

/// Rows summed in one piece. Fixed, so that sums have the same bits for any number of threads.
const CHUNK: usize = 2048;
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
    masses: Masses,
    /// The pieces of the link, to walk on.
    pieces: Pieces,
    /// The piece of the link and its value at each row.
    row_piece: Vec<u32>,
    row_value: Vec<f64>,
    /// A buffer for the next trial.
    spare: Placement,
    workspace: Workspace,
    since_refresh: usize,
    moved: (f64, f64),
}

/// The distinct scores: weights of both classes, and what Step 3 is fitted to.
#[derive(Default)]
struct Groups {
    /// All 1, and not written down, if there are neither weights nor ties.
    weight: Vec<f64>,
    negative: Vec<f64>,
    positive: Vec<f64>,
    target: Vec<f64>,
}

/// A link held against the current one at the current scores; [`State::adopt`] takes it.
pub(super) struct Trial {
    pub link: PiecewiseLink,
    pub outcome: Replacement,
    placement: Placement,
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
            masses: Masses::default(),
            pieces: Pieces::default(),
            row_piece: vec![0; rows],
            row_value: vec![0.0; rows],
            spare: Placement::default(),
            workspace: Workspace::default(),
            since_refresh: 0,
            moved: (0.0, 0.0),
        };
        state.pieces.fill(&state.link);
        state.sort()?;
        state.keep_link();
        Ok(state)
    }

    pub fn w(&self) -> &[f64] {
        &self.w
    }

    pub fn link(&self) -> &PiecewiseLink {
        &self.link
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
        let (sample, values) = (self.sample, &self.row_value);
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

    /// `E[value(i)]` for several values at once, in fixed pieces.
    fn means<const T: usize>(&self, value: impl Fn(usize) -> [f64; T] + Sync) -> [f64; T] {
        let (sample, rows) = (self.sample, self.sample.rows());
        let starts: Vec<usize> = (0..rows).step_by(CHUNK).collect();
        let partial: Vec<[f64; T]> = starts
            .par_iter()
            .map(|&start| {
                let mut sums = [0.0; T];
                for i in start..rows.min(start + CHUNK) {
                    let (weight, values) = (sample.weight(i), value(i));
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += weight * value;
                    }
                }
                sums
            })
            .collect();
        let total = sample.total_weight();
        std::array::from_fn(|t| partial.iter().map(|sums| sums[t]).sum::<f64>() / total)
    }

    /// `E[D_U(z + η X g ‖ z)]` (Lemma 2) for several `η` in one pass, the largest first.
    pub fn divergences<const T: usize>(&self, etas: [f64; T]) -> [f64; T] {
        let (link, pieces, row_piece) = (&self.link, &self.pieces, &self.row_piece);
        let (z, direction) = (self.z.as_slice(), self.direction.as_slice());
        self.means(|i| {
            let (z, direction, piece) = (z[i], direction[i], row_piece[i] as usize);
            pieces.divergences(link, etas.map(|eta| z + eta * direction), z, piece)
        })
    }

    /// `E[u_t(w_{t+1}·x)]` for a step of size `η`.
    pub fn mean_prediction(&self, eta: f64) -> f64 {
        let [mean] = self.means(|i| [self.link.u(self.z[i] + eta * self.direction[i])]);
        mean
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

    /// The order of the scores, and the weights of both classes at each.
    fn sort(&mut self) -> Result<()> {
        self.order.update(&self.z)?;
        let (order, labels, sample) = (&self.order, self.sample.labels(), self.sample);
        let Groups { weight, negative, positive, .. } = &mut self.groups;
        negative.clear();
        positive.clear();
        if unit_weights(sample, order) {
            let label = |&row: &u32| f64::from(labels[row as usize]);
            positive.extend(order.order().iter().map(label));
            negative.extend(positive.iter().map(|positive| 1.0 - positive));
        } else {
            order.group_weights(sample.weights(), weight)?;
            for (g, weight) in weight.iter().enumerate() {
                let rows = order.rows(g).iter().map(|&row| row as usize);
                let of_class = rows.filter(|&i| labels[i] == 1).map(|i| sample.weight(i));
                positive.push(of_class.sum::<f64>());
                negative.push((weight - positive[g]).max(0.0));
            }
        }
        self.masses.fill(negative, positive, sample.total_weight());
        Ok(())
    }

    /// `u_t` at the lowest new score.
    pub fn lowest_value(&self) -> f64 {
        self.link.u(self.scores()[0])
    }

    /// Whether every score lies in the range of the link.
    pub fn in_range(&self) -> bool {
        let (z_min, z_max) = self.link.support();
        let scores = self.scores();
        scores[0] >= z_min && scores[scores.len() - 1] <= z_max
    }

    /// Lemma 1 at the new scores: what a change to `v` adds to the loss, and where `v` stands.
    pub fn try_link(&mut self, v: PiecewiseLink) -> Trial {
        let mut placement = std::mem::take(&mut self.spare);
        let scores = self.order.scores();
        let outcome = replace(&self.link, &v, scores, &self.masses, &mut placement);
        Trial { link: v, outcome, placement }
    }

    /// A trial that is not adopted: its buffers serve the next.
    pub fn reject(&mut self, trial: Trial) -> PiecewiseLink {
        self.spare = trial.placement;
        trial.link
    }

    /// Step 4: the link is now the one tried.
    pub fn adopt(&mut self, trial: Trial) {
        self.link = trial.link;
        self.pieces.fill(&self.link);
        self.settle(trial.outcome, trial.placement);
    }

    /// The link stays; only its place at the new scores is found.
    pub fn keep_link(&mut self) {
        let mut placement = std::mem::take(&mut self.spare);
        let scores = self.order.scores();
        let outcome = replace(&self.link, &self.link, scores, &self.masses, &mut placement);
        self.settle(outcome, placement);
    }

    /// The loss, and the link at the rows.
    fn settle(&mut self, outcome: Replacement, placement: Placement) {
        (self.loss, self.moved.0) = (outcome.loss, outcome.moved);
        for (g, (&piece, &value)) in placement.piece.iter().zip(&placement.value).enumerate() {
            for &row in self.order.rows(g) {
                self.row_piece[row as usize] = piece;
                self.row_value[row as usize] = value;
            }
        }
        self.spare = placement;
    }

    /// Step 3 towards the labels (least squares).
    pub fn fit_labels(&mut self, bounds: Bounds) -> Result<PiecewiseLink> {
        let Groups { weight, positive, target, .. } = &mut self.groups;
        target.clear();
        if unit_weights(self.sample, &self.order) {
            target.extend_from_slice(positive);
        } else {
            let mean = |(p, w): (&f64, &f64)| if *w > 0.0 { (p / w).min(1.0) } else { 0.0 };
            target.extend(positive.iter().zip(&*weight).map(mean));
        }
        self.solve(bounds, false)
    }

    /// Step 3 towards the old link at the new scores (least squares).
    pub fn fit_refit(&mut self, bounds: Bounds) -> Result<PiecewiseLink> {
        let target = &mut self.groups.target;
        target.resize(self.order.groups(), 0.0);
        self.link.u_sorted_into(self.order.scores(), target)?;
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
        let mut problem = ChainProblem::new(self.order.scores(), objective)
            .with_slopes(bounds.slopes.0, bounds.slopes.1)
            .with_first(bounds.first.0, bounds.first.1);
        if !unit_weights(self.sample, &self.order) {
            problem = problem.with_weights(&self.groups.weight);
        }
        let solution = self.workspace.solve(&problem)?;
        if bounds.every_knot {
            return link_through(self.order.scores(), &solution.values, bounds.end_slope);
        }
        let knots = fit_link_with(solution, self.order.scores(), bounds.end_slope)?;
        PiecewiseLink::new(knots)
    }
}

/// Every distinct score is one row of weight 1.
fn unit_weights(sample: &Sample<'_>, order: &ScoreOrder) -> bool {
    sample.weights().is_none() && !order.has_ties()
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
