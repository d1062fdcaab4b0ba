//! What the tests of certified mode share: random links and samples, and a profile.
#![allow(dead_code)] // each test crate uses its own part

use properloss::link::PiecewiseLink;
use properloss::piecewise::PiecewiseAffine;
use proptest::prelude::*;

/// A link from positive steps; the ordinates are scaled to end at exactly 1.
pub fn link_from_steps(start: f64, steps: &[(f64, f64)]) -> PiecewiseLink {
    let total: f64 = steps.iter().map(|step| step.1).sum();
    let (mut x, mut y, mut at, mut sum) = (vec![start], vec![0.0], start, 0.0);
    for &(width, rise) in steps {
        at += width;
        sum += rise;
        x.push(at);
        y.push(sum / total);
    }
    *y.last_mut().unwrap() = 1.0;
    PiecewiseLink::new(PiecewiseAffine::new(x, y).unwrap()).unwrap()
}

/// Links of one to nine pieces with slopes over four orders of magnitude.
pub fn any_link() -> impl Strategy<Value = PiecewiseLink> {
    let step = (0.01..1.0_f64, 0.01..1.0_f64);
    (-2.0..1.0_f64, prop::collection::vec(step, 1..10))
        .prop_map(|(start, steps)| link_from_steps(start, &steps))
}

/// Scores with ties (multiples of 1/4 in half of the cases), labels and weights.
pub fn any_scored() -> impl Strategy<Value = (Vec<f64>, Vec<u8>, Vec<f64>)> {
    let tied = (-12..12_i32).prop_map(|k| f64::from(k) / 4.0);
    let score = prop_oneof![tied, -3.0..3.0_f64];
    prop::collection::vec((score, 0..2_u8, 0.05..4.0_f64), 1..25).prop_map(|rows| {
        (
            rows.iter().map(|row| row.0).collect(),
            rows.iter().map(|row| row.1).collect(),
            rows.iter().map(|row| row.2).collect(),
        )
    })
}

/// SplitMix64: a few lines, the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// `PROPERLOSS_PROFILE=fuzz` (or `full`) asks for the long runs.
pub fn profile(name: &str) -> bool {
    std::env::var("PROPERLOSS_PROFILE").is_ok_and(|value| value == name)
}
