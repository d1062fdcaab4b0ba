//! Bad inputs: each message names file, line or row, column and value, says what to do, and leaves
//! existing outputs untouched.

mod common;

use common::{Sandbox, Transcript, gzip};

const GOOD: &str = "a,b,y\n1,2,no\n2,1,yes\n3,5,no\n4,3,yes\n5,9,no\n6,4,yes\n";
const PRECIOUS: &str = "written before, and not to be lost\n";

/// Runs commands that must fail with status 1, and looks after `out.json` each time.
struct Failing<'a> {
    sandbox: &'a Sandbox,
    transcript: Transcript<'a>,
}

impl<'a> Failing<'a> {
    fn new(name: &'static str, sandbox: &'a Sandbox) -> Self {
        sandbox.write("out.json", PRECIOUS);
        Self { sandbox, transcript: Transcript::new(name, sandbox) }
    }

    fn run(&mut self, line: &str) {
        let outcome = self.transcript.run(line);
        // 1: the data or a file is wrong; 2: the command line is.
        assert!([1, 2].contains(&outcome.code), "properloss {line}\n{}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "properloss {line}");
        for start in ["error: ", "hint: "] {
            let any = outcome.stderr.lines().any(|line| line.starts_with(start));
            assert!(any, "no {start:?}: properloss {line}\n{}", outcome.stderr);
        }
        assert_eq!(self.sandbox.read("out.json"), PRECIOUS, "properloss {line}");
        assert_eq!(self.sandbox.leftovers(), [""; 0], "properloss {line}");
    }

    /// One command a line.
    fn run_all(&mut self, lines: &str) {
        lines.lines().for_each(|line| self.run(line.trim_start()));
    }

    /// A file with this content, and a fit to it.
    fn fit(&mut self, name: &str, content: impl AsRef<[u8]>, more: &str) {
        self.sandbox.write(name, content);
        self.run(format!("fit {name} -o out.json {more}").trim_end());
    }

    fn check(self) {
        self.transcript.check();
    }
}

#[test]
fn tables() {
    let sandbox = Sandbox::new("bad-tables");
    let mut bad = Failing::new("bad-tables", &sandbox);
    bad.run("fit nowhere.csv -o out.json");
    bad.fit("empty.csv", "", "");
    bad.fit("header-only.csv", "a,b,y\n", "");
    bad.fit("short-row.csv", "a,b,y\n1,2,no\n1,yes\n", "");
    bad.fit("long-row.csv", "a,b,y\n1,2,no\n1,2,3,yes\n", "");
    bad.fit("text.csv", "a,b,y\n1,2,no\n2,1,yes\n3,lots,no\n4,3,yes\n5,8,no\n", "");
    bad.fit("nan.csv", "a,b,y\n1,2,no\nNaN,1,yes\n", "");
    bad.fit("infinite.csv", "a,b,y\n1,2,no\n2,inf,yes\n", "");
    bad.fit("hole.csv", "a,b,y\n1,2,no\n2,,yes\n", "");
    bad.fit("all-missing.csv", "a,b,y\n1,,no\n2,,yes\n", "--missing mean");
    bad.fit("dropped.csv", "a,b,y\n1,,no\n2,,yes\n", "--missing drop");
    bad.fit("one-class.csv", "a,b,y\n1,2,no\n2,1,no\n", "");
    bad.fit("three-classes.csv", "a,b,y\n1,2,no\n2,1,yes\n3,1,maybe\n", "");
    bad.fit("good.csv", GOOD, "--label z");
    bad.fit("good.csv", GOOD, "--weight w");
    bad.fit("good.csv", GOOD, "--ignore w");
    bad.fit("good.csv", GOOD, "--positive perhaps");
    bad.fit("good.csv", GOOD, "--positive yes --negative yes");
    bad.fit("good.csv", GOOD, "--label y --weight y");
    bad.fit("weights.csv", "a,w,y\n1,1,no\n2,-1,yes\n", "--weight w");
    bad.fit("zero-weights.csv", "a,w,y\n1,1,no\n2,0,yes\n", "--weight w");
    bad.fit("twice.csv", "a,a,y\n1,2,no\n2,1,yes\n", "");
    bad.fit("unnamed.csv", ",a,y\n0,2,no\n1,1,yes\n", "");
    bad.fit("no-header.csv", "1,2,0\n2,1,1\n", "");
    bad.fit("semicolons.csv", "a;b;y\n1;2;no\n2;1;yes\n", "");
    bad.fit("latin.csv", b"a,b,y\n1,2,n\xe4\n2,1,yes\n", "");
    let names = (0..300).map(|i| format!("name{i},{i},{}\n", i % 2)).collect::<String>();
    bad.fit("identifiers.csv", format!("id,a,y\n{names}"), "");
    bad.fit("data.xyz", GOOD, "");
    bad.check();
}

#[test]
fn other_formats() {
    let sandbox = Sandbox::new("bad-formats");
    let mut bad = Failing::new("bad-formats", &sandbox);
    let gzip = gzip(GOOD);
    bad.fit("cut.csv.gz", &gzip[..gzip.len() - 12], "");
    let mut damaged = gzip.clone();
    // The stored block's length no longer matches its complement.
    damaged[11] ^= 0xff;
    bad.fit("damaged.csv.gz", &damaged, "");
    bad.fit("images-idx3-ubyte", idx(&[3, 2, 2], &[0; 11]), "");
    bad.fit("pictures-idx3-ubyte", idx(&[3, 2, 2], &[0; 12]), "");
    sandbox.write("few-labels-idx1-ubyte", idx(&[2], &[0, 1]));
    bad.fit("few-images-idx3-ubyte", idx(&[3, 2, 2], &[0; 12]), "");
    sandbox.write("three-labels-idx1-ubyte", idx(&[3], &[0, 1, 2]));
    bad.fit("three-images-idx3-ubyte", idx(&[3, 2, 2], &[0; 12]), "");
    bad.fit("not.idx", "hello", "--format idx");
    bad.fit("pair.svm", "1 1:2 2\n0 1:1\n", "");
    bad.fit("order.svm", "1 2:2 1:1\n0 1:1\n", "");
    bad.fit("zero.svm", "1 0:2\n0 1:1\n", "");
    bad.fit("qid.svm", "1 qid:3 1:2\n0 1:1\n", "");
    bad.fit("cut.parquet", "PAR1 and nothing else", "");
    let parquet = include_bytes!("../../properloss-data/tests/fixtures/pandas-snappy.parquet");
    bad.fit("pandas.parquet", parquet, "--label nowhere");
    bad.check();
}

#[test]
fn models() {
    let sandbox = Sandbox::new("bad-models");
    sandbox.write("good.csv", GOOD);
    sandbox.succeed("fit good.csv -o model.json --loss-out loss.json --method logistic --l2 1");
    let model = sandbox.read("model.json");
    sandbox.write("newer.json", model.replacen("\"version\": 1", "\"version\": 3", 1));
    // Cut at a place that no digit of a float moves.
    sandbox.write("cut.json", &model[..model.find("\"link\"").expect("a model has a link")]);
    sandbox.write("unknown-link.json", model.replacen("\"sigmoid\"", "\"sigmund\"", 1));
    for (name, u) in [("falling.json", "0, 1.5, 1"), ("short-link.json", "0, 0.5, 0.9")] {
        let link = format!("{{\"kind\": \"piecewise\", \"z\": [0, 1, 2], \"u\": [{u}]}}");
        let file = format!("{{\"format\": \"properloss-loss\", \"version\": 1, \"link\": {link}}}");
        sandbox.write(name, file);
    }
    let relative = r#"{"format": "properloss-loss", "version": 1, "link": {"kind": "relative",
        "base": {"kind": "builtin", "name": "sigmoid"}, "p": [0, 1], "v": [0.1, 0.9]}}"#;
    for (name, content) in [
        ("empty.json", ""),
        ("other.json", "{\"hello\": 1}\n"),
        ("bounded.json", relative),
        ("renamed.csv", "a,c,y\n1,2,no\n"),
        ("text.csv", "a,b,y\n1,2,no\n2,many,yes\n"),
        ("hole.csv", "a,b\n1,2\n,3\n"),
        ("ragged.csv", "a,b\n1,2\n1\n"),
        ("header-only.csv", "a,b\n"),
        ("classes.csv", "a,b,y\n1,2,no\n2,1,perhaps\n"),
        ("no-label.csv", "a,b\n1,2\n"),
        ("wide.svm", "1 1:2 3:1\n"),
        ("colours.csv", "c,y\nred,0\nblue,1\nred,0\nblue,1\n"),
        ("green.csv", "c\nred\ngreen\n"),
    ] {
        sandbox.write(name, content);
    }
    sandbox.succeed("fit colours.csv -o colours.json --method logistic --l2 1");
    let mut bad = Failing::new("bad-models", &sandbox);
    bad.run_all(
        "predict newer.json good.csv -o out.json
        predict cut.json good.csv -o out.json
        predict loss.json good.csv -o out.json
        inspect good.csv
        inspect nowhere.json
        predict good.csv model.json -o out.json
        transfer empty.json good.csv -o out.json
        evaluate other.json good.csv
        predict unknown-link.json good.csv -o out.json
        transfer falling.json good.csv -o out.json
        transfer short-link.json good.csv -o out.json
        transfer bounded.json good.csv -o out.json --l2 0 --loss-kind canonical
        predict model.json renamed.csv -o out.json
        predict model.json text.csv -o out.json
        predict model.json hole.csv -o out.json
        predict model.json ragged.csv -o out.json
        predict model.json header-only.csv -o out.json
        evaluate model.json classes.csv
        evaluate model.json no-label.csv
        predict model.json wide.svm -o out.json
        predict colours.json green.csv -o out.json --unknown-category error
        predict colours.json wide.svm -o out.json",
    );
    bad.check();
}

