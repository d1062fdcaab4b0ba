//! Ten links that do not decrease, and rows drawn from them.

use properloss_data::random::Random;

pub fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// `P(y = 1 | score)`: none decreases.
pub const LINKS: [(&str, fn(f64) -> f64); 10] = [
    ("sigmoid", sigmoid),
    ("steep sigmoid", |s| sigmoid(2.5 * s)),
    ("flat sigmoid", |s| sigmoid(0.4 * s)),
    ("rare positives", |s| sigmoid(s - 3.0)),
    ("constant", |_| 0.3),
    ("cloglog", |s| -(-s.exp()).exp_m1()),
    ("cauchy", |s| 0.5 + s.atan() / std::f64::consts::PI),
    ("clipped line", |s| (0.5 + 0.25 * s).clamp(0.0, 1.0)),
    ("one step", |s| if s < 0.45 { 0.1 } else { 0.8 }),
    ("noisy labels", |s| 0.2 + 0.6 * sigmoid(3.0 * s)),
];

pub struct Rows {
    pub scores: Vec<f64>,
    pub labels: Vec<u8>,
}

pub fn draw(random: &mut Random, link: fn(f64) -> f64, rows: usize) -> Rows {
    let scores: Vec<f64> = (0..rows).map(|_| 1.5 * random.gaussian()).collect();
    let labels = scores.iter().map(|&s| u8::from(random.uniform() < link(s))).collect();
    Rows { scores, labels }
}

pub fn rms(values: &[f64], scores: &[f64], link: fn(f64) -> f64) -> f64 {
    let sum: f64 = values.iter().zip(scores).map(|(v, &s)| (v - link(s)).powi(2)).sum();
    (sum / values.len() as f64).sqrt()
}
