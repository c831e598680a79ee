"""Calls from a compiled program back into Python, as the lowering leaves them for the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.errors import MissingRule, ShardingError
from rabbet.lowering.custom_calls import layout_text, row_major
from rabbet.lowering.regions import TOKEN, types_of
from rabbet.program.avals import ShapedArray

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.effects import Effect


class HostCallback(NamedTuple):
    """One function that a program calls.

    Attributes:
      function: takes a list of arrays and returns NumPy arrays of exactly the types that the program was
        promised. It must check them: wrong bytes are not noticed below.
      in_avals: the types of its arguments.
      tokens: how many tokens come before the arguments, and before the results.
      out_avals: the types of its results.
      device: which of several devices calls it; None: the first of this process.
      partitioned: whether devices of a program over several give it their parts of the arguments.
    """

    function: Callable[[list], list]
    in_avals: tuple[ShapedArray, ...]
    tokens: int = 0
    out_avals: tuple[ShapedArray, ...] = ()
    device: object = None
    partitioned: bool = False


def write_python_call(
    op: Site,
    function: Callable[..., Any],
    names: list[str] | tuple[str, ...],
    effect: Effect | None = None,
    device: Any = None,
    partitioned: bool = False,
) -> list[str]:
    """Write a call of Python as the lowering of an operation.

    Args:
      op: the lowering site; its types are those of the call.
      function: see ``HostCallback``.
      names: the operands.
      effect: the ``Effect`` of the call. Without one the call may be left out, or made once for two.
      device: the ``Device`` of a program over several that calls it, with whole operands; None: the first.
      partitioned: in a program over several devices each calls it with the part that it has of the operands.

    Returns:
      the names of the results.

    Raises:
      MissingRule: programs of this platform cannot call Python (``Backend.python_call``).
      ShardingError: the program does not run on ``device``; or the call has an effect and stands in a
        ``shard_map`` over some axes of a mesh only.

    Example:
      >>> from rabbet.extend.primitive import Primitive, write_python_call
      >>> hypot = Primitive("python_hypot", lambda x, y: x, kinds=("elementwise",))
      >>> @hypot.rule("lower")
      ... def lower_hypot(op, x, y):
      ...     return write_python_call(op, lambda arrays: [np.hypot(*arrays)], [x, y])[0]
      >>> float(hypot(np.float32(3), np.float32(4)))
      5.0
    """
    if op.python_call is None:
        called = op.params.get("callback", "Python")
        raise MissingRule(
            f"{op.primitive.name!r} calls {called} while a program runs, which the platform {op.platform!r} "
            "does not offer\n  to fix: compute this part outside the program that is compiled for it, on the "
            "host or on the CPU"
        )
    if effect is not None and op.manual is not None and op.cut_over > 1:
        raise ShardingError(
            f"{op.primitive.name} calls Python within shard_map, and the compiler partitions each device's "
            "program there over the other axes, so no device is the one to call it\n  to fix: name "
            "all axes of the mesh in axis_names, or return the value and call Python outside"
        )
    partitioned = partitioned and op.is_cut_up
    if partitioned and effect is not None and effect.ordered:
        raise ShardingError(
            f"{op.primitive.name}: the devices of a program over several call Python with their parts when "
            "they get there, so partitioned calls have no order\n"
            "  to fix: ordered=False, or partitioned=False"
        )
    target = op.python_call
    if partitioned:  # jaxlib's function of this name has a rule by which the compiler cuts the call up
        target = target.replace("xla_ffi_python", "xla_ffi_partitioned_python")
    place = "" if partitioned else op.on_one_device(device, int(effect is not None and effect.ordered))
    threaded = (effect,) if effect is not None and effect.ordered else ()
    avals = tuple(op.in_avals), tuple(op.out_avals)
    n_tokens = len(threaded)
    callback = HostCallback(function, avals[0], n_tokens, avals[1], device, partitioned)
    operands = ", ".join([*[op.token(e) for e in threaded], *names])
    # Tokens come first here, where jaxlib expects them.
    ins, outs = (
        ", ".join([text for text in (*[TOKEN] * n_tokens, types_of(avals)) if text])
        for avals in (op.in_avals, op.out_avals)
    )
    # By rows, as NumPy has them: without these words a compiler may choose another order.
    of_tokens = [0] * n_tokens
    given, returned = (
        ", ".join([layout_text(row_major(n)) for n in (*of_tokens, *[a.physical.ndim for a in avals])])
        for avals in (op.in_avals, op.out_avals)
    )
    n = len(op.out_avals) + n_tokens
    results = op.emit_all(
        f"stablehlo.custom_call @{target}({operands}) {{api_version = 4 : i32, "
        f"has_side_effect = {'true' if effect is not None else 'false'}, {place}"
        f"operand_layouts = [{given}], result_layouts = [{returned}], "
        f"backend_config = {{index = {op.callback(callback)} : ui64}}}} : ({ins}) -> "
        f"{outs if n == 1 else f'({outs})'}",
        n,
    )
    for e in threaded:
        op.set_token(e, results[0])
    found = results[n_tokens:]
    if not op.is_cut_up:
        return found
    # Each device gets them: a result of a program that stayed on one was read as zeros (jaxlib 0.10).
    return [op.whole(name, aval) for name, aval in zip(found, op.out_avals, strict=True)]
