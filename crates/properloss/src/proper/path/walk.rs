//! Which point comes next, and a loose look at it.
//!
//! Every scaling is looked at where the first starts; then the likeliest is walked outwards until its scores
//! would not come back. L-BFGS leaves a point where more would not change that.

use super::{
    Enough, FoldRows, GIVE_UP, Halt, Halted, MARGIN, Metric, NULL_PRICE, PathState, Products, Stop,
    Visited, quadratic,
};

/// Steps that a score is believed to go on rising for, each by no less than this share of the one before.
const STEPS_AHEAD: i32 = 4;
const LEAST_SHARE_AHEAD: f64 = 0.5;
/// L-BFGS walks with a loose hand: a point may be this far from its minimum, in nats; one that is far below
/// the best as far as the square of what it is below, divided by this; but not further than this share of it.
pub(super) const LOOSE: f64 = 0.1;
const LOOSE_SCALE: f64 = 20.0;
const LOOSE_SHARE: f64 = 0.1;
/// Where much is to be gained, the first look at a point is looser still: this share of what it gains over the
/// model without features, if that is a nat or more. Its score may then be off by so many times that.
const SCOUT_SHARE: f64 = 0.01;
const LEAST_SCOUT: f64 = 1.0;
const DOUBT: f64 = 3.0;
/// A scaling whose first point lacks more than this share of what the best first point gains, and so many
/// nats, is not walked: strengths do not make up for that.
const HOPELESS_SHARE: f64 = 0.4;
const HOPELESS: f64 = 100.0;
/// Weights of all models up to which every anchor is kept.
const MAX_ANCHORED: usize = 1 << 17;

impl Visited {
    /// How far its score may be off, in nats, beyond what [`MARGIN`] allows for.
    pub(super) fn doubt(&self) -> f64 {
        if self.decrease > 2.0 * LOOSE { DOUBT * self.decrease } else { 0.0 }
    }
}

