"""Second names: how classes of core answer to the words of another library.

Programs and libraries written for it ask Rabbet's objects by its words. Core has its own. The package that
serves such programs gives its words here, and nowhere else: until it does, the classes lack them.
"""

from __future__ import annotations

import inspect
from typing import Any


def second_names(kind: type, members: dict[str, Any]) -> None:
    """Give a class members under the names that another library has for what it does.

    Args:
      kind: a class, such as ``Primitive``. Its subclasses have the names too.
      members: by name, a function, a property or another attribute.

    Raises:
      ValueError: if the class has something else of that name.

    Example:
      >>> from rabbet.extend.wrapping import second_names
      >>> class Toaster:
      ...     def toast(self):
      ...         return "brown"
      >>> second_names(Toaster, {"grill": Toaster.toast})
      >>> Toaster().grill()
      'brown'
    """
    for name, member in members.items():
        known = inspect.getattr_static(kind, name, None)
        if known is not None and known is not member:
            raise ValueError(f"{kind.__name__} has a {name!r} itself, which this name would hide")
    for name, member in members.items():
        setattr(kind, name, member)


__all__ = ["second_names"]
