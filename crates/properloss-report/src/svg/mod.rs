//! A small plotter: panels side by side with axes, grid, curves and a legend, as SVG text.
//!
//! The output depends on the data alone: no fonts are measured, numbers have two decimals.

mod axis;
mod bars;
mod figures;

use std::fmt::Write as _;

use crate::text::escaped;

pub use axis::{Axis, Scale};
pub use bars::bars;
pub(crate) use figures::score_range;
pub use figures::{calibration, calibration_panel, certificate, link_and_losses};

/// Width and height of the plotting area of a panel, in pixels.
pub(crate) const AREA: (f64, f64) = (400.0, 300.0);
/// Room to the left, above and below the area; the right margin is [`RIGHT`].
pub(crate) const LEFT: f64 = 64.0;
pub(crate) const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
const RIGHT: f64 = 24.0;
/// Room for the legend: its line sample and the gaps.
const LEGEND_LINE: f64 = 18.0;

/// Colours that stay apart for most kinds of colour blindness and in print.
pub const BLUE: &str = "#0063b1";
/// See [`BLUE`].
pub const ORANGE: &str = "#d1570a";
/// For what is shown as a reference.
pub const GREY: &str = "#7a7a7a";

/// A curve.
#[derive(Debug, Clone)]
pub struct Curve {
    /// What the legend says; none if empty.
    pub label: String,
    /// Its points; where one is not finite, the curve has a gap.
    pub points: Vec<(f64, f64)>,
    /// Its colour.
    pub colour: &'static str,
    /// A reference: dashed and thin.
    pub dashed: bool,
    /// A dot at every point instead of a line.
    pub dots: bool,
    /// The area that the points go round, lightly filled, instead of a line.
    pub area: bool,
}

impl Curve {
    /// A line.
    pub fn line(label: &str, colour: &'static str, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), points, colour, dashed: false, dots: false, area: false }
    }

    /// The same, as a reference.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// The same, as the area that the points go round.
    #[must_use]
    pub fn area(mut self) -> Self {
        self.area = true;
        self
    }

    /// The same, as dots.
    #[must_use]
    pub fn dots(mut self) -> Self {
        self.dots = true;
        self
    }
}

/// Where the legend stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corner {
    /// Above on the left.
    TopLeft,
    /// Above on the right.
    TopRight,
    /// Above in the middle.
    Top,
    /// Below on the left.
    BottomLeft,
    /// Below on the right.
    BottomRight,
}

/// One plot.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Above the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, later ones on top.
    pub curves: Vec<Curve>,
    /// Where the legend stands, unless another corner is freer.
    pub legend: Corner,
}

/// The SVG document with these panels from left to right.
pub fn document(panels: &[Panel]) -> String {
    named_document(panels, "area", "")
}

