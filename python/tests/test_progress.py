"""Callbacks, the progress line, warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import properloss as pl

callbacks = pytest.mark.skipif(
    not hasattr(pl.BregmanTronClassifier, "set_callbacks"),
    reason="scikit-learn < 1.9 has no callbacks",
)


class Recorder:
    """Counts tasks and stops after a number of iterations."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.events = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(("begin", context.task_name, X is not None, metadata))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))
        ended = self.events.count(("end", "iteration"))
        return self.stop_after is not None and ended >= self.stop_after


@callbacks
def test_every_iteration_is_a_task(classifier, data):
    X, y = data
    plain = clone(classifier).fit(X, y)
    recorder = Recorder()
    watched = clone(classifier).set_callbacks(recorder).fit(X, y)
    ends = [event for event in recorder.events if event[:2] == ("end", "iteration")]
    begins = [event for event in recorder.events if event[:2] == ("begin", "iteration")]
    assert len(ends) == len(begins) == watched.n_iter_ == plain.n_iter_
    assert recorder.events[0] == ("setup", "fit") and recorder.events[-1] == ("teardown", "fit")
    assert recorder.events[-2] == ("end", "fit")
    assert np.array_equal(watched.coef_, plain.coef_), "watching changes nothing"


@callbacks
def test_a_callback_stops_the_run(classifier, data):
    X, y = data
    classifier.set_callbacks(Recorder(stop_after=2)).fit(X, y)
    assert classifier.n_iter_ == 2 and classifier.termination_ == "stopped"
    assert classifier.predict_proba(X).shape == (300, 2)


@callbacks
def test_callbacks_reach_through_a_pipeline(data):
    X, y = data
    recorder = Recorder()
    pipeline = make_pipeline(StandardScaler(), pl.GlmtronClassifier(max_iter=5, tol=0))
    pipeline.set_callbacks(recorder).fit(X, y)
    assert recorder.events.count(("end", "iteration")) == 5


@callbacks
def test_metadata_is_handed_out(data):
    X, y = data
    recorder = Recorder()
    weights = np.ones(300)
    pl.GlmtronClassifier(max_iter=3).set_callbacks(recorder).fit(X, y, sample_weight=weights)
    begin = next(event for event in recorder.events if event[0] == "begin")
    assert begin[2] and np.array_equal(begin[3]["sample_weight"], weights)


@callbacks
def test_scoring_monitor(data):
    from sklearn.callback import ScoringMonitor

    X, y = data
    monitor = ScoringMonitor(scoring="neg_log_loss")
    clf = pl.GlmtronClassifier(max_iter=6, tol=0).set_callbacks(monitor).fit(X, y)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(rows) == 6
    losses = [-row["neg_log_loss"] for row in rows]
    # The sigmoid's canonical loss is log-loss: scikit-learn's figures are the engine's.
    np.testing.assert_allclose(losses, clf.history_["loss"], rtol=1e-9)


def test_verbose_writes_one_line(classifier, data, capfd):
    X, y = data
    classifier.set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert type(classifier).__name__ in err and err.endswith("s]\n")
    assert f"after {classifier.n_iter_} iterations" in err


def test_silent_by_default(classifier, data, capfd):
    X, y = data
    classifier.fit(X, y)
    assert capfd.readouterr() == ("", "")


def test_warns_when_unfinished(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="max_iter = 3"):
        pl.GlmtronClassifier(max_iter=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert pl.GlmtronClassifier(max_iter=3, tol=0).fit(X, y).n_iter_ == 3
        pl.CanonicalLossClassifier().fit(X, y)
