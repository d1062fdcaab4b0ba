//! Options as data: what a command line, a file or Python hands to a method.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::link::LinkSpec;

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// One of some words.
    Word(String),
    /// Several numbers.
    Numbers(Vec<f64>),
    /// A link.
    Link(LinkSpec),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => write!(f, "{word}"),
            Self::Numbers(numbers) => {
                let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
                write!(f, "{}", texts.join(","))
            }
            Self::Link(link) => write!(f, "{}", link.name()),
        }
    }
}

/// Options by name.
pub type Settings = BTreeMap<String, Value>;

/// What values an option takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number, at least this.
    Count(u64),
    /// A number above or from `low`, up to `high`.
    Number {
        /// Lower end.
        low: f64,
        /// Whether the lower end itself is taken.
        low_taken: bool,
        /// Upper end.
        high: f64,
        /// Whether the upper end itself is taken.
        high_taken: bool,
    },
    /// One of these words, each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// `auto`, `paper`, or a positive number.
    StepSize,
    /// A link: its name, `name:a,b`, or its knots.
    Link,
    /// `balanced`, or the factors on the weights of the two classes.
    ClassWeight,
    /// Several numbers.
    Numbers,
}

/// Above 0.
pub(super) const POSITIVE: Kind =
    Kind::Number { low: 0.0, low_taken: false, high: f64::INFINITY, high_taken: false };
/// 0 or above.
pub(super) const NOT_NEGATIVE: Kind =
    Kind::Number { low: 0.0, low_taken: true, high: f64::INFINITY, high_taken: false };
/// Above 0 and at most 1.
pub(super) const SHARE: Kind =
    Kind::Number { low: 0.0, low_taken: false, high: 1.0, high_taken: true };

impl Kind {
    /// What is taken, in words.
    pub fn expected(&self) -> String {
        match self {
            Self::Flag => "true or false".into(),
            Self::Count(least) => format!("a whole number, at least {least}"),
            Self::Number { low, low_taken, high, high_taken } => {
                let below = if *low_taken { "at least" } else { "above" };
                let above = if *high_taken { "at most" } else { "below" };
                if high.is_finite() {
                    format!("a number {below} {low} and {above} {high}")
                } else {
                    format!("a finite number {below} {low}")
                }
            }
            Self::Choice(words) => {
                let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
                format!("one of {}", names.join(", "))
            }
            Self::StepSize => "auto, paper or a positive number".into(),
            Self::Link => "a link: NAME or NAME:A,B".into(),
            Self::ClassWeight => "balanced, or two positive numbers such as 1,5".into(),
            Self::Numbers => "numbers such as 3,0.3,0.03, or none".into(),
        }
    }

    /// Whether a value is taken.
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Flag, Value::Flag(_)) | (Self::Numbers, Value::Numbers(_)) => true,
            (Self::Count(least), Value::Count(count)) => count >= least,
            (Self::Number { low, low_taken, high, high_taken }, value) => match as_number(value) {
                Some(x) => {
                    let above = if *low_taken { x >= *low } else { x > *low };
                    let below = if *high_taken { x <= *high } else { x < *high };
                    above && below && x.is_finite()
                }
                None => false,
            },
            (Self::Choice(words), Value::Word(word)) => words.iter().any(|(name, _)| name == word),
            (Self::StepSize, Value::Word(word)) => word == "auto" || word == "paper",
            (Self::StepSize, value) => as_number(value).is_some_and(|x| x > 0.0 && x.is_finite()),
            (Self::Link, Value::Link(_)) => true,
            (Self::ClassWeight, Value::Word(word)) => word == "balanced",
            (Self::ClassWeight, Value::Numbers(factors)) => {
                factors.len() == 2 && factors.iter().all(|f| *f > 0.0 && f.is_finite())
            }
            _ => false,
        }
    }

    /// The value that a text stands for.
    pub fn parse(&self, text: &str) -> Option<Value> {
        let number = || text.trim().parse::<f64>().ok();
        let numbers = || text.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>();
        match self {
            Self::Flag => text.parse().ok().map(Value::Flag),
            Self::Count(_) => text.parse().ok().map(Value::Count),
            Self::Number { .. } => number().map(Value::Number),
            Self::Choice(_) => Some(Value::Word(text.to_owned())),
            Self::StepSize => match text {
                "auto" | "paper" => Some(Value::Word(text.to_owned())),
                _ => number().map(Value::Number),
            },
            Self::Link => {
                let (name, list) = text.split_once(':').unwrap_or((text, ""));
                let items = list.split(',').filter(|item| !item.is_empty());
                let params = items.map(|item| item.trim().parse().ok()).collect::<Option<_>>()?;
                Some(Value::Link(LinkSpec::Builtin { name: name.to_owned(), params }))
            }
            Self::ClassWeight if text == "balanced" => Some(Value::Word(text.to_owned())),
            Self::Numbers if text == "none" => Some(Value::Numbers(Vec::new())),
            Self::ClassWeight | Self::Numbers => numbers().map(Value::Numbers),
        }
    }
}

