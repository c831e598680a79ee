"""The function that ``jit`` returns: its fast path finds the program by the arguments in one lookup.

Anything unusual (keyword or static arguments, NumPy arrays and numbers, a signature not seen before, a
transformation that is running) goes to ``Jitted.slowly``.
"""

import operator
import weakref

from rabbet import config
from rabbet import tree as trees
from rabbet.extend.backend import call_by_placements


class Quick(dict):
    """The programs of a function by what the fast path sees. Where the function is sent to another process,
    they stay here.
    """

    __slots__ = ("owner",)

    def __init__(self, owner):
        super().__init__()
        # Not held: a function that is dropped gives its programs back at once.
        self.owner = weakref.ref(owner)

    def __reduce__(self):
        return operator.attrgetter("quick"), (self.owner(),)


def caller(jitted):
    """The function that users call, with the stages as its attributes."""
    slowly, quick, settings = jitted.slowly, jitted.quick, config.values

    def unusual(*args, **kwargs):
        return slowly(args, kwargs)

    def of_any(args):
        return slowly(args, {})

    def of_trees(args):
        """The fast path for pytrees of arrays."""
        try:
            # By the module: a function sent to another process can name that, not the registry itself.
            leaves, treedef = trees.registry.flatten(args)
            run = quick[treedef][(*[x.spec for x in leaves], settings.traced_key)]
        except (KeyError, AttributeError, SystemError):  # the last for a tree that is too deep
            run = None
        return slowly(args, {}) if run is None else run(leaves)

    call = call_by_placements(
        jitted.fun, quick, traced=unusual, slowly=slowly, of_others=of_any if jitted.statics else of_trees
    )
    names = ("trace", "lower", "eval_shape", "clear_cache", "_cache_size")
    vars(call).update(jitted=jitted, **{name: getattr(jitted, name) for name in names})
    return call
