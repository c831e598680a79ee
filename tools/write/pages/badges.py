"""With which transformations a function works, by the tables of rules: a line for its page.

Only functions that are primitives, or bear the name of one, have such a line: what others do follows from the
primitives that they are made of.
"""

import functools
from typing import Any

MODULES = ("rabbet.lax", "rabbet.numpy")


@functools.cache
def tables() -> dict[str, Any]:
    """The tables by the name of the transformation that a reader knows."""
    from rabbet.extend.transform import batch, jvp, lower

    return {"jit": lower, "grad": jvp, "vmap": batch}


@functools.cache
def primitives() -> dict[str, Any]:
    """All primitives by name."""
    from rabbet.extend.passes import all_primitives

    return dict(all_primitives())


def primitive_of(module: str, name: str, thing: Any) -> Any:
    """The primitive that a function is, or stands for; None for any other."""
    found = primitives().get(name)
    if thing is found or (found is not None and module in MODULES and callable(thing)):
        return found
    return None


def works_with(primitive: Any) -> dict[str, str]:
    """For each transformation ``"yes"``, ``"zero"`` (its derivative is zero) or ``"no"``."""
    from rabbet.testing import closure

    found = {}
    for name, table in tables().items():
        word = closure.cell(table, primitive, None).word
        found[name] = {"none": "no", "zero": "zero"}.get(word, "yes")
    return found


def line(module: str, name: str, thing: Any) -> str | None:
    """The line of badges, in Markdown with HTML."""
    primitive = primitive_of(module, name, thing)
    if primitive is None:
        return None
    said = {"yes": "works with {}", "zero": "{}: the derivative is zero", "no": "does not work with {}"}
    marks = {"yes": "✓", "zero": "0", "no": "✗"}
    cells = [
        f'<span class="badge badge-{how}" title="{said[how].format(one)}">{one} {marks[how]}</span>'
        for one, how in works_with(primitive).items()
    ]
    return " ".join(cells)
