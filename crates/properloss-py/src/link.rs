//! Inverse links as Python objects.

use std::sync::Arc;

use numpy::PyArray1;
use properloss::link::{self, InverseLink, LinkSpec};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::arrays::{column, map};
use crate::errors::to_python;

/// A link by its knots: made from scores and probabilities, and shown as them.
macro_rules! by_knots {
    ($class:ident, $make:path) => {
        #[pymethods]
        impl $class {
            #[new]
            fn new(
                z: &Bound<'_, PyAny>,
                u: &Bound<'_, PyAny>,
            ) -> PyResult<PyClassInitializer<$class>> {
                use numpy::PyArrayMethods;
                let (z, u) = (column(z, "z")?.to_vec()?, column(u, "u")?.to_vec()?);
                let inner = $make(z, u).map_err(to_python)?;
                Ok(PyClassInitializer::from(Link { inner: Arc::new(inner) }).add_subclass($class))
            }

            /// Scores of the knots.
            #[getter]
            fn z<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
                Ok(PyArray1::from_vec(slf.py(), knots(slf.as_super())?.0))
            }

            /// Probabilities of the knots.
            #[getter]
            fn u<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
                Ok(PyArray1::from_vec(slf.py(), knots(slf.as_super())?.1))
            }

            fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
                Ok(knots(slf.as_super())?.0.len())
            }
        }
    };
}

/// An inverse link: from a score to a probability.
///
/// All methods take a number or anything numpy makes an array of, and return the same shape.
/// Links are made by their classes (:class:`Sigmoid`, :class:`PiecewiseLink`, ...) or by
/// :func:`link`; a classifier has its own in ``link_``.
///
/// Examples
/// --------
/// >>> from properloss import Probit
/// >>> u = Probit()
/// >>> u.inverse_link(0.0)
/// 0.5
/// >>> round(u.link(0.975), 4)
/// 1.96
#[pyclass(subclass, frozen, name = "InverseLink", module = "properloss")]
pub struct Link {
    pub inner: Arc<dyn InverseLink>,
}

#[pymethods]
impl Link {
    /// Its name: ``"sigmoid"``, ``"piecewise"``, ...
    #[getter]
    fn name(&self) -> String {
        self.inner.spec().name()
    }

    /// ``(z_min, z_max)``: the scores at which the probability leaves 0 and reaches 1.
    #[getter]
    fn support(&self) -> (f64, f64) {
        self.inner.support()
    }

    /// Whether the link has a canonical loss (all but Cauchy's have).
    #[getter]
    fn has_canonical_loss(&self) -> bool {
        self.inner.conjugate(0.0).is_finite() && self.inner.conjugate(1.0).is_finite()
    }

