use properloss::proper::smooth::{Bins, Smooth};
use std::time::Instant;
fn main() {
    let mut s = 1u64;
    let mut un = move || { s = s.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407); (s >> 11) as f64 / (1u64 << 53) as f64 };
    for n in [100usize, 500, 2000, 10_000, 100_000, 1_000_000] {
        let mut z = vec![]; let mut y = vec![];
        for _ in 0..n { let t: f64 = (0..12).map(|_| un()).sum::<f64>() - 6.0; let t = 1.7 * t; z.push(t); let p = 0.2 + 0.7 / (1.0 + (-2.0 * t).exp()); y.push(u8::from(un() < p)); }
        let w = vec![1.0; n]; let f: Vec<u32> = (0..n).map(|i| (i % 5) as u32).collect();
        for _ in 0..3 {
        let t0 = Instant::now();
        let b = Bins::of_rows(&z, &y, &w, &f).unwrap();
        let t1 = t0.elapsed();
        let l = Smooth::default().fit(&b).unwrap();
        let t2 = t0.elapsed();
        println!("n {n} bins {:?} all {:?} knots {} ratio {:.3} score {:.3} w {:?} steps {:?}", t1, t2, l.v.knot_count(), l.slope_ratio(), l.score, l.points.iter().map(|p| (p.weight * 1e3).round() / 1e3).collect::<Vec<_>>(), l.models.iter().map(|m| (m.1.steps, m.1.decrement)).collect::<Vec<_>>());
        }
    }
}
