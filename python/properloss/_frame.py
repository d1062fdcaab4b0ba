"""Data frames as the columns that the engine encodes: numbers, truth values, times and texts.

pandas, polars and Arrow tables (anything with ``__arrow_c_stream__``) give the same columns as a CSV or
Parquet file of the same rows, and the engine encodes them by the same rules: a text is a category, a truth
value one feature, a date its days since 1970-01-01, a text that is the writing of any of these is that.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Name, kind, values, and what the kind needs besides: as the engine takes it.
Column: TypeAlias = "tuple[str, str, NDArray[Any], Any]"

_MISSING_TIME = np.iinfo(np.int64).min
_DAY = 86_400
#: Parts of a second of the units of numpy, Arrow and polars.
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class Frame(NamedTuple):
    """The columns of a data frame."""

    #: As the engine takes them.
    columns: list[Column]
    #: How many rows.
    rows: int
    #: Columns that their type declares to be categories.
    categorical: list[str]


def is_frame(X: Any) -> bool:
    """Whether ``X`` has columns with names and types: a data frame."""
    return hasattr(X, "columns") or hasattr(X, "column_names")


def is_plain(X: Any) -> bool:
    """Whether every column of a data frame is of numbers, so that nothing has to be encoded."""
    return all(_is_number(dtype) for dtype in (X.schema.types if _library(X) == "arrow" else X.dtypes))


def read_frame(X: Any) -> Frame:
    """The columns of a data frame."""
    kind = _library(X)
    if kind == "pandas":
        named = [(str(name), X.iloc[:, j]) for j, name in enumerate(X.columns)]
        read: Callable[[str, Any], Column] = _of_pandas
        categorical = [name for name, s in named if s.dtype.name.startswith(("category", "dictionary"))]
    elif kind == "polars":
        named = [(series.name, series) for series in X.get_columns()]
        read = _of_polars
        categorical = [name for name, s in named if _name(s.dtype) in ("Categorical", "Enum")]
    else:
        named = [(name, X.column(j)) for j, name in enumerate(X.column_names)]
        read = _of_arrow
        categorical = [name for name, c in named if str(c.type).startswith("dictionary")]
    return Frame([read(name, column) for name, column in named], len(X), categorical)


def column_names(X: Any) -> list[str]:
    """The names of the columns of a data frame."""
    return [str(name) for name in (X.column_names if _library(X) == "arrow" else X.columns)]


def select(X: Any, names: list[str]) -> Any:
    """The columns of these names, in this order and under these names; ``X`` itself if one is not there.

    Text files are read without the spaces around a name, which a data frame keeps: they do not count.
    """
    known = column_names(X)
    bare = [name.strip() for name in known]
    places = []
    for name in names:
        if name not in known and name.strip() not in bare:
            return X
        places.append(known.index(name) if name in known else bare.index(name.strip()))
    found = [known[j] for j in places]
    if _library(X) == "pandas":
        X = X.iloc[:, places]
        return X if found == names else X.set_axis(names, axis=1)
    X = X.select(found)
    if found == names:
        return X
    return X.rename(dict(zip(found, names, strict=True))) if _library(X) == "polars" else X.rename_columns(names)


def read_array(X: NDArray[Any], names: Iterable[str]) -> Frame:
    """A matrix as columns of these names."""
    columns = [_plain_array(name, X[:, j]) for j, name in enumerate(names)]
    return Frame(columns, len(X), [])


def _library(X: Any) -> str:
    if hasattr(X, "column_names"):
        return "arrow"
    return "polars" if hasattr(X, "get_columns") else "pandas"


def _name(dtype: Any) -> str:
    return type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__


def _is_number(dtype: Any) -> bool:
    """A number of any library, truth values left out: those stand in files as words."""
    kind = getattr(dtype, "kind", None)
    if isinstance(kind, str):
        return kind in "iuf"
    if hasattr(dtype, "is_numeric"):
        return bool(dtype.is_numeric())
    text = str(dtype)
    return text.startswith(("int", "uint", "float", "half", "double", "Sparse", "decimal"))


# -- one library each ------------------------------------------------------------------------


def _of_pandas(name: str, series: Any) -> Column:
    dtype = series.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(name, series.array.__arrow_array__())
    if dtype.name == "category":
        # A row is the number of its category, -1 where it has none.
        _, kind, places, texts = _of_objects(name, np.asarray(dtype.categories.astype(object)))
        return name, kind, np.append(places, -1)[np.asarray(series.cat.codes)], texts
    if _is_number(dtype):
        return _numbers(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return _of_truths(name, series.to_numpy(dtype=object, na_value=None))
    if kind == "M":
        if getattr(dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        values = series.to_numpy()
        return _of_times(name, values if values.dtype.kind == "M" else values.astype("M8[ns]"))
    if kind in "mc":
        raise _unusable(name, "a span of time" if kind == "m" else "complex numbers")
    return _of_objects(name, series.to_numpy(dtype=object, na_value=None))


def _of_polars(name: str, series: Any) -> Column:
    import polars

    dtype = series.dtype
    kind = _name(dtype)
    if kind == "Decimal":
        return _decimals(name, series.to_list())
    if dtype.is_numeric():
        return _numbers(name, series.cast(polars.Float64).to_numpy())
    if kind == "Boolean":
        return _of_truths(name, np.asarray(series.to_list(), dtype=object))
    if kind in ("Date", "Datetime"):
        ticks = series.to_physical().cast(polars.Int64).fill_null(_MISSING_TIME).to_numpy()
        unit = _PER_SECOND[dtype.time_unit] if kind == "Datetime" else None
        return _of_ticks(name, ticks, unit)
    if kind in ("String", "Utf8", "Categorical", "Enum", "Object", "Null"):
        return _of_objects(name, np.asarray(series.to_list(), dtype=object))
    raise _unusable(name, str(dtype))


def _of_arrow(name: str, column: Any) -> Column:
    import pyarrow
    import pyarrow.compute as compute

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pyarrow.types.is_boolean(kind):
        return _of_truths(name, np.asarray(column.to_pylist(), dtype=object))
    if pyarrow.types.is_decimal(kind):
        return _decimals(name, column.to_pylist())
    if _is_number(kind):
        values = column.cast(pyarrow.float64(), safe=False)
        return _numbers(name, np.asarray(values.to_numpy(zero_copy_only=False)))
    if pyarrow.types.is_date(kind) or pyarrow.types.is_timestamp(kind):
        if pyarrow.types.is_date(kind):
            ticks, unit = column.cast(pyarrow.date32()).cast(pyarrow.int32()), None
        else:
            ticks, unit = column.cast(pyarrow.int64()), _PER_SECOND[kind.unit]
        filled = compute.fill_null(ticks.cast(pyarrow.int64()), _MISSING_TIME)
        return _of_ticks(name, np.asarray(filled.to_numpy(zero_copy_only=False)), unit)
    if pyarrow.types.is_nested(kind) or pyarrow.types.is_duration(kind):
        raise _unusable(name, str(kind))
    return _of_objects(name, np.asarray([*column.to_pylist(), None], dtype=object)[:-1])


# -- kinds -----------------------------------------------------------------------------------


def _numbers(name: str, values: NDArray[Any]) -> Column:
    return name, "numbers", np.ascontiguousarray(values, dtype=np.float64), None


def _decimals(name: str, values: list[Any]) -> Column:
    """Rounded once: what a library casts may miss the nearest double."""
    return _numbers(name, np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64))


def _plain_array(name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind in "biuf":
        return _numbers(name, values)
    return _of_objects(name, values.astype(object))


def _of_truths(name: str, values: NDArray[Any]) -> Column:
    codes = [-1 if is_missing(value) else int(bool(value)) for value in values]
    return name, "bools", np.array(codes, dtype=np.int8), None


def _of_times(name: str, values: NDArray[Any]) -> Column:
    unit = np.datetime_data(values.dtype)[0]
    if unit not in _PER_SECOND:
        values, unit = values.astype("M8[s]"), "s"
    # numpy's NaT is the least number too.
    return _of_ticks(name, values.astype(np.int64), _PER_SECOND[unit])


def _of_ticks(name: str, ticks: NDArray[Any], per_second: int | None) -> Column:
    """Parts of a second, or days without a unit."""
    ticks = np.ascontiguousarray(ticks, dtype=np.int64)
    if per_second is None:
        ticks = np.where(ticks == _MISSING_TIME, ticks, ticks * _DAY)
    return name, "ticks", ticks, per_second or 1


def _of_objects(name: str, values: NDArray[Any]) -> Column:
    """Values of any type, as texts that a CSV file would have."""
    numbers: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if is_missing(value):
            codes[row] = -1
        else:
            codes[row] = numbers.setdefault(_text(name, value), len(numbers))
    return name, "texts", codes, list(numbers)


def is_missing(value: Any) -> bool:
    """None, NaN, pandas.NA and NaT: what is not equal to itself, or refuses to say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, datetime.date | datetime.datetime | np.datetime64):
        return str(value)
    if isinstance(value, bytes | list | tuple | dict | set | np.ndarray):
        raise _unusable(name, type(value).__name__)
    # Floats by the shortest text that reads back; Decimal, UUID and the like by their own.
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def _unusable(name: str, kind: str) -> TypeError:
    return TypeError(f"column {name!r} of X holds {kind}, which cannot be used: leave it out")
