//! REFIT: the weights again, now under the learned link; kept as far as cross-validation likes it.
//!
//! ```text
//! w1, z1 = a few steps from w on mean loss(u(x.w)) + |w|^2 / (2 C n), for every fold and all rows
//! w2, z2 = the same from w1 under LINK(z1), if w1 gained 2e-3 nats a row
//! (none of it if all slopes of the link are within 15 % of the sigmoid's, or if a step loses 8 held-out nats)
//! r = softmax(score(LINK(z)), score(LINK(z1)) - 1.5, score(LINK(z2)) - 1.5)
//! w <- r0 w + r1 w1 + r2 w2 for every model, z its scores,  link <- LINK(z)   if r0 < .99
//! ```
//!
//! Under a better link come better weights, and under these a better link: a second round is worth 130e-4
//! nats where columns are far from what a linear score can use, and nothing elsewhere.

use std::cell::Cell;
use std::sync::Arc;

use super::curve::Curve;
use super::descent::{Anchor, Enough, Stop, Walkers};
use super::linalg::lane;
use super::metric::{Dense, Hessians, Metric};
use super::path::{self, Models, Path, softmax};
use super::products::Seen;
use super::relative::RelativeTable;
use super::rows::{FoldRows, Halt, Halted, LANES, Scored};
use super::smooth::{self, SmoothLink};
use crate::error::Result;
use crate::link::{InverseLink, RelativeLink, Sigmoid};
use crate::piecewise::PiecewiseAffine;

/// The doubt a refit has to overcome, in nats.
const DOUBT: f64 = 1.5;
/// Under a link with a slope ratio below this the weights come out nearly as they went in (on 252 fits with
/// ratios from 1.06 on the log-loss gained .2e-4 ± .1e-4): not worth two more links.
const LEAST_RATIO: f64 = 1.15;
/// Shares that leave less than this to the others are not worth another link.
const LEAST_SHARE: f64 = 0.01;
/// A second round gains less than the first: not worth a quarter of the time of a fit where that gained less
/// than this for every row, in nats.
const LEAST_GAIN: f64 = 2e-3;
/// The likelihood under a learned link is not convex and over-fits: few steps from a good start.
const STOP: Stop = Stop { decrease: 1e-2, unseen: 0.05, max_steps: 6 };
/// Where a step costs more than a pass, and the path has left a metric that is nearly right: so many nats for
/// every thousand rows, or less.
const STOP_WIDE: Stop = Stop { decrease: 5e-2, unseen: 0.05, max_steps: 3 };
const STOP_WIDE_ROWS: f64 = 1000.0;
/// There the refit is given up if the held-out scores lose so many nats under the same link: another link has
/// not made up for more than 60 % of that, and a loss of 3.1 nats is a share of 1 %.
const LOST: f64 = 8.0;

/// The loss under which the weights are fitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Refit {
    /// Log-loss of the probabilities of the learned link.
    #[default]
    Likelihood,
    /// The proper canonical loss of the learned link: convex, cheaper, a little weaker.
    Canonical,
    /// Keep the weights of the path.
    None,
}

impl Refit {
    /// The name used in model files, on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likelihood => "likelihood",
            Self::Canonical => "canonical",
            Self::None => "none",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Likelihood, Self::Canonical, Self::None].into_iter().find(|kind| kind.name() == name)
    }
}

/// Rows that the Hessian is taken from: at least this many, and this many times the columns.
const MIN_ROWS: usize = 16_384;
const ROWS_PER_COLUMN: usize = 12;

/// The weights of every model under the learned link; `None` if held-out scores lost by it.
#[derive(Debug)]
pub(super) struct Refitted {
    pub w: Option<Models>,
    pub passes: usize,
}

/// Weights, their held-out scores, and the link of these: the path is round 0.
#[derive(Debug)]
pub(super) struct Round {
    pub w: Models,
    pub scored: Scored,
    pub link: SmoothLink,
}

/// What the rounds weigh, by the likelihood of their links: a refit has its doubt to overcome.
pub(super) fn shares(rounds: &[Round]) -> Vec<f64> {
    let judged = |(n, round): (usize, &Round)| round.link.score - if n == 0 { 0.0 } else { DOUBT };
    softmax(&rounds.iter().enumerate().map(judged).collect::<Vec<_>>())
}

/// Whether another round may gain: after the path always, after a refit that gained much, and once at most.
/// Where there are no quadratic models a round costs too much.
pub(super) fn goes_on(rows: &FoldRows<'_>, rounds: &[Round]) -> bool {
    match rounds.len() {
        1 => true,
        2 => {
            let gain = rounds[1].link.score - rounds[0].link.score;
            path::is_tall(rows) && gain > DOUBT.max(LEAST_GAIN * rows.total_weight)
        }
        _ => false,
    }
}

