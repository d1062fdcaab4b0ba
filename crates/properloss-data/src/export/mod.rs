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

impl Exportable {
    /// The bytes of an ONNX file.
    pub fn onnx(&self, options: OnnxOptions) -> Result<Vec<u8>> {
        onnx::write(self, options)
    }

    /// C99 source with one public function and no dependency but `math.h` and `string.h`.
    pub fn c(&self) -> Result<String> {
        c::write(self)
    }

    /// A query that adds the column `probability` to the rows of `table`.
    pub fn sql(&self, table: &str) -> Result<String> {
        sql::write(self, table)
    }

    /// A Python module with one function and no import but `math` and `bisect`.
    pub fn python(&self) -> Result<String> {
        python::write(self)
    }
}
