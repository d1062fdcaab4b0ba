//! Axes: from values to places, and round numbers for the ticks.

/// How values are placed along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// In proportion to their logarithm.
    Log,
}

/// One axis of a panel.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Its name.
    pub label: String,
    low: f64,
    high: f64,
    scale: Scale,
}

impl Axis {
    /// From `low` to `high`; a range that is empty or not finite becomes one of length 1. So does one
    /// below `NARROWEST`, whose steps no number can tell apart.
    pub fn linear(label: &str, low: f64, high: f64) -> Self {
        let (low, high) = if (high - low).is_finite() && high - low >= NARROWEST {
            (low, high)
        } else if low.is_finite() {
            (low - 0.5, low + 0.5)
        } else {
            (0.0, 1.0)
        };
        Self { label: label.into(), low, high, scale: Scale::Linear }
    }

    /// From `low` to `high`, with ticks at powers of ten; at least one factor of ten.
    pub fn log(label: &str, low: f64, high: f64) -> Self {
        let low = if low > 0.0 && low.is_finite() { low } else { 1e-3 };
        let high = if high > low && high.is_finite() { high } else { 10.0 * low };
        let (low, high) = (low.log10(), high.log10());
        Self { label: label.into(), low, high: high.max(low + 1.0), scale: Scale::Log }
    }

    /// Its ends (their logarithms to base ten on a logarithmic axis) and its scale.
    pub fn range(&self) -> (f64, f64, Scale) {
        (self.low, self.high, self.scale)
    }

    /// 0 at the low end, 1 at the high end.
    pub fn place(&self, value: f64) -> f64 {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Log if value > 0.0 => value.log10(),
            Scale::Log => f64::NAN,
        };
        (value - self.low) / (self.high - self.low)
    }

    /// About five round numbers, with their places.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let span = self.high - self.low;
        let step = match self.scale {
            Scale::Linear => round_step(span / 5.0),
            Scale::Log => (span / 6.0).ceil().max(1.0),
        };
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        // -0 reads oddly.
        let fixed = |value: f64| format!("{:.decimals$}", value + 0.0);
        let values: Vec<f64> = (first..=last).map(|k| k as f64 * step).collect();
        let long = values.iter().any(|&value| text_width(&fixed(value)) > ROOM);
        let text = |value: f64| match self.scale {
            Scale::Linear if long => short(value, step),
            Scale::Linear => fixed(value),
            Scale::Log => power_of_ten(value as i32),
        };
        values.iter().map(|&value| ((value - self.low) / span, text(value))).collect()
    }
}

/// A step is a fifth of it, and still far above the numbers that lose digits.
const NARROWEST: f64 = 1e-300;

/// Room for a number between the area and the name of the vertical axis, in pixels.
pub(super) const ROOM: f64 = 41.0;

/// About the width of a number in Helvetica or Arial of 13 pixels: no fonts are measured.
pub(super) fn text_width(text: &str) -> f64 {
    let width = |c| match c {
        '.' | ',' => 3.7,
        '-' => 4.4,
        _ => 7.3,
    };
    text.chars().map(width).sum()
}

/// `2.5e-4`, with the digits that the steps between ticks need.
fn short(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (value.abs().log10().floor() - step.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => {
            format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// The next of 1, 2, 5, 10, ... times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let ratio = step / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|r| ratio <= r * (1.0 + 1e-9)).unwrap_or(10.0);
    round * power
}

fn power_of_ten(exponent: i32) -> String {
    match exponent {
        -3..=4 => format!("{}", 10f64.powi(exponent)),
        _ => format!("1e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let unit = Axis::linear("", 0.0, 1.0);
        assert_eq!(texts(&unit), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&Axis::linear("", -3.2, 4.1)), ["-2", "0", "2", "4"]);
        assert_eq!(texts(&Axis::log("", 2e-5, 0.4)), ["1e-4", "0.001", "0.01", "0.1"]);
        assert!(unit.ticks().iter().all(|(place, _)| (0.0..=1.0).contains(place)));
    }

    #[test]
    fn no_number_reaches_the_name_of_its_axis() {
        for power in -9..9 {
            for (low, high) in [(0.0, 1.0), (-1.0, 1.0), (0.25, 0.75), (3.0, 4.0)] {
                let scale = 10f64.powi(power);
                for text in texts(&Axis::linear("", low * scale, high * scale)) {
                    // A sign more than the room is still clear of the name.
                    assert!(super::text_width(&text) <= super::ROOM + 4.5, "{text}");
                }
            }
        }
        assert_eq!(texts(&Axis::linear("", 0.0, 5e-5))[1], "1e-5");
        assert_eq!(texts(&Axis::linear("", 0.0, 1e6))[1], "2e5");
        assert_eq!(texts(&Axis::linear("", 0.0, 0.03))[1], "0.01");
    }

    #[test]
    fn an_empty_range_still_has_an_axis() {
        let narrow = Axis::linear("", 0.0, 1e-323);
        assert_eq!(narrow.range().0, -0.5);
        for axis in [Axis::linear("", 2.0, 2.0), Axis::linear("", f64::NAN, 1.0), narrow] {
            assert!((2..12).contains(&axis.ticks().len()));
            assert!(axis.place(2.0).is_finite());
            assert!(axis.ticks().len() > 1);
        }
    }
}