/// The round that has all the weight but for what does not matter.
pub(super) fn alone(shares: &[f64]) -> Option<usize> {
    shares.iter().position(|&share| share > 1.0 - LEAST_SHARE)
}

/// The weights of all rounds, averaged.
pub(super) fn averaged(rounds: &[Round], shares: &[f64]) -> Models {
    let mut w = rounds[0].w.clone();
    let mut sum = shares[0];
    for (round, share) in rounds.iter().zip(shares).skip(1) {
        sum += share;
        blend(share / sum, &mut w, &round.w);
    }
    w
}

/// False if there is no refit, or if the link is so near the sigmoid that it would change nothing.
pub(super) fn is_worth_it(v: &PiecewiseAffine, kind: Refit) -> bool {
    kind != Refit::None && smooth::slope_ratio(v) >= LEAST_RATIO
}

/// The weights under the link of a round, from its weights on. Takes what L-BFGS learned from the path.
pub(super) fn refit(
    rows: &FoldRows<'_>,
    path: &mut Path,
    from: &Round,
    kind: Refit,
    halt: Halt<'_>,
) -> Result<Refitted> {
    let link = RelativeLink::new(Arc::new(Sigmoid), from.link.v.clone())?;
    let table = RelativeTable::new(&link.spec());
    let curve = match (kind, &table) {
        (Refit::Canonical, _) => Curve::Canonical(&link),
        (Refit::Likelihood | Refit::None, Some(table)) => Curve::Relative(table),
        (Refit::Likelihood | Refit::None, None) => Curve::Likelihood(&link),
    };
    descend(rows, path, from, &curve, halt).map_err(|halted| rows.why(halted))
}

fn descend(
    rows: &FoldRows<'_>,
    path: &mut Path,
    from: &Round,
    curve: &Curve<'_>,
    halt: Halt<'_>,
) -> std::result::Result<Refitted, Halted> {
    let (d, last) = (rows.dimension(), rows.models() - 1);
    let hessians = if path::is_tall(rows) {
        let w = lane(&from.w[last / LANES], last % LANES);
        let grams = rows.grams(curve, &w, &rows.choose(MIN_ROWS.max(ROWS_PER_COLUMN * d)), halt)?;
        let seen: f64 = grams.weight.iter().sum();
        Some(Hessians::new(grams, w, rows.totals[last] / seen.max(f64::MIN_POSITIVE)))
    } else {
        None
    };
    let (metric, stop) = match &hessians {
        Some(hessians) => (Metric::Dense(Dense::new(hessians, &path.penalty, halt)), STOP),
        None => {
            let times = (rows.used as f64 / STOP_WIDE_ROWS).max(1.0);
            (Metric::Diagonal, Stop { decrease: times * STOP_WIDE.decrease, ..STOP_WIDE })
        }
    };
    let counts = from.scored.bins.counts();
    let curvature: f64 = counts.map(|(z, _, weight, _)| weight * curve.curvature(z)).sum();
    let (mut models, mut passes) = (Vec::new(), 0);
    // With more than eight models the held-out scores come in parts.
    let is_watched = hessians.is_none() && from.w.len() == 1;
    let mut known = std::mem::take(&mut path.walkers).into_iter();
    for (group, w) in from.w.iter().enumerate() {
        let first = group * LANES;
        let sums = rows.lane_sums(curve, first, w, halt)?;
        let most = rows.held_out(curve, first, &sums).loss + LOST;
        let lost = Cell::new(false);
        let enough = |held_out: f64| {
            lost.set(held_out > most);
            if lost.get() { f64::INFINITY } else { stop.decrease }
        };
        let enough: Option<Enough<'_>> = if is_watched { Some(&enough) } else { None };
        let start = Anchor::new(w.clone(), sums);
        // The loss under the link bends much like that under the sigmoid.
        let fresh = || Walkers::new(rows, first, [curvature; LANES], Seen::plain(d));
        let mut walkers = known.next().unwrap_or_else(fresh);
        let penalty = &path.penalty[group];
        let reached =
            walkers.descend(rows, curve, penalty, &metric, start, None, stop, enough, halt)?;
        passes = passes.max(1 + reached.passes);
        if lost.get() {
            return Ok(Refitted { w: None, passes });
        }
        models.push(reached.anchor.w);
    }
    Ok(Refitted { w: Some(models), passes })
}

/// `a <- (1 - r) a + r b` for every model.
fn blend(r: f64, a: &mut Models, b: &Models) {
    for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
        (0..LANES).for_each(|l| a[l] += r * (b[l] - a[l]));
    }
}
