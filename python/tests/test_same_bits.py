"""The command line and Python give the same bits, and read each other's files."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import properloss as pl

ROOT = pathlib.Path(__file__).parents[2]
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module")
def cli():
    """The command, if it has been built: the newest of release and debug."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [path for kind in ("release", "debug") if (path := target / kind / "properloss").exists()]
    if not built:
        if os.environ.get("CI") == "true" and shutil.which("cargo"):
            pytest.fail("no properloss command below target/: cargo build -p properloss-cli")
        pytest.skip("no properloss command below target/: cargo build -p properloss-cli")
    return str(max(built, key=lambda path: path.stat().st_mtime))


@pytest.fixture(scope="module")
def csv(data, tmp_path_factory):
    """The examples as CSV; repr of a double reads back to the same bits."""
    X, y = data
    path = tmp_path_factory.mktemp("csv") / "train.csv"
    lines = [",".join([*NAMES, "label"])]
    lines += [
        ",".join([*(repr(float(v)) for v in row), "yes" if label else "no"])
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def predict(cli, model, csv):
    command = [cli, "predict", model, csv, "--columns", "score,probability", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.loadtxt(done.stdout.splitlines(), delimiter=",", skiprows=1)


CASES = [
    ("labels", [], pl.BregmanTronClassifier(max_iter=60, tol=0)),
    ("bregmantron", [], pl.BregmanTronClassifier(target="previous", max_iter=60, tol=0)),
    ("refit", [], pl.BregmanTronClassifier(target="refit", max_iter=60, tol=0)),
    ("certified", [], pl.CertifiedClassifier(max_iter=60, tol=0)),
    (
        "certified",
        ["--candidate", "previous", "--scaling", "unit-rows"],
        pl.CertifiedClassifier(candidate="previous", scaling="unit-rows", max_iter=60, tol=0),
    ),
    ("slisotron", [], pl.SlisotronClassifier(max_iter=60, tol=0)),
    ("glmtron", [], pl.GlmtronClassifier(max_iter=60, tol=0)),
    ("logistic", ["--l2", "0.01"], pl.CanonicalLossClassifier(C=1 / (0.01 * 300), max_iter=60, tol=0)),
]


@pytest.mark.parametrize(("method", "options", "clf"), CASES, ids=[case[0] for case in CASES])
def test_both_ways(cli, csv, data, tmp_path, method, options, clf):
    X, y = data
    model = tmp_path / "cli.json"
    command = [cli, "fit", csv, "--label", "label", "--positive", "yes", "--method", method]
    command += ["--out", model, "--max-iter", "60", "--tol", "0", "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    clf.fit(frame, np.where(y, "yes", "no"))
    loaded = pl.load(model)
    # The same fit, to the last bit.
    assert np.array_equal(loaded.coef_, clf.coef_)
    assert loaded.link_ == clf.link_
    assert np.array_equal(loaded.predict_proba(frame), clf.predict_proba(frame))
    assert loaded.classes_.tolist() == ["no", "yes"] == clf.classes_.tolist()
    assert type(loaded) is type(clf)
    # The same predictions, from either file, by either program.
    clf.save(tmp_path / "python.json")
    expected = np.column_stack([clf.linear_score(frame), clf.predict_proba(frame)[:, 1]])
    assert np.array_equal(predict(cli, model, csv), expected)
    assert np.array_equal(predict(cli, tmp_path / "python.json", csv), expected)
