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

    /// What cannot fail did: our mistake.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        Self::Internal(error.to_string())
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
    let message = shown(&message);
    let mut stderr = io::stderr().lock();
    // A closed stderr is no reason to fail once more.
    let _ = writeln!(stderr, "{} {message}", coloured("error:", "1;31"));
    if let Some(hint) = hint {
        let _ = writeln!(stderr, "{} {hint}", coloured("hint:", "1;36"));
    }
}

/// Names of files may hold what a terminal would obey, or what turns the direction of a line.
fn shown(message: &str) -> String {
    let obeyed = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    message.chars().fold(String::with_capacity(message.len()), |mut text, c| {
        if obeyed(c) {
            text.extend(c.escape_unicode())
        } else {
            text.push(c)
        }
        text
    })
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
            properloss_data::Error::BadOption { what, .. } => match option_of(what) {
                Some(option) => Self::usage(error.to_string(), format!("change {option}")),
                None => Self::user(error.to_string(), "see --help"),
            },
            error => Self::User { message: error.to_string(), hint: error.hint() },
        }
    }
}

/// The option behind a value out of its domain.
fn option_of(what: &str) -> Option<&'static str> {
    Some(match what {
        "the share of the test part" => "--test-share",
        "the number of folds" => "--folds",
        "the number of rows" => "--rows",
        "the number of features" => "--features",
        "the label noise" | "the sum of the two label noises" => "--noise",
        "the range of floor and ceiling" => "--floor or --ceiling",
        "a true weight" => "--norm or --intercept",
        _ => return None,
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

/// Finite numbers of a file that became none on their way.
fn too_large(what: &str) -> &'static str {
    if what.contains("weights") {
        "the sum of the weights must be a number above 0: divide them all by one number"
    } else {
        "columns with values beyond about 1e150 overflow: divide them by a number, or --ignore them"
    }
}

impl From<properloss::Error> for Failure {
    fn from(error: properloss::Error) -> Self {
        use properloss::Error::{
            Checkpoint, ClassTooSmall, ElementOutOfDomain, Interrupted, NeedsPenalty, NotFinite,
            Option as Setting, OutOfDomain, ParameterCount, UnboundedLoss, UnknownLink,
            UnknownMethod,
        };
        let message = error.to_string();
        let usage = match &error {
            Setting { option, .. } => Some(format!("change --{}", option.replace('_', "-"))),
            OutOfDomain { what, .. } => core_option(what),
            UnknownLink { .. } | ParameterCount { .. } => Some(
                "links are written NAME or NAME:A,B, such as --link clipped-line:0.5,0.5".into(),
            ),
            UnknownMethod { .. } => Some("choose one with --method".into()),
            UnboundedLoss { .. } => Some("choose another --link, or --loss-kind composite".into()),
            NeedsPenalty { .. } => Some("leave out `--l2 0`, or pass --loss-kind composite".into()),
            _ => None,
        };
        match (error, usage) {
            (_, Some(hint)) => Self::Usage { message, hint },
            (Interrupted, _) => Self::Interrupted,
            (Checkpoint { .. }, _) => {
                Self::user(message, "remove the file of --checkpoint to start afresh")
            }
            (ClassTooSmall { .. }, _) => Self::user(
                message,
                "gather more rows of it, or pass --method logistic, which holds no row out",
            ),
            (
                OutOfDomain { what, .. } | NotFinite { what, .. } | ElementOutOfDomain { what, .. },
                _,
            ) => Self::user(message, too_large(what)),
            _ => Self::User { message, hint: None },
        }
    }
}
