"""The classes and the engine's registry say the same: names, defaults, ranges, files."""

import inspect
import json
import subprocess

import numpy as np
import pytest
from sklearn.base import clone

import properloss as pl
from properloss import _core, _registered, _registry

from test_same_bits import cli, csv  # noqa: F401

BY_HAND = ["BregmanTronClassifier", "CertifiedClassifier", "SlisotronClassifier", "GlmtronClassifier"]


@pytest.mark.parametrize("name", BY_HAND)
def test_defaults_and_parameters_are_the_registry_s(name):
    parameters = inspect.signature(getattr(pl, name).__init__).parameters
    found = {p: v.default for p, v in parameters.items() if p != "self"}
    expected = _registry.defaults(name)
    for own in ("certified", "target"):  # what chooses the method is not an option of it
        if own not in expected:
            found.pop(own, None)
    assert found == expected


def test_the_default_s_parameters_are_the_registry_s():
    (method,) = _registry.methods_of("ProperLossClassifier")
    own = {option["name"]: option["default"] for option in method["options"]}
    clf = pl.ProperLossClassifier()
    assert (clf.cv, clf.refit, clf.random_state) == (own["cv"], own["refit"], own["seed"])
    assert tuple(clf.smoothness) == own["smoothness"] and own["class_weight"] is None


def test_every_method_has_a_class():
    for method in _core.methods():
        assert issubclass(getattr(pl, method["class_name"]), pl.estimators.ProperClassifier)


@pytest.mark.parametrize("method", [m["name"] for m in _core.methods()])
def test_a_file_of_the_command_line_has_its_options_in_python(method, cli, csv, data, tmp_path):  # noqa: F811
    X, y = data
    options = {m["name"]: m["options"] for m in _core.methods()}[method]
    names = {option["name"] for option in options}
    given = {"max_iter": 7, "tol": 0.0, "l2": 0.03125, "seed": 5, "cv": 4, "slope_max": 0.5}
    given = {name: value for name, value in given.items() if name in names}
    if method == "canonical":
        given["link"] = "probit"
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if name != "seed"]
    flags += ["--seed=5"] if "seed" in given else []
    command = [cli, "fit", csv, "--label", "label", "--positive", "yes", "--method", method, *flags]
    done = subprocess.run([*command, "-o", tmp_path / "m.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    clf = pl.load(tmp_path / "m.json")
    if "l2" in given:
        assert getattr(clf, "C", None) == 1 / (0.03125 * len(y)) or clf.alpha == 0.03125
    if "seed" in given:
        assert clf.random_state == 5 and clf.cv == 4
    for name in {"max_iter", "tol", "slope_max"} & set(given):
        assert getattr(clf, name) == given[name], name
    # The class with these parameters gives the same model, and its file the same options.
    again = clone(clf).fit(X, y)
    assert np.array_equal(again.coef_, clf.coef_) and np.array_equal(again.intercept_, clf.intercept_)
    again.save(tmp_path / "p.json")
    ours, theirs = (json.loads((tmp_path / f).read_text()) for f in ("p.json", "m.json"))
    for name, value in theirs["fitted"]["options"].items():
        assert ours["fitted"]["options"][name] == value, name
    assert ours["preprocessing"]["scaling"] == theirs["preprocessing"]["scaling"]
    assert ours["fitted"]["total_weight"] == theirs["fitted"]["total_weight"]


@pytest.mark.filterwarnings("ignore:class_weight changes:UserWarning")
def test_what_the_default_learned_survives_files(data, tmp_path):
    clf = pl.ProperLossClassifier(class_weight={0: 1.0, 1: 2.0}, random_state=3).fit(*data)
    clf.save(tmp_path / "m.json")
    again = pl.load(tmp_path / "m.json")
    assert again.get_params() == clf.get_params()
    for name in ("C_", "slope_ratio_", "guarantee_", "refit_share_", "scaling_weights_", "n_iter_"):
        assert getattr(again, name) == getattr(clf, name), name
    assert np.array_equal(again.path_weights_, clf.path_weights_)
    for name, column in clf.cv_results_.items():
        if name != "held_out_scores":  # one a row: not part of a model
            assert np.array_equal(again.cv_results_[name], column), name


LONG = [
    pl.BregmanTronClassifier(max_iter=40, tol=0),
    pl.CertifiedClassifier(max_iter=40, tol=0),
    pl.SlisotronClassifier(max_iter=40, tol=0),
    pl.GlmtronClassifier(max_iter=40, tol=0),
    pl.CanonicalLossClassifier(max_iter=40),
]


class _Cut(Exception):
    pass


@pytest.mark.parametrize("clf", LONG, ids=lambda clf: type(clf).__name__)
def test_a_fit_cut_short_goes_on_in_the_same_bits(clf, data, tmp_path, monkeypatch):
    whole = clone(clf).fit(*data)
    file = tmp_path / "state"
    cut = clone(clf).set_params(checkpoint=file, checkpoint_every=0.0)
    run = cut._run

    def interrupted(task):
        seen = []

        def stop(row, model):
            seen.append(row["iteration"])
            if len(seen) == 4:
                raise _Cut
            return False

        return run({**task, "callback": stop})

    monkeypatch.setattr(cut, "_run", interrupted)
    with pytest.raises(_Cut):
        cut.fit(*data)
    assert file.exists() and not hasattr(cut, "coef_")
    # Other options are refused by a sentence.
    with pytest.raises(ValueError, match="it was made with max_iter = 40, not 41"):
        clone(cut).set_params(max_iter=41).fit(*data)
    done = clone(cut).fit(*data)
    assert np.array_equal(done.coef_, whole.coef_) and done.n_iter_ == whole.n_iter_
    assert np.array_equal(done.history_["loss"], whole.history_["loss"])
    assert not file.exists()


def test_classes_made_from_the_registry():
    for name, cls in _registered.CLASSES.items():
        assert getattr(pl, name) is cls and name in dir(pl)
        assert cls().get_params() == _registry.defaults(name)
