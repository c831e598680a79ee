"""``jax.extend.linear_util``: functions with transformations around them."""

import functools


class WrappedFun:
    """A function to be called by ``call_wrapped``."""

    def __init__(self, call, debug_info=None):
        self.call, self.debug_info = call, debug_info

    def call_wrapped(self, *args, **kwargs):
        return self.call(*args, **kwargs)


def wrap_init(f, params=None, *, debug_info=None):
    """A function, with ``params`` as further keyword arguments, ready to be transformed."""
    if not params:
        return WrappedFun(f, debug_info)
    return WrappedFun(lambda *args, **kwargs: f(*args, **{**params, **kwargs}), debug_info)


def transformation(generator):
    """``generator`` yields arguments for the function below, is sent its result, and yields its own."""

    def apply(fun, *params):
        def call(*args, **kwargs):
            steps = generator(*params, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            return steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))

        return WrappedFun(call, fun.debug_info)

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

        return WrappedFun(call, fun.debug_info), store.read

    return apply


def transformation2(function):
    """``function`` takes the function below, then arguments."""

    def apply(fun, *params):
        return WrappedFun(
            lambda *args, **kwargs: function(fun.call_wrapped, *params, *args, **kwargs), fun.debug_info
        )

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
        return WrappedFun(call, fun.debug_info), store.read

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
    """``call(fun, *args)``, whose results are kept by the function within ``fun`` and the arguments."""
    kept = {}

    @functools.wraps(call)
    def cached(fun, *args):
        key = (fun.call, *args)
        if key not in kept:
            kept[key] = call(fun, *args)
        return kept[key]

    vars(cached)["cache_clear"] = kept.clear
    return cached


__all__ = [
    "Store", "StoreException", "WrappedFun", "cache", "merge_linear_aux", "transformation",
    "transformation2", "transformation_with_aux", "transformation_with_aux2", "wrap_init",
]  # fmt: skip
