//! A model without properloss: as an ONNX graph, as C99, as SQL, as a Python function.
//!
//! ```text
//! table -> encoder -> z = w.x + b -> link -> P(y = 1)
//! ```
//!
//! A link is written once, as a program of operations that every target has; each target
//! then writes that program and its own form of the encoder and the score.

mod c;
mod link;
mod onnx;
mod program;
mod python;
mod several;
mod source;
mod sql;
mod text;

pub use onnx::{OnnxOptions, Opsets};
pub use several::ClassExportable;
pub use source::Exportable;

use crate::error::Result;

/// A model or a calibration that can be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Export {
    /// Of two classes.
    Two(Exportable),
    /// Of three classes or more.
    Several(ClassExportable),
}

/// What it is written as.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Target<'a> {
    /// An ONNX file.
    Onnx(OnnxOptions),
    /// C99 source with one public function and no dependency but `math.h` and `string.h`.
    C,
    /// A query that adds the column `probability`, or `probability_CLASS` for each class of several, to the
    /// rows of a table of this name.
    Sql(&'a str),
    /// A Python module with one function and no import but `math` and `bisect`.
    Python,
}

impl Export {
    /// The bytes of the file.
    pub fn write(&self, target: Target<'_>) -> Result<Vec<u8>> {
        let text = match (self, target) {
            (Self::Two(model), Target::Onnx(options)) => return onnx::write(model, options),
            (Self::Several(m), Target::Onnx(options)) => return onnx::write_several(m, options),
            (Self::Two(model), Target::C) => c::write(model),
            (Self::Several(model), Target::C) => several::c::write(model),
            (Self::Two(model), Target::Sql(table)) => sql::write(model, table),
            (Self::Several(model), Target::Sql(table)) => several::sql::write(model, table),
            (Self::Two(model), Target::Python) => python::write(model),
            (Self::Several(model), Target::Python) => several::python::write(model),
        };
        Ok(text?.into_bytes())
    }
}
