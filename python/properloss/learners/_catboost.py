"""CatBoost under a proper loss."""

from __future__ import annotations

import base64
import os
import tempfile
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from properloss._docs import documented
from properloss._pooled import catboost_rounds
from properloss._registry import given
from properloss.learners._base import Learner, Rows
from properloss.learners._objective import Objective


@documented
class ProperCatBoostClassifier(Learner):
    """CatBoost under any proper loss; probabilities are those of its link.

    CatBoost alone applies the sigmoid to the scores of any loss and wants the start score again at
    every prediction; this class keeps both, also in files. A loss in Python makes CatBoost slow:
    it is called row by row from a list.

    Parameters
    ----------
    estimator : CatBoostClassifier, default=None
        The booster's parameters; ``loss_function``, ``eval_metric`` and class weights are not used.
    {booster_parameters}
    booster_ : catboost.CatBoost
        What was trained.
    {booster_attributes}
    """

    _kind: ClassVar[str] = "catboost"

    def _default(self) -> Any:
        from catboost import CatBoostClassifier

        return CatBoostClassifier(verbose=False, allow_writing_files=False)

    def _boost(
        self, model: Any, objective: Objective, train: Rows, held_out: Rows | None, patience: int
    ) -> tuple[Any, int]:
        from catboost import CatBoost, Pool

        not_ours = (
            "loss_function",
            "objective",
            "eval_metric",
            "boost_from_average",
            "class_weights",
            "auto_class_weights",
        )
        parameters = {k: v for k, v in model.get_params().items() if k not in not_ours}
        parameters.setdefault("allow_writing_files", False)
        # Under a loss in Python the leaves need a method that asks for derivatives only.
        parameters.setdefault("leaf_estimation_method", "Newton")
        parameters.setdefault("leaf_estimation_iterations", 1)
        if not any(k in parameters for k in ("verbose", "silent", "logging_level", "verbose_eval")):
            parameters["verbose"] = False
        log_loss = Objective(objective.link, "log")
        model = CatBoost({**parameters, "loss_function": objective, "eval_metric": log_loss})

        def pool(part: Rows) -> Any:
            kinds = given(cat_features=parameters.get("cat_features"))
            return Pool(part.X, part.y, weight=part.weight, baseline=part.start, **kinds)

        extra: dict[str, Any] = {}
        if held_out is not None:
            extra = {
                "eval_set": pool(held_out),
                "early_stopping_rounds": patience,
                "use_best_model": True,
            }
        with warnings.catch_warnings():
            # It would compile the loss if it could; there is nothing that the user should do.
            warnings.filterwarnings("ignore", message="Failed to import numba")
            model.fit(pool(train), **extra)
        # A copy through CatBoost's own file: no Python objects are left in it.
        booster = self._from_text(_text(model))
        return booster, int(booster.tree_count_)

    def _raw(self, X: Any) -> NDArray[np.float64]:
        raw = self.booster_.predict(X, prediction_type="RawFormulaVal")
        return np.asarray(raw, dtype=np.float64)

    def _to_text(self) -> str:
        return _text(self.booster_)

    def _from_text(self, text: str) -> Any:
        from catboost import CatBoost

        booster = CatBoost()
        booster.load_model(blob=base64.b64decode(text))
        return booster

    def _rounds_name(self, model: Any) -> str:
        return catboost_rounds(model)


def _text(model: Any) -> str:
    """CatBoost's binary file, as base64."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.cbm")
        model.save_model(path, format="cbm")
        with open(path, "rb") as file:
            return base64.b64encode(file.read()).decode("ascii")
