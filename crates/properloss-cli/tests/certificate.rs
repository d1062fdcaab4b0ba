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

/// Every fit of the default method carries its certificate: in what `fit` says, in the file, in
/// `inspect` as words and as JSON, and on the report page. A calibration does too.
#[test]
fn the_certificate_of_a_fit() {
    let sandbox = Sandbox::new("fit-certificate");
    sandbox.succeed("synth --rows 2000 --seed 1 -o train.csv");
    let said = sandbox.succeed("fit train.csv -o m.json").stderr;
    let json = sandbox.succeed("inspect m.json --json --quiet").json();
    let certificate = &json["certificate"];
    let bound = &certificate["calibration_bound"];
    let [rms, held_out] = ["rms", "held_out_rms"].map(|name| bound[name].as_f64().unwrap());
    assert!(rms > 0.1 && rms < 0.4 && held_out > 0.1 && held_out < 0.4, "{bound}");
    assert_eq!((bound["rows"].as_u64(), bound["folds"].as_u64()), (Some(2000), Some(5)));
    assert_eq!(bound["assumption_rejected"], false);
    assert!(bound["assumption"].as_str().unwrap().contains("does not decrease"));
    let cost = &certificate["link_cost"];
    let most = cost["at_most"].as_f64().unwrap();
    assert!(cost["nats"].as_f64().unwrap() <= most && most < 0.933, "{cost}");

    let fitted = sandbox.succeed("fit train.csv -o again.json --json --quiet").json();
    assert_eq!(&fitted["proper"]["certificate"], certificate);
    sandbox.succeed("report m.json train.csv -o report.html");
    let page = sandbox.read("report.html");
    let inspected = sandbox.succeed("inspect m.json").stdout;
    for words in [said, inspected, page] {
        assert!(words.contains(&format!("within {rms:.4} (RMS)")), "{words}");
        assert!(words.contains(&format!("never above +{most:.2}")), "{words}");
    }

    sandbox.succeed("fit train.csv -o other.json --method logistic");
    let other = sandbox.succeed("inspect other.json --json --quiet").json();
    assert!(other["certificate"].is_null());
    sandbox.succeed("calibrate train.csv --score x1 --kind scores -o p.csv --model c.json");
    let calibration = sandbox.succeed("inspect c.json --json --quiet").json();
    let bound = &calibration["certificate"]["calibration_bound"];
    assert_eq!(bound["folds"], 1);
    assert!(bound["rms"].as_f64().unwrap() < rms, "{bound}");
}
