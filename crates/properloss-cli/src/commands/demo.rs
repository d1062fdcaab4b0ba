//! `demo`: the main job on data that the program carries.

use std::path::{Path, PathBuf};

use properloss::link::{Cloglog, InverseLink};
use properloss::loss::Loss;
use properloss::metrics::{self, Summary};
use properloss::train::registry::method;
use properloss::train::{Silent, Value as Setting};
use properloss_data::synthetic::{Means, SingleIndex, Synthetic, gaussians};
use properloss_data::{Dataset, ModelFile, ReadOptions, Source, read, write_atomically, write_csv};
use properloss_report::{matched_sigmoid, svg};
use serde_json::{Value, json};

use super::compare::{compare, compared, json_of};
use super::comparison::{Comparison, table};
use super::parts::Round;
use crate::args::{DemoArgs, TrainArgs};
use crate::failure::{Failure, Result};
use crate::interrupt::STOP;
use crate::output::{Talk, print};
use crate::progress::Progress;
use crate::report::{LinkReport, measure, metrics_json, metrics_table};
use crate::table::short;
use properloss_data::training::Training;

/// The carried data set; see `data/README.md` for its source.
const BREAST_CANCER: &[u8] = include_bytes!("../../data/breast_cancer.csv");
/// The methods whose models, losses and pictures are kept: the default, and the one whose link is
/// sure to have a canonical loss.
const KEPT: [&str; 2] = ["proper", "certified"];

/// Runs the command.
pub fn run(args: &DemoArgs, talk: Talk) -> Result<()> {
    std::fs::create_dir_all(&args.out).map_err(|source| {
        Failure::from(properloss_data::Error::Write { file: args.out.clone(), source })
    })?;
    let demo = Demo { out: &args.out, rows: args.rows, talk };
    let gaussians = demo.gaussians()?;
    let (cloglog, loss) = demo.single_index()?;
    let transfer = demo.transfer(&loss)?;
    let breast_cancer = demo.breast_cancer()?;
    let value = json!({
        "gaussians": gaussians,
        "cloglog": cloglog,
        "transfer": transfer,
        "breast_cancer": breast_cancer,
    });
    demo.write("results.json", format!("{value:#}\n").as_bytes())?;
    if talk.json {
        return print(&format!("{value:#}\n"));
    }
    demo.words(&format!(
        "\nModels, losses, pictures and tables are in {}/. Look at one:\n\
         \x20 properloss inspect {}\n",
        args.out.display(),
        args.out.join("breast-cancer.proper.model.json").display(),
    ))
}

struct Demo<'a> {
    out: &'a Path,
    rows: usize,
    talk: Talk,
}

