"""``jax.make_user_context``: settings that a program makes for itself."""

import itertools

from rabbet import config
from rabbet.extend.backend import Setting

_numbers = itertools.count(1)


class UserContext:
    """Called with a value, a context manager that sets it; ``value`` is the one in force here."""

    def __init__(self, default):
        self.name = f"user_context_{next(_numbers)}"
        config.define(Setting(self.name, default, _hashed, "a value of the program's own", traced=True))

    def __call__(self, value):
        return config.override(**{self.name: value})

    @property
    def value(self):
        """The value in force."""
        return getattr(config, self.name)

    def set_global(self, value):
        """Set the value for the whole process."""
        config.update(self.name, value)

    def get_global(self):
        """The value in force in no block: that of the process."""
        return getattr(type(config.values), self.name, config.settings[self.name].default)


def _hashed(value):
    hash(value)
    return value
