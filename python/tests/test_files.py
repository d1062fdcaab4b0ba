"""Pickle, joblib, copies and model files."""

from __future__ import annotations

import copy
import json
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import properloss as pl


def same_predictions(a, b, X) -> bool:
    return all(
        np.array_equal(getattr(a, name)(X), getattr(b, name)(X))
        for name in ("predict", "predict_proba", "decision_function", "linear_score")
    )


def test_pickle_keeps_everything(classifier, data, tmp_path):
    X, y = data
    classifier.fit(X, y)
    joblib.dump(classifier, tmp_path / "model.joblib")
    for again in (
        pickle.loads(pickle.dumps(classifier)),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(classifier),
        copy.copy(classifier),
    ):
        assert same_predictions(classifier, again, X)
        assert again.get_params() == classifier.get_params()
        assert again.n_iter_ == classifier.n_iter_
        assert again.termination_ == classifier.termination_
        assert np.array_equal(again.coef_, classifier.coef_)
        assert again.link_ == classifier.link_ and again.loss_ == classifier.loss_
        for key, values in classifier.history_.items():
            assert np.array_equal(again.history_[key], values, equal_nan=True)
        assert again.classes_.dtype == classifier.classes_.dtype


def test_unfitted_pickle(classifier):
    again = pickle.loads(pickle.dumps(classifier))
    assert again.get_params() == classifier.get_params() and not hasattr(again, "coef_")


def test_pickle_holds_the_json_model(data):
    X, y = data
    clf = pl.CanonicalLossClassifier().fit(X, y)
    state = clf.__getstate__()
    assert "coef_" not in state and "link_" not in state
    text = clf._model.to_json()
    assert json.loads(text)["format"] == "properloss-model"
    assert text.encode() in pickle.dumps(clf)


@pytest.mark.parametrize(
    "labels", [[0, 1], ["no", "yes"], [False, True], [-1.0, 2.0], [np.int8(3), np.int8(4)]], ids=str
)
def test_save_and_load(classifier, data, tmp_path, labels):
    X, y = data
    labels = np.array(labels)
    classifier.fit(X, labels[y])
    classifier.save(tmp_path / "model.json")
    again = pl.load(tmp_path / "model.json")
    assert type(again) is type(classifier)
    assert same_predictions(classifier, again, X)
    assert again.classes_.dtype == classifier.classes_.dtype
    assert again.n_iter_ == classifier.n_iter_ and again.termination_ == classifier.termination_
    assert np.array_equal(again.history_["loss"], classifier.history_["loss"])
    again.save(tmp_path / "again.json")
    first, second = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("model", "again"))
    assert first["weights"] == second["weights"] and first["link"] == second["link"]
    assert type(classifier).load(tmp_path / "model.json").get_params() == classifier.get_params()
    clone(again).fit(X, y)


def test_names_are_saved(data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = pl.BregmanTronClassifier(max_iter=20).fit(frame, y)
    clf.save(tmp_path / "model.json")
    again = pl.load(tmp_path / "model.json")
    assert again.feature_names_in_.tolist() == list("abcde")
    assert np.array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    content = json.loads((tmp_path / "model.json").read_text())
    assert content["feature_names"] == list("abcde")
    assert content["fitted"]["options"]["max_iter"] == 20


def test_learned_loss_transfers_through_its_file(data, tmp_path):
    X, y = data
    teacher = pl.BregmanTronClassifier(max_iter=100).fit(X, y)
    loss = pl.CanonicalLoss.from_json(teacher.loss_.to_json())
    assert loss == teacher.loss_
    pupil = pl.CanonicalLossClassifier(loss=loss, C=10.0).fit(X, y)
    assert pupil.link_ == teacher.link_
    pupil.save(tmp_path / "pupil.json")
    assert same_predictions(pupil, pl.load(tmp_path / "pupil.json"), X)


def test_bad_files(data, tmp_path):
    X, y = data
    path = tmp_path / "model.json"
    with pytest.raises(FileNotFoundError):
        pl.load(path)
    path.write_text("{}")
    with pytest.raises(ValueError, match="format"):
        pl.load(path)
    path.write_text("")
    with pytest.raises(ValueError, match="empty"):
        pl.load(path)
    pl.CanonicalLossClassifier().fit(X, y).save(path)
    content = json.loads(path.read_text())
    content["version"] = 99
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="99"):
        pl.load(path)
    with pytest.raises(ValueError):
        pl.CanonicalLoss.from_json("[]")
    with pytest.raises(OSError):
        pl.CanonicalLossClassifier().fit(X, y).save(tmp_path / "no" / "such" / "folder.json")
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        pl.CanonicalLossClassifier().save(path)
