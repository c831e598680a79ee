"""Rabbet's primitives by JAX's names."""

import rabbet as rb
from rabbet.extend import passes
from rabbet.extend import primitive as primitives

from rabbet_jax.composed_primitives import CALLED, COMPOSED, composed
from rabbet_jax.composed_primitives import OTHERWISE as ALSO

# What makes primitives of packages be known: a function of `rabbet.lax` out of each module that has some.
MAKERS = (
    "reduce_window conv_general_dilated sort top_k cumsum psum igamma lgamma bessel_i0e fft linalg "
    "rng_bit_generator reduce while_loop stop_gradient with_sharding_constraint"
).split()

# Whose name is another one here.
OTHERWISE = {"remat": "checkpoint"}


def primitive_named(name):
    """``add`` for ``"add_p"``.

    Raises:
      AttributeError: if no primitive has that name.
    """
    short = name[:-2] if name.endswith("_p") and name[0] != "_" else ""
    short = OTHERWISE.get(short, short)
    if short in COMPOSED or short in CALLED or short in ALSO:
        return composed(short)
    found = getattr(primitives, short, None) if short else None
    if isinstance(found, primitives.Primitive):
        return found
    found = passes.all_primitives().get(short)
    if short and found is None:
        for maker in MAKERS:
            getattr(rb.lax, maker, None)
        found = passes.all_primitives().get(short)
    if found is None:
        raise AttributeError(name)
    return found
