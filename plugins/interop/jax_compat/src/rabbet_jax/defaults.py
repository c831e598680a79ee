"""What is JAX's in a process where Rabbet serves it: settings of which JAX has another default, and the name
of the package that classes of arrays belong to.
"""

import os
from typing import Any

DEFAULTS = {
    # A 64-bit dtype that is written out means 32 bits, with a warning, unless jax_enable_x64 is set.
    "explicit_x64_dtypes": "warn",
    # Libraries for the array API standard know arrays by the name of the module of their functions.
    "array_namespace": "jax.numpy",
    # A Python int beside an array of a narrower dtype is taken modulo: `uint8_array * -1` is no error.
    "python_int_overflow": "wrap",
    # A static index out of range is clamped, as a computed one is, and a list alone is not an index.
    "index_rules": "clamped",
    # make_mesh and AbstractMesh make axes of type Explicit.
    "mesh_axis_types": "explicit",
    # set_mesh says where programs run whose arguments nobody placed.
    "mesh_rules": "everywhere",
    # Loops and branches outside of jit trace their functions once: libraries count the traces.
    "keep_bodies": True,
}


def take_defaults():
    """Take JAX's defaults, where neither the program nor the environment has said otherwise."""
    from rabbet import config

    for name, value in DEFAULTS.items():
        named = {f"{prefix}_{name.upper()}" for prefix in ("RABBET", "JAX")}
        if not named & set(os.environ) and getattr(config, name) == config.settings[name].default:
            config.update(name, value)


# Libraries for JAX look for these words in messages.
AFTERWORDS = {"TracerBoolConversionError": " (Attempted boolean conversion of traced array.)"}


def take_words():
    """Let messages have the words of JAX's that libraries look for."""
    from rabbet import errors

    for name, words in AFTERWORDS.items():
        getattr(errors, name).afterword = words


def memory_space(aval):
    """The kind of memory in which values of a type lie, as JAX's types tell it."""
    import rabbet as rb

    return rb.memory.Space.Device if aval.memory is None else rb.memory.Space.Host


def take_name():
    """Let the classes of arrays and tracers say that they belong to ``jax``: opt_einsum, autoray and others
    choose their backend by that word. They are found under these names too, so that classes can be pickled.
    """
    import rabbet
    from rabbet.extend import transform
    from rabbet.extend.primitive import ShapedArray

    types: Any = ShapedArray
    types.memory_space = property(memory_space)
    rabbet.Array.__module__ = "jax"
    transform.Tracer.__module__ = "jax.core"
