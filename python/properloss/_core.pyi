"""Types of the compiled module."""

import os
from collections.abc import Callable
from typing import Any, Final, Literal, NotRequired, Protocol, Self, TypeAlias, TypedDict, final, overload, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BlockFile", "BlockWriter", "CalibrationMap", "CanonicalLoss", "Cauchy", "ChainSolution",
    "ClippedLine", "Cloglog", "CompositeLoss", "Export", "Fit", "InverseLink", "IsotonicLink",
    "Loglog", "Loss", "Matsushita", "Model", "Multiclass", "MulticlassCalibration",
    "NotFiniteError", "PiecewiseLink", "Probit", "RelativeLink", "Sigmoid", "TableEncoder",
    "VectorMixture", "__version__", "block_answer", "block_bytes", "block_classes", "block_facts",
    "class_model_to_json", "fit", "fit_blocks", "fit_calibrator", "fit_multiclass",
    "fit_multiclass_calibrator", "group_folds", "isotonic", "link", "links", "methods",
    "metric_auc", "metric_calibration", "metric_calibration_bound", "metric_corp",
    "metric_log_loss", "multiclass_scores", "read_class_model", "read_model", "report_card",
    "report_page", "report_page_of_classes", "solve_chain", "write_bytes", "write_text",
]

__version__: str

_Rows = NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
_Floats = NDArray[np.float64]

class NotFiniteError(ValueError):
    args: tuple[str, int, int]

# Methods that take a number or many.
@type_check_only
class _OfScore(Protocol):
    @overload
    def __call__(self, z: float) -> float: ...
    @overload
    def __call__(self, z: ArrayLike) -> _Floats: ...

@type_check_only
class _OfProbability(Protocol):
    @overload
    def __call__(self, p: float) -> float: ...
    @overload
    def __call__(self, p: ArrayLike) -> _Floats: ...

@type_check_only
class _OfLabelAndScore(Protocol):
    @overload
    def __call__(self, y: float, z: float) -> float: ...
    @overload
    def __call__(self, y: ArrayLike, z: ArrayLike) -> _Floats: ...

@type_check_only
class _OfLabelAndProbability(Protocol):
    @overload
    def __call__(self, y: float, p: float) -> float: ...
    @overload
    def __call__(self, y: ArrayLike, p: ArrayLike) -> _Floats: ...

@type_check_only
class _OfCost(Protocol):
    @overload
    def __call__(self, c: float) -> float: ...
    @overload
    def __call__(self, c: ArrayLike) -> _Floats: ...

class InverseLink:
    name: Final[str]
    support: Final[tuple[float, float]]
    has_canonical_loss: Final[bool]
    inverse_link: Final[_OfScore]
    @overload
    def __call__(self, z: float) -> float: ...
    @overload
    def __call__(self, z: ArrayLike) -> _Floats: ...
    link: Final[_OfProbability]
    derivative: Final[_OfScore]
    potential: Final[_OfScore]
    conjugate: Final[_OfProbability]

@final
class PiecewiseLink(InverseLink):
    def __new__(cls, z: ArrayLike, u: ArrayLike) -> Self: ...
    z: Final[_Floats]
    u: Final[_Floats]
    def __len__(self) -> int: ...

@final
class IsotonicLink(InverseLink):
    def __new__(cls, z: ArrayLike, u: ArrayLike) -> Self: ...
    z: Final[_Floats]
    u: Final[_Floats]
    def __len__(self) -> int: ...

@final
class RelativeLink(InverseLink):
    def __new__(cls, base: InverseLink | str, p: ArrayLike, v: ArrayLike) -> Self: ...
    base: Final[InverseLink]
    p: Final[_Floats]
    v: Final[_Floats]

@final
class Sigmoid(InverseLink):
    def __new__(cls) -> Self: ...

@final
class ClippedLine(InverseLink):
    def __new__(cls, a: float = ..., b: float = ...) -> Self: ...

