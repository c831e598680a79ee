"""Settings that observe: while one is on, each operation that is executed goes by a function of its package.

Such a setting brings ``observer``, see ``rabbet.config.setting.Setting``. While it is on in a thread, an
``Observed`` is at the bottom there in the place of evaluation; while it is off, nothing is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.messages import source_positions
from rabbet.program.context import Context, context
from rabbet.runtime.evaluation import EVALUATION

if TYPE_CHECKING:
    from rabbet.config.setting import Setting
    from rabbet.rules.operator import Op

_settings: list[Setting] = []


class Observed:
    """Executes operations, each by way of an observer: ``observe(op, args, run)`` returns what ``run()``
    gives. Both have what is below current, so that operations of the observer are not observed.
    """

    __slots__ = ("below", "setting")
    parent = None
    alive = True
    table = None
    executes = True

    def __init__(self, setting: Setting, below: Any) -> None:
        self.setting, self.below = setting, below

    def process(self, op: Op, args: tuple[Any, ...]) -> Any:
        """Run one operation on arrays; a list with multiple results."""
        return self.around(op, args, lambda: self.below.process(op, args))

    def around(self, op: Op, args: Any, run: Callable[[], Any]) -> Any:
        """``run()``, which does what ``op`` does on ``args``, as the observer sees it."""
        outermost = context.where is None
        if outermost:
            context.where = source_positions.caller()
        context.interpreter = self.below
        try:
            if not getattr(config, self.setting.name):  # a block within which a generator stopped has ended
                return run()
            assert self.setting.observer is not None
            return self.setting.observer(op, args, run)
        finally:
            context.interpreter = self
            if outermost:
                context.where = None

    def describe(self) -> str:
        return f"evaluation under {self.setting.name}"


@functools.lru_cache(64)
def bottom(names: tuple[str, ...]) -> Any:
    """What executes operations while these settings are on."""
    made: Any = EVALUATION
    for setting in _settings:
        if setting.name in names:
            made = Observed(setting, made)
    return made


def follow(setting: Setting) -> None:
    """A setting that observes was made, or may have changed: what executes operations is what it should be,
    in this thread and in those that begin later.
    """
    if setting not in _settings:
        _settings[:] = [*[one for one in _settings if one.name != setting.name], setting]
        bottom.cache_clear()
    everywhere = tuple([one.name for one in _settings if config.of_process(one.name)])
    here = tuple([one.name for one in _settings if getattr(config, one.name)])
    Context.interpreter = bottom(everywhere)
    if context.interpreter.executes:
        context.interpreter = bottom(here)


__all__ = ["Observed", "follow"]
