"""Pipelines as ONNX: a converter of this package's estimators for skl2onnx.

``to_onnx`` of a classifier needs none of this; :func:`register` is for what stands around it::

    import properloss.onnx
    from skl2onnx import to_onnx

    properloss.onnx.register()
    model = to_onnx(pipeline, X[:1], options={"zipmap": False})

With a ``float64`` input the probabilities are ``double`` and those of ``predict_proba``; with a
``float32`` input they are computed in ``double`` and given as ``float``, as skl2onnx does elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from properloss._base import ProperClassifier
from properloss._calibrated import ProperCalibratedClassifierCV
from properloss._calibrator import ProperCalibrator
from properloss._classifier import ProperLossClassifier
from properloss._export import onnx_bytes
from properloss.estimators import (
    BregmanTronClassifier,
    CanonicalLossClassifier,
    GlmtronClassifier,
    SlisotronClassifier,
)

__all__ = ["register"]

_CLASSIFIERS: tuple[type[ProperClassifier], ...] = (
    ProperLossClassifier,
    BregmanTronClassifier,
    CanonicalLossClassifier,
    GlmtronClassifier,
    SlisotronClassifier,
)
_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "portable": [True, False]}


def register() -> None:
    """Tell skl2onnx how to convert the estimators of this package.

    It may be called any number of times. Needs skl2onnx (the extra ``onnx``).
    """
    from skl2onnx import update_registered_converter

    def add(cls: type, shapes: Any, converter: Any, options: Any) -> None:
        name = f"ProperLoss{cls.__name__}"
        update_registered_converter(cls, name, shapes, converter, options=options)

    for cls in _CLASSIFIERS:
        add(cls, _classifier_shapes, _convert_classifier, _OPTIONS)
    add(ProperCalibratedClassifierCV, _classifier_shapes, _convert_calibrated, _OPTIONS)
    add(ProperCalibrator, _calibrator_shapes, _convert_calibrator, {"portable": [True, False]})


def convert(estimator: Any, *, portable: bool, dtype: str) -> bytes:
    """The bytes of a ``ProperCalibratedClassifierCV`` and the estimators inside it."""
    try:
        from skl2onnx import to_onnx
    except ImportError as error:
        raise ImportError(
            "the estimator inside is converted by skl2onnx: pip install 'properloss[onnx]'"
        ) from error
    register()
    count = getattr(estimator, "n_features_in_", None)
    if count is None:
        raise ValueError("the estimator does not tell its number of features (n_features_in_)")
    row = np.zeros((1, count), dtype=np.dtype(dtype))
    options = {id(estimator): {"zipmap": False, "portable": portable}}
    model = to_onnx(estimator, row, options=options)
    content: bytes = model.SerializeToString()
    return content


# -- shapes ------------------------------------------------------------------------------------


def _number_type(operator: Any) -> Any:
    """Double if doubles go in, else float."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    return DoubleTensorType if double else FloatTensorType


def _classifier_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    rows = operator.inputs[0].get_first_dimension()
    integers = np.issubdtype(operator.raw_operator.classes_.dtype, np.integer)
    operator.outputs[0].type = (Int64TensorType if integers else StringTensorType)([rows])
    operator.outputs[1].type = _number_type(operator)([rows, 2])


def _calibrator_shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = _number_type(operator)([rows, 1])


# -- converters --------------------------------------------------------------------------------


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    x = _matrix(scope, operator, container)
    label, p = (output.full_name for output in operator.outputs)
    model = operator.raw_operator
    _insert(scope, container, model, x, label, _cast(scope, operator, container, p), operator)


def _convert_calibrator(scope: Any, operator: Any, container: Any) -> None:
    x = _matrix(scope, operator, container)
    p = _cast(scope, operator, container, operator.outputs[0].full_name)
    _insert_second_column(scope, container, operator.raw_operator, x, p, operator)


