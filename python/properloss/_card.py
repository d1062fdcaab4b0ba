"""What a notebook shows of a fitted estimator: scikit-learn's diagram, and below it a card."""

from __future__ import annotations

from typing import Any


class CardMixin:
    """Adds a card to scikit-learn's HTML: the link, the held-out gain, the guarantee."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + card(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        output: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in output:
            output["text/html"] += card(self)
        return output


def card(estimator: Any) -> str:
    """The card of a fitted estimator as HTML; nothing for one that is not fitted."""
    link = vars(estimator).get("link_")
    if link is None:
        return ""
    from properloss import _core

    return _core.report_card(link, _facts(estimator))


def _facts(estimator: Any) -> list[tuple[str, str]]:
    facts = []
    results = vars(estimator).get("cv_results_", {})
    after = results.get("log_loss")
    for name, before in (("log_loss_path", "logistic regression"), ("log_loss_sigmoid", "the sigmoid")):
        if name in results and after is not None:
            gain = float(results[name]) - float(after)
            facts.append(
                ("held-out gain", f"{gain:.5f} nats a row over {before} (log-loss {float(after):.5f})")
            )
    if getattr(estimator, "termination_", "") and getattr(estimator, "n_iter_", 0):
        facts.append(("fit", f"{estimator.termination_} after {estimator.n_iter_} iterations"))
    facts.append(("link", str(vars(estimator)["link_"].name)))
    return facts
