"""Rabbet's primitives by JAX's names."""

from rabbet.extend import primitive as primitives


def primitive_named(name):
    """``add`` for ``"add_p"``.

    Raises:
      AttributeError: if no primitive has that name.
    """
    found = getattr(primitives, name[:-2], None) if name.endswith("_p") and name[0] != "_" else None
    if not isinstance(found, primitives.Primitive):
        raise AttributeError(name)
    return found
