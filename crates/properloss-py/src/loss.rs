//! Proper losses as Python objects: one base class, one subclass for each kind.

use std::path::{Path, PathBuf};

use properloss::loss::{self, LossKind};
use properloss_data::LossFile;
use properloss_data::model_file::{AnyFile, read_any};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::arrays::{map, map2};
use crate::errors::{file_to_python, to_python};
use crate::link;

/// A number or an array-like.
type Any<'py> = Bound<'py, PyAny>;

/// A proper loss of scores: :class:`CanonicalLoss` or :class:`CompositeLoss`.
///
/// Every fitted classifier has one in ``loss_``: the canonical loss of its link where that is finite,
/// else log-loss under its link. ``CanonicalLossClassifier(loss=...)`` trains under either.
///
/// Labels ``y`` are 0 or 1 (or soft labels between them), scores ``z`` real, probabilities ``p`` in
/// [0, 1]; numbers or arrays, which are broadcast.
///
/// Attributes
/// ----------
/// kind : {"canonical", "composite"}
///     Which of the two it is.
/// why : str
///     The kind and its reason, in one sentence.
/// inverse_link : InverseLink
///     From a score to a probability: ``loss.inverse_link(z)``.
///
/// Examples
/// --------
/// >>> import properloss
/// >>> properloss.Loss.of_link("sigmoid").kind
/// 'canonical'
/// >>> properloss.Loss.of_link("cauchy").kind
/// 'composite'
#[pyclass(subclass, frozen, name = "Loss", module = "properloss")]
pub struct Loss {
    pub inner: loss::Loss,
}

#[pymethods]
impl Loss {
    /// The loss that goes with a link: canonical where that is finite, else composite.
    #[staticmethod]
    fn of_link<'py>(inverse_link: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let link = link::from_python(inverse_link)?;
        into_python(inverse_link.py(), loss::Loss::of_link(link))
    }

    /// ``"canonical"`` or ``"composite"``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.kind().name()
    }

    /// The kind and its reason, in one sentence.
    #[getter]
    fn why(&self) -> String {
        self.inner.why()
    }

    /// The inverse link.
    #[getter]
    fn inverse_link<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        link::into_python(py, self.inner.link().clone())
    }

    /// The score at which the probability is ``p``.
    fn link<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(p, |p| self.inner.link().u_inverse(p))
    }

    /// What score ``z`` costs when the label is ``y``.
    fn loss<'py>(&self, y: &Any<'py>, z: &Any<'py>) -> PyResult<Any<'py>> {
        map2(y, z, |y, z| self.inner.loss(y, z))
    }

    /// The derivative of the loss in the score.
    fn gradient<'py>(&self, y: &Any<'py>, z: &Any<'py>) -> PyResult<Any<'py>> {
        map2(y, z, |y, z| self.inner.gradient(y, z))
    }

    /// The curvature of training, never negative and the same for every label: the second derivative
    /// in the score of a canonical loss, its expectation over the label (Fisher's) of a composite one.
    fn curvature<'py>(&self, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(z, |z| self.inner.curvature(z))
    }

    /// ``curvature(z)``, as boosters call it with labels and scores.
    fn hessian<'py>(&self, y: &Any<'py>, z: &Any<'py>) -> PyResult<Any<'py>> {
        map2(y, z, |_, z| self.inner.curvature(z))
    }

    /// What saying probability ``p`` costs when the label is ``y``.
    fn partial_loss<'py>(&self, y: &Any<'py>, p: &Any<'py>) -> PyResult<Any<'py>> {
        map2(y, p, |y, p| self.inner.partial_loss(y, p))
    }

    /// The weight of the cost ratio ``c``: ``partial_loss(1, p)`` is the integral of
    /// ``(1 - c) weight(c)`` from ``p`` to 1, ``partial_loss(0, p)`` that of ``c weight(c)`` up to ``p``.
    fn weight<'py>(&self, c: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(c, |c| self.inner.weight(c))
    }

    /// The least expected loss where the rate is ``p``, up to a term affine in ``p``.
    fn conditional_bayes_risk<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(p, |p| self.inner.conditional_bayes_risk(p))
    }

    /// The largest gain that a forecast other than the true rate brings, over a grid of rates and
    /// forecasts, less what rounding explains: not above 0 for a proper loss.
    #[pyo3(signature = (grid = 200))]
    fn properness_violation(&self, grid: usize) -> PyResult<f64> {
        let found =
            loss::check_properness(&self.inner.partial_losses(), grid).map_err(to_python)?;
        Ok(found.largest_violation - found.rounding)
    }

    /// Draw what positives and negatives cost at each score; see :class:`LossDisplay`.
    #[pyo3(signature = (ax = None, **line_kw))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<&Bound<'py, PyAny>>,
        line_kw: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let display = slf.py().import("properloss.plotting")?.getattr("LossDisplay")?;
        display.call_method1("from_loss", (slf,))?.call_method("plot", (ax,), line_kw)
    }

    /// The loss as the JSON text of a loss file, which the command line reads as well.
    fn to_json(&self) -> PyResult<String> {
        file_of(&self.inner).to_json().map_err(file_to_python)
    }

    /// The loss of a JSON text: the content of a loss file.
    #[classmethod]
    fn from_json<'py>(cls: &Bound<'py, PyType>, json: &str) -> PyResult<Bound<'py, PyAny>> {
        let file =
            LossFile::from_json(json.as_bytes(), Path::new("loss")).map_err(file_to_python)?;
        of_class(cls, &file)
    }

    /// Write the loss as a file, which ``properloss transfer`` reads as well.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        file_of(&self.inner).write(&path).map_err(file_to_python)
    }

    /// Read a loss file, or the loss of a model file.
    #[classmethod]
    fn load<'py>(cls: &Bound<'py, PyType>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let file = match read_any(&path).map_err(file_to_python)? {
            AnyFile::Loss(file) => *file,
            AnyFile::Model(model) => model.loss(),
        };
        of_class(cls, &file)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Loss>().is_ok_and(|other| {
            let other = &other.get().inner;
            other.kind() == self.inner.kind() && other.link().spec() == self.inner.link().spec()
        })
    }

    fn __hash__(&self) -> u64 {
        let kind = self.inner.kind() == LossKind::Composite;
        self.inner.link().u_inverse(0.5).to_bits() ^ u64::from(kind)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let link = slf.get().inverse_link(slf.py())?;
        Ok(format!("{}({})", slf.get_type().name()?, link.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Ok((slf.get_type(), (slf.get().inverse_link(py)?,)).into_pyobject(py)?.into_any())
    }
}

/// The proper loss whose canonical link is given: ``loss(y, z) = U(z) + U*(y) - y z``.
///
/// Its gradient is ``u(z) - y``, its curvature ``u'(z)``: convex in the score.
///
/// Parameters
/// ----------
/// inverse_link : InverseLink or str
///     The inverse link ``u``, or the name of a built-in one. It must reach 0 and 1 fast enough for
///     the loss to be finite; else :class:`CompositeLoss` is its proper loss.
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
#[pyclass(extends = Loss, frozen, module = "properloss")]
pub struct CanonicalLoss;

#[pymethods]
impl CanonicalLoss {
    #[new]
    fn new(inverse_link: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        let link = link::from_python(inverse_link)?;
        let inner = loss::CanonicalLoss::new(link).map_err(to_python)?;
        Ok(PyClassInitializer::from(Loss { inner: loss::Loss::Canonical(inner) })
            .add_subclass(Self))
    }

    /// ``U(-z)``. It is the loss of a margin only if the loss is symmetric: do not train with it.
    fn surrogate<'py>(
        slf: &Bound<'py, Self>,
        z: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let link = slf.as_super().get().inner.link();
        map(z, |z| link.potential(-z))
    }
}