    /// The probability ``u(z)`` at score ``z``.
    fn inverse_link<'py>(&self, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(z, |z| self.inner.u(z))
    }

    /// The same as ``inverse_link``.
    fn __call__<'py>(&self, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.inverse_link(z)
    }

    /// The score at which the probability is ``p``; NaN outside [0, 1].
    fn link<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(p, |p| self.inner.u_inverse(p))
    }

    /// The slope ``u'(z)``; at a kink, that of the piece to the right.
    fn derivative<'py>(&self, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(z, |z| self.inner.derivative(z))
    }

    /// The potential ``U(z)``, the integral of ``u`` up to ``z``.
    fn potential<'py>(&self, z: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(z, |z| self.inner.potential(z))
    }

    /// The convex conjugate ``U*(p)``; its derivative is ``link``. NaN outside [0, 1].
    fn conjugate<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        map(p, |p| self.inner.conjugate(p))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Link>().is_ok_and(|other| other.get().inner.spec() == self.inner.spec())
    }

    fn __hash__(&self) -> u64 {
        let (low, high) = self.inner.support();
        let half = self.inner.u_inverse(0.5).to_bits();
        half ^ low.to_bits().rotate_left(21) ^ high.to_bits().rotate_left(42)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type().name()?.to_string();
        Ok(match slf.get().inner.spec() {
            LinkSpec::Builtin { name, params } => {
                let names = link::registry().iter().find(|entry| entry.name == name);
                let params: Vec<String> = names
                    .into_iter()
                    .flat_map(|entry| entry.parameters)
                    .zip(params)
                    .map(|(parameter, value)| format!("{}={value:?}", parameter.name))
                    .collect();
                format!("{class}({})", params.join(", "))
            }
            LinkSpec::Piecewise { z, .. } | LinkSpec::Isotonic { z, .. } => {
                let (low, high) = (short(z[0]), short(z[z.len() - 1]));
                format!("<{class}: {} knots on [{low}, {high}]>", z.len())
            }
            LinkSpec::Relative { base, p, .. } => {
                format!("<{class}: {} knots over {}>", p.len(), base.name())
            }
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let class = slf.get_type();
        let arguments = match slf.get().inner.spec() {
            LinkSpec::Builtin { params, .. } => PyTuple::new(py, params)?,
            LinkSpec::Piecewise { z, u } | LinkSpec::Isotonic { z, u } => {
                PyTuple::new(py, [PyArray1::from_vec(py, z), PyArray1::from_vec(py, u)])?
            }
            LinkSpec::Relative { base, p, v } => {
                let base = into_python(py, base.build().map_err(to_python)?)?;
                let (p, v) = (PyArray1::from_vec(py, p), PyArray1::from_vec(py, v));
                PyTuple::new(py, [base, p.into_any(), v.into_any()])?
            }
        };
        Ok((class, arguments).into_pyobject(py)?.into_any())
    }
}

/// A learned inverse link: piecewise affine from probability 0 to probability 1.
///
/// Parameters
/// ----------
/// z : array-like of shape (n_knots,)
///     Scores, strictly increasing.
/// u : array-like of shape (n_knots,)
///     Probabilities, strictly increasing, the first 0 and the last 1.
///
/// Examples
/// --------
/// >>> from properloss import PiecewiseLink
/// >>> link = PiecewiseLink([-1.0, 0.0, 3.0], [0.0, 0.4, 1.0])
/// >>> link.inverse_link([-2.0, -0.5, 1.5]).tolist()
/// [0.0, 0.2, 0.7]
/// >>> link.support
/// (-1.0, 3.0)
#[pyclass(extends = Link, frozen, module = "properloss")]
pub struct PiecewiseLink;

by_knots!(PiecewiseLink, link::PiecewiseLink::from_knots);

/// A link with flat pieces, as isotonic regression makes them: what SLIsotron learns.
///
/// On a flat piece distinct scores share a probability, so the link has no inverse there.
///
/// Parameters
/// ----------
/// z : array-like of shape (n_knots,)
///     Scores, strictly increasing.
/// u : array-like of shape (n_knots,)
///     Probabilities, not decreasing, the first 0 and the last 1.
///
/// Examples
/// --------
/// >>> from properloss import IsotonicLink
/// >>> link = IsotonicLink([0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 0.5, 1.0])
/// >>> link.inverse_link([1.0, 1.5, 2.5]).tolist()
/// [0.5, 0.5, 0.75]
#[pyclass(extends = Link, frozen, module = "properloss")]
pub struct IsotonicLink;

by_knots!(IsotonicLink, link::IsotonicLink::new);

/// A number in a few digits.
fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}

/// The knots `(z, u)` of a link that has them.
fn knots(link: &Bound<'_, Link>) -> PyResult<(Vec<f64>, Vec<f64>)> {
    match link.get().inner.spec() {
        LinkSpec::Piecewise { z, u } | LinkSpec::Isotonic { z, u } => Ok((z, u)),
        _ => Err(no_knots()),
    }
}

fn no_knots() -> PyErr {
    PyTypeError::new_err("this link has no knots")
}

/// A link learned relative to another: ``u(z) = v(base(z))``.
///
/// With the slopes of ``v`` between 1/tau and tau the log-loss at every score is at most that of
/// the base link plus log(tau).
///
/// Parameters
/// ----------
/// base : InverseLink or str
///     The link to start from.
/// p : array-like of shape (n_knots,)
///     Probabilities of the base link, strictly increasing from 0 to 1.
/// v : array-like of shape (n_knots,)
///     The probabilities they become, strictly increasing.
///
/// Examples
/// --------
/// >>> from properloss import RelativeLink
/// >>> link = RelativeLink("sigmoid", [0.0, 0.5, 1.0], [0.0, 0.3, 1.0])
/// >>> link.inverse_link(0.0)
/// 0.3
#[pyclass(extends = Link, frozen, module = "properloss")]
pub struct RelativeLink;

#[pymethods]
impl RelativeLink {
    #[new]
    fn new(
        base: &Bound<'_, PyAny>,
        p: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
    ) -> PyResult<PyClassInitializer<RelativeLink>> {
        use numpy::PyArrayMethods;
        let base = from_python(base)?;
        let (p, v) = (column(p, "p")?.to_vec()?, column(v, "v")?.to_vec()?);
        let v = properloss::piecewise::PiecewiseAffine::new(p, v).map_err(to_python)?;
        let inner = link::RelativeLink::new(base, v).map_err(to_python)?;
        Ok(PyClassInitializer::from(Link { inner: Arc::new(inner) }).add_subclass(RelativeLink))
    }

    /// The base link.
    #[getter]
    fn base<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        into_python(slf.py(), relative(slf.as_super())?.0.build().map_err(to_python)?)
    }

    /// Probabilities of the base link at the knots.
    #[getter]
    fn p<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(slf.py(), relative(slf.as_super())?.1))
    }

    /// The probabilities they become.
    #[getter]
    fn v<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(slf.py(), relative(slf.as_super())?.2))
    }
}

