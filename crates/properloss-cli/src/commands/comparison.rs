//! What `compare` measures and shows, of two classes or of several.

use properloss_data::LabelledRows;
use serde_json::{Value, json};

use super::parts::{Labelled, Round};
use super::row_losses::RowLosses;
use crate::args::CompareArgs;
use crate::failure::Result;
use crate::output::Talk;
use crate::report::Measures;
use crate::table::Table;

/// One method: its measures in each round.
pub(super) struct Comparison<S> {
    pub method: &'static str,
    pub rounds: Vec<S>,
    /// Of each round, if the method counts them.
    pub iterations: Vec<usize>,
    pub seconds: f64,
    /// Of every test row.
    pub losses: RowLosses,
}

impl<S: Measures> Comparison<S> {
    /// Nothing measured yet.
    pub fn new(method: &'static str) -> Self {
        let (rounds, iterations) = (Vec::new(), Vec::new());
        Self { method, rounds, iterations, seconds: 0.0, losses: RowLosses::default() }
    }

    /// Takes in the measures of one of so many rounds, and the log-loss of its test rows.
    pub fn add<L: Labelled>(
        &mut self,
        measures: S,
        losses: impl ExactSizeIterator<Item = f64>,
        round: &Round<L>,
        rounds: usize,
    ) {
        self.rounds.push(measures);
        let weights = round.test.weights.as_deref();
        self.losses.add(losses, weights, round.test_groups.as_deref(), rounds);
    }

    /// For machines.
    pub fn json(&self, first: &Self, mean: Value, round: impl Fn(&S) -> Value) -> Value {
        let (difference, error) = self.losses.difference(&first.losses);
        json!({
            "method": self.method,
            "mean": mean,
            "log_loss_standard_error": self.losses.standard_error(),
            "log_loss_difference": {
                "from": first.method,
                "mean": difference,
                "standard_error": error,
            },
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
            "iterations": self.iterations,
            "seconds": self.seconds,
        })
    }
}

/// Says what is compared on which rows.
pub(super) fn announce<L: Labelled>(words: &str, rounds: &[Round<L>], talk: Talk) {
    let rows = |data: &LabelledRows<L>| data.rows();
    let how = match rounds {
        [only] => format!("{} rows to train, {} to test", rows(&only.train), rows(&only.test)),
        _ => format!("mean of {} folds", rounds.len()),
    };
    talk.say(format!("{words}; {how}"));
}

/// Prints the results.
pub(super) fn show<L: Labelled, S: Measures>(
    args: &CompareArgs,
    rounds: &[Round<L>],
    results: &[Comparison<S>],
    methods: &Value,
    talk: Talk,
) -> Result<()> {
    if results.len() > 1 && !talk.json {
        talk.say(format!(
            "+-: standard errors over the test rows; difference: log-loss less that of {}, row by row",
            results[0].method
        ));
    }
    let json = json!({
        "rows": rounds.iter().map(|round| round.test.rows()).sum::<usize>(),
        "rounds": rounds.len(),
        "groups": args.data_args.group,
        "seed": args.test.seed,
        "methods": methods,
    });
    talk.result(|| table(results).text(""), &json)
}

/// For people.
pub(super) fn table<S: Measures>(results: &[Comparison<S>]) -> Table {
    let (before, after) = S::NAMES.split_at(S::LOG_LOSS);
    let mut names = vec!["method"];
    names.extend(before);
    names.extend(["+-", "difference", "+-"]);
    names.extend(after);
    names.push("seconds");
    let mut table = Table::new(&names);
    for (k, result) in results.iter().enumerate() {
        let cells = S::mean(&result.rounds).cells();
        let (before, after) = cells.split_at(S::LOG_LOSS);
        let difference = if k == 0 {
            [String::new(), String::new()]
        } else {
            let (mean, error) = result.losses.difference(&results[0].losses);
            [format!("{mean:+.4}"), format!("{error:.4}")]
        };
        let row = [result.method.to_owned()].into_iter().chain(before.iter().cloned());
        let row = row.chain([format!("{:.4}", result.losses.standard_error())]).chain(difference);
        table.row(row.chain(after.iter().cloned()).chain([format!("{:.2}", result.seconds)]));
    }
    table
}
