//! The Python module `properloss._core`: conversions, one error table, one doorway into the engine.

mod arrays;
mod doorway;
mod errors;
mod link;
mod loss;
mod matrix;

use pyo3::prelude::*;

/// The compiled part of properloss.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::link::{
        Cauchy, ClippedLine, Cloglog, Link, Loglog, Matsushita, PiecewiseLink, Probit,
        RelativeLink, Sigmoid, by_name, links,
    };
    #[pymodule_export]
    use crate::loss::CanonicalLoss;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("NotFiniteError", module.py().get_type::<crate::errors::NotFiniteError>())
    }
}
