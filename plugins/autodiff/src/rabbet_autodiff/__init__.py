"""Differentiation: ``grad`` and its family.

Forward mode is an interpreter whose payload is a value and its tangent; reverse mode is forward mode over a
recorder of the linear operations on tangents, walked backwards. See ``interpreter``, ``recorder``, then
``api``.
"""

from rabbet_autodiff.api import grad, jvp, linear_transpose, linearize, stop_gradient, value_and_grad, vjp
from rabbet_autodiff.custom import custom_jvp, custom_vjp
from rabbet_autodiff.jacobians import hessian, jacfwd, jacobian, jacrev

__all__ = [
    "custom_jvp", "custom_vjp", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose",
    "linearize", "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip
