//! `fit`: a model, and its loss, from a file of examples.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use properloss::certify::Certificate;
use properloss::loss::LossKind;
use properloss::metrics::Summary;
use properloss::proper::ProperFit;
use properloss::train::{Termination, Value};
use properloss_data::model_file::{FitCertificate, learned, plain_options};
use properloss_data::{Examples, ModelFile};
use properloss_report::svg;
use serde_json::json;

use super::parts::{Parts, grouped};
use super::streamed::Rows;
use super::{check_model, described, groups_of, several, streamed, taken};
use crate::args::{FitArgs, inputs};
use crate::failure::{Failure, Result};
use crate::interrupt::STOP;
use crate::output::{OutputFile, Talk, check_distinct, check_inputs, is_stdout, print};
use crate::progress::{Progress, Watch};
use crate::report::{measure, metrics_json, metrics_table};
use crate::table::{Table, short};
use properloss_data::training::{Checkpoints, Trained, Training};

/// Runs the command.
pub fn run(args: &FitArgs, talk: Talk) -> Result<()> {
    let method = args.train.method_or(if args.certified { "certified" } else { "proper" })?;
    let mut settings = args.train.settings(&method)?;
    if method.name != "certified" && !args.certificate.is_empty() {
        return Err(Failure::usage(
            format!("--method {} has no certificates", method.name),
            "pass --certified, or leave --certificate out",
        ));
    }
    if method.option("seed").is_some() {
        settings.insert("seed".into(), Value::Count(args.test.seed));
    }
    // Negative, no number, or longer than a clock counts.
    let Ok(every) = Duration::try_from_secs_f64(args.checkpoint_every) else {
        return Err(Failure::usage(
            format!(
                "--checkpoint-every is {}; it must be 0 or more seconds",
                args.checkpoint_every
            ),
            "pass --checkpoint-every 60",
        ));
    };
    let checkpoints = args.checkpoint.clone().map(|file| Checkpoints { file, every });
    let trainer = Training::new(method, settings).with_checkpoints(checkpoints);
    let outputs = Outputs {
        model: &args.out,
        loss: args.loss_out.as_deref(),
        certificates: &args.certificate,
    };
    check_inputs(
        args.data.iter().chain(&args.test.file),
        [&args.out].into_iter().chain(&args.loss_out).chain(&args.certificate),
    )?;
    let options = args.data_args.options()?;
    let files = outputs.open(talk)?;
    let source = inputs(&args.data)?;
    let examples = match streamed::rows(args, &source, &options, &trainer, talk)? {
        Rows::Memory(examples) => *examples,
        Rows::Blocks(cached) => {
            return streamed::finish(args, &trainer, &cached, &options, files, talk);
        }
    };
    let dataset = match taken(&args.data_args, examples, &options, talk) {
        Examples::Two(dataset) => dataset,
        Examples::Several(dataset) => {
            let groups = groups_of(&args.data_args, &source, &dataset, &options)?;
            return several::fit::run(args, dataset, groups, files.only_model()?, &options, talk);
        }
    };
    let groups = groups_of(&args.data_args, &source, &dataset, &options)?;
    let parts = Parts::new(dataset, groups, &args.test, &options, talk)?;
    if parts.groups.is_some() && parts.test.is_none() && trainer.folds().is_none() {
        talk.say(format!(
            "warning: --group changes nothing here: {} does not cross-validate, and no test was asked \
             for",
            trainer.name()
        ));
    }
    let trainer = grouped(trainer, &parts.train, parts.groups.as_deref(), args.test.seed)?;
    finish(&trainer, &parts, files, talk)
}

/// The files that a fit writes.
pub(super) struct Outputs<'a> {
    pub model: &'a Path,
    pub loss: Option<&'a Path>,
    pub certificates: &'a [PathBuf],
}

/// The same, open.
pub(super) struct OpenOutputs {
    model: OutputFile,
    loss: Option<OutputFile>,
    certificates: Vec<OutputFile>,
}

impl OpenOutputs {
    /// A model of several classes has no other outputs.
    fn only_model(self) -> Result<OutputFile> {
        if self.loss.is_some() || !self.certificates.is_empty() {
            let option = if self.loss.is_some() { "--loss-out" } else { "--certificate" };
            return Err(Failure::usage(format!("{option} is for two classes"), "leave it out"));
        }
        Ok(self.model)
    }
}

