//! Options of the trainers: made from the core's registry of methods.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use properloss::train::registry::{method, methods};
use properloss::train::{Kind, Method, OptionSpec, Settings, Value};

use crate::failure::{Failure, Result};

/// The method that was chosen, if any, and the options that were given. For `transfer` the method is `canonical`, and
/// the loss brings the link.
#[derive(Debug, Clone, Default)]
pub struct TrainArgs<const TRANSFER: bool = false> {
    /// The name of the method.
    pub method: Option<String>,
    /// The options on the command line.
    pub given: Settings,
}

/// Every option of every method once, in the order of the registry.
fn options(transfer: bool) -> Vec<(OptionSpec, Vec<Method>)> {
    let mut options: Vec<(OptionSpec, Vec<Method>)> = Vec::new();
    for method in methods().into_iter().filter(|method| !transfer || method.name == "canonical") {
        for option in &method.options {
            // The seed is chosen by the command for all that draws random numbers.
            if option.name == "seed" || (transfer && option.name == "link") {
                continue;
            }
            match options.iter_mut().find(|(known, _)| known.name == option.name) {
                Some((_, takers)) => takers.push(method.clone()),
                None => options.push((option.clone(), vec![method.clone()])),
            }
        }
    }
    options
}

/// `slope_min` is `--slope-min`; a flag that is on by default is turned off by `--no-...`.
fn flag_name(option: &OptionSpec) -> String {
    let name = option.name.replace('_', "-");
    match option.default {
        Some(Value::Flag(true)) => format!("no-{}", name.strip_prefix("fit-").unwrap_or(&name)),
        _ => name,
    }
}

/// The help of an option: what it does, who takes it, its defaults.
fn help(option: &OptionSpec, takers: &[Method], transfer: bool) -> String {
    let mut text = match option.default {
        Some(Value::Flag(true)) => {
            format!("No {}", option.name.strip_prefix("fit_").unwrap_or(option.name))
        }
        _ => option.help.to_owned(),
    };
    let names =
        |takers: &[&Method]| takers.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    if !transfer {
        text += &format!(" ({})", names(&takers.iter().collect::<Vec<_>>()));
    }
    let mut defaults: Vec<(String, Vec<&Method>)> = Vec::new();
    for taker in takers {
        let Some(Some(value)) = taker.option(option.name).map(|option| &option.default) else {
            continue;
        };
        let value = value.to_string();
        match defaults.iter_mut().find(|(known, _)| *known == value) {
            Some((_, takers)) => takers.push(taker),
            None => defaults.push((value, vec![taker])),
        }
    }
    if option.kind != Kind::Flag && !defaults.is_empty() {
        let texts: Vec<String> = defaults
            .iter()
            .map(|(value, takers)| match defaults.len() {
                1 => value.clone(),
                _ => format!("{value} for {}", names(takers)),
            })
            .collect();
        text += &format!(" [default: {}]", texts.join("; "));
    }
    text
}

impl<const TRANSFER: bool> Args for TrainArgs<TRANSFER> {
    fn augment_args(command: Command) -> Command {
        let mut command = command.next_help_heading("Training options");
        if !TRANSFER {
            let methods = methods();
            let words = methods.iter().map(|method| (method.name, method.summary));
            let help = format!("What is learned, and how [default: {}]", methods[0].name);
            command =
                command.arg(Arg::new("method").long("method").value_parser(any(words)).help(help));
        }
        for (option, takers) in options(TRANSFER) {
            command = command.arg(argument(&option, help(&option, &takers, TRANSFER)));
        }
        command.next_help_heading(None::<&str>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// One of some words, each with what it means.
pub fn any(words: impl Iterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    PossibleValuesParser::new(words.map(|(word, meaning)| PossibleValue::new(word).help(meaning)))
}

impl<const TRANSFER: bool> FromArgMatches for TrainArgs<TRANSFER> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let method = if TRANSFER { None } else { matches.get_one::<String>("method").cloned() };
        Ok(Self { method, given: given(matches, options(TRANSFER)) })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An option of a method on the command line; what it does not take is refused by the option's own sentence.
fn argument(option: &OptionSpec, help: String) -> Arg {
    let arg = Arg::new(option.name).long(flag_name(option)).help(help);
    let name = match option.kind {
        Kind::Flag => return arg.action(ArgAction::SetTrue),
        Kind::Choice(words) => {
            return arg.value_parser(any(words.iter().copied()).map(Value::Word));
        }
        Kind::Count(_) => "N",
        Kind::Number { .. } => "X",
        Kind::StepSize => "STEP",
        Kind::Link => "LINK",
        Kind::ClassWeight => "A,B",
        Kind::Numbers => "A,B,..",
    };
    let kind = option.kind;
    let parse = move |text: &str| {
        let value = kind.parse(text).filter(|value| kind.takes(value));
        value.ok_or_else(|| format!("it must be {}", kind.expected()))
    };
    arg.value_name(name).value_parser(parse).allow_negative_numbers(true)
}

/// The options that stand on the command line.
fn given(matches: &ArgMatches, options: Vec<(OptionSpec, Vec<Method>)>) -> Settings {
    let stands = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
    let value = |option: &OptionSpec| match option.kind {
        Kind::Flag => Some(Value::Flag(option.default != Some(Value::Flag(true)))),
        _ => matches.get_one::<Value>(option.name).cloned(),
    };
    let options = options.iter().filter(|(option, _)| stands(option.name));
    options.filter_map(|(option, _)| Some((option.name.to_owned(), value(option)?))).collect()
}

impl<const TRANSFER: bool> TrainArgs<TRANSFER> {
    /// The method that was chosen, or this one.
    pub fn method_or(&self, name: &str) -> Result<Method> {
        Ok(method(self.method.as_deref().unwrap_or(name))?)
    }

    /// The options of a method among those given. One that it does not take is a mistake, not to be
    /// passed over.
    pub fn settings(&self, method: &Method) -> Result<Settings> {
        for (option, _) in options(TRANSFER) {
            if self.given.contains_key(option.name) && method.option(option.name).is_none() {
                let taken: Vec<String> = method
                    .options
                    .iter()
                    .filter(|option| option.name != "seed")
                    .map(|option| format!("--{}", flag_name(option)))
                    .collect();
                return Err(Failure::usage(
                    format!("--method {} does not take --{}", method.name, flag_name(&option)),
                    format!("it takes {}", taken.join(", ")),
                ));
            }
        }
        Ok(self.taken(method))
    }

    /// The options of a method among those given; the others are for other methods.
    pub fn taken(&self, method: &Method) -> Settings {
        let taken = self.given.iter().filter(|(name, _)| method.option(name).is_some());
        taken.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// Strengths of smoothness; `none` is an empty list.
#[derive(Debug, Clone, PartialEq)]
pub struct Smoothness(pub Vec<f64>);

/// `none`, or numbers.
pub fn parse_smoothness(text: &str) -> std::result::Result<Smoothness, String> {
    match Kind::Numbers.parse(text) {
        Some(Value::Numbers(numbers)) => Ok(Smoothness(numbers)),
        _ => Err(format!("it must be {}", Kind::Numbers.expected())),
    }
}
