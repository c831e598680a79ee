"""PyTorch's tensors, functions and modules with Rabbet's: memory is shared, derivatives go through.

PyTorch is imported by the first call, not with this module.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.torch.into_rabbet import as_rabbet, from_module
from rabbet.torch.into_torch import as_torch
from rabbet.torch.tensors import from_torch, to_torch

__all__ = ["as_rabbet", "as_torch", "from_module", "from_torch", "to_torch"]

_public_module(globals())
