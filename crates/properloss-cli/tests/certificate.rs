//! `evaluate --certificate`: the bound, its assumption beside it, and the same numbers as JSON.

mod common;

use common::Sandbox;

#[test]
fn a_certificate_on_fresh_rows() {
    let sandbox = Sandbox::new("certificate");
    sandbox.succeed("synth --rows 1000 --seed 1 -o train.csv");
    sandbox.succeed("synth --rows 4000 --seed 2 -o fresh.csv");
    sandbox.succeed("fit train.csv -o m.json --method logistic");
    let plain = sandbox.succeed("evaluate m.json fresh.csv --json --quiet").json();
    assert!(plain.get("calibration_bound").is_none());

    let found = sandbox.succeed("evaluate m.json fresh.csv --certificate --json --quiet").json();
    let bound = &found["calibration_bound"];
    let rms = bound["rms"].as_f64().unwrap();
    // The truth is logistic: what is left is the price of 4,000 rows.
    assert!(rms > 0.02 && rms < 0.09, "{bound}");
    assert!(bound["population_rms"].as_f64().unwrap() > rms);
    assert_eq!(bound["assumption_rejected"], false);
    assert_eq!(bound["confidence"], 0.95);
    let looser = sandbox
        .succeed("evaluate m.json fresh.csv --certificate --confidence 0.5 --json --quiet")
        .json();
    assert!(looser["calibration_bound"]["rms"].as_f64().unwrap() < rms);

    let words = sandbox.succeed("evaluate m.json fresh.csv --certificate").stdout;
    assert!(words.contains(&format!("calibration bound {rms:.6}  at 95 %")), "{words}");
    assert!(words.contains("\"the truth does not decrease\": not rejected"), "{words}");
}
