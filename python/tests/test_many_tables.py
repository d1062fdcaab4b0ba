"""Tables made at random, as messy as they come, through every library and every file: the same bits.

Kinds of columns, their missing values, hostile names and values are drawn by the seed. One table is held
by pandas (three families of types), polars and Arrow, and written as CSV, TSV and Parquet.
"""

from __future__ import annotations

import datetime
import decimal
import json
import pathlib
import subprocess
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import properloss as pl
from test_same_bits import cli  # noqa: F401

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 160
NAMES = [
    "<script>alert(1)</script>", 'a "quoted" name', "it's", "a, b; c", "שלום עולם", "\u202eright to left",
    "x" * 10_000, "tab\tinside", "two\nlines", "Ünïcödé 数", "=1+1", "%s {0} $HOME", "a=b", "&amp;", "42", "nan",
]  # fmt: skip
WORDS = [
    "<b>", 'say "no"', "it's", "a,b", "שלום", "\u202eabc", "long " * 60, "x\ty", "two\nlines", "naïve", "=SUM(A1)", "-",
]  # fmt: skip
Rng = np.random.Generator


def holes(rng: Rng, values: list[Any]) -> list[Any]:
    """The same with missing values, in half of the columns."""
    share = rng.choice([0.0, 0.15])
    return [None if rng.random() < share else value for value in values]


def pick(*choices: Any) -> Callable[[Rng], list[Any]]:
    return lambda rng: holes(rng, [choices[k] for k in rng.integers(0, len(choices), ROWS)])


def words(rng: Rng) -> list[Any]:
    return pick(*rng.choice(WORDS, 4, replace=False).tolist(), "")(rng)


def reals(rng: Rng) -> list[Any]:
    return holes(rng, (rng.normal(size=ROWS) * 10.0 ** rng.integers(-5, 6)).tolist())


def wholes(rng: Rng) -> list[Any]:
    return holes(rng, rng.integers(-5, 90, ROWS).tolist())


def texts_of_wholes(rng: Rng) -> list[Any]:
    return holes(rng, [f"{v:03d}" for v in rng.integers(0, 200, ROWS)])


def large(rng: Rng) -> list[Any]:
    return rng.integers(2**53, 2**62, ROWS).tolist()


def money(rng: Rng) -> list[Any]:
    return holes(rng, [decimal.Decimal(int(v)).scaleb(-2) for v in rng.integers(-(10**7), 10**7, ROWS)])


def exact(rng: Rng) -> list[Any]:
    """Decimals of more digits than a double has."""
    return [decimal.Decimal(int(v)).scaleb(-9) for v in rng.integers(10**17, 10**18, ROWS)]


def dates(rng: Rng) -> list[Any]:
    day = datetime.date(1965, 3, 1)
    return holes(rng, [day + datetime.timedelta(int(v)) for v in rng.integers(0, 30_000, ROWS)])


def moments(rng: Rng) -> list[Any]:
    start = datetime.datetime(1968, 12, 31, 23, 59)
    return holes(
        rng, [start + datetime.timedelta(microseconds=int(v)) for v in rng.integers(0, 2 * 10**15, ROWS)]
    )


def moments_of_the_world(rng: Rng) -> list[Any]:
    return [v and v.replace(tzinfo=datetime.UTC) for v in moments(rng)]


def moments_in_a_zone(rng: Rng) -> list[Any]:
    zone = datetime.timezone(datetime.timedelta(hours=int(rng.integers(-11, 13)), minutes=30))
    return [v and v.replace(tzinfo=zone).isoformat() for v in moments(rng)]


def written_dates(rng: Rng) -> list[Any]:
    return [v and v.isoformat() for v in dates(rng)]


