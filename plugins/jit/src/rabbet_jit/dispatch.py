"""The function that ``jit`` returns: its fast path finds the program by the arguments in one lookup.

Anything unusual (keyword or static arguments, numbers of NumPy, a signature not seen before, a
transformation that is running) goes to ``Jitted.slowly``.
"""

import functools
import operator
import weakref

import numpy as np
from rabbet import Array, config
from rabbet import tree as trees
from rabbet.extend.backend import call_by_placements
from rabbet.extend.functions import to_array

shared_array = functools.partial(to_array, shared=True)
# What the fast path makes arrays of, beside the arrays that it gets.
CONVERTED = frozenset([float, int, bool, np.ndarray])


def converting(jitted):
    """What makes an array of an argument: one of a number may be donated if it was made for this call, else
    it is shared with all that take it.
    """
    return to_array if jitted.donated else shared_array


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
    slowly, quick, settings, convert = jitted.slowly, jitted.quick, config.values, converting(jitted)

    def unusual(*args, **kwargs):
        return slowly(args, kwargs)

    def of_any(args):
        return slowly(args, {})

    def of_trees(args):
        """The fast path for pytrees of arrays, of Python's numbers and of NumPy's arrays."""
        try:
            # By the module: a function sent to another process can name that, not the registry itself.
            leaves, treedef = trees.registry.flatten(args)
            programs = quick[treedef]
            try:
                run = programs[(*[x.spec for x in leaves], settings.traced_key)]
            except AttributeError:
                leaves = [x if type(x) is Array or type(x) not in CONVERTED else convert(x) for x in leaves]
                run = programs[(*[x.spec for x in leaves], settings.traced_key)]
        except Exception:  # not known; or what cannot be an argument, of which `slowly` says so
            run = None
        return slowly(args, {}) if run is None else run(leaves)

    call = call_by_placements(
        jitted.fun, quick, traced=unusual, slowly=slowly, of_others=of_any if jitted.statics else of_trees
    )
    names = ("trace", "lower", "eval_shape", "clear_cache", "_cache_size")
    vars(call).update(jitted=jitted, **{name: getattr(jitted, name) for name in names})
    return call
