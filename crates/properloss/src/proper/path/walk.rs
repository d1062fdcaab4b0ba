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
/// With a weaker penalty than the best point has it rather loses on the way to its minimum.
const DOUBT_BEYOND: f64 = 1.0;
/// A scaling whose first point lacks more than this share of what the best first point gains, and so many
/// nats, is not walked: strengths do not make up for that.
const HOPELESS_SHARE: f64 = 0.4;
/// One that lacks more than this share (and so many nats) of what its neighbour gains tells that the way beyond it
/// leads down.
const BEHIND_SHARE: f64 = 0.03;
const HOPELESS: f64 = 100.0;
/// Weights of all models up to which every anchor is kept.
const MAX_ANCHORED: usize = 1 << 17;

/// How much the scores of points that were looked at loosely are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belief {
    /// As they are.
    Taken,
    /// As good as they may be.
    Doubted,
}

impl PathState {
    /// How far the score of a point may be off, in nats, beyond what [`MARGIN`] allows for.
    pub(super) fn doubt(&self, point: &Visited) -> f64 {
        if point.decrease <= 2.0 * LOOSE {
            return 0.0;
        }
        let best = self.visited.iter().max_by(|a, b| a.score.total_cmp(&b.score));
        let strength = |point: &Visited| point.at.map_or(0, |at| at.1);
        let is_weaker = best.is_some_and(|best| strength(point) > strength(best));
        (if is_weaker { DOUBT_BEYOND } else { DOUBT }) * point.decrease
    }

    /// The next point, and the visited point that it starts from; `None` at the end.
    ///
    /// Every scaling is looked at where the first starts; then the likeliest is walked outwards, and the others
    /// from where it is likeliest: strengths mean the same under every scaling, up to a step or two.
    pub(super) fn next(&self, belief: Belief) -> Option<((usize, usize), usize)> {
        let looks = self.looks();
        let mut seen = looks.iter().filter_map(|&a| self.find((a, self.start)));
        let unseen = |a: &&usize| self.find((**a, self.start)).is_none();
        if let Some(&a) = looks.iter().find(unseen) {
            return Some(((a, self.start), seen.next().unwrap_or(0)));
        }
        let mut order = looks;
        let score = |a: usize| self.likeliest(a).map_or(f64::NEG_INFINITY, |(_, score)| score);
        order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
        let top = self.likeliest(*order.first()?)?.0;
        order.into_iter().filter(|&a| !self.is_hopeless(a)).find_map(|a| {
            let seen = self.visited.iter().filter(|p| p.at.is_some_and(|at| at.0 == a)).count();
            if seen == 1 && top != self.start && self.find((a, top)).is_none() {
                return Some(((a, top), self.find((a, self.start))?));
            }
            let outwards = |up: bool| self.outwards(a, up, belief);
            outwards(true).or_else(|| outwards(false))
        })
    }

    /// The scalings that are looked at where the first strength is, in their order. L-BFGS begins with the one in
    /// the middle: where that is far behind its neighbour on one side, the one on the other side is left out.
    fn looks(&self) -> Vec<usize> {
        let walked = self.scalings.len() + 1 - self.alike;
        if self.quadratic.is_some() || walked != 3 {
            return (0..walked).collect();
        }
        let at_start = |a: usize| self.find((a, self.start)).map(|v| &self.visited[v]);
        let is_left_out = match (at_start(1), at_start(2)) {
            (Some(middle), Some(side)) => {
                let gain = side.score - self.visited[0].score;
                middle.score + self.doubt(middle) < side.score - HOPELESS.max(BEHIND_SHARE * gain)
            }
            _ => false,
        };
        if is_left_out { vec![1, 2] } else { vec![1, 2, 0] }
    }

    /// The likeliest strength of a scaling so far, and its score.
    fn likeliest(&self, a: usize) -> Option<(usize, f64)> {
        let of = self.visited.iter().filter_map(|point| Some((point.at?, point.score)));
        let own = of.filter(|(at, _)| at.0 == a).map(|(at, score)| (at.1, score));
        own.max_by(|a, b| a.1.total_cmp(&b.1))
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
        own.is_some_and(|own| {
            own.score + self.doubt(own) < best - HOPELESS.max(HOPELESS_SHARE * gain)
        })
    }

    /// The nearest strength of a scaling beyond this one that was visited, and the point.
    fn beyond(&self, (a, from): (usize, usize), up: bool) -> Option<(usize, usize)> {
        let numbers: Vec<usize> =
            if up { (from + 1..self.grid.len()).collect() } else { (0..from).rev().collect() };
        numbers.into_iter().find_map(|number| Some((number, self.find((a, number))?)))
    }

