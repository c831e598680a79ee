"""The sizes of a call: worked out from the dimensions of its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from rabbet.export.errors import ExportError
from rabbet.export.symbolic.expressions import Dimension, is_whole, made, names_in, value_of


class DimensionPlace(NamedTuple):
    """A dimension of an argument leaf."""

    leaf: int
    axis: int
    dimension: Any


class Step(NamedTuple):
    """``name = (the dimension at place - rest) / factor``, in which rest is of sizes that are known by
    then.
    """

    name: str
    place: DimensionPlace
    factor: int
    rest: Any


def symbolic_places(avals):
    """The symbolic dimensions of argument leaves."""
    return [
        DimensionPlace(i, k, d)
        for i, aval in enumerate(avals)
        for k, d in enumerate(aval.shape)
        if isinstance(d, Dimension)
    ]


def sizes_in(avals):
    """The names of the sizes in types, sorted."""
    return sorted({name for a in avals for d in a.shape for name in names_in(d)})


def scope_of(avals):
    """The scope of the symbolic dimensions in types, or None.

    Raises:
      ValueError: where there are several.
    """
    scopes = {id(p.dimension.scope): p.dimension.scope for p in symbolic_places(avals)}
    if len(scopes) > 1:
        raise ValueError(
            "export: the arguments have symbolic dimensions of different scopes; make them with one "
            "scope=SymbolicScope(), or all with one call of symbolic_args_specs"
        )
    return next(iter(scopes.values()), None)


def steps_for(avals, describe):
    """The ``Step``s by which the sizes in the types of arguments are found.

    Raises:
      ExportError: for sizes that do not follow from dimensions one by one, linearly.
    """
    left, known, steps = symbolic_places(avals), set(), []
    wanted = set(sizes_in(avals))
    while True:
        found = next((s for p in left if (s := _step(p, known)) is not None), None)
        if found is None:
            break
        steps.append(found)
        known.add(found.name)
        left.remove(found.place)
    if missing := sorted(wanted - known):
        shown = ", ".join(f"{describe(p.leaf)}.shape[{p.axis}] = {p.dimension}" for p in left)
        raise ExportError(
            f"Cannot solve for values of dimension variables {set(missing)}: each has to follow from one "
            f"dimension of an argument, in which it stands linearly and alone or beside known ones. There "
            f"are {shown}\n  to fix: give an argument a dimension that is {missing[0]} itself"
        )
    return steps


def _step(place, known):
    unknown = names_in(place.dimension) - known
    if len(unknown) != 1:
        return None
    (name,) = unknown
    terms = dict(place.dimension.terms)
    factor = terms.pop(((name, 1),), 0)
    rest = made(place.dimension.scope, terms)
    if not factor or name in names_in(rest):
        return None
    return Step(name, place, factor, rest)


def on_numbers(name, x, y):
    """An operation on ints."""
    if name == "floordiv":
        return x // y
    if name == "mod":
        return x % y
    return max(x, y) if name == "max" else min(x, y)


def solved(avals, shapes, describe, who):
    """The sizes by name for arguments of these shapes.

    Args:
      avals: the types of the arguments, with symbolic dimensions.
      shapes: those of the arguments of a call.
      describe: ``describe(leaf)``, what to call an argument.
      who: the function's name, for messages.

    Raises:
      ExportError: for shapes that do not fit each other, the types, or constraints.
    """
    sizes = {}
    places = symbolic_places(avals)
    specification = ", ".join(f"{describe(p.leaf)}.shape[{p.axis}] = {p.dimension}" for p in places)
    wrong = lambda text: ExportError(
        f"{who!r}: the shapes of the arguments do not fit those that it was exported for: {text}\n"
        f"  exported for {specification}"
        + (f"; found {', '.join(f'{n} = {v}' for n, v in sizes.items())}" if sizes else "")
    )
    for step in steps_for(avals, describe):
        given = shapes[step.place.leaf][step.place.axis]
        where = f"{describe(step.place.leaf)}.shape[{step.place.axis}], which is {given},"
        size, rest = divmod(given - value_of(step.rest, sizes, on_numbers), step.factor)
        if rest:
            raise wrong(f"{where} is no {step.place.dimension} for a whole {step.name}")
        if size < 1:
            raise wrong(f"{where} makes {step.name} = {size}, and sizes are at least 1")
        sizes[step.name] = size
    for i, (aval, shape) in enumerate(zip(avals, shapes, strict=True)):
        for axis, (d, given) in enumerate(zip(aval.shape, shape, strict=True)):
            expected = value_of(d, sizes, on_numbers)
            if expected != given:
                raise wrong(f"{describe(i)}.shape[{axis}] is {given}, and {d} is {expected}")
    scope = scope_of(avals)
    for left, sign, right in scope.conditions(set(sizes)) if scope is not None else ():
        x, y = value_of(left, sizes, on_numbers), value_of(right, sizes, on_numbers)
        if not (x >= y if sign == ">=" else x == y):
            raise wrong(f"the constraint {left} {sign} {right} does not hold")
    return sizes


def at_sizes(shape, sizes):
    """A shape for sizes."""
    return tuple([d if is_whole(d) else value_of(d, sizes, on_numbers) for d in shape])


__all__ = [
    "DimensionPlace", "Step", "at_sizes", "scope_of", "sizes_in", "solved", "steps_for", "symbolic_places",
]  # fmt: skip
