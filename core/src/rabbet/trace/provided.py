"""Public names that plugins provide, asked for from the tiers below the plugins: ``vmap``, ``jvp``.

The place is open until ``rabbet`` is composed.
"""


def no_plugins(name):
    """What ``find`` is until ``rabbet`` is composed."""
    raise RuntimeError(f"rabbet.{name} was asked for while rabbet is being imported")


find = no_plugins


def by_plugin(name):
    """What ``rabbet.<name>`` is, from the package that provides it.

    Raises:
      MissingPluginError: if none does; says what to install.
    """
    return find(name)


def use_finder(finder):
    """Name the function that finds public names. Called once, by composition."""
    global find
    find = finder


__all__ = ["by_plugin", "use_finder"]