    /// The next point of a scaling to one side of its likeliest one, and the one before it.
    fn outwards(&self, a: usize, up: bool, belief: Belief) -> Option<((usize, usize), usize)> {
        let least = self.best() - GIVE_UP;
        let (top, _) = self.likeliest(a)?;
        let (mut number, mut at) = (top, self.find((a, top))?);
        // Before anything was seen on this side, the other side may tell where it goes.
        let score = |v: usize| self.visited[v].score;
        let other = self.beyond((a, top), !up);
        let per_step = |(n, v): (usize, usize)| (score(at) - score(v)) / n.abs_diff(top) as f64;
        let (mut rise, mut before) = (other.map_or(f64::INFINITY, per_step), f64::INFINITY);
        loop {
            let following = if up { number + 1 } else { number.wrapping_sub(1) };
            if following >= self.grid.len() {
                return None;
            }
            let doubt = match belief {
                Belief::Taken => 0.0,
                Belief::Doubted => self.doubt(&self.visited[at]),
            };
            let may_be = score(at) + doubt;
            if may_be < least && ahead(rise, before) < least - may_be {
                return None;
            }
            match (self.find((a, following)), self.beyond((a, number), up), other) {
                (Some(found), ..) => {
                    before = rise;
                    rise = score(found) - score(at);
                    (number, at) = (following, found);
                }
                // Strengths on both sides were seen, and what lies between them is known well enough.
                (None, Some(far), Some(other)) if number == top => {
                    let side = |(n, v): (usize, usize)| (self.grid[n], score(v));
                    let peak = peak([side(far), side((top, at)), side(other)]);
                    if peak + doubt < least {
                        return None;
                    }
                    return Some(((a, following), at));
                }
                (None, ..) => return Some(((a, following), at)),
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
        for v in 1..self.visited.len() {
            if self.visited[v].score + self.doubt(&self.visited[v]) < least {
                self.visited[v].w.clear();
            }
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
            let below = best - GIVE_UP + held_out + price;
            let scout = SCOUT_SHARE * (null - held_out);
            let least = if scout > LEAST_SCOUT { scout } else { LOOSE };
            loose(below).max(least)
        };
        // With more than eight models the held-out scores come in parts.
        let enough: Option<Enough<'_>> = if self.walkers.len() == 1 { Some(&enough) } else { None };
        let stop = Stop { decrease: LOOSE, unseen: 0.3, max_steps: 100 };
        let starts = self.visited[start].anchors.clone();
        let reached = self.descend_from(
            rows, to, start, starts, &penalty, &metric, products, stop, enough, halt,
        )?;
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
        for v in 1..self.visited.len() {
            let Some((a, g)) = self.visited[v].at else { continue };
            let between =
                numbers.contains(&(a, g + 1)) && numbers.contains(&(a, g.wrapping_sub(1)));
            if between && self.visited[v].score + self.doubt(&self.visited[v]) < least {
                self.visited[v].anchors.clear();
            }
        }
        self.visited[0].anchors.clear();
    }
}

/// How far from its minimum a point may stay that is so many nats below what could matter.
pub(super) fn loose(below: f64) -> f64 {
    let below = below.max(0.0);
    (below / LOOSE_SCALE).powi(2).min(below * LOOSE_SHARE)
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

/// The largest value of the parabola through three points, the middle one of which is the highest.
fn peak([left, top, right]: [(f64, f64); 3]) -> f64 {
    let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
    let (rises, falls) = (slope(left, top), slope(top, right));
    let bend = (falls - rises) / (right.0 - left.0);
    // Of f(top) + m x + bend x², m the slope at the top.
    let m = rises + bend * (top.0 - left.0);
    if bend < 0.0 { top.1 - m * m / (4.0 * bend) } else { top.1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_that_of_the_parabola() {
        let f = |x: f64| 3.0 - 2.0 * (x - 0.7) * (x - 0.7);
        let at = |x: f64| (x, f(x));
        assert!((peak([at(0.0), at(0.5), at(1.5)]) - 3.0).abs() < 1e-12);
        assert!((peak([at(1.5), at(1.0), at(-2.0)]) - 3.0).abs() < 1e-12);
        assert_eq!(peak([(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), 1.0);
    }

    #[test]
    fn a_score_is_believed_to_rise_by_less_and_less() {
        assert_eq!(ahead(8.0, 16.0), 4.0 + 2.0 + 1.0 + 0.5);
        // By no less than half of the step before; as it did, if that was more.
        assert_eq!(ahead(8.0, 80.0), ahead(8.0, 16.0));
        assert_eq!(ahead(8.0, f64::INFINITY), 32.0);
        assert_eq!(ahead(f64::INFINITY, f64::INFINITY), f64::INFINITY);
        assert_eq!(ahead(-2.0, 5.0), -8.0);
    }
}
