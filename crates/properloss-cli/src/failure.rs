//! How a command fails: whose mistake it was, what happened, what to do about it.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use properloss::train::registry::methods;

/// `Result` with a [`Failure`].
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a command did not finish.
#[derive(Debug)]
pub enum Failure {
    /// The user's mistake: exit status 1.
    User {
        /// What was found, and where.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// A command line that cannot be meant: exit status 2.
    Usage {
        /// What is wrong with it.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// Ours: exit status 70, as sysexits.h has it.
    Internal(String),
    /// Ctrl-C, SIGTERM or SIGHUP: exit status 130, 143 or 129, nothing written.
    Interrupted,
    /// Whoever read our output has seen enough: success.
    BrokenPipe,
}

impl Failure {
    /// A mistake of the user and what to do about it.
    pub fn user(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::User { message: message.into(), hint: Some(hint.into()) }
    }

    /// A wrong use of the command and what to do about it.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// Writes `error:` and `hint:` lines and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::BrokenPipe => ExitCode::SUCCESS,
            Self::User { message, hint } => {
                complain(message, hint.as_deref());
                ExitCode::from(1)
            }
            Self::Usage { message, hint } => {
                complain(message, Some(hint));
                ExitCode::from(2)
            }
            Self::Internal(message) => {
                let hint = "this is a mistake in properloss, please report it with this line";
                complain(&format!("internal: {message}"), Some(hint));
                ExitCode::from(70)
            }
            Self::Interrupted => {
                complain("interrupted; nothing was written", None);
                ExitCode::from(crate::interrupt::status())
            }
        }
    }
}

fn complain(message: &str, hint: Option<&str>) {
    // Names come from files, and may be long.
    const SHOWN: usize = 4000;
    let end = message.char_indices().nth(SHOWN).map_or(message.len(), |(end, _)| end);
    let message =
        if end < message.len() { format!("{}...", &message[..end]) } else { message.into() };
    let mut stderr = io::stderr().lock();
    // A closed stderr is no reason to fail once more.
    let _ = writeln!(stderr, "{} {message}", coloured("error:", "1;31"));
    if let Some(hint) = hint {
        let _ = writeln!(stderr, "{} {hint}", coloured("hint:", "1;36"));
    }
}

/// In colour on a terminal, unless `NO_COLOR` is set.
fn coloured(word: &str, code: &str) -> String {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if io::stderr().is_terminal() && !no_color && !dumb {
        format!("\x1b[{code}m{word}\x1b[0m")
    } else {
        word.to_owned()
    }
}

impl From<properloss_data::Error> for Failure {
    fn from(error: properloss_data::Error) -> Self {
        match error {
            properloss_data::Error::Core(error) => error.into(),
            error => {
                let hint = error.hint().or_else(|| option_hint(&error));
                Self::User { message: error.to_string(), hint }
            }
        }
    }
}

/// The option behind a value out of its domain.
fn option_hint(error: &properloss_data::Error) -> Option<String> {
    let properloss_data::Error::BadOption { what, .. } = error else { return None };
    Some(match *what {
        "the share of the test part" => "change --test-share".into(),
        "the number of folds" => "change --folds".into(),
        "the number of rows" => "change --rows".into(),
        "the number of features" => "change --features".into(),
        "the label noise" | "the sum of the two label noises" => "change --noise".into(),
        "the range of floor and ceiling" => "change --floor or --ceiling".into(),
        "a true weight" => "change --norm or --intercept".into(),
        _ => "see --help".into(),
    })
}

/// The option behind an argument of the core.
fn core_option(what: &str) -> Option<String> {
    if methods().iter().any(|method| method.option(what).is_some()) {
        return Some(format!("change --{}", what.replace('_', "-")));
    }
    match what {
        "the number of folds" => Some("change --cv".into()),
        _ if what.starts_with("class_weight") => Some("change --class-weight".into()),
        _ => None,
    }
}

impl From<properloss::Error> for Failure {
    fn from(error: properloss::Error) -> Self {
        if error == properloss::Error::Interrupted {
            return Self::Interrupted;
        }
        let hint = match &error {
            properloss::Error::Checkpoint { .. } => {
                Some("remove the file of --checkpoint to start afresh".into())
            }
            properloss::Error::Option { option, .. } => {
                Some(format!("change --{}", option.replace('_', "-")))
            }
            properloss::Error::OutOfDomain { what, .. } => core_option(what),
            properloss::Error::UnknownLink { .. } | properloss::Error::ParameterCount { .. } => {
                Some(
                    "links are written NAME or NAME:A,B, such as --link clipped-line:0.5,0.5"
                        .into(),
                )
            }
            properloss::Error::UnboundedLoss { .. } => {
                Some("choose another --link, or --loss-kind composite".into())
            }
            properloss::Error::ClassTooSmall { .. } => Some(
                "gather more rows of it, or pass --method logistic, which holds no row out".into(),
            ),
            properloss::Error::NeedsPenalty { .. } => {
                Some("leave out `--l2 0`, or pass --loss-kind composite".into())
            }
            _ => None,
        };
        Self::User { message: error.to_string(), hint }
    }
}
