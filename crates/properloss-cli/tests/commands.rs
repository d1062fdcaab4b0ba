//! Every command, as a transcript of exit status, stdout and stderr.

mod common;

use common::{Sandbox, Transcript};

/// Numbers, a category, a weight and a text label.
const TABLE: &str = "\
age,colour,income,weight,bought
23,red,1.5,1,no
45,blue,3.25,2,yes
31,red,2.0,1,no
52,green,4.5,1,yes
36,blue,2.5,1,no
48,green,3.75,1,yes
27,red,1.75,1,no
41,blue,3.0,1,no
58,green,5.0,1,yes
39,green,2.75,2,yes
";

fn sandbox(name: &str) -> Sandbox {
    let sandbox = Sandbox::new(name);
    sandbox.write("table.csv", TABLE);
    sandbox.succeed("synth gaussians --rows 300 --seed 1 -o train.csv");
    sandbox.succeed("synth gaussians --rows 200 --seed 2 -o test.csv");
    sandbox
}

#[test]
fn synth() {
    let sandbox = Sandbox::new("synth");
    let mut transcript = Transcript::new("synth", &sandbox);
    transcript.run("synth gaussians --rows 4 --seed 1");
    transcript.run("synth gaussians-unit-norm --rows 2 --seed 1 --bayes");
    transcript.run(
        "synth single-index --rows 3 --features 2 --link cloglog --noise 0.1 --floor 0.05 \
         --ceiling 0.9 --intercept -1 --seed 5",
    );
    transcript.run("synth --rows 5 -o five.csv");
    transcript.check();
    assert_eq!(sandbox.read("five.csv").lines().count(), 6);
}

