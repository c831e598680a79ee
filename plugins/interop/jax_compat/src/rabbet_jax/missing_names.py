"""Which names a program has read that are not there, and stand-ins for them."""

_touched: dict[str, str] = {}


REPORT = (
    "report it with the library and its version; rabbet_jax.report() lists all such names that this program "
    "has read"
)


def absent(name, why="Rabbet does not offer it", fix=REPORT):
    """A stand-in for a function or class that is not there: it can be read, and raises when it is called.

    Args:
      name: its full name, ``"jax.core.new_jaxpr_eqn"``.
      why: what is said about it.
      fix: what to do.

    Example:
      >>> from rabbet_jax.missing_names import absent
      >>> missing = absent("jax.core.something")
      >>> missing(1)
      Traceback (most recent call last):
      ...
      NotImplementedError: jax.core.something is not there when Rabbet serves jax: Rabbet does not offer it...
    """
    _touched[name] = why

    def refuse(self, *args, **kwargs):
        raise NotImplementedError(f"{name} is not there when Rabbet serves jax: {why}.\n  to fix: {fix}")

    def read(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return absent(f"{name}.{attribute}", why, fix)

    # A class, because libraries subclass such names and test with isinstance; calling it refuses.
    meta = type("absent", (type,), {"__call__": refuse, "__getattr__": read})
    leaf = name.rpartition(".")[2]
    return meta(leaf, (), {"__module__": name.rpartition(".")[0], "__doc__": f"Absent: {why}."})


def report():
    """What the program has read so far and is not there: a list of ``(name, why)``, sorted by name.

    Example:
      >>> import rabbet_jax
      >>> isinstance(rabbet_jax.report(), list)
      True
    """
    return sorted(_touched.items())
