//! Nearer to the minimum: the points that may yet matter, then those that have weight.

use super::walk::LOOSE;
use super::{
    FoldRows, GIVE_UP, Halt, Halted, Lane, MARGIN, MAX_POLISHED, Metric, PathState, Stop, Visited,
    softmax,
};

/// A point that may yet matter comes nearer by this factor at a time.
const NEARER: f64 = 0.1;
/// A point of weight 1 is to be this near to its minimum, in nats; one of weight `omega` this divided
/// by `omega`: errors of different points are added with their weights. With more rows than these it is so many
/// times as much: what a row loses by it is less all the same.
const TIGHT: f64 = 5e-4;
const TIGHT_ROWS: usize = 1000;
/// The weights of a point that has all the weight need only be good weights, not a measure for others: with many
/// rows it may be so many times as far.
const ALONE: f64 = 8.0;

/// Thousands of rows, at least one.
fn thousands(rows: &FoldRows<'_>) -> f64 {
    (rows.used as f64 / TIGHT_ROWS as f64).max(1.0)
}

/// How near a point that has all the weight is to come.
fn tight_alone(rows: &FoldRows<'_>) -> f64 {
    TIGHT * thousands(rows) * thousands(rows).min(ALONE)
}

impl PathState {
    /// The likeliest point, if it was only looked at loosely.
    pub(super) fn best_to_come_nearer(&self) -> Option<usize> {
        let best = self.best();
        (1..self.visited.len()).find(|&v| self.visited[v].score == best && self.may_come_nearer(v))
    }

    /// The likeliest point that was only looked at loosely and may yet have weight.
    pub(super) fn to_come_nearer(&self) -> Option<usize> {
        let least = self.best() - GIVE_UP;
        (1..self.visited.len())
            .filter(|&v| {
                let point = &self.visited[v];
                self.may_come_nearer(v) && point.score + self.doubt(point) >= least
            })
            .max_by(|&a, &b| self.visited[a].score.total_cmp(&self.visited[b].score))
    }

    fn may_come_nearer(&self, v: usize) -> bool {
        let point = &self.visited[v];
        self.doubt(point) > 0.0 && !point.anchors.is_empty() && !point.w.is_empty()
    }

    pub(super) fn come_nearer(
        &mut self,
        rows: &FoldRows<'_>,
        at: usize,
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        let Some(to) = self.visited[at].at else { return Ok(()) };
        let penalty = self.penalty(to);
        let decrease = if self.alone() == Some(at) {
            tight_alone(rows)
        } else {
            (NEARER * self.visited[at].decrease).max(LOOSE)
        };
        let stop = Stop { decrease, unseen: 1.0, max_steps: 100 };
        self.visited[at] = self.descend_on(rows, to, at, &penalty, stop, halt)?;
        Ok(())
    }

    /// Nearer to the minimum of a visited point. What is known there makes room: nobody asks for it meanwhile.
    fn descend_on(
        &mut self,
        rows: &FoldRows<'_>,
        to: (usize, usize),
        at: usize,
        penalty: &[Vec<Lane>],
        stop: Stop,
        halt: Halt<'_>,
    ) -> Result<Visited, Halted> {
        self.unit = None;
        self.visited[at].w.clear();
        let starts = std::mem::take(&mut self.visited[at].anchors);
        let (metric, known) = (Metric::Diagonal, Vec::new());
        let reached =
            self.descend_from(rows, to, at, starts, penalty, &metric, known, stop, None, halt)?;
        Ok(reached.point)
    }

    /// The likeliest point that is further from its minimum than its weight allows, and how near it is
    /// to come.
    pub(super) fn to_polish(&self, rows: &FoldRows<'_>) -> Option<(usize, f64)> {
        if self.quadratic.is_some() {
            return None;
        }
        if let Some(v) = self.alone() {
            let (point, decrease) = (&self.visited[v], tight_alone(rows));
            let is_far = point.decrease > 2.0 * decrease && !point.anchors.is_empty();
            return (is_far && point.polished < MAX_POLISHED).then_some((v, decrease));
        }
        let weights = self.weights();
        let tight = TIGHT * thousands(rows);
        (1..self.visited.len())
            .map(|v| (v, tight / weights[v].max(f64::MIN_POSITIVE)))
            .filter(|&(v, decrease)| {
                let point = &self.visited[v];
                point.exact
                    && point.polished < MAX_POLISHED
                    && point.decrease > 2.0 * decrease
                    && !point.anchors.is_empty()
            })
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The point that has all the weight, whatever the exact scores are.
    pub(super) fn alone(&self) -> Option<usize> {
        let least = self.best() - GIVE_UP - MARGIN;
        let mut near = (0..self.visited.len()).filter(|&v| {
            let point = &self.visited[v];
            !point.w.is_empty() && point.score + self.doubt(point) >= least
        });
        near.next().filter(|&v| v > 0 && near.next().is_none())
    }

    /// The weights of the points by their exact scores; other points have none.
    pub(super) fn weights(&self) -> Vec<f64> {
        let score = |point: &Visited| {
            if !point.exact || point.w.is_empty() {
                return f64::NEG_INFINITY;
            }
            point.score + point.at.map_or(0.0, |_| (self.alike as f64).ln())
        };
        softmax(&self.visited.iter().map(score).collect::<Vec<f64>>())
    }

    pub(super) fn polish(
        &mut self,
        rows: &FoldRows<'_>,
        at: usize,
        decrease: f64,
        halt: Halt<'_>,
    ) -> Result<(), Halted> {
        let Some(to) = self.visited[at].at else { return Ok(()) };
        let penalty = self.penalty(to);
        let stop = Stop { decrease, unseen: 1.0, max_steps: 100 };
        let polished = self.visited[at].polished + 1;
        let score = self.visited[at].score;
        let point = self.descend_on(rows, to, at, &penalty, stop, halt)?;
        // It keeps its score until it is judged again.
        self.visited[at] = Visited { polished, score, ..point };
        Ok(())
    }
}
