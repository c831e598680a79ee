"""A target for kernels: the programs of a grid one behind the other, without a loop."""

import dataclasses
import itertools

import numpy as np
from rabbet import lax
from rabbet.experimental.pallas.targets import Blocked, Refused, Squeezed, Target
from rabbet.extend.passes import evaluate


@dataclasses.dataclass(frozen=True)
class Params:
    """The ``compiler_params`` that choose this target.

    Args:
      most: how many programs a grid may have.
    """

    most: int = 64


def write(site, call, names):
    """Write a kernel's call; the names of its results. ``names`` are those of the operands."""
    check(call)
    # `site.write` writes what a function of arrays computes. A writer for hardware that has a language of its
    # own makes a text of `call.kernel` instead, and writes it with `site.custom_call`.
    return site.write(lambda *operands: programs(call, operands), site.in_avals, names)


def check(call):
    """Refuse what cannot be, by name, with what to write instead."""
    if call.computed:
        raise Refused("a grid of a computed size", "a grid of numbers")
    if np.prod(call.grid, dtype=int) > call.params.most:
        raise Refused(f"a grid of {call.grid}", f"at most {call.params.most} programs, or Params(most=...)")
    for block in (*call.ins, *call.outs):
        whole = [n % d for n, d in zip(block.array.shape, block.sizes, strict=True)]
        if any(whole) or not all(isinstance(d, (Blocked, Squeezed)) for d in block.dims):
            raise Refused(
                f"blocks of {block.sizes} in an array of {block.array.shape}", "sizes that divide it"
            )


def programs(call, operands):
    """The results of a call: each program of the grid reads its blocks, runs, and writes them back."""
    n = len(call.prefetch)
    prefetch, ins = operands[:n], operands[n:]
    shared = {out: i for i, out in call.aliases}
    zeros = lambda aval: lax.full(aval.shape, 0, aval.dtype)
    outs = [ins[shared[i]] if i in shared else zeros(b.array) for i, b in enumerate(call.outs)]
    scratch = [zeros(s.state) for s in call.scratch]
    for ids in itertools.product(*map(range, call.grid)):
        ids = [np.int32(i) for i in ids]
        at = [starts(b, [*ids, *prefetch]) for b in (*call.ins, *call.outs)]
        pairs = zip([*ins, *outs], (*call.ins, *call.outs), at, strict=True)
        states = [lax.reshape(lax.dynamic_slice(x, a, b.sizes), b.state.shape) for x, b, a in pairs]
        after = evaluate(call.kernel, [*ids, *prefetch, *states, *scratch])
        written, scratch = after[: len(outs)], after[len(outs) :]
        places = zip(outs, written, call.outs, at[len(ins) :], strict=True)
        outs = [lax.dynamic_update_slice(x, lax.reshape(v, b.sizes), a) for x, v, b, a in places]
    return outs


def starts(block, args):
    """Where a program's block begins, in elements."""
    found = evaluate(block.index, args)
    return [lax.mul(i, np.int32(n)) for i, n in zip(found, block.sizes, strict=True)]


TARGET = Target("unrolled", platform="cpu", params=Params, write=write, doc="programs one behind the other")

__all__ = ["TARGET", "Params"]
