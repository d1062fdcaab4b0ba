//! The page: what it holds, that nothing of a name is markup, that it stays small.

use properloss::calibration_certificate::{CalibrationBound, HeldOut, calibration_bound};
use properloss_data::random::Random;
use properloss_report::text::shown;
use properloss_report::{Measured, Subject, page};

fn plain_bound(p: &[f64], labels: &[u8]) -> CalibrationBound {
    calibration_bound(&HeldOut::new(p, labels, None, None).unwrap(), 0.95).unwrap()
}

/// A model of two features with a learned link; names and classes are the caller's.
fn model(names: [&str; 2], classes: [&str; 2], extra: &str) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let (a, b) = (quoted(names[0]), quoted(names[1]));
    format!(
        r#"{{"format": "properloss-model", "version": 1, "weights": [1.5, -0.25], "intercept": 0.5,
        "link": {{"kind": "relative", "base": {{"kind": "builtin", "name": "sigmoid"}},
                  "p": [0.0, 0.5, 1.0], "v": [0.01, 0.4, 0.98]}},
        "preprocessing": {{"encoder": {{"columns": [{{"name": {a}, "kind": "numeric"}},
            {{"name": {b}, "kind": "numeric"}}]}}, "scaling": {{"kind": "none"}}}},
        "feature_names": [{a}, {b}], "classes": [{}, {}],
        "fitted": {{"method": "proper", "options": {{"cv": 5}}, "iterations": 3, "termination": "converged",
            "slope_ratio": 2.5,
            "path": [{{"c": 0.1, "log_loss": 0.5, "weight": 0.25}}, {{"c": 1.0, "log_loss": 0.4, "weight": 0.75}}]{extra}}},
        "history": {{"iteration": [1, 2, 3], "loss": [0.7, 0.6, 0.5], "gradient_norm": [0.3, 0.2, 0.1]}}}}"#,
        quoted(classes[0]),
        quoted(classes[1]),
    )
}

fn rows(count: usize) -> (Vec<f64>, Vec<u8>) {
    let mut random = Random::new(1);
    let scores: Vec<f64> = (0..count).map(|_| 2.0 * random.gaussian()).collect();
    let labels =
        scores.iter().map(|z| u8::from(random.uniform() < 1.0 / (1.0 + (-z).exp()))).collect();
    (scores, labels)
}

fn made(json: &str, count: usize) -> String {
    let mut subject = Subject::from_json("model.json", json.as_bytes()).unwrap();
    subject.deviations = Some(vec![2.0, 1.0]);
    let (scores, labels) = rows(count);
    let measured = Measured { subject: &subject, scores: &scores, labels: &labels, weights: None };
    page(&measured, None, "test.csv").unwrap()
}

