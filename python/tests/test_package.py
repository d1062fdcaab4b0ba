"""The package itself: names, import time, stubs, documentation."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import properloss as pl

ROOT = pathlib.Path(__file__).parents[2]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_all_names_exist():
    for name in pl.__all__:
        assert getattr(pl, name) is not None
    assert set(pl.__all__) <= set(dir(pl))
    with pytest.raises(AttributeError, match="nothing"):
        pl.nothing  # noqa: B018


def test_import_brings_nothing_heavy():
    heavy = {"matplotlib", "sklearn", "scipy", "pandas", "numpy"}
    loaded = run("import sys, properloss; print(*{m.split('.')[0] for m in sys.modules})")
    assert not heavy & set(loaded.split())
    # A classifier needs scikit-learn, but no plotting.
    loaded = run(
        "import sys, properloss; properloss.BregmanTronClassifier; print(*sys.modules)"
    ).split()
    assert "sklearn" in loaded and "matplotlib" not in loaded
    assert not [module for module in loaded if module.startswith("sklearn") and "plot" in module]


def test_every_public_name_is_documented():
    for name in pl.__all__:
        value = getattr(pl, name)
        if callable(value):
            doc = inspect.getdoc(value)
            assert doc, name
            if inspect.isclass(value):
                for method, member in inspect.getmembers(value):
                    if not method.startswith("_") and callable(member):
                        assert inspect.getdoc(member), f"{name}.{method}"


def documented():
    for name in pl.__all__:
        value = getattr(pl, name)
        module = value if inspect.ismodule(value) else None
        for inner in getattr(module, "__all__", ()):
            try:
                found = getattr(module, inner)
            except ModuleNotFoundError as missing:
                # A wrapper of an optional package that is not installed here.
                if missing.name is not None and missing.name.startswith("properloss"):
                    raise
                continue
            yield f"{name}.{inner}", found
        if callable(value):
            yield name, value


@pytest.mark.parametrize(
    ("name", "value"), list(documented()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_examples_in_docstrings(name, value):
    pytest.importorskip("matplotlib")
    docs = [(name, inspect.getdoc(value))]
    if inspect.isclass(value):
        docs += [
            (f"{name}.{method}", inspect.getdoc(member))
            for method, member in vars(value).items()
            if not method.startswith("_")
        ]
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for label, doc in docs:
        test = doctest.DocTestParser().get_doctest(doc or "", {}, label, None, 0)
        output: list[str] = []
        assert runner.run(test, out=output.append).failed == 0, "".join(output)


def test_stubs_match_the_module():
    """mypy's stubtest: every name of the compiled module is in its stub, with its signature."""
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "properloss._core", "--ignore-disjoint-bases"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_py_typed_is_shipped():
    folder = pathlib.Path(pl.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()


def test_version():
    assert pl.__version__ == importlib.import_module("properloss._core").__version__


def test_pickles_of_earlier_releases_are_read():
    """The calibrator and its table once lived in ``properloss._proper``, under the names below."""
    z = np.linspace(-3.0, 3.0, 200)
    fitted = pl.ProperCalibrator().fit(z, np.sin(97 * z) < np.tanh(z))
    # The first protocol writes names as text.
    now = pickle.dumps(fitted, protocol=0)
    old = now.replace(b"properloss._calibrator\n", b"properloss._proper\n")
    old = old.replace(b"properloss._results\nTable\n", b"properloss._proper\n_Table\n")
    assert old.count(b"properloss._proper\n") >= 2 and b"properloss._results" not in old
    read = pickle.loads(old)
    np.testing.assert_array_equal(read.predict(z), fitted.predict(z))
    assert type(read) is pl.ProperCalibrator and type(read.cv_results_) is type(fitted.cv_results_)
