//! `completions`: what a shell needs to complete the command line.

use clap::CommandFactory;
use clap_complete::{generate, shells};

use crate::args::{Cli, Shell};
use crate::failure::{Failure, Result};
use crate::output::print;

/// Runs the command.
pub fn run(shell: Shell) -> Result<()> {
    let mut command = Cli::command();
    let mut bytes = Vec::new();
    match shell {
        Shell::Bash => generate(shells::Bash, &mut command, "properloss", &mut bytes),
        Shell::Zsh => generate(shells::Zsh, &mut command, "properloss", &mut bytes),
        Shell::Fish => generate(shells::Fish, &mut command, "properloss", &mut bytes),
    }
    print(&String::from_utf8(bytes).map_err(Failure::internal)?)
}
