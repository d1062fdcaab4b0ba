//! A day in the shell, on a table of loans with all that real ones have.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

struct Day(PathBuf);

impl Day {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("shell-day-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn run(&self, line: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_properloss"))
            .args(line.split_whitespace())
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    fn good(&self, line: &str) -> (String, String) {
        let done = self.run(line);
        let words = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.success(), "{line}\n{words}");
        (String::from_utf8(done.stdout).unwrap(), words)
    }
}

impl Drop for Day {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loans in the order of time: identifiers, dates, truth values, categories, missing values, weights.
fn loans(from: usize, rows: usize, purposes: &[&str], case: fn(bool) -> &'static str) -> String {
    let mut text = String::from("loan_id,opened,purpose,owner,income,age,weight,default\n");
    for i in from..from + rows {
        // A plain generator: the test asks for the same table everywhere.
        let hash = |k: u64| {
            let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (k << 32);
            x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            ((x ^ (x >> 29)) % 1_000_003) as f64 / 1_000_003.0
        };
        let income = (1000.0 + 9000.0 * hash(1)).round();
        let owner = hash(2) < 0.4;
        let risk = 0.3 * (1.0 - income / 10_000.0) * if owner { 0.3 } else { 1.0 };
        let income = if hash(5) < 0.05 { String::new() } else { income.to_string() };
        let _ = writeln!(
            text,
            "{},2024-{:02}-{:02},{},{},{income},{},{},{}",
            70_000 + i,
            1 + i / 28 % 12,
            1 + i % 28,
            purposes[i % purposes.len()],
            case(owner),
            18 + (60.0 * hash(3)) as u32,
            1 + i % 3,
            u8::from(hash(4) < risk),
        );
    }
    text
}

fn lower(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn upper(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

#[test]
fn a_day_in_the_shell() {
    let day = Day::new("whole");
    std::fs::write(day.0.join("loans.csv"), loans(0, 1200, &["car", "house"], lower)).unwrap();
    std::fs::write(day.0.join("new.csv"), loans(1200, 300, &["car", "boat"], upper)).unwrap();

    let (_, words) = day.good("fit loans.csv -o careless.json --missing mean");
    assert!(words.contains("label \"default\" (last column)"), "{words}");
    assert!(words.contains("column \"loan_id\" holds a different whole number"), "{words}");

    let fit = "fit loans.csv -o model.json --label default --ignore loan_id --weight weight \
               --missing mean --test-last 0.25 --loss-out loss.json --json";
    let (out, words) = day.good(fit);
    assert!(!words.contains("identifier"), "{words}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(summary["loss"].as_f64().unwrap() > 0.0 && summary["iterations"].as_u64().unwrap() > 0);
    assert!(summary["metrics"]["test"]["log_loss"].as_f64().unwrap() < 0.7);

    // A truth value is one feature, however it is written; a date too.
    let (out, _) = day.good("inspect model.json --json");
    let model: serde_json::Value = serde_json::from_str(&out).unwrap();
    let names: Vec<&str> =
        model["feature_names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert_eq!(names, ["opened", "purpose=car", "purpose=house", "owner", "income", "age"]);
    let why = model["loss"]["why"].as_str().unwrap();
    assert!(why.starts_with("composite: ") || why.starts_with("canonical: "), "{why}");

    // Unseen categories: one rule, counted, in every command.
    let (out, words) = day.good("predict model.json new.csv --keep loan_id,opened");
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("loan_id,opened,probability"));
    assert!(lines.next().unwrap().starts_with("71200,2024-"));
    assert_eq!(lines.count(), 299);
    let unknown = "150 value(s) are categories that did not occur at training";
    assert!(words.contains(unknown), "{words}");
    let (out, words) = day.good("evaluate model.json new.csv --json");
    assert!(words.contains(unknown) && words.contains("weighed by \"weight\""), "{words}");
    let weighed: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(weighed["unknown_categories"], 150);
    let (out, words) = day.good("evaluate model.json new.csv --json --no-weight");
    assert!(!words.contains("weighed by"), "{words}");
    let plain: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_ne!(plain["log_loss"], weighed["log_loss"]);
    let (_, words) = day
        .good("fit loans.csv -o again.json --ignore loan_id,weight --missing mean --test new.csv");
    assert!(words.contains(unknown), "{words}");
    let refused = day.run("predict model.json new.csv --unknown-category error");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("boat"));

    // The loss goes on to other rows, and says what it is.
    let (_, words) =
        day.good("transfer loss.json new.csv -o moved.json --ignore loan_id,weight --missing mean");
    assert!(words.contains(why), "{words}");

    // What is not written as its name says is refused.
    for line in ["inspect model.json --plot link.png", "predict model.json new.csv -o p.parquet"] {
        let refused = day.run(line);
        assert!(!refused.status.success(), "{line}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("not written as"), "{line}");
    }
    assert!(!day.0.join("link.png").exists() && !day.0.join("p.parquet").exists());
    let (_, _) = day.good("inspect model.json --plot link.svg");
    let svg = std::fs::read_to_string(day.0.join("link.svg")).unwrap();
    assert!(svg.contains("<path") || svg.contains("<polyline"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "a coordinate is not finite");
}
