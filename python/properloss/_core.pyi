"""Types of the compiled module."""

import os
from collections.abc import Callable
from typing import Any, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

_Rows = NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
_Floats = NDArray[np.float64]

class NotFiniteError(ValueError):
    args: tuple[str, int, int]

class InverseLink:
    @property
    def name(self) -> str: ...
    @property
    def support(self) -> tuple[float, float]: ...
    @property
    def has_canonical_loss(self) -> bool: ...
    @overload
    def inverse_link(self, z: float) -> float: ...
    @overload
    def inverse_link(self, z: ArrayLike) -> _Floats: ...
    @overload
    def __call__(self, z: float) -> float: ...
    @overload
    def __call__(self, z: ArrayLike) -> _Floats: ...
    @overload
    def link(self, p: float) -> float: ...
    @overload
    def link(self, p: ArrayLike) -> _Floats: ...
    @overload
    def derivative(self, z: float) -> float: ...
    @overload
    def derivative(self, z: ArrayLike) -> _Floats: ...
    @overload
    def potential(self, z: float) -> float: ...
    @overload
    def potential(self, z: ArrayLike) -> _Floats: ...
    @overload
    def conjugate(self, p: float) -> float: ...
    @overload
    def conjugate(self, p: ArrayLike) -> _Floats: ...

class PiecewiseLink(InverseLink):
    def __init__(self, z: ArrayLike, u: ArrayLike) -> None: ...
    @property
    def z(self) -> _Floats: ...
    @property
    def u(self) -> _Floats: ...
    def __len__(self) -> int: ...

class IsotonicLink(InverseLink):
    def __init__(self, z: ArrayLike, u: ArrayLike) -> None: ...
    @property
    def z(self) -> _Floats: ...
    @property
    def u(self) -> _Floats: ...
    def __len__(self) -> int: ...

class RelativeLink(InverseLink):
    def __init__(self, base: InverseLink | str, p: ArrayLike, v: ArrayLike) -> None: ...
    @property
    def base(self) -> InverseLink: ...
    @property
    def p(self) -> _Floats: ...
    @property
    def v(self) -> _Floats: ...

class Sigmoid(InverseLink):
    def __init__(self) -> None: ...

class ClippedLine(InverseLink):
    def __init__(self, a: float = 0.5, b: float = 0.5) -> None: ...

class Matsushita(InverseLink):
    def __init__(self) -> None: ...

class Probit(InverseLink):
    def __init__(self) -> None: ...

class Cloglog(InverseLink):
    def __init__(self) -> None: ...

class Loglog(InverseLink):
    def __init__(self) -> None: ...

class Cauchy(InverseLink):
    def __init__(self) -> None: ...

def link(name: str, *params: float) -> InverseLink: ...
def links() -> dict[str, str]: ...

class CanonicalLoss:
    def __init__(self, inverse_link: InverseLink | str) -> None: ...
    @property
    def inverse_link(self) -> InverseLink: ...
    @overload
    def link(self, p: float) -> float: ...
    @overload
    def link(self, p: ArrayLike) -> _Floats: ...
    @overload
    def loss(self, y: float, z: float) -> float: ...
    @overload
    def loss(self, y: ArrayLike, z: ArrayLike) -> _Floats: ...
    @overload
    def gradient(self, y: float, z: float) -> float: ...
    @overload
    def gradient(self, y: ArrayLike, z: ArrayLike) -> _Floats: ...
    @overload
    def hessian(self, y: float, z: float) -> float: ...
    @overload
    def hessian(self, y: ArrayLike, z: ArrayLike) -> _Floats: ...
    @overload
    def partial_loss(self, y: float, p: float) -> float: ...
    @overload
    def partial_loss(self, y: ArrayLike, p: ArrayLike) -> _Floats: ...
    @overload
    def conditional_bayes_risk(self, p: float) -> float: ...
    @overload
    def conditional_bayes_risk(self, p: ArrayLike) -> _Floats: ...
    @overload
    def surrogate(self, z: float) -> float: ...
    @overload
    def surrogate(self, z: ArrayLike) -> _Floats: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(json: str) -> CanonicalLoss: ...