/// The same; `clip` is the name of its clipping path, which no other document of a page may have,
/// and `label` what it shows in words.
pub fn named_document(panels: &[Panel], clip: &str, label: &str) -> String {
    let panel_width = LEFT + AREA.0 + RIGHT;
    let (width, height) = (panel_width * panels.len() as f64, TOP + AREA.1 + BOTTOM);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"13\" fill=\"#222\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <defs><clipPath id=\"{clip}\"><rect width=\"{}\" height=\"{}\"/></clipPath></defs>\n",
        AREA.0, AREA.1,
    );
    if !label.is_empty() {
        let start = "<svg ".len();
        out.insert_str(start, &format!("role=\"img\" aria-label=\"{}\" ", escaped(label)));
    }
    for (number, panel) in panels.iter().enumerate() {
        let left = LEFT + panel_width * number as f64;
        let _ = writeln!(out, "<g transform=\"translate({left},{TOP})\">");
        panel.draw(clip, &mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// The grid of a horizontal axis, with its numbers below.
fn vertical_lines(axis: &Axis, (width, height): (f64, f64), out: &mut String) {
    for (place, text) in axis.ticks() {
        let x = place * width;
        let _ = writeln!(
            out,
            "<path d=\"M{x:.2} 0V{height}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{x:.2}\" y=\"{:.2}\" text-anchor=\"middle\">{text}</text>",
            height + 18.0,
        );
    }
}

impl Panel {
    fn draw(&self, clip: &str, out: &mut String) {
        let (width, height) = AREA;
        vertical_lines(&self.x, (width, height), out);
        for (place, text) in self.y.ticks() {
            let y = (1.0 - place) * height;
            let _ = writeln!(
                out,
                "<path d=\"M0 {y:.2}H{width}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"-8\" y=\"{:.2}\" text-anchor=\"end\">{text}</text>",
                y + 4.5,
            );
        }
        let _ = writeln!(
            out,
            "<rect width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#8a8a8a\"/>\n\
             <text x=\"{:.2}\" y=\"-16\" text-anchor=\"middle\" font-size=\"15\" \
             font-weight=\"bold\">{}</text>\n\
             <text x=\"{:.2}\" y=\"{:.2}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(-52,{:.2}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            width / 2.0,
            escaped(&self.title),
            width / 2.0,
            height + 42.0,
            escaped(&self.x.label),
            height / 2.0,
            escaped(&self.y.label),
        );
        let _ = writeln!(out, "<g clip-path=\"url(#{clip})\">");
        for curve in &self.curves {
            self.draw_curve(curve, out);
        }
        out.push_str("</g>\n");
        self.draw_legend(out);
    }

    /// Where a point stands in the picture, if it does. Far outside is drawn just outside: the area clips
    /// it, and numbers stay short.
    fn place(&self, &(x, y): &(f64, f64)) -> Option<(f64, f64)> {
        let (px, py) = (self.x.place(x) * AREA.0, (1.0 - self.y.place(y)) * AREA.1);
        let near = |v: f64, size: f64| v.clamp(-4.0 * size, 5.0 * size);
        (px.is_finite() && py.is_finite()).then(|| (near(px, AREA.0), near(py, AREA.1)))
    }

    fn draw_curve(&self, curve: &Curve, out: &mut String) {
        if curve.dots {
            for (x, y) in curve.points.iter().filter_map(|point| self.place(point)) {
                let colour = curve.colour;
                let _ = writeln!(
                    out,
                    "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3\" fill=\"{colour}\"/>"
                );
            }
            return;
        }
        let mut path = String::new();
        let mut pen_down = false;
        for point in &curve.points {
            match self.place(point) {
                Some((x, y)) => {
                    let _ = write!(path, "{}{x:.2} {y:.2}", if pen_down { "L" } else { "M" });
                    pen_down = true;
                }
                None => pen_down = false,
            }
        }
        if curve.area {
            let colour = curve.colour;
            let _ = writeln!(out, "<path d=\"{path}Z\" fill=\"{colour}\" fill-opacity=\"0.2\"/>");
            return;
        }
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" {}/>", stroke(curve));
    }

    /// Where a legend of this size hides least of the curves; the panel's own corner among equals.
    fn free_corner(&self, width: f64, height: f64) -> (f64, f64) {
        let at = |corner| match corner {
            Corner::TopLeft => (10.0, 10.0),
            Corner::TopRight => (AREA.0 - width - 10.0, 10.0),
            Corner::Top => ((AREA.0 - width) / 2.0, 10.0),
            Corner::BottomLeft => (10.0, AREA.1 - height - 10.0),
            Corner::BottomRight => (AREA.0 - width - 10.0, AREA.1 - height - 10.0),
        };
        let inked = self.inked();
        let hidden = |(x, y): (f64, f64)| {
            let inside = |&&(px, py): &&(f64, f64)| {
                (x - 3.0..=x + width + 3.0).contains(&px)
                    && (y - 3.0..=y + height + 3.0).contains(&py)
            };
            inked.iter().filter(inside).count()
        };
        let others = [
            Corner::TopLeft,
            Corner::TopRight,
            Corner::BottomLeft,
            Corner::BottomRight,
            Corner::Top,
        ];
        let (mut best, mut least) = (at(self.legend), hidden(at(self.legend)));
        for place in others.map(at) {
            let covered = hidden(place);
            if covered < least {
                (best, least) = (place, covered);
            }
        }
        best
    }

    /// Points along the curves and the outlines of areas, some 5 pixels apart.
    fn inked(&self) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        for curve in &self.curves {
            let mut last: Option<(f64, f64)> = None;
            for point in &curve.points {
                let now = self.place(point);
                if let Some((x, y)) = now {
                    let (from_x, from_y) = last.filter(|_| !curve.dots).unwrap_or((x, y));
                    let steps = ((x - from_x).hypot(y - from_y) / 5.0).ceil().max(1.0);
                    for step in 1..=steps as usize {
                        let share = step as f64 / steps;
                        points.push((from_x + share * (x - from_x), from_y + share * (y - from_y)));
                    }
                }
                last = now;
            }
        }
        points
    }

    fn draw_legend(&self, out: &mut String) {
        let named: Vec<&Curve> = self.curves.iter().filter(|c| !c.label.is_empty()).collect();
        if named.is_empty() {
            return;
        }
        let longest = named.iter().map(|c| c.label.chars().count()).max().unwrap_or(0);
        // 7.5 pixels a character: a little more than the mean of the wider usual fonts at 13 pixels.
        let width = 46.0 + 7.5 * longest as f64;
        let height = LEGEND_LINE * named.len() as f64 + 8.0;
        let (x, y) = self.free_corner(width, height);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"#fff\" fill-opacity=\"0.85\" stroke=\"#d0d0d0\"/>",
        );
        for (row, curve) in named.iter().enumerate() {
            let middle = y + 4.0 + LEGEND_LINE * (row as f64 + 0.5);
            let (from, to) = (x + 8.0, x + 32.0);
            if curve.dots {
                let _ = write!(
                    out,
                    "<circle cx=\"{:.2}\" cy=\"{middle:.2}\" r=\"3\" fill=\"{}\"/>",
                    (from + to) / 2.0,
                    curve.colour,
                );
            } else if curve.area {
                let _ = write!(
                    out,
                    "<rect x=\"{from:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"10\" fill=\"{}\" \
                     fill-opacity=\"0.2\"/>",
                    middle - 5.0,
                    to - from,
                    curve.colour,
                );
            } else {
                let _ =
                    write!(out, "<path d=\"M{from:.2} {middle:.2}H{to:.2}\" {}/>", stroke(curve));
            }
            let _ = writeln!(
                out,
                "<text x=\"{:.2}\" y=\"{:.2}\">{}</text>",
                to + 6.0,
                middle + 4.5,
                escaped(&curve.label),
            );
        }
    }
}

