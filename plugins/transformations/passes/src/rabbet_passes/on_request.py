"""Passes that run only where they are asked for.

A first lowering wants the whole list of passes. What these three do is in modules of their own, which are
loaded when they run.
"""

from rabbet.extend.passes import Pass


def fold(jaxpr, context):
    """``rabbet_passes.constant_folding``."""
    from rabbet_passes.constant_folding import fold

    return fold(jaxpr, context)


def flatten_dots(jaxpr, context):
    """``rabbet_passes.weight_dots``."""
    from rabbet_passes.weight_dots import flatten_dots

    return flatten_dots(jaxpr, context)


def outline(jaxpr, context):
    """``rabbet_passes.outline``."""
    from rabbet_passes.outline import outline

    return outline(jaxpr, context)


FOLD = Pass(
    "fold", fold, before=("cse", "dead-code"), default=False,
    bodies=False, doc="compute constants, cancel operations that undo each other",
)  # fmt: skip
WEIGHT_DOTS = Pass(
    "weight-dots-2d", flatten_dots, after=("cse",), default=False,
    bodies=False, doc="products with a weight are products of matrices",
)  # fmt: skip
OUTLINE = Pass(
    "outline", outline, platforms=("cpu",), after=("dead-code", "cse", "fold", "weight-dots-2d"),
    bodies=False, doc="make repeated blocks one function", default=False,
)  # fmt: skip
