"""What closed programs capture, as operands of the primitive that is called with them.

Bodies capture nothing here. Libraries that rewrite programs of JAX bind what ``make_jaxpr`` gives them, a
``ClosedJaxpr``. Where its arrays go among the operands, a primitive says by its rule ``"captures"``: from the
operands, the parameters and the captured arrays by parameter name (of a tuple of programs, a list for each)
to operands and parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.program.jaxpr import ClosedJaxpr, consts_as_inputs

if TYPE_CHECKING:
    from rabbet.rules.primitive import Primitive


def as_operands(primitive: Primitive, args: Any, params: Any) -> Any:
    """Operands and parameters in which no program is closed.

    Raises:
      TypeError: if a program captures arrays and the primitive has no rule for them.
    """
    opened, captured, none = {}, {}, True
    for name, value in params.items():
        if type(value) is ClosedJaxpr:
            opened[name], captured[name] = consts_as_inputs(value), list(value.consts)
            none = none and not value.consts
        elif type(value) is tuple and any(type(v) is ClosedJaxpr for v in value):
            opened[name] = tuple([consts_as_inputs(v) if type(v) is ClosedJaxpr else v for v in value])
            captured[name] = [list(v.consts) if type(v) is ClosedJaxpr else [] for v in value]
            none = none and not any(captured[name])
    if not opened:
        return args, params
    params = {**params, **opened}
    if none:
        return args, params
    rule = primitive.rules.get("captures")
    if rule is None:
        raise TypeError(
            f"a program in {' and '.join(captured)} of primitive {primitive.name!r} captures arrays, and the "
            "primitive does not say where they go\n"
            "  to fix: make them inputs of the program and operands of the call"
        )
    return rule(list(args), params, captured)


__all__ = ["as_operands"]
