//! What the tests of certified mode share: random links and samples, and a profile.
#![allow(dead_code)] // each test crate uses its own part

#[path = "../random_support/mod.rs"]
mod random_support;

use properloss::link::PiecewiseLink;
use properloss::piecewise::PiecewiseAffine;
use proptest::prelude::*;
pub use random_support::Random;

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

/// `PROPERLOSS_PROFILE=fuzz` (or `full`) asks for the long runs.
pub fn profile(name: &str) -> bool {
    std::env::var("PROPERLOSS_PROFILE").is_ok_and(|value| value == name)
}

/// Old scores and weights in the order of the new scores, which come first.
pub fn in_order(new: &[f64], old: &[f64], weights: &[f64]) -> [Vec<f64>; 3] {
    let mut order: Vec<usize> = (0..new.len()).collect();
    order.sort_by(|&i, &j| new[i].total_cmp(&new[j]));
    [new, old, weights].map(|values| order.iter().map(|&i| values[i]).collect())
}
