"""Cross-fitting: K models, each stopped early on its own held-out fold.

::

    for k in 1..K:  f_k = the learner on all rows but fold k, rounds chosen on fold k
                    z_i = f_k(x_i) for the rows i of fold k
    c = one calibrator on all (z_i, y_i)
    p(x) = mean_k c(f_k(x))                          (ensemble="pooled")
         = c(f(x)), f on all rows at median_k rounds (ensemble=False)

Every booster hands over its held-out rows in another way; a :class:`Stopper` knows the way of one.
None of the packages is imported here: a model says by its class which one it belongs to.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from properloss import _core
from properloss._input import is_a
from properloss._registry import given

#: Rounds without a gain on the held-out fold after which ``early_stopping=True`` stops.
PATIENCE = 50
#: The same for networks, in epochs.
PATIENCE_EPOCHS = 5


class Part(NamedTuple):
    """Some rows: what a learner is fitted on, or what it is stopped by."""

    X: Any
    y: Any
    weight: NDArray[np.float64] | None = None


@runtime_checkable
class Stopper(Protocol):
    """How one family of learners stops early. Give your own as ``early_stopping``."""

    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        """Fit ``model`` on ``train``, stop by ``held_out``; return the number of rounds kept."""

    def set_rounds(self, model: Any, rounds: int) -> None:
        """Make ``model``, not yet fitted, train for exactly ``rounds`` rounds."""


def given_list(**named: Any) -> dict[str, Any]:
    """:func:`given` for packages that take a list of held-out sets: each in a list."""
    return {name: [value] for name, value in given(**named).items()}


def lightgbm_held_out(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Held-out rows for LightGBM's fit, which takes them in another way from 4.7 on."""
    if has_fit_parameter(model, "eval_X"):
        return {"eval_X": X, "eval_y": y}
    return {"eval_set": [(X, y)]}


class _Patient:
    def __init__(self, patience: int) -> None:
        self.patience = patience


class _LightGBM(_Patient):
    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        from lightgbm import early_stopping

        model.fit(
            train.X,
            train.y,
            **lightgbm_held_out(model, held_out.X, held_out.y),
            callbacks=[early_stopping(self.patience, first_metric_only=True, verbose=False)],
            **given(sample_weight=train.weight),
            **given_list(eval_sample_weight=held_out.weight),
        )
        return int(model.best_iteration_ or model.n_estimators_)

    def set_rounds(self, model: Any, rounds: int) -> None:
        model.set_params(n_estimators=rounds)


class _XGBoost(_Patient):
    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        # A parameter of the model, not of fit; predictions then use the best round by themselves.
        model.set_params(early_stopping_rounds=self.patience)
        model.fit(
            train.X,
            train.y,
            eval_set=[(held_out.X, held_out.y)],
            verbose=False,
            **given(sample_weight=train.weight),
            **given_list(sample_weight_eval_set=held_out.weight),
        )
        return int(model.best_iteration) + 1

    def set_rounds(self, model: Any, rounds: int) -> None:
        model.set_params(n_estimators=rounds, early_stopping_rounds=None)


class _CatBoost(_Patient):
    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        from catboost import Pool

        kinds = ("cat_features", "text_features", "embedding_features")
        columns = given(**{name: model.get_params().get(name) for name in kinds})
        model.fit(
            train.X,
            train.y,
            eval_set=Pool(held_out.X, held_out.y, weight=held_out.weight, **columns),
            early_stopping_rounds=self.patience,
            use_best_model=True,
            verbose=False,
            **given(sample_weight=train.weight),
        )
        return int(model.tree_count_)

    def set_rounds(self, model: Any, rounds: int) -> None:
        model.set_params(**{catboost_rounds(model): rounds})


def catboost_rounds(model: Any) -> str:
    """The name that ``model`` has for its rounds, of all that CatBoost has; it refuses two at once."""
    names = ("iterations", "n_estimators", "num_boost_round", "num_trees")
    parameters = model.get_params()
    return next((name for name in names if parameters.get(name) is not None), names[0])