#[test]
fn every_section_is_there() {
    let html = made(&model(["age", "income"], ["no", "yes"], ""), 2000);
    for part in [
        "<h2 id=\"title-verdict\">",
        "<h2 id=\"title-certificate\">",
        "<h2 id=\"title-threshold\">",
        "<h2 id=\"title-trust\">",
        "<h2 id=\"title-value\">",
        "<h2 id=\"title-learned\">",
        "<h2 id=\"title-fit\">",
        "<h2 id=\"title-provenance\">",
        "figure-reliability-a",
        "figure-scores-a",
        "figure-murphy",
        "figure-roc",
        "figure-decision",
        "figure-link-a",
        "figure-losses-a",
        "figure-weights-a",
        "figure-fit-a-0-weight",
        "figure-fit-a-0-log-loss",
        "figure-fit-a-1-loss",
        "slope ratio",
        "the log-loss is at most that of the sigmoid plus",
        "Calibration certificate",
        "default-src 'none'",
        "option cv",
        "<bdi>yes</bdi>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // Per deviation: 1.5 times 2.
    assert!(html.contains("<td><bdi>age</bdi></td><td>1.5</td><td>3</td>"));
    let (figures, links) = (html.matches("<figure ").count(), html.matches("Save as SVG").count());
    assert_eq!((figures, html.matches("<figcaption>").count()), (links, links));
    // It names nothing outside itself but the namespace of SVG.
    assert_eq!(
        html.matches("http").count(),
        html.matches("http-equiv").count() + html.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(!html.contains(" style=\"") && !html.contains("onclick"));
}

/// Strengths were tried for two scalings of the columns: one curve each, from left to right, and the point
/// without features, which a logarithmic axis has not, in the table only.
#[test]
fn what_was_tried_is_drawn_for_each_scaling() {
    let learned = r#", "learned": {"c": 0.5, "certificate": {"nonsense": 1}, "held_out_log_loss": [0.5, 0.4, 0.3],
        "path": [{"c": 0.0, "scaling": 1.0, "log_loss": 9.0, "weight": 0.0},
                 {"c": 1.0, "scaling": 1.0, "log_loss": 0.4, "weight": 0.5},
                 {"c": 100.0, "scaling": 1.0, "log_loss": 0.6, "weight": 0.25},
                 {"c": 0.01, "scaling": 0.5, "log_loss": 0.5, "weight": 0.25},
                 {"c": 10.0, "scaling": 0.5, "log_loss": 0.7, "weight": 0.0}]}"#;
    let html = made(&model(["age", "income"], ["no", "yes"], learned), 500);
    assert!(html.contains("Regularisation: held-out log-loss") && html.contains("C, averaged"));
    assert!(html.contains("held-out log-loss, result") && !html.contains("nonsense"));
    let figure = html.split("<figure ").find(|f| f.contains("Regularisation: held-out")).unwrap();
    let svg = &figure[..figure.find("</svg>").unwrap()];
    assert!(svg.contains(">standardised<") && svg.contains(">half-way<"), "{svg}");
    let moves = svg.lines().filter(|line| line.contains("fill=\"none\"") && line.contains("d=\"M"));
    let across = |line: &str| -> Vec<f64> {
        let path = line.split("d=\"M").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        path.split('L').filter_map(|at| at.split(' ').next()?.parse().ok()).collect()
    };
    let curves: Vec<Vec<f64>> = moves.map(across).filter(|xs| xs.len() == 2).collect();
    assert_eq!(curves.len(), 2);
    assert!(curves.iter().all(|xs| xs[0] < xs[1]), "{curves:?}");
}

#[test]
fn numbers_are_those_of_the_rows() {
    let html = made(&model(["age", "income"], ["no", "yes"], ""), 2000);
    let (scores, labels) = rows(2000);
    // v(sigmoid(z)) > 1/2 where sigmoid(z) > 0.5 + 0.1 / 1.16.
    let cut = 0.5 + 0.1 / 1.16;
    let count = |called: bool, class: u8| {
        let one =
            |(z, y): &(&f64, &u8)| (1.0 / (1.0 + (-*z).exp()) > cut) == called && **y == class;
        scores.iter().zip(&labels).filter(one).count()
    };
    for (cell, called, class) in
        [("tp", true, 1), ("fn", false, 1), ("fp", true, 0), ("tn", false, 0)]
    {
        let text = format!("data-cell=\"{cell}\">{}<", count(called, class));
        assert!(html.contains(&text), "{text}");
    }
}

#[test]
fn hostile_names_are_text() {
    let long = "x".repeat(10_000);
    for hostile in [
        "</script><script>alert(1)</script>",
        "\"onload='alert(1)'",
        "\u{202e}עברית\u{0}\u{1b}[31m",
        long.as_str(),
        "<!--",
        "]]>",
    ] {
        let other = format!("{hostile}2");
        let extra = format!(
            ", {}: {{{}: [1, 2], \"weight\": [0.5, 0.5]}}",
            serde_json::to_string(hostile).unwrap(),
            serde_json::to_string(hostile).unwrap()
        );
        let json = model([hostile, &other], [hostile, &other], &extra);
        let subject = Subject::from_json(hostile, json.as_bytes()).unwrap();
        let (scores, labels) = rows(300);
        let measured =
            Measured { subject: &subject, scores: &scores, labels: &labels, weights: None };
        let html = page(&measured, Some(&measured), hostile).unwrap();
        assert_eq!(html.matches("<script").count(), 2, "{hostile}");
        assert_eq!(html.matches("</script>").count(), 2, "{hostile}");
        assert!(!html.contains("<!--") && !html.contains('\u{0}'));
        // Quotes are escaped in attributes and text; in the block of data they are JSON's.
        let (before, after) = html.split_once("id=\"data\">").unwrap();
        assert!(
            !before.contains("onload='")
                && !after.split_once("</script>").unwrap().1.contains("onload='")
        );
        assert!(html.len() < 1_000_000, "{}", html.len());
    }
    let html = made(&model(["<b>age</b>", "x"], ["no", "yes"], ""), 300);
    assert!(html.contains("<bdi>&lt;b&gt;age&lt;/b&gt;</bdi>") && !html.contains("<b>age"));
}

#[test]
fn two_hundred_thousand_rows_are_no_larger() {
    let json = model(["age", "income"], ["no", "yes"], "");
    let subject = Subject::from_json("model.json", json.as_bytes()).unwrap();
    let (scores, labels) = rows(200_000);
    let measured = Measured { subject: &subject, scores: &scores, labels: &labels, weights: None };
    let html = page(&measured, Some(&measured), "test.csv").unwrap();
    assert!(html.len() < 1_000_000, "{}", html.len());
    // The same model twice: no difference, and nothing is claimed.
    assert!(html.contains("The two cannot be told apart"));
}

#[test]
fn probabilities_of_another_program_have_no_model() {
    let subject = Subject::probabilities("forest", ["no".into(), "yes".into()]);
    let (scores, labels) = rows(500);
    let p: Vec<f64> = scores.iter().map(|z| 1.0 / (1.0 + (-z).exp())).collect();
    let weights = vec![2.0; 500];
    let measured =
        Measured { subject: &subject, scores: &p, labels: &labels, weights: Some(&weights) };
    let html = page(&measured, None, "rows").unwrap();
    assert!(html.contains("figure-reliability-a") && !html.contains("figure-link-a"));
    // Equal weights are as good as none, but the next row has no weight.
    let plain = Measured { weights: None, ..measured };
    let bound = plain_bound(&p, &labels);
    let words = format!("are within <strong>{}</strong> of the true ones", shown(bound.rms));
    assert!(html.contains(&words) && !html.contains("for the next one"));
    let html = page(&plain, None, "rows").unwrap();
    assert!(html.contains(&words));
    assert!(
        html.contains(&format!("within {} for the next one", shown(bound.population_rms.unwrap())))
    );
    assert!(html.contains("do not contradict the latter"));
    assert!(!html.contains("Of the fit, on its own rows."));
}

#[test]
fn the_verdict_follows_the_numbers() {
    let subject = Subject::probabilities("p", ["0".into(), "1".into()]);
    let (scores, labels) = rows(5000);
    let says = |f: &dyn Fn(f64) -> f64| {
        let p: Vec<f64> = scores.iter().map(|z| f(1.0 / (1.0 + (-z).exp()))).collect();
        page(&Measured { subject: &subject, scores: &p, labels: &labels, weights: None }, None, "x")
            .unwrap()
    };
    // Labels are drawn with these probabilities ...
    assert!(says(&|p| p).contains("can be trusted as far as the data can tell"));
    // ... and not with their cubes.
    assert!(says(&|p| p.powi(3)).contains("should not be trusted as they are"));
}
