//! The thresholds of a page: 451 round numbers, closer together near 0 and 1.

use std::sync::OnceLock;

/// From 0 to 1: steps of .0001 up to .001, of .0002 up to .01, of .001 up to .1, of .005 up to .5,
/// and the same from the other side.
pub fn thresholds() -> &'static [f64] {
    static GRID: OnceLock<Vec<f64>> = OnceLock::new();
    GRID.get_or_init(|| {
        let mut parts: Vec<u32> = (0..10).collect();
        parts.extend((10..100).step_by(2));
        parts.extend((100..1000).step_by(10));
        parts.extend((1000..=9000).step_by(50));
        let mirrored: Vec<u32> =
            parts.iter().rev().filter(|&&k| k < 1000).map(|k| 10_000 - k).collect();
        parts.extend(mirrored);
        // A decimal of four digits is the nearest number to itself: 0.3 is 0.3.
        parts.into_iter().map(|k| f64::from(k) / 10_000.0).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::thresholds;

    #[test]
    fn they_increase_and_are_decimals() {
        let grid = thresholds();
        assert_eq!((grid.len(), grid[0], grid[450]), (451, 0.0, 1.0));
        assert!(grid.windows(2).all(|pair| pair[0] < pair[1]));
        for text in ["0.5", "0.3", "0.0001", "0.9999", "0.095"] {
            assert!(grid.contains(&text.parse().unwrap()), "{text}");
        }
    }
}
