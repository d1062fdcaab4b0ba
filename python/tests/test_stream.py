"""Rows that are read batch by batch: every source gives the fit of the same rows in memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from properloss import (
    BregmanTronClassifier,
    CanonicalLossClassifier,
    CertifiedClassifier,
    GlmtronClassifier,
    ProperLossClassifier,
    SlisotronClassifier,
    load,
)
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


@pytest.mark.parametrize(
    ("classifier", "tolerance"),
    [
        (CanonicalLossClassifier(), 1e-9),
        (CanonicalLossClassifier(loss="cauchy", C=0.5, solver="newton-cg"), 1e-9),
        (GlmtronClassifier(max_iter=200), 1e-6),
        (BregmanTronClassifier(max_iter=60, tol=0), 2e-3),
        (BregmanTronClassifier(target="previous", max_iter=60, tol=0), 2e-3),
    ],
    ids=lambda value: str(value).split("(")[0],
)
def test_the_other_classifiers(tmp_path, table, frame, classifier, tolerance):
    """One block has the bits of memory; several give the same minimum, or nearly the same link."""
    from sklearn.base import clone

    X, y, w = table
    local = clone(classifier).fit(frame.select(NAMES), y, sample_weight=w)
    pyarrow.parquet.write_table(frame, tmp_path / "rows.parquet", row_group_size=400)
    one = clone(classifier).fit(tmp_path / "rows.parquet", sample_weight="w", memory_limit="200MB")
    np.testing.assert_array_equal(one.coef_, local.coef_)
    np.testing.assert_array_equal(one._model.predict_proba(X), local._model.predict_proba(X))
    assert list(one.classes_) == ["no", "yes"] and list(one.feature_names_in_) == NAMES
    assert not hasattr(one, "n_rounds_")
    # Blocks of 1.4 MB: 35 times the rows take three of them.
    tiles = [(X, y, w)] * 35
    several = clone(classifier).fit(tiles, memory_limit=1 << 24)
    many = clone(classifier).fit(np.tile(X, (35, 1)), np.tile(y, 35), sample_weight=np.tile(w, 35))
    apart = np.abs(several.predict_proba(X) - many.predict_proba(X))
    assert apart.max() < tolerance, apart.max()
    assert several.n_rounds_ >= several.n_iter_
    if isinstance(classifier, BregmanTronClassifier):
        assert several.n_rounds_ <= 2 * several.n_iter_ + 4
    assert one.predict_to(tmp_path / "rows.parquet", tmp_path / "p.csv") == len(y)


def test_what_needs_all_rows_says_so(table):
    X, y, w = table
    refused = (CertifiedClassifier(), SlisotronClassifier(), BregmanTronClassifier(certified=True))
    for classifier in refused:
        with pytest.raises(ValueError, match="all rows in memory"):
            classifier.fit([(X, y, w)])
    with pytest.raises(ValueError, match="batch by batch"):
        CanonicalLossClassifier().fit(X, y, label="y")
    with pytest.raises(ValueError, match="y"):
        CanonicalLossClassifier().fit(X)


def test_the_error_of_the_link_is_bounded(tmp_path, table, local):
    X, y, w = table
    several = ProperLossClassifier().fit([(X, y, w)] * 35, memory_limit=1 << 24)
    for fit in (local, several):
        assert 0.0 < fit.link_error_bound_ < 1e-4
    several.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").link_error_bound_ == several.link_error_bound_


def test_bad_parts_are_named(tmp_path, frame):
    """The file, and the row group; nothing is left behind."""
    fit = ProperLossClassifier().fit
    pyarrow.parquet.write_table(frame, tmp_path / "part-0.parquet")
    other = frame.rename_columns(["a", "b", "salary", "w", "y"])
    pyarrow.parquet.write_table(other, tmp_path / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1.parquet: .*lacks the columns \['c'\]"):
        fit(str(tmp_path / "part-*.parquet"))
    pyarrow.parquet.write_table(frame.append_column("d", frame["a"]), tmp_path / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1.parquet: .*further columns \['d'\]"):
        fit(str(tmp_path / "part-*.parquet"))
    pyarrow.parquet.write_table(frame, tmp_path / "part-1.parquet", row_group_size=500)
    whole = (tmp_path / "part-1.parquet").read_bytes()
    (tmp_path / "part-1.parquet").write_bytes(whole[:-100])
    with pytest.raises(ValueError, match="part-1.parquet: not a readable file"):
        fit(str(tmp_path / "part-*.parquet"))
    # The pages of the third row group of five.
    damaged = bytearray(whole)
    column = pyarrow.parquet.ParquetFile(tmp_path / "part-0.parquet").metadata
    assert column.num_row_groups == 1
    (tmp_path / "part-1.parquet").write_bytes(whole)
    group = pyarrow.parquet.ParquetFile(tmp_path / "part-1.parquet").metadata.row_group(2)
    for k in range(group.num_columns):
        at = group.column(k)
        start = at.dictionary_page_offset or at.data_page_offset
        damaged[start : start + at.total_compressed_size] = b"\xff" * at.total_compressed_size
    (tmp_path / "part-1.parquet").write_bytes(damaged)
    with pytest.raises(ValueError, match="part-1.parquet: row group 3 of 5: not readable"):
        fit(str(tmp_path / "part-*.parquet"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-0.parquet", "part-1.parquet"]


_FULL = """
import resource, signal, sys
import numpy as np
from properloss import ProperLossClassifier
# A file that may not grow further stands for a full disk.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 5))
y = (X[:, 0] + rng.normal(size=40_000) > 0).astype(int)
try:
    ProperLossClassifier().fit([(X, y)], memory_limit="16MB")
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_full_disk(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _FULL], env=environment, capture_output=True, text=True, check=False
    )
    assert "cannot write" in done.stdout and "disk is full" in done.stdout, done
    assert list(tmp_path.iterdir()) == []
    missing = {**os.environ, "TMPDIR": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, "-c", _FULL], env=missing, capture_output=True, text=True, check=False
    )
    assert "nowhere" in done.stdout + done.stderr, done