/// Log-loss under a link: ``loss(y, z) = -y log(u(z)) - (1 - y) log(1 - u(z))``.
///
/// The likelihood of the generalised linear model with that link. It is proper and bounded below by 0
/// for every link, also for one that stays away from 0 and 1 (a floor under the probabilities), whose
/// canonical loss is not; it need not be convex in the score, and its curvature is Fisher's.
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
/// >>> from properloss import CompositeLoss, RelativeLink
/// >>> floor = RelativeLink("sigmoid", [0.0, 1.0], [0.1, 0.9])
/// >>> noisy = CompositeLoss(floor)
/// >>> round(noisy.loss(1, -1000.0), 6)
/// 2.302585
/// >>> noisy.properness_violation() <= 0
/// True
#[pyclass(extends = Loss, frozen, module = "properloss")]
pub struct CompositeLoss;

#[pymethods]
impl CompositeLoss {
    #[new]
    fn new(inverse_link: &Bound<'_, PyAny>) -> PyResult<PyClassInitializer<Self>> {
        let inner = loss::Loss::composite(link::from_python(inverse_link)?);
        Ok(PyClassInitializer::from(Loss { inner }).add_subclass(Self))
    }
}

/// The loss as an object of its own class.
pub fn into_python(py: Python<'_>, inner: loss::Loss) -> PyResult<Bound<'_, PyAny>> {
    let kind = inner.kind();
    let base = PyClassInitializer::from(Loss { inner });
    Ok(match kind {
        LossKind::Canonical => Bound::new(py, base.add_subclass(CanonicalLoss))?.into_any(),
        LossKind::Composite => Bound::new(py, base.add_subclass(CompositeLoss))?.into_any(),
    })
}

fn file_of(loss: &loss::Loss) -> LossFile {
    LossFile::new(loss.link().spec(), loss.kind())
}

/// The loss of a file, if it is of the class that was asked.
fn of_class<'py>(cls: &Bound<'py, PyType>, file: &LossFile) -> PyResult<Bound<'py, PyAny>> {
    let loss = into_python(cls.py(), file.loss().map_err(file_to_python)?)?;
    if loss.is_instance(cls)? {
        return Ok(loss);
    }
    Err(PyValueError::new_err(format!(
        "the file holds a {}, not a {}; properloss.Loss.load reads either",
        loss.get_type().name()?,
        cls.name()?,
    )))
}
