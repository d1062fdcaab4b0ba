//! Canonical proper losses as Python objects.

use std::path::Path;

use properloss::loss;
use properloss_data::LossFile;
use properloss_data::model_file::Link;
use pyo3::prelude::*;

use crate::arrays::{map, map2};
use crate::errors::{file_to_python, to_python};
use crate::link;

/// The proper loss whose canonical link is given: ``loss(y, z) = U(z) + U*(y) - y z``.
///
/// Labels ``y`` are 0 or 1 (or soft labels between them), scores ``z`` real, probabilities ``p`` in
/// [0, 1]; numbers or arrays, which are broadcast.
///
/// Parameters
/// ----------
/// inverse_link : InverseLink or str
///     The inverse link ``u``, or the name of a built-in one.
///
/// Attributes
/// ----------
/// inverse_link : InverseLink
///     From a score to a probability: ``loss.inverse_link(z)``.
///
/// Examples
/// --------
/// >>> from properloss import CanonicalLoss
/// >>> log_loss = CanonicalLoss("sigmoid")
/// >>> round(log_loss.loss(1, 0.0), 6)
/// 0.693147
/// >>> log_loss.gradient([0, 1], 0.0).tolist()
/// [0.5, -0.5]
/// >>> log_loss.inverse_link(0.0)
/// 0.5
#[pyclass(frozen, name = "CanonicalLoss", module = "properloss")]
pub struct CanonicalLoss {
    pub inner: loss::CanonicalLoss,
}

#[pymethods]
impl CanonicalLoss {
    #[new]
    fn new(inverse_link: &Bound<'_, PyAny>) -> PyResult<Self> {
        let link = link::from_python(inverse_link)?;
        Ok(Self { inner: loss::CanonicalLoss::new(link).map_err(to_python)? })
    }

    #[getter]
    fn inverse_link<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        link::into_python(py, self.inner.link().clone())
    }

    /// The score at which the probability is ``p``.
    fn link<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(p, |p| self.inner.link().u_inverse(p))
    }

    /// ``U(z) + U*(y) - y z``: what score ``z`` costs when the label is ``y``.
    fn loss<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        z: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        map2(y, z, |y, z| self.inner.loss(y, z))
    }

    /// The derivative of the loss in the score: ``u(z) - y``.
    fn gradient<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        z: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        map2(y, z, |y, z| self.inner.gradient(y, z))
    }

    /// The second derivative of the loss in the score: ``u'(z)``, the same for every label.
    fn hessian<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        z: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        map2(y, z, |_, z| self.inner.curvature(z))
    }

    /// What saying probability ``p`` costs when the label is ``y``.
    fn partial_loss<'py>(
        &self,
        y: &Bound<'py, PyAny>,
        p: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        map2(y, p, |y, p| self.inner.partial_loss(y, p))
    }

    /// ``-U*(p)``: the least expected loss where the rate is ``p``, up to a term affine in ``p``.
    fn conditional_bayes_risk<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(p, |p| self.inner.conditional_bayes_risk(p))
    }

    /// ``U(-z)``. It is the loss of a margin only if the loss is symmetric: do not train with it.
    fn surrogate<'py>(&self, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(z, |z| self.inner.surrogate(z))
    }

    /// The loss as the JSON text of a loss file, which the command line reads as well.
    fn to_json(&self) -> PyResult<String> {
        let link = Link::from(self.inner.link().spec());
        LossFile { link, provenance: None }.to_json().map_err(file_to_python)
    }

    /// The loss of a JSON text: the content of a loss file.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        let file =
            LossFile::from_json(json.as_bytes(), Path::new("loss")).map_err(file_to_python)?;
        let link = file.link.spec().build().map_err(to_python)?;
        Ok(Self { inner: loss::CanonicalLoss::new(link).map_err(to_python)? })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<CanonicalLoss>()
            .is_ok_and(|other| other.get().inner.link().spec() == self.inner.link().spec())
    }

    fn __hash__(&self) -> u64 {
        self.inner.link().u_inverse(0.5).to_bits()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("CanonicalLoss({})", self.inverse_link(py)?.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Ok((slf.get_type(), (slf.get().inverse_link(py)?,)).into_pyobject(py)?.into_any())
    }
}
