//! Seconds of a fit of several classes on made data: `multiclass_time rows columns classes [repeats]`.

use std::time::Instant;

use properloss::multiclass::{ClassSample, MulticlassProperLoss};
use properloss::sample::Matrix;

fn main() -> properloss::Result<()> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let at = |k: usize, default| arguments.get(k).copied().unwrap_or(default);
    let (rows, columns, classes) = (at(0, 2_000), at(1, 20), at(2, 3));
    let mut state = 1u64;
    let mut uniform = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let w: Vec<f64> =
        (0..classes * columns).map(|_| 2.0 * normal() / (columns as f64).sqrt()).collect();
    let (mut x, mut y) = (Vec::with_capacity(rows * columns), Vec::with_capacity(rows));
    for _ in 0..rows {
        let row: Vec<f64> = (0..columns).map(|_| normal()).collect();
        let score =
            |k: usize| -> f64 { row.iter().zip(&w[k * columns..]).map(|(x, w)| x * w).sum() };
        // Gumbel's noise makes the largest score a draw from the softmax.
        let mut best = (f64::NEG_INFINITY, 0);
        for k in 0..classes {
            let u = (0.5 + normal() / 12.0).clamp(1e-9, 1.0 - 1e-9);
            let noisy = score(k) - (-u.ln()).ln();
            if noisy > best.0 {
                best = (noisy, k as u32);
            }
        }
        y.push(best.1);
        x.extend(row);
    }
    let sample = ClassSample::new(Matrix::dense_f64(&x, rows, columns)?, &y, classes, None)?;
    for _ in 0..at(3, 3) {
        let start = Instant::now();
        let fit = MulticlassProperLoss::default().fit(&sample)?;
        println!(
            "{:.4} s, {:.1} passes, {} strengths, tau {:.3}, held-out {:?}",
            start.elapsed().as_secs_f64(),
            fit.passes,
            fit.path.len(),
            fit.tau(),
            fit.held_out_log_loss
        );
    }
    Ok(())
}
