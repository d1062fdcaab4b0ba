//! `synth`: synthetic examples whose true probabilities are known.

use properloss::train::{Kind, Value};
use properloss_data::synthetic::{Means, SingleIndex, Synthetic, gaussians};
use properloss_data::write_csv;

use super::check_extension;
use crate::args::{Family, SynthArgs};
use crate::failure::{Failure, Result};
use crate::output::{Stream, Talk, is_stdout, print};

/// Runs the command.
pub fn run(args: &SynthArgs, talk: Talk) -> Result<()> {
    check_extension(args.out.as_deref(), &["csv"], "examples are CSV: end its name in .csv")?;
    let mut out = Stream::open(args.out.as_deref())?;
    let synthetic = make(args)?;
    let further: &[(&str, &[f64])] = if args.bayes { &[("bayes", &synthetic.bayes)] } else { &[] };
    let mut bytes = Vec::new();
    write_csv(&synthetic.dataset, further, &mut bytes).map_err(Failure::internal)?;
    let text = String::from_utf8(bytes).map_err(Failure::internal)?;
    out.write(&text)?;
    out.finish()?;
    if let Some(path) = &args.out {
        talk.say(format!("wrote {}: {} rows", path.display(), args.rows));
        if talk.json && !is_stdout(path) {
            let value = serde_json::json!({"written": path, "rows": args.rows, "seed": args.seed});
            return print(&format!("{value:#}\n"));
        }
    }
    Ok(())
}

fn make(args: &SynthArgs) -> Result<Synthetic> {
    Ok(match args.family {
        Family::Gaussians => gaussians(args.rows, Means::Stated, args.seed)?,
        Family::GaussiansUnitNorm => gaussians(args.rows, Means::UnitNorm, args.seed)?,
        Family::SingleIndex => {
            let Some(Value::Link(link)) = Kind::Link.parse(&args.link) else {
                return Err(Failure::usage(
                    format!("--link {}: it must be {}", args.link, Kind::Link.expected()),
                    "links are written NAME or NAME:A,B, such as --link clipped-line:0.5,0.5",
                ));
            };
            let link = link.build()?;
            let mut family = SingleIndex::new(args.features, args.norm, args.seed)?
                .with_symmetric_noise(args.noise);
            family.intercept = args.intercept;
            (family.floor, family.ceiling) = (args.floor, args.ceiling);
            family.generate_with_link(&args.link, &*link, args.rows, args.seed)?
        }
    })
}
