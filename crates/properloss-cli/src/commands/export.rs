//! `export`: a model as ONNX, C, SQL or Python.

use std::io::Write;
use std::path::Path;

use properloss_data::ModelFile;
use properloss_data::export::{ClassExportable, Export, Exportable, OnnxOptions, Target};
use properloss_data::model_file::ClassModelFile;
use properloss_data::write_atomically;

use crate::args::{ExportArgs, ExportFormat};
use crate::failure::{Failure, Result};
use crate::output::{Talk, check_inputs, print, stdout_failure};

/// Runs the command.
pub fn run(args: &ExportArgs, talk: Talk) -> Result<()> {
    check_inputs([&args.model], [&args.out])?;
    let format = format_of(args)?;
    let rule = args.unknown.rule;
    let model = match ClassModelFile::read_if_several(&args.model)? {
        Some(file) => Export::Several(ClassExportable::from_model(&file, rule)?),
        None => Export::Two(Exportable::from_model(&ModelFile::read(&args.model)?, rule)?),
    };
    let content = model.write(match format {
        ExportFormat::Onnx => {
            let mut options = OnnxOptions::default();
            (options.portable, options.float_input) = (args.portable, args.float32);
            Target::Onnx(options)
        }
        ExportFormat::C => Target::C,
        ExportFormat::Sql => Target::Sql(&args.table),
        ExportFormat::Python => Target::Python,
    })?;
    if args.out == Path::new("-") {
        let mut stdout = std::io::stdout().lock();
        return stdout.write_all(&content).and_then(|()| stdout.flush()).map_err(stdout_failure);
    }
    write_atomically(&args.out, |out| out.write_all(&content))?;
    talk.say(format!("wrote {} ({} bytes)", args.out.display(), content.len()));
    if talk.json {
        let value = serde_json::json!({"written": args.out, "bytes": content.len()});
        return print(&format!("{value:#}\n"));
    }
    Ok(())
}

/// The format that was named, or that of the extension; options of another are refused.
fn format_of(args: &ExportArgs) -> Result<ExportFormat> {
    let extension = args.out.extension().and_then(|extension| extension.to_str());
    let format = match (args.format, extension) {
        (Some(format), _) => format,
        (None, Some("c" | "h")) => ExportFormat::C,
        (None, Some("sql")) => ExportFormat::Sql,
        (None, Some("py")) => ExportFormat::Python,
        (None, _) => ExportFormat::Onnx,
    };
    if format != ExportFormat::Onnx && (args.portable || args.float32) {
        let option = if args.portable { "--portable" } else { "--float32" };
        return Err(Failure::usage(
            format!("{option} is for --format onnx"),
            format!("leave out {option}"),
        ));
    }
    Ok(format)
}
