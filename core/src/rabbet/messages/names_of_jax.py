"""Names of JAX that ``rb`` has not: where what they are for is."""

from __future__ import annotations

SERVED = "programs that write `import jax` run unchanged with `rabbet run-jax`"
# By the name behind ``jax.``.
PLACES = {
    "Tracer": "rabbet.extend.transform.Tracer",
    "abstract_arrays": "types are rabbet.extend.primitive.ShapedArray",
    "api_util": SERVED,
    "core": f"programs are in rabbet.extend.passes, tracers in rabbet.extend.transform; {SERVED}",
    "extend": "rabbet.extend has other modules: docs/extend.md",
    "interpreters": f"rule tables are in rabbet.extend.transform; {SERVED}",
    "lib": "jaxlib is behind rabbet.extend.native and rabbet.extend.backend",
    "linear_util": SERVED,
    "pallas": "rabbet.experimental.pallas",
    "xla": SERVED,
    "xla_computation": "rb.jit(f).lower(*args).as_text()",
}


def place(name: str) -> str | None:
    """What to write for ``rb.<name>``, or None.

    Example:
      >>> from rabbet.messages.names_of_jax import place
      >>> place("pallas")
      'rabbet.experimental.pallas'
    """
    return PLACES.get(name)
