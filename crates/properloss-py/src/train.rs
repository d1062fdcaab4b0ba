//! Every method of the registry, with its options as a dict.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1};
use properloss::certify::{Certificate, Field};
use properloss::sample::Sample;
use properloss::train::registry;
use properloss::train::{Iteration, Kind, OptionSpec, Settings, Stage, Value};
use properloss_data::model_file::{learned, plain_options};
use properloss_data::training::{Checkpoints, Trained, Training};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::optional;
use crate::errors::{file_to_python, json_to_python, to_python};
use crate::link;
use crate::matrix::Rows;
use crate::model::Model;
use crate::watch::{self, Listeners};

/// A finished run.
#[pyclass(frozen, module = "properloss._core")]
pub struct Fit {
    inner: Trained,
    /// Time from the checked arrays to the model, in seconds: what the engine itself took.
    #[pyo3(get)]
    seconds: f64,
}

impl Fit {
    /// Of a training and its time.
    pub fn new(inner: Trained, seconds: f64) -> Self {
        Self { inner, seconds }
    }
}

#[pymethods]
impl Fit {
    /// The classifier.
    #[getter]
    fn model(&self) -> Model {
        let fit = &self.inner.fit;
        Model { inner: fit.model.clone(), scaling: fit.scaling.clone() }
    }

    /// The name of the method.
    #[getter]
    fn method(&self) -> &'static str {
        self.inner.method
    }

    /// All its options, those given and the defaults: a JSON object.
    #[getter]
    fn options(&self) -> PyResult<String> {
        serde_json::to_string(&plain_options(&self.inner.options)).map_err(json_to_python)
    }

    /// The sum of the weights of the rows.
    #[getter]
    fn total_weight(&self) -> f64 {
        self.inner.total_weight
    }

    /// What cross-validation weighed and found, of the default: a JSON object.
    #[getter]
    fn learned(&self) -> Option<String> {
        self.inner.fit.proper.as_deref().map(|proper| learned(proper).to_string())
    }

    /// The score of every training row under the models that did not see it, of the default.
    #[getter]
    fn held_out_scores<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let proper = self.inner.fit.proper.as_deref()?;
        Some(PyArray1::from_slice(py, &proper.held_out_scores))
    }

    /// What each iteration was, of the default.
    #[getter]
    fn stages(&self) -> Option<Vec<&'static str>> {
        let proper = self.inner.fit.proper.as_deref()?;
        Some(proper.stages.iter().map(|stage| stage.name()).collect())
    }

    /// Iterations, or passes over the rows where iterations differ in what they cost.
    #[getter]
    fn iterations(&self) -> usize {
        self.inner.iterations()
    }

    /// Rounds of questions to blocks, of methods without folds.
    #[getter]
    fn rounds(&self) -> Option<usize> {
        self.inner.rounds
    }

    /// Why the run ended.
    #[getter]
    fn termination(&self) -> &'static str {
        self.inner.fit.termination.name()
    }

    /// One array for each quantity of an iteration.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = PyDict::new(py);
        for (name, value) in QUANTITIES {
            let values = self.inner.fit.history.iter().map(value).collect();
            history.set_item(name, PyArray1::from_vec(py, values))?;
        }
        if !self.inner.fit.certificates.is_empty() || self.inner.method == "certified" {
            add_certificates(&history, &self.inner.fit.certificates)?;
        }
        Ok(history)
    }
}

/// The fields of certificates: numbers and counts as floats, conditions as bools.
fn add_certificates(history: &Bound<'_, PyDict>, certificates: &[Certificate]) -> PyResult<()> {
    let py = history.py();
    let rows: Vec<_> = certificates.iter().map(Certificate::fields).collect();
    for (column, (name, kind)) in Certificate::default().fields().into_iter().enumerate() {
        if history.contains(name)? {
            continue; // iteration, gap and slopes are there already, the same numbers
        }
        let values = rows.iter().map(|row| row[column].1);
        if let Field::Flag(_) = kind {
            let flags = values.map(|value| value == Field::Flag(true)).collect();
            history.set_item(name, PyArray1::from_vec(py, flags))?;
        } else {
            let number = |value| match value {
                Field::Number(number) => number,
                Field::Count(count) => count as f64,
                Field::Flag(flag) => f64::from(u8::from(flag)),
            };
            history.set_item(name, PyArray1::from_vec(py, values.map(number).collect()))?;
        }
    }
    Ok(())
}

/// A quantity of an iteration, with its Python name.
type Quantity = (&'static str, fn(&Iteration) -> f64);

/// The quantities of an iteration.
const QUANTITIES: [Quantity; 10] = [
    ("iteration", |it| it.iteration as f64),
    ("loss", |it| it.loss),
    ("gap", |it| it.gap),
    ("step", |it| it.step),
    ("score_min", |it| it.score_min),
    ("score_max", |it| it.score_max),
    ("slope_min", |it| it.slope_min),
    ("slope_max", |it| it.slope_max),
    ("link_change", |it| it.link_change),
    ("weight_change", |it| it.weight_change),
];

/// An iteration as a dict, with what the run did in it.
pub fn row<'py>(
    py: Python<'py>,
    iteration: &Iteration,
    stage: Option<&Stage>,
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for (name, value) in QUANTITIES {
        row.set_item(name, value(iteration))?;
    }
    if let Some(stage) = stage {
        row.set_item("stage", &stage.name)?;
        row.set_item("at_most", stage.at_most)?;
    }
    Ok(row)
}

