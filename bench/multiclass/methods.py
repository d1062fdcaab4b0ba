"""The methods of the study: each takes training rows, labels and test rows, and gives probabilities."""

import hashlib
import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import legendretron
from properloss import ProperLossClassifier


def lr_cv(max_iter=1000):
    return LogisticRegressionCV(cv=5, scoring="neg_log_loss", l1_ratios=(0,), use_legacy_attributes=False, max_iter=max_iter)


def proper(x, y, x_test):
    return ProperLossClassifier().fit(x, y).predict_proba(x_test)


def proper_order(x, y, x_test):
    return ProperLossClassifier(preserve_order=True).fit(x, y).predict_proba(x_test)


class Remembered(LogisticRegression):
    """Standardised LogisticRegression that fits the same rows once: the calibrators below hold out the same
    folds, so all of them share the six fits. The numbers are those of separate fits."""

    fits = {}

    def fit(self, x, y, sample_weight=None):
        key = (hashlib.sha1(np.ascontiguousarray(x)).digest(), hashlib.sha1(np.ascontiguousarray(y)).digest(), self.C)
        if key not in self.fits:
            scaler = StandardScaler().fit(x)
            self.fits[key] = scaler, LogisticRegression(C=self.C, max_iter=1000).fit(scaler.transform(x), y)
        self.scaler_, self.model_ = self.fits[key]
        self.classes_, self.n_features_in_ = self.model_.classes_, x.shape[1]
        return self

    def decision_function(self, x):
        return self.model_.decision_function(self.scaler_.transform(x))

    def predict_proba(self, x):
        return self.model_.predict_proba(self.scaler_.transform(x))


_FITTED = {}


def _standardised(x, y):
    """The standardised LogisticRegressionCV; the last one is kept, since its calibrations need it again."""
    if _FITTED.get("x") is not x:
        Remembered.fits.clear()
        _FITTED.update(x=x, model=make_pipeline(StandardScaler(), lr_cv()).fit(x, y))
    return _FITTED["model"]


def regression(x, y, x_test):
    return _standardised(x, y).predict_proba(x_test)


def regression_raw(x, y, x_test):
    # scikit-learn's own limit of 100 steps: more take minutes where columns have very different scales.
    return lr_cv(max_iter=100).fit(x, y).predict_proba(x_test)


def _best(x, y):
    """Logistic regression at the strength that cross-validation picks, to be calibrated."""
    return Remembered(C=float(np.ravel(_standardised(x, y)[-1].C_)[0]))


def calibrated(method):
    def fit(x, y, x_test):
        model = CalibratedClassifierCV(_best(x, y), method=method, cv=5, ensemble=False)
        return model.fit(x, y).predict_proba(x_test)

    return fit


def dirichlet(x, y, x_test):
    """Dirichlet calibration (Kull et al. 2019) with an L2 penalty: multinomial regression on the
    logarithms of held-out probabilities, its strength by cross-validation. Our own small version."""
    from sklearn.model_selection import cross_val_predict

    base = _best(x, y)
    p = cross_val_predict(base, x, y, cv=5, method="predict_proba")
    log = lambda p: np.log(np.clip(p, 1e-6, None))
    second = lr_cv(max_iter=100).fit(log(p), y)
    return second.predict_proba(log(base.fit(x, y).predict_proba(x_test)))


# These take most of the time; the short profile runs them on its first splits only.
SLOW = ("lr-cv-raw", "legendretron")

METHODS = {
    "proper": proper,
    "proper-order": proper_order,
    "lr-cv": regression,
    "lr-cv-raw": regression_raw,
    "isotonic": calibrated("isotonic"),
    "sigmoid": calibrated("sigmoid"),
    "temperature": calibrated("temperature"),
    "dirichlet": dirichlet,
    "legendretron": legendretron.fit_predict,
}


def quietly(method, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(*arguments)
