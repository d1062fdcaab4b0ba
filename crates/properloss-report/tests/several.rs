//! The page of several classes: its numbers, that names are text, that it stays small.

use properloss_data::random::Random;
use properloss_report::{ClassForecasts, ClassRows, page_of_classes};
use serde_json::{Map, Value};

/// Rows whose labels are drawn from their probabilities.
fn rows(count: usize, classes: usize) -> (Vec<f64>, Vec<u32>) {
    let mut random = Random::new(3);
    let (mut p, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let scores: Vec<f64> = (0..classes).map(|_| (1.5 * random.gaussian()).exp()).collect();
        let total: f64 = scores.iter().sum();
        let row: Vec<f64> = scores.iter().map(|s| s / total).collect();
        let (mut left, mut label) = (random.uniform(), classes - 1);
        for (k, p) in row.iter().enumerate() {
            left -= p;
            if left < 0.0 {
                label = k;
                break;
            }
        }
        p.extend(row);
        labels.push(label as u32);
    }
    (p, labels)
}

fn forecast<'a>(name: &'a str, probabilities: &'a [f64]) -> ClassForecasts<'a> {
    let details: Map<String, Value> = serde_json::from_str(
        r#"{"tau": 2.5, "path": [{"c": 0.1, "log_loss": 0.5}, {"c": 1.0, "log_loss": 0.4}]}"#,
    )
    .unwrap();
    let provenance = vec![("option cv".to_owned(), "5".to_owned())];
    ClassForecasts { name, probabilities, tau: Some(2.5), details, provenance }
}

fn names(classes: &[&str]) -> Vec<String> {
    classes.iter().map(|&class| class.to_owned()).collect()
}

#[test]
fn every_class_has_its_panel_and_the_counts_are_those_of_the_rows() {
    let (p, labels) = rows(3000, 4);
    let classes = names(&["ant", "bee", "cat", "dog"]);
    let data = ClassRows { data: "test.csv", classes: &classes, labels: &labels, weights: None };
    let html = page_of_classes(&forecast("model", &p), None, &data).unwrap();
    for k in 0..4_usize {
        let number = k + 1;
        for part in [
            format!("id=\"class-{number}\""),
            format!("figure-reliability-a-{number}"),
            format!("figure-murphy-{number}"),
            format!("figure-roc-{number}"),
            format!("id=\"threshold-slider-{number}\""),
            format!("<option value=\"{number}\">{} (", classes[k]),
        ] {
            assert!(html.contains(&part), "{part}");
        }
        // At 1/2, counted here.
        let (mut tp, mut fp) = (0, 0);
        for (row, &label) in p.chunks(4).zip(&labels) {
            if row[k] > 0.5 {
                *if label as usize == k { &mut tp } else { &mut fp } += 1;
            }
        }
        let panel = &html[html.find(&format!("id=\"matrix-a-{number}\"")).unwrap()..];
        assert!(panel.contains(&format!("data-cell=\"tp\">{tp}<")), "tp of {number}");
        assert!(panel.contains(&format!("data-cell=\"fp\">{fp}<")), "fp of {number}");
    }
    // The confusion matrix: the most probable class.
    let mut matrix = [[0; 4]; 4];
    let mut loss = 0.0;
    for (row, &label) in p.chunks(4).zip(&labels) {
        let called = (0..4).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        matrix[label as usize][called] += 1;
        loss -= row[label as usize].ln() / 3000.0;
    }
    for (k, counts) in matrix.iter().enumerate() {
        let cells: String = counts
            .iter()
            .enumerate()
            .map(|(j, n)| format!("<td{}>{n}</td>", if j == k { " class=\"right\"" } else { "" }))
            .collect();
        assert!(html.contains(&cells), "{cells}");
    }
    let shown = properloss_report::text::shown(loss);
    assert!(html.contains(&format!("<dt>log-loss</dt><dd>{shown}</dd>")), "{shown}");
    assert!(html.contains("The probabilities of every class can be trusted"));
    assert!(html.contains("plus 0.91629 nats")); // ln 2.5
    assert!(html.contains("option cv"));
}

