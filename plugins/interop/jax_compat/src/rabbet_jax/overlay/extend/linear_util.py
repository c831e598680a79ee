"""``jax.extend.linear_util``: functions with transformations around them."""


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
        told = []

        def call(*args, **kwargs):
            steps = generator(*params, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            out, aux = steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))
            told[:] = [aux]
            return out

        return WrappedFun(call, fun.debug_info), lambda: told[0]

    return apply


def transformation2(function):
    """``function`` takes the function below, then arguments."""

    def apply(fun, *params):
        return WrappedFun(
            lambda *args, **kwargs: function(fun.call_wrapped, *params, *args, **kwargs), fun.debug_info
        )

    return apply


ABSENT = "StoreException cache merge_linear_aux transformation_with_aux2"
__all__ = ["WrappedFun", "transformation", "transformation2", "transformation_with_aux", "wrap_init"]
