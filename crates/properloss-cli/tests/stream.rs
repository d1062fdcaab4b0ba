//! `fit` through blocks on disk: the model of rows in memory, caches, bad input.

mod common;

use std::fs;
use std::process::{Command, Stdio};

use common::{Outcome, Sandbox, gzip};
use serde_json::Value;

const PARQUET: &[u8] = include_bytes!("../../properloss-data/tests/fixtures/pandas-snappy.parquet");

/// Numbers from a fixed stream.
struct Stream(Box<dyn FnMut() -> f64>);

impl Stream {
    fn new(seed: u64) -> Self {
        Self(Box::new(common::uniform(seed)))
    }

    fn uniform(&mut self) -> f64 {
        (self.0)()
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A table of numbers, one column of texts, a weight and a label; the link is not the sigmoid.
fn table(rows: usize, seed: u64, delimiter: char) -> String {
    let mut stream = Stream::new(seed);
    let mut text = "age,income,place,w,bought\n".replace(',', &delimiter.to_string());
    for _ in 0..rows {
        let (a, b) = (stream.normal(), stream.normal());
        let place = ["north", "south", "west"][(3.0 * stream.uniform()) as usize];
        let z = 1.5 * a - b + f64::from(u8::from(place == "south"));
        let p = 0.05 + 0.9 / (1.0 + (-2.0 * z).exp());
        let y = if stream.uniform() < p { "yes" } else { "no" };
        let w = (3.0 * stream.uniform()) as usize;
        let row = format!("{a:.4},{b:.4},{place},{w},{y}\n");
        text.push_str(&row.replace(',', &delimiter.to_string()));
    }
    text
}

/// `a.csv` and `b.csv`, each of so many rows from a stream.
fn two_tables(name: &str, a: (usize, u64), b: (usize, u64)) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.write("a.csv", table(a.0, a.1, ','));
    sandbox.write("b.csv", table(b.0, b.1, ','));
    sandbox
}

/// The same kind of rows as a LibSVM file; `numbered`: columns far apart.
fn sparse(rows: usize, numbered: bool) -> String {
    let mut stream = Stream::new(11);
    let far = if numbered { 1_000_000 } else { 0 };
    let mut text = String::new();
    for _ in 0..rows {
        let (a, b) = (stream.normal(), stream.normal());
        let y = u8::from(stream.uniform() < 1.0 / (1.0 + (b - a).exp()));
        text.push_str(&format!("{y} 1:{a:.4}"));
        if stream.uniform() < 0.7 {
            text.push_str(&format!(" {}:{b:.3}", 3 + far));
        }
        text.push('\n');
    }
    text
}

fn fails(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.code, code, "{}", outcome.stderr);
    for words in words {
        assert!(outcome.stderr.contains(words), "{words:?} is not in\n{}", outcome.stderr);
    }
}

