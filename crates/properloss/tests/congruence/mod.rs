//! Numbers for made data: the same on every machine.

#![allow(dead_code)]

/// A linear congruence modulo 2^64.
pub struct Congruence(pub u64);

impl Congruence {
    /// Between 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly standard normal: twelve uniform ones less six.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Heavy tails.
    pub fn cauchy(&mut self) -> f64 {
        (std::f64::consts::PI * (self.uniform() - 0.5)).tan()
    }
}

/// Numbers in [-1, 1).
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Congruence(seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15));
    (0..count).map(|_| 2.0 * random.uniform() - 1.0).collect()
}

/// Row `i` of `x` so often as `counts[i]` says, with its label.
pub fn copied<T: Copy>(x: &[T], labels: &[u8], counts: &[usize]) -> (Vec<T>, Vec<u8>) {
    let columns = x.len() / labels.len();
    let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
    for (i, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            rows.extend_from_slice(&x[i * columns..(i + 1) * columns]);
            of_rows.push(labels[i]);
        }
    }
    (rows, of_rows)
}
