"""Numbers of less than a byte, where XLA for GPUs ends the process: as bytes."""

from rabbet.extend.rules import in_wider, less_than_a_byte
from rabbet.extend.transform import lower


def pad(op, *names):
    """The rule for ``pad`` on GPUs. Seen with jaxlib 0.11.2: it makes a slice of padding that takes elements
    away, and finds that the slice is laid out in another way.
    """
    if less_than_a_byte(op.out.dtype) and any(min(low, high) < 0 for low, high, _ in op["padding_config"]):
        return in_wider(op, names)[0]
    return lower.lookup(op.primitive)(op, *names)