/// Everything in the folder but the named inputs.
fn others(sandbox: &Sandbox, inputs: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(&sandbox.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !inputs.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

/// The model without where its rows came from.
fn without_source(text: &str) -> Value {
    let mut model: Value = serde_json::from_str(text).unwrap();
    model["fitted"]["data"]["source"] = Value::Null;
    model
}

/// The program under a limit of the shell, such as `ulimit -d 100000`.
fn limited(sandbox: &Sandbox, limit: &str, line: &str) -> Outcome {
    let program = env!("CARGO_BIN_EXE_properloss");
    let output = Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; {limit}; exec {program} {line}")])
        .current_dir(&sandbox.folder)
        .env("NO_COLOR", "1")
        .env("TMPDIR", &sandbox.folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn one_block_has_the_bits_of_rows_in_memory() {
    let sandbox = Sandbox::new("stream-one-block");
    let csv = table(900, 3, ',');
    sandbox.write("a.csv", &csv);
    sandbox.write("a.csv.gz", gzip(&csv));
    sandbox.write("a.tsv", table(900, 3, '\t'));
    sandbox.write("a.svm", sparse(900, false));
    sandbox.write("far.svm", sparse(900, true));
    sandbox.write("a.parquet", PARQUET);
    for (file, options) in [
        ("a.csv", "--ignore w"),
        ("a.csv", "--weight w"),
        ("a.csv", "--weight w --class-weight balanced --single-precision"),
        ("a.csv.gz", "--ignore w"),
        ("a.tsv", "--ignore w"),
        ("a.svm", ""),
        ("far.svm", ""),
        ("a.parquet", "--ignore u64,when"),
    ] {
        let _ = fs::remove_dir_all(sandbox.path("cache"));
        sandbox.succeed(&format!("fit {file} -o memory.json {options}"));
        let streamed =
            sandbox.succeed(&format!("fit {file} -o blocks.json --cache cache {options}"));
        assert!(streamed.stderr.contains("rows in 1 block(s) on disk"), "{}", streamed.stderr);
        assert!(
            sandbox.read("memory.json") == sandbox.read("blocks.json"),
            "{file} {options}: the models differ"
        );
    }
}

#[test]
fn metrics_and_tests_are_those_of_memory() {
    let sandbox = two_tables("stream-metrics", (3000, 3), (800, 5));
    let line = "fit a.csv --test b.csv --weight w --json -o";
    let memory = sandbox.succeed(&format!("{line} m.json")).json();
    let blocks = sandbox.succeed(&format!("{line} m.json --cache cache")).json();
    for part in ["train", "test"] {
        for (name, tolerance) in [
            ("log_loss", 1e-12),
            ("brier", 1e-12),
            ("accuracy", 1e-12),
            ("auc", 1e-5),
            ("ece", 1e-3),
        ] {
            let value = |json: &Value| json["metrics"][part][name].as_f64().unwrap();
            let (a, b) = (value(&memory), value(&blocks));
            assert!((a - b).abs() <= tolerance, "{part} {name}: {a} and {b}");
        }
    }
    assert_eq!(memory["proper"], blocks["proper"]);
    // Weights that cannot be meant as counts are asked about here too.
    let text = sandbox.read("a.csv");
    let small = |line: &str| line.replace(",1,", ",0.01,").replace(",2,", ",0.02,");
    sandbox.write("small.csv", text.lines().map(|line| small(line) + "\n").collect::<String>());
    let outcome = sandbox.succeed("fit small.csv --weight w -o m.json --cache other");
    assert!(outcome.stderr.contains("warning: the weights of the"), "{}", outcome.stderr);
}

/// Rows that do not fit go through temporary blocks, several of them, and the model is the same but
/// for roundings.
#[test]
fn several_blocks_differ_by_roundings() {
    let sandbox = Sandbox::new("stream-several");
    let text = table(400_000, 3, ',');
    sandbox.write("a.csv", &text);
    sandbox.write("few.csv", table(500, 9, ','));
    sandbox.succeed("fit a.csv -o memory.json --ignore w");
    let streamed =
        sandbox.run_with("fit - -o blocks.json --ignore w --memory 32MB", text.as_bytes());
    assert_eq!(streamed.code, 0, "{}", streamed.stderr);
    assert!(streamed.stderr.contains("block(s) on disk"), "{}", streamed.stderr);
    assert!(!streamed.stderr.contains("in 1 block"), "{}", streamed.stderr);
    let probabilities = |model: &str| -> Vec<f64> {
        let outcome = sandbox.succeed(&format!("predict {model} few.csv"));
        outcome.stdout.lines().skip(1).map(|line| line.parse().unwrap()).collect()
    };
    let (memory, blocks) = (probabilities("memory.json"), probabilities("blocks.json"));
    assert_eq!(memory.len(), 500);
    let furthest = memory.iter().zip(&blocks).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(furthest <= 1e-4, "{furthest}");
    let loss = |model: &str| {
        let outcome = sandbox.succeed(&format!("evaluate {model} a.csv --json"));
        outcome.json()["log_loss"].as_f64().unwrap()
    };
    let difference = (loss("memory.json") - loss("blocks.json")).abs();
    assert!(difference <= 1e-6, "{difference}");
    let names = ["a.csv", "few.csv", "memory.json", "blocks.json"];
    assert_eq!(others(&sandbox, &names), Vec::<String>::new());
}

#[test]
fn several_files_are_one() {
    let sandbox = Sandbox::new("stream-files");
    let text = table(900, 3, ',');
    let lines: Vec<&str> = text.lines().collect();
    let header = lines[0];
    sandbox.write("all.csv", &text);
    sandbox.write("part-1.csv", lines[..300].join("\n"));
    sandbox.write("part-2.csv.gz", gzip(&format!("{header}\n{}\n", lines[300..700].join("\n"))));
    // Columns are found by name; a file may have none of the rows.
    let turned: Vec<String> =
        lines[700..].iter().map(|line| line.rsplit(',').collect::<Vec<_>>().join(",")).collect();
    sandbox.write("part-3.csv", format!("bought,w,place,income,age\n{}\n", turned.join("\n")));
    sandbox.write("part-4.csv", format!("{header}\n"));
    let whole = "--ignore w --label bought -o";
    sandbox.succeed(&format!("fit all.csv {whole} all.json"));
    sandbox.succeed(&format!("fit 'part-*' {whole} pattern.json"));
    sandbox
        .succeed(&format!("fit part-1.csv part-2.csv.gz part-3.csv part-4.csv {whole} named.json"));
    sandbox.succeed(&format!("fit 'part-*' {whole} blocks.json --cache cache"));
    let expected = without_source(&sandbox.read("all.json"));
    for name in ["pattern.json", "named.json", "blocks.json"] {
        assert_eq!(without_source(&sandbox.read(name)), expected, "{name}");
    }
    let source = |name| {
        let model: Value = serde_json::from_str(&sandbox.read(name)).unwrap();
        model["fitted"]["data"]["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(source("pattern.json"), "part-*");
    assert_eq!(source("named.json"), "part-1.csv and 3 more");

    sandbox.write("s-1.svm", sparse(900, false).lines().take(400).collect::<Vec<_>>().join("\n"));
    sandbox.write("s-2.svm", sparse(900, false).lines().skip(400).collect::<Vec<_>>().join("\n"));
    sandbox.write("s.svm", sparse(900, false));
    sandbox.succeed("fit s.svm -o one.json");
    sandbox.succeed("fit 's-?.svm' -o two.json");
    assert_eq!(
        without_source(&sandbox.read("one.json")),
        without_source(&sandbox.read("two.json"))
    );
}

#[test]
fn a_cache_is_used_again_and_refused_when_it_is_stale() {
    let sandbox = two_tables("stream-cache", (900, 3), (900, 4));
    let fit = "fit a.csv --ignore w --cache kept -o";
    let first = sandbox.succeed(&format!("{fit} first.json"));
    assert!(first.stderr.contains("kept/rows.blocks"), "{}", first.stderr);
    let second = sandbox.succeed(&format!("{fit} second.json"));
    assert!(second.stderr.contains("rows from the cache kept/rows.blocks"), "{}", second.stderr);
    assert_eq!(sandbox.read("first.json"), sandbox.read("second.json"));
    // Another option of the method is another fit of the same rows.
    let third = sandbox.succeed(&format!("{fit} third.json --cv 4"));
    assert!(third.stderr.contains("rows from the cache"), "{}", third.stderr);

    let stale = "this cache does not belong to the command";
    let outcome = sandbox.run("fit b.csv --ignore w --cache kept -o never.json");
    fails(&outcome, 1, &[stale, "it was made of a.csv, not of b.csv", "remove kept/rows.blocks"]);
    let outcome = sandbox.run("fit a.csv --weight w --cache kept -o never.json");
    fails(&outcome, 1, &[stale, "other options of the data"]);
    let outcome = sandbox.run("fit a.csv b.csv --ignore w --cache kept -o never.json");
    fails(&outcome, 1, &[stale, "it was made of 1 file(s), not 2"]);
    let outcome = sandbox.run("fit - --ignore w --cache kept -o never.json");
    fails(&outcome, 2, &["standard input cannot be recognised again"]);

    // Damage: a value, the end, the header.
    let whole = fs::read(sandbox.path("kept/rows.blocks")).unwrap();
    let mut changed = whole.clone();
    let middle = whole.len() / 2;
    changed[middle] ^= 1;
    sandbox.write("kept/rows.blocks", &changed);
    let outcome = sandbox.run(&format!("{fit} never.json"));
    fails(&outcome, 1, &["kept/rows.blocks", "block 1 of 1 is not what was written"]);
    sandbox.write("kept/rows.blocks", &whole[..whole.len() - 100]);
    let outcome = sandbox.run(&format!("{fit} never.json"));
    fails(&outcome, 1, &["kept/rows.blocks", "it ends early", "remove kept/rows.blocks"]);
    sandbox.write("kept/rows.blocks", "something else");
    let outcome = sandbox.run(&format!("{fit} never.json"));
    fails(&outcome, 1, &["it is no file of blocks of this version"]);

    // The same length, another content.
    sandbox.write("kept/rows.blocks", &whole);
    let text = sandbox.read("a.csv");
    sandbox.write("a.csv", text.replacen("south", "north", 1));
    let outcome = sandbox.run(&format!("{fit} never.json"));
    fails(&outcome, 1, &[stale, "a.csv has changed since it was made"]);
    assert!(!sandbox.path("never.json").exists());
    assert_eq!(sandbox.leftovers(), Vec::<String>::new());
}

#[test]
fn bad_parts_are_named_and_leave_nothing() {
    let sandbox = Sandbox::new("stream-bad-parts");
    let text = table(300, 3, ',');
    sandbox.write("p-1.csv", &text);
    sandbox.write("p-2.csv", text.replace("income", "salary"));
    let fit =
        |files: &str| sandbox.run(&format!("fit {files} --cache kept -o never.json --ignore w"));
    let outcome = fit("p-1.csv p-2.csv");
    fails(
        &outcome,
        1,
        &[
            "p-2.csv: it cannot be read after p-1.csv",
            "it has the columns \"salary\" instead of \"income\"",
        ],
    );
    sandbox.write("p-2.csv", text.lines().map(|line| format!("{line},1\n")).collect::<String>());
    fails(&fit("p-1.csv p-2.csv"), 1, &["p-2.csv", "it has the further columns \"1\""]);
    sandbox.write("p-2.csv", text.replace(",w,bought", ",w\n"));
    fails(&fit("p-1.csv p-2.csv"), 1, &["p-2.csv", "it lacks the columns \"bought\""]);
    let packed = gzip(&text);
    sandbox.write("p-3.csv.gz", &packed[..packed.len() / 2]);
    fails(&fit("p-1.csv p-3.csv.gz"), 1, &["p-3.csv.gz: the gzip data is cut short"]);
    sandbox.write("p-4.csv", text.replacen("south", "", 1));
    fails(&fit("p-1.csv p-4.csv"), 1, &["p-4.csv, line", "column \"place\": missing value"]);
    fails(&fit("p-1.csv 'q-*.csv'"), 1, &["q-*.csv: no file has such a name"]);
    fails(&fit("p-1.csv -"), 2, &["standard input cannot be read together with files"]);

    for name in ["i-1", "i-2"] {
        sandbox
            .write(&format!("{name}-idx3-ubyte"), [&[0, 0, 8, 3][..], &[0; 11], &[1; 2]].concat());
    }
    let outcome = sandbox.run("fit i-1-idx3-ubyte i-2-idx3-ubyte -o never.json");
    fails(&outcome, 1, &["i-2-idx3-ubyte", "images are read from one file"]);

    // A Parquet file that ends early, and one whose second row group is damaged.
    sandbox.write("a.parquet", PARQUET);
    sandbox.write("b.parquet", &PARQUET[..PARQUET.len() - 200]);
    let outcome =
        sandbox.run("fit a.parquet b.parquet --ignore u64,when --cache kept -o never.json");
    fails(&outcome, 1, &["b.parquet: not a readable Parquet file"]);
    let mut damaged = PARQUET.to_vec();
    let end = damaged.len();
    // The pages of the second group stand before the footer.
    let footer = u32::from_le_bytes(damaged[end - 8..end - 4].try_into().unwrap()) as usize;
    damaged[end - 8 - footer - 700..end - 8 - footer - 300].fill(0xff);
    sandbox.write("b.parquet", damaged);
    let outcome =
        sandbox.run("fit a.parquet b.parquet --ignore u64,when --cache kept -o never.json");
    fails(&outcome, 1, &["b.parquet: not a readable Parquet file: row group 2 of 2"]);
    assert!(!sandbox.path("never.json").exists());
    assert!(!sandbox.path("kept/rows.blocks").exists());
    assert_eq!(sandbox.leftovers(), Vec::<String>::new());
}

/// A file that may not grow further stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_and_a_directory_that_cannot_be_written() {
    let sandbox = Sandbox::new("stream-full");
    sandbox.write("a.csv", table(20_000, 3, ','));
    sandbox.write("taken", "a file");
    let outcome =
        limited(&sandbox, "ulimit -f 200", "fit a.csv --ignore w --cache kept -o never.json");
    fails(&outcome, 1, &["kept/rows.blocks: cannot write", "the disk is full"]);
    assert_eq!(fs::read_dir(sandbox.path("kept")).unwrap().count(), 0);
    let outcome = sandbox.run("fit a.csv --ignore w --cache taken -o never.json");
    fails(&outcome, 1, &["taken: cannot write"]);
    let outcome = sandbox.run("fit a.csv --ignore w --cache taken/inner -o never.json");
    fails(&outcome, 1, &["taken/inner"]);
    assert_eq!(others(&sandbox, &["a.csv", "taken", "kept"]), Vec::<String>::new());
}

/// One block has the bits of memory; several give the same minimum, or (counted scores) nearly the same link.
#[test]
fn other_methods_stream_too_and_say_their_rounds() {
    let sandbox = Sandbox::new("stream-methods");
    sandbox.write("a.csv", table(3000, 3, ','));
    let large = table(250_000, 3, ',');
    sandbox.write("large.csv", &large);
    for (method, tolerance) in [("logistic", 1e-9), ("labels", 2e-3)] {
        let options = format!("--method {method} --ignore w");
        sandbox.succeed(&format!("fit a.csv -o memory.json {options}"));
        sandbox.succeed(&format!("fit a.csv -o blocks.json --cache kept {options}"));
        assert_eq!(sandbox.read("memory.json"), sandbox.read("blocks.json"), "{method}");
        let options = format!("large.csv {options} --json --max-iter 20");
        let memory = sandbox.succeed(&format!("fit {options} -o memory.json"));
        let blocks = sandbox.succeed(&format!("fit {options} -o blocks.json --memory 24MB"));
        let [memory, blocks]: [Value; 2] =
            [memory, blocks].map(|said| serde_json::from_str(&said.stdout).unwrap());
        assert!(memory["rounds"].is_null());
        let (rounds, iterations) =
            (blocks["rounds"].as_u64().unwrap(), blocks["iterations"].as_u64().unwrap());
        assert!(rounds >= iterations && rounds <= 2 * iterations + 4, "{rounds} {iterations}");
        let loss = |said: &Value| said["metrics"]["train"]["log_loss"].as_f64().unwrap();
        assert!((loss(&memory) - loss(&blocks)).abs() < tolerance, "{method}");
    }
}

#[test]
fn what_cannot_be_streamed_says_so() {
    let sandbox = Sandbox::new("stream-not");
    sandbox.write("a.csv", table(300, 3, ','));
    for (options, words) in [
        ("--method slisotron", "--method slisotron needs all rows in memory"),
        ("--certified", "--method certified needs all rows in memory"),
        ("--test-share 0.2", "--test-share needs all rows in memory"),
        ("--test-last 0.2", "--test-last needs all rows in memory"),
        ("--group place", "--group needs all rows in memory"),
        ("--weight w --relative-weights", "--relative-weights needs all rows in memory"),
    ] {
        let outcome = sandbox.run(&format!("fit a.csv -o never.json --cache kept {options}"));
        fails(&outcome, 1, &["--cache keeps rows in blocks", words]);
    }
    let outcome =
        sandbox.run("fit a.csv -o never.json --cache kept --label place --ignore w,bought");
    fails(&outcome, 1, &["the label has 3 classes", "choose two with --negative and --positive"]);
    let two = "--label place --ignore w,bought --negative north --positive south";
    sandbox.succeed(&format!("fit a.csv -o memory.json {two}"));
    sandbox.succeed(&format!("fit a.csv -o blocks.json --cache kept {two}"));
    assert_eq!(sandbox.read("memory.json"), sandbox.read("blocks.json"));
}

/// Under a real limit: rows that do not fit are noticed before they are taken, the sentence names
/// `--memory`, and with it the same rows fit.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_noticed_before_it_is_taken() {
    let sandbox = Sandbox::new("stream-limit");
    sandbox.write("a.csv", table(400_000, 3, ','));
    let (limit, fit) = ("ulimit -d 45000", "fit a.csv --ignore w -o");
    let outcome = limited(&sandbox, limit, &format!("{fit} never.json"));
    fails(&outcome, 1, &["a.csv: fitting proper takes about", "pass --memory"]);
    // Less than the rows themselves take.
    let outcome = limited(&sandbox, "ulimit -d 14000", &format!("{fit} never.json"));
    fails(&outcome, 1, &["a.csv: reading it takes", "pass --memory"]);
    assert!(!sandbox.path("never.json").exists());
    let outcome = limited(&sandbox, limit, &format!("{fit} model.json --memory 32MB --threads 2"));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("block(s) on disk"), "{}", outcome.stderr);
    // A disk that is full before the temporary blocks are written.
    let outcome = limited(&sandbox, "ulimit -f 2000", &format!("{fit} never.json --memory 32MB"));
    fails(&outcome, 1, &[".blocks: cannot write", "the disk is full"]);
    assert_eq!(others(&sandbox, &["a.csv", "model.json"]), Vec::<String>::new());
}
