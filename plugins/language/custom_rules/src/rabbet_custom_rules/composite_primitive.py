"""The primitive ``composite``: an operation with a name of its own that means what its program computes.

Transformations see the operations of the program. Lowering writes StableHLO's ``composite``, which a backend
that knows the name may replace; any other one compiles the program.
"""

import numpy as np
from rabbet import dtypes
from rabbet.extend.passes import evaluate
from rabbet.extend.primitive import Primitive
from rabbet.extend.rules import dense, mlir_string


def composite_aval(*avals, jaxpr, name, version, attributes):
    return jaxpr.out_avals


composite = Primitive(
    "composite", composite_aval, kinds=("body",), multiple_results=True,
    doc="a program under a name that a backend may know better",
)  # fmt: skip


@composite.decompose
def composite_parts(op, *args):
    return evaluate(op.params["jaxpr"], args)


@composite.rule("lower")
def lower_composite(op, *names):
    jaxpr = op["jaxpr"]
    if jaxpr.effects:  # a composite has values only; no order among effects could pass through it
        return op.inline(jaxpr, names)
    attributes = ", ".join([f"{key} = {text}" for key, text in op["attributes"]])
    settings = [f"composite_attributes = {{{attributes}}}"] if attributes else []
    settings.append(f"decomposition = @{op.function(jaxpr, op['name'])}")
    if op["version"]:
        settings.append(f"version = {op['version']} : i32")
    ins, outs = (", ".join([a.mlir for a in avals]) for avals in (op.in_avals, op.out_avals))
    text = (
        f"stablehlo.composite {mlir_string(op['name'])} {', '.join(names)} {{{', '.join(settings)}}} : "
        f"({ins}) -> {outs if len(op.out_avals) == 1 else f'({outs})'}"
    )
    return [op.emit(text)] if len(op.out_avals) == 1 else op.emit_many(text, len(op.out_avals))


def attribute(value):
    """The text of a StableHLO attribute for a number, a string, an array, or a list or dict of these.

    Raises:
      TypeError: for anything else.
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return mlir_string(value)
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{value:.17e} : f64"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key} = {attribute(v)}" for key, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([attribute(v) for v in value]) + "]"
    if isinstance(value, np.dtype):
        return dtypes.mlir_name(value)
    if isinstance(value, np.generic) and value.dtype.kind in "iuf":
        number = f"{float(value):.17e}" if value.dtype.kind == "f" else str(int(value))
        return f"{number} : {dtypes.mlir_name(value.dtype)}"
    if isinstance(value, np.ndarray):
        sizes = "".join([f"{n}x" for n in value.shape])
        return f"{dense(value, value.dtype)} : tensor<{sizes}{dtypes.mlir_name(value.dtype)}>"
    raise TypeError(
        f"an attribute of a composite is a number, a string, a NumPy array or dtype, or a list or dict of "
        f"these; got {type(value).__name__} {value!r}"
    )


__all__ = ["attribute", "composite"]
