"""Calls from a compiled program back into Python, as the lowering leaves them for the runtime."""

from collections.abc import Callable
from typing import NamedTuple

from rabbet.lowering.regions import TOKEN, types_of
from rabbet.program.avals import ShapedArray

TARGET = "xla_ffi_python_cpu_callback"
"""The name under which jaxlib has registered the call; it finds the function by an index."""


class HostCallback(NamedTuple):
    """One function that a program calls.

    Attributes:
      function: takes a list of arrays and returns NumPy arrays of exactly the types that the program was
        promised. It must check them: wrong bytes are not noticed below.
      in_avals: the types of its arguments.
      tokens: how many tokens come before the arguments, and before the results.
      out_avals: the types of its results.
    """

    function: Callable[[list], list]
    in_avals: tuple[ShapedArray, ...]
    tokens: int = 0
    out_avals: tuple[ShapedArray, ...] = ()


def write_python_call(op, function, names, effect=None):
    """Write a call of Python as the lowering of an operation.

    Args:
      op: the lowering site; its types are those of the call.
      function: see ``HostCallback``.
      names: the operands.
      effect: the ``Effect`` of the call. Without one the call may be left out, or made once for two.

    Returns:
      the names of the results.

    Example:
      >>> from rabbet.extend.primitive import Primitive, write_python_call
      >>> hypot = Primitive("python_hypot", lambda x, y: x, kinds=("elementwise",))
      >>> @hypot.rule("lower")
      ... def lower_hypot(op, x, y):
      ...     return write_python_call(op, lambda arrays: [np.hypot(*arrays)], [x, y])[0]
      >>> float(hypot(np.float32(3), np.float32(4)))
      5.0
    """
    threaded = (effect,) if effect is not None and effect.ordered else ()
    callback = HostCallback(function, tuple(op.in_avals), len(threaded), tuple(op.out_avals))
    operands = ", ".join([*[op.token(e) for e in threaded], *names])
    # Tokens come first here, where jaxlib expects them.
    ins, outs = (
        ", ".join([text for text in (*[TOKEN] * len(threaded), types_of(avals)) if text])
        for avals in (op.in_avals, op.out_avals)
    )
    n = len(op.out_avals) + len(threaded)
    results = op.emit_all(
        f"stablehlo.custom_call @{TARGET}({operands}) {{api_version = 4 : i32, "
        f"has_side_effect = {'true' if effect is not None else 'false'}, {op.on_one_device}"
        f"backend_config = {{index = {op.callback(callback)} : ui64}}}} : ({ins}) -> "
        f"{outs if n == 1 else f'({outs})'}",
        n,
    )
    for e in threaded:
        op.set_token(e, results[0])
    return results[len(threaded) :]
