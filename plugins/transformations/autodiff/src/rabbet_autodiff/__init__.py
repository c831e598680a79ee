"""Differentiation: ``grad`` and its family.

Forward mode is an interpreter whose payload is a value and its tangent; reverse mode is forward mode over a
recorder of the linear operations on tangents, walked backwards. See ``interpreter``, ``recorder``, then
``api``.
"""

from rabbet.extend.functions import public_module as _public_module

from rabbet_autodiff.api import grad, jvp, linearize, stop_gradient, value_and_grad, vjp
from rabbet_autodiff.custom import custom_gradient, custom_jvp, custom_vjp
from rabbet_autodiff.jacobians import hessian, jacfwd, jacobian, jacrev
from rabbet_autodiff.closure_conversion import closure_convert, fwd_and_bwd
from rabbet_autodiff.checkpoint import checkpoint, remat
from rabbet_autodiff.residuals import print_saved_residuals, saved_residuals
from rabbet_autodiff.linear_transposition import linear_transpose

__all__ = [
    "checkpoint", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp", "fwd_and_bwd", "grad",
    "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose", "linearize",
    "print_saved_residuals", "remat", "saved_residuals", "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip

_public_module(globals())
