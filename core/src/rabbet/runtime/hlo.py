"""A program's text as an HLO module, before any pass of the compiler."""

from jaxlib import _jax


def hlo_module(text):
    """A StableHLO module as an HLO module, with methods such as ``to_string``.

    Example:
      >>> from rabbet.extend.backend import hlo_module
      >>> hlo_module(rb.jit(lax.sin).lower(1.0).as_text()).to_string().partition(",")[0]
      'HloModule sin'
    """
    computation = _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
    return computation.get_hlo_module()
