//! Words and numbers of others, made safe to stand in HTML, SVG and JSON.

/// The most characters of a name that a table shows; a figure shows [`FIGURE_NAME`].
const TABLE_NAME: usize = 200;
/// The most characters of a name in a figure.
pub(crate) const FIGURE_NAME: usize = 24;

/// Text for HTML and XML, between tags or in quotes. Characters that XML does not know become
/// U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// At most `limit` characters; what is left out is counted.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let start: String = text.chars().take(limit).collect();
    format!("{start}… ({length} characters)")
}

/// A name given by a user, for HTML: cut, escaped and isolated from the direction of the text
/// around it.
pub(crate) fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(&shortened(text, TABLE_NAME)))
}

/// The same for a figure: not escaped yet, isolated by U+2068 and U+2069.
pub(crate) fn figure_name(text: &str) -> String {
    let cut = match text.char_indices().nth(FIGURE_NAME) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    format!("\u{2068}{cut}\u{2069}")
}

/// A number of five significant digits; the page shows it, and holds no more of it.
pub fn shown(value: f64) -> String {
    if value.is_nan() {
        return "–".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞".into() } else { "-∞".into() };
    }
    plain(rounded(value))
}

/// `value` to five significant digits; whole numbers stay whole.
pub fn rounded(value: f64) -> f64 {
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < 1e15) {
        return value + 0.0;
    }
    format!("{value:.4e}").parse::<f64>().unwrap_or(value) + 0.0
}

/// The shortest text of a number, without an exponent where that is readable.
fn plain(value: f64) -> String {
    if value == 0.0 || (1e-4..1e15).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A share as a percentage of three digits.
pub(crate) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let decimals = if value.abs() >= 10.0 || value == 0.0 { 1 } else { 2 };
    format!("{value:.decimals$} %")
}

/// JSON that may stand inside a `<script>` element.
pub(crate) fn json_for_html(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        let hostile = "</script><b onload='x'>\"&\u{0}\u{1b}";
        let text = escaped(hostile);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{0}', '\u{1b}']));
        assert!(text.starts_with("&lt;/script&gt;&lt;b onload=&#39;x&#39;&gt;&quot;&amp;"));
        assert_eq!(
            json_for_html(&serde_json::json!("</script>&")),
            "\"\\u003c/script\\u003e\\u0026\""
        );
    }

    #[test]
    fn long_names_are_cut_at_characters() {
        assert_eq!(shortened("äöü", 2), "äö… (3 characters)");
        assert!(name(&"é".repeat(10_000)).chars().count() < 260);
        assert_eq!(figure_name("x"), "\u{2068}x\u{2069}");
    }

    #[test]
    fn numbers_have_five_digits() {
        assert_eq!(shown(0.123_456_7), "0.12346");
        assert_eq!(shown(1_234_567.0), "1234567");
        assert_eq!(shown(-0.0), "0");
        assert_eq!(shown(1.5e-7), "1.5e-7");
        assert_eq!(shown(f64::NAN), "–");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(0.00123), "0.12 %");
    }
}
