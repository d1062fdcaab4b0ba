"""The methods that are compared. Each takes training rows and returns probabilities of test rows."""

import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

GRID = np.arange(-2.0, 3.01, 0.5)


def clamp(p, m):
    """Isotonic regression gives 0 and 1; Laplace's rule keeps its log-loss finite."""
    return np.clip(p, 1.0 / (m + 2.0), 1.0 - 1.0 / (m + 2.0))


def _logistic_cv(x, y, cs):
    model = LogisticRegressionCV(Cs=cs, cv=5, scoring="neg_log_loss", max_iter=1000)
    return make_pipeline(StandardScaler(), model).fit(x, y)


def proper(x, y, x_test):
    from properloss import ProperLossClassifier

    return ProperLossClassifier().fit(x, y).predict_proba(x_test)[:, 1]


_chosen = (None, None)


def logistic_cv(x, y, x_test):
    global _chosen
    model = _logistic_cv(x, y, 10)
    _chosen = (x, float(np.ravel(model[-1].C_)[0]))
    return model.predict_proba(x_test)[:, 1]


def logistic_same_grid(x, y, x_test):
    """LogisticRegressionCV on the strengths that ProperLossClassifier weighs."""
    columns = max(1, int(np.sum(np.ptp(x, axis=0) > 0)))
    return _logistic_cv(x, y, 10.0**GRID / columns).predict_proba(x_test)[:, 1]


def logistic_plain(x, y, x_test):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return model.fit(x, y).predict_proba(x_test)[:, 1]


def _calibrated(x, y, x_test, method):
    # The strength is the one LogisticRegressionCV picks on all rows: a better baseline than C = 1.
    # Where it has just been found it is not looked for again; its seconds are then not counted.
    if _chosen[0] is not x:
        logistic_cv(x, y, x_test)
    c = _chosen[1]
    base = make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=1000))
    model = CalibratedClassifierCV(base, method=method, cv=5)
    return model.fit(x, y).predict_proba(x_test)[:, 1]


def logistic_isotonic(x, y, x_test):
    return clamp(_calibrated(x, y, x_test, "isotonic"), len(y))


def logistic_sigmoid(x, y, x_test):
    return _calibrated(x, y, x_test, "sigmoid")


CLASSIFIERS = {
    "proper": proper,
    "logistic-cv": logistic_cv,
    "logistic-grid": logistic_same_grid,
    "logistic": logistic_plain,
    "isotonic": logistic_isotonic,
    "sigmoid": logistic_sigmoid,
}


# Calibration of a booster: every method sees the same out-of-fold logits.


def booster_logits(x, y, x_test, seed):
    """Out-of-fold logits of the training rows, and the logits of a booster of all rows."""
    from lightgbm import LGBMClassifier
    from sklearn.model_selection import StratifiedKFold

    def booster():
        return LGBMClassifier(
            n_estimators=100, learning_rate=0.05, num_leaves=15, n_jobs=1, verbose=-1
        )

    z = np.empty(len(y))
    for train, rest in StratifiedKFold(5, shuffle=True, random_state=seed).split(x, y):
        z[rest] = booster().fit(x[train], y[train]).predict(x[rest], raw_score=True)
    return z, booster().fit(x, y).predict(x_test, raw_score=True)


def calibrate_proper(z, y, z_test):
    from properloss import ProperCalibrator

    return ProperCalibrator().fit(z, y).predict(z_test)


def calibrate_isotonic(z, y, z_test):
    from sklearn.isotonic import IsotonicRegression

    return clamp(IsotonicRegression(out_of_bounds="clip").fit(z, y).predict(z_test), len(y))


def calibrate_sigmoid(z, y, z_test):
    from sklearn.calibration import _SigmoidCalibration

    return _SigmoidCalibration().fit(z, y).predict(z_test)


def calibrate_none(z, y, z_test):
    return 1.0 / (1.0 + np.exp(-z_test))


CALIBRATORS = {
    "proper": calibrate_proper,
    "uncalibrated": calibrate_none,
    "isotonic": calibrate_isotonic,
    "sigmoid": calibrate_sigmoid,
}


def quietly(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)