/// The data and listeners that every method takes.
#[derive(FromPyObject)]
pub struct Task<'py> {
    #[pyo3(item)]
    rows: Rows<'py>,
    #[pyo3(item)]
    labels: PyReadonlyArray1<'py, u8>,
    #[pyo3(item)]
    weights: Option<PyReadonlyArray1<'py, f64>>,
    /// The fold that each row is held out in, if it is not drawn.
    #[pyo3(item)]
    folds: Option<PyReadonlyArray1<'py, u32>>,
    #[pyo3(item)]
    progress: Option<Py<PyAny>>,
    #[pyo3(item)]
    callback: Option<Py<PyAny>>,
    /// Where the state goes, and the seconds between two states.
    #[pyo3(item)]
    checkpoint: Option<(PathBuf, f64)>,
}

/// Runs a method of the registry.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    task: Task<'_>,
    method: &str,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Fit> {
    let folds = match &task.folds {
        None => None,
        Some(folds) => Some(folds.as_slice()?.to_vec()),
    };
    let training = training(method, settings, task.checkpoint, folds)?;
    let matrix = task.rows.matrix()?;
    let labels = task.labels.as_slice()?;
    let weights = optional(&task.weights)?;
    let listeners = Listeners { progress: task.progress, callback: task.callback };
    let (trained, seconds) = watch::train(py, &listeners, |stop, watch| {
        let start = Instant::now();
        let trained = Sample::new(matrix, labels, weights)
            .map_err(properloss_data::Error::from)
            .and_then(|sample| training.run(&sample, stop, watch));
        (trained, start.elapsed().as_secs_f64())
    })?;
    let inner = trained.map_err(file_to_python)?;
    training.forget_checkpoint();
    Ok(Fit { inner, seconds })
}

/// A method with options, checkpoints and folds as Python gives them.
pub fn training(
    method: &str,
    settings: &Bound<'_, PyDict>,
    checkpoint: Option<(PathBuf, f64)>,
    folds: Option<Vec<u32>>,
) -> PyResult<Training> {
    let method = registry::method(method).map_err(to_python)?;
    let mut given = Settings::new();
    for (name, value) in settings {
        let name: String = name.extract()?;
        let Some(option) = method.option(&name) else {
            return Err(PyTypeError::new_err(format!("{} takes no {name}", method.name)));
        };
        given.insert(name, value_of(option, &value)?);
    }
    let checkpoints = match checkpoint {
        None => None,
        Some((file, seconds)) => {
            let every = Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!(
                    "checkpoint_every is {seconds}; it must be 0 or more"
                ))
            })?;
            Some(Checkpoints { file, every })
        }
    };
    Ok(Training::new(method, given).with_folds(folds).with_checkpoints(checkpoints))
}

/// A value as the option takes it.
fn value_of(option: &OptionSpec, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let words_first = |value: &Bound<'_, PyAny>| value.extract::<String>().map(Value::Word);
    let found = match option.kind {
        Kind::Flag => value.is_truthy().map(Value::Flag),
        Kind::Count(_) => value.extract().map(Value::Count),
        Kind::Number { .. } => value.extract().map(Value::Number),
        Kind::Choice(_) => value.extract().map(Value::Word),
        Kind::StepSize => words_first(value).or_else(|_| value.extract().map(Value::Number)),
        Kind::Link => link::from_python(value).map(|link| Value::Link(link.spec())),
        Kind::ClassWeight => words_first(value).or_else(|_| value.extract().map(Value::Numbers)),
        Kind::Numbers => value.extract().map(Value::Numbers),
    };
    found.map_err(|_| match value.repr() {
        Ok(text) => to_python(option.refuse(text)),
        Err(error) => error,
    })
}

/// Every method: its name, class, the parameters that choose it there, a sentence, its options.
#[pyfunction]
pub fn methods(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for method in registry::methods() {
        let entry = PyDict::new(py);
        entry.set_item("name", method.name)?;
        entry.set_item("class_name", method.class.0)?;
        let fixed = PyDict::new(py);
        for (parameter, value) in method.class.1 {
            fixed.set_item(parameter, value)?;
        }
        entry.set_item("fixed", fixed)?;
        entry.set_item("summary", method.summary)?;
        let options = PyList::empty(py);
        for option in &method.options {
            options.append(described(py, option)?)?;
        }
        entry.set_item("options", options)?;
        all.append(entry)?;
    }
    Ok(all)
}

/// An option as Python sees it: the kind by a name, with its range or its words.
fn described<'py>(py: Python<'py>, option: &OptionSpec) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", option.name)?;
    entry.set_item("help", option.help)?;
    entry.set_item("expected", option.kind.expected())?;
    let kind = match option.kind {
        Kind::Flag => "flag",
        Kind::Count(least) => {
            entry.set_item("low", least)?;
            "count"
        }
        Kind::Number { low, low_taken, high, high_taken } => {
            entry.set_item("low", low)?;
            entry.set_item("high", high)?;
            entry.set_item("taken", (low_taken, high_taken))?;
            "number"
        }
        Kind::Choice(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            entry.set_item("words", words)?;
            "choice"
        }
        Kind::StepSize => "step",
        Kind::Link => "link",
        Kind::ClassWeight => "class_weight",
        Kind::Numbers => "numbers",
    };
    entry.set_item("kind", kind)?;
    match &option.default {
        None => entry.set_item("default", py.None())?,
        Some(Value::Flag(flag)) => entry.set_item("default", flag)?,
        Some(Value::Count(count)) => entry.set_item("default", count)?,
        Some(Value::Number(number)) => entry.set_item("default", number)?,
        Some(Value::Word(word)) => entry.set_item("default", word)?,
        Some(Value::Numbers(numbers)) => {
            entry.set_item("default", pyo3::types::PyTuple::new(py, numbers)?)?;
        }
        Some(Value::Link(link)) => entry.set_item("default", link.name())?,
    }
    Ok(entry)
}