#[test]
fn options_and_outputs() {
    let sandbox = Sandbox::new("bad-options");
    sandbox.write("good.csv", GOOD);
    sandbox.write("p.csv", "p,y\n0.1,0\n0.7,1\n0.2,0\n0.9,1\n0.4,1\n0.3,0\n");
    sandbox.write("q.csv", "p,y\n0.1,0\n1.7,1\n0.2,0\n0.9,1\n");
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let mut bad = Failing::new("bad-options", &sandbox);
    bad.run_all(
        "fit good.csv -o nowhere/model.json
        fit good.csv -o folder
        fit good.csv -o out.json --loss-out out.json
        fit good.csv -o out.json --loss-out nowhere/loss.json
        fit good.csv -o out.json --method labels --max-iter 0
        fit good.csv -o out.json --method labels --tol nan
        fit good.csv -o out.json --method labels --step 0
        fit good.csv -o out.json --step quickly
        fit good.csv -o out.json --method labels --slope-min 2 --slope-max 1
        fit good.csv -o out.json --method labels --kappa 2
        fit good.csv -o out.json --method labels --l2=-1
        fit good.csv -o out.json --method labels --max-norm 0
        fit good.csv -o out.json --method labels --link sigmoid
        fit good.csv -o out.json --method glmtron --link sigmund
        fit good.csv -o out.json --method glmtron --link clipped-line:1
        fit good.csv -o out.json --method glmtron --link clipped-line:one,2
        fit good.csv -o out.json --method canonical
        fit good.csv -o out.json --method canonical --link cauchy --loss-kind canonical --l2 0
        fit good.csv -o out.json --method logistic --slope-min 0.1
        fit good.csv -o out.json --certificate c.json --method labels
        fit good.csv -o out.json --certified --certificate c.txt
        fit good.csv -o out.json --certified --theta 1
        fit good.csv -o out.json --max-iter 10
        fit good.csv -o out.json --cv 1
        fit good.csv -o out.json --class-weight 1
        fit good.csv -o out.json --class-weight 0,1
        fit good.csv -o out.json --test-share 1
        fit good.csv -o out.json --delimiter ab
        fit good.csv -o out.json --threads 0
        fit good.csv
        fit good.csv -o out.json --method lables
        fit good.csv -o out.json --slope-mim 1
        fot good.csv
        compare good.csv --folds 1
        compare good.csv --folds 4
        compare good.csv --method labels
        calibrate good.csv -o out.json
        calibrate good.csv -o out.json --score c
        calibrate good.csv -o out.json --score y
        calibrate p.csv --model out.csv
        calibrate q.csv -o out.json --kind probabilities
        predict model.json good.csv --threshold 2 -o out.json
        synth --rows 0 -o out.csv
        synth single-index --noise 0.5 -o out.csv
        synth single-index --floor 0.9 --ceiling 0.1 -o out.csv
        demo --out good.csv",
    );
    bad.check();
}

/// An IDX file of unsigned bytes.
fn idx(shape: &[u32], values: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0, 8, u8::try_from(shape.len()).unwrap()];
    for size in shape {
        out.extend(size.to_be_bytes());
    }
    out.extend(values);
    out
}

#[test]
fn the_gzip_of_this_test_is_gzip() {
    let sandbox = Sandbox::new("good-gzip");
    sandbox.write("good.csv.gz", gzip(GOOD));
    sandbox.succeed("fit good.csv.gz -o model.json --method logistic --l2 1");
}
