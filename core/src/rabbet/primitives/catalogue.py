"""Every primitive of core by its public name, as ``rabbet.extend.primitive`` has it."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from rabbet import primitives
from rabbet.rules.primitive import all_primitives
from rabbet.rules.tables import public_name

HOME = f"{primitives.__name__}."


@functools.cache
def by_public_name() -> dict[Any, Any]:
    """``{name: primitive}`` of all primitives that modules of core make, sorted; imports these modules."""
    (folder,) = primitives.__path__
    for file in sorted(os.listdir(folder)):
        name, ending = os.path.splitext(file)
        if ending == ".py" and name != "__init__":
            importlib.import_module(HOME + name)
    made = [p for p in all_primitives().values() if p.__module__.startswith(HOME)]
    return {public_name(p): p for p in sorted(made, key=lambda p: p.name)}
