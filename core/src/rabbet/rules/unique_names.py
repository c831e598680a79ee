"""One name, one thing: primitives and rule tables are known by their names, to other packages, to pickles and
to ``rabbet explain``. What is no longer used gives its name free.
"""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

from rabbet.errors import RuleConflict

if TYPE_CHECKING:
    from rabbet.rules.primitive import Primitive
    from rabbet.rules.tables import RuleTable


class Names:
    """The living things of one sort by their names. A thing has a ``name``, and in ``where`` the ``Site``
    that made it.

    Args:
      sort: what they are, for messages: ``"primitive"``.
    """

    def __init__(self, sort: str) -> None:
        self.sort = sort
        self._holders = weakref.WeakValueDictionary()

    def take(self, thing: Any) -> None:
        """Give ``thing`` its name.

        Whoever holds the name already gives way if it was made by the same statement, as where a module is
        imported anew, or if both were made in ``__main__``, where a cell of a notebook runs again.

        Raises:
          RuleConflict: something else holds the name; says where both were made.
        """
        name = thing.name
        if self._refuses(name, thing):
            gc.collect()  # it may have been forgotten, and only not been cleared away
            if self._refuses(name, thing):
                raise RuleConflict(
                    f"there is already a {self.sort} {name!r}, made at {self._holders[name].where}; a second "
                    f"one is made at {thing.where}. Rules are written for it by its name: give one of them "
                    f"another, such as {_longer(thing)!r}"
                )
        self._holders[name] = thing

    def _refuses(self, name: str, thing: Any) -> bool:
        holder = self._holders.get(name)
        if holder is None or thing.where.module == holder.where.module == "__main__":
            return False
        return holder.where != thing.where

    def find(self, name: str) -> Any:
        """Who holds a name, or None."""
        return self._holders.get(name)

    def all(self) -> Any:
        """``{name: thing}``, in the order in which they were made."""
        # By the references, a list that is made in one step: other threads may make things meanwhile.
        holders = [reference() for reference in self._holders.valuerefs()]
        return {thing.name: thing for thing in holders if thing is not None}


def _longer(thing: Primitive | RuleTable) -> str:
    """A name that nobody else is likely to use: with the package in front."""
    return f"{thing.where.module.partition('.')[0].replace('__main__', 'my')}_{thing.name}"
