//! Data frames through the encoder of the command line: the same features, whatever holds the rows.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use properloss_data::encoder::{ColumnKind, Label};
use properloss_data::table::{MemoryColumn, MemoryTable, Table};
use properloss_data::{Classes, Encoder, Error, Missing, ReadOptions, UnknownCategory, date};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::doorway;
use crate::errors::{file_to_python, json_to_python};

/// A column as Python hands it over: name, kind, values, and what the kind needs besides.
type Handed<'py> = (String, String, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// How a table becomes features; pickled as its JSON.
#[pyclass(frozen, module = "properloss._core")]
pub struct TableEncoder {
    pub inner: Encoder,
}

#[pymethods]
impl TableEncoder {
    /// Learns the encoding of columns; those named in `categorical` are categories whatever they
    /// look like.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        columns: Vec<Handed<'_>>,
        rows: usize,
        missing: &str,
        categorical: Vec<String>,
    ) -> PyResult<Self> {
        let table = table(columns, rows)?;
        let missing = match missing {
            "mean" => Missing::Mean,
            _ => Missing::Error,
        };
        let options = ReadOptions::default().with_missing(missing).with_categorical(categorical);
        let open = || Ok(Box::new(table.clone()) as Box<dyn Table>);
        let inner = doorway::run(py, || Encoder::fit_features(&open, &options));
        Ok(Self { inner: inner.map_err(frame_error)? })
    }

    /// Columns of numbers.
    #[staticmethod]
    fn numeric(names: Vec<String>) -> Self {
        Self { inner: Encoder::numeric(names) }
    }

    /// The one column of a calibration: scores, or probabilities with a margin.
    #[staticmethod]
    fn calibration(name: String, margin: Option<f64>) -> Self {
        let mut inner = Encoder::numeric([name]);
        if let Some(margin) = margin {
            inner.columns[0].kind = ColumnKind::LogOdds { margin };
        }
        Self { inner }
    }

    /// The margin of a calibration of probabilities.
    #[getter]
    fn margin(&self) -> Option<f64> {
        match self.inner.columns.first()?.kind {
            ColumnKind::LogOdds { margin } => Some(margin),
            _ => None,
        }
    }

    /// The features of rows, and how many values are categories that did not occur at training.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Handed<'py>>,
        rows: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, u64)> {
        let mut table = table(columns, rows)?;
        let rule = UnknownCategory::Zeros;
        let done = doorway::run(py, || self.inner.encode_all(&mut table, rule));
        let (features, unknown) = done.map_err(frame_error)?;
        let matrix = PyArray1::from_vec(py, features).reshape([rows, self.inner.width()])?;
        Ok((matrix, unknown))
    }

    /// The same encoding with the label of the examples, so that the command line finds it.
    fn with_label(&self, column: Option<String>, negative: &str, positive: &str) -> PyResult<Self> {
        let classes = Classes::new(vec![negative.to_owned()], vec![positive.to_owned()])
            .map_err(file_to_python)?;
        let mut inner = self.inner.clone();
        inner.label = Some(Label { column, classes, skip_others: false });
        Ok(Self { inner })
    }

    /// The columns of the table.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.inner.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The names of the features: the column's, or `column=category`.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.inner.feature_names()
    }

    /// Whether every feature is the number in the table itself: nothing has to be encoded.
    #[getter]
    fn plain(&self) -> bool {
        self.inner.columns.iter().all(|column| column.is_plain_number())
    }

    /// As it stands in a model file.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner).map_err(json_to_python)
    }

    /// The reverse.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        let inner = serde_json::from_str(json);
        Ok(Self { inner: inner.map_err(json_to_python)? })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let json = slf.call_method0("to_json")?;
        Ok((slf.get_type().getattr("from_json")?, (json,)).into_pyobject(py)?.into_any())
    }
}

fn table(columns: Vec<Handed<'_>>, rows: usize) -> PyResult<MemoryTable> {
    let mut ours = Vec::with_capacity(columns.len());
    for (name, kind, values, extra) in columns {
        ours.push((name, column(&kind, &values, &extra)?));
    }
    MemoryTable::new("X", ours, rows).map_err(frame_error)
}

fn column(
    kind: &str,
    values: &Bound<'_, PyAny>,
    extra: &Bound<'_, PyAny>,
) -> PyResult<MemoryColumn> {
    Ok(match kind {
        "numbers" => {
            let values: PyReadonlyArray1<'_, f64> = values.extract()?;
            MemoryColumn::Numbers(values.as_slice()?.to_vec())
        }
        "bools" => {
            let values: PyReadonlyArray1<'_, i8> = values.extract()?;
            let truth = |&value: &i8| (value >= 0).then_some(value > 0);
            MemoryColumn::Bools(values.as_slice()?.iter().map(truth).collect())
        }
        // Parts of a second since 1970-01-01; the least number is a missing value.
        "ticks" => {
            let (values, per_second): (PyReadonlyArray1<'_, i64>, i64) =
                (values.extract()?, extra.extract()?);
            let days = |&ticks: &i64| match ticks {
                i64::MIN => f64::NAN,
                _ => date::of_ticks(ticks, per_second),
            };
            MemoryColumn::Dates(values.as_slice()?.iter().map(days).collect())
        }
        "texts" => {
            let codes: PyReadonlyArray1<'_, i64> = values.extract()?;
            MemoryColumn::Texts { codes: codes.as_slice()?.to_vec(), values: extra.extract()? }
        }
        other => return Err(PyTypeError::new_err(format!("no such kind of column: {other}"))),
    })
}

/// Hints name options of the command line; of a data frame other things are done.
fn frame_error(error: Error) -> PyErr {
    let hint = match &error {
        Error::MissingValue { .. } => "fill it, or pass missing=\"mean\"",
        Error::MissingAtPrediction { .. } => "fill it, or fit again with missing=\"mean\"",
        Error::AllMissing { .. } => "leave the column out",
        Error::TextInNumericColumn { .. } => {
            "correct the value, or give the column the dtype \"category\""
        }
        Error::TooManyCategories { .. } => {
            "leave the column out, or give it the dtype \"category\" to keep it"
        }
        Error::DuplicateColumn { .. } => "give each column a name of its own",
        _ => return file_to_python(error),
    };
    PyValueError::new_err(format!("{error}\nhint: {hint}"))
}
