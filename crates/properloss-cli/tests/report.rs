//! `report`: the page of one model and of two, and what is refused.

mod common;

use common::Sandbox;

fn sandbox(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.succeed("synth gaussians --rows 300 --seed 1 -o train.csv");
    sandbox.succeed("synth gaussians --rows 400 --seed 2 -o test.csv");
    sandbox.succeed("fit train.csv -o proper.json");
    sandbox.succeed("fit train.csv -o logistic.json --method logistic");
    sandbox
}

/// The number behind a term of the page.
fn number(page: &str, term: &str) -> f64 {
    let start = page.find(&format!("<dt>{term}</dt><dd>")).unwrap() + term.len() + 13;
    page[start..].split('<').next().unwrap().parse().unwrap()
}

#[test]
fn the_page_says_what_evaluate_says() {
    let sandbox = sandbox("report");
    let outcome = sandbox.succeed("report proper.json test.csv -o page.html --json");
    let page = sandbox.read("page.html");
    let value = outcome.json();
    assert_eq!(
        (value["rows"].as_u64(), value["bytes"].as_u64()),
        (Some(400), Some(page.len() as u64))
    );
    let measured = sandbox.succeed("evaluate proper.json test.csv --json").json();
    for (term, field) in [
        ("AUC", "auc"),
        ("log-loss", "log_loss"),
        ("Brier score", "brier"),
        ("miscalibration", "brier_miscalibration"),
        ("ECE, 15 bins", "ece"),
        ("accuracy at 1/2", "accuracy"),
    ] {
        let expected = measured[field].as_f64().unwrap();
        // Five digits are shown.
        assert!((number(&page, term) - expected).abs() <= 5.1e-5 * expected, "{term}");
    }
    assert!(page.contains("Report: <bdi>proper.json</bdi>") && page.contains("train.csv"));
    assert!(sandbox.leftovers().is_empty());
}

#[test]
fn two_models_stand_side_by_side() {
    let sandbox = sandbox("report-two");
    sandbox.succeed("report proper.json test.csv --compare logistic.json -o two.html");
    let page = sandbox.read("two.html");
    assert!(
        page.contains("matrix-a") && page.contains("matrix-b") && page.contains("figure-link-b")
    );
    let log_loss = |model: &str| {
        let json = sandbox.succeed(&format!("evaluate {model} test.csv --json")).json();
        json["log_loss"].as_f64().unwrap()
    };
    let expected = (log_loss("proper.json") - log_loss("logistic.json")).abs();
    let words = page.split(" nats a row (standard error").next().unwrap();
    let shown: f64 = words.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((shown - expected).abs() <= 5.1e-5 * expected, "{shown} {expected}");
}

#[test]
fn the_data_may_come_from_standard_input() {
    let sandbox = sandbox("report-stdin");
    let rows = sandbox.read("test.csv");
    let outcome = sandbox.run_with("report proper.json - -o page.html", rows.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    sandbox.succeed("report proper.json test.csv -o file.html");
    let both = ["page.html", "file.html"].map(|name| number(&sandbox.read(name), "Brier score"));
    assert_eq!(both[0], both[1]);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let sandbox = sandbox("report-refused");
    sandbox.write("one-class.csv", "x1,x2,label\n0,0,1\n1,1,1\n");
    sandbox.write("empty.csv", "x1,x2,y\n");
    sandbox.succeed("fit train.csv -o other.json --method logistic --positive 0");
    for (line, words) in [
        ("report missing.json test.csv -o p.html", "missing.json"),
        ("report proper.json missing.csv -o p.html", "missing.csv"),
        ("report proper.json test.csv -o no/such/p.html", "no/such/p.html"),
        ("report proper.json test.csv --compare other.json -o p.html", "its classes are"),
        ("report test.csv test.csv -o p.html", "test.csv"),
    ] {
        let outcome = sandbox.run(line);
        assert_eq!(outcome.code, 1, "{line}");
        assert!(
            outcome.stderr.contains(words) && outcome.stderr.contains("hint:"),
            "{}",
            outcome.stderr
        );
        assert!(!sandbox.path("p.html").exists(), "{line}");
    }
    assert!(sandbox.leftovers().is_empty());
}
