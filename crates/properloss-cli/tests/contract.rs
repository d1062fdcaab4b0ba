//! The contract with scripts: streams, exit status, threads, pipes, reproducible numbers.

mod common;

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use common::Sandbox;

/// `u(w.x + b)` from the files alone, without this project's code.
const RECOMPUTE: &str = r#"
import bisect, csv, json, math, sys
m = json.load(open(sys.argv[1])); w, b, l = m["weights"], m["intercept"], m["link"]
unit = m["preprocessing"]["scaling"]["kind"] == "unit-rows"
for row in csv.DictReader(open(sys.argv[2])):
    x = [float(row[name]) for name in m["feature_names"]]
    r = math.sqrt(sum(v * v for v in x)) if unit else 1.0
    s = sum(a * c for a, c in zip(w, x)) / (r or 1.0) + b
    if l["kind"] == "builtin": p = 1 / (1 + math.exp(-s)); print(repr(s), repr(p)); continue
    z, u = l["z"], l["u"]; k = min(max(bisect.bisect_right(z, s), 1), len(z) - 1)
    print(repr(s), repr(min(max(u[k-1] + (u[k] - u[k-1]) * (s - z[k-1]) / (z[k] - z[k-1]), 0), 1)))
"#;

#[test]
fn predictions_are_what_the_model_file_says() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3 on this machine");
        return;
    }
    let sandbox = Sandbox::new("recompute");
    sandbox.write("recompute.py", RECOMPUTE);
    sandbox.succeed("synth single-index --rows 400 --features 6 --link cloglog -o train.csv");
    sandbox.succeed("synth single-index --rows 100 --features 6 --seed 9 -o test.csv");
    for options in [
        "--method labels",
        "--method bregmantron --scaling unit-rows",
        "--method refit --scaling max-norm",
        "--method slisotron",
        "--method logistic",
        "--certified --max-iter 50",
    ] {
        sandbox.succeed(&format!("fit train.csv -o model.json {options}"));
        let ours =
            sandbox.succeed("predict model.json test.csv --columns score,probability").stdout;
        let python = Command::new("python3")
            .args(["recompute.py", "model.json", "test.csv"])
            .current_dir(&sandbox.folder)
            .output()
            .unwrap();
        assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
        let theirs = String::from_utf8(python.stdout).unwrap();
        assert_eq!(theirs.lines().count(), 100);
        for (ours, theirs) in ours.lines().skip(1).zip(theirs.lines()) {
            let ours: Vec<f64> = ours.split(',').map(|v| v.parse().unwrap()).collect();
            let theirs: Vec<f64> = theirs.split(' ').map(|v| v.parse().unwrap()).collect();
            for (ours, theirs) in ours.iter().zip(&theirs) {
                // Sums of 7 terms in another order, through a link of slope at most a few units:
                // a few dozen ulp of numbers of size 10.
                assert!((ours - theirs).abs() < 1e-12, "{options}: {ours} and {theirs}");
            }
        }
    }
}

#[test]
fn a_table_on_standard_input_is_predicted_and_fitted_like_a_file() {
    let sandbox = Sandbox::new("stdin");
    sandbox.succeed("synth --rows 9000 -o train.csv");
    let text = sandbox.read("train.csv");
    sandbox.succeed("fit train.csv -o file.json --method logistic");
    assert_eq!(sandbox.run_with("fit - -o stdin.json --method logistic", text.as_bytes()).code, 0);
    let file = sandbox.succeed("predict file.json train.csv").stdout;
    assert_eq!(file.lines().count(), 9001);
    let piped = sandbox.run_with("predict stdin.json -", text.as_bytes());
    assert_eq!(piped.stdout, file);
    // Columns are found by name, in any order, and a label is not needed.
    let swapped: String = text
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            format!("{},{}\n", fields[1], fields[0])
        })
        .collect();
    assert_eq!(sandbox.run_with("predict file.json -", swapped.as_bytes()).stdout, file);
}

/// The groups are read after the rows; a pipe cannot be read twice.
#[test]
fn groups_on_standard_input_are_those_of_the_file() {
    let sandbox = Sandbox::new("stdin-groups");
    sandbox.succeed("synth --rows 400 -o train.csv");
    sandbox.succeed("fit train.csv -o model.json --loss-out loss.json --method logistic");
    let rows = sandbox.read("train.csv");
    let shop = |i: usize| if i == 0 { "shop".to_owned() } else { format!("s{}", i % 40) };
    let text: String =
        rows.lines().enumerate().map(|(i, line)| format!("{},{line}\n", shop(i))).collect();
    sandbox.write("shops.csv", &text);
    let line = |data: &str| format!("compare {data} --methods logistic --group shop --json");
    let (file, piped) =
        (sandbox.run(&line("shops.csv")), sandbox.run_with(&line("-"), text.as_bytes()));
    assert_eq!(piped.json()["methods"][0]["mean"], file.json()["methods"][0]["mean"]);
    let line = |data: &str| format!("calibrate {data} --score x1 --group shop");
    let file = sandbox.succeed(&line("shops.csv"));
    assert_eq!(sandbox.run_with(&line("-"), text.as_bytes()).stdout, file.stdout);
    let transfer = "transfer loss.json - -o new.json --group shop --test-share 0.5";
    assert_eq!(sandbox.run_with(transfer, text.as_bytes()).code, 0);
}

