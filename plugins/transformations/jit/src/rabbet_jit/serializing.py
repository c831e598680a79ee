"""A ``Compiled`` taken apart and put together again, for ``rabbet.experimental.serialize_executable``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet.extend.functions import to_array
from rabbet.extend.native import pack_executable, unpack_executable
from rabbet.extend.passes import ClosedJaxpr

from rabbet_jit.stages import Compiled

if TYPE_CHECKING:
    from rabbet import Device
    from rabbet.extend.primitive import ShapedArray


def packed(compiled: Compiled | Callable[..., Any]) -> tuple[Any, ...]:
    """What ``unpacked`` needs, as values that pickle, without the two structures."""
    if type(compiled) is not Compiled:
        raise ValueError(
            "serialize takes a compiled function, rb.jit(f).lower(...).compile(), got "
            f"{type(compiled).__name__}"
        )
    if compiled.program.cells or compiled.signature.cells:
        raise ValueError(
            f"serialize of {compiled.fun_name}: it reads or writes references (rabbet.ref), which belong to "
            "this process; take their contents as arguments and return the new ones"
        )
    consts = [np.asarray(c) for c in compiled.program.closed.consts]
    names = [compiled.signature.name_of(i) for i in range(len(compiled.avals))]
    static = bool(compiled.signature.static_args or compiled.signature.static_kwargs)
    return (
        pack_executable(compiled.executable, compiled.options), consts, compiled.fun_name, compiled.avals,
        compiled.program.closed.out_avals, names, static, compiled.lowered.donated,
    )  # fmt: skip


def unpacked(
    executable: dict[Any, Any],
    consts: list[np.ndarray],
    name: str,
    avals: tuple[ShapedArray, ...],
    out_avals: tuple[ShapedArray, ...],
    names: list[str],
    static: bool,
    donated: tuple[Any, ...],
    in_tree: Any,
    out_tree: Any,
    device: Device,
) -> Compiled:
    """A ``Compiled`` that runs what was packed."""
    loaded = unpack_executable(executable, device)
    fun = SimpleNamespace(__name__=name)
    signature = SimpleNamespace(
        treedef=in_tree, static_args=static, static_kwargs=(), cells=(), name_of=lambda index: names[index]
    )
    closed = ClosedJaxpr(SimpleNamespace(out_avals=out_avals), [to_array(c, dtype=c.dtype) for c in consts])
    program = SimpleNamespace(closed=closed, out_tree=out_tree, name=name, cells=())
    asked = SimpleNamespace(fun=fun, options=None, device=loaded.device, donated=donated)
    lowered = SimpleNamespace(
        asked=asked,
        signature=signature,
        program=program,
        avals=tuple(avals),
        key=None,
        donated=donated,
        spread=loaded.lowering.spread,
        device=None,
        lowering=loaded.lowering,
    )
    return Compiled(lowered, loaded, None)


__all__ = ["packed", "unpacked"]
