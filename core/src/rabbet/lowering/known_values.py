"""Names of values that lowering knows: what reads one may write less."""


class Known(str):
    """The name of an integer constant, which remembers its value."""

    __slots__ = ("value",)
    value: int

    def __new__(cls, name, value):
        """``name``, knowing ``value``."""
        self = super().__new__(cls, name)
        self.value = value
        return self


__all__ = ["Known"]