class _HistGradientBoosting(_Patient):
    """Stops when the held-out loss stops falling, and goes back to the best round.

    The class keeps the rounds after the best one; the same model is therefore fitted again, with
    the best number of rounds.
    """

    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        # Both fits must draw the same numbers.
        if not isinstance(model.random_state, (int, np.integer)):
            seed = np.random.RandomState() if model.random_state is None else model.random_state
            model.set_params(random_state=int(seed.randint(2**31 - 1)))
        weight = given(sample_weight=train.weight)
        if has_fit_parameter(model, "X_val"):
            model.set_params(early_stopping=True, n_iter_no_change=self.patience, tol=0.0)
            held = given(sample_weight_val=held_out.weight)
            model.fit(train.X, train.y, X_val=held_out.X, y_val=held_out.y, **held, **weight)
            # The first score is that of the model without a tree.
            best = int(np.argmax(model.validation_score_[1:])) + 1
        else:
            model.set_params(early_stopping=False)
            model.fit(train.X, train.y, **weight)
            best = self._best(model, held_out)
        if best < model.n_iter_:
            self.set_rounds(model, best)
            model.fit(train.X, train.y, **weight)
        return best

    def _best(self, model: Any, held_out: Part) -> int:
        """The first round after which ``patience`` rounds gain nothing (scikit-learn before 1.7)."""
        from sklearn.metrics import log_loss

        best, least = 1, np.inf
        for number, p in enumerate(model.staged_predict_proba(held_out.X), 1):
            loss = log_loss(held_out.y, p, sample_weight=held_out.weight, labels=model.classes_)
            if loss < least:
                best, least = number, loss
            elif number - best >= self.patience:
                break
        return best

    def set_rounds(self, model: Any, rounds: int) -> None:
        model.set_params(max_iter=rounds, early_stopping=False)


class _Skorch(_Patient):
    """A network: epochs, by skorch's own callback; the weights of the best epoch are kept."""

    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        from skorch.callbacks import EarlyStopping
        from skorch.dataset import Dataset
        from skorch.helper import predefined_split

        if train.weight is not None:
            raise ValueError(
                "skorch takes no sample_weight; put the weights into X and the criterion, or leave"
                " them out"
            )
        stop = EarlyStopping(patience=self.patience, load_best=True)
        model.set_params(
            train_split=predefined_split(Dataset(held_out.X, held_out.y)),
            callbacks=[*(model.callbacks or []), ("early_stopping", stop)],
        )
        model.fit(train.X, train.y)
        return int(np.argmin(model.history[:, "valid_loss"])) + 1

    def set_rounds(self, model: Any, rounds: int) -> None:
        model.set_params(max_epochs=rounds, train_split=None)


class _Learner(_Patient):
    """The wrappers of :mod:`properloss.learners`, which do it themselves."""

    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        model.fit(
            train.X,
            train.y,
            train.weight,
            eval_set=(held_out.X, held_out.y),
            eval_sample_weight=held_out.weight,
            patience=self.patience,
        )
        return int(model.n_rounds_)

    def set_rounds(self, model: Any, rounds: int) -> None:
        model._set_rounds(rounds)


class _Pipeline:
    """The last step stops early; the steps before it are fitted on the training rows alone."""

    def __init__(self, last: Stopper) -> None:
        self.last = last

    def fit(self, model: Any, train: Part, held_out: Part) -> int:
        X, X_held_out = train.X, held_out.X
        if len(model.steps) > 1:
            head = model[:-1]
            X = head.fit_transform(X, train.y)
            X_held_out = head.transform(X_held_out)
            model.steps[:-1] = head.steps
        held_out = Part(X_held_out, held_out.y, held_out.weight)
        return self.last.fit(last_step(model), Part(X, train.y, train.weight), held_out)

    def set_rounds(self, model: Any, rounds: int) -> None:
        self.last.set_rounds(last_step(model), rounds)


