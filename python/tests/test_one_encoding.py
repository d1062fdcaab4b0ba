"""The same rows as CSV, TSV, Parquet, pandas, polars and Arrow: the same bits, whoever reads whose model."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import properloss as pl
from loans import BESIDE, FEATURES, loans
from test_same_bits import cli  # noqa: F401

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

FIT = "--label default --missing mean --weight weight --ignore loan_id,customer --seed 0 --quiet".split()


@pytest.fixture(scope="module")
def new() -> Any:
    """Rows to predict, with a purpose that is new and values that are missing."""
    return loans(300, seed=1, purposes=("car", "house", "boat"))


def in_python(frame: Any) -> dict[str, Any]:
    """The same features in every library."""
    rows = frame[FEATURES]
    arrow = pyarrow.Table.from_pandas(rows, preserve_index=False)
    return {
        "pandas": rows,
        "pandas categories": rows.astype({"purpose": "category", "region": "category"}),
        "pandas objects": rows.astype({"purpose": object, "owner": object, "region": object}),
        "pandas nullable": rows.astype({"owner": "boolean", "purpose": "string", "age": "Int64"}),
        "polars": polars.from_pandas(rows),
        "polars categories": polars.from_pandas(rows).with_columns(
            polars.col("purpose").cast(polars.Categorical)
        ),
        "arrow": arrow,
        "arrow dates": arrow.set_column(0, "opened", arrow.column(0).cast(pyarrow.date32())),
    }


def write_files(frame: Any, folder: pathlib.Path, name: str) -> dict[str, pathlib.Path]:
    """The same rows as files; ``repr`` of a double reads back to the same bits."""
    paths = {kind: folder / f"{name}.{kind}" for kind in ("csv", "tsv", "parquet")}
    frame.to_csv(paths["csv"], index=False)
    # As other programs write them: truth values in lower case, dates without a time.
    words = frame.assign(
        owner=frame["owner"].map({True: "true", False: "false"}),
        opened=frame["opened"].dt.strftime("%Y-%m-%d"),
    )
    words.to_csv(paths["tsv"], index=False, sep="\t", na_rep="NA")
    parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), paths["parquet"])
    return paths


def run(cli: str, *words: Any) -> str:  # noqa: F811
    done = subprocess.run([cli, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def expected(table: Any) -> Any:
    y, weight = table["default"], table["weight"].to_numpy()
    return pl.ProperLossClassifier(missing="mean").fit(table[FEATURES], y, weight)


def test_every_library_gives_the_same_bits(table: Any, new: Any, expected: Any) -> None:
    y, weight = table["default"], table["weight"].to_numpy()
    assert list(expected.feature_names_in_) == FEATURES and expected.n_features_in_ == len(FEATURES)
    # A truth value is one feature, a date one, a text one a category.
    assert list(expected.coef_names_) == [
        *("opened", "paid_at", "purpose=car", "purpose=house", "purpose=study", "owner"),
        *("income", "age", "region=01", "region=02", "region=north"),
    ]
    assert expected.coef_.shape == (1, 11)
    seconds = in_python(new)
    with pytest.warns(UserWarning, match="categories that did not occur"):
        p = expected.predict_proba(new[FEATURES])
    quick = pl.CanonicalLossClassifier(missing="mean")
    first = clone(quick).fit(table[FEATURES], y, weight)
    for name, rows in in_python(table).items():
        fitted = clone(quick).fit(rows, y, weight)
        assert np.array_equal(fitted.coef_, first.coef_), name
        assert fitted.intercept_ == first.intercept_, name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            # Fitted in one library, used in another.
            assert np.array_equal(expected.predict_proba(seconds[name]), p), name
            assert np.array_equal(fitted.predict_proba(seconds["polars"]), first.predict_proba(new[FEATURES]))


def test_files_and_frames_give_the_same_bits(
    cli: str, table: Any, new: Any, expected: Any, tmp_path: pathlib.Path  # noqa: F811
) -> None:
    files, others = (write_files(f, tmp_path, n) for f, n in ((table, "loans"), (new, "new")))
    expected.save(tmp_path / "python.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        p = expected.predict_proba(new[FEATURES])[:, 1]
    models = {"python": tmp_path / "python.json"}
    for kind, path in files.items():
        models[kind] = tmp_path / f"{kind}.json"
        run(cli, "fit", path, "-o", models[kind], *FIT)
    weights = {name: json.loads(path.read_text())["weights"] for name, path in models.items()}
    for name, model in models.items():
        assert weights[name] == weights["python"], name
        # Every file of new rows, read by the command line under every model ...
        for kind, path in others.items():
            out = run(cli, "predict", model, path, "--quiet").split()
            assert out[0] == "probability"
            assert np.array_equal([float(v) for v in out[1:]], p), (name, kind)
        # ... and in Python, the whole table, label and all: columns are found by name.
        loaded = pl.load(model)
        for frame in (new, polars.from_pandas(new), pyarrow.Table.from_pandas(new)):
            with pytest.warns(UserWarning, match="categories that did not occur"):
                assert np.array_equal(loaded.predict_proba(frame)[:, 1], p), name
    # Python's model knows its label by the name of y, and is measured as the others are.
    known = loans(300, seed=2)
    path = write_files(known, tmp_path, "known")["csv"]
    measured = {
        name: json.loads(run(cli, "evaluate", model, path, "--no-weight", "--json"))["log_loss"]
        for name, model in models.items()
    }
    assert len(set(measured.values())) == 1, measured


def test_several_classes_have_the_same_bits_too(
    cli: str, table: Any, new: Any, tmp_path: pathlib.Path  # noqa: F811
) -> None:
    """Three classes: every library and every file, one model, read by the other side."""

    def classed(frame: Any) -> Any:
        risk = np.digitize(frame["age"] + 9 * frame["default"], [35, 55])
        return frame.assign(default=np.array(["low", "middle", "high"])[risk])

    table, new = classed(table), classed(new)
    y, weight = table["default"], table["weight"].to_numpy()
    expected = pl.ProperLossClassifier(missing="mean", cv=3).fit(table[FEATURES], y, weight)
    assert expected.coef_.shape == (3, 11) and list(expected.classes_) == ["high", "low", "middle"]
    others = in_python(new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        p = expected.predict_proba(new[FEATURES])
        for name in ("pandas categories", "pandas nullable", "polars", "arrow dates"):
            fitted = pl.ProperLossClassifier(missing="mean", cv=3).fit(in_python(table)[name], y, weight)
            assert np.array_equal(fitted.coef_, expected.coef_), name
            assert np.array_equal(fitted.intercept_, expected.intercept_), name
            assert np.array_equal(fitted.predict_proba(others[name]), p), name
            assert np.array_equal(expected.predict_proba(others[name]), p), name
    files, fresh = (write_files(f, tmp_path, n) for f, n in ((table, "loans"), (new, "new")))
    expected.save(tmp_path / "python.json")
    models = {"python": tmp_path / "python.json"}
    for kind, path in files.items():
        models[kind] = tmp_path / f"{kind}.json"
        run(cli, "fit", path, "-o", models[kind], *FIT, "--cv", "3")
    for name, model in models.items():
        content = json.loads(model.read_text())
        assert np.array_equal(content["weights"], expected.coef_), name
        assert np.array_equal(content["intercepts"], expected.intercept_), name
        for kind, path in fresh.items():
            head, *rows = run(cli, "predict", model, path, "--quiet").split()
            assert head == "probability_high,probability_low,probability_middle"
            assert np.array_equal([[float(v) for v in row.split(",")] for row in rows], p), (name, kind)
        loaded = pl.load(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for frame in (new, polars.from_pandas(new), pyarrow.Table.from_pandas(new)):
                assert np.array_equal(loaded.predict_proba(frame), p), name


def test_a_table_of_numbers_is_as_before(table: Any, tmp_path: pathlib.Path) -> None:
    """No encoder: the same bits as the array, the strict names of scikit-learn."""
    y = table["default"].to_numpy()
    frame = table[["age", "customer"]].astype(float)
    clf = pl.CanonicalLossClassifier().fit(frame, y)
    assert not hasattr(clf, "_encoder")
    assert np.array_equal(clf.coef_, pl.CanonicalLossClassifier().fit(frame.to_numpy(), y).coef_)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict_proba(frame.assign(more=1.0))
    clf.save(tmp_path / "model.json")
    assert not hasattr(pl.load(tmp_path / "model.json"), "_encoder")


def test_missing_values_in_arrays_and_frames(table: Any) -> None:
    y = table["default"].to_numpy()
    X = table[["income", "age"]].to_numpy()
    with pytest.raises(ValueError, match="contains NaN"):
        pl.CanonicalLossClassifier().fit(X, y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    clf = pl.CanonicalLossClassifier(missing="mean").fit(X, y)
    plain = pl.CanonicalLossClassifier().fit(filled, y)
    # The mean is summed in another order.
    np.testing.assert_allclose(clf.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(X), plain.predict_proba(filled), rtol=1e-9)
    with pytest.raises(ValueError, match=r'X, row \d+, column "purpose": missing value\nhint: .*missing="mean"'):
        pl.CanonicalLossClassifier().fit(table[FEATURES].drop(columns=["income", "paid_at"]), y)


def test_what_cannot_be_encoded_is_said(table: Any) -> None:
    y = table["default"].to_numpy()
    fit = pl.CanonicalLossClassifier().fit
    good = table[["age", "owner"]]
    with pytest.raises(ValueError, match='column "note": more than 256 different texts'):
        fit(good.assign(note=[f"note {i}" for i in range(len(y))]), y)
    with pytest.raises(ValueError, match=r'row 7, column "sum": .* is not a number .*dtype "category"'.replace(".*d", r"[\s\S]*d")):
        fit(good.assign(sum=["x" if i == 7 else str(i % 9) for i in range(len(y))]), y)
    with pytest.raises(TypeError, match="column 'parts' of X holds list"):
        fit(good.assign(parts=[[1]] * len(y)), y)
    with pytest.raises(TypeError, match="a span of time"):
        fit(good.assign(span=np.timedelta64(1, "D")), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(good, y[:-1])
    clf = fit(good, y)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(good.drop(columns="owner"))
    with pytest.raises(ValueError, match='row 3, column "age"'):
        clf.predict(good.assign(age=["x" if i == 3 else "5" for i in range(len(y))]))


def test_an_encoded_model_survives_pickle_clone_and_another_fit(table: Any, expected: Any) -> None:
    rows, y = table[FEATURES], table["default"]
    again = pickle.loads(pickle.dumps(expected))
    assert np.array_equal(again.predict_proba(rows), expected.predict_proba(rows))
    assert clone(expected).get_params() == expected.get_params()
    clf = pl.CanonicalLossClassifier(missing="mean").fit(rows, y)
    numbers = rows[["age"]].to_numpy()
    clf.set_params(missing="error").fit(numbers, y)
    assert clf.n_features_in_ == 1 and not hasattr(clf, "feature_names_in_")
    assert list(clf.coef_names_) == ["x0"]
    np.testing.assert_array_equal(
        clf.predict_proba(numbers), pl.CanonicalLossClassifier().fit(numbers, y).predict_proba(numbers)
    )


def test_several_classes_are_encoded_too(table: Any, tmp_path: pathlib.Path) -> None:
    rows = table[["age", "owner", "region"]].iloc[:400]
    y = np.where(rows["owner"], "owns", np.where(rows["age"] > 40, "old", "young"))
    clf = pl.ProperLossClassifier().fit(rows, y)
    assert clf.coef_.shape == (3, 5) and clf.score(rows, y) > 0.9
    clf.save(tmp_path / "three.json")
    again = pl.load(tmp_path / "three.json")
    assert np.array_equal(again.predict_proba(rows), clf.predict_proba(rows))
    assert again.n_features_in_ == 3
