"""``jax.experimental.hijax``: classes that libraries derive from; own types are plugins of Rabbet."""

OPEN = True  # every name can be read


def register_hitype(cls, type_of):
    """Libraries register their types when they are imported; none of them is used then."""


def aval_method(fun):
    """A method that tracers would have; here as it is."""
    return fun


class aval_property:
    """A property that tracers would have."""

    def __init__(self, fget):
        self.fget = fget
