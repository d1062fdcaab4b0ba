//! `export` of models of two classes: what is written is compiled and run, and answers as `predict` does.

mod common;

use std::process::Command;

use common::Sandbox;

/// Fish of a length, a width and a place (some not known), healthy or not, from a fixed stream.
fn fish(rows: usize, unknown: bool) -> String {
    let mut uniform = common::uniform(11);
    let mut text = "length,width,place,healthy\n".to_owned();
    for i in 0..rows {
        let length: f64 = (0..6).map(|_| uniform()).sum::<f64>() - 3.0;
        let width = 5.0 * uniform();
        let place = if unknown && i % 9 == 4 {
            "moon"
        } else {
            ["north", "o'er \"sea\""][usize::from(uniform() < 0.4)]
        };
        // A floor and a ceiling, so that the link is learned.
        let chance =
            0.1 + 0.8 / (1.0 + (-4.0 * length - if place == "north" { 1.0 } else { 0.0 }).exp());
        let healthy = if uniform() < chance { "yes" } else { "no" };
        let place = format!("\"{}\"", place.replace('"', "\"\""));
        text.push_str(&format!("{length:.4},{width:.4},{place},{healthy}\n"));
    }
    text
}

/// Carries out a Python script below the sandbox; its words as numbers (`None`: no answer). `None`
/// without a python3.
fn script_answers(sandbox: &Sandbox, script: &str) -> Option<Vec<Option<f64>>> {
    sandbox.write("run.py", script);
    let run = Command::new("python3")
        .args(["-B", "run.py"])
        .current_dir(&sandbox.folder)
        .output()
        .ok()?;
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    let number = |word: &str| word.parse::<f64>().ok().filter(|p| p.is_finite());
    Some(text.split_whitespace().map(number).collect())
}

const READ: &str = "import csv\nrows = list(csv.DictReader(open('new.csv')))\n";

const PYTHON: &str = "import model
for row in rows:
    print(model.probability([float(row['length']), float(row['width']), row['place']]))
";

const SQL: &str = "import sqlite3
database = sqlite3.connect(':memory:')
database.execute('CREATE TABLE \"the fish\" (n INTEGER, length REAL, width REAL, place TEXT)')
cells = [(k, float(r['length']), float(r['width']), r['place']) for k, r in enumerate(rows)]
database.executemany('INSERT INTO \"the fish\" VALUES (?, ?, ?, ?)', cells)
query = open('model.sql').read().strip().rstrip(';')
for (p,) in database.execute(f'SELECT probability FROM ({query}) AS answers ORDER BY n'):
    print(p)
";

const C: &str = "import ctypes
function = ctypes.CDLL('./compiled.so').properloss_probability
function.restype = ctypes.c_double
for row in rows:
    numbers = (ctypes.c_double * 2)(float(row['length']), float(row['width']))
    texts = (ctypes.c_char_p * 1)(row['place'].encode())
    print(function(numbers, texts))
";

fn fitted(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.write("train.csv", fish(400, false));
    sandbox.write("new.csv", fish(90, true));
    sandbox.succeed("fit train.csv --label healthy -o model.json");
    sandbox
}