/// An option of a method: everything that a front end has to know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionSpec {
    /// Its name in files and in Python; with dashes, on the command line.
    pub name: &'static str,
    /// What it does.
    pub help: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is if it is not given; `None`: it depends on the data, or is left out.
    pub default: Option<Value>,
}

impl OptionSpec {
    pub(crate) fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, help, kind, default: None }
    }

    /// One of some words, the first by default.
    pub(crate) fn choice(
        name: &'static str,
        words: &'static [(&'static str, &'static str)],
        help: &'static str,
    ) -> Self {
        Self::new(name, Kind::Choice(words), help).word(words[0].0)
    }

    pub(crate) fn number(mut self, default: f64) -> Self {
        self.default = Some(Value::Number(default));
        self
    }

    pub(crate) fn count(mut self, default: u64) -> Self {
        self.default = Some(Value::Count(default));
        self
    }

    pub(crate) fn word(mut self, default: &str) -> Self {
        self.default = Some(Value::Word(default.to_owned()));
        self
    }

    pub(crate) fn flag(mut self, default: bool) -> Self {
        self.default = Some(Value::Flag(default));
        self
    }

    pub(crate) fn numbers(mut self, default: &[f64]) -> Self {
        self.default = Some(Value::Numbers(default.to_vec()));
        self
    }

    pub(crate) fn link(mut self, name: &str) -> Self {
        self.default = Some(Value::Link(LinkSpec::builtin(name)));
        self
    }

    /// An error that says what the option takes.
    pub fn refuse(&self, value: impl ToString) -> Error {
        Error::Option {
            option: self.name.to_owned(),
            value: value.to_string(),
            expected: self.kind.expected(),
        }
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Count(count) => Some(*count as f64),
        _ => None,
    }
}

/// Settings that were checked against their options: every default is filled in.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'s>(pub(super) &'s Settings);

impl Checked<'_> {
    /// A number, if it is there.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(as_number)
    }

    /// A number that the registry gives a default.
    pub fn required(&self, name: &str) -> Result<f64> {
        self.number(name).ok_or_else(|| missing(name))
    }

    /// A whole number, if it is there.
    pub fn count(&self, name: &str) -> Option<usize> {
        match self.0.get(name) {
            Some(Value::Count(count)) => usize::try_from(*count).ok(),
            _ => None,
        }
    }

    /// A flag; false if it is not there.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Flag(true))
    }

    /// A word; empty if it is not there.
    pub fn word(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Word(word)) => word,
            _ => "",
        }
    }

    /// Numbers, if they are there.
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.0.get(name) {
            Some(Value::Numbers(numbers)) => Some(numbers),
            _ => None,
        }
    }

    /// A link, if it is there.
    pub fn link(&self, name: &str) -> Option<&LinkSpec> {
        match self.0.get(name) {
            Some(Value::Link(link)) => Some(link),
            _ => None,
        }
    }
}

fn missing(name: &str) -> Error {
    Error::Option { option: name.to_owned(), value: "missing".into(), expected: "given".into() }
}