#[test]
fn fit_and_what_follows() {
    let sandbox = sandbox("fit");
    let mut transcript = Transcript::new("fit", &sandbox);
    transcript.run(
        "fit train.csv -o model.json --loss-out loss.json --test test.csv --method labels \
         --max-iter 20",
    );
    transcript.run("transfer loss.json test.csv -o transferred.json --l2 0.001");
    transcript.run("fit train.csv -o logistic.json --method logistic --test-share 0.25 --seed 3");
    transcript.run("evaluate logistic.json test.csv --plot reliability.svg");
    transcript.run("inspect logistic.json");
    transcript.run("predict logistic.json test.csv --columns probability,score,class -o p.csv");
    transcript.check();
    for name in ["model.json", "loss.json", "transferred.json", "reliability.svg"] {
        assert!(sandbox.path(name).exists(), "{name}");
    }
    let svg = sandbox.read("reliability.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(sandbox.read("p.csv").lines().count(), 201);
    assert!(sandbox.leftovers().is_empty());
}

#[test]
fn columns_of_every_kind() {
    let sandbox = sandbox("columns");
    let mut transcript = Transcript::new("columns", &sandbox);
    transcript.run("fit table.csv -o m.json --method logistic --l2 0.1 --weight weight");
    transcript.run("inspect m.json");
    transcript.run("predict m.json table.csv --columns class");
    sandbox.write("new.csv", "income,colour,age\n2.0,purple,30\n");
    transcript.run("predict m.json new.csv --unknown-category zeros --columns class");
    transcript
        .run("fit table.csv -o m2.json --method logistic --l2 0.1 --ignore weight --positive no");
    transcript.run("fit table.csv -o m3.json --method logistic --l2 1 --label age --negative 23,27 --positive 58");
    transcript.check();
}

#[test]
fn every_method() {
    let sandbox = sandbox("methods");
    let mut transcript = Transcript::new("methods", &sandbox);
    // Few iterations: far from any rule that rounding could tip, so the same on every machine.
    transcript.run(
        "compare train.csv --test test.csv --methods labels,refit,slisotron,glmtron,logistic \
         --max-iter 20",
    );
    transcript.run("compare train.csv --folds 3 --methods logistic --l2 0.01 --seed 4");
    transcript.run("fit train.csv -o c.json --method canonical --link probit");
    transcript
        .run("fit train.csv -o r.json --method refit --max-iter 3 --step paper --scaling max-norm");
    transcript.run("fit train.csv -o s.json --method slisotron --isotonic lipschitz --scaling unit-rows --quiet");
    transcript.check();
    for method in ["labels", "refit", "bregmantron", "approx", "certified", "slisotron", "glmtron"]
    {
        let line =
            format!("fit train.csv -o {method}.json --method {method} --max-iter 30 --json -q");
        let json = sandbox.succeed(&line).json();
        assert_eq!(json["method"], method);
        let auc = json["metrics"]["train"]["auc"].as_f64().unwrap();
        assert!((0.5..=1.0).contains(&auc), "{method}: {auc}");
        sandbox.succeed(&format!("inspect {method}.json --plot {method}.svg"));
        sandbox.succeed(&format!("evaluate {method}.json test.csv"));
    }
}

#[test]
fn calibrate() {
    let sandbox = sandbox("calibrate");
    sandbox.succeed("synth --rows 2000 --seed 5 --bayes -o scores.csv");
    let mut transcript = Transcript::new("calibrate", &sandbox);
    transcript.run("calibrate scores.csv --score bayes -o p.csv");
    transcript.run("calibrate scores.csv --score x1 -o q.csv --model q.json --cv 3");
    transcript.run("calibrate scores.csv --score x1 --apply test.csv -o r.csv");
    transcript.check();
    let numbers = |name: &str, column: usize| -> Vec<f64> {
        let text = sandbox.read(name);
        let column = text.lines().skip(1).map(|line| line.split(',').nth(column).unwrap());
        column.map(|number| number.parse().unwrap()).collect()
    };
    // The ranking is strictly kept, and no probability is 0 or 1.
    for (out, column) in [("p.csv", 2), ("q.csv", 0)] {
        let (from, to) = (numbers("scores.csv", column), numbers(out, 0));
        let mut order: Vec<usize> = (0..from.len()).collect();
        order.sort_by(|&a, &b| from[a].total_cmp(&from[b]));
        for pair in order.windows(2) {
            let kept = from[pair[0]] == from[pair[1]] || to[pair[0]] < to[pair[1]];
            assert!(kept, "{out}: {pair:?}");
        }
        assert!(to.iter().all(|p| 0.0 < *p && *p < 1.0));
    }
    // The model gives the same probabilities; it clips nothing, so to rounding.
    let predicted = sandbox.succeed("predict q.json scores.csv").stdout;
    for (ours, theirs) in predicted.lines().skip(1).zip(numbers("q.csv", 0)) {
        assert!((ours.parse::<f64>().unwrap() - theirs).abs() < 1e-15);
    }
    assert_eq!(numbers("r.csv", 0).len(), 200);
}

#[test]
fn the_default_method() {
    let sandbox = sandbox("default");
    let json = sandbox.succeed("fit train.csv -o m.json --test test.csv --json").json();
    assert_eq!(json["method"], "proper");
    let [plain, _, result]: [f64; 3] =
        serde_json::from_value(json["proper"]["held_out_log_loss"].clone()).unwrap();
    // The sigmoid is the true link here: the average can cost little, and never log tau.
    assert!((result - plain).abs() < 0.02, "{plain} {result}");
    let weights: f64 = json["proper"]["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["weight"].as_f64().unwrap())
        .sum();
    assert!((weights - 1.0).abs() < 1e-12);
    let text = sandbox.succeed("inspect m.json").stdout;
    assert!(text.contains("relative to sigmoid"), "{text}");
    for options in ["--refit none", "--cv 3 --seed 4", "--class-weight balanced"] {
        let other = sandbox.succeed(&format!("fit train.csv -o n.json {options} --json")).json();
        assert_ne!(other["options"], json["options"], "{options}");
    }
}

#[test]
fn certified() {
    let sandbox = sandbox("certified");
    let line = "fit train.csv -o m.json --certified --max-iter 12 --certificate c.json \
                --certificate c.csv --certificate c.svg";
    let outcome = sandbox.succeed(line);
    assert!(outcome.stdout.contains("the claimed decrease held in 12 of 12 iterations"));
    let json: serde_json::Value = serde_json::from_str(&sandbox.read("c.json")).unwrap();
    let rows = json.as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        // The claim is checked to rounding: both are sums of 300 terms of size 1.
        assert!(row["observed"].as_f64().unwrap() >= row["claimed"].as_f64().unwrap() - 1e-12);
    }
    assert_eq!(sandbox.read("c.csv").lines().count(), 13);
    assert!(sandbox.read("c.svg").contains("Gap of the mean operators"));
}

#[test]
fn inspect_of_a_learned_loss() {
    let sandbox = Sandbox::new("inspect");
    // By hand, so that every number of the transcript can be checked: slopes 1/2, 1/4, 1/2;
    // u(0) = 0.5; the loss if 0 at p = 0.5 is the area under the link up to 0.
    let loss = r#"{"format": "properloss-loss", "version": 1,
        "link": {"kind": "piecewise", "z": [-1.5, -1, 1, 1.5], "u": [0, 0.25, 0.75, 1]}}"#;
    sandbox.write("loss.json", loss);
    let mut transcript = Transcript::new("inspect", &sandbox);
    transcript.run("inspect loss.json --plot loss.svg");
    transcript.check();
    let json = sandbox.succeed("inspect loss.json --json").json();
    assert_eq!(json["u_0"], 0.5);
    assert_eq!((json["slope_min"].as_f64(), json["slope_max"].as_f64()), (Some(0.25), Some(0.5)));
    assert_eq!(json["asymmetry"], 0.0);
    let half = json["losses"].as_array().unwrap().iter().find(|row| row["p"] == 0.5).unwrap();
    // 0.5 * 0.25 / 2 + 1 * (0.25 + 0.5) / 2
    assert_eq!(half["loss_0"], 0.4375);
    assert_eq!(half["weight"], 4.0);
    let svg = sandbox.read("loss.svg");
    assert!(svg.contains("Losses") && !svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn help_and_completions() {
    let sandbox = Sandbox::new("help");
    let mut transcript = Transcript::new("help", &sandbox);
    for line in ["--help", "--version", "inspect --help", "data get --help", ""] {
        transcript.run(line);
    }
    transcript.check();
    for shell in ["bash", "zsh", "fish"] {
        let text = sandbox.succeed(&format!("completions {shell}")).stdout;
        assert!(text.contains("properloss") && text.contains("slope-min"), "{shell}");
    }
    for command in
        ["fit", "predict", "evaluate", "transfer", "compare", "calibrate", "synth", "demo", "data"]
    {
        assert!(sandbox.succeed(&format!("{command} --help")).stdout.contains("Usage:"));
    }
}

#[test]
fn verbose_version() {
    let sandbox = Sandbox::new("version");
    for line in ["--version --verbose", "--verbose --version", "-V --verbose"] {
        let text = sandbox.succeed(line).stdout;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], concat!("properloss ", env!("CARGO_PKG_VERSION")));
        let facts: Vec<_> = lines[1..].iter().filter_map(|line| line.split_once(": ")).collect();
        let names: Vec<&str> = facts.iter().map(|fact| fact.0).collect();
        assert_eq!(names, ["commit", "features", "target", "compiler", "instruction set"]);
        assert_eq!(facts[1].1, "download, parquet");
        assert!(facts[3].1.starts_with("rustc 1."), "{text}");
    }
}

