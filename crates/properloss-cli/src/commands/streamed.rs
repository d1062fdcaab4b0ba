//! `fit` of more rows than memory holds: they are decoded once into blocks on disk, which every pass
//! reads again.

use std::path::Path;
use std::time::Instant;

use properloss::metrics::{Measured, Summary};
use properloss::rows::Blocks;
use properloss::train::Model;
use properloss_data::fit_memory;
use properloss_data::memory::{Budget, shown_bytes};
use properloss_data::stream::{
    BlockFile, Cached, Destination, Fingerprint, Scan, block_bytes, cache, write_encoded,
};
use properloss_data::training::Training;
use properloss_data::{Examples, ReadOptions, Source, read_examples};

use super::fit::{Finished, OpenOutputs};
use super::{count_words, label_words, unknown_words};
use crate::args::{FitArgs, source};
use crate::failure::{Failure, Result};
use crate::interrupt::STOP;
use crate::output::Talk;
use crate::progress::{Progress, Watch};
use crate::report::forecasts;

/// The rows of a fit.
pub(super) enum Rows {
    /// They fit.
    Memory(Box<Examples>),
    /// They do not, or a cache was named.
    Blocks(Box<Cached>),
}

/// Reads the rows: into memory where they fit, else into blocks on disk if `--memory` or `--cache`
/// says that they may.
pub(super) fn rows(
    args: &FitArgs,
    source: &Source,
    options: &ReadOptions,
    training: &Training,
    talk: Talk,
) -> Result<Rows> {
    let limit = crate::memory::given();
    let _progress = Progress::spinner(talk, &format!("reading {}", source.name().display()));
    let options = &options.clone().with_several_classes();
    if let Some(directory) = &args.cache {
        check(args, training, "--cache keeps rows in blocks, and ")?;
        if let Source::Spilled { .. } | Source::Memory { .. } = source {
            return Err(Failure::usage(
                "--cache is for files: standard input cannot be recognised again",
                "leave it out, or give a file",
            ));
        }
        let memory = Budget::or_machine(limit).bytes();
        let fingerprint = Fingerprint::of(source, options.format_of(source)?, options)?;
        let most = block_bytes(memory);
        if let Some(cached) = cache::open(directory, &fingerprint, most)? {
            let file = cache::file_in(directory);
            talk.say(format!(
                "rows from the cache {}, {}",
                file.display(),
                shown_bytes(cached.blocks.bytes())
            ));
            return Ok(Rows::Blocks(Box::new(cached)));
        }
        let scan = two_classes(Scan::new(source, options)?)?;
        let destination = Destination::Kept(directory, &fingerprint);
        return blocks(scan, source, options, destination, memory, talk);
    }
    let Some(limit) = limit else {
        return Ok(Rows::Memory(Box::new(in_memory(source, options, training)?)));
    };
    if options.format_of(source)? == properloss_data::Format::Idx {
        return Ok(Rows::Memory(Box::new(read_examples(source, options)?)));
    }
    let scan = Scan::new(source, options)?;
    let state =
        training.shape(scan.rows() as usize, scan.encoder().width(), scan.stored() as usize);
    let state = fit_memory::needed(training.name(), &state);
    let needed = scan.bytes(options).saturating_add(state);
    if needed <= limit {
        return Ok(Rows::Memory(Box::new(scan.read(source, options)?)));
    }
    let why = format!(
        "{}: the fit takes {}, but {} may be used, and ",
        source.name().display(),
        shown_bytes(needed),
        shown_bytes(limit)
    );
    check(args, training, &why)?;
    blocks(two_classes(scan)?, source, options, Destination::Temporary, limit, talk)
}

/// All rows in memory; what does not fit is noticed before it is taken.
fn in_memory(source: &Source, options: &ReadOptions, training: &Training) -> Result<Examples> {
    let examples = read_examples(source, options).and_then(|examples| {
        if let Examples::Two(dataset) = &examples {
            let stored = dataset.matrix()?.stored();
            let shape = training.shape(dataset.rows(), dataset.columns(), stored);
            fit_memory::ask(training.name(), &shape)?;
        }
        Ok(examples)
    });
    examples.map_err(|error| {
        let words = match &error {
            properloss_data::Error::Memory { .. } => error.to_string(),
            properloss_data::Error::FitMemory { .. } => {
                format!("{}: {error}", source.name().display())
            }
            _ => return error.into(),
        };
        if !training.streams() {
            return error.into();
        }
        Failure::user(
            words,
            "pass --memory with what may be used, such as --memory 2GB: rows that do not fit are then \
             read from blocks on disk in every pass (docs/scale.md)",
        )
    })
}

