"""The fast path of a compiled function: from the call to its program in one lookup.

It is a closure, not a method of an object: every attribute access saved counts here. Anything unusual
(keyword or static arguments, NumPy arrays and numbers, a signature not seen before, a transformation that
is running) goes to ``Jitted.slowly``.
"""


import operator

from rabbet.extend.backend import config
from rabbet.extend.functions import EVALUATION, Array, fold_traceback, wraps
from rabbet.extend.transform import context
from rabbet.tree import registry

new = object.__new__

# What the lookup finds for a new signature, and where some argument is no array of ours (a pytree, most
# often).
NOT_SEEN = (None, None, None, "not seen")
TREES = (None, None, None, "trees")


class Quick(dict):
    """The programs of a function by what the fast path sees. Where the function is sent to another process,
    they stay here.
    """

    __slots__ = ("owner",)

    def __init__(self, owner):
        super().__init__()
        self.owner = owner

    def __reduce__(self):
        return operator.attrgetter("quick"), (self.owner,)


def flatten(args):
    """The leaves and the structure of a pytree, without the options of ``tree.flatten``."""
    return registry.flatten(args)


def caller(jitted):
    """The function that users call, with the stages as its attributes."""
    slowly, quick, has_statics = jitted.slowly, jitted.quick, bool(jitted.statics)
    settings, current, evaluation = config.values, context, EVALUATION

    @wraps(jitted.fun)
    def call(*args, **kwargs):
        try:
            if kwargs or has_statics or current.interpreter is not evaluation:
                return slowly(args, kwargs)
            try:
                # Written out for two arguments and one: a comprehension costs a twentieth of a call.
                if len(args) == 2:
                    x, y = args
                    known, raws = quick[x.spec, y.spec, settings.traced_key], [x.raw, y.raw]
                elif len(args) == 1:
                    (x,) = args
                    known, raws = quick[x.spec, settings.traced_key], [x.raw]
                else:
                    known, raws = quick[(*[a.spec for a in args], settings.traced_key)], [a.raw for a in args]
            except KeyError:
                known = NOT_SEEN
            except AttributeError:
                known = TREES
            run, execute, handlers, spec = known
            if run is None:
                return of_trees(args) if known is TREES else slowly(args, kwargs)
            if execute is None:
                return run(args)
            # What run would do, without the call; and Array(raw, spec), without that of __init__.
            try:
                raw = execute(raws).consume_with_handlers(handlers)[0]
            except Exception:  # run it again: it knows how to say what is wrong with the arguments
                return run(args)
            out = new(Array)
            out.raw, out.spec, out.aval = raw, spec, spec.aval
            return out
        except Exception as error:  # show the user's frames only, not this one
            fold_traceback(error)
            raise

    def of_trees(args):
        """The fast path for pytrees of arrays."""
        leaves, treedef = flatten(args)
        try:
            run = quick[treedef][(*[x.spec for x in leaves], settings.traced_key)]
        except (KeyError, AttributeError):
            run = None
        return slowly(args, {}) if run is None else run(leaves)

    names = ("trace", "lower", "eval_shape", "clear_cache", "_cache_size")
    vars(call).update(jitted=jitted, **{name: getattr(jitted, name) for name in names})
    return call
