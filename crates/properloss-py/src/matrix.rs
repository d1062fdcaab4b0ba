//! numpy and scipy matrices, borrowed where they lie.

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use properloss::sample::{Indices, Matrix, Offsets, Values};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors;

/// Rows held for the time of a call; [`Rows::matrix`] is what the engine reads.
pub enum Rows<'py> {
    /// C order, single precision.
    F32(PyReadonlyArray2<'py, f32>),
    /// C order, double precision.
    F64(PyReadonlyArray2<'py, f64>),
    /// `(offsets, indices, values, columns)`, as scipy's CSR holds them.
    Csr(IntegerArray<'py>, IntegerArray<'py>, ValueArray<'py>, usize),
}

/// scipy's index arrays.
pub enum IntegerArray<'py> {
    /// Small matrices.
    I32(PyReadonlyArray1<'py, i32>),
    /// Large matrices.
    I64(PyReadonlyArray1<'py, i64>),
}

/// The stored values of a sparse matrix.
pub enum ValueArray<'py> {
    /// Single precision.
    F32(PyReadonlyArray1<'py, f32>),
    /// Double precision.
    F64(PyReadonlyArray1<'py, f64>),
}

impl<'py> Rows<'py> {
    /// The matrix, without a copy; its structure is checked, its values are not.
    pub fn matrix(&self) -> PyResult<Matrix<'_>> {
        let matrix = match self {
            Self::F32(x) => {
                let [rows, columns] = [x.as_array().nrows(), x.as_array().ncols()];
                Matrix::dense_f32(x.as_slice()?, rows, columns)
            }
            Self::F64(x) => {
                let [rows, columns] = [x.as_array().nrows(), x.as_array().ncols()];
                Matrix::dense_f64(x.as_slice()?, rows, columns)
            }
            Self::Csr(offsets, indices, values, columns) => {
                let offsets = match offsets {
                    IntegerArray::I32(offsets) => Offsets::I32(offsets.as_slice()?),
                    IntegerArray::I64(offsets) => Offsets::I64(offsets.as_slice()?),
                };
                let indices = match indices {
                    IntegerArray::I32(indices) => Indices::I32(indices.as_slice()?),
                    IntegerArray::I64(indices) => Indices::I64(indices.as_slice()?),
                };
                let values = match values {
                    ValueArray::F32(values) => Values::F32(values.as_slice()?),
                    ValueArray::F64(values) => Values::F64(values.as_slice()?),
                };
                Matrix::csr(offsets, indices, values, *columns)
            }
        };
        matrix.map_err(errors::to_python)
    }
}

impl<'py> FromPyObject<'_, 'py> for Rows<'py> {
    type Error = PyErr;

    /// From a C-ordered array of `float32` or `float64`, or a tuple
    /// `(indptr, indices, data, n_columns)`.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray2<f64>>() {
            return Ok(Self::F64(array.try_readonly()?));
        }
        if let Ok(array) = object.cast::<PyArray2<f32>>() {
            return Ok(Self::F32(array.try_readonly()?));
        }
        type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, usize);
        if let Ok((offsets, indices, values, columns)) = object.extract::<Parts<'py>>() {
            return Ok(Self::Csr(
                integers(&offsets)?,
                integers(&indices)?,
                floats(&values)?,
                columns,
            ));
        }
        Err(PyTypeError::new_err(
            "X must be a C-ordered array of float32 or float64, or (indptr, indices, data, columns)",
        ))
    }
}

fn integers<'py>(object: &Bound<'py, PyAny>) -> PyResult<IntegerArray<'py>> {
    either(object, IntegerArray::I32, IntegerArray::I64, "sparse indices must be int32 or int64")
}

fn floats<'py>(object: &Bound<'py, PyAny>) -> PyResult<ValueArray<'py>> {
    either(object, ValueArray::F64, ValueArray::F32, "sparse values must be float32 or float64")
}

/// An array of one of two types.
fn either<'py, A: Element, B: Element, T>(
    object: &Bound<'py, PyAny>,
    first: fn(PyReadonlyArray1<'py, A>) -> T,
    second: fn(PyReadonlyArray1<'py, B>) -> T,
    otherwise: &'static str,
) -> PyResult<T> {
    if let Ok(array) = object.cast::<PyArray1<A>>() {
        return Ok(first(array.try_readonly()?));
    }
    match object.cast::<PyArray1<B>>() {
        Ok(array) => Ok(second(array.try_readonly()?)),
        Err(_) => Err(PyTypeError::new_err(otherwise)),
    }
}