KINDS: dict[str, Callable[[Rng], list[Any]]] = {
    "reals": reals,
    "wholes": wholes,
    "texts of wholes": texts_of_wholes,
    "large": large,
    "money": money,
    "exact": exact,
    "truths": pick(True, False),
    "truths in words": pick("true", "False", "TRUE"),
    "yes and no": pick("yes", "no"),
    "zero and one": pick(0, 1),
    "zero and one in words": pick("0", "1"),
    "words": words,
    "words and numbers": pick("1", "2.5", "many", "few", "none of them"),
    "constant": pick(7.5),
    "one word": pick("only"),
    "dates": dates,
    "moments": moments,
    "moments of the world": moments_of_the_world,
    "written moments in a zone": moments_in_a_zone,
    "written dates": written_dates,
    "written moments": lambda rng: [v and str(v) for v in moments(rng)],
    "tiny": lambda rng: holes(rng, (rng.normal(size=ROWS) * 1e-300).tolist()),
}


class Messy:
    """One table, as columns of Python values."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        # Every kind comes up within three seeds.
        kinds = np.roll(list(KINDS), -7 * seed)[:7]
        names = rng.choice(NAMES, 7, replace=False).tolist()
        self.columns = {name: KINDS[kind](rng) for name, kind in zip(names, kinds, strict=True)}
        self.kinds = dict(zip(names, kinds.tolist(), strict=True))
        for values in self.columns.values():
            values[0] = next(v for v in values if v is not None and v != "")
        signal = rng.normal(size=ROWS)
        self.columns["signal"] = signal.tolist()
        self.y = (rng.random(ROWS) < 1 / (1 + np.exp(-2 * signal))).astype(int).tolist()

    def arrow(self) -> Any:
        return pyarrow.table({name: pyarrow.array(v) for name, v in self.columns.items()})

    def in_python(self) -> dict[str, Any]:
        arrow = self.arrow()
        coded = {
            name: arrow[name].dictionary_encode() if pyarrow.types.is_string(arrow[name].type) else arrow[name]
            for name in arrow.column_names
        }
        # A text column that is declared to be categories is one, whatever its texts look like.
        plain = {"words", "yes and no", "one word", "words and numbers"}
        coded = {name: c if self.kinds.get(name) in plain else arrow[name] for name, c in coded.items()}
        return {
            "arrow": arrow,
            "arrow dictionaries": pyarrow.table(coded),
            "arrow in chunks": pyarrow.concat_tables([arrow.slice(0, 50), arrow.slice(50)]),
            "pandas": arrow.to_pandas(),
            "pandas of objects": pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in self.columns.items()}),
            "pandas nullable": arrow.to_pandas().convert_dtypes(),
            "pandas of Arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": polars.from_arrow(arrow),
        }

    def files(self, folder: pathlib.Path) -> dict[str, pathlib.Path]:
        paths = {kind: folder / f"table.{kind}" for kind in ("csv", "tsv", "parquet")}
        frame = pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in self.columns.items()})
        frame = frame.assign(y=self.y)
        frame.to_csv(paths["csv"], index=False)
        frame.to_csv(paths["tsv"], index=False, sep="\t", na_rep="NA", lineterminator="\r\n")
        parquet.write_table(self.arrow().append_column("y", pyarrow.array(self.y)), paths["parquet"])
        return paths


@pytest.mark.parametrize("seed", range(12))
def test_a_table_has_one_model_whoever_holds_it(cli: str, seed: int, tmp_path: pathlib.Path) -> None:  # noqa: F811
    table = Messy(seed)
    held = table.in_python()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = pl.ProperLossClassifier(missing="mean", cv=3).fit(held["arrow"], table.y)
        p = expected.predict_proba(held["arrow"])
        for name, rows in held.items():
            fitted = pl.ProperLossClassifier(missing="mean", cv=3).fit(rows, table.y)
            assert list(fitted.coef_names_) == list(expected.coef_names_), name
            assert np.array_equal(fitted.coef_, expected.coef_), (name, table.kinds)
            assert np.array_equal(fitted.predict_proba(rows), p), name
            assert np.array_equal(expected.predict_proba(rows), p), name
    expected.save(tmp_path / "python.json")
    models = {"python": tmp_path / "python.json"}
    paths = table.files(tmp_path)
    for kind, path in paths.items():
        models[kind] = tmp_path / f"{kind}.json"
        done = subprocess.run(
            [cli, "fit", path, "-o", models[kind], "--label", "y", "--missing", "mean", "--cv", "3", "--quiet"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    for kind, model in models.items():
        assert np.array_equal(json.loads(model.read_text())["weights"], expected.coef_[0]), (kind, table.kinds)
        for other, path in paths.items():
            done = subprocess.run([cli, "predict", model, path, "--quiet"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert np.array_equal([float(v) for v in done.stdout.split()[1:]], p[:, 1]), (kind, other)
        loaded = pl.load(model)
        for name, rows in held.items():
            assert np.array_equal(loaded.predict_proba(rows), p), (kind, name)
    done = subprocess.run(
        [cli, "report", models["csv"], paths["csv"], "-o", tmp_path / "page.html", "--quiet"], capture_output=True
    )
    assert done.returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert len(page.encode()) < 1_000_000 and "<script>alert" not in page


def test_times_of_older_programs(cli: str, tmp_path: pathlib.Path) -> None:  # noqa: F811
    """Spark's INT96: the same days as any other time."""
    rng = np.random.default_rng(0)
    when = np.datetime64("1960-05-05T12:34:56.789", "ns") + rng.integers(0, 2**61, ROWS)
    y = rng.integers(0, 2, ROWS)
    table = pyarrow.table({"when": when, "y": y})
    weights = []
    for old in (False, True):
        path = tmp_path / f"{old}.parquet"
        parquet.write_table(table, path, use_deprecated_int96_timestamps=old)
        kind = parquet.ParquetFile(path).schema.column(0).physical_type
        assert kind == ("INT96" if old else "INT64")
        model = tmp_path / "model.json"
        done = subprocess.run([cli, "fit", path, "-o", model, "--quiet"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        weights.append(json.loads(model.read_text())["weights"])
    assert weights[0] == weights[1] != [0.0]
    assert weights[0] == pl.ProperLossClassifier().fit(table.select(["when"]), y).coef_[0].tolist()


def test_spaces_around_names_and_floats_for_whole_numbers(cli: str, tmp_path: pathlib.Path) -> None:  # noqa: F811
    """`pd.read_csv` keeps the spaces of "a, b", and reads whole numbers with gaps as floats."""
    rng = np.random.default_rng(1)
    code = rng.integers(1, 4, 200)
    rows = [f"{'' if rng.random() < 0.1 else c},{x!r},{int(rng.random() < c / 5)}" for c, x in zip(code, rng.normal(size=200).tolist())]
    path = tmp_path / "spaced.csv"
    path.write_text("\n".join(["code, x, y", *rows]) + "\n")
    frame = pd.read_csv(path)
    assert list(frame) == ["code", " x", " y"] and frame["code"].dtype == float
    frame.to_csv(tmp_path / "again.csv", index=False)
    frame.to_parquet(tmp_path / "again.parquet")
    options = "--missing mean --categorical code --quiet".split()
    fitted = pl.ProperLossClassifier(missing="mean").fit(frame[["code", " x"]].astype({"code": "category"}), frame[" y"])
    fitted.save(tmp_path / "python.json")
    p = fitted.predict_proba(frame[["code", " x"]])[:, 1]
    models = [tmp_path / "python.json"]
    for name in ("spaced.csv", "again.csv", "again.parquet"):
        models.append(tmp_path / f"{name}.json")
        label = " y" if name.endswith("parquet") else "y"
        done = subprocess.run([cli, "fit", tmp_path / name, "-o", models[-1], "--label", label, *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for model in models:
        assert json.loads(model.read_text())["weights"] == fitted.coef_[0].tolist(), model
        for name in ("spaced.csv", "again.csv", "again.parquet"):
            done = subprocess.run([cli, "predict", model, tmp_path / name], capture_output=True, text=True)
            assert done.returncode == 0 and "did not occur" not in done.stderr, (model, name, done.stderr)
            assert np.array_equal([float(v) for v in done.stdout.split()[1:]], p), (model, name)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for held in (frame, polars.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
                assert np.array_equal(pl.load(model).predict_proba(held)[:, 1], p), model
