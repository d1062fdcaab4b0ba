//! How soon the default fit ends after it was asked to: `cargo run --release -p properloss --example
//! interrupt_latency [ROWS COLUMNS TRIES]` (60,000 x 784, 20 tries).
//!
//! A flag is set at random moments of the fit, evenly spread over its whole time; printed is the time
//! from there to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use properloss::proper::ProperLoss;
use properloss::rows::Local;
use properloss::sample::{Matrix, Sample};
use properloss::train::{Silent, run};

fn main() -> properloss::Result<()> {
    let mut given = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let mut number = |default: usize| given.next().unwrap_or(default);
    let (rows, columns, tries) = (number(60_000), number(784), number(20));
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let x: Vec<f32> = (0..rows * columns).map(|_| next() as f32 - 0.5).collect();
    let score = |i: usize| x[i * columns..(i + 1) * columns].iter().take(20).sum::<f32>();
    let y: Vec<u8> = (0..rows).map(|i| u8::from(f64::from(score(i)) + next() > 0.5)).collect();
    let sample = Sample::new(Matrix::dense_f32(&x, rows, columns)?, &y, None)?;

    let start = Instant::now();
    let _ = ProperLoss::default().fit(&sample)?;
    let whole = start.elapsed();
    println!("{rows} x {columns}: the whole fit takes {:.2} s", whole.as_secs_f64());
    let mut worst = Duration::ZERO;
    for k in 0..tries {
        let stop = AtomicBool::new(false);
        let moment = whole.mul_f64((k as f64 + next()) / tries as f64);
        let (ended, asked) = std::thread::scope(|scope| {
            let fit = scope.spawn(|| {
                let mut rows = Local::new(&sample).with_stop(&stop);
                let fit = run(&ProperLoss::default(), &mut rows, None, &mut Silent);
                (fit.is_ok(), Instant::now())
            });
            std::thread::sleep(moment);
            let asked = Instant::now();
            stop.store(true, Ordering::Relaxed);
            (fit.join(), asked)
        });
        let Ok((finished, end)) = ended else { continue };
        let latency = end.saturating_duration_since(asked);
        worst = worst.max(latency);
        let how = if finished { "it was done before" } else { "ended" };
        println!(
            "asked after {:.2} s: {how} {:.3} s later",
            moment.as_secs_f64(),
            latency.as_secs_f64()
        );
    }
    println!("worst: {:.3} s", worst.as_secs_f64());
    Ok(())
}
