"""A fitted classifier or calibrator without properloss: ONNX, C, SQL, Python."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from properloss import _core


class OnnxMixin:
    """``to_onnx``."""

    def _onnx(self, *, portable: bool, dtype: str) -> bytes:
        raise NotImplementedError

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        portable: bool = False,
        *,
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        """Write an ONNX graph with the outputs ``label`` and ``probabilities``.

        Parameters
        ----------
        path : str or path-like
            Where to write it; the file appears whole or not at all.
        portable : bool, default=False
            Core operators only, for runtimes without ``ai.onnx.ml``; slower.
        dtype : {"float64", "float32"}, default="float64"
            The type of the input ``X``. The graph computes in double either way.
        """
        check_is_fitted(self)
        _core.write_bytes(path, self._onnx(portable=portable, dtype=dtype))


class ExportMixin(OnnxMixin):
    """``to_onnx`` and ``to_source`` of everything that the engine exports."""

    def _exportable(self) -> _core.Export:
        raise NotImplementedError

    def _onnx(self, *, portable: bool, dtype: str) -> bytes:
        return onnx_bytes(self, portable=portable, dtype=dtype)

    def to_source(self, language: Literal["c", "sql", "python"], *, table: str = "examples") -> str:
        """The source of a function (C99, Python) or query (SQL) that gives the probability.

        Parameters
        ----------
        language : {"c", "sql", "python"}
            The language.
        table : str, default="examples"
            The table of the query.

        Returns
        -------
        source : str
            Its text.
        """
        check_is_fitted(self)
        return self._exportable().to_bytes(language, table=table).decode()


def onnx_bytes(estimator: Any, *, portable: bool = False, dtype: str = "float64") -> bytes:
    """The bytes of an ONNX file."""
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype is {dtype!r}; it must be 'float64' or 'float32'")
    check_is_fitted(estimator)
    export: _core.Export = estimator._exportable()
    return export.to_bytes("onnx", portable=bool(portable), float_input=dtype == "float32")


def class_names(classes: Any) -> tuple[str, str]:
    """Two labels as texts."""
    first, second = (str(label) for label in np.asarray(classes).tolist())
    return first, second
