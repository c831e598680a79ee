"""Numbers of a byte and less, where XLA for GPUs goes wrong."""

from rabbet.extend.rules import in_wider, less_than_a_byte
from rabbet.extend.transform import lower


def pad(op, *names):
    """The rule for ``pad`` on GPUs. Seen with jaxlib 0.11.2: it makes a slice of padding that takes elements
    away, and finds that the slice is laid out in another way.
    """
    if less_than_a_byte(op.out.dtype) and any(min(low, high) < 0 for low, high, _ in op["padding_config"]):
        return in_wider(op, names)[0]
    return lower.lookup(op.primitive)(op, *names)


def convert_element_type(op, x):
    """The rule for ``convert_element_type`` on GPUs. XLA takes a conversion there and back for none
    (`xla_allow_excess_precision`): what was quantized to 8 or 4 bits and is calculated with in float32 would
    keep all its digits. A barrier keeps the two apart; numbers of 16 bits are left to XLA, as in JAX.
    """
    (a,) = op.in_avals
    out = lower.lookup(op.primitive)(op, x)
    if a.kind not in "fc" or op.out.kind != "f" or op.out.dtype.itemsize > 1 or a.dtype == op.out.dtype:
        return out
    return op.emit(f"stablehlo.optimization_barrier {out} : {op.out.mlir}")
