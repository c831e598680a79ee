"""The function that ``jit`` returns: its fast path finds the program by the arguments in one lookup.

Anything unusual (keyword or static arguments, NumPy arrays and numbers, a signature not seen before, a
transformation that is running) goes to ``Jitted.slowly``.
"""

from rabbet import config
from rabbet.extend.backend import call_by_placements
from rabbet.tree import registry


def caller(jitted):
    """The function that users call, with the stages as its attributes."""
    slowly, quick, flatten, settings = jitted.slowly, jitted.quick, registry.flatten, config.values

    def unusual(*args, **kwargs):
        return slowly(args, kwargs)

    def of_any(args):
        return slowly(args, {})

    def of_trees(args):
        """The fast path for pytrees of arrays."""
        try:
            leaves, treedef = flatten(args)
            run = quick[treedef][(*[x.spec for x in leaves], settings.traced_key)]
        except (KeyError, AttributeError, SystemError):  # the last for a tree that is too deep
            run = None
        return slowly(args, {}) if run is None else run(leaves)

    call = call_by_placements(
        jitted.fun, quick, traced=unusual, slowly=slowly, of_others=of_any if jitted.statics else of_trees
    )
    names = ("trace", "lower", "eval_shape", "clear_cache")
    vars(call).update(jitted=jitted, **{name: getattr(jitted, name) for name in names})
    return call
