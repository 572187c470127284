"""scikit-learn's callbacks, from its version 1.9 on; before, fits are the same and report nothing.

The one place that knows how versions of scikit-learn differ in this.
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

    class _Unheard:
        """A task of a fit, without callbacks."""

        def subcontext(self, **about: Any) -> _Unheard:
            return self

        def call_on_fit_task_begin(self, **about: Any) -> None:
            """Do nothing."""

        def call_on_fit_task_end(self, **about: Any) -> bool:
            """Return that the loop goes on."""
            return False

    class CallbackSupportMixin:
        """Stand in for scikit-learn's mixin of the same name."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Refuse callbacks, which need scikit-learn 1.9 or newer."""
            if callbacks:
                raise GuidedTypeError(
                    f"Callbacks need scikit-learn 1.9 or newer, but this is {sklearn.__version__}.",
                    "Leave set_callbacks out, or pip install 'scikit-learn>=1.9'.",
                )
            return self

        def _init_callback_context(self, max_subtasks: int | None = 0) -> Any:
            return _Unheard()

    def with_callbacks(method: Method) -> Method:
        """Leave a method as it is."""
        return method

else:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks


def tracked(estimator: Any, task: Any, steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of a long loop and report each to the callbacks, which may end it."""
    for step in steps:
        part = task.subcontext(task_name="step")
        part.call_on_fit_task_begin(estimator=estimator)
        yield step
        if part.call_on_fit_task_end(estimator=estimator):
            return


@contextmanager
def parts_reported(estimator: Any, task: Any) -> Iterator[None]:
    """Report every part that was read to the callbacks of a fit, and to earlier listeners."""
    reading, reported, before = task, 0, reporting.get()

    def report(done: int, total: int, what: str) -> None:
        nonlocal reading, reported
        if before is not None:
            before(done, total, what)
        if not done:
            reading, reported = task.subcontext(task_name=what, max_subtasks=total), 0
            reading.call_on_fit_task_begin(estimator=estimator)
        # A cluster may end several parts before it is asked again.
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
