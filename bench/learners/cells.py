"""One cell of the study: a data set, its label noise, the size of the trees, a split; all methods.

Every method sees the same rows. The cross-fitted ones share the models of the folds and their
stopping rule, so that only what is done with the scores differs.
"""

import time
import warnings
import zlib

import numpy as np
from scipy.special import expit, xlog1py, xlogy
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold, train_test_split

import real
import synthetic

TEST_ROWS = 10_000
PATIENCE = 50
FOLDS = 5
#: Label noise: the share of zeros that become ones, and of ones that become zeros.
NOISE = {"clean": (0.0, 0.0), "5/30 %": (0.05, 0.30), "20/20 %": (0.20, 0.20)}


def learner(leaves, seed):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=2000, learning_rate=0.1, num_leaves=leaves, n_jobs=1, verbose=-1, random_state=seed
    )


def rows(task, seed):
    """Training rows with labels, test rows with the probability that their label is 1."""
    if task["kind"] == "synthetic":
        x, y, x_test, _, truth = synthetic.draw(task["name"], task["m"], TEST_ROWS, seed)
        return x, y, x_test, truth
    x, y = real.load(task["name"])
    size = min(task["m"], int(0.7 * len(y)))
    rest = min(len(y) - size, TEST_ROWS)
    x, x_test, y, y_test = train_test_split(
        x, y, train_size=size, test_size=rest, stratify=y, random_state=seed % 2**32
    )
    up, down = NOISE[task["noise"]]
    rng = np.random.default_rng(seed)
    flip = rng.uniform(size=size) < np.where(y == 1, down, up)
    # The expectation over the noise of a test label: less noise in the result, the same truth.
    return x, np.where(flip, 1 - y, y), x_test, np.where(y_test == 1, 1.0 - down, up)


def log_loss(p, q):
    # As scikit-learn's log_loss: a 0 or 1 that is wrong costs 36 nats, not infinity.
    p = np.clip(p, 1e-15, 1.0 - 1e-15)
    return float(np.mean(-(xlogy(q, p) + xlog1py(1.0 - q, -p))))


def sigmoid(z, y):
    """Platt's sigmoid with his targets, as scikit-learn's calibrator has it."""
    from sklearn.calibration import _SigmoidCalibration

    return _SigmoidCalibration().fit(z, y).predict


def isotonic(z, y):
    """Isotonic regression; Laplace's rule keeps its log-loss finite."""
    fit = IsotonicRegression(out_of_bounds="clip").fit(z, y)
    margin = 1.0 / (len(y) + 2.0)
    return lambda z: np.clip(fit.predict(z), margin, 1.0 - margin)


def run(task):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run(task)


def _run(task):
    from properloss import ProperCalibratedClassifierCV

    key = "/".join(str(task[k]) for k in ("kind", "name", "noise", "m", "split", "seed"))
    seed = zlib.crc32(key.encode())
    x, y, x_test, truth = rows(task, seed)
    losses, seconds = {}, {}

    def record(method, p, start):
        losses[method], seconds[method] = log_loss(p, truth), time.process_time() - start

    base = learner(task["leaves"], seed % 2**31)
    start = time.process_time()
    record("plain", plain(base, x, y, x_test, seed), start)

    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed % 2**32).split(x, y))
    start = time.process_time()
    pooled = ProperCalibratedClassifierCV(base, cv=folds, ensemble="pooled", early_stopping=PATIENCE)
    pooled.fit(x, y)
    record("pooled", pooled.predict_proba(x_test)[:, 1], start)

    models = [model for model, _ in pooled.calibrated_classifiers_]
    held_out = [raw(model, x[test]) for model, (_, test) in zip(models, folds)]
    out = [raw(model, x_test) for model in models]
    labels = [y[test] for _, test in folds]
    z_all, y_all = np.concatenate(held_out), np.concatenate(labels)

    start = time.process_time()
    record("average", np.mean([expit(z) for z in out], axis=0), start)
    for name, calibrate in (("sigmoid", sigmoid), ("isotonic", isotonic)):
        maps = [calibrate(z, part) for z, part in zip(held_out, labels)]
        record(f"per-fold {name}", np.mean([f(z) for f, z in zip(maps, out)], axis=0), start)
        one = calibrate(z_all, y_all)
        record(f"pooled {name}", np.mean([one(z) for z in out], axis=0), start)
    if task["options"]:
        optional(task, base, x, y, x_test, folds, seed, record)
    fields = {k: task[k] for k in ("kind", "name", "noise", "leaves", "m", "split", "seed")}
    return {**fields, "rows": len(y), "losses": losses, "seconds": seconds}


def optional(task, base, x, y, x_test, folds, seed, record):
    """The refit on all rows; with stumps, `relink`."""
    from properloss import ProperCalibratedClassifierCV

    start = time.process_time()
    refit = ProperCalibratedClassifierCV(base, cv=folds, early_stopping=PATIENCE, ensemble=False)
    record("refit", refit.fit(x, y).predict_proba(x_test)[:, 1], start)
    model = refit.calibrated_classifiers_[0][0]
    record("refit, uncalibrated", model.predict_proba(x_test)[:, 1], start)
    if task["leaves"] == 2:
        relinked(task, x, y, x_test, folds, seed, record)


def plain(base, x, y, x_test, seed):
    """One booster, stopped early on a fifth of the rows."""
    from properloss._pooled import Part, stopper

    model = clone(base)
    x, x_held, y, y_held = train_test_split(x, y, test_size=0.2, stratify=y, random_state=seed % 2**32)
    stopper(model, PATIENCE).fit(model, Part(x, y), Part(x_held, y_held))
    return model.predict_proba(x_test)[:, 1]


def raw(model, x):
    return model.predict(x, raw_score=True)


def relinked(task, x, y, x_test, folds, seed, record):
    """The option for additive learners: floor and ceiling from held-out scores, and a restart."""
    from properloss import ProperCalibratedClassifierCV
    from properloss.learners import ProperLGBMClassifier

    base = ProperLGBMClassifier(learner(task["leaves"], seed % 2**31))
    for name, relink in (("pooled, wrapper", False), ("pooled, relink", True)):
        start = time.process_time()
        model = ProperCalibratedClassifierCV(
            base, cv=folds, ensemble="pooled", early_stopping=PATIENCE, relink=relink
        ).fit(x, y)
        record(name, model.predict_proba(x_test)[:, 1], start)
