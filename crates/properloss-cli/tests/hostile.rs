//! Inputs that once were answered without a hint, with a panic, or with all memory. The program that
//! found them, with some hundred others, is bench/faults/hostile.py.

mod common;

use common::Sandbox;

fn refused(sandbox: &Sandbox, line: &str, error: &str, hint: &str) {
    let outcome = sandbox.run(line);
    assert_eq!(outcome.code, 1, "{line}: {}", outcome.stderr);
    assert!(outcome.stderr.contains(error), "{line}: {}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("hint: {hint}")), "{line}: {}", outcome.stderr);
    assert_eq!(sandbox.leftovers(), [""; 0], "{line}");
}

#[test]
fn numbers_that_overflow_are_refused_with_a_hint() {
    let sandbox = Sandbox::new("hostile-numbers");
    let rows = |cells: &dyn Fn(usize) -> String| -> String {
        (0..100).map(|k| format!("{},{}\n", cells(k), k % 2)).collect()
    };
    let sign = |k: usize| if k.is_multiple_of(3) { "-1e308" } else { "1e308" };
    sandbox.write("huge.csv", format!("a,b,y\n{}", rows(&|k| format!("{},{k}", sign(k)))));
    refused(
        &sandbox,
        "fit huge.csv -o m.json",
        "is NaN; every value must be finite",
        "columns with",
    );
    let weights = format!("a,w,y\n{}", rows(&|k| format!("{},1.7e308", k % 13)));
    sandbox.write("weights.csv", weights);
    let hint = "the sum of the weights must be a number above 0";
    let line = "fit weights.csv -o m.json --weight w --method logistic";
    refused(&sandbox, line, "the sum of the weights is inf", hint);
}

/// Knots so near that the steps of an axis are 0: a picture nevertheless.
#[test]
fn knots_next_to_each_other_are_drawn() {
    let sandbox = Sandbox::new("hostile-knots");
    let link = r#"{"kind": "piecewise", "z": [0, 5e-324, 1e-323], "u": [0, 0.5, 1]}"#;
    let loss = format!(r#"{{"format": "properloss-loss", "version": 1, "link": {link}}}"#);
    sandbox.write("loss.json", loss);
    sandbox.succeed("inspect loss.json --plot link.svg");
    assert!(sandbox.read("link.svg").ends_with("</svg>\n"));
}

/// A device without an end is judged by its beginning.
#[cfg(unix)]
#[test]
fn a_device_is_no_model() {
    let sandbox = Sandbox::new("hostile-devices");
    sandbox.write("rows.csv", "a,y\n1,0\n2,1\n");
    for line in [
        "inspect /dev/zero --memory 50MB",
        "predict /dev/zero rows.csv --memory 50MB",
        "transfer /dev/zero rows.csv -o m.json --memory 50MB",
        "export /dev/zero -o m.onnx --memory 50MB",
    ] {
        let outcome = sandbox.run(line);
        assert_eq!(outcome.code, 1, "{line}: {}", outcome.stderr);
        // Of what it is, not of its length, which would take all memory to see.
        assert!(outcome.stderr.contains("something else than JSON"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
    }
}

/// Seconds that no clock counts, columns that no memory holds, a device as a checkpoint.
#[test]
fn numbers_and_files_beyond_all_bounds() {
    let sandbox = Sandbox::new("hostile-options");
    let rows: String = (0..40).map(|k| format!("{},{}\n", k * 7 % 11, k % 2)).collect();
    sandbox.write("rows.csv", format!("a,y\n{rows}"));
    let outcome = sandbox.run("fit rows.csv -o m.json --checkpoint c --checkpoint-every=1e308");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it must be 0 or more seconds"), "{}", outcome.stderr);
    let line = format!("synth single-index --rows 5 --features {} -o s.csv", u64::MAX);
    let outcome = sandbox.run(&line);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    for words in ["the number of features", "change --features"] {
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
    #[cfg(unix)]
    refused(
        &sandbox,
        "fit rows.csv -o m.json --checkpoint /dev/zero",
        "it is not a checkpoint of this program",
        "remove the file to start afresh",
    );
}

/// What a terminal would obey is written out.
#[cfg(unix)]
#[test]
fn names_do_not_reach_the_terminal_raw() {
    let sandbox = Sandbox::new("hostile-names");
    let outcome = sandbox.run("inspect \u{1b}[31mred\u{202e}.json");
    assert!(outcome.stderr.contains("\\u{1b}[31mred\\u{202e}.json"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains(['\u{1b}', '\u{202e}']));
}
