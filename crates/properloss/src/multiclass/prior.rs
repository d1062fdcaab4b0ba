//! Prior rows of the masses: for every class a row of weight `e / (K - 1)`, infinitely far outside the data,
//! that only the floor of its class explains.
//!
//! ```text
//! + e / (K - 1) Σ_k log c_k,   c_k = (1 - 1/tau) φ b_k the floor of class k;   so c_k = about e / ((K - 1) n) or more
//! ```
//!
//! A row far outside the others has softmaxes of 0 and 1 at every temperature, so without a floor its
//! log-loss is the gap of its scores, without a bound. No held-out row need look like that, so likelihood
//! alone leaves the floor at 0. The binary link has the same terms, `-e log v(0) - e log(1 - v(1))`, and the same
//! `e`: however sure the scores are, all other classes together keep about `e/n`. Prior rows are in every fold's fit and in no fold: they are not scored.

use super::weights::Likelihoods;

/// `e`; that of the binary link.
const OTHER_CLASSES: f64 = 0.1;

/// Likelihoods with the prior rows beside them.
pub(super) struct WithPrior<'a> {
    pub rows: Box<dyn Likelihoods + 'a>,
    /// The floors are the parts `first..first + floors`.
    pub first: usize,
    pub floors: usize,
    pub classes: usize,
    /// `φ`: 1, or `1/K` for a floor of all classes.
    pub height: f64,
}

impl WithPrior<'_> {
    /// The weight of all prior rows.
    fn prior(&self) -> f64 {
        OTHER_CLASSES * self.classes as f64 / (self.classes as f64 - 1.0)
    }

    /// The weight of the prior rows of one floor.
    fn weight_of_floor(&self) -> f64 {
        self.prior() / self.floors as f64
    }

    /// Moves as much mass to the floors as the prior alone asks for, so that no prior row has
    /// probability 0.
    pub(super) fn lift(&self, b: &mut [f64]) {
        let least = self.weight_of_floor() / self.weight(None);
        let floors = self.first..self.first + self.floors;
        b[floors].iter_mut().for_each(|b| *b = b.max(least));
        let sum: f64 = b.iter().sum();
        b.iter_mut().for_each(|b| *b /= sum);
    }
}

impl Likelihoods for WithPrior<'_> {
    fn parts(&self) -> usize {
        self.rows.parts()
    }

    fn weight(&self, without: Option<u32>) -> f64 {
        self.rows.weight(without) + self.prior()
    }

    fn slopes(&self, without: Option<u32>, tau: f64, b: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut g) = self.rows.slopes(without, tau, b);
        let weight = self.weight_of_floor();
        for j in self.first..self.first + self.floors {
            let mass = ((1.0 - 1.0 / tau) * b[j]).max(1e-300);
            value += weight * (self.height * mass).ln();
            g[j] += weight / mass;
        }
        (value, g)
    }

    fn bends(&self, without: Option<u32>, tau: f64, b: &[f64]) -> Vec<f64> {
        let (n, mut h) = (self.parts(), self.rows.bends(without, tau, b));
        for j in self.first..self.first + self.floors {
            let mass = ((1.0 - 1.0 / tau) * b[j]).max(1e-150);
            h[j * n + j] += self.weight_of_floor() / (mass * mass);
        }
        h
    }

    fn probabilities(&self, fold: u32, tau: f64, b: &[f64], out: &mut [f64]) {
        self.rows.probabilities(fold, tau, b, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::Packed;
    use super::super::weights::{GAP, maximise};
    use super::*;

    /// Rows that every softmax is sure of, and right.
    fn sure(classes: usize, uniform: bool) -> WithPrior<'static> {
        let rows = 100 * classes;
        let (floors, height) = if uniform { (1, 1.0 / classes as f64) } else { (classes, 1.0) };
        let floor = |i: usize| if uniform { 0 } else { i % classes };
        let (value, folds) = (vec![1.0; 7 * rows], vec![0; rows]);
        let packed = Packed::new(&value, (floor, floors, height), &folds, &vec![1.0; rows]);
        WithPrior { rows: Box::new(packed), first: 7, floors, classes, height }
    }

    /// The likelihood of sure rows would leave no floor at all: with floor `c` each they say
    /// `n log(1 - (K - 1) c)`, the prior `K e/(K - 1) log c`.
    #[test]
    fn classes_that_were_never_mistaken_keep_a_floor() {
        for classes in [3, 10] {
            let (k, n) = (classes as f64, 100.0 * classes as f64);
            let expected = 0.1 * k / (k - 1.0) / ((k - 1.0) * (n + 0.1 * k / (k - 1.0)));
            for uniform in [false, true] {
                for tau in [1.5, 10.0] {
                    let with = sure(classes, uniform);
                    let mut start = vec![0.0; with.parts()];
                    start[0] = 1.0;
                    with.lift(&mut start);
                    let found = maximise(&with, None, tau, &start, GAP);
                    for b in &found.b[7..] {
                        let c = (1.0 - 1.0 / tau) * with.height * b;
                        // A floor that is off by a factor r costs this many nats or more.
                        let r = c / expected;
                        let cost = with.weight_of_floor() * (r - 1.0 - r.ln());
                        assert!(cost < GAP, "{c} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_the_likelihood() {
        let with = sure(3, false);
        let (b, tau) = ([0.5, 0.1, 0.0, 0.1, 0.0, 0.1, 0.0, 0.05, 0.1, 0.05], 2.5);
        let at = |t: f64| {
            let mut b = b;
            b[8] += t;
            with.slopes(None, tau, &b)
        };
        let (t, c) = (1e-5, 1.0 - 1.0 / tau);
        let slope = (at(t).0 - at(-t).0) / (2.0 * t);
        assert!((slope / (c * at(0.0).1[8]) - 1.0).abs() < 1e-6);
        let bend = (at(t).1[8] - at(-t).1[8]) / (2.0 * t);
        assert!((bend / (-c * with.bends(None, tau, &b)[8 * 10 + 8]) - 1.0).abs() < 1e-6);
    }
}
