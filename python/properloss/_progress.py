"""Progress of a fit: scikit-learn's callbacks where they exist, one line on stderr elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks yet."""


#: What the engine reports after an iteration: ``iteration``, ``loss``, ``gap``, ...; where iterations
#: differ, also ``stage`` in words, and ``at_most`` as many of them.
Iteration = Mapping[str, Any]


class ProgressLine:
    """Rewrites one line on stderr: iteration, loss, gap, pace."""

    def __init__(self, name: str, max_iter: int) -> None:
        self.name = name
        self.max_iter = max_iter
        self.start = time.perf_counter()
        self.width = 0

    def __call__(self, iteration: Iteration) -> None:
        seconds = time.perf_counter() - self.start
        done = int(iteration["iteration"])
        stage = iteration.get("stage")
        at_most = iteration.get("at_most", self.max_iter)
        self._write(
            f"{self.name}: {done}/{at_most}  {stage + '  ' if stage else ''}loss {iteration['loss']:.6g}"
            f"  gap {iteration['gap']:.3g}  [{seconds:.1f}s, {done / max(seconds, 1e-9):.0f} it/s]"
        )

    def close(self, iterations: int, loss: float, termination: str) -> None:
        """The last line: how the run ended."""
        seconds = time.perf_counter() - self.start
        self._write(
            f"{self.name}: {termination} after {iterations} iterations"
            f"  loss {loss:.6g}  [{seconds:.1f}s]"
        )
        sys.stderr.write("\n")
        sys.stderr.flush()

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)


class CallbackBridge:
    """Hands every iteration to scikit-learn's callbacks as one subtask of the fit.

    The engine reports an iteration when it is over, so the subtask begins and ends there. A
    callback whose ``on_fit_task_end`` returns true stops the run.
    """

    def __init__(
        self,
        estimator: Any,
        context: Any,
        data: Mapping[str, Any],
        reconstruct: Callable[[Any], Mapping[str, Any]],
    ) -> None:
        self.estimator = estimator
        self.context = context
        self.data = data
        self.reconstruct = reconstruct

    def __call__(self, iteration: Iteration, model: Any) -> bool:
        task = self.context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: self.reconstruct(model),
                **self.data,
            )
        )