fn stroke(curve: &Curve) -> String {
    let (width, dash) =
        if curve.dashed { ("1.5", " stroke-dasharray=\"6 4\"") } else { ("2.25", "") };
    format!("stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}", curve.colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_balanced_and_holds_its_words() {
        let panel = Panel {
            title: "a < b".into(),
            x: Axis::linear("x", 0.0, 1.0),
            y: Axis::linear("y", 0.0, 2.0),
            curves: vec![Curve::line(
                "c & d",
                BLUE,
                vec![(0.0, 0.0), (0.5, f64::NAN), (1.0, 2.0), (1.0, 1e300)],
            )],
            legend: Corner::TopLeft,
        };
        let text = document(&[panel.clone(), panel]);
        assert_eq!(text.matches("<g").count(), text.matches("</g>").count());
        assert!(text.contains("a &lt; b") && text.contains("c &amp; d"));
        // The gap starts a new stroke, and what is far outside is cut.
        assert!(text.contains("M0.00 300.00M400.00 0.00L400.00 -1200.00"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn a_legend_gives_way_to_the_curves() {
        let panel = |points: Vec<(f64, f64)>, legend| Panel {
            title: String::new(),
            x: Axis::linear("x", 0.0, 1.0),
            y: Axis::linear("y", 0.0, 1.0),
            curves: vec![Curve::line("name", BLUE, points)],
            legend,
        };
        let rising = || vec![(0.0, 0.0), (1.0, 1.0)];
        let (left, right) = ((10.0, 10.0), (AREA.0 - 110.0, AREA.1 - 50.0));
        assert_eq!(panel(rising(), Corner::TopLeft).free_corner(100.0, 40.0), left);
        assert_eq!(panel(rising(), Corner::BottomRight).free_corner(100.0, 40.0), right);
        // Between two points far apart there is a line too.
        assert_eq!(panel(rising(), Corner::TopRight).free_corner(100.0, 40.0), left);
        let box_in = vec![(0.0, 0.95), (0.9, 0.95), (0.9, 0.3)];
        let free = panel(box_in, Corner::TopLeft).free_corner(100.0, 40.0);
        assert_eq!(free, (10.0, AREA.1 - 50.0));
    }
}