@final
class Matsushita(InverseLink):
    def __new__(cls) -> Self: ...

@final
class Probit(InverseLink):
    def __new__(cls) -> Self: ...

@final
class Cloglog(InverseLink):
    def __new__(cls) -> Self: ...

@final
class Loglog(InverseLink):
    def __new__(cls) -> Self: ...

@final
class Cauchy(InverseLink):
    def __new__(cls) -> Self: ...

def link(name: str, *params: float) -> InverseLink: ...
def links() -> dict[str, str]: ...

class Loss:
    @staticmethod
    def of_link(inverse_link: InverseLink | str) -> CanonicalLoss | CompositeLoss: ...
    kind: Final[Literal["canonical", "composite"]]
    why: Final[str]
    inverse_link: Final[InverseLink]
    link: Final[_OfProbability]
    loss: Final[_OfLabelAndScore]
    gradient: Final[_OfLabelAndScore]
    curvature: Final[_OfScore]
    hessian: Final[_OfLabelAndScore]
    partial_loss: Final[_OfLabelAndProbability]
    weight: Final[_OfCost]
    conditional_bayes_risk: Final[_OfProbability]
    def properness_violation(self, grid: int = 200) -> float: ...
    def plot(self, ax: Any = None, **line_kw: Any) -> Any: ...
    def to_json(self) -> str: ...
    @classmethod
    def from_json(cls, json: str) -> Self: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self: ...

@final
class CanonicalLoss(Loss):
    def __new__(cls, inverse_link: InverseLink | str) -> Self: ...
    surrogate: Final[_OfScore]

@final
class CompositeLoss(Loss):
    def __new__(cls, inverse_link: InverseLink | str) -> Self: ...

@final
class ChainSolution:
    values: Final[_Floats]
    kkt_residual: Final[float]
    duality_gap: Final[float]
    objective: Final[float]
    passes: Final[int]
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __len__(self) -> int: ...

def solve_chain(
    z: ArrayLike,
    target: ArrayLike,
    weights: ArrayLike | None = None,
    slope_min: float = 0.0,
    slope_max: float = ...,
    link: InverseLink | str | None = None,
    first: tuple[float, float] = ...,
    top: float = 1.0,
) -> ChainSolution: ...
def isotonic(
    z: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None
) -> ChainSolution: ...

@final
class Model:
    coefficients: Final[_Floats]
    intercept: Final[float]
    unit_rows: Final[bool]
    link: Final[InverseLink]
    def scores(self, rows: _Rows) -> _Floats: ...
    def predict_proba(self, rows: _Rows) -> _Floats: ...
    @staticmethod
    def linear(weights: list[float], intercept: float, link: InverseLink) -> Model: ...
    def recalibrated(self, slope: float, intercept: float, link: InverseLink) -> Model: ...
    def to_json(
        self,
        *,
        feature_names: list[str] | None = None,
        classes: tuple[str, str] = ...,
        fitted: str = ...,
        course: list[tuple[int, float, float]] = ...,
        encoder: TableEncoder | None = None,
    ) -> str: ...
    @staticmethod
    def from_json(json: str) -> Model: ...

_Column: TypeAlias = tuple[str, str, NDArray[Any], Any]

@final
class TableEncoder:
    @staticmethod
    def fit(
        columns: list[_Column], rows: int, missing: str, categorical: list[str]
    ) -> TableEncoder: ...
    @staticmethod
    def numeric(names: list[str]) -> TableEncoder: ...
    @staticmethod
    def calibration(name: str, margin: float | None) -> TableEncoder: ...
    def encode(self, columns: list[_Column], rows: int) -> tuple[_Floats, int]: ...
    def with_label(self, column: str | None, negative: str, positive: str) -> TableEncoder: ...
    columns: Final[list[str]]
    feature_names: Final[list[str]]
    margin: Final[float | None]
    plain: Final[bool]
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(json: str) -> TableEncoder: ...

