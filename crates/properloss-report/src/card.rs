//! The card of a fitted model for a notebook: its link, its held-out gain, its guarantee.

use properloss::link::{InverseLink, Sigmoid};

use crate::learned::guarantee;
use crate::svg::score_range;
use crate::text::{escaped, name};

/// A small piece of HTML without script, in the colours of the page around it. `facts` are lines
/// such as `("held-out gain", "0.012 nats a row")`.
pub fn card(link: &dyn InverseLink, facts: &[(String, String)]) -> String {
    let mut rows = String::new();
    for (term, value) in facts {
        rows.push_str(&format!(
            "<div style=\"margin:.1em 0\"><b>{}</b>: {}</div>",
            name(term),
            name(value)
        ));
    }
    let (picture, words) = (picture(link), escaped(&guarantee(link)));
    format!(
        "<div class=\"properloss-card\" style=\"display:flex;flex-wrap:wrap;gap:1em;align-items:center;\
         border:1px solid #8888;border-radius:4px;padding:.6em;margin-top:.5em;max-width:44em;\
         font-family:sans-serif;font-size:13px\">{picture}<div style=\"flex:1 1 16em\">{rows}\
         <div style=\"margin:.1em 0\"><b>guarantee</b>: {words}</div></div></div>",
    )
}

/// The link, and the sigmoid dashed, 160 pixels wide.
fn picture(link: &dyn InverseLink) -> String {
    let (low, high) = score_range(link);
    let path = |u: &dyn Fn(f64) -> f64| -> String {
        (0..=80)
            .map(|k| {
                let z = low + (high - low) * f64::from(k) / 80.0;
                let point = format!("{:.1} {:.1}", 2.0 * f64::from(k), 100.0 * (1.0 - u(z)));
                format!("{}{point}", if k == 0 { "M" } else { "L" })
            })
            .collect()
    };
    format!(
        "<svg role=\"img\" aria-label=\"The link from score to probability, beside the sigmoid\" \
         width=\"160\" height=\"100\" viewBox=\"-2 -2 164 104\"><rect width=\"160\" height=\"100\" \
         fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/><path d=\"{}\" fill=\"none\" \
         stroke=\"currentColor\" stroke-opacity=\"0.5\" stroke-dasharray=\"4 3\"/><path d=\"{}\" \
         fill=\"none\" stroke=\"#2b7bba\" stroke-width=\"2\"/></svg>",
        path(&|z| Sigmoid.u(z)),
        path(&|z| link.u(z)),
    )
}
