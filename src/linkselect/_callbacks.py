"""Support for callbacks of scikit-learn 1.9 or newer; older versions report no progress.

All differences in callbacks between versions of scikit-learn are handled in this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self, TypeVar

import sklearn

from linkselect._messages import GuidedTypeError
from linkselect._samples.sources.running import reporting

Step = TypeVar("Step")

HAS_CALLBACKS = find_spec("sklearn.callback") is not None

if TYPE_CHECKING or not HAS_CALLBACKS:
    Method = TypeVar("Method", bound=Callable[..., Any])

    class _SilentTask:
        """Replacement for the task of a fit that has no callbacks."""

        def subcontext(self, **about: Any) -> _SilentTask:
            return self

        def call_on_fit_task_begin(self, **about: Any) -> None:
            """Do nothing."""

        def call_on_fit_task_end(self, **about: Any) -> bool:
            """Return False, which means that the fit is not stopped."""
            return False

    class CallbackSupportMixin:
        """Replacement for the mixin of this name, which older versions of scikit-learn lack."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Raise an error if callbacks are passed, which require scikit-learn 1.9 or newer."""
            if callbacks:
                raise GuidedTypeError(
                    "Callbacks require scikit-learn 1.9 or newer, but version "
                    f"{sklearn.__version__} is installed.",
                    "Omit set_callbacks, or run: pip install 'scikit-learn>=1.9'.",
                )
            return self

        def _init_callback_context(self, max_subtasks: int | None = 0) -> Any:
            return _SilentTask()

    def with_callbacks(method: Method) -> Method:
        """Return the method unchanged."""
        return method

else:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks


def tracked(estimator: Any, task: Any, steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a loop and report each step to the callbacks, which may stop the loop."""
    for step in steps:
        part = task.subcontext(task_name="step")
        part.call_on_fit_task_begin(estimator=estimator)
        yield step
        if part.call_on_fit_task_end(estimator=estimator):
            return


@contextmanager
def parts_reported(estimator: Any, task: Any) -> Iterator[None]:
    """Notify the callbacks of a fit whenever a part of the data has been read.

    A progress function that was already set in `reporting` is still called.
    """
    reading, reported, before = task, 0, reporting.get()

    def report(done: int, total: int, what: str) -> None:
        nonlocal reading, reported
        if before is not None:
            before(done, total, what)
        if not done:
            reading, reported = task.subcontext(task_name=what, max_subtasks=total), 0
            reading.call_on_fit_task_begin(estimator=estimator)
        # A cluster may have finished several parts since the last report.
        while reported < done:
            part = reading.subcontext(task_name="part")
            part.call_on_fit_task_begin(estimator=estimator)
            part.call_on_fit_task_end(estimator=estimator)
            reported += 1
            if reported == total:
                reading.call_on_fit_task_end(estimator=estimator)

    token = reporting.set(report)
    try:
        yield
    finally:
        reporting.reset(token)
