//! The arguments of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::UnknownArg;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The model.
    pub model: PathBuf,
    /// Where to write it; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// What to write [default: by the extension .onnx, .c, .sql or .py, else onnx].
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    /// onnx: core operators only (slower; no ai.onnx.ml).
    #[arg(long)]
    pub portable: bool,
    /// onnx: numbers come in as float, not as double.
    #[arg(long)]
    pub float32: bool,
    /// sql: the name of the table.
    #[arg(long, value_name = "NAME", default_value = "examples")]
    pub table: String,
    #[command(flatten)]
    pub unknown: UnknownArg,
}

/// A format of `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A graph for onnxruntime and its like.
    Onnx,
    /// A C99 function.
    C,
    /// A query.
    Sql,
    /// A Python function.
    Python,
}
