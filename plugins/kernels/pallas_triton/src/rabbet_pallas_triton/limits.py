"""What a kernel for a GPU cannot have: its programs run at once, in no order, and share no memory."""

from rabbet.experimental.pallas.targets import Element, Refused, uses_of, varies_with

BOUNDED = "BoundedSlice"


def check(call):
    """Raise ``Refused`` for what a call has as a whole; operations are refused where they are written."""
    if call.scratch:
        what = "semaphores" if call.scratch[0].kind else "scratch that outlives a program"
        raise Refused(what, "carry values through lax.fori_loop within one program of the grid")
    if call.computed:
        raise Refused(
            "a grid of a computed size", "a grid of the greatest size, and pl.when(pl.program_id(0) < n)"
        )
    for block in [*call.ins, *call.outs]:
        for dim in block.dims:
            if type(dim).__name__ == BOUNDED:
                raise Refused(
                    "a block with a BoundedSlice", "a Blocked dimension, and a mask for what is beyond"
                )
            if isinstance(dim, Element) and any(dim.padding):
                raise Refused(
                    "an Element dimension with padding", "masks where the block reaches beyond the array"
                )
    for i, block in enumerate(call.outs):
        in_turn(call, i, block)


def in_turn(call, i, block):
    """Refuse a result of which one program needs what another has written, or that several write."""
    given = varies_with(block.index)
    shared = [d for d, n in enumerate(call.grid) if n != 1 and d not in given]
    if not shared:
        return
    state = len(call.grid) + len(call.prefetch) + len(call.ins) + i
    whole = block.state.shape == block.array.shape
    for use in uses_of(call.kernel, call.kernel.invars[state]):
        if use.name in ("atomic", "compare_and_swap"):
            continue
        if whole and not use.everything:  # each program may have a part of its own
            continue
        if use.name == "load" or not use.guarded:
            said = "reads what others wrote" if use.name == "load" else "overwrites what others wrote"
            raise Refused(
                f"a result, number {i}, of which programs along grid dimension {shared[0]} write the same "
                f"block; each {said}, and on a GPU they run in no order",
                "sum up in a lax.fori_loop within one program, or pl.atomic_add",
                use.where,
            )


__all__ = ["check"]