#: A class of this name below this package stops in this way.
_KNOWN: tuple[tuple[str, str, type], ...] = (
    ("lightgbm", "LGBMModel", _LightGBM),
    ("xgboost", "XGBModel", _XGBoost),
    ("catboost", "CatBoost", _CatBoost),
    ("sklearn", "BaseHistGradientBoosting", _HistGradientBoosting),
    ("skorch", "NeuralNet", _Skorch),
    ("properloss", "Learner", _Learner),
)


def stopper(model: Any, early_stopping: Any) -> Stopper | None:
    """How ``model`` is stopped early; None where it is not to be."""
    if early_stopping is None or early_stopping is False:
        return None
    if isinstance(early_stopping, Stopper):
        return early_stopping
    if isinstance(model, Pipeline):
        last = stopper(last_step(model), early_stopping)
        return None if last is None else _Pipeline(last)
    for package, name, kind in _KNOWN:
        if is_a(model, package, name):
            usual = PATIENCE_EPOCHS if kind is _Skorch else PATIENCE
            way: Stopper = kind(usual if early_stopping is True else int(early_stopping))
            return way
    raise TypeError(
        f"early_stopping does not know {type(model).__name__}. It knows LightGBM, XGBoost,"
        " CatBoost, HistGradientBoosting, skorch and properloss.learners, alone or at the end of a"
        " Pipeline; for another learner give an object with fit(model, train, held_out) and"
        " set_rounds(model, rounds), or early_stopping=False."
    )


def fresh(model: Any) -> Any:
    """A copy that is not fitted.

    CatBoost copies its lists, which scikit-learn's ``clone`` takes for a mistake.
    """
    try:
        return clone(model)
    except RuntimeError:
        return type(model)(**model.get_params(deep=False))


class CrossFit:
    """The learner on parts of the rows; remembers how many rounds each part wanted."""

    def __init__(
        self, base: Any, data: Part, early_stopping: Any, routed: dict[str, Any] | None = None
    ) -> None:
        self.base = base
        self.data = data
        self.way = stopper(base, early_stopping)
        #: What metadata routing gives to ``fit`` of the learner, a value a row.
        self.routed = routed
        if routed is None:
            takes = data.weight is not None and takes_weights(base)
        else:
            takes = "sample_weight" in routed and self.way is not None
        self.weight = data.weight if takes else None
        self.rounds: list[int] = []

    def rows(self, rows: Any) -> Part:
        """Those rows, with their weights if the learner takes weights."""
        weight = None if self.weight is None else self.weight[rows]
        return Part(_safe_indexing(self.data.X, rows), _safe_indexing(self.data.y, rows), weight)

    def without(self, train: Any, test: Any) -> Any:
        """The learner on ``train``, stopped by ``test`` if it is to be stopped."""
        model = fresh(self.base)
        if self.way is None:
            return self._fit(model, self.rows(train), train)
        self.rounds.append(self.way.fit(model, self.rows(train), self.rows(test)))
        return model

    def on_all(self) -> Any:
        """The learner on all rows, at the median number of rounds."""
        model = fresh(self.base)
        if self.way is not None:
            self.way.set_rounds(model, max(1, int(np.median(self.rounds))))
        return self._fit(model, Part(self.data.X, self.data.y, self.weight))

    def _fit(self, model: Any, part: Part, rows: Any = None) -> Any:
        if self.routed is not None:
            return model.fit(part.X, part.y, **self._routed_rows(rows))
        step = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        return model.fit(part.X, part.y, **given(**{f"{step}sample_weight": part.weight}))

    def _routed_rows(self, rows: Any) -> dict[str, Any]:
        def part(value: Any) -> Any:
            whole = rows is None or not hasattr(value, "__len__") or isinstance(value, str)
            return value if whole or len(value) != len(self.data.y) else _safe_indexing(value, rows)

        return {name: part(value) for name, value in (self.routed or {}).items()}


