"""Arrays of a program's results, made in one go.

A call of ``Array`` for each result costs up to a twentieth of a small program that returns a few. So a
function is written for each number of results, as the standard library writes the ``__init__`` of a
dataclass: the lines of ``Array.__init__``, once for each of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.runtime.arrays.array import Array

if TYPE_CHECKING:
    from rabbet.runtime.arrays.placement import Placement

MOST = 16  # results; with more, the calls count for less than the text and its compilation
FORMS = {tuple: "({},)", list: "[{}]"}


def builder(specs: list[Placement], assemble: Callable[..., Any] | type) -> Callable[[list[Any]], Any]:
    """A function from the raw arrays of a program to its result: what ``assemble`` makes of a list of arrays
    with these placements. Its ``form`` is ``[specs, assemble, None]``, for a frame that does the same by
    itself, and may note in the third place how.
    """
    if 0 < len(specs) <= MOST:
        make = maker(len(specs), FORMS.get(assemble, "assemble([{}])"))  # type: ignore[call-overload]
        build = make(object.__new__, Array, assemble, *specs, *[spec.aval for spec in specs])
    else:
        build = lambda raws: assemble(list(map(Array, raws, specs)))
    build.form = [specs, assemble, None]  # see ``frames.FrameParts``
    return build


@functools.cache
def maker(count: int, form: str) -> Callable[..., Any]:
    """What ``builder`` calls for so many results; ``form`` says what is made of them."""
    every = range(count)
    given = ", ".join([f"s{i}" for i in every] + [f"a{i}" for i in every])
    lines = [f"def make(new, Array, assemble, {given}):"]
    lines += [" def build(raws):", f"  {', '.join(f'r{i}' for i in every)}, = raws"]
    lines += [f"  o{i} = new(Array); o{i}.raw = r{i}; o{i}.spec = s{i}; o{i}.aval = a{i}" for i in every]
    lines += [f"  return {form.format(', '.join(f'o{i}' for i in every))}", " return build"]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    return names["make"]


__all__ = ["builder"]
