"""Calls that give up donated arguments, and what is said where one array stands in two places."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.extend.functions import describe_function
from rabbet.extend.sharding import to_donate
from rabbet.extend.wrapping import donating_parts

if TYPE_CHECKING:
    from rabbet.typing import Value

    from rabbet_jit.stages import Compiled


def giving_up(compiled: Compiled, run: Callable[..., Any], consts: list[Value]) -> Callable[..., Any]:
    """``run``, a function of array leaves, followed by the deletion of those that are donated; ``consts`` are
    the arrays that the program has from outside.
    """
    donated = [i - len(consts) for i in compiled.lowered.donated]
    if not donated:
        return run

    several, held = compiled.lowered.spread is not None, [c.raw for c in consts]

    def run_donating(leaves: list[Value] | tuple[Value, ...]) -> Any:
        given = to_donate(leaves, donated)
        # Copies would hide that one array stands in two places. And over several devices it is not a failure
        # that could be explained afterwards: jaxlib 0.10 ends the process.
        if given is not leaves or (several and is_repeated([*held, *[x.raw for x in leaves]])):
            refuse_double_use(compiled, leaves, donated, consts)
        try:
            outs = run(given)
        except Exception:
            refuse_double_use(compiled, leaves, donated, consts)
            raise
        for i in donated:
            leaves[i].delete()
        return outs

    if not several:
        refuse = lambda leaves: refuse_double_use(compiled, leaves, donated, consts)
        parts = donating_parts(run, donated, refuse)
        if parts is not None:
            run_donating.donating = parts  # type: ignore[attr-defined]  # see `FrameParts`
    return run_donating


def is_repeated(raws: list[Any]) -> bool:
    """Whether one of these is there more than once."""
    return len(set(map(id, raws))) < len(raws)


def refuse_double_use(
    compiled: Compiled, leaves: list[Value] | tuple[Value, ...], donated: list[int], consts: list[Any]
) -> None:
    """Refuse a call of which a donated array was passed in two places, or is captured.

    Raises:
      ValueError: names the places.
    """
    for i in donated:
        who = f"jit of {describe_function(compiled.asked.fun)}: the array {leaves[i].aval.str_short()}"
        name_of = compiled.signature.name_of
        places = [k for k, x in enumerate(leaves) if x.raw is leaves[i].raw]
        if len(places) > 1:
            names = " and ".join([name_of(k) for k in places])
            raise ValueError(
                f"{who} is passed more than once, as {names}, and is donated; donate a copy"
            ) from None
        if any(c.raw is leaves[i].raw for c in consts):
            raise ValueError(
                f"{who} is passed as {name_of(i)} and donated, and the function uses it from outside, too; "
                "donate a copy, or make it an argument of its own"
            ) from None
