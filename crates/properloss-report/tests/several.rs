//! The page of several classes: its numbers, that names are text, that it stays small.

use properloss::design::FittedScaling;
use properloss_data::Encoder;
use properloss_data::model_file::{
    ClassModelFile, Fitted, MixtureFile, Preprocessing, SoftmaxFile,
};
use properloss_data::random::Random;
use properloss_report::class_learned::along;
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
    let (model, deviations) = (None, None);
    ClassForecasts { name, probabilities, tau: Some(2.5), model, deviations, details, provenance }
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

/// A model of 40 features, all with names that want to be something else.
fn hostile_model(classes: &[String]) -> ClassModelFile {
    let features: Vec<String> =
        (0..40).map(|j| format!("</script><i onload=x>\u{202e}{j}{}", "y".repeat(9_000))).collect();
    let weights =
        |k: usize| (0..40).map(|j| ((k * 7 + j * 3) % 11) as f64 - 5.0).collect::<Vec<_>>();
    ClassModelFile {
        weights: (0..classes.len()).map(weights).collect(),
        intercepts: vec![0.5; classes.len()],
        link: MixtureFile {
            softmax: vec![SoftmaxFile { mass: 0.5, t: 1.0 }, SoftmaxFile { mass: 0.4, t: 2.0 }],
            floor: vec![0.1 / classes.len() as f64; classes.len()],
            ramps: Vec::new(),
        },
        preprocessing: Preprocessing {
            encoder: Encoder::numeric(features.clone()),
            scaling: FittedScaling::None,
        },
        feature_names: features,
        classes: classes.to_vec(),
        fitted: Fitted { method: "proper".into(), ..Fitted::default() },
    }
}

#[test]
fn the_link_and_the_weights_of_a_class_are_drawn() {
    let (p, labels) = rows(600, 4);
    let classes = names(&["ant", "bee", "cat", "dog"]);
    let file = hostile_model(&classes);
    let deviations: Vec<f64> = (0..40).map(|j| 1.0 + f64::from(j)).collect();
    let forecast =
        ClassForecasts { model: Some(&file), deviations: Some(&deviations), ..forecast("m", &p) };
    let data = ClassRows { data: "test.csv", classes: &classes, labels: &labels, weights: None };
    let html = page_of_classes(&forecast, None, &data).unwrap();
    let start = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let block = &html[start..start + html[start..].find("</script>").unwrap()];
    let block: Value = serde_json::from_str(block).unwrap();
    let link = file.link.build().unwrap();
    for class in 0..4 {
        let figure = &block["figures"][format!("link-a-{}", class + 1)];
        let column = |k: usize| -> Vec<f64> {
            let values = figure["columns"][k].as_array().unwrap();
            values.iter().map(|v| v.as_f64().unwrap()).collect()
        };
        let (u, shown, softmax) = (column(0), column(1), column(2));
        assert_eq!((u[0], u[u.len() - 1]), (-7.0, 7.0));
        for ((&u, &shown), &softmax) in u.iter().zip(&shown).zip(&softmax) {
            // By hand: .5 s + .4 s_2 + the floor, where e^u / 3 is each odds of the class.
            let power = |t: f64| {
                let own = (t * (u + 3f64.ln())).exp();
                own / (own + 3.0)
            };
            let expected = 0.5 * power(1.0) + 0.4 * power(2.0) + 0.025;
            assert!((shown - expected).abs() < 1e-5, "{u}: {shown} {expected}");
            assert!((softmax - power(1.0)).abs() < 1e-5);
            assert!((along(&link, class, u) - expected).abs() < 1e-12);
        }
    }
    // The weights of "bee" per deviation, less the mean of the classes: the largest comes first.
    let effect = |j: usize| {
        let mean: f64 = file.weights.iter().map(|row| row[j]).sum::<f64>() / 4.0;
        (file.weights[1][j] - mean) * deviations[j]
    };
    let largest = (0..40).max_by(|&a, &b| effect(a).abs().total_cmp(&effect(b).abs())).unwrap();
    let table = &html[html.find("id=\"figure-weights-a-2\"").unwrap()..];
    let row = &table[table.find("(intercept)</td>").unwrap()..];
    let row = &row[row.find("</tr>").unwrap()..][..400];
    assert!(row.contains(&format!("&gt;\u{202e}{largest}y")), "{row}");
    let cell = format!("<td>{}</td></tr>", properloss_report::text::shown(effect(largest)));
    assert!(table.contains(&cell), "{cell}");
    assert!(!html.contains("<i onload") && html.len() < 1_000_000);
}

#[test]
fn many_classes_of_hostile_features_stay_below_a_megabyte() {
    let (p, labels) = rows(800, 32);
    let classes: Vec<String> =
        (0..32).map(|k| format!("<b onload='x'>{k}{}", "x".repeat(10_000))).collect();
    let file = hostile_model(&classes);
    let data = ClassRows { data: "test.csv", classes: &classes, labels: &labels, weights: None };
    let forecast = |name| ClassForecasts { model: Some(&file), ..forecast(name, &p) };
    let (first, second) = (forecast("a"), forecast("b"));
    for second in [None, Some(&second)] {
        let html = page_of_classes(&first, second, &data).unwrap();
        assert!(html.len() < 1_000_000, "{}", html.len());
        assert!(!html.contains("<b onload") && !html.contains("<i onload"));
        assert_eq!(html.matches("</script>").count(), 2);
        let panels = html.matches("class=\"panel\"").count();
        assert!(panels >= 2, "{panels}");
    }
}
