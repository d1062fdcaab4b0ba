//! What calibrated forecasts would look like: labels redrawn with the forecast probabilities.
//!
//! For each redraw the CORP curve is computed again; its quantiles make the consistency band
//! (Dimitriadis, Gneiting and Jordan 2021), its miscalibration says how much chance alone makes.

use properloss_data::random::Random;
use rayon::prelude::*;

use crate::evaluation::Cell;

/// Redraws.
const REDRAWS: usize = 400;
/// Probability of the band at each point.
pub const LEVEL: f64 = 0.9;
/// Points at which the band is shown, at most.
const POINTS: usize = 300;

/// A run of `start..end` pooled to one rate.
pub struct Pool {
    /// First index.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// Weight of all.
    pub weight: f64,
    /// Weight of the positives.
    pub positive: f64,
}

/// Isotonic regression of rates: pool adjacent violators of `(weight, weight of positives)`.
pub fn isotonic(items: impl Iterator<Item = (f64, f64)>) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for (at, (weight, positive)) in items.enumerate() {
        let mut pool = Pool { start: at, end: at + 1, weight, positive };
        while let Some(last) = pools.last()
            && last.positive * pool.weight >= pool.positive * last.weight
        {
            pool.start = last.start;
            pool.weight += last.weight;
            pool.positive += last.positive;
            pools.pop();
        }
        pools.push(pool);
    }
    pools
}

/// The consistency band, and how unusual the miscalibration is.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Forecasts, increasing.
    pub forecast: Vec<f64>,
    /// Lower end.
    pub low: Vec<f64>,
    /// Upper end.
    pub high: Vec<f64>,
    /// Median and 95 % quantile of the miscalibration of calibrated forecasts.
    pub by_chance: [f64; 2],
    /// Share of the redraws (and the data) whose miscalibration is at least that of the data.
    pub p_value: f64,
}

impl Band {
    /// Of the cells of an evaluation; the redraws are the same in every run.
    pub fn new(cells: &[Cell]) -> Self {
        let total: f64 = cells.iter().map(|cell| cell.weight).sum();
        let count = cells.len().min(POINTS);
        let at: Vec<usize> =
            (0..count).map(|k| k * (cells.len() - 1) / (count - 1).max(1)).collect();
        let redraws: Vec<(f64, Vec<f64>)> = (0..REDRAWS as u64)
            .into_par_iter()
            .map(|number| {
                let mut random = Random::stream(0, number);
                let rates: Vec<f64> = cells
                    .iter()
                    .map(|cell| binomial(&mut random, cell.rows, cell.forecast))
                    .collect();
                let (curve, miscalibration) = recalibrate(cells, &rates, total);
                (miscalibration, at.iter().map(|&k| curve[k]).collect())
            })
            .collect();
        let rates: Vec<f64> = cells.iter().map(|cell| cell.rate).collect();
        let (_, observed) = recalibrate(cells, &rates, total);
        let tail = 0.5 * (1.0 - LEVEL);
        let ends: Vec<(f64, f64)> = (0..count)
            .map(|k| {
                let mut values: Vec<f64> = redraws.iter().map(|redraw| redraw.1[k]).collect();
                values.sort_unstable_by(f64::total_cmp);
                (quantile(&values, tail), quantile(&values, 1.0 - tail))
            })
            .collect();
        let mut chance: Vec<f64> = redraws.iter().map(|redraw| redraw.0).collect();
        chance.sort_unstable_by(f64::total_cmp);
        let larger = chance.iter().filter(|&&value| value >= observed).count();
        Self {
            forecast: at.iter().map(|&k| cells[k].forecast).collect(),
            low: ends.iter().map(|end| end.0).collect(),
            high: ends.iter().map(|end| end.1).collect(),
            by_chance: [quantile(&chance, 0.5), quantile(&chance, 0.95)],
            p_value: (larger + 1) as f64 / (REDRAWS + 1) as f64,
        }
    }
}

/// The curve at every cell and `Σ w ((p - r)² - (c - r)²) / Σ w`, what recalibration gains.
fn recalibrate(cells: &[Cell], rates: &[f64], total: f64) -> (Vec<f64>, f64) {
    let pools = isotonic(cells.iter().zip(rates).map(|(cell, r)| (cell.weight, cell.weight * r)));
    let mut curve = vec![0.0; cells.len()];
    for pool in &pools {
        curve[pool.start..pool.end].fill(pool.positive / pool.weight);
    }
    let gain = |k: usize| {
        let (p, r, c) = (cells[k].forecast, rates[k], curve[k]);
        cells[k].weight * ((p - r).powi(2) - (c - r).powi(2))
    };
    let sum: f64 = (0..cells.len()).map(gain).sum();
    (curve, (sum / total).max(0.0))
}

/// The share of successes in `n` trials of probability `p`: by inversion where the expected number
/// is small, else normal, rounded.
fn binomial(random: &mut Random, n: f64, p: f64) -> f64 {
    let n = n.round().max(1.0);
    let rare = p.min(1.0 - p);
    let count = if n * rare < 30.0 {
        // Pr[K = k + 1] = Pr[K = k] (n - k)/(k + 1) rare/(1 - rare).
        let odds = rare / (1.0 - rare);
        let (mut k, mut probability) = (0.0, (n * (-rare).ln_1p()).exp());
        let mut left = random.uniform();
        while left >= probability && k < n {
            left -= probability;
            probability *= (n - k) / (k + 1.0) * odds;
            k += 1.0;
        }
        k
    } else {
        let deviation = (n * rare * (1.0 - rare)).sqrt();
        (n * rare + deviation * random.gaussian()).round().clamp(0.0, n)
    };
    if p <= 0.5 { count / n } else { 1.0 - count / n }
}

/// Of sorted values, between neighbours in proportion.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomial_has_its_mean_and_variance() {
        for (n, p) in [(1.0, 0.3), (20.0, 0.9), (5000.0, 0.001), (5000.0, 0.4)] {
            let mut random = Random::new(3);
            let draws: Vec<f64> = (0..20_000).map(|_| n * binomial(&mut random, n, p)).collect();
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / 20_000.0;
            // Four standard errors of the mean; the variance is good to 5 %.
            let expected = n * p * (1.0 - p);
            assert!((mean - n * p).abs() < 4.0 * (expected / 20_000.0).sqrt(), "{n} {p}: {mean}");
            assert!((variance / expected - 1.0).abs() < 0.05, "{n} {p}: {variance}");
        }
    }

    #[test]
    fn calibrated_forecasts_are_usual_and_wrong_ones_are_not() {
        let mut random = Random::new(1);
        let cells = |wrong: f64, random: &mut Random| -> Vec<Cell> {
            (1..1000)
                .map(|k| {
                    let p = f64::from(k) / 1000.0;
                    let rate = binomial(random, 10.0, p.powf(wrong));
                    Cell { forecast: p, rate, weight: 10.0, rows: 10.0 }
                })
                .collect()
        };
        let usual = Band::new(&cells(1.0, &mut random));
        assert!(usual.p_value > 0.05, "{}", usual.p_value);
        let wrong = Band::new(&cells(1.5, &mut random));
        assert!(wrong.p_value < 0.01, "{}", wrong.p_value);
        assert!(usual.low.iter().zip(&usual.high).all(|(low, high)| low <= high));
    }
}