impl PathState {
    /// The next point, and the visited point that it starts from; `None` at the end.
    ///
    /// Every scaling is looked at where the first starts; then the likeliest is walked first, so that the
    /// others end early.
    pub(super) fn next(&self) -> Option<((usize, usize), usize)> {
        let first = self.find((0, self.start));
        let walked = self.scalings.len() + 1 - self.alike;
        for a in 0..walked {
            if self.find((a, self.start)).is_none() {
                return Some(((a, self.start), first.unwrap_or(0)));
            }
        }
        let likeliest = |a: &usize| {
            let of = self.visited.iter().filter(|point| point.at.is_some_and(|at| at.0 == *a));
            of.map(|point| point.score).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut order: Vec<usize> = (0..walked).collect();
        order.sort_by(|a, b| likeliest(b).total_cmp(&likeliest(a)));
        order
            .into_iter()
            .filter(|&a| !self.is_hopeless(a))
            .find_map(|a| self.outwards(a, true).or_else(|| self.outwards(a, false)))
    }

    /// Whether a scaling is so far behind another where both start that no strength makes up for it.
    fn is_hopeless(&self, a: usize) -> bool {
        if self.quadratic.is_some() {
            return false;
        }
        let starts = || self.visited.iter().filter(|p| p.at.is_some_and(|at| at.1 == self.start));
        let best = starts().map(|point| point.score).fold(f64::NEG_INFINITY, f64::max);
        let own = starts().find(|point| point.at.is_some_and(|at| at.0 == a));
        let gain = best - self.visited[0].score;
        own.is_some_and(|own| own.score + own.doubt() < best - HOPELESS.max(HOPELESS_SHARE * gain))
    }

    /// The next point of a scaling to one side, and the one before it.
    fn outwards(&self, a: usize, up: bool) -> Option<((usize, usize), usize)> {
        let best = self.best();
        let (mut number, mut at) = (self.start, self.find((a, self.start))?);
        // Before anything was seen on this side, the other side may tell where it goes.
        let other = if up { number.wrapping_sub(1) } else { number + 1 };
        let mut last = self.find((a, other)).map(|other| self.visited[other].score);
        let mut rise_before = f64::INFINITY;
        loop {
            let following = if up { number + 1 } else { number.wrapping_sub(1) };
            if following >= self.grid.len() {
                return None;
            }
            let score = self.visited[at].score;
            let rise = last.map_or(f64::INFINITY, |last| score - last);
            let may_be = score + self.visited[at].doubt();
            if may_be < best - GIVE_UP && ahead(rise, rise_before) < best - GIVE_UP - may_be {
                return None;
            }
            match self.find((a, following)) {
                Some(found) => {
                    rise_before = rise;
                    (last, number, at) = (Some(score), following, found);
                }
                None => return Some(((a, following), at)),
            }
        }
    }

    pub(super) fn visit(
        &mut self,
        rows: &FoldRows<'_>,
        to: (usize, usize),
        from: usize,
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        if self.quadratic.is_some() {
            quadratic::visit(self, rows, to, from, halt)?;
        } else {
            self.descend(rows, to, from, halt)?;
        }
        // Hopeless points keep nothing.
        let least = self.best() - GIVE_UP - MARGIN;
        let is_hopeless = |point: &&mut Visited| point.score + point.doubt() < least;
        for point in self.visited[1..].iter_mut().filter(is_hopeless) {
            point.w.clear();
        }
        Ok(())
    }

    /// A point of the path by L-BFGS from the nearest point whose gradients are known.
    fn descend(
        &mut self,
        rows: &FoldRows<'_>,
        to: (usize, usize),
        from: usize,
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        let penalty = self.penalty(to);
        let metric = Metric::Diagonal;
        // The point before on the path, or the same strength under another scaling.
        let is_near = |v: &usize| *v == from || self.visited[*v].at.is_some_and(|at| at.1 == to.1);
        let near = (0..self.visited.len()).filter(is_near);
        let known: Vec<usize> = near.filter(|&v| !self.visited[v].anchors.is_empty()).collect();
        let mut start = known.first().copied().unwrap_or(0);
        let mut products: Vec<Option<Products>> = Vec::new();
        if known.len() > 1 {
            let (mut gains, mut beginnings) = (vec![0.0; known.len()], Vec::new());
            for (group, (walkers, penalty)) in self.walkers.iter().zip(&penalty).enumerate() {
                let anchors = known.iter().map(|&v| &self.visited[v].anchors[group]);
                let (of_group, beginning) = walkers.gains(penalty, anchors);
                gains.iter_mut().zip(of_group).for_each(|(sum, gain)| *sum += gain);
                beginnings.push(beginning);
            }
            let least = (0..known.len()).fold(0, |a, b| if gains[b] < gains[a] { b } else { a });
            start = known[least];
            products = beginnings.into_iter().map(|beginning| beginning.at(least)).collect();
        }
        let (best, price) = (self.best(), self.price(to));
        let null = -self.visited[0].score - NULL_PRICE;
        let enough = |held_out: f64| {
            let below = (best - GIVE_UP + held_out + price).max(0.0);
            let scout = SCOUT_SHARE * (null - held_out);
            let loose = if scout > LEAST_SCOUT { scout } else { LOOSE };
            (below / LOOSE_SCALE).powi(2).min(below * LOOSE_SHARE).max(loose)
        };
        // With more than eight models the held-out scores come in parts.
        let enough: Option<Enough<'_>> = if self.walkers.len() == 1 { Some(&enough) } else { None };
        let stop = Stop { decrease: LOOSE, unseen: 0.3, max_steps: 100 };
        let reached =
            self.descend_from(rows, to, start, &penalty, &metric, products, stop, enough, halt)?;
        self.visited.push(reached.point);
        self.forget_anchors(rows);
        Ok(())
    }

    /// Anchors that no later point starts from; with many columns, also those that save a few passes
    /// only.
    fn forget_anchors(&mut self, rows: &FoldRows<'_>) {
        if rows.dimension() * rows.models() <= MAX_ANCHORED {
            return;
        }
        let least = self.best() - GIVE_UP - MARGIN;
        let numbers: Vec<(usize, usize)> = self.visited.iter().filter_map(|p| p.at).collect();
        for point in &mut self.visited[1..] {
            let Some((a, g)) = point.at else { continue };
            let between =
                numbers.contains(&(a, g + 1)) && numbers.contains(&(a, g.wrapping_sub(1)));
            if between && point.score + point.doubt() < least {
                point.anchors.clear();
            }
        }
        self.visited[0].anchors.clear();
    }
}

/// What the next steps may gain: the score bends down along the path, so that each rises by a share of the
/// one before, as the last did; at least by half of it, as this need not go on.
fn ahead(rise: f64, before: f64) -> f64 {
    let share = if before > 0.0 && before.is_finite() && rise > 0.0 {
        (rise / before).clamp(LEAST_SHARE_AHEAD, 1.0)
    } else {
        1.0
    };
    (1..=STEPS_AHEAD).map(|k| rise * share.powi(k)).sum()
}
