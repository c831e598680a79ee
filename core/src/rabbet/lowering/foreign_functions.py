"""Functions of another module, to be written beside those of a program."""

from typing import NamedTuple


class ForeignFunctions(NamedTuple):
    """``text``: private functions under names that nobody else uses; ``symbol``: which of them to call."""

    text: str
    symbol: str