impl Outputs<'_> {
    pub(super) fn open(&self, talk: Talk) -> Result<OpenOutputs> {
        let names: Vec<PathBuf> = [self.model]
            .into_iter()
            .chain(self.loss)
            .chain(self.certificates.iter().map(PathBuf::as_path))
            .map(Path::to_path_buf)
            .collect();
        check_distinct(&names)?;
        for path in [Some(self.model), self.loss] {
            check_model(path)?;
        }
        if talk.json && names.iter().any(|name| is_stdout(name)) {
            return Err(Failure::usage(
                "--json and an output named - both want standard output".to_owned(),
                "leave out --json, or give the output a file",
            ));
        }
        for path in self.certificates {
            if !matches!(extension(path), "json" | "csv" | "svg") {
                return Err(Failure::usage(
                    format!("{}: not a kind of certificate file", path.display()),
                    "end its name in .json, .csv or .svg",
                ));
            }
        }
        Ok(OpenOutputs {
            model: OutputFile::create(self.model)?,
            loss: self.loss.map(OutputFile::create).transpose()?,
            certificates: self
                .certificates
                .iter()
                .map(|path| OutputFile::create(path))
                .collect::<Result<_>>()?,
        })
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("")
}

/// Trains, measures, writes and says what came out.
pub(super) fn finish(
    trainer: &Training,
    parts: &Parts,
    files: OpenOutputs,
    talk: Talk,
) -> Result<()> {
    let name = trainer.name();
    talk.say(format!("fitting {name}: {}", described(&parts.train)));
    let start = Instant::now();
    let mut trained = {
        let progress = Progress::fit(talk, trainer.max_iter());
        let sample = parts.train.sample()?;
        trainer.run(&sample, &STOP, &mut Watch::new(&progress))?
    };
    let seconds = start.elapsed().as_secs_f64();
    if parts.groups.is_some()
        && let Some(proper) = &mut trained.fit.proper
    {
        // Rows of one group need not be independent, which the bound supposes.
        proper.calibration_bound = None;
    }
    let mut measured = vec![("train", measure(&trained.fit.model, &parts.train)?)];
    if let Some(test) = &parts.test {
        measured.push(("test", measure(&trained.fit.model, test)?));
    }
    let model = trained.model_file(&parts.train);
    Finished { trainer, trained: &trained, model, measured, seconds }.write(files, talk)
}

/// A fit that is over, and measured.
pub(super) struct Finished<'a> {
    pub trainer: &'a Training,
    pub trained: &'a Trained,
    pub model: ModelFile,
    pub measured: Vec<(&'static str, Summary)>,
    pub seconds: f64,
}

impl Finished<'_> {
    /// Writes the files and says what came out.
    pub(super) fn write(self, files: OpenOutputs, talk: Talk) -> Result<()> {
        let Self { trainer, trained, model, measured, seconds } = self;
        let fit = &trained.fit;
        let mut written = vec![files.model.path().to_path_buf()];
        let model_json = model.to_json().map_err(Failure::internal)?;
        let loss_json = model.loss().to_json().map_err(Failure::internal)?;
        for file in &files.certificates {
            written.push(file.path().to_path_buf());
        }
        files.model.finish(&model_json)?;
        if let Some(file) = files.loss {
            written.push(file.path().to_path_buf());
            file.finish(&loss_json)?;
        }
        for file in files.certificates {
            let text = match extension(file.path()) {
                "csv" => Certificate::csv(&trained.fit.certificates),
                "svg" => svg::certificate(&trained.fit.certificates),
                _ => Certificate::json(&trained.fit.certificates),
            };
            file.finish(&text)?;
        }
        trainer.forget_checkpoint();
        if fit.termination == Termination::MaxIter {
            talk.say(format!(
            "warning: stopped after {} iterations before it converged; raise --max-iter or --tol",
            fit.iterations(),
        ));
        }
        if talk.json {
            let value = summary_json(trainer, trained, &measured, &written, seconds);
            return print(&format!("{value:#}\n"));
        }
        if let Some(proper) = &trained.fit.proper {
            talk.say(proper_words(proper));
        } else {
            let rounds = trained.rounds.map(|rounds| format!(" ({rounds} rounds over the blocks)"));
            talk.say(format!(
                "{} after {} iterations{}, loss {}",
                termination_words(fit.termination),
                fit.iterations(),
                rounds.unwrap_or_default(),
                short(fit.loss().unwrap_or(f64::NAN)),
            ));
        }
        let mut tables = String::new();
        if !fit.certificates.is_empty() {
            tables += &certificate_table(&fit.certificates);
        }
        talk.tables(&(tables + &metrics_table(&measured).text("")), &written)
    }
}

