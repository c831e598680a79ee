"""The names of ``rabbet.lax`` that plugins bring. How they are found is said by composition."""


def find_none(name):
    """No plugin is known until ``rabbet`` is composed."""
    raise AttributeError(f"module 'rabbet.lax' has no attribute {name!r}")


def list_none():
    return []


find = find_none
names = list_none


def use_finder(find_name, list_names):
    """Name ``(name) -> object``, which raises ``AttributeError`` for unknown names, and ``() -> names``.
    Called once, by composition.
    """
    global find, names
    find, names = find_name, list_names
