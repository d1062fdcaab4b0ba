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
         --ceiling 0.9 --intercept -1 --seed 5 --bayes",
    );
    transcript.run("synth --rows 5 -o five.csv");
    transcript.check();
    assert_eq!(sandbox.read("five.csv").lines().count(), 6);
}

#[test]
fn fit_and_what_follows() {
    let sandbox = sandbox("fit");
    let mut transcript = Transcript::new("fit", &sandbox);
    transcript
        .run("fit train.csv -o model.json --loss-out loss.json --test test.csv --method labels");
    transcript.run("evaluate model.json test.csv --plot reliability.svg");
    transcript.run("transfer loss.json test.csv -o transferred.json --l2 0.001");
    transcript.run("fit train.csv -o logistic.json --method logistic --test-share 0.25 --seed 3");
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
    transcript
        .run("compare train.csv --test test.csv --methods labels,refit,slisotron,glmtron,logistic");
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
fn certified() {
    let sandbox = sandbox("certified");
    let line = "fit train.csv -o m.json --certified --max-iter 40 --certificate c.json \
                --certificate c.csv --certificate c.svg";
    let outcome = sandbox.succeed(line);
    assert!(outcome.stdout.contains("the claimed decrease held in 40 of 40 iterations"));
    let json: serde_json::Value = serde_json::from_str(&sandbox.read("c.json")).unwrap();
    let rows = json.as_array().unwrap();
    assert_eq!(rows.len(), 40);
    for row in rows {
        // The claim is checked to rounding: both are sums of 300 terms of size 1.
        assert!(row["observed"].as_f64().unwrap() >= row["claimed"].as_f64().unwrap() - 1e-12);
    }
    assert_eq!(sandbox.read("c.csv").lines().count(), 41);
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
    transcript.run("--help");
    transcript.run("--version");
    transcript.run("inspect --help");
    transcript.run("");
    transcript.check();
    for shell in ["bash", "zsh", "fish"] {
        let text = sandbox.succeed(&format!("completions {shell}")).stdout;
        assert!(text.contains("properloss") && text.contains("slope-min"), "{shell}");
    }
    for command in ["fit", "predict", "evaluate", "transfer", "compare", "synth", "demo"] {
        assert!(sandbox.succeed(&format!("{command} --help")).stdout.contains("Usage:"));
    }
}

#[test]
fn demo() {
    let sandbox = Sandbox::new("demo");
    let outcome = sandbox.succeed("demo --out out/demo");
    for word in ["labels", "logistic", "slisotron", "Breast cancer", "learned by labels"] {
        assert!(outcome.stdout.contains(word), "{word} in {}", outcome.stdout);
    }
    for name in ["gaussians", "cloglog", "breast-cancer"] {
        for end in ["model.json", "loss.json", "svg"] {
            assert!(sandbox.path(&format!("out/demo/{name}.{end}")).exists(), "{name}.{end}");
        }
        sandbox.succeed(&format!("inspect out/demo/{name}.model.json"));
    }
    let results: serde_json::Value =
        serde_json::from_str(&sandbox.read("out/demo/results.json")).unwrap();
    for method in results["gaussians"]["methods"].as_array().unwrap() {
        let (name, auc) = (&method["method"], method["mean"]["auc"].as_f64().unwrap());
        // Bayes: 0.9772; the standard error of an AUC on 10,000 rows is 0.0014.
        assert!(name == "approx" || (auc - 0.9772).abs() < 0.0035, "{name}: {auc}");
    }
}
