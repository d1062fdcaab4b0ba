//! The Python module `properloss._core`: conversions, one error table, one doorway into the engine.

mod arrays;
mod blocks;
mod chain;
mod doorway;
mod encoder;
mod errors;
mod export;
mod file;
mod link;
mod loss;
mod matrix;
mod memory;
mod metrics;
mod model;
mod multiclass;
mod proper;
mod report;
mod train;
mod watch;

use pyo3::prelude::*;

/// The compiled part of properloss.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::blocks::{
        BlockFile, BlockWriter, block_answer, block_bytes, block_classes, block_facts, fit_blocks,
    };
    #[pymodule_export]
    use crate::chain::{ChainSolution, isotonic, solve_chain};
    #[pymodule_export]
    use crate::encoder::TableEncoder;
    #[pymodule_export]
    use crate::export::{Export, write_bytes};
    #[pymodule_export]
    use crate::file::{read_model, write_text};
    #[pymodule_export]
    use crate::link::{
        Cauchy, ClippedLine, Cloglog, IsotonicLink, Link, Loglog, Matsushita, PiecewiseLink,
        Probit, RelativeLink, Sigmoid, by_name, links,
    };
    #[pymodule_export]
    use crate::loss::{CanonicalLoss, CompositeLoss, Loss};
    #[pymodule_export]
    use crate::metrics::{
        metric_auc, metric_calibration, metric_calibration_bound, metric_corp, metric_log_loss,
    };
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::multiclass::{
        Multiclass, MulticlassCalibration, VectorMixture, class_model_to_json, fit_multiclass,
        fit_multiclass_calibrator, multiclass_scores, read_class_model,
    };
    #[pymodule_export]
    use crate::proper::{CalibrationMap, fit_calibrator, group_folds};
    #[pymodule_export]
    use crate::report::{report_card, report_page, report_page_of_classes};
    #[pymodule_export]
    use crate::train::{Fit, fit, methods};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("NotFiniteError", module.py().get_type::<crate::errors::NotFiniteError>())
    }
}
