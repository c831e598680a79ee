"""What reverse mode keeps from the forward pass, for people who want to save memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.extend.functions import folded, parameter_name, source_position
from rabbet.extend.passes import Var, bodies_of, stage
from rabbet.extend.transform import typeof
from rabbet.tree import keystr

from rabbet_autodiff import checks, modes
from rabbet_autodiff.functions import Flat
from rabbet_autodiff.primitives.checkpoint import name

if TYPE_CHECKING:
    import numpy as np
    from rabbet.extend.passes import Jaxpr


@folded
def saved_residuals(f: Callable[..., Any], *args: np.ndarray | dict[Any, Any], **kwargs: Any) -> Any:
    """The values that differentiating ``f`` at these arguments keeps for the backward pass.

    Args:
      f: takes and returns pytrees of arrays.
      args, kwargs: arrays or ``ShapeDtypeStruct`` objects, or pytrees of them.

    Returns:
      a list of pairs: the type of the value, and where it comes from, a string.

    Example:
      >>> from rabbet.ad_checkpoint import saved_residuals
      >>> [aval.shape for aval, why in saved_residuals(lambda x: lax.sin(x) * 2.0, 1.0)]
      [()]
    """
    checks.function("saved_residuals", f)
    leaves, treedef = tree.flatten((args, kwargs))

    def forward(*tracers: Any) -> Any:
        flat = Flat(lambda given, named: f(*given, **named), treedef)
        _, recording = modes.record(flat, tracers)
        return recording.program()[1]

    program = stage(forward, [typeof(x) for x in leaves], getattr(f, "__name__", "f")).jaxpr
    arguments = tree.leaves_with_path(tree.unflatten(treedef, leaves))
    names = {v: _argument(f, path) for v, (path, _) in zip(program.invars, arguments, strict=True)}
    found = {}
    for v in program.outvars:
        if type(v) is Var and v not in found:
            found[v] = (v.aval, names.get(v) or _origin(program, v))
    return list(found.values())


def print_saved_residuals(f: Callable[..., Any], *args: dict[Any, Any], **kwargs: Any) -> None:
    """Print the values that differentiating ``f`` at these arguments keeps for the backward pass, one a line.

    Example:
      >>> print_saved_residuals(lambda x: rnp.sin(rnp.sin(x)), 1.0)
      f32[] output of cos from ... (<lambda>)
      f32[] output of cos from ... (<lambda>)
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {origin}")


def _argument(f: Callable[..., Any], path: tuple[Any, ...]) -> str:
    group, which, *rest = path
    name = parameter_name(f, which.idx).strip("'") if group.idx == 0 else which.key
    return f"from the argument {name}{keystr(tuple(rest))}"


def _origin(program: Jaxpr, v: Var) -> str:
    """Where a variable of a program comes from."""
    for eqn in program.equations:
        if v not in eqn.outputs:
            continue
        bodies = bodies_of(eqn.op)
        if len(bodies) == 1 and len(bodies[0][1].outvars) == len(eqn.outputs):
            body = bodies[0][1]
            inner = body.outvars[eqn.outputs.index(v)]
            if any(inner in e.outputs for e in body.equations):
                return _origin(body, inner)
        at = f" from {_place(eqn.where)}" if eqn.where is not None else ""
        if eqn.op.primitive is name:
            return f"named {eqn.op.params['name']!r}{at}"
        return f"output of {eqn.op.primitive.name}{at}"
    return "from a constant"


def _place(where: tuple[Any, ...]) -> Any:
    found = source_position(where)
    return f"{found} ({found.function})"


__all__ = ["print_saved_residuals", "saved_residuals"]
