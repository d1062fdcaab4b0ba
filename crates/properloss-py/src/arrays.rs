//! Functions of numbers, applied to whatever numpy can make an array of.

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use rayon::prelude::*;

use crate::doorway;

/// Below this many values threads cost more than they bring.
const SERIAL: usize = 16_384;
/// Values a thread takes at a time.
const CHUNK: usize = 4096;

/// `f` of a number (a float comes back) or of every element of an array-like (an array of the same
/// shape comes back).
pub fn map<'py>(
    object: &Bound<'py, PyAny>,
    f: impl Fn(f64) -> f64 + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        return Ok(PyFloat::new(py, f(object.extract()?)).into_any());
    }
    let input = as_array(object)?;
    let view = input.try_readonly()?;
    let values = view.as_slice()?;
    let out = doorway::run(py, || apply(values.len(), |i| f(values[i])));
    shaped(py, out, &input)
}

/// `f(a, b)` after numpy's broadcasting.
pub fn map2<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    f: impl Fn(f64, f64) -> f64 + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let py = a.py();
    let is_number =
        |x: &Bound<'py, PyAny>| x.is_instance_of::<PyFloat>() || x.is_instance_of::<PyInt>();
    if is_number(a) {
        let a: f64 = a.extract()?;
        return map(b, |b| f(a, b));
    }
    if is_number(b) {
        let b: f64 = b.extract()?;
        return map(a, |a| f(a, b));
    }
    let numpy = py.import("numpy")?;
    let broadcast = numpy.call_method1("broadcast_arrays", (as_array(a)?, as_array(b)?))?;
    let (a, b) = (as_array(&broadcast.get_item(0)?)?, as_array(&broadcast.get_item(1)?)?);
    let (view_a, view_b) = (a.try_readonly()?, b.try_readonly()?);
    let (slice_a, slice_b) = (view_a.as_slice()?, view_b.as_slice()?);
    let out = doorway::run(py, || apply(slice_a.len(), |i| f(slice_a[i], slice_b[i])));
    shaped(py, out, &a)
}

/// A one-dimensional float array; `name` is what an error calls it.
pub fn column<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let array = as_array(object)?;
    match array.cast::<PyArray1<f64>>() {
        Ok(column) => Ok(column.clone()),
        Err(_) => Err(pyo3::exceptions::PyValueError::new_err(format!(
            "{name} must be one-dimensional, got shape {:?}",
            array.shape()
        ))),
    }
}

/// The values of an array that may be left out.
pub fn optional<'a, T: numpy::Element>(
    array: &'a Option<PyReadonlyArray1<'_, T>>,
) -> PyResult<Option<&'a [T]>> {
    Ok(array.as_ref().map(|array| array.as_slice()).transpose()?)
}

/// `numpy.asarray(object, dtype=float64, order="C")`, which is the object itself where it can be.
fn as_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    if let Ok(array) = object.cast::<PyArrayDyn<f64>>()
        && array.is_c_contiguous()
    {
        return Ok(array.clone());
    }
    let py = object.py();
    let array = py.import("numpy")?.call_method1("asarray", (object, "float64", "C"))?;
    Ok(array.cast_into::<PyArrayDyn<f64>>()?)
}

fn apply(length: usize, f: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let mut out = vec![0.0; length];
    if length < SERIAL {
        out.iter_mut().enumerate().for_each(|(i, value)| *value = f(i));
    } else {
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(c, chunk)| {
            chunk.iter_mut().enumerate().for_each(|(k, value)| *value = f(c * CHUNK + k));
        });
    }
    out
}

fn shaped<'py>(
    py: Python<'py>,
    out: Vec<f64>,
    like: &Bound<'py, PyArrayDyn<f64>>,
) -> PyResult<Bound<'py, PyAny>> {
    if like.ndim() == 0 {
        return Ok(PyFloat::new(py, out[0]).into_any());
    }
    let array = PyArray1::from_vec(py, out);
    Ok(array.reshape(like.shape().to_vec())?.into_any())
}

/// A dict of columns: under each name the numbers of a field of the points.
macro_rules! columns {
    ($py:expr, $points:expr; $($name:literal $field:ident),+) => {{
        let table = pyo3::types::PyDict::new($py);
        $(
            let values = $points.iter().map(|point| point.$field).collect();
            table.set_item($name, numpy::PyArray1::<f64>::from_vec($py, values))?;
        )+
        Ok(table)
    }};
}
pub(crate) use columns;