/// A curve for the picture: its name and the function.
type Reference = (&'static str, Box<dyn Fn(f64) -> f64>);

impl Demo<'_> {
    /// The paper's synthetic data: the sigmoid is the true link, so nothing should beat logistic
    /// regression, and a learned link should come out close to the sigmoid.
    fn gaussians(&self) -> Result<Value> {
        let rows = self.rows;
        let (train, test) =
            (gaussians(rows, Means::Stated, 1)?, gaussians(rows, Means::Stated, 2)?);
        self.write_examples("gaussians.csv", &train)?;
        self.words(&format!(
            "1. Two normal clouds, {rows} rows to train and {rows} to test. The true link is the\n   \
             sigmoid; the best possible AUC is {:.4}, the best possible log-loss here {:.4}.\n\n",
            Means::Stated.bayes_auc(),
            bayes_log_loss(&test)?,
        ))?;
        let results = self.compare(&[Round::new(train.dataset.clone(), test.dataset.clone())])?;
        let truth = |z: f64| 1.0 / (1.0 + (-z).exp());
        self.keep("gaussians", &train.dataset, |model| along(&train, model, truth))?;
        Ok(json!({"bayes_auc": Means::Stated.bayes_auc(), "methods": json_of(&results)}))
    }

    /// Data with an asymmetric true link, where the sigmoid is wrong and the link can be learned.
    fn single_index(&self) -> Result<(Value, ModelFile)> {
        let rows = self.rows;
        let family = SingleIndex::new(5, 2.0, 1)?;
        let make = |seed| family.generate_with_link("cloglog", &Cloglog, rows, seed);
        let (train, test) = (make(3)?, make(4)?);
        self.write_examples("cloglog.csv", &train)?;
        let best = bayes_log_loss(&test)?;
        self.words(&format!(
            "\n2. One linear score of five features under an asymmetric true link\n   \
             (complementary log-log), {rows} rows each. The best possible log-loss is {best:.4}.\n\n",
        ))?;
        let results = self.compare(&[Round::new(train.dataset.clone(), test.dataset.clone())])?;
        let truth = |z: f64| Cloglog.u(z);
        let model = self.keep("cloglog", &train.dataset, |model| along(&train, model, truth))?;
        Ok((json!({"bayes_log_loss": best, "methods": json_of(&results)}), model))
    }

    /// The loss learned in the second part on few new rows of the same kind.
    fn transfer(&self, learned: &ModelFile) -> Result<Value> {
        const FEW: usize = 300;
        let family = SingleIndex::new(5, 2.0, 7)?;
        let make = |rows, seed| family.generate_with_link("cloglog", &Cloglog, rows, seed);
        let (train, test) = (make(FEW, 5)?.dataset, make(self.rows, 6)?.dataset);
        let link = learned.link.build()?;
        let learned = [("link".to_owned(), Setting::Link(link.spec()))].into_iter().collect();
        let trainers = [
            ("the learned loss", Training::new(method("canonical")?, learned)),
            ("a loss learned on these rows", Training::named("certified")?),
            ("log-loss", Training::named("logistic")?),
        ];
        let mut measured = Vec::new();
        for (name, trainer) in &trainers {
            let progress = Progress::spinner(self.talk, name);
            let trained = trainer.run(&train.sample()?, &STOP, &mut Silent)?;
            drop(progress);
            measured.push((*name, measure(&trained.fit.model, &test)?));
        }
        self.words(&format!(
            "\n3. The loss that certified learned there, transferred to a new task with other weights\n   \
             and only {FEW} rows (properloss transfer), beside others on the same rows:\n\n{}",
            metrics_table(&measured).text("   "),
        ))?;
        let pairs = measured.iter().map(|(name, summary)| ((*name).into(), metrics_json(summary)));
        Ok(Value::Object(pairs.collect()))
    }

    /// The carried real data.
    fn breast_cancer(&self) -> Result<Value> {
        let source = Source::memory("breast_cancer.csv", BREAST_CANCER);
        let dataset = read(&source, &ReadOptions::default())?;
        self.words(&format!(
            "\n4. Breast cancer: {} rows, {} features, 5 folds.\n\n",
            dataset.rows(),
            dataset.columns(),
        ))?;
        let results = self.compare(&Round::folded(&dataset, None, 5, 0)?)?;
        self.keep("breast-cancer", &dataset, |model| {
            let link = model.link.build().ok()?;
            Some(("sigmoid, same quartiles", Box::new(matched_sigmoid(&*link))))
        })?;
        Ok(json!({"methods": json_of(&results)}))
    }

    fn compare(&self, rounds: &[Round]) -> Result<Vec<Comparison<Summary>>> {
        let results = compare(&compared(), &TrainArgs::default(), 0, rounds, self.talk)?;
        self.words(&table(&results).text("   "))?;
        Ok(results)
    }

    /// Fits the kept methods to all rows and writes models, losses and pictures; hands back the last.
    fn keep(
        &self,
        name: &str,
        dataset: &Dataset,
        reference: impl Fn(&ModelFile) -> Option<Reference>,
    ) -> Result<ModelFile> {
        let mut last = None;
        for method in KEPT {
            let trainer = Training::named(method)?;
            let progress = Progress::spinner(self.talk, method);
            let trained = trainer.run(&dataset.sample()?, &STOP, &mut Silent)?;
            drop(progress);
            let model = trained.model_file(dataset);
            let name = format!("{name}.{method}");
            self.write(&format!("{name}.model.json"), model.to_json()?.as_bytes())?;
            self.write(&format!("{name}.loss.json"), model.loss().to_json()?.as_bytes())?;
            let link = trained.fit.model.link();
            let report = LinkReport::new(model.loss().loss()?);
            let reference = reference(&model);
            let references: Vec<(&str, &dyn Fn(f64) -> f64)> =
                reference.iter().map(|(name, u)| (*name, &**u)).collect();
            let svg = svg::link_and_losses("Learned link", &**link, &references, report.loss());
            self.write(&format!("{name}.svg"), svg.as_bytes())?;
            self.learned(&model, &report)?;
            last = Some(model);
        }
        last.ok_or_else(|| Failure::Internal("no method is kept".into()))
    }

    /// What was learned, in plain words.
    fn learned(&self, model: &ModelFile, report: &LinkReport) -> Result<()> {
        let link = model.link.build()?;
        let mut text = format!(
            "\n   learned by {}: u(0) = {}, probability 1/2 at score {}.",
            model.fitted.method,
            short(link.u(0.0)),
            short(link.u_inverse(0.5)),
        );
        if let Loss::Canonical(loss) = report.loss() {
            // Under log-loss both mistakes cost the same; the learned loss may say otherwise.
            let ratio = loss.partial_loss(1.0, 0.1) / loss.partial_loss(0.0, 0.9);
            let costs = if (0.95..=1.05).contains(&ratio) {
                "as much".to_owned()
            } else {
                format!("{} times as much", short(ratio))
            };
            let [negative, positive] = &model.classes;
            text.push_str(&format!(
                " Under its loss, to say\n   10 % where the label is {positive:?} costs {costs} as \
                 to say 90 % where it is {negative:?}.",
            ));
        }
        self.words(&format!("{text}\n"))
    }

    fn write_examples(&self, name: &str, synthetic: &Synthetic) -> Result<()> {
        let path = self.path(name);
        let further: [(&str, &[f64]); 1] = [("bayes", &synthetic.bayes)];
        Ok(write_atomically(&path, |out| write_csv(&synthetic.dataset, &further, out))?)
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        Ok(write_atomically(&self.path(name), |out| out.write_all(content))?)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// The report is the output of this command, unless it is JSON.
    fn words(&self, text: &str) -> Result<()> {
        if self.talk.json { Ok(()) } else { print(text) }
    }
}

/// The true link over the learned score: the learned weights are a multiple of the true ones, up to
/// noise, so the true score is about `a z + b` with `a` by least squares over the directions.
fn along(
    synthetic: &Synthetic,
    model: &ModelFile,
    truth: impl Fn(f64) -> f64 + 'static,
) -> Option<Reference> {
    let w = &model.weights;
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let a = dot(w, &synthetic.weights) / dot(w, w);
    let b = synthetic.intercept - a * model.intercept;
    Some(("true link", Box::new(move |z| truth(a * z + b))))
}

fn bayes_log_loss(synthetic: &Synthetic) -> Result<f64> {
    Ok(metrics::log_loss(&synthetic.bayes, &synthetic.dataset.labels, None)?)
}