/// The base and the knots `(p, v)` of a link that has them.
fn relative(link: &Bound<'_, Link>) -> PyResult<(Box<LinkSpec>, Vec<f64>, Vec<f64>)> {
    match link.get().inner.spec() {
        LinkSpec::Relative { base, p, v } => Ok((base, p, v)),
        _ => Err(no_knots()),
    }
}

/// A link of the registry as a class of its own, with its parameters as arguments.
macro_rules! builtin {
    ($class:ident, $name:literal, ($($parameter:ident = $default:literal),*), $doc:literal) => {
        #[doc = $doc]
        #[pyclass(extends = Link, frozen, module = "properloss")]
        pub struct $class;

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = ($($parameter = $default),*))]
            fn new($($parameter: f64),*) -> PyResult<PyClassInitializer<$class>> {
                let parameters: &[f64] = &[$($parameter),*];
                let inner = link::by_name($name, parameters).map_err(to_python)?;
                Ok(PyClassInitializer::from(Link { inner }).add_subclass($class))
            }
        }
    };
}

builtin!(Sigmoid, "sigmoid", (), "The logistic link; its canonical loss is log-loss.");
builtin!(
    ClippedLine,
    "clipped-line",
    (a = 0.5, b = 0.5),
    "The line ``a z + b`` clipped to [0, 1]; with a = 1/2 its canonical loss is square loss."
);
builtin!(
    Matsushita,
    "matsushita",
    (),
    "The link ``(1 + z / sqrt(1 + z^2)) / 2`` of Matsushita's loss."
);
builtin!(Probit, "probit", (), "The normal distribution function.");
builtin!(Cloglog, "cloglog", (), "Complementary log-log, ``1 - exp(-exp(z))``; asymmetric.");
builtin!(Loglog, "loglog", (), "Log-log, ``exp(-exp(-z))``; asymmetric.");
builtin!(Cauchy, "cauchy", (), "``1/2 + atan(z) / pi``; heavy tails, and no canonical loss.");

/// The link as an object of its own class.
pub fn into_python(py: Python<'_>, inner: Arc<dyn InverseLink>) -> PyResult<Bound<'_, PyAny>> {
    let spec = inner.spec();
    let base = PyClassInitializer::from(Link { inner });
    macro_rules! object {
        ($class:ident) => {
            Bound::new(py, base.add_subclass($class))?.into_any()
        };
    }
    Ok(match spec {
        LinkSpec::Piecewise { .. } => object!(PiecewiseLink),
        LinkSpec::Relative { .. } => object!(RelativeLink),
        LinkSpec::Isotonic { .. } => object!(IsotonicLink),
        LinkSpec::Builtin { name, .. } => match name.as_str() {
            "sigmoid" => object!(Sigmoid),
            "clipped-line" => object!(ClippedLine),
            "matsushita" => object!(Matsushita),
            "probit" => object!(Probit),
            "cloglog" => object!(Cloglog),
            "loglog" => object!(Loglog),
            "cauchy" => object!(Cauchy),
            _ => Bound::new(py, base)?.into_any(),
        },
    })
}

/// A link object, or the name of a link.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn InverseLink>> {
    if let Ok(link) = object.cast::<Link>() {
        return Ok(link.get().inner.clone());
    }
    if let Ok(name) = object.cast::<PyString>() {
        return link::by_name(&name.to_cow()?, &[]).map_err(to_python);
    }
    Err(PyTypeError::new_err(format!(
        "expected a link or the name of one, got {}",
        object.get_type().name()?
    )))
}

/// The link of that name, with its parameters in order.
///
/// Parameters
/// ----------
/// name : str
///     One of :func:`links`.
/// *params : float
///     Its parameters; the defaults if none are given.
///
/// Returns
/// -------
/// link : InverseLink
///
/// Examples
/// --------
/// >>> import properloss
/// >>> properloss.link("clipped-line", 1.0, 0.0)
/// ClippedLine(a=1.0, b=0.0)
#[pyfunction]
#[pyo3(name = "link", signature = (name, *params))]
pub fn by_name<'py>(py: Python<'py>, name: &str, params: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    into_python(py, link::by_name(name, &params).map_err(to_python)?)
}

/// The names of the built-in links, with a few words on each.
///
/// Returns
/// -------
/// links : dict of str to str
///
/// Examples
/// --------
/// >>> import properloss
/// >>> sorted(properloss.links())[:3]
/// ['cauchy', 'clipped-line', 'cloglog']
#[pyfunction]
pub fn links(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let links = PyDict::new(py);
    for entry in link::registry() {
        links.set_item(entry.name, entry.about)?;
    }
    Ok(links)
}
