//! `transfer`: a model on new data under a loss learned before.

use properloss::train::Value;
use properloss::train::registry::method;
use properloss_data::model_file::{AnyFile, read_any};

use super::fit::{Outputs, finish};
use super::{Parts, groups_of, load};
use crate::args::{TransferArgs, source};
use crate::failure::Result;
use crate::output::{Talk, check_inputs};
use properloss_data::training::Training;

/// Runs the command.
pub fn run(args: &TransferArgs, talk: Talk) -> Result<()> {
    check_inputs([&args.loss, &args.data].into_iter().chain(&args.test.file), [&args.out])?;
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
    let data = source(&args.data)?;
    let dataset = load(&args.data_args, &data, &options, talk)?;
    let groups = groups_of(&args.data_args, &data, &dataset, &options)?;
    let parts = Parts::new(dataset, groups, &args.test, &options, talk)?;
    finish(&trainer, &parts, files, talk)
}