def _convert_calibrated(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto

    model = operator.raw_operator
    found = []
    for estimator, calibrator in model.calibrated_classifiers_:
        s = _scores(scope, operator, container, estimator, model.classes_[1])
        p = scope.get_unique_variable_name("calibrated")
        _insert_second_column(scope, container, calibrator, s, p, operator)
        found.append(p)
    new = scope.get_unique_variable_name
    mean, total = new("mean"), new("sum")
    count, one, half = new("count"), new("one"), new("half")
    container.add_initializer(count, TensorProto.DOUBLE, [1], [float(len(found))])
    container.add_initializer(one, TensorProto.DOUBLE, [1], [1.0])
    container.add_initializer(half, TensorProto.DOUBLE, [1], [0.5])
    container.add_node("Sum", found, total)
    container.add_node("Div", [total, count], mean)
    # As predict_proba: 1 - p, strictly inside.
    rest, low, high, inside = new("rest"), new("low"), new("high"), new("inside")
    container.add_initializer(low, TensorProto.DOUBLE, [], [np.finfo(np.float64).tiny])
    container.add_initializer(high, TensorProto.DOUBLE, [], [1.0 - 2.0**-53])
    container.add_node("Sub", [one, mean], rest)
    container.add_node("Clip", [rest, low, high], inside)
    label, p = (output.full_name for output in operator.outputs)
    p = _cast(scope, operator, container, p)
    container.add_node("Concat", [inside, mean], p, axis=1)
    positive, chosen = new("positive"), new("chosen")
    container.add_node("Greater", [mean, half], positive)
    integers = np.issubdtype(model.classes_.dtype, np.integer)
    kind = TensorProto.INT64 if integers else TensorProto.STRING
    names = []
    for value in model.classes_.tolist():
        names.append(new("class"))
        text = value if integers else str(value).encode()
        container.add_initializer(names[-1], kind, [1], [text])
    container.add_node("Where", [positive, names[1], names[0]], chosen)
    axis = new("axis")
    container.add_initializer(axis, TensorProto.INT64, [1], [1])
    container.add_node("Squeeze", [chosen, axis], label)


def _scores(scope: Any, operator: Any, container: Any, estimator: Any, positive: Any) -> str:
    """What the calibrator of ``estimator`` takes, as doubles of shape (rows, 1)."""
    from onnx import TensorProto
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    alias = sklearn_operator_name_map.get(type(estimator))
    name = type(estimator).__name__
    if alias is None:
        raise ValueError(f"skl2onnx has no converter for the {name} inside")
    inner = scope.declare_local_operator(alias, estimator)
    if hasattr(estimator, "decision_function"):
        if not container.has_options(estimator, "raw_scores"):
            raise ValueError(
                f"skl2onnx gives no decision_function of {name}, which the calibrator takes"
            )
        container.add_options(id(estimator), {"raw_scores": True})
        scope.add_options(id(estimator), {"raw_scores": True})
    inner.inputs = operator.inputs
    integers = np.issubdtype(estimator.classes_.dtype, np.integer)
    kind = Int64TensorType if integers else StringTensorType
    inner.outputs.append(scope.declare_local_variable("inner_label", kind()))
    both = scope.declare_local_variable("inner_scores", _number_type(operator)())
    inner.outputs.append(both)
    new = scope.get_unique_variable_name
    index, column, score = new("index"), new("column"), new("score")
    place = int(np.flatnonzero(estimator.classes_ == positive)[0])
    container.add_initializer(index, TensorProto.INT64, [1], [place])
    container.add_node("Gather", [both.full_name, index], column, axis=1)
    container.add_node("Cast", column, score, to=TensorProto.DOUBLE)
    return str(score)


def _matrix(scope: Any, operator: Any, container: Any) -> str:
    """The inputs side by side, as doubles."""
    from onnx import TensorProto

    names = [variable.full_name for variable in operator.inputs]
    if len(names) > 1:
        parts, names = names, [scope.get_unique_variable_name("columns")]
        container.add_node("Concat", parts, names[0], axis=1)
    x = scope.get_unique_variable_name("doubles")
    container.add_node("Cast", names[0], x, to=TensorProto.DOUBLE)
    return str(x)


def _cast(scope: Any, operator: Any, container: Any, output: str) -> str:
    """A name for doubles that become ``output``, in the type that is declared for it."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType

    double = _number_type(operator) is DoubleTensorType
    name = scope.get_unique_variable_name("probabilities_double")
    to = TensorProto.DOUBLE if double else TensorProto.FLOAT
    container.add_node("Cast", name, output, to=to)
    return str(name)


def _insert_second_column(
    scope: Any, container: Any, model: Any, x: str, output: str, operator: Any
) -> None:
    from onnx import TensorProto

    new = scope.get_unique_variable_name
    both, index = new("both"), new("index")
    _insert(scope, container, model, x, new("label"), both, operator)
    container.add_initializer(index, TensorProto.INT64, [1], [1])
    container.add_node("Gather", [both, index], output, axis=1)


def _insert(
    scope: Any, container: Any, model: Any, x: str, label: str, p: str, operator: Any
) -> None:
    """The graph of ``model`` inside the one under construction, under fresh names."""
    import onnx

    raw = operator.raw_operator
    portable = scope.get_options(raw, {"portable": False}).get("portable", False)
    graph = onnx.load_from_string(onnx_bytes(model, portable=portable)).graph
    names = {"X": x, "label": label, "probabilities": p}

    def renamed(name: str) -> str:
        if name not in names:
            names[name] = scope.get_unique_variable_name(f"properloss_{name}")
        return names[name]

    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.STRING:
            content: Any = list(tensor.string_data)
            container.add_initializer(
                renamed(tensor.name), tensor.data_type, list(tensor.dims), content
            )
        else:
            container.add_initializer(renamed(tensor.name), None, None, tensor)
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        container.add_node(
            node.op_type,
            [renamed(name) for name in node.input],
            [renamed(name) for name in node.output],
            op_domain=node.domain,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
