//! `transfer`: a model on new data under a loss learned before.

use properloss::train::Value;
use properloss::train::registry::method;
use properloss_data::model_file::{AnyFile, read_any};

use super::fit::{Outputs, finish};
use super::{Parts, TestShare, load};
use crate::args::TransferArgs;
use crate::failure::{Failure, Result};
use crate::output::Talk;
use properloss_data::training::Training;

/// Runs the command.
pub fn run(args: &TransferArgs, talk: Talk) -> Result<()> {
    if args.train.method.is_some() || args.train.given.contains_key("link") {
        return Err(Failure::usage(
            "transfer minimises the loss of the file: it takes neither --method nor --link",
            "leave them out, or use `properloss fit`",
        ));
    }
    let canonical = method("canonical")?;
    let mut settings = args.train.settings(&canonical)?;
    let loss = match read_any(&args.loss)? {
        AnyFile::Loss(loss) => *loss,
        AnyFile::Model(model) => model.loss(),
    };
    let loss = loss.loss()?;
    settings.insert("link".into(), Value::Link(loss.link().spec()));
    // What the file holds, unless another loss of its link was asked for.
    if !settings.contains_key("loss_kind") {
        settings.insert("loss_kind".into(), Value::Word(loss.kind().name().to_owned()));
        talk.say(format!("loss: {}", loss.why()));
    }
    let trainer = Training::new(canonical, settings);
    let options = args.data_args.options()?;
    let files = Outputs { model: &args.out, loss: None, certificates: &[] }.open(talk)?;
    let dataset = load(&args.data, &options, talk)?;
    let test = args.test.as_deref();
    let parts = {
        let share = TestShare { any: args.test_share, last: args.test_last };
        Parts::new(dataset, test, share, args.seed, args.unknown.rule(), &options, talk)?
    };
    finish(&trainer, &parts, files, talk)
}
