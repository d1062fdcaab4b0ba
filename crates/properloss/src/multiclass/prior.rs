//! Prior rows of the masses: for every class a row of weight `e / (K - 1)`, infinitely far outside the data,
//! that only the floor of its class explains.
//!
//! ```text
//! + e / (K - 1) Σ_k log c_k,   c_k = (1 - 1/tau) φ b_k the floor of class k;   so c_k = about e / ((K - 1) n) or more
//! ```
//!
//! A row far outside the others has softmaxes of 0 and 1 at every temperature, so without a floor its
//! log-loss is the gap of its scores, without a bound. No held-out row need look like that, so likelihood
//! alone leaves the floor at 0. The binary link has the same terms, `-e log v(0) - e log(1 - v(1))`, with an
//! `e` of its own (.4): however sure the scores are, all other classes together keep about `e/n`. Prior rows are in every fold's fit and in no fold: they are not scored.

use super::weights::Likelihoods;

/// `e`. The binary link has .4; here .1 is what was measured.
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

    /// A part that explains a prior row and little else may have a slope far from `N` and next to no weight: the
    /// bound of `weights.rs` is then large where no step gains a digit any more. Here that bound is for the rows alone, and the
    /// prior rows are taken as they are. With `g` the slopes of the rows, `n` their weight, `w` that
    /// of a floor's prior rows and any `l` above all `g`:
    ///
    /// ```text
    /// gain <= max_{x in simplex} Σ g_j x_j - n + Σ_floors w log(x_j / b_j)
    ///      <= l - n + Σ_floors [ w log(w / ((l - g_j) b_j)) - w ]
    /// ```
    ///
    /// which is least where `Σ_floors w / (l - g_j) = 1`, or at the largest `g` of the other parts.
    fn sharper(&self, without: Option<u32>, g: &[f64], b: &[f64]) -> f64 {
        let (rows, w) = (self.rows.weight(without), self.weight_of_floor());
        let floors = self.first..self.first + self.floors;
        let of_floor: Vec<(f64, f64)> =
            floors.clone().map(|j| (g[j] - w / b[j].max(1e-300), b[j].max(1e-300))).collect();
        let top = of_floor.iter().map(|of| of.0).fold(f64::NEG_INFINITY, f64::max);
        let shares = |l: f64| of_floor.iter().map(|(g, _)| w / (l - g)).sum::<f64>();
        let (mut low, mut high) = (top + w, top + self.prior());
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *(if shares(middle) > 1.0 { &mut low } else { &mut high }) = middle;
        }
        let others = (0..g.len()).filter(|j| !floors.contains(j)).map(|j| g[j]);
        let l = others.fold(high, f64::max);
        let of_prior = |(g, b): &(f64, f64)| w * (w / ((l - g) * b)).ln() - w;
        (l - rows + of_floor.iter().map(of_prior).sum::<f64>()).max(0.0)
    }

    fn probabilities(&self, fold: u32, tau: f64, b: &[f64], out: &mut [f64]) {
        self.rows.probabilities(fold, tau, b, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::Packed;
    use super::super::weights::{GAP, gradient, maximise};
    use super::*;
    use crate::congruence::Congruence;

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

    /// The bound holds against every other set of weights, and is small where a slope is wrong but says little.
    #[test]
    fn no_weights_gain_more_than_the_certificate() {
        let mut random = Congruence(7);
        let (rows, classes) = (300, 4);
        let value: Vec<f64> = (0..7 * rows).map(|_| 0.02 + random.uniform().powi(2)).collect();
        let floor = |i: usize| i % classes;
        let folds = vec![0; rows];
        let packed = Packed::new(&value, (floor, classes, 1.0), &folds, &vec![1.0; rows]);
        let with =
            WithPrior { rows: Box::new(packed), first: 7, floors: classes, classes, height: 1.0 };
        let tau = 2.5;
        let mut start = vec![0.0; 11];
        start[0] = 1.0;
        with.lift(&mut start);
        let best = maximise(&with, None, tau, &start, 1e-6);
        let value = |b: &[f64]| with.slopes(None, tau, b).0;
        let mut draw = |b: &[f64], size: f64| {
            let b: Vec<f64> =
                b.iter().map(|b| (b + 1e-4) * (size * random.normal()).exp()).collect();
            let sum: f64 = b.iter().sum();
            b.iter().map(|x| x / sum).collect::<Vec<f64>>()
        };
        for size in [0.01, 0.3, 2.0] {
            for _ in 0..50 {
                let b = draw(&best.b, size);
                let gap = with.sharper(None, &gradient(&with, None, tau, &b).1, &b);
                let gain = value(&best.b) - value(&b);
                assert!(gap >= gain - 1e-9, "{gap} {gain}");
            }
        }
        // Half the floor of a class that is never mistaken: a nat is a hundred times as much.
        let with = sure(3, false);
        let mut start = vec![0.0; 10];
        start[0] = 1.0;
        with.lift(&mut start);
        let found = maximise(&with, None, tau, &start, 1e-9);
        let mut half = found.b.clone();
        half[8] *= 0.5;
        half[0] += half[8];
        let slopes = gradient(&with, None, tau, &half).1;
        assert!(
            with.sharper(None, &slopes, &half) < 0.05,
            "{}",
            with.sharper(None, &slopes, &half)
        );
        let plain = 300.15 * (slopes[8] / 300.15f64).ln();
        assert!(plain > 50.0, "{plain}");
    }
}
