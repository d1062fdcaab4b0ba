//! The same answer as before: models and predictions that lie in `tests/golden`, and the same bits for
//! any number of threads.
//!
//! `PROPERLOSS_BLESS=1 cargo test -p properloss-cli --test golden` writes the models and predictions
//! anew; a change of them is a change of what users get. Files of a released version stay as they are.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::Sandbox;
use serde_json::Value;

/// Name and options. Few iterations: where the last bits differ between instruction sets and
/// mathematical libraries, they do not grow.
const FITS: [(&str, &str); 12] = [
    ("proper", "--cv 3"),
    ("labels", "--max-iter 12"),
    ("refit", "--max-iter 12"),
    ("bregmantron", "--max-iter 12"),
    ("approx", "--max-iter 12"),
    ("certified", "--max-iter 12"),
    ("slisotron", "--max-iter 12"),
    ("glmtron", "--max-iter 12"),
    ("averaged", "--max-iter 12"),
    ("canonical", "--link probit"),
    ("logistic", ""),
    ("calibrate", ""),
];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A fit of every method to `train.csv`, as `NAME.json`.
fn fit(sandbox: &Sandbox, name: &str, options: &str, threads: usize) -> String {
    let data = "train.csv --missing mean --quiet";
    sandbox.succeed(&if name == "calibrate" {
        format!("--threads {threads} calibrate scores.csv --model {name}.json -o p.csv --quiet")
    } else {
        format!("--threads {threads} fit {data} --method {name} {options} -o {name}.json")
    });
    sandbox.read(&format!("{name}.json"))
}

/// What a model says of its table.
fn predict(sandbox: &Sandbox, name: &str, model: &str, threads: usize) -> String {
    let table = if name == "calibrate" { "scores.csv" } else { "train.csv" };
    let line = format!("--threads {threads} predict {model} {table} --columns score,probability");
    sandbox.succeed(&line).stdout
}

/// How far a number may be from the golden one: the rounding of the mathematical library and of
/// fused multiplications. Last bits of the cells that are changed at random move no number of the
/// default or of `calibrate` by more than 2e-14 (60 tries), and a dozen iterations of the others carry
/// theirs no further; the rest is for a search that ends one step earlier or later.
fn tolerance(value: f64) -> f64 {
    1e-8 * value.abs().max(1.0)
}

/// Everything of `old` is in `new`: words and counts as they were, numbers within the tolerance. New
/// fields may come; the program's version does.
fn assert_agrees(name: &str, place: &str, old: &Value, new: &Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old.iter().filter(|(key, _)| *key != "program") {
                let place = format!("{place}.{key}");
                let found = new.get(key).unwrap_or_else(|| panic!("{name}: {place} is gone"));
                assert_agrees(name, &place, value, found);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{name}: the length of {place}");
            for (k, (old, new)) in old.iter().zip(new).enumerate() {
                assert_agrees(name, &format!("{place}[{k}]"), old, new);
            }
        }
        (Value::Number(old), Value::Number(new)) => {
            let (old, new) = (old.as_f64().unwrap(), new.as_f64().unwrap());
            let most = tolerance(old);
            assert!((old - new).abs() <= most, "{name}: {place} is {new}, was {old}");
        }
        _ => assert_eq!(old, new, "{name}: {place}"),
    }
}

fn assert_same_table(name: &str, old: &str, new: &str) {
    assert_eq!(old.lines().count(), new.lines().count(), "{name}");
    for (row, (old, new)) in old.lines().zip(new.lines()).enumerate().skip(1) {
        let values =
            |line: &str| -> Vec<f64> { line.split(',').map(|v| v.parse().unwrap()).collect() };
        for (old, new) in values(old).into_iter().zip(values(new)) {
            let most = tolerance(old);
            assert!((old - new).abs() <= most, "{name}, row {row}: {new}, was {old}");
        }
    }
}

fn sandbox(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    for table in ["train.csv", "scores.csv"] {
        sandbox.write(table, fs::read(golden(table)).unwrap());
    }
    sandbox
}

#[test]
fn every_method_still_gives_the_golden_models_and_predictions() {
    let sandbox = sandbox("golden");
    let bless = std::env::var_os("PROPERLOSS_BLESS").is_some();
    for (name, options) in FITS {
        let (model, table) = (format!("{name}.json"), format!("{name}.csv"));
        let new = fit(&sandbox, name, options, 2);
        let predicted = predict(&sandbox, name, &model, 2);
        if bless {
            fs::write(golden(&model), &new).unwrap();
            fs::write(golden(&table), &predicted).unwrap();
        }
        let old = fs::read_to_string(golden(&model)).unwrap();
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_agrees(name, "", &parse(&old), &parse(&new));
        let old_predicted = fs::read_to_string(golden(&table)).unwrap();
        assert_same_table(name, &old_predicted, &predicted);
    }
}

/// Only arithmetic and the link lie between a file and its predictions.
#[test]
fn golden_models_are_read_and_predict_as_ever() {
    let sandbox = sandbox("golden-read");
    for (name, _) in FITS {
        let model = format!("old-{name}.json");
        sandbox.write(&model, fs::read(golden(&format!("{name}.json"))).unwrap());
        let predicted = predict(&sandbox, name, &model, 1);
        let old = fs::read_to_string(golden(&format!("{name}.csv"))).unwrap();
        assert_same_table("read", &old, &predicted);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let sandbox = Sandbox::new("golden-threads");
    // Rows for several chunks of every parallel loop.
    sandbox.succeed("synth single-index --rows 9000 --features 6 --seed 4 -o train.csv --quiet");
    sandbox.succeed("fit train.csv --method logistic -o first.json --quiet");
    let rows = sandbox.read("train.csv");
    let labels = rows.lines().map(|row| row.rsplit(',').next().unwrap());
    let scores = sandbox.succeed("predict first.json train.csv --columns score").stdout;
    let pairs = scores.lines().zip(labels).map(|(score, label)| format!("{score},{label}\n"));
    sandbox.write("scores.csv", pairs.collect::<String>());
    for (name, options) in FITS {
        let options = options.replace("12", "4");
        let model = fit(&sandbox, name, &options, 1);
        let predicted = predict(&sandbox, name, &format!("{name}.json"), 1);
        for threads in [2, 4, 8] {
            assert_eq!(fit(&sandbox, name, &options, threads), model, "{name}, {threads} threads");
            let again = predict(&sandbox, name, &format!("{name}.json"), threads);
            assert_eq!(again, predicted, "{name}, {threads} threads");
        }
    }
}
