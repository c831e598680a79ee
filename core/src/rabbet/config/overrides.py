"""Settings that one thread has otherwise than the process, from ``__enter__`` to ``__exit__``.

They need not end in the order in which they began: a generator that stopped within a ``with`` ends when it
is closed or collected, maybe by another thread. So nothing is put back that was there at the beginning: what
is in force is the last that began in this thread and has not ended.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Literal

from rabbet.messages.source_positions import stacklevel

# Where a thread's overrides stand among its values, in the order in which they began: no setting's name.
BEGUN = "overrides begun"


class Entered:
    """One override of one thread: its values, and the dict of the thread's values."""

    __slots__ = ("changes", "mine")

    def __init__(self, mine: dict[str, Any], changes: dict[str, Any]) -> None:
        self.mine, self.changes = mine, changes


class Override(contextlib.ContextDecorator):
    """Changes settings for one thread, from ``__enter__`` to ``__exit__``. May be entered again, also
    while entered, and by several threads.
    """

    def __init__(self, config: Any, changes: dict[str, Any]) -> None:
        self.config, self.changes = config, changes
        self.entered: list[Entered] = []
        self.used = False

    def __call__(self, function: Any) -> Any:
        self.used = True
        return super().__call__(function)

    def __del__(self) -> None:
        if getattr(self, "used", True):
            return
        name, value = next(iter(self.changes.items()), ("", None))
        warnings.warn(
            f"config.override({name}={value!r}), or rb.{name}({value!r}), changed nothing: it is a context "
            f"manager that was not entered\n  for a block: with rb.config.override({name}={value!r}):\n"
            f"  for the process: rb.config.update({name!r}, {value!r})",
            RuntimeWarning,
            stacklevel=stacklevel(),
        )

    def __enter__(self) -> None:
        config = self.config
        mine = config.values.__dict__
        entered = Entered(mine, self.changes)
        self.used = True
        with config._lock:
            self.entered.append(entered)
            mine.setdefault(BEGUN, []).append(entered)
            mine.update(self.changes)
            mine["traced_key"] = None
            config._overridden[id(mine)] = mine
        config._tell(self.changes)

    def __exit__(self, *exc_info: Any) -> Literal[False]:
        config, entered = self.config, self.entered.pop()
        here = config.values.__dict__
        if entered.mine is not here:  # another thread's; this one's own, if it has one
            own = [other for other in self.entered if other.mine is here]
            if own:
                self.entered.append(entered)
                entered = own[-1]
                self.entered.remove(entered)
        with config._lock:
            _end(config, entered)
        config._tell(self.changes)
        return False


def _end(config: Any, entered: Entered) -> None:
    mine, begun = entered.mine, entered.mine[BEGUN]
    begun.remove(entered)
    before = None
    # The garbage collector may end another one at any line here.
    while before != begun:
        before = list(begun)
        for name in entered.changes:
            for other in reversed(before):
                if name in other.changes:
                    mine[name] = other.changes[name]
                    break
            else:
                mine.pop(name, None)
    if begun:
        mine["traced_key"] = None
    else:
        mine.clear()
        config._overridden.pop(id(mine), None)
