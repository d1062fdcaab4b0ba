//! A run that is killed goes on from its checkpoint, to the same bits.
//!
//! Many more kills, of all commands that write, are `make kill-campaign`.
#![cfg(unix)]

mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::Sandbox;
use properloss_data::random::Random;

const METHODS: [&str; 5] = ["labels", "bregmantron", "certified", "glmtron", "slisotron"];
/// Runs of each method, and the most kills of one.
const RUNS: usize = 2;
const KILLS: usize = 3;

#[test]
fn killed_runs_resume_to_the_same_bits() {
    let sandbox = Sandbox::new("kills");
    sandbox.succeed("synth single-index --rows 300 --features 5 --seed 1 -o train.csv");
    let mut random = Random::new(20);
    let mut resumed = 0;
    for method in METHODS {
        let line = format!("--quiet fit train.csv --method {method} --max-iter 25 --tol 0 -o");
        sandbox.succeed(&format!("{line} whole.json"));
        let whole = sandbox.read("whole.json");
        let line = format!("{line} model.json --checkpoint run.state --checkpoint-every 0");
        let start = Instant::now();
        sandbox.succeed(&line);
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(sandbox.read("model.json"), whole, "{method} with checkpoints");
        for run in 0..RUNS {
            std::fs::remove_file(sandbox.path("model.json")).unwrap();
            for kill in 0..KILLS {
                let mut command = sandbox.command(&line);
                let mut child =
                    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                std::thread::sleep(Duration::from_secs_f64(random.uniform() * seconds));
                child.kill().unwrap();
                child.wait().unwrap();
                resumed += usize::from(sandbox.path("run.state").exists());
                if sandbox.path("model.json").exists() {
                    let model = sandbox.read("model.json");
                    assert_eq!(model, whole, "{method}, run {run}, after kill {kill}");
                }
            }
            sandbox.succeed(&line);
            assert_eq!(sandbox.read("model.json"), whole, "{method}, run {run}");
            assert!(!sandbox.path("run.state").exists(), "{method}: the state has served");
            assert_eq!(sandbox.leftovers(), [""; 0], "{method}");
        }
    }
    assert!(resumed > 0, "no kill came between two checkpoints");
}

/// The file that is in the way is named, for other rows and for other options; it stays.
#[test]
fn a_state_of_another_run_is_refused_by_its_name() {
    let sandbox = Sandbox::new("other-run");
    for (file, seed) in [("train.csv", 1), ("other.csv", 2)] {
        sandbox.succeed(&format!(
            "synth single-index --rows 300 --features 5 --seed {seed} -o {file}"
        ));
    }
    let line = |file: &str, steps: usize| {
        format!(
            "--quiet fit {file} --method labels --max-iter {steps} --tol 0 -o m.json \
             --checkpoint run.state --checkpoint-every 0"
        )
    };
    let mut command = sandbox.command(&line("train.csv", 1_000_000));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !sandbox.path("run.state").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = std::fs::read(sandbox.path("run.state")).unwrap();
    for (file, steps, why) in [
        ("other.csv", 1_000_000, "it was made on other data"),
        ("train.csv", 7, "it was made with max_iter"),
    ] {
        let outcome = sandbox.run(&line(file, steps));
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        let words = format!("run.state: this checkpoint cannot be taken up: {why}");
        assert!(outcome.stderr.contains(&words), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("hint: remove the file"), "{}", outcome.stderr);
        assert!(!sandbox.path("m.json").exists());
    }
    assert_eq!(std::fs::read(sandbox.path("run.state")).unwrap(), before);
}
