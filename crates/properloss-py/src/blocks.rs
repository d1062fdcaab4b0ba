//! Rows in blocks: on disk, or with workers that are asked through a Python function.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use numpy::PyReadonlyArray1;
use properloss::rows::{Block, BlockAnswer, BlockFacts, BlockQuestion, Blocks, Stop, Take};
use properloss::sample::Matrix;
use properloss_data::DataDescription;
use properloss_data::options::Storage;
use properloss_data::stream;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::arrays::optional;
use crate::doorway;
use crate::errors::{file_to_python, to_python};
use crate::matrix::Rows;
use crate::train::{Fit, training};
use crate::watch::{self, Listeners};

/// Some rows, their labels 0/1 and their weights.
type Part<'py> = (Rows<'py>, PyReadonlyArray1<'py, u8>, Option<PyReadonlyArray1<'py, f64>>);

/// Makes a block of a part: by [`Block::new`], or of rows that were checked before.
fn block<'a>(
    (rows, labels, weights): &'a Part<'_>,
    make: impl Fn(Matrix<'a>, &'a [u8], Option<&'a [f64]>) -> properloss::Result<Block<'a>>,
) -> PyResult<Block<'a>> {
    make(rows.matrix()?, labels.as_slice()?, optional(weights)?).map_err(to_python)
}

/// What is known of a block before any question. Its values are checked.
#[pyfunction]
pub fn block_facts<'py>(py: Python<'py>, part: Part<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let block = block(&part, Block::new)?;
    let facts = doorway::run(py, || block.facts().to_bytes());
    Ok(PyBytes::new(py, &facts))
}

/// The counts and weights of the classes in some facts.
#[pyfunction]
pub fn block_classes(facts: &[u8]) -> PyResult<(u64, [u64; 2], [f64; 2])> {
    let facts = BlockFacts::from_bytes(facts).map_err(to_python)?;
    Ok((facts.rows, facts.counts, facts.weights))
}

/// What block number `number` answers to a question.
#[pyfunction]
pub fn block_answer<'py>(
    py: Python<'py>,
    part: Part<'py>,
    question: &[u8],
    number: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let block = block(&part, Block::known)?;
    let answer = doorway::run(py, || {
        let question = BlockQuestion::from_bytes(question)?;
        Ok(block.answer(&question, number, &|| false)?.to_bytes())
    });
    Ok(PyBytes::new(py, &answer.map_err(to_python)?))
}

/// Blocks that a Python function asks: `ask(question) -> answers`, in the order of the blocks.
struct Asked {
    facts: Vec<BlockFacts>,
    ask: Py<PyAny>,
    /// What the function raised.
    raised: Mutex<Option<PyErr>>,
}

impl Asked {
    fn answers(&self, question: &[u8]) -> PyResult<Vec<Vec<u8>>> {
        Python::attach(|py| {
            let answers = self.ask.bind(py).call1((PyBytes::new(py, question),))?;
            let answers = answers.cast_into::<PyList>()?;
            answers.iter().map(|answer| Ok(answer.extract::<&[u8]>()?.to_vec())).collect()
        })
    }
}

impl Blocks for Asked {
    fn facts(&self) -> &[BlockFacts] {
        &self.facts
    }

    fn ask(&self, question: &BlockQuestion, _: Stop, take: Take) -> properloss::Result<()> {
        let answers = self.answers(&question.to_bytes()).map_err(|error| {
            let reason = error.to_string();
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            properloss::Error::Block { reason }
        })?;
        if answers.len() != self.facts.len() {
            return Err(properloss::Error::WrongAnswer { expected: "one answer a block" });
        }
        answers.iter().try_for_each(|answer| take(BlockAnswer::from_bytes(answer)?))
    }
}

/// Rows in blocks on disk; they go with this object.
#[pyclass(frozen, module = "properloss._core")]
pub struct BlockFile {
    inner: stream::BlockFile,
}

#[pymethods]
impl BlockFile {
    /// Number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.inner.rows()
    }

    /// Number of blocks.
    #[getter]
    fn blocks(&self) -> usize {
        self.inner.facts().len()
    }

    /// Bytes on disk.
    #[getter]
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }
}

/// Collects rows and writes them in blocks.
#[pyclass(module = "properloss._core")]
pub struct BlockWriter {
    inner: Option<stream::BlockWriter>,
}

#[pymethods]
impl BlockWriter {
    #[new]
    #[pyo3(signature = (columns, *, single, sparse, weighted, block_bytes, directory=None))]
    fn new(
        columns: usize,
        single: bool,
        sparse: bool,
        weighted: bool,
        block_bytes: u64,
        directory: Option<PathBuf>,
    ) -> PyResult<Self> {
        let storage = if single { Storage::F32 } else { Storage::F64 };
        let mut layout = stream::Layout::dense(columns, storage);
        (layout.sparse, layout.weighted) = (sparse, weighted);
        let writer = stream::BlockWriter::temporary(directory.as_deref(), layout, block_bytes);
        Ok(Self { inner: Some(writer.map_err(file_to_python)?) })
    }

    /// Some more rows.
    fn push(
        &mut self,
        rows: Rows<'_>,
        labels: PyReadonlyArray1<'_, u8>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let matrix = rows.matrix()?;
        let labels = labels.as_slice()?;
        let weights = optional(&weights)?;
        let writer = self.inner.as_mut().ok_or_else(finished)?;
        writer.push_rows(&matrix, labels, weights).map_err(file_to_python)
    }

    /// The file of all rows.
    fn finish(&mut self) -> PyResult<BlockFile> {
        let writer = self.inner.take().ok_or_else(finished)?;
        Ok(BlockFile { inner: writer.finish(&DataDescription::default()).map_err(file_to_python)? })
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the writer has finished")
}

/// Bytes of a block where so many bytes may be used.
#[pyfunction]
pub fn block_bytes(memory: u64) -> u64 {
    stream::block_bytes(memory)
}

/// The blocks and listeners of a fit.
#[derive(FromPyObject)]
pub struct BlockTask {
    /// A [`BlockFile`], or `(facts, ask)`.
    #[pyo3(item)]
    blocks: Py<PyAny>,
    #[pyo3(item)]
    progress: Option<Py<PyAny>>,
    #[pyo3(item)]
    checkpoint: Option<(PathBuf, f64)>,
}

/// Runs a method of the registry on rows in blocks.
#[pyfunction]
pub fn fit_blocks(
    py: Python<'_>,
    task: BlockTask,
    method: &str,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Fit> {
    let training = training(method, settings, task.checkpoint, None)?;
    let listeners = Listeners { progress: task.progress, callback: None };
    let run = |blocks: &dyn Blocks| {
        watch::train(py, &listeners, |stop, watch| {
            let start = Instant::now();
            (training.run_blocks(blocks, stop, watch), start.elapsed().as_secs_f64())
        })
    };
    let object = task.blocks.bind(py);
    let (trained, seconds) = if let Ok(file) = object.cast::<BlockFile>() {
        run(&file.get().inner)?
    } else {
        let (facts, ask): (Vec<Vec<u8>>, Py<PyAny>) = object.extract()?;
        let facts = facts.iter().map(|facts| BlockFacts::from_bytes(facts));
        let facts = facts.collect::<properloss::Result<_>>().map_err(to_python)?;
        let asked = Asked { facts, ask, raised: Mutex::default() };
        let done = run(&asked);
        let raised = asked.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = raised {
            return Err(error);
        }
        done?
    };
    let inner = trained.map_err(file_to_python)?;
    training.forget_checkpoint();
    Ok(Fit::new(inner, seconds))
}
