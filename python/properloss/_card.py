"""What a notebook shows of a fitted estimator: scikit-learn's diagram, and below it a card."""

from __future__ import annotations

import html
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

    if not isinstance(link, _core.InverseLink):
        return _class_card(estimator)
    return _core.report_card(link, _facts(estimator))


def _class_card(estimator: Any) -> str:
    """Of several classes: words alone, for the link has no curve to draw."""
    facts = [("classes", str(len(estimator.classes_)))]
    facts += _gains(estimator, log_loss_path="softmax regression")
    if "tau_" in vars(estimator):
        words = (
            f"at every point the log-loss is at most the softmax's plus {estimator.guarantee_:.4g}"
            " nats; no probability is 0"
        )
        facts.append(("guarantee", words))
    rows = "".join(
        f'<div style="margin:.1em 0"><b>{html.escape(term)}</b>: {html.escape(value)}</div>'
        for term, value in facts
    )
    return (
        '<div class="properloss-card" style="border:1px solid #8888;border-radius:4px;padding:.6em;'
        f'margin-top:.5em;max-width:44em;font-family:sans-serif;font-size:13px">{rows}</div>'
    )


def _facts(estimator: Any) -> list[tuple[str, str]]:
    facts = _gains(estimator, log_loss_path="logistic regression", log_loss_sigmoid="the sigmoid")
    if getattr(estimator, "termination_", "") and getattr(estimator, "n_iter_", 0):
        facts.append(("fit", f"{estimator.termination_} after {estimator.n_iter_} iterations"))
    facts.append(("link", str(vars(estimator)["link_"].name)))
    return facts


def _gains(estimator: Any, **baselines: str) -> list[tuple[str, str]]:
    """What was gained on held-out rows over the baselines, given by the names of their log-losses."""
    facts = []
    results = vars(estimator).get("cv_results_", {})
    for name, before in baselines.items():
        if name in results and "log_loss" in results:
            after = float(results["log_loss"])
            gain = float(results[name]) - after
            words = f"{gain:.5f} nats a row over {before} (log-loss {after:.5f})"
            facts.append(("held-out gain", words))
    return facts
