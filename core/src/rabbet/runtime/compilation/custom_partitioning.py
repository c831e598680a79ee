"""Calls of which Python says how they are cut up, while the compiler spreads a program over devices.

The compiler knows such calls by one target, and asks with the call's configuration, which names the
compilation and the call within it (see ``Site.partitioner``). The answer has the program of a part.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from rabbet.lowering.custom_calls import PARTITIONED, targets
from rabbet.lowering.module import lower_program
from rabbet.lowering.target import Target
from rabbet.runtime.jaxlib import adapter, raw_shards
from rabbet.runtime.platforms import backends

_asked: dict = {}  # the compilations under way, by name
_names = itertools.count()
_registered: set = set()  # the plugins of PJRT, and None for jaxlib itself, that know the target


class Compilation:
    """One compilation, and the error of a partitioner that failed in it."""

    def __init__(self, lowering: Any) -> None:
        self.lowering, self.error = lowering, None

    def answer(self, index: Any, in_shapes: Any, in_hlos: Any, out_shape: Any, out_hlo: Any) -> Any:
        """The program of a part, and how operands and results are to lie: what the compiler asks for."""
        partition = self.lowering.module.partitioners[index]
        count = len(self.lowering.spread.group)
        several = out_shape.is_tuple()
        out_shapes = out_shape.tuple_shapes() if several else [out_shape]
        out_hlos = out_hlo.tuple_elements() if several and not out_hlo.is_replicated() else [out_hlo]
        out_hlos = out_hlos * len(out_shapes) if len(out_hlos) == 1 else out_hlos
        tiles = lambda shape, h: raw_shards.tiles_of(h, len(shape.dimensions()), count)
        ins = [tiles(s, h) for s, h in zip(in_shapes, in_hlos, strict=True)]
        outs = [tiles(s, h) for s, h in zip(out_shapes, out_hlos, strict=True)]
        jaxpr, manual, ins, outs = partition(ins, outs)
        target = Target(self.lowering.platform, manual=manual)
        module = lower_program(jaxpr, target, name=self.lowering.name)
        # What the parts call: the program's own text does not name it.
        backends.default_registry().get(self.lowering.platform).provide(targets(module.key_text))
        given = [raw_shards.tiled_hlo(*t) for t in outs]
        result = adapter.HloSharding.tuple_sharding(out_shape, given) if several else given[0]
        return module.key_text.encode(), [raw_shards.tiled_hlo(*t) for t in ins], result


def partition(in_shapes: Any, in_hlos: Any, out_shape: Any, out_hlo: Any, configuration: Any) -> Any:
    """What the compiler calls to have one call cut up."""
    name, index = configuration.decode().split()
    compilation = _asked[name]
    try:
        return compilation.answer(int(index), in_shapes, in_hlos, out_shape, out_hlo)
    except BaseException as error:
        compilation.error = error
        raise


def same(*args: Any) -> Any:
    """What the compiler's older way of spreading shardings calls: operands and results lie as they do."""
    return args[0]


@contextlib.contextmanager
def answering(lowering: Any) -> Iterator[Any]:
    """While a program is compiled, its partitioners are asked; gives the text to compile."""
    text = lowering.module.text
    if not lowering.module.partitioners:
        yield text
        return
    from rabbet.runtime.jaxlib import native_functions  # few programs have any

    native_functions.register_partitioner(PARTITIONED, partition, same, same, _registered)
    name = f"{PARTITIONED}{next(_names)}"
    compilation = _asked[name] = Compilation(lowering)
    try:
        yield text.replace(f'backend_config = "{PARTITIONED} ', f'backend_config = "{name} ')
    except adapter.XlaRuntimeError:
        if compilation.error is not None:
            raise compilation.error from None
        raise
    finally:
        del _asked[name]


__all__ = ["answering"]
