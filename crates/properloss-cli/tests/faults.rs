//! What remains when the disk is full, or a signal ends a command in the middle of its work.
//!
//! Campaigns of many kills are `make kill-campaign`; here each sort happens once, at a moment that
//! is certain: the command waits for the rest of its standard input.
#![cfg(unix)]

mod common;

use std::io::Write;
use std::process::{Child, Command, Stdio};

use common::Sandbox;

const TABLE: &str = "a,b,y\n1,2,0\n2,1,1\n3,5,0\n4,3,1\n5,9,0\n6,4,1\n";
const OLD: &str = "written before\n";

/// A `predict` to `out.csv` that has begun to write and waits for more rows.
fn waiting(sandbox: &Sandbox) -> Child {
    sandbox.write("train.csv", TABLE);
    sandbox.succeed("fit train.csv -o model.json --method logistic");
    sandbox.write("out.csv", OLD);
    let mut child = signals_as_usual(&sandbox.command("predict model.json - -o out.csv"))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Rows by the thousand: the first are on the disk while the last are awaited.
    let rows = "a,b\n".to_owned() + &"1,2\n".repeat(20_000);
    child.stdin.as_mut().unwrap().write_all(rows.as_bytes()).unwrap();
    while sandbox.leftovers().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

/// The same command, which does not ignore what the tests were started to ignore: a shell without job control has
/// its background jobs ignore SIGINT, and so do their children. (`env` becomes the command: its number stays.)
fn signals_as_usual(command: &Command) -> Command {
    let program = command.get_program();
    let mut usual = if cfg!(target_os = "linux") {
        let mut env = Command::new("env");
        env.arg("--default-signal=INT,TERM,HUP").arg(program);
        env
    } else {
        Command::new(program)
    };
    usual.args(command.get_args());
    usual.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => usual.env(name, value),
            None => usual.env_remove(name),
        };
    }
    usual
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn sigterm_and_sigint_remove_what_was_begun() {
    for (name, status) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let sandbox = Sandbox::new(&format!("faults{name}"));
        let mut child = waiting(&sandbox);
        // Kept open: the end of its input would let the command finish within the grace.
        let input = child.stdin.take();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(status), "{name}");
        assert_eq!(sandbox.read("out.csv"), OLD, "{name}");
        assert_eq!(sandbox.leftovers(), [""; 0], "{name}");
        drop(input);
    }
}

#[test]
fn sigkill_leaves_a_named_file_that_the_next_run_removes() {
    let sandbox = Sandbox::new("faults-kill");
    let mut child = waiting(&sandbox);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(sandbox.read("out.csv"), OLD);
    let left = sandbox.leftovers();
    assert_eq!(left, [format!(".out.csv.{}-0.tmp", child.id())]);
    // Of another output, of a live process, or by another name: not ours to remove.
    sandbox.write(".other.csv.1-0.tmp", "");
    sandbox.write(".out.csv.backup.tmp", "");
    sandbox.succeed("predict model.json train.csv -o out.csv");
    let mut left = sandbox.leftovers();
    left.sort();
    assert_eq!(left, [".other.csv.1-0.tmp", ".out.csv.backup.tmp"]);
    assert!(sandbox.read("out.csv").starts_with("probability\n"));
}

#[test]
fn a_live_process_keeps_its_temporary_file() {
    let sandbox = Sandbox::new("faults-live");
    let mut child = waiting(&sandbox);
    let before = sandbox.leftovers();
    // Another command writes the same destination in the meantime; the slow one still finishes.
    sandbox.succeed("predict model.json train.csv -o out.csv");
    assert_eq!(sandbox.read("out.csv").lines().count(), 7);
    assert_eq!(sandbox.leftovers(), before);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.read("out.csv").lines().count(), 20_001);
    assert_eq!(sandbox.leftovers(), [""; 0]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let sandbox = Sandbox::new("faults-pipe");
    sandbox.write("train.csv", TABLE);
    sandbox.succeed("fit train.csv -o model.json --method logistic");
    sandbox.write("rows.csv", "a,b\n".to_owned() + &"1,2\n".repeat(50_000));
    let mut child =
        sandbox.command("predict model.json rows.csv").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// On a file system of 64 KB, in a name space of its own; where that is not allowed, on none.
#[test]
fn a_full_disk_leaves_the_old_file() {
    let sandbox = Sandbox::new("faults-full");
    sandbox.write("train.csv", TABLE);
    sandbox.write("rows.csv", "a,b\n".to_owned() + &"1,2\n".repeat(50_000));
    sandbox.succeed("fit train.csv -o model.json --method logistic");
    std::fs::create_dir(sandbox.path("disk")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none disk || exit 77
         echo old > disk/out.csv
         {program} predict model.json rows.csv -o disk/out.csv; echo status $?
         {program} fit train.csv -o disk/m.json --method logistic; echo status $?
         cat disk/out.csv; ls -A disk",
        program = env!("CARGO_BIN_EXE_properloss"),
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(&sandbox.folder)
        .output();
    let Ok(output) = output else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if !text.contains("status") {
        eprintln!("skipped, no small file system here: {told}");
        return;
    }
    assert!(told.contains("disk/out.csv: cannot write: No space left on device"), "{told}");
    // The model fits, since nothing of the failed output is left.
    let table = "status 1\n";
    assert!(text.starts_with(table) && text.contains("status 0\n"), "{text}");
    assert!(text.ends_with("old\nm.json\nout.csv\n"), "{text}");
}

#[test]
fn memory_beyond_the_limit_is_refused_with_a_sentence() {
    let sandbox = Sandbox::new("faults-memory");
    let rows: String = (0..40_000).map(|i| format!("{i},{},{}\n", i % 7, i % 2)).collect();
    sandbox.write("train.csv", format!("a,b,y\n{rows}"));
    let told = sandbox.run("fit train.csv -o m.json --memory 100KB");
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(told.stderr.contains("may be used"), "{}", told.stderr);
    assert!(told.stderr.contains("hint: ") && told.stderr.contains("--memory"), "{}", told.stderr);
    // Beyond what the readers ask for, the program itself holds the limit.
    let told = sandbox.run("fit train.csv -o m.json --memory 900KB");
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(told.stderr.contains("error: out of memory: "), "{}", told.stderr);
    assert_eq!(sandbox.leftovers(), [""; 0]);
    assert!(!sandbox.path("m.json").exists());
    let told = sandbox.run("fit train.csv -o m.json --memory lots");
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("such as 500MB or 2GB"), "{}", told.stderr);
    sandbox.succeed("fit train.csv -o m.json --memory 200MB --method logistic");
}
