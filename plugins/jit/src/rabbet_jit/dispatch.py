"""The function that ``jit`` returns: its fast path finds the program by the arguments in one lookup.

Anything unusual (static arguments, a signature not seen before, a transformation that is running)
goes to ``Jitted.slowly``.
"""

import functools
import operator
import weakref
from typing import Any

import numpy as np
from rabbet import Array, config
from rabbet import tree as trees
from rabbet.extend.backend import call_by_placements
from rabbet.extend.functions import to_array

shared_array = functools.partial(to_array, shared=True)
# What the fast path makes arrays of, beside the arrays that it gets.
NUMPY_NUMBERS = [np.dtype(name).type for name in "?bhilBHILefd"]
CONVERTED = frozenset([float, int, bool, np.ndarray, *NUMPY_NUMBERS])
LEAVES = CONVERTED | {Array}
# How pytrees of arguments are given: the tree of ``args`` itself, or of ``(args, kwargs)``.
BY_POSITION, BY_NAME = "by position", "by name"


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

    def in_pytrees(given, form):
        """The program for pytrees, and the arrays to run it on; ``form`` is BY_POSITION or BY_NAME."""
        # By the module: a function sent to another process can name that, not the registry itself.
        try:
            leaves, treedef = trees.registry.flatten(given)
        except Exception as error:  # `slowly` meets it again, and says what it is
            trees.lost_levels.give_back(error, given)
            raise
        programs = quick[form, treedef]
        try:
            return programs[(*[x.spec for x in leaves], settings.traced_key)], leaves
        except AttributeError:
            leaves = [x if type(x) is Array or type(x) not in CONVERTED else convert(x) for x in leaves]
            return programs[(*[x.spec for x in leaves], settings.traced_key)], leaves

    def of_others(args):
        """The fast path for arrays, Python's numbers, NumPy's numbers and arrays, and pytrees of them."""
        try:
            if LEAVES.issuperset(map(type, args)):
                # No pytree among them: then the key is that of the arrays which are made of them.
                leaves: Any = [x if type(x) is Array else convert(x) for x in args]
                run = quick[(*[x.spec for x in leaves], settings.traced_key)][-1]
            else:
                run, leaves = in_pytrees(args, BY_POSITION)
        except Exception:  # not known; or what cannot be an argument, of which `slowly` says so
            run = None
        return slowly(args, {}) if run is None else run(leaves)

    def by_name(args, kwargs):
        """The fast path for calls with keywords; without one, it is a program that is not known yet."""
        try:
            run, leaves = in_pytrees((args, kwargs), BY_NAME) if kwargs else (None, ())
        except Exception:
            run = None
        return slowly(args, kwargs) if run is None else run(leaves)

    others, keywords = (of_any, slowly) if jitted.statics else (of_others, by_name)
    call = call_by_placements(jitted.fun, quick, traced=unusual, slowly=keywords, of_others=others)
    names = ("trace", "lower", "eval_shape", "clear_cache", "_cache_size")
    vars(call).update(jitted=jitted, **{name: getattr(jitted, name) for name in names})
    return call