/// Refuses what rows in blocks cannot do; `why` says why they are in blocks.
fn check(args: &FitArgs, training: &Training, why: &str) -> Result<()> {
    let memory = "allow more with --memory, so that all rows fit";
    if !training.streams() {
        let name = training.name();
        return Err(Failure::user(
            format!("{why}--method {name} needs all rows in memory at once"),
            format!("{memory}, or use --method proper"),
        ));
    }
    let options = [
        ("--group", args.data_args.group.is_some(), memory),
        ("--test-share", args.test.share.is_some(), "give the rows of the test as --test FILE"),
        ("--test-last", args.test.last.is_some(), "give the rows of the test as --test FILE"),
        ("--relative-weights", args.data_args.relative_weights, "scale the weights beforehand"),
    ];
    match options.into_iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((name, _, hint)) => {
            Err(Failure::user(format!("{why}{name} needs all rows in memory at once"), hint))
        }
    }
}

/// More than two classes are learned in memory.
fn two_classes(scan: Scan) -> Result<Scan> {
    let classes = scan.encoder().label.as_ref().map_or(0, |label| label.classes.several.len());
    if classes > 0 {
        return Err(Failure::user(
            format!("the label has {classes} classes; rows in blocks are learned with two"),
            "choose two with --negative and --positive, or allow more with --memory",
        ));
    }
    Ok(scan)
}

fn blocks(
    scan: Scan,
    source: &Source,
    options: &ReadOptions,
    destination: Destination<'_>,
    memory: u64,
    talk: Talk,
) -> Result<Rows> {
    if let Some(words) = label_words(scan.encoder(), options) {
        talk.say(words);
    }
    let cached = scan.write(source, options, destination, block_bytes(memory))?;
    let place = match destination {
        Destination::Temporary => "temporary".to_owned(),
        Destination::Kept(directory, _) => cache::file_in(directory).display().to_string(),
    };
    talk.say(format!(
        "rows in {} block(s) on disk, {} ({place})",
        cached.blocks.facts().len(),
        shown_bytes(cached.blocks.bytes()),
    ));
    Ok(Rows::Blocks(Box::new(cached)))
}

/// Trains on blocks, measures, writes and says what came out.
pub(super) fn finish(
    args: &FitArgs,
    trainer: &Training,
    cached: &Cached,
    options: &ReadOptions,
    files: OpenOutputs,
    talk: Talk,
) -> Result<()> {
    let facts = cached.blocks.facts();
    let classes = cached.classes();
    talk.say(format!(
        "fitting {}: {} rows, {} features, {} of class {:?}",
        trainer.name(),
        cached.blocks.rows(),
        cached.blocks.columns(),
        facts.iter().map(|facts| facts.counts[1]).sum::<u64>(),
        classes[1],
    ));
    let weight: f64 = facts.iter().map(|facts| facts.weights[0] + facts.weights[1]).sum();
    count_words(weight, cached.blocks.rows() as usize, talk);
    let start = Instant::now();
    let trained = {
        let progress = Progress::fit(talk, trainer.max_iter());
        trainer.run_blocks(&cached.blocks, &STOP, &mut Watch::new(&progress))?
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut measured = vec![("train", measure(&trained.fit.model, &cached.blocks)?)];
    if let Some(path) = &args.test.file {
        measured.push(("test", test(path, &trained.fit.model, cached, args, options, talk)?));
    }
    let (encoder, description) = (cached.encoder.clone(), cached.description.clone());
    let model = trained.file_of(encoder, classes, description);
    Finished { trainer, trained: &trained, model, measured, seconds }.write(files, talk)
}

/// The metrics of a model on the rows of another file, through blocks too.
fn test(
    path: &Path,
    model: &Model,
    cached: &Cached,
    args: &FitArgs,
    options: &ReadOptions,
    talk: Talk,
) -> Result<Summary> {
    let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
    let memory = Budget::or_machine(crate::memory::given()).bytes();
    let (source, unknown) = (source(path)?, args.test.unknown.rule);
    let rows = write_encoded(&source, &cached.encoder, unknown, options, block_bytes(memory))?;
    unknown_words(rows.description.unknown_categories, talk);
    measure(model, &rows.blocks)
}

fn measure(model: &Model, blocks: &BlockFile) -> Result<Summary> {
    let mut measured = Measured::default();
    blocks.for_each(|_, block| {
        let (scores, probabilities) = forecasts(model, block.matrix())?;
        measured.add(&scores, &probabilities, block.labels(), block.weights());
        Ok(())
    })?;
    Ok(measured.summary()?)
}
