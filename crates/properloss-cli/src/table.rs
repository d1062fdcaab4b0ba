//! Columns that line up.

/// A table for people: the first column to the left, the others to the right.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these names above the columns.
    pub fn new(names: &[&str]) -> Self {
        Self { rows: vec![names.iter().map(|name| (*name).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// As lines, each after `indent`.
    pub fn text(&self, indent: &str) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let lengths = self.rows.iter().filter_map(|row| row.get(column));
            lengths.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, cell) in row.iter().enumerate() {
                let gap = " ".repeat(widths[column] - cell.chars().count());
                if column == 0 {
                    line.push_str(&format!("{cell}{gap}"));
                } else {
                    line.push_str(&format!("  {gap}{cell}"));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Four significant digits: `0.0123`, `12.35`, `1.235e6`.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return if x.is_nan() { "-".into() } else { format!("{x}") };
    }
    let size = x.abs().log10().floor();
    if (-4.0..6.0).contains(&size) {
        let decimals = (3.0 - size).clamp(0.0, 8.0) as usize;
        let text = format!("{x:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    } else {
        format!("{x:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn four_digits() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-0.012_345, "-0.01235"),
            (12.345_6, "12.35"),
            (100_000.0, "100000"),
            (1_234_567.0, "1.235e6"),
            (1e-7, "1.000e-7"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(short(x), text);
        }
    }
}
