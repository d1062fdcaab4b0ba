"""Rows that are read batch by batch: every source gives the fit of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from properloss import ProperLossClassifier
from properloss._stream import parse_bytes

pa = pytest.importorskip("pyarrow")
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2500, 3))
    p = 0.05 + 0.9 / (1 + np.exp(-2.0 * (X @ [1.0, -1.0, 0.5])))
    y = np.where(rng.random(2500) < p, "yes", "no")
    w = rng.integers(0, 3, 2500).astype(float)
    return X, y, w


@pytest.fixture(scope="module")
def frame(table):
    X, y, w = table
    return pa.table({**dict(zip(NAMES, X.T, strict=True)), "w": w, "y": y})


@pytest.fixture(scope="module")
def local(table, frame):
    X, y, w = table
    return ProperLossClassifier().fit(frame.select(NAMES), y, sample_weight=w)


def same(fit, local, X):
    """One block: the same bits, wherever the rows were."""
    np.testing.assert_array_equal(fit.coef_, local.coef_)
    assert fit.cv_results_["log_loss"] == local.cv_results_["log_loss"]
    assert list(fit.classes_) == list(local.classes_)
    np.testing.assert_array_equal(fit._model.predict_proba(X), local._model.predict_proba(X))


def test_files_datasets_and_frames(tmp_path, table, frame, local):
    X, y, w = table
    kept = w > 0
    pyarrow.parquet.write_table(frame, tmp_path / "whole.parquet", row_group_size=400)
    pyarrow.csv.write_csv(frame, tmp_path / "whole.csv")
    for number, at in enumerate((0, 1000)):
        part = frame.slice(at, 1000 if at == 0 else 1500)
        pyarrow.parquet.write_table(part, tmp_path / f"part-{number}.parquet")
    sources = [
        tmp_path / "whole.parquet",
        str(tmp_path / "whole.csv"),
        [tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"],
        str(tmp_path / "part-*.parquet"),
        pyarrow.dataset.dataset(tmp_path / "whole.parquet"),
    ]
    pl = pytest.importorskip("polars")
    sources.append(pl.scan_parquet(tmp_path / "whole.parquet"))
    for source in sources:
        fit = ProperLossClassifier().fit(source, sample_weight="w", memory_limit="200MB")
        same(fit, local, X)
        assert list(fit.feature_names_in_) == NAMES
        assert "held_out_scores" not in fit.cv_results_
    assert kept.sum() < len(kept)


def test_batches(table, local):
    X, y, w = table
    batches = [(X[i : i + 300], y[i : i + 300], w[i : i + 300]) for i in range(0, 2500, 300)]
    same(ProperLossClassifier().fit(batches), local, X)

    class Again:
        def __iter__(self):
            return iter(batches)

    same(ProperLossClassifier().fit(Again()), local, X)
    sparse = [(sp.csr_matrix(X), y, w) for X, y, w in batches]
    fit = ProperLossClassifier().fit(sparse)
    np.testing.assert_allclose(fit.coef_, local.coef_, rtol=1e-6)
    with pytest.raises(TypeError, match="read again"):
        ProperLossClassifier().fit(iter(batches))
    bad = [*batches[:2], (X[:5, :2], y[:5], w[:5])]
    with pytest.raises(ValueError, match="batch 2: X has 2 columns"):
        ProperLossClassifier().fit(bad)
    hole = X[:300].copy()
    hole[7, 1] = np.nan
    with pytest.raises(ValueError, match="row"):
        ProperLossClassifier().fit([batches[0], (hole, y[:300], w[:300])])


def test_predictions_stream_to_files(tmp_path, table, frame, local):
    X = table[0]
    pyarrow.parquet.write_table(frame, tmp_path / "rows.parquet")
    for name in ("p.parquet", "p.csv"):
        assert local.predict_to(tmp_path / "rows.parquet", tmp_path / name) == 2500
        read = pyarrow.parquet.read_table if name.endswith("parquet") else pyarrow.csv.read_csv
        p = read(tmp_path / name)
        assert p.column_names == ["no", "yes"]
        expected = local.predict_proba(frame.select(NAMES))
        np.testing.assert_allclose(p["yes"].to_numpy(), expected[:, 1], rtol=1e-14)
    with pytest.raises(ValueError, match="must end in"):
        local.predict_to(tmp_path / "rows.parquet", tmp_path / "p.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.parquet", "rows.parquet"]


def test_refusals(tmp_path, table):
    X, y, _ = table
    with pytest.raises(FileNotFoundError, match="no such file"):
        ProperLossClassifier().fit(tmp_path / "nothing.parquet")
    with pytest.raises(ValueError, match="batch by batch"):
        ProperLossClassifier().fit(X, y, memory_limit="1GB")
    texts = pa.table({"a": ["x", "y"], "y": [0, 1]})
    pyarrow.parquet.write_table(texts, tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match="column 'a' is string"):
        ProperLossClassifier().fit(tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match="cv"):
        ProperLossClassifier(cv=[([0], [1])]).fit(tmp_path / "texts.parquet")
    assert parse_bytes("2GB") == 2 << 30 and parse_bytes("500m") == 500 << 20
    for bad in ("2 apples", 5):
        with pytest.raises(ValueError, match="memory_limit"):
            parse_bytes(bad)
