"""What may still change: the names that plugins add.

A plugin adds ``rabbet.experimental.jet`` as others add ``rabbet.numpy``: by a module in this folder of its
own distribution, and an entry point ``experimental.jet`` in the group ``rabbet.api``.
"""

from __future__ import annotations
from typing import Any as _Any

import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)

from rabbet.messages.tracebacks import public_module as _public_module


def __getattr__(name: str) -> _Any:
    from rabbet.plugins import public_names

    name_in_full = f"experimental.{name}"
    value = globals()[name] = public_names.for_users(name_in_full, public_names.resolve(name_in_full))
    return value


def _found_when_asked() -> _Any:
    from rabbet.plugins import public_names

    return public_names.names(within="experimental")


_public_module(globals(), more=_found_when_asked)
