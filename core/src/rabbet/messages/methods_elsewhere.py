"""Methods that arrays of other libraries have and arrays here have not: what is written instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.messages.tracebacks import fold_traceback

if TYPE_CHECKING:
    from rabbet.typing import Value

# From a name to what does the same for an array x.
INSTEAD = {
    "append": "rabbet.numpy.append(x, values), a new array",
    "backward": "rb.grad(function)(x): functions are differentiated, not arrays",
    "clone": "x.copy()",
    "contiguous": "x itself: a program lays out its arrays as it needs them",
    "cpu": "numpy.asarray(x), or rb.device_put(x, rb.devices('cpu')[0])",
    "cuda": "rb.device_put(x, rb.devices('cuda')[0])",
    "detach": "lax.stop_gradient(x)",
    "dim": "x.ndim",
    "double": "x.astype('float64')",
    "expand": "rabbet.numpy.broadcast_to(x, shape)",
    "fill": "rabbet.numpy.full_like(x, value), a new array",
    "float": "x.astype('float32')",
    "grad": "rb.grad(function)(x): functions are differentiated, not arrays",
    "half": "x.astype('float16')",
    "int": "x.astype('int32')",
    "long": "x.astype('int64')",
    "masked_fill": "rabbet.numpy.where(mask, value, x)",
    "numel": "x.size",
    "numpy": "numpy.asarray(x)",
    "permute": "x.transpose(axes)",
    "requires_grad": "rb.grad(function, argnums): it says which arguments are differentiated",
    "resize": "rabbet.numpy.resize(x, shape), a new array",
    "to": "rb.device_put(x, device), or x.astype(dtype)",
    "type": "x.astype(dtype)",
    "unsqueeze": "rabbet.numpy.expand_dims(x, axis), or x[:, None]",
    "zero_": "rabbet.numpy.zeros_like(x), a new array",
}


def absent(kind: str, name: str) -> str:
    """The text of an AttributeError; ``kind`` is the name of a class."""
    text = f"'{kind}' object has no attribute {name!r}"
    return f"{text}; write {INSTEAD[name]}" if name in INSTEAD else text


class Absent:
    """What stands for a name of ``INSTEAD`` in a class: for ``hasattr`` and ``dir`` it is not there."""

    def __init__(self, kind: str, name: str) -> None:
        self.text, self.name = absent(kind, name), name

    def __get__(self, instance: Value, owner: type) -> None:
        try:
            raise AttributeError(self.text, name=self.name)  # no obj: Python need not suggest another
        except AttributeError as error:
            fold_traceback(error)
            raise


__all__ = ["INSTEAD", "Absent", "absent"]