def last_step(model: Any) -> Any:
    """The learner itself: of a pipeline its last step."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def takes_weights(model: Any) -> bool:
    """Whether ``fit`` of a learner, or of the last step of a pipeline, has ``sample_weight``."""
    return bool(has_fit_parameter(last_step(model), "sample_weight"))


class Folded(NamedTuple):
    """The outcome of cross-fitting."""

    fits: CrossFit
    models: list[Any]
    #: Held-out scores with their 0/1 labels and weights.
    held_out: Part
    calibrator: Any

    def held_out_loss(self) -> float:
        """Summed held-out log-loss of the calibrator."""
        weight = self.held_out.weight
        total = len(self.held_out.y) if weight is None else weight.sum()
        return float(total * self.calibrator.cv_results_["log_loss"])


#: What a second fit under a floor and a ceiling must gain in held-out log-likelihood, in nats.
RELINK_PRICE = 2.0


def floor_and_ceiling(z: Any, labels: Any, weights: Any) -> Any:
    """The link ``a + (b - a) sigmoid(z)`` whose ends the held-out scores support.

    ::

        min over 0 <= a < b <= 1, s > 0, t  of  - sum_i w_i log P(y_i),
        P(1) = a + (b - a) sigmoid(s z_i + t)

    ``s`` and ``t`` are thrown away: the learner finds its own scale under the new link. Two rows
    are added, one of each class at either end, so that neither end is set by one row alone.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    z = np.asarray(z, dtype=np.float64)
    y = np.asarray(labels, dtype=np.float64)
    w = np.ones_like(z) if weights is None else np.asarray(weights, dtype=np.float64)
    rate = float(np.average(y, weights=w))
    z = (z - np.average(z, weights=w)) / max(float(np.std(z)), 1e-300)

    def objective(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        a, c, s, t = theta
        b = 1.0 - c
        q = expit(s * z + t)
        p = np.clip(a + (b - a) * q, 1e-12, 1.0 - 1e-12)
        loss = -np.sum(w * np.where(y == 1.0, np.log(p), np.log1p(-p)))
        slope = w * (p - y) / (p * (1.0 - p))
        inner = slope * (b - a) * q * (1.0 - q)
        gradient = [np.sum(slope * (1 - q)), -np.sum(slope * q), np.sum(inner * z), np.sum(inner)]
        # The rows at the ends: y = 1 at probability a, y = 0 at probability b.
        ends = np.array([max(a, 1e-12), max(c, 1e-12)])
        loss -= np.log(ends).sum()
        gradient[0] -= 1.0 / ends[0]
        gradient[1] -= 1.0 / ends[1]
        return float(loss), np.array(gradient)

    bounds = [(1e-6, 0.95 * rate), (1e-6, 0.95 * (1.0 - rate)), (1e-3, 50.0), (-50.0, 50.0)]
    logit = float(np.log(rate / (1.0 - rate)))
    starts = [(share * rate, share * (1.0 - rate)) for share in (0.02, 0.3)]
    fits = [
        minimize(objective, [a, c, 1.0, logit], jac=True, bounds=bounds, method="L-BFGS-B")
        for a, c in starts
    ]
    a, c, _, _ = min(fits, key=lambda fit: float(fit.fun)).x
    return _core.RelativeLink("sigmoid", [0.0, 1.0], [float(a), float(1.0 - c)])


def relink(base: Any, link: Any) -> Any:
    """The learner with another link."""
    model = fresh(base)
    last = last_step(model)
    if "link" not in last.get_params(deep=False):
        raise TypeError(
            "relink needs an estimator with a `link` parameter, such as those of"
            f" properloss.learners; {type(last).__name__} has none"
        )
    last.set_params(link=link)
    return model
