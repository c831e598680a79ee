"""``jax.extend.linear_util``: functions with transformations around them."""

import functools
import weakref

# How many results a cache keeps of one function.
KEPT = 2048


class WrappedFun:
    """A function to be called by ``call_wrapped``: ``f``, a user's, under ``transforms``, pairs of what was
    given to ``transformation`` and its parameters, the outermost first. Equal ones compute the same.
    """

    def __init__(self, call, debug_info=None, f=None, transforms=(), stores=()):
        self.call, self.debug_info = call, debug_info
        self.f, self.transforms, self.stores = (call if f is None else f), transforms, stores

    def wrapped_by(self, call, transform, stores=()):
        """The function ``call``, which is this one under one more transformation."""
        return WrappedFun(
            call, self.debug_info, self.f, (transform, *self.transforms), (*stores, *self.stores)
        )

    def __eq__(self, other):
        if not isinstance(other, WrappedFun):
            return NotImplemented
        return (self.f, self.transforms) == (other.f, other.transforms)

    def __hash__(self):
        return hash((self.f, self.transforms))

    def call_wrapped(self, *args, **kwargs):
        return self.call(*args, **kwargs)


def wrap_init(f, params=None, *, debug_info=None):
    """A function, with ``params`` as further keyword arguments, ready to be transformed."""
    if not params:
        return WrappedFun(f, debug_info)
    held = tuple(sorted(params.items()))
    call = lambda *args, **kwargs: f(*args, **{**params, **kwargs})
    return WrappedFun(call, debug_info, f, (("params", held),))


def transformation(generator):
    """``generator`` yields arguments for the function below, is sent its result, and yields its own."""

    def apply(fun, *params):
        def call(*args, **kwargs):
            steps = generator(*params, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            return steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))

        return fun.wrapped_by(call, (generator, params))

    return apply


def transformation_with_aux(generator):
    """As ``transformation``; what ``generator`` yields last is its result and something else, which the
    function that is returned beside tells after the call.
    """

    def apply(fun, *params):
        store = Store()

        def call(*args, **kwargs):
            steps = generator(*params, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            out, aux = steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))
            store.store(aux)
            return out

        return fun.wrapped_by(call, (generator, params), [store]), store.read

    return apply


def transformation2(function):
    """``function`` takes the function below, then arguments."""

    def apply(fun, *params):
        call = lambda *args, **kwargs: function(fun.call_wrapped, *params, *args, **kwargs)
        return fun.wrapped_by(call, (function, params))

    return apply


class StoreException(Exception):
    """What a call was to leave was asked for before the call, or of a call that was not made."""


def transformation_with_aux2(function):
    """``function`` takes the function below, something with ``store(value)`` for what it has to tell beside
    its result, then arguments.
    """

    def apply(fun, *params, use_eq_store=False):
        store = Store()
        call = lambda *args, **kwargs: function(fun.call_wrapped, store, *params, *args, **kwargs)
        return fun.wrapped_by(call, (function, params), [store]), store.read

    return apply


class Store:
    """Something that a call leaves for whoever asks after it.

    Raises:
      StoreException: where nothing was left.
    """

    def __init__(self):
        self.told = []

    def store(self, value):
        """Leave it."""
        self.told[:] = [value]

    def read(self):
        """What was left."""
        if not self.told:
            raise StoreException("the function has not been called yet")
        return self.told[0]

    @property
    def val(self):
        """What was left."""
        return self.read()


def merge_linear_aux(aux1, aux2):
    """``(True, what)`` of the first that was called, else ``(False, what)`` of the second.

    Raises:
      StoreException: where both were called, or none.
    """
    told = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            told.append((first, aux()))
        except StoreException:
            continue
    if len(told) != 1:
        raise StoreException(f"{len(told)} of the two functions have been called, and one must have been")
    return told[0]


def cache(call, *, explain=None):
    """``call(fun, *args)``, whose results are kept by the function under ``fun``, its transformations and the
    arguments: as long as the function lives, and no more than ``KEPT`` of one function. What ``fun`` left
    beside its result is left again.
    """
    kept = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def cached(fun, *args):
        try:
            of_function = kept.setdefault(fun.f, {})
        except TypeError:  # of what Python does not tell the end, nothing is kept
            return call(fun, *args)
        key = (fun.transforms, args)
        if key in of_function:
            result, left = of_function[key]
            for store, told in zip(fun.stores, left, strict=True):
                store.told[:] = told
            return result
        result = call(fun, *args)
        if len(of_function) >= KEPT:
            del of_function[next(iter(of_function))]
        of_function[key] = result, [list(store.told) for store in fun.stores]
        return result

    vars(cached)["cache_clear"] = kept.clear
    return cached


__all__ = [
    "Store", "StoreException", "WrappedFun", "cache", "merge_linear_aux", "transformation",
    "transformation2", "transformation_with_aux", "transformation_with_aux2", "wrap_init",
]  # fmt: skip