fn predictions(sandbox: &Sandbox) -> Vec<f64> {
    let predicted = sandbox.succeed("predict model.json new.csv --unknown-category zeros").stdout;
    predicted
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn every_language_answers_as_predict_does() {
    let sandbox = fitted("export-languages");
    let expected = predictions(&sandbox);
    let moons: Vec<bool> =
        sandbox.read("new.csv").lines().skip(1).map(|line| line.contains("moon")).collect();
    assert_eq!(moons.iter().filter(|&&moon| moon).count(), 10);
    for rule in ["zeros", "error"] {
        for (file, script) in [("model.py", PYTHON), ("model.sql", SQL), ("model.c", C)] {
            sandbox.succeed(&format!(
                "export model.json -o {file} --unknown-category {rule}{}",
                if file == "model.sql" { " --table 'the fish'" } else { "" }
            ));
            if file == "model.c" {
                let flags =
                    ["-std=c99", "-Wall", "-Werror", "-shared", "-fPIC", "-o", "compiled.so"];
                let compiler = Command::new("cc")
                    .args(flags)
                    .args(["model.c", "-lm"])
                    .current_dir(&sandbox.folder)
                    .output();
                let Ok(compiler) = compiler else { continue };
                let words = String::from_utf8_lossy(&compiler.stderr).into_owned();
                assert!(compiler.status.success(), "{words}");
            }
            let Some(answers) = script_answers(&sandbox, &format!("{READ}{script}")) else {
                continue;
            };
            assert_eq!(answers.len(), expected.len(), "{file}");
            for ((answer, &ours), &moon) in answers.into_iter().zip(&expected).zip(&moons) {
                // What `predict` refuses has no answer.
                let refused = moon && rule == "error";
                match answer {
                    Some(answer) => {
                        assert!(
                            !refused && (answer - ours).abs() < 1e-12,
                            "{file}: {answer} {ours}"
                        );
                    }
                    None => assert!(refused, "{file}: no answer for {ours}"),
                }
            }
        }
    }
}

#[test]
fn the_graph_states_its_operators_and_classes() {
    let sandbox = fitted("export-onnx");
    for (options, said) in [
        ("", "ai.onnx 17, ai.onnx.ml 3"),
        (" --portable", "ai.onnx 19"),
        (" --float32", "ai.onnx 17"),
    ] {
        let outcome = sandbox.succeed(&format!("export model.json -o model.onnx{options}"));
        let content = std::fs::read(sandbox.path("model.onnx")).unwrap();
        assert_eq!(outcome.stderr, format!("wrote model.onnx ({} bytes)\n", content.len()));
        assert_eq!(outcome.stdout, "");
        let text = String::from_utf8_lossy(&content);
        for words in [said, "[\"no\",\"yes\"]", "[\"length\",\"width\",\"place\"]", "probabilities"]
        {
            assert!(text.contains(words), "{words} with{options}");
        }
        assert_eq!(text.contains("ai.onnx.ml"), options != " --portable", "{options}");
    }
    let outcome = sandbox.succeed("export model.json -o model.onnx --json");
    assert_eq!(outcome.json()["written"], "model.onnx");
    assert_eq!(outcome.json()["bytes"], std::fs::read(sandbox.path("model.onnx")).unwrap().len());
}

#[test]
fn calibrations_are_exported() {
    let sandbox = Sandbox::new("export-calibration");
    let mut text = "p,y\n".to_owned();
    for line in fish(400, false).lines().skip(1) {
        let length: f64 = line.split(',').next().unwrap().parse().unwrap();
        text.push_str(&format!(
            "{},{}\n",
            1.0 / (1.0 + (-length).exp()),
            line.ends_with("yes") as u8
        ));
    }
    sandbox.write("train.csv", &text);
    sandbox.write("new.csv", text.lines().take(60).collect::<Vec<_>>().join("\n") + "\n");
    sandbox.succeed("calibrate train.csv --score p --label y --model model.json");
    let expected: Vec<f64> = predictions(&sandbox);
    sandbox.succeed("export model.json -o model.py");
    let script =
        "import model\nfor row in rows:\n    print(model.probability([float(row['p'])]))\n";
    let Some(answers) = script_answers(&sandbox, &format!("{READ}{script}")) else { return };
    assert_eq!(answers.len(), expected.len());
    for (answer, ours) in answers.into_iter().zip(expected) {
        let answer = answer.expect("an answer");
        assert!((answer - ours).abs() < 1e-12, "{answer} {ours}");
    }
}

#[test]
fn mistakes_are_named_and_leave_nothing_behind() {
    let sandbox = fitted("export-mistakes");
    let before = sandbox.read("model.json");
    for (line, code, words) in [
        ("export missing.json -o x.onnx", 1, "missing.json"),
        ("export train.csv -o x.onnx", 1, "train.csv"),
        ("export model.json -o nowhere/x.onnx", 1, "nowhere"),
        ("export model.json -o x.sql --float32", 2, "--float32 is for --format onnx"),
        ("export model.json -o x.py --portable", 2, "--portable is for --format onnx"),
        ("export model.json -o model.json", 2, "model.json"),
    ] {
        let outcome = sandbox.run(line);
        assert_eq!(outcome.code, code, "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{line}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{line}");
    }
    let outcome = sandbox.run("export model.json -o x.f90 --format fortran");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert_eq!(sandbox.read("model.json"), before);
    assert!(sandbox.leftovers().is_empty());
    for name in ["x.onnx", "x.sql", "x.py", "x.f90"] {
        assert!(!sandbox.path(name).exists(), "{name}");
    }
    let to_stdout = sandbox.succeed("export model.json -o - --format c").stdout;
    sandbox.succeed("export model.json -o model.c");
    assert_eq!(to_stdout, sandbox.read("model.c"));
}
