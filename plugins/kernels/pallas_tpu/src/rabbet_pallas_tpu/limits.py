"""What a kernel for a TPU cannot have as a whole."""

from rabbet.experimental.pallas.targets import Refused

# Compiler parameters that change nothing here, and what they are if nobody asks.
WITHOUT_EFFECT = {
    "flags": None, "opt_level": None, "use_tc_tiling_on_sc": None, "shape_invariant_numerics": True,
    "fuse_transposed_lhs_in_matmul": False, "allow_collective_id_without_custom_barrier": False,
}  # fmt: skip


def check(call, params):
    """Raise ``Refused`` for what a call has as a whole."""
    for block in (*call.ins, *call.outs):
        kinds = {type(d).__name__ for d in block.dims}
        if "BoundedSlice" in kinds:
            raise Refused("a block with a BoundedSlice", "a Blocked dimension, and a mask for what is beyond")
        if "Element" in kinds and len(kinds - {"Squeezed"}) > 1:
            raise Refused("a block of Element and other dimensions", "Element for each dimension")
        if not block.array.shape:
            raise Refused("an operand or a result without dimensions", "one of shape (1,) in SMEM")
    for name, usual in WITHOUT_EFFECT.items():
        if getattr(params, name, usual) != usual:
            raise Refused(
                f"the compiler parameter {name}={getattr(params, name)!r}, which is not offered",
                "leave it out",
            )


__all__ = ["check"]