/// 200,000 rows through a pipe, and the most memory that the program ever held.
#[test]
#[cfg(target_os = "linux")]
fn prediction_holds_no_more_than_a_few_rows() {
    const ROWS: usize = 200_000;
    let sandbox = Sandbox::new("memory");
    sandbox.succeed("synth --rows 200 -o train.csv");
    sandbox.succeed("fit train.csv -o m.json --method logistic");
    let mut child = sandbox
        .command("predict m.json -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text.lines().count()
    });
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"x1,x2\n").unwrap();
    let block = "0.123456789012345,-1.23456789012345\n".repeat(1000);
    for _ in 0..ROWS / 1000 {
        stdin.write_all(block.as_bytes()).unwrap();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(reader.join().unwrap(), ROWS + 1);
    // The program itself takes about 14 MB; the rows alone would be 7 MB of text and 3 of numbers,
    // so hold it to a bound that does not depend on their number: 1,000 times as many pass too.
    assert!(kilobytes < 20_000, "{kilobytes} kB");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let sandbox = Sandbox::new("threads");
    sandbox.succeed("synth single-index --rows 3000 --features 20 -o train.csv");
    for method in ["labels", "logistic"] {
        let model = |threads: u32| {
            let line = format!(
                "fit train.csv -o m.json --method {method} --max-iter 20 --threads {threads}"
            );
            sandbox.succeed(&line);
            sandbox.read("m.json")
        };
        let one = model(1);
        assert_eq!(one, model(2));
        assert_eq!(one, model(4));
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let sandbox = Sandbox::new("pipe");
    sandbox.succeed("synth --rows 200 -o train.csv");
    sandbox.succeed("fit train.csv -o m.json --method logistic");
    for line in ["synth --rows 100000", "completions bash", "inspect m.json"] {
        let mut child =
            sandbox.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Closes the pipe before, or while, the program writes.
        drop(child.stdout.take());
        let status = child.wait().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn json_is_on_stdout_and_words_are_on_stderr() {
    let sandbox = Sandbox::new("json");
    sandbox.succeed("synth --rows 200 -o train.csv");
    let fit = sandbox.succeed("fit train.csv -o m.json --loss-out l.json --method labels --json");
    assert_eq!(fit.json()["written"].as_array().unwrap().len(), 2);
    assert!(fit.stderr.contains("fitting labels: 200 rows"));
    let quiet = sandbox.succeed("fit train.csv -o m.json --method labels --json --quiet");
    assert_eq!(quiet.stderr, "");
    let evaluated = sandbox.succeed("evaluate m.json train.csv --json --quiet").json();
    let trained = &quiet.json()["metrics"]["train"];
    for name in ["auc", "log_loss", "brier", "ece", "accuracy"] {
        // Evaluation reads the model back from its file: the very same numbers.
        assert_eq!(evaluated[name], trained[name], "{name}");
    }
    let compared =
        sandbox.succeed("compare train.csv --folds 2 --methods logistic,labels --json -q").json();
    assert_eq!(compared["methods"][1]["rounds"].as_array().unwrap().len(), 2);
    let lines = sandbox.succeed("predict m.json train.csv --json --columns score,class").stdout;
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["score"].is_f64() && first["class"].is_string());
}

#[test]
fn a_progress_bar_is_for_terminals_only() {
    let sandbox = Sandbox::new("progress");
    sandbox.succeed("synth --rows 20000 -o train.csv");
    let outcome = sandbox.succeed("fit train.csv -o m.json --method labels --max-iter 50 --tol 0");
    assert!(!outcome.stderr.contains('\r') && !outcome.stderr.contains('\x1b'));
}

#[test]
fn an_output_named_dash_is_standard_output() {
    let sandbox = Sandbox::new("dash");
    sandbox.succeed("synth single-index --rows 200 --features 3 -o train.csv");
    let quiet = "fit train.csv --method logistic";
    sandbox.succeed(&format!("{quiet} -o model.json"));
    let outcome = sandbox.succeed(&format!("{quiet} -o -"));
    assert_eq!(outcome.stdout, sandbox.read("model.json"));
    assert!(outcome.stderr.contains("log-loss"), "{}", outcome.stderr);
    assert!(!sandbox.path("-").exists());
    let both = sandbox.run(&format!("{quiet} -o - --json"));
    assert_eq!(both.code, 2, "{}", both.stderr);
    assert!(both.stderr.contains("both want standard output"), "{}", both.stderr);
}
