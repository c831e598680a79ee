"""Arrays as tensors and tensors as arrays, over the same memory where that can be."""

from __future__ import annotations

from typing import Any

import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import Tracer
from rabbet.tree import keystr


def library():
    """The module ``torch``; ImportError with what to do where there is none."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "rabbet.torch needs PyTorch, which is not installed here: pip install torch "
            "(or a build of your choice, see pytorch.org)"
        ) from error
    return torch


def from_torch(tensors: Any, *, copy: bool = False) -> Any:
    """Tensors as arrays.

    An array shares its tensor's memory if the tensor is contiguous and begins at a multiple of 64 bytes, as
    tensors do that PyTorch has allocated itself; of others it has a copy. Arrays do not change, so do not
    write into a tensor whose memory is shared, as long as the array, or a computation with it, is in use.

    Args:
      tensors: a tensor, or a pytree of them. Other leaves stay what they are.
      copy: True: never share memory.

    Returns:
      arrays of the same shapes and dtypes, on the device where the tensors are.

    Raises:
      ValueError: a tensor requires gradients, which would be lost (``as_torch`` keeps them).
      TypeError: a tensor is sparse or quantized, or has a dtype without an equal here.
      BufferError: no device here has the tensor's memory.

    Example:
      >>> import torch
      >>> rb.torch.from_torch({"x": torch.arange(3.0)})
      {'x': Array([0., 1., 2.], dtype=float32)}
    """
    torch = library()

    def convert(path, x):
        if not isinstance(x, torch.Tensor):
            return x
        if x.requires_grad:
            raise ValueError(
                f"from_torch: the tensor{place(path)} requires gradients, which arrays know nothing of\n"
                "  to fix: x.detach() if they are not needed; rb.torch.as_torch(f) for a function of Rabbet "
                "through which they go"
            )
        return array_of(x, copy, place(path))

    return tree.map_with_path(convert, tensors)


def array_of(x, copy=False, where=""):
    """One tensor, whatever its gradients, as an array."""
    torch = library()
    if x.layout != torch.strided or x.is_quantized:
        kind = "quantized" if x.is_quantized else f"stored as {x.layout}"
        raise TypeError(
            f"from_torch: the tensor{where} is {kind}; convert it with x.to_dense() or x.dequantize()"
        )
    return rb.dlpack.from_dlpack(x.detach().resolve_conj().resolve_neg(), copy=True if copy else None)


def to_torch(arrays: Any, *, copy: bool = False) -> Any:
    """Arrays as tensors; it waits until their values are there.

    A tensor shares its array's memory (of bfloat16 and 8-bit floats on jaxlib 0.10 it has a copy). PyTorch
    does not know that arrays never change: write into ``to_torch(x, copy=True)``, or into a clone, only.

    Args:
      arrays: an array of Rabbet or NumPy, or a pytree of them. Other leaves stay what they are.
      copy: True: never share memory.

    Returns:
      tensors of the same shapes and dtypes, on the device where the arrays are, without gradients.

    Raises:
      TypeError: a value is traced: within a transformed function only ``as_rabbet`` reaches PyTorch.
      BufferError: PyTorch has no such dtype, or an array lies over several devices.

    Example:
      >>> rb.torch.to_torch(rnp.ones((2, 2), "bfloat16")).dtype
      torch.bfloat16
    """
    library()

    def convert(path, x):
        if type(x) is Tracer:
            raise TypeError(
                f"to_torch: the value{place(path)} is traced ({x.aval.str_short()}), so it has no memory\n"
                "  to fix: call the PyTorch function through rb.torch.as_rabbet"
            )
        if not isinstance(x, (rb.Array, np.ndarray)):
            return x
        try:
            return tensor_of(x, copy)
        except (BufferError, ValueError) as error:
            raise BufferError(f"to_torch: the array{place(path)}: {error}") from None

    return tree.map_with_path(convert, arrays)


def tensor_of(x, copy=False):
    """One array as a tensor."""
    torch = library()
    if isinstance(x, np.ndarray):
        # PyTorch warns of read-only memory and does not take NumPy's extensions.
        x = rb.device_put(x)
    tensor = torch.from_dlpack(x)
    return tensor.clone() if copy else tensor


def type_of(tensor):
    """The array type of a tensor, fake ones included."""
    return ShapedArray(tuple(tensor.shape), dtypes.canonicalize(str(tensor.dtype).removeprefix("torch.")))


def torch_dtype(dtype):
    """PyTorch's dtype for one of Rabbet; TypeError where it has none."""
    name = rb.dtypes.canonicalize(dtype).name
    found = getattr(library(), name, None)
    if found is None or not rb.dlpack.is_supported_dtype(dtype):
        raise TypeError(f"PyTorch has no tensors of {name}; convert with x.astype first")
    return found


def place(path):
    """Where a leaf is, for messages."""
    return f" at {keystr(path)}" if path else ""


__all__ = ["array_of", "from_torch", "library", "place", "tensor_of", "to_torch", "torch_dtype", "type_of"]
