"""Names for parts of a trace."""

import functools
from collections.abc import Callable
from typing import Any

from rabbet.extend.functions import named_like
from rabbet.extend.native import profiler


class TraceAnnotation:
    """The time between entering and leaving the ``with`` block, as an event of the host in a trace.

    Args:
      name: how the event is called.
      kwargs: facts to show with it, numbers or text.

    Without a running trace it costs next to nothing.

    Example:
      >>> with rb.profiler.TraceAnnotation("load", batch=3):
      ...     batch = rnp.ones(3)
    """

    def __init__(self, name: str, **kwargs: Any):
        if not isinstance(name, str):
            raise TypeError(f"{type(self).__name__}: the name must be a text, got {name!r:.60}")
        self.name, self.facts = name, kwargs
        self.events: list[Any] = []

    def __enter__(self):
        event = profiler().TraceMe(self.name, **self.facts)
        event.__enter__()
        self.events.append(event)
        return self

    def __exit__(self, *exc_info):
        self.events.pop().__exit__(*exc_info)
        return False

    def set_metadata(self, **kwargs: Any) -> None:
        """Add facts to the event that was entered last."""
        self.events[-1].set_metadata(**kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """Whether a trace is running, so that the event will be recorded."""
        return profiler().TraceMe.is_enabled()


class StepTraceAnnotation(TraceAnnotation):
    """One step of a training loop, by which viewers group what happens on the devices.

    Example:
      >>> params = rnp.zeros(3)
      >>> for i in range(2):
      ...     with rb.profiler.StepTraceAnnotation("train", step_num=i):
      ...         params = params + 1
    """

    def __init__(self, name: str, **kwargs: Any):
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs: Any) -> Callable:
    """``func``, each call of which is an event in a trace.

    Args:
      func: any callable.
      name: how the event is called; by default the function's ``__qualname__``.
      decorator_kwargs: facts to show with it.

    Example:
      >>> @rb.profiler.annotate_function
      ... def step(x):
      ...     return x + 1
      >>> step(1.0)
      2.0
    """
    shown: Any = name or getattr(func, "__qualname__", None) or getattr(func, "__name__", type(func).__name__)

    @functools.wraps(func)
    def call(*args, **kwargs):
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return named_like(call, func)
