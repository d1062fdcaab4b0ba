//! Random numbers of the tests: the same on every machine.
#![allow(dead_code)]

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
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

    /// Log-uniform in `[10^a, 10^b]`.
    pub fn power(&mut self, a: f64, b: f64) -> f64 {
        10f64.powf(a + (b - a) * self.unit())
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        // Never 0, whose logarithm is infinite.
        let mut inside = || self.unit() + f64::EPSILON / 4.0;
        let (a, b) = (inside(), inside());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}