@type_check_only
class ModelFile(TypedDict):
    model: Model
    feature_names: list[str]
    encoder: TableEncoder
    classes: list[str]
    fitted: str
    history: dict[str, _Floats] | None

def read_model(path: str | os.PathLike[str]) -> ModelFile: ...
def write_text(path: str | os.PathLike[str], text: str) -> None: ...
def write_bytes(path: str | os.PathLike[str], content: bytes) -> None: ...

@final
class Export:
    @staticmethod
    def of_model(json: str, *, unknown_zeros: bool = ...) -> Export: ...
    @staticmethod
    def of_calibration(
        link: InverseLink,
        *,
        slope: float,
        intercept: float,
        margin: float | None,
        classes: tuple[str, str],
    ) -> Export: ...
    @staticmethod
    def of_class_model(json: str, *, unknown_zeros: bool = ...) -> Export: ...
    @staticmethod
    def of_class_calibration(
        link: VectorMixture,
        *,
        temperature: float,
        margin: float | None,
        classes: list[str],
    ) -> Export: ...
    def to_bytes(
        self,
        format: str = ...,
        *,
        portable: bool = ...,
        float_input: bool = ...,
        table: str = ...,
    ) -> bytes: ...

@final
class Fit:
    model: Final[Model]
    termination: Final[str]
    history: Final[dict[str, NDArray[Any]]]
    seconds: Final[float]
    method: Final[str]
    options: Final[str]
    total_weight: Final[float]
    learned: Final[str | None]
    held_out_scores: Final[_Floats | None]
    stages: Final[list[str] | None]
    iterations: Final[int]
    rounds: Final[int | None]

@type_check_only
class Task(TypedDict):
    rows: _Rows
    labels: NDArray[np.uint8]
    weights: _Floats | None
    folds: NDArray[np.uint32] | None
    progress: Callable[[dict[str, Any]], object] | None
    callback: Callable[[dict[str, Any], Model], bool] | None
    checkpoint: tuple[str, float] | None

@type_check_only
class Option(TypedDict):
    name: str
    help: str
    expected: str
    kind: str
    default: Any
    low: NotRequired[float]
    high: NotRequired[float]
    taken: NotRequired[tuple[bool, bool]]
    words: NotRequired[list[str]]

@type_check_only
class Method(TypedDict):
    name: str
    class_name: str
    fixed: dict[str, str]
    summary: str
    options: list[Option]

def fit(task: Task, method: str, settings: dict[str, Any]) -> Fit: ...
@type_check_only
class BlockTask(TypedDict):
    blocks: BlockFile | tuple[list[bytes], Callable[[bytes], list[bytes]]]
    progress: Callable[[dict[str, Any]], object] | None
    checkpoint: tuple[str, float] | None

def fit_blocks(task: BlockTask, method: str, settings: dict[str, Any]) -> Fit: ...

_Part: TypeAlias = tuple[_Rows, NDArray[np.uint8], _Floats | None]

def block_facts(part: _Part) -> bytes: ...
def block_classes(facts: bytes) -> tuple[int, list[int], list[float]]: ...
def block_answer(part: _Part, question: bytes, number: int) -> bytes: ...
def block_bytes(memory: int) -> int: ...
@final
class BlockFile:
    rows: Final[int]
    blocks: Final[int]
    bytes: Final[int]

@final
class BlockWriter:
    def __new__(
        cls,
        columns: int,
        *,
        single: bool,
        sparse: bool,
        weighted: bool,
        block_bytes: int,
        directory: str | None = ...,
    ) -> BlockWriter: ...
    def push(self, rows: _Rows, labels: NDArray[np.uint8], weights: _Floats | None) -> None: ...
    def finish(self) -> BlockFile: ...

def methods() -> list[Method]: ...

_Ramps: TypeAlias = list[tuple[float, int, list[float], list[float]]]