class ChainSolution:
    @property
    def values(self) -> _Floats: ...
    @property
    def kkt_residual(self) -> float: ...
    @property
    def duality_gap(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def passes(self) -> int: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __len__(self) -> int: ...

def solve_chain(
    z: ArrayLike,
    target: ArrayLike,
    weights: ArrayLike | None = None,
    slope_min: float = 0.0,
    slope_max: float = ...,
    link: InverseLink | str | None = None,
    first: tuple[float, float] = (0.0, 1.0),
    top: float = 1.0,
) -> ChainSolution: ...
def isotonic(
    z: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None
) -> ChainSolution: ...

class Model:
    @property
    def coefficients(self) -> _Floats: ...
    @property
    def intercept(self) -> float: ...
    @property
    def unit_rows(self) -> bool: ...
    @property
    def link(self) -> InverseLink: ...
    def scores(self, rows: _Rows) -> _Floats: ...
    def predict_proba(self, rows: _Rows) -> _Floats: ...
    def to_json(
        self,
        *,
        feature_names: list[str] | None = None,
        classes: tuple[str, str] = ("0", "1"),
        method: str = "",
        options: str = "{}",
        rows: int = 0,
        termination: str = "",
        course: list[tuple[int, float, float]] = ...,
    ) -> str: ...
    @staticmethod
    def from_json(json: str) -> Model: ...

class ModelFile(TypedDict):
    model: Model
    feature_names: list[str]
    numeric: bool
    classes: list[str]
    method: str
    options: str
    termination: str
    iterations: int
    history: dict[str, _Floats] | None

def read_model(path: str | os.PathLike[str]) -> ModelFile: ...
def write_text(path: str | os.PathLike[str], text: str) -> None: ...

class Fit:
    @property
    def model(self) -> Model: ...
    @property
    def termination(self) -> str: ...
    @property
    def history(self) -> dict[str, _Floats]: ...
    @property
    def seconds(self) -> float: ...

class Task(TypedDict):
    rows: _Rows
    labels: NDArray[np.uint8]
    weights: _Floats | None
    progress: Callable[[dict[str, float]], object] | None
    callback: Callable[[dict[str, float], Model], bool] | None

def fit_bregmantron(
    task: Task,
    *,
    target: str,
    objective: str | None,
    max_iter: int,
    tol: float,
    step: float | None,
    slope_min: float,
    slope_max: float,
    kappa: float | None,
    l2: float,
    max_norm: float | None,
    scaling: str,
    end_slope: str,
    initial_link: InverseLink | None,
) -> Fit: ...
def fit_slisotron(
    task: Task,
    *,
    isotonic: str,
    max_iter: int,
    tol: float,
    step: float | None,
    l2: float,
    max_norm: float | None,
    scaling: str,
) -> Fit: ...
def fit_glmtron(
    task: Task,
    *,
    link: InverseLink | str,
    max_iter: int,
    tol: float,
    step: float | None,
    l2: float,
    max_norm: float | None,
    scaling: str,
    fit_intercept: bool,
) -> Fit: ...
def fit_canonical_loss(
    task: Task,
    *,
    link: InverseLink | str,
    l2: float,
    max_iter: int,
    tol: float,
    scaling: str,
    fit_intercept: bool,
    solver: str,
) -> Fit: ...

class Proper:
    @property
    def model(self) -> Model: ...
    @property
    def numbers(self) -> dict[str, float]: ...
    @property
    def passes(self) -> int: ...
    @property
    def path(self) -> dict[str, _Floats]: ...
    @property
    def ratios(self) -> dict[str, _Floats]: ...
    @property
    def held_out_scores(self) -> _Floats: ...

def fit_proper(
    rows: _Rows,
    labels: NDArray[np.uint8],
    weights: _Floats | None,
    *,
    class_weight: list[float],
    refit: str,
    folds: NDArray[np.uint32] | None,
    count: int,
    seed: int,
) -> Proper: ...

class CalibrationMap:
    @property
    def numbers(self) -> dict[str, float]: ...
    @property
    def link(self) -> InverseLink: ...
    @property
    def ratios(self) -> dict[str, _Floats]: ...

def fit_calibrator(
    scores: _Floats,
    labels: NDArray[np.uint8],
    weights: _Floats | None,
    *,
    kind: str,
    folds: NDArray[np.uint32] | None,
    count: int,
    seed: int,
) -> CalibrationMap: ...

_Columns = tuple[_Floats, NDArray[np.uint8], _Floats | None]

def metric_auc(columns: _Columns) -> float: ...
def metric_log_loss(columns: _Columns) -> float: ...
def metric_corp(columns: _Columns) -> tuple[float, float, float, float]: ...
def metric_calibration(
    columns: _Columns, n_bins: int, equal_width: bool
) -> tuple[float, float]: ...
