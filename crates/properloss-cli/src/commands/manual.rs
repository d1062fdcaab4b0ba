//! `manual`: a manual page of the command and of each of its commands.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use properloss_data::write_atomically;

use crate::args::{Cli, ManualArgs};
use crate::failure::{Failure, Result};
use crate::output::Talk;

/// Runs the command.
pub fn run(args: &ManualArgs, talk: Talk) -> Result<()> {
    fs::create_dir_all(&args.out).map_err(|source| {
        Failure::from(properloss_data::Error::Write { file: args.out.clone(), source })
    })?;
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    write(&command, "properloss", &args.out, &mut pages)?;
    let text = || pages.iter().map(|page| format!("{page}\n")).collect();
    talk.result(text, &serde_json::json!({ "pages": pages }))
}

/// `properloss-data-get.1` is the page of `properloss data get`.
fn write(command: &Command, name: &str, folder: &Path, pages: &mut Vec<String>) -> Result<()> {
    let page = Man::new(command.clone().display_name(name).name(name.to_owned()))
        .manual("Commands of properloss")
        .source(concat!("properloss ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render(&mut text).map_err(Failure::internal)?;
    let file = folder.join(format!("{name}.1"));
    write_atomically(&file, |out| out.write_all(&text))?;
    pages.push(file.display().to_string());
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write(inner, &format!("{name}-{}", inner.get_name()), folder, pages)?;
    }
    Ok(())
}