@final
class VectorMixture:
    def __new__(
        cls,
        softmax: list[tuple[float, float]],
        floor: list[float],
        ramps: _Ramps = ...,
    ) -> VectorMixture: ...
    parts: Final[tuple[list[tuple[float, float]], list[float], _Ramps]]
    tau: Final[float]
    keeps_order: Final[bool]
    has_canonical_loss: Final[bool]
    def probabilities(self, z: _Floats) -> _Floats: ...
    def potential(self, z: _Floats) -> _Floats: ...
    def jacobian(self, z: _Floats) -> _Floats: ...
    def canonical_loss(self, z: _Floats, labels: NDArray[np.uint32]) -> _Floats: ...

@final
class Multiclass:
    coefficients: Final[_Floats]
    intercepts: Final[_Floats]
    link: Final[VectorMixture]
    learned: Final[str]
    passes: Final[float]
    held_out_scores: Final[_Floats]

def fit_multiclass(
    rows: _Rows,
    labels: NDArray[np.uint32],
    classes: int,
    weights: _Floats | None,
    *,
    class_weight: list[float],
    refit: bool,
    preserve_order: bool,
    folds: dict[str, Any],
) -> Multiclass: ...
def multiclass_scores(rows: _Rows, coefficients: _Floats, intercepts: _Floats) -> _Floats: ...

def class_model_to_json(
    coefficients: _Floats,
    intercepts: list[float],
    link: VectorMixture,
    feature_names: list[str] | None,
    encoder: TableEncoder | None,
    classes: list[str],
    options: str,
    learned: str | None,
    rows: int,
    iterations: int,
) -> str: ...
def read_class_model(path: str | os.PathLike[str]) -> dict[str, Any]: ...

@final
class MulticlassCalibration:
    link: Final[VectorMixture]
    numbers: Final[dict[str, float]]
    ratios: Final[dict[str, _Floats]]
    def predict(self, scores: _Floats) -> _Floats: ...

def fit_multiclass_calibrator(
    scores: _Floats,
    labels: NDArray[np.uint32],
    weights: _Floats | None,
    *,
    probabilities: bool,
    preserve_order: bool,
    folds: dict[str, Any],
    by_weight: bool = False,
) -> MulticlassCalibration: ...

@final
class CalibrationMap:
    learned: Final[str]
    numbers: Final[dict[str, float]]
    link: Final[InverseLink]

def fit_calibrator(
    scores: _Floats,
    labels: NDArray[np.uint8],
    weights: _Floats | None,
    *,
    kind: str,
    smoothness: list[float],
    folds: dict[str, Any],
    score_folds: NDArray[np.uint32] | None = None,
    by_weight: bool = False,
) -> CalibrationMap: ...

def group_folds(
    labels: NDArray[np.uint32], groups: NDArray[np.uint32], count: int, seed: int
) -> NDArray[np.uint32]: ...

_Columns = tuple[_Floats, NDArray[np.uint8], _Floats | None]

def metric_auc(columns: _Columns) -> float: ...
def metric_log_loss(columns: _Columns) -> float: ...
def metric_corp(columns: _Columns) -> tuple[float, float, float, float]: ...
def metric_calibration(
    columns: _Columns, n_bins: int, equal_width: bool
) -> tuple[float, float]: ...

_Side = tuple[str, str | None, tuple[str, str], str, _Floats, Any]

def report_page(
    first: _Side,
    second: _Side | None,
    labels: NDArray[np.uint8],
    weights: _Floats | None,
    data: str,
) -> str: ...

_ClassSide = tuple[
    str, str | None, _Floats, float | None, str, list[tuple[str, str]], Any
]

def report_page_of_classes(
    first: _ClassSide,
    second: _ClassSide | None,
    classes: list[str],
    labels: NDArray[np.uint32],
    weights: _Floats | None,
    data: str,
) -> str: ...
def report_card(link: InverseLink, facts: list[tuple[str, str]]) -> str: ...
def metric_calibration_bound(
    columns: _Columns, folds: NDArray[np.uint32] | None, confidence: float
) -> tuple[float, float | None, float, float, float, int, int]: ...
