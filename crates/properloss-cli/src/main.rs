//! The `properloss` command.
//!
//! | module | what it holds |
//! |---|---|
//! | `args` | the command line as types |
//! | `commands` | one file each |
//! | `download` | a file from one of several addresses, resumed and checked |
//! | `report`, `table` | what was learned, as text and JSON; pictures and pages are of `properloss-report` |
//! | `version` | what this program was built from, and what it runs on |
//! | `output`, `progress`, `failure`, `interrupt` | stdout, stderr, files, exit status |
//! | `memory` | no allocation passes `--memory` |

mod args;
mod commands;
#[cfg(feature = "download")]
mod download;
mod failure;
mod interrupt;
mod memory;
mod output;
mod progress;
mod report;
mod table;
mod version;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Mutex;

use args::{Cli, Command};
use clap::Parser;
use clap::error::ErrorKind;
use failure::{Failure, Result};
use output::Talk;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayVersion && version::verbose() => {
            return match output::print(&version::text()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failure.report(),
            };
        }
        Err(error) => return usage(&error),
    };
    // A panic is a mistake of ours like any other: say where, and drop what was begun.
    static PLACE: Mutex<Option<String>> = Mutex::new(None);
    std::panic::set_hook(Box::new(|info| {
        if let (Some(place), Ok(mut known)) = (info.location(), PLACE.lock()) {
            known.get_or_insert_with(|| format!("{}:{}", place.file(), place.line()));
        }
    }));
    interrupt::listen();
    match std::panic::catch_unwind(|| run(cli)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let place = PLACE.lock().ok().and_then(|place| place.clone()).unwrap_or_default();
            let version = env!("CARGO_PKG_VERSION");
            let text = text.unwrap_or("unknown panic");
            Failure::Internal(format!("{text} (properloss {version}, {place})")).report()
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let talk = Talk { json: cli.json, quiet: cli.quiet };
    memory::limit_to(cli.memory);
    if let Some(threads) = cli.threads {
        if threads == 0 {
            return Err(Failure::usage("--threads is 0; it must be 1 or more", "pass --threads 1"));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(Failure::internal)?;
    }
    match cli.command {
        Command::Fit(args) => commands::fit::run(&args, talk),
        Command::Predict(args) => commands::predict::run(&args, talk),
        Command::Evaluate(args) => commands::evaluate::run(&args, talk),
        Command::Report(args) => commands::report::run(&args, talk),
        Command::Transfer(args) => commands::transfer::run(&args, talk),
        Command::Inspect(args) => commands::inspect::run(&args, talk),
        Command::Export(args) => commands::export::run(&args, talk),
        Command::Compare(args) => commands::compare::run(&args, talk),
        Command::Calibrate(args) => commands::calibrate::run(&args, talk),
        Command::Synth(args) => commands::synth::run(&args, talk),
        Command::Demo(args) => commands::demo::run(&args, talk),
        #[cfg(feature = "download")]
        Command::Data(command) => commands::data::run(&command, talk),
        Command::Completions(args) => commands::completions::run(args.shell),
        Command::Manual(args) => commands::manual::run(&args, talk),
    }
}

/// Help and version are data; a wrong usage is the user's mistake, with a hint.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(2)
        }
        _ => {
            let text = error.to_string();
            let text = text
                .replace("  tip: ", "hint: ")
                .replace("For more information, try '--help'.", "hint: see --help");
            let _ = write!(std::io::stderr().lock(), "{text}");
            ExitCode::from(2)
        }
    }
}