fn summary_json(
    trainer: &Training,
    trained: &Trained,
    measured: &[(&str, Summary)],
    written: &[PathBuf],
    seconds: f64,
) -> serde_json::Value {
    let fit = &trained.fit;
    let metrics: serde_json::Map<String, serde_json::Value> = measured
        .iter()
        .map(|(part, summary)| ((*part).to_owned(), metrics_json(summary)))
        .collect();
    let violated = trained.fit.certificates.iter().filter(|c| c.violated()).count();
    let mut value = json!({
        "method": trainer.name(),
        "options": plain_options(&trained.options),
        "termination": fit.termination.name(),
        "iterations": trained.iterations(),
        // The default weighs models by held-out log-loss: its own loss is the log-loss of its link.
        "loss": fit.loss().or_else(|| measured.first().map(|(_, train)| train.log_loss)),
        "loss_kind": LossKind::of(&**fit.model.link()).name(),
        "seconds": seconds,
        "metrics": metrics,
        "written": written,
    });
    if !trained.fit.certificates.is_empty() {
        value["certificates"] =
            json!({"iterations": trained.fit.certificates.len(), "violated": violated});
    }
    if let Some(rounds) = trained.rounds {
        value["rounds"] = json!(rounds);
    }
    if let Some(proper) = &trained.fit.proper {
        value["proper"] = learned(proper);
    }
    value
}

/// What cross-validation weighed and found.
fn proper_words(proper: &ProperFit) -> String {
    let [plain, linked, result] = proper.held_out_log_loss;
    format!(
        "held-out log-loss: logistic regression {plain:.4}, with the learned link {linked:.4}, \
         result {result:.4}\ncolumns: {}\nC {}, slope ratio {}, share of the second fit {}\n{}\n{}",
        proper.scaling_words(),
        short(proper.c),
        short(proper.slope_ratio),
        short(proper.refit_share),
        guarantee_words(proper.slope_ratio),
        FitCertificate::of(proper).words().join("\n"),
    )
}

/// What the slopes of the link promise, for every score.
pub(super) fn guarantee_words(slope_ratio: f64) -> String {
    format!(
        "guarantee: at every score the log-loss is at most that of the sigmoid + {} (log {})",
        short(slope_ratio.ln()),
        short(slope_ratio),
    )
}

fn termination_words(termination: Termination) -> &'static str {
    match termination {
        Termination::Converged => "converged",
        Termination::MaxIter => "stopped at --max-iter",
        Termination::Stopped => "stopped",
        Termination::GapClosed => "gap closed: no direction is left",
        Termination::Stalled => "at the limit of rounding",
        Termination::InfeasibleSlope => "ended: no link satisfies the slopes of the schedule",
        Termination::ScoresOutOfRange => "ended: a score left the range of the link",
        _ => "ended",
    }
}

/// Some iterations of a certified run, and how often the claim held.
fn certificate_table(certificates: &[Certificate]) -> String {
    const ROWS: usize = 12;
    let mut table =
        Table::new(&["iteration", "loss", "claimed", "observed", "gap", "gap bound", "damping"]);
    let kept = ROWS.min(certificates.len());
    for k in 0..kept {
        let at = if kept == 1 { 0 } else { k * (certificates.len() - 1) / (kept - 1) };
        let c = &certificates[at];
        let numbers = [c.loss_after, c.claimed, c.observed, c.gap, c.gap_bound, c.damping];
        table.row([c.iteration.to_string()].into_iter().chain(numbers.map(short)));
    }
    let violated = certificates.iter().filter(|c| c.violated()).count();
    format!(
        "{}the claimed decrease held in {} of {} iterations\n\n",
        table.text(""),
        certificates.len() - violated,
        certificates.len(),
    )
}
