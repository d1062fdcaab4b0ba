//! Horizontal bars with names, such as the weights of features.

use std::fmt::Write as _;

use super::{Axis, BLUE, ORANGE, vertical_lines};
use crate::text::escaped;

const NAMES: f64 = 190.0;
const WIDTH: f64 = 488.0;
const LINE: f64 = 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;

/// One bar for each name, positive ones blue and negative ones orange, from the first down.
pub fn bars(title: &str, axis_name: &str, label: &str, entries: &[(String, f64)]) -> String {
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let low = entries.iter().map(|e| finite(e.1)).fold(0.0, f64::min);
    let high = entries.iter().map(|e| finite(e.1)).fold(0.0, f64::max);
    let axis = Axis::linear(axis_name, 1.05 * low, 1.05 * high);
    let area = WIDTH - NAMES - 24.0;
    let height = LINE * entries.len() as f64;
    let total = TOP + height + BOTTOM;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" \
         height=\"{total}\" viewBox=\"0 0 {WIDTH} {total}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <rect width=\"{WIDTH}\" height=\"{total}\" fill=\"#fff\"/>\n\
         <text x=\"{}\" y=\"28\" text-anchor=\"middle\" font-size=\"15\" font-weight=\"bold\">{}</text>\n\
         <g transform=\"translate({NAMES},{TOP})\">\n",
        escaped(label),
        WIDTH / 2.0,
        escaped(title),
    );
    vertical_lines(&axis, (area, height), &mut out);
    let zero = axis.place(0.0) * area;
    for (row, (name, value)) in entries.iter().enumerate() {
        let value = finite(*value);
        let (top, end) = (row as f64 * LINE + 3.0, axis.place(value) * area);
        let colour = if value < 0.0 { ORANGE } else { BLUE };
        let _ = writeln!(
            out,
            "<text x=\"-8\" y=\"{:.2}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{colour}\"/>",
            top + 11.5,
            escaped(name),
            zero.min(end),
            (end - zero).abs(),
            LINE - 6.0,
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"M{zero:.2} 0V{height}\" stroke=\"#8a8a8a\"/>\
         <text x=\"{:.2}\" y=\"{:.2}\" text-anchor=\"middle\">{}</text>\n</g>\n</svg>",
        area / 2.0,
        height + 42.0,
        escaped(&axis.label),
    );
    out
}
