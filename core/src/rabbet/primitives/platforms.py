"""The primitive ``platform_index``: which of several groups of platforms a program is lowered for.

It is the index of a ``cond``, which every interpreter knows how to go through; lowering knows its value and
writes the chosen branch only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import dtypes
from rabbet.lowering.known_values import Known
from rabbet.program.avals import ShapedArray
from rabbet.rules.primitive import Primitive

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site

OTHERS = None
"""Stands for all platforms that have no branch of their own."""


platform_index = Primitive(
    "platform_index",
    lambda *, platforms: ShapedArray((), dtypes.canonicalize("int32")),
    kinds=("shapeless",),
    doc="the place of the platform that the program is lowered for among the platforms named",
    parameters={"platforms": "tuple of str: among which the one that is compiled for is looked up"},
)


def place_of(platform: str, platforms: tuple[str | None, ...]) -> int:
    """The place of a platform among those named, or that of all others.

    Raises:
      NotImplementedError: if it is not named, and there is nothing for others.
    """
    for wanted in (platform, OTHERS):
        if wanted in platforms:
            return platforms.index(wanted)
    raise NotImplementedError(
        f"platform_dependent has no branch for the platform {platform!r}, only for "
        f"{', '.join([repr(p) for p in platforms])}\n  to fix: add one, or a default for all others"
    )


@platform_index.rule("lower")
def lower_platform_index(op: Site) -> list[Known]:
    place = place_of(op.platform, op["platforms"])
    return [Known(op.constant(place, op.out), place)]


__all__ = ["OTHERS", "place_of", "platform_index"]
