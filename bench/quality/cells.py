"""One cell of the study: a data set, a number of training rows, a repetition; all its methods."""

import time
import zlib

import numpy as np
from scipy.special import xlog1py, xlogy
from sklearn.metrics import roc_auc_score

import methods
import real
import synthetic

SYNTHETIC_TEST_ROWS = 10_000


def seed_of(block, name, m, repetition, base):
    return zlib.crc32(f"{block}/{name}/{m}/{repetition}/{base}".encode())


def scores(p, y, truth):
    """Log-loss, Brier score, AUC, ECE (15 equal-count bins).

    Where the true probability is known, log-loss and Brier score are expectations over the
    label, and `excess` is the log-loss beyond that of the true probability.
    """
    # As scikit-learn's log_loss: a logistic regression gives exact 0 and 1 far out.
    p = np.clip(np.asarray(p, dtype=float), 1e-15, 1 - 1e-15)
    q = y if truth is None else truth
    parts = -(xlogy(q, p) + xlog1py(1 - q, -p))
    order = np.argsort(p, kind="stable")
    bins = np.array_split(order, 15)
    result = {
        "log_loss": float(np.mean(parts)),
        "brier": float(np.mean(q * (1 - p) ** 2 + (1 - q) * p**2)),
        "auc": float(roc_auc_score(y, p)),
        "ece": float(sum(abs(np.sum(p[b]) - np.sum(q[b])) for b in bins) / len(p)),
    }
    if truth is not None:
        bayes = -(xlogy(q, q) + xlog1py(1 - q, -q))
        result["excess"] = float(np.mean(parts - bayes))
    return result


def run(task):
    """Runs the methods `task["methods"]` of a cell; returns one record a method."""
    block, name, m, repetition = task["block"], task["name"], task["m"], task["repetition"]
    seed = seed_of(block, name, m, repetition, task["seed"])
    truth = None
    if block.startswith("real"):
        parts = real.split(name, m, seed)
        if parts is None:
            return [{**_key(task), "method": method, "skipped": True} for method in task["methods"]]
        x, x_test, y, y_test = parts
    else:
        x, y, x_test, y_test, truth = synthetic.draw(name, m, SYNTHETIC_TEST_ROWS, seed)
    if min(np.bincount(y, minlength=2)) < 8:
        return [{**_key(task), "method": method, "skipped": True} for method in task["methods"]]
    registry = methods.CLASSIFIERS
    if block.startswith("calibration"):
        registry = methods.CALIBRATORS
        x, x_test = methods.quietly(methods.booster_logits, x, y, x_test, seed % 2**31)
    records = []
    for method in task["methods"]:
        start = time.process_time()
        p = methods.quietly(registry[method], x, y, x_test)
        seconds = time.process_time() - start
        records.append(
            {**_key(task), "method": method, "rows": len(y), "seconds": seconds}
            | scores(p, y_test, truth)
        )
    return records


def _key(task):
    return {key: task[key] for key in ("block", "name", "m", "repetition", "seed")}
