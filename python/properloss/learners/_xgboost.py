"""XGBoost under a proper loss."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from properloss._docs import documented
from properloss._pooled import given_list
from properloss.learners._base import Learner, Rows
from properloss.learners._objective import Objective, log_loss_of


@documented
class ProperXGBClassifier(Learner):
    """XGBoost under any proper loss; probabilities are those of its link.

    XGBoost alone writes ``binary:logistic`` into the file of a booster with a loss of one's own and
    applies the sigmoid to its scores; this class applies the link, also in files.

    Parameters
    ----------
    estimator : XGBClassifier, default=None
        The booster's parameters; ``objective``, ``base_score`` and ``scale_pos_weight`` are not
        used.
    {booster_parameters}
    booster_ : xgboost.Booster
        What was trained.
    {booster_attributes}
    """

    _kind: ClassVar[str] = "xgboost"

    def _default(self) -> Any:
        from xgboost import XGBClassifier

        return XGBClassifier()

    def _boost(
        self, model: Any, objective: Objective, train: Rows, held_out: Rows | None, patience: int
    ) -> tuple[Any, int]:
        from xgboost import XGBRegressor

        # The regressor takes any labels and stores no logistic objective.
        not_ours = ("objective", "base_score", "scale_pos_weight", "early_stopping_rounds")
        parameters = {k: v for k, v in model.get_params().items() if k not in not_ours}
        model = XGBRegressor(**parameters).set_params(objective=objective, base_score=0.0)
        extra: dict[str, Any] = {}
        if held_out is not None:
            log_loss = log_loss_of(objective.link)
            model.set_params(eval_metric=log_loss, early_stopping_rounds=patience)
            extra = {
                "eval_set": [(held_out.X, held_out.y)],
                "base_margin_eval_set": [held_out.start],
                "verbose": False,
                **given_list(sample_weight_eval_set=held_out.weight),
            }
        model.fit(train.X, train.y, sample_weight=train.weight, base_margin=train.start, **extra)
        booster = model.get_booster()
        rounds = booster.num_boosted_rounds()
        if held_out is not None:
            rounds = int(model.best_iteration) + 1
            booster = booster[:rounds]
        return booster, rounds

    def _raw(self, X: Any) -> NDArray[np.float64]:
        from xgboost import DMatrix

        rows = len(X) if hasattr(X, "__len__") and not hasattr(X, "indptr") else X.shape[0]
        # A margin of 0 stands for whatever base score the file has.
        matrix = DMatrix(X, base_margin=np.zeros(rows), enable_categorical=True)
        return np.asarray(self.booster_.predict(matrix, output_margin=True), dtype=np.float64)

    def _to_text(self) -> str:
        return bytes(self.booster_.save_raw("json")).decode()

    def _from_text(self, text: str) -> Any:
        from xgboost import Booster

        booster = Booster()
        booster.load_model(bytearray(text.encode()))
        return booster
