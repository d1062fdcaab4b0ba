//! The report page and the card of a notebook.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use properloss_report::{
    ClassForecasts, ClassRows, ClassSubject, Measured, Moments, Subject, card, page,
    page_of_classes,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::optional;
use crate::doorway;
use crate::errors::{file_to_python, to_python};
use crate::link::Link;
use crate::matrix::Rows;

/// One model: its name, the text of its model file (none: the scores are probabilities), the names
/// of its classes, what else is known as a JSON object, its scores, and the rows for deviations.
type Side<'py> = (
    String,
    Option<String>,
    (String, String),
    String,
    PyReadonlyArray1<'py, f64>,
    Option<Rows<'py>>,
);

/// The page about one model, or two on the same rows.
#[pyfunction]
pub fn report_page(
    py: Python<'_>,
    first: Side<'_>,
    second: Option<Side<'_>>,
    labels: PyReadonlyArray1<'_, u8>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    data: &str,
) -> PyResult<String> {
    let labels = labels.as_slice()?;
    let weights = optional(&weights)?;
    let mut subjects = vec![subject(py, &first, weights)?];
    if let Some(second) = &second {
        subjects.push(subject(py, second, weights)?);
    }
    let mut measured = Vec::new();
    for (subject, side) in subjects.iter().zip([Some(&first), second.as_ref()]) {
        if let Some(side) = side {
            measured.push(Measured { subject, scores: side.4.as_slice()?, labels, weights });
        }
    }
    doorway::run(py, || page(&measured[0], measured.get(1), data)).map_err(to_python)
}

fn subject(py: Python<'_>, side: &Side<'_>, weights: Option<&[f64]>) -> PyResult<Subject> {
    let (name, json, classes, details, _, rows) = side;
    let mut subject = match json {
        Some(json) => Subject::from_json(name, json.as_bytes()).map_err(file_to_python)?,
        None => Subject::probabilities(name, [classes.0.clone(), classes.1.clone()]),
    };
    subject.details.extend(object(details)?);
    subject.deviations = deviations(py, rows.as_ref(), weights)?;
    Ok(subject)
}

fn deviations(
    py: Python<'_>,
    rows: Option<&Rows<'_>>,
    weights: Option<&[f64]>,
) -> PyResult<Option<Vec<f64>>> {
    let Some(rows) = rows else { return Ok(None) };
    let matrix = rows.matrix()?;
    Ok(Some(doorway::run(py, || {
        let mut moments = Moments::default();
        moments.add(&matrix, weights);
        moments.deviations()
    })))
}

type Object = serde_json::Map<String, serde_json::Value>;

fn object(json: &str) -> PyResult<Object> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("details: {error}")))
}

/// One model of several classes: its name, the text of its model file (none: only the probabilities are
/// known), its probabilities (a column a class), the `tau` of its link, what else is known as a JSON
/// object, where it comes from, and the rows for deviations.
type ClassSide<'py> = (
    String,
    Option<String>,
    PyReadonlyArray2<'py, f64>,
    Option<f64>,
    String,
    Vec<(String, String)>,
    Option<Rows<'py>>,
);

/// The model of a side, if it is known.
fn class_subject(
    py: Python<'_>,
    side: &ClassSide<'_>,
    weights: Option<&[f64]>,
) -> PyResult<Option<ClassSubject>> {
    let (name, Some(json), .., rows) = side else { return Ok(None) };
    let mut subject = ClassSubject::from_json(name, json.as_bytes()).map_err(file_to_python)?;
    subject.deviations = deviations(py, rows.as_ref(), weights)?;
    Ok(Some(subject))
}

fn class_forecasts<'a>(
    side: &'a ClassSide<'_>,
    subject: Option<&'a ClassSubject>,
) -> PyResult<ClassForecasts<'a>> {
    let (name, _, probabilities, tau, others, provenance, _) = side;
    let mut details = subject.map_or_else(Object::new, |subject| subject.details.clone());
    details.extend(object(others)?);
    Ok(ClassForecasts {
        name,
        probabilities: probabilities.as_slice()?,
        tau: *tau,
        model: subject.map(|subject| &subject.file),
        deviations: subject.and_then(|subject| subject.deviations.as_deref()),
        details,
        provenance: provenance.clone(),
    })
}

/// The page about one model of several classes, or two on the same rows.
#[pyfunction]
pub fn report_page_of_classes(
    py: Python<'_>,
    first: ClassSide<'_>,
    second: Option<ClassSide<'_>>,
    classes: Vec<String>,
    labels: PyReadonlyArray1<'_, u32>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    data: &str,
) -> PyResult<String> {
    let weights = optional(&weights)?;
    let rows = ClassRows { data, classes: &classes, labels: labels.as_slice()?, weights };
    let mut subjects = vec![class_subject(py, &first, weights)?];
    if let Some(second) = &second {
        subjects.push(class_subject(py, second, weights)?);
    }
    let first = class_forecasts(&first, subjects[0].as_ref())?;
    let other = subjects.last().and_then(Option::as_ref);
    let second = second.as_ref().map(|second| class_forecasts(second, other)).transpose()?;
    doorway::run(py, || page_of_classes(&first, second.as_ref(), &rows)).map_err(to_python)
}

/// The card of a fitted estimator.
#[pyfunction]
pub fn report_card(link: &Bound<'_, Link>, facts: Vec<(String, String)>) -> String {
    card(&*link.get().inner, &facts)
}