#[test]
fn a_class_that_is_off_is_named() {
    let (mut p, labels) = rows(4000, 3);
    // The first class is forecast too high, at the expense of the second.
    for row in p.chunks_mut(3) {
        let moved = 0.5 * row[1];
        row[0] += moved;
        row[1] -= moved;
    }
    let classes = names(&["up", "down", "other"]);
    let data = ClassRows { data: "test.csv", classes: &classes, labels: &labels, weights: None };
    let html = page_of_classes(&forecast("model", &p), None, &data).unwrap();
    assert!(html.contains("2 of 3 are off"), "{}", &html[html.find("<main>").unwrap()..][..900]);
    for (number, class, verdict) in
        [(1, "up", "far off"), (2, "down", "far off"), (3, "other", "calibrated")]
    {
        let option = format!("<option value=\"{number}\">{class} ({verdict})");
        assert!(html.contains(&option), "{option}");
    }
}

#[test]
fn many_classes_stay_below_a_megabyte_and_none_is_lost() {
    let (p, labels) = rows(800, 32);
    let hostile = "</script><b onload='x'>";
    let classes: Vec<String> =
        (0..32).map(|k| format!("{hostile}{k}{}", "x".repeat(10_000))).collect();
    let data = ClassRows { data: "test.csv", classes: &classes, labels: &labels, weights: None };
    let (first, second) = (forecast("a", &p), forecast("b", &p));
    for second in [None, Some(&second)] {
        let html = page_of_classes(&first, second, &data).unwrap();
        assert!(html.len() < 1_000_000, "{}", html.len());
        assert!(!html.contains("<b onload"));
        assert_eq!(html.matches("</script>").count(), 2);
        let panels = html.matches("class=\"panel\"").count();
        assert!(panels >= 3, "{panels}");
        assert!(html.contains(&format!("The figures of {} further classes", 32 - panels)));
        assert!(html.contains("The most frequent confusions, 200 of"));
    }
}

#[test]
fn weights_count_rows_and_mistakes_are_named() {
    let (p, labels) = rows(500, 3);
    let classes = names(&["a", "b", "c"]);
    let weights: Vec<f64> = (0..500).map(|i| f64::from(i % 3)).collect();
    let weighted =
        ClassRows { data: "d", classes: &classes, labels: &labels, weights: Some(&weights) };
    // A weight of 2 is the row twice, of 0 the row left out.
    let (mut more_p, mut more_labels) = (Vec::new(), Vec::new());
    for (i, (row, &label)) in p.chunks(3).zip(&labels).enumerate() {
        for _ in 0..i % 3 {
            more_p.extend_from_slice(row);
            more_labels.push(label);
        }
    }
    let repeated = ClassRows { data: "d", classes: &classes, labels: &more_labels, weights: None };
    let first = page_of_classes(&forecast("m", &p), None, &weighted).unwrap();
    let second = page_of_classes(&forecast("m", &more_p), None, &repeated).unwrap();
    let numbers = |html: &str| {
        let start = html.find("<dl class=\"numbers\">").unwrap();
        html[start..start + html[start..].find("</dl>").unwrap()].to_owned()
    };
    assert_eq!(numbers(&first), numbers(&second));

    let short = ClassRows { data: "d", classes: &classes, labels: &labels[1..], weights: None };
    let error = page_of_classes(&forecast("m", &p), None, &short).unwrap_err().to_string();
    assert!(error.contains("probabilities has 1500 value(s)"), "{error}");
    let strange: Vec<u32> = labels.iter().map(|l| l + 1).collect();
    let rows = ClassRows { data: "d", classes: &classes, labels: &strange, weights: None };
    let error = page_of_classes(&forecast("m", &p), None, &rows).unwrap_err().to_string();
    assert!(error.contains("labels") && error.contains('3'), "{error}");
}