#[test]
fn manual_pages() {
    let sandbox = Sandbox::new("manual");
    sandbox.succeed("manual --out man");
    let whole = sandbox.read("man/properloss.1");
    // Every command is listed, by the name of its page.
    for page in ["properloss-fit", "properloss-calibrate", "properloss-manual"] {
        assert!(whole.contains(&page.replace('-', "\\-")), "{page} in {whole}");
    }
    let fit = sandbox.read("man/properloss-fit.1");
    assert!(fit.starts_with(".ie") && fit.contains(".TH properloss-fit 1"), "{fit}");
    assert!(fit.contains("Learn a model (and its loss) from a file of examples"));
    assert!(sandbox.read("man/properloss-data-get.1").contains("mirror"));
}

#[test]
fn demo() {
    let sandbox = Sandbox::new("demo");
    let outcome = sandbox.succeed("demo --out out/demo --rows 1000");
    for word in ["labels", "logistic", "slisotron", "Breast cancer", "learned by proper"] {
        assert!(outcome.stdout.contains(word), "{word} in {}", outcome.stdout);
    }
    for name in ["gaussians", "cloglog", "breast-cancer"] {
        for method in ["proper", "certified"] {
            for end in ["model.json", "loss.json", "svg"] {
                let name = format!("out/demo/{name}.{method}.{end}");
                assert!(sandbox.path(&name).exists(), "{name}");
            }
            sandbox.succeed(&format!("inspect out/demo/{name}.{method}.model.json"));
        }
        assert!(sandbox.read(&format!("out/demo/{name}.certified.svg")).contains(">Losses<"));
    }
    let results: serde_json::Value =
        serde_json::from_str(&sandbox.read("out/demo/results.json")).unwrap();
    for method in results["gaussians"]["methods"].as_array().unwrap() {
        let (name, auc) = (&method["method"], method["mean"]["auc"].as_f64().unwrap());
        // Bayes: 0.9772; the standard error of an AUC on 1,000 rows is 0.0045.
        assert!(name == "approx" || (auc - 0.9772).abs() < 0.012, "{name}: {auc}");
    }
}
