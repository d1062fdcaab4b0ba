"""The classifier on a real cluster: the bits of the local one, whatever happens to the workers."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import scipy.sparse as sp
from dask import delayed
from distributed import Client, LocalCluster

import properloss.dask
from properloss import ProperLossClassifier
from properloss.dask import DaskProperLossClassifier

FULL = os.environ.get("PROPERLOSS_PROFILE") in ("full", "fuzz")


def data(rows=3000, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    p = 0.05 + 0.9 / (1 + np.exp(-2.0 * (X @ rng.normal(size=columns))))
    return X, (rng.random(rows) < p).astype(int)


@pytest.fixture(scope="module")
def cluster():
    # By default a local cluster gives a worker up that does not come back within 15 seconds, which a
    # busy machine may well need: the number of workers would go down to none.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"}), LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as client:
        yield client


def bits(model):
    link = model.link_
    return b"".join(
        np.asarray(part, dtype=np.float64).tobytes()
        for part in (model.coef_, model.intercept_, link.v_knots if hasattr(link, "v_knots") else 0.0)
    ) + model.predict_proba(np.ones((1, model.n_features_in_))).tobytes()


def collections(X, y, chunk=500):
    return da.from_array(X, chunks=(chunk, X.shape[1])), da.from_array(y, chunks=chunk)


def test_one_block_has_the_bits_of_the_local_classifier(client):
    X, y = data()
    fit = DaskProperLossClassifier(client=client, blocks=1).fit(*collections(X, y))
    local = ProperLossClassifier().fit(X, y)
    assert bits(fit.to_local()) == bits(local)
    assert fit.cv_results_["log_loss"] == local.cv_results_["log_loss"]
    assert fit.n_blocks_ == 1 and fit.n_rounds_ > 5
    # Lazy, and the same numbers.
    dX, _ = collections(X, y, 700)
    p = fit.predict_proba(dX)
    assert isinstance(p, da.Array) and p.shape == (3000, 2)
    np.testing.assert_array_equal(p.compute(), local.predict_proba(X))
    np.testing.assert_array_equal(fit.predict(dX).compute(), local.predict(X))
    np.testing.assert_array_equal(fit.predict_proba(X), local.predict_proba(X))


def test_workers_do_not_change_a_bit(client):
    X, y = data(seed=1)
    dX, dy = collections(X, y)
    two = DaskProperLossClassifier(client=client, blocks=4).fit(dX, dy)
    counts = (1, 4) if FULL else (1,)
    for count in counts:
        with LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as other, Client(other) as own:
            fit = DaskProperLossClassifier(client=own, blocks=4).fit(dX, dy)
            assert bits(fit.to_local()) == bits(two.to_local()), count
    local = ProperLossClassifier().fit(X, y)
    np.testing.assert_allclose(two.predict_proba(X), local.predict_proba(X), atol=1e-6)


def test_empty_partitions_one_class_and_texts(client):
    X, y = data(seed=2)
    order = np.argsort(y, kind="stable")
    X, names = X[order], np.array(["no", "yes"], dtype=object)[y[order]]
    chunks = (1000, 0, 500, 1500)
    dX = da.from_array(X, chunks=(chunks, (5,)))
    dy = da.from_array(names, chunks=(chunks,))
    assert dX.numblocks[0] == 4
    fit = DaskProperLossClassifier(client=client, blocks=4).fit(dX, dy)
    local = ProperLossClassifier().fit(X, names)
    assert list(fit.classes_) == ["no", "yes"]
    np.testing.assert_allclose(fit.predict_proba(X), local.predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="binary"):
        DaskProperLossClassifier(client=client).fit(dX, da.zeros(3000, chunks=(chunks,)))


def test_frames_of_unknown_size_with_weights(client):
    X, y = data(seed=3)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["y"], frame["w"] = y, rng.integers(0, 3, len(y)).astype(float)
    table = dd.from_pandas(frame, npartitions=3)
    fit = DaskProperLossClassifier(client=client, blocks=1).fit(
        table[list("abcde")], table["y"], sample_weight=table["w"]
    )
    local = ProperLossClassifier().fit(frame[list("abcde")], y, sample_weight=frame["w"])
    assert list(fit.feature_names_in_) == list("abcde")
    p = fit.predict_proba(table[list("abcde")])
    assert np.isnan(p.shape[0])
    np.testing.assert_allclose(
        p.compute(), local.predict_proba(frame[list("abcde")]), atol=1e-6
    )


def test_arrays_of_unknown_size(client):
    X, y = data(seed=12)
    dX, dy = collections(X, y)
    keep = dX[:, 0] > -0.5
    dX, dy = dX[keep], dy[keep]
    assert np.isnan(dX.chunks[0][0])
    fit = DaskProperLossClassifier(client=client, blocks=1).fit(dX, dy)
    kept = X[:, 0] > -0.5
    local = ProperLossClassifier().fit(X[kept], y[kept])
    assert bits(fit.to_local()) == bits(local)
    assert fit.link_error_bound_ == local.link_error_bound_ < 1e-4
    p = fit.predict_proba(dX)
    assert isinstance(p, da.Array) and np.isnan(p.shape[0])
    np.testing.assert_array_equal(p.compute(), local.predict_proba(X[kept]))


def test_sparse_blocks(client):
    X, y = data(seed=4)
    X = np.where(X > 0.5, X, 0.0).astype(np.float64)
    parts = [da.from_delayed(delayed(sp.csr_matrix)(X[i : i + 1000]), (1000, 5), meta=sp.csr_matrix((0, 0)))
             for i in range(0, 3000, 1000)]
    fit = DaskProperLossClassifier(client=client, blocks=1).fit(
        da.concatenate(parts), da.from_array(y, chunks=1000)
    )
    local = ProperLossClassifier().fit(sp.csr_matrix(X), y)
    assert bits(fit.to_local()) == bits(local)


def test_a_killed_worker_changes_nothing(cluster, client):
    X, y = data(20_000, 20, seed=5)
    dX, dy = collections(X, y, 2500)
    expected = bits(DaskProperLossClassifier(client=client, blocks=4).fit(dX, dy).to_local())
    rng = np.random.default_rng(6)
    killed = 0
    while killed < (20 if FULL else 2):
        found: list[object] = []

        def work(found=found):
            found.append(DaskProperLossClassifier(client=client, blocks=4).fit(dX, dy).to_local())

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(rng.uniform(0.05, 0.8))
        victims = [worker.pid for worker in cluster.workers.values() if worker.pid]
        if thread.is_alive() and victims:
            os.kill(victims[int(rng.integers(len(victims)))], signal.SIGKILL)
            killed += 1
        thread.join(300)
        assert not thread.is_alive(), "it hangs"
        assert bits(found[0]) == expected


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    X, y = data(600, 3, seed=11)
    monkeypatch.setattr(properloss.dask, "_LOOK", 0.2)
    monkeypatch.setattr(properloss.dask, "_PATIENCE", 1.0)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as own, Client(own) as client:
        fit = DaskProperLossClassifier(client=client, blocks=2, verbose=0)
        rounds = []
        plain = properloss.dask._gathered

        def last_round(client, futures):
            rounds.append(len(futures))
            if len(rounds) == 3:
                own.scale(0)
                while client.scheduler_info(n_workers=-1)["workers"]:
                    time.sleep(0.05)
            return plain(client, futures)

        monkeypatch.setattr(properloss.dask, "_gathered", last_round)
        with pytest.raises(RuntimeError, match="no worker"):
            fit.fit(*collections(X, y, 200))


def test_two_fits_at_once_and_a_worker_that_joins_late(cluster, client):
    sets = [data(4000, 6, seed=seed) for seed in (7, 8)]
    alone = [DaskProperLossClassifier(client=client, blocks=4).fit(*collections(*s)) for s in sets]
    found: dict[int, object] = {}

    def work(k):
        found[k] = DaskProperLossClassifier(client=client, blocks=4).fit(*collections(*sets[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    cluster.scale(3)
    for thread in threads:
        thread.join(120)
    cluster.scale(2)
    for k in range(2):
        assert bits(found[k].to_local()) == bits(alone[k].to_local())


def test_pickles_leave_the_client_behind(client):
    X, y = data(600, 3, seed=9)
    fit = DaskProperLossClassifier(client=client).fit(*collections(X, y, 200))
    again = pickle.loads(pickle.dumps(fit))
    assert again.client is None
    np.testing.assert_array_equal(again.predict_proba(X), fit.predict_proba(X))


def test_refusals(client):
    X, y = data(600, 3, seed=10)
    dX, dy = collections(X, y, 200)
    with pytest.raises(TypeError, match="DaskProperLossClassifier"):
        ProperLossClassifier().fit(dX, dy)
    with pytest.raises(TypeError, match="ProperLossClassifier for data in memory"):
        DaskProperLossClassifier(client=client).fit(X, y)
    with pytest.raises(ValueError, match="partition them alike"):
        DaskProperLossClassifier(client=client).fit(dX, dy.rechunk(300))
    with pytest.raises(ValueError, match="groups"):
        DaskProperLossClassifier(client=client).fit(dX, dy, groups=dy)
    X[250, 1] = np.nan
    with pytest.raises(ValueError, match="row"):
        DaskProperLossClassifier(client=client, blocks=3).fit(da.from_array(X, chunks=(200, 3)), dy)
