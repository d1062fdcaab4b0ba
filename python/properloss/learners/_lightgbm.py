"""LightGBM under a proper loss."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from properloss._docs import documented
from properloss._pooled import given_list, lightgbm_held_out
from properloss.learners._base import Learner, Rows
from properloss.learners._objective import Objective, log_loss_of


@documented
class ProperLGBMClassifier(Learner):
    """LightGBM under any proper loss; probabilities are those of its link.

    LightGBM alone returns raw scores from ``predict_proba`` under a loss of one's own and forgets
    the start score; this class keeps both, also in files.

    Parameters
    ----------
    estimator : LGBMClassifier, default=None
        The booster's parameters; ``objective`` and ``class_weight`` are not used.
    {booster_parameters}
    booster_ : lightgbm.Booster or None
        What was trained; None where no feature could be split.
    {booster_attributes}
    """

    _kind: ClassVar[str] = "lightgbm"

    def _default(self) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(verbose=-1)

    def _boost(
        self, model: Any, objective: Objective, train: Rows, held_out: Rows | None, patience: int
    ) -> tuple[Any, int]:
        from lightgbm import LGBMRegressor, early_stopping
        from lightgbm.basic import LightGBMError

        # The regressor's fit does not touch the labels; all else is the same.
        parameters = {k: v for k, v in model.get_params().items() if k != "class_weight"}
        model = LGBMRegressor(**parameters).set_params(objective=objective)
        extra: dict[str, Any] = {}
        if held_out is not None:
            model.set_params(metric="None")
            log_loss = log_loss_of(objective.link)
            extra = {
                **lightgbm_held_out(model, held_out.X, held_out.y),
                "eval_init_score": [held_out.start],
                "eval_metric": lambda y, z, weight: ("log_loss", log_loss(y, z, weight), False),
                "callbacks": [early_stopping(patience, verbose=False)],
                **given_list(eval_sample_weight=held_out.weight),
            }
        try:
            model.fit(train.X, train.y, sample_weight=train.weight, init_score=train.start, **extra)
        except LightGBMError as error:
            # No feature can be split. Under its own losses LightGBM then gives the start score.
            if "num_features()" not in str(error):
                raise
            return None, 0
        booster = model.booster_
        # Parameters of Python's side hold the objective; predictions do not need them.
        booster.params = {k: v for k, v in booster.params.items() if not callable(v)}
        return booster, int(model.best_iteration_ or booster.current_iteration())

    def _raw(self, X: Any) -> NDArray[np.float64]:
        if self.booster_ is None:
            return np.zeros(X.shape[0])
        raw = self.booster_.predict(X, raw_score=True, num_iteration=self.n_rounds_)
        return np.asarray(raw, dtype=np.float64)

    def _to_text(self) -> str:
        if self.booster_ is None:
            return ""
        return str(self.booster_.model_to_string(num_iteration=self.n_rounds_))

    def _from_text(self, text: str) -> Any:
        from lightgbm import Booster

        return Booster(model_str=text) if text else None
