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

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from properloss._base import ProperClassifier
from properloss._calibrated import ProperCalibratedClassifierCV
from properloss._calibrator import ProperCalibrator
from properloss._classifier import ProperLossClassifier
from properloss._export import onnx_bytes
from properloss._results import LARGEST, SMALLEST
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
    content: bytes = to_onnx(estimator, row, options=options).SerializeToString()
    return content


# -- shapes ------------------------------------------------------------------------------------


def _number_type(operator: Any) -> Any:
    """Double if doubles go in, else float."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    return DoubleTensorType if double else FloatTensorType


def _label_type(classes: Any) -> Any:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    return Int64TensorType if np.issubdtype(classes.dtype, np.integer) else StringTensorType


def _classifier_shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = _label_type(operator.raw_operator.classes_)([rows])
    operator.outputs[1].type = _number_type(operator)([rows, 2])


def _calibrator_shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = _number_type(operator)([rows, 1])


# -- converters --------------------------------------------------------------------------------


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    label, p = (output.full_name for output in operator.outputs)
    graph.insert(operator.raw_operator, graph.matrix(), label, graph.cast_to(p))


def _convert_calibrator(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    p = graph.cast_to(operator.outputs[0].full_name)
    graph.insert_second_column(operator.raw_operator, graph.matrix(), p)


def _convert_calibrated(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto

    graph = _Graph(scope, operator, container)
    model = operator.raw_operator
    found = []
    for estimator, calibrator in model.calibrated_classifiers_:
        s = graph.scores(estimator, model.classes_[1])
        found.append(graph.new("calibrated"))
        graph.insert_second_column(calibrator, s, found[-1])
    count, one, half = (
        graph.constant(name, TensorProto.DOUBLE, value)
        for name, value in (("count", float(len(found))), ("one", 1.0), ("half", 0.5))
    )
    mean = graph.node("Div", [graph.node("Sum", found, "sum"), count], "mean")
    # As predict_proba: 1 - p, strictly inside.
    low = graph.constant("low", TensorProto.DOUBLE, SMALLEST, shape=[])
    high = graph.constant("high", TensorProto.DOUBLE, LARGEST, shape=[])
    rest = graph.node("Clip", [graph.node("Sub", [one, mean], "rest"), low, high], "inside")
    label, p = (output.full_name for output in operator.outputs)
    container.add_node("Concat", [rest, mean], graph.cast_to(p), axis=1)
    integers = np.issubdtype(model.classes_.dtype, np.integer)
    kind = TensorProto.INT64 if integers else TensorProto.STRING
    negative, positive = (
        graph.constant("class", kind, value if integers else str(value).encode())
        for value in model.classes_.tolist()
    )
    above = graph.node("Greater", [mean, half], "positive")
    chosen = graph.node("Where", [above, positive, negative], "chosen")
    axis = graph.constant("axis", TensorProto.INT64, 1)
    container.add_node("Squeeze", [chosen, axis], label)


class _Graph(NamedTuple):
    """The graph under construction, for one operator of it."""

    scope: Any
    operator: Any
    container: Any

    def new(self, name: str) -> str:
        return str(self.scope.get_unique_variable_name(name))

    def constant(self, name: str, kind: int, value: Any, shape: Sequence[int] = (1,)) -> str:
        name = self.new(name)
        self.container.add_initializer(name, kind, list(shape), [value])
        return name

    def node(self, kind: str, inputs: Any, name: str, **attributes: Any) -> str:
        """A node with one output of its own, and the name of that."""
        name = self.new(name)
        self.container.add_node(kind, inputs, name, **attributes)
        return name

    def scores(self, estimator: Any, positive: Any) -> str:
        """What the calibrator of ``estimator`` takes, as doubles of shape (rows, 1)."""
        from onnx import TensorProto
        from skl2onnx._supported_operators import sklearn_operator_name_map

        scope, container = self.scope, self.container
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
            for options in (container, scope):
                options.add_options(id(estimator), {"raw_scores": True})
        inner.inputs = self.operator.inputs
        label = _label_type(estimator.classes_)()
        inner.outputs.append(scope.declare_local_variable("inner_label", label))
        both = scope.declare_local_variable("inner_scores", _number_type(self.operator)())
        inner.outputs.append(both)
        place = int(np.flatnonzero(estimator.classes_ == positive)[0])
        index = self.constant("index", TensorProto.INT64, place)
        column = self.node("Gather", [both.full_name, index], "column", axis=1)
        return self.node("Cast", column, "score", to=TensorProto.DOUBLE)

    def matrix(self) -> str:
        """The inputs side by side, as doubles."""
        from onnx import TensorProto

        names = [variable.full_name for variable in self.operator.inputs]
        x = names[0] if len(names) == 1 else self.node("Concat", names, "columns", axis=1)
        return self.node("Cast", x, "doubles", to=TensorProto.DOUBLE)

    def cast_to(self, output: str) -> str:
        """A name for doubles that become ``output``, in the type that is declared for it."""
        from onnx import TensorProto
        from skl2onnx.common.data_types import DoubleTensorType

        double = _number_type(self.operator) is DoubleTensorType
        name = self.new("probabilities_double")
        to = TensorProto.DOUBLE if double else TensorProto.FLOAT
        self.container.add_node("Cast", name, output, to=to)
        return name

    def insert_second_column(self, model: Any, x: str, output: str) -> None:
        from onnx import TensorProto

        both = self.new("both")
        self.insert(model, x, self.new("label"), both)
        index = self.constant("index", TensorProto.INT64, 1)
        self.container.add_node("Gather", [both, index], output, axis=1)

    def insert(self, model: Any, x: str, label: str, p: str) -> None:
        """The graph of ``model`` inside this one, under fresh names."""
        import onnx

        options = self.scope.get_options(self.operator.raw_operator, {"portable": False})
        content = onnx_bytes(model, portable=options.get("portable", False))
        graph = onnx.load_from_string(content).graph
        names = {"X": x, "label": label, "probabilities": p}

        def renamed(name: str) -> str:
            if name not in names:
                names[name] = self.new(f"properloss_{name}")
            return names[name]

        for tensor in graph.initializer:
            name = renamed(tensor.name)
            if tensor.data_type == onnx.TensorProto.STRING:
                texts = list(tensor.string_data)
                self.container.add_initializer(name, tensor.data_type, list(tensor.dims), texts)
            else:
                self.container.add_initializer(name, None, None, tensor)
        for node in graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            self.container.add_node(
                node.op_type,
                [renamed(name) for name in node.input],
                [renamed(name) for name in node.output],
                op_domain=node.domain,
                name=self.scope.get_unique_operator_name(node.op_type),
                **attributes,
            )
