"""Python functions inside programs: ``pure_callback`` and ``io_callback``, with JAX's signatures."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rabbet import config, dtypes, tree
from rabbet.extend.functions import describe_function, folded, is_python_scalar
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.sharding import SingleDeviceSharding

from rabbet_callbacks import primitives
from rabbet_callbacks.host_functions import taken_apart

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@folded
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a pure Python function from a program.

    Args:
      callback: gets ``*args, **kwargs`` with arrays on the host's device in place of traced values, and
        returns what ``result_shape_dtypes`` promises. It may be called any number of times, or not at all
        where its result is not needed.
      result_shape_dtypes: a pytree of objects with ``shape`` and ``dtype``.
      sharding: in a program over several devices the one that calls, as a ``SingleDeviceSharding``; None: the
        first of them.
      vmap_method: what ``vmap`` does. None: refuses. ``"sequential"``: one call per example, in a loop;
        ``"sequential_unrolled"``: the same, each a call of its own. The others call once, with the batch
        dimension in front of every mapped argument and of every result: the unmapped arguments get a
        dimension of size 1 (``"expand_dims"``), the whole batch (``"broadcast_all"``), or nothing
        (``"legacy_vectorized"``).

    Returns:
      the pytree that ``callback`` returned, as arrays.

    Raises:
      TypeError, ValueError: ``callback`` returned another structure, dtype or shape. What ``callback``
        itself raises arrives as it is.
      ShardingError: the program does not run on the device of ``sharding``.

    Example:
      >>> rb.jit(lambda x: rb.pure_callback(np.sort, x, x))(rnp.array([3.0, 1.0, 2.0]))
      Array([1., 2., 3.], dtype=float32)
    """
    if vmap_method is not None and vmap_method not in primitives.VMAP_METHODS:
        raise ValueError(
            f"pure_callback: vmap_method is one of {', '.join(map(repr, primitives.VMAP_METHODS))} or "
            f"None, got {vmap_method!r}"
        )
    return _bind(
        primitives.pure_callback, callback, result_shape_dtypes, args, kwargs, sharding,
        vmap_method=vmap_method,
    )  # fmt: skip


@folded
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function that does something from a program; it is called once each time that the
    program gets there.

    Args:
      callback, result_shape_dtypes, sharding: as for ``pure_callback``.
      ordered: whether the calls happen in the order of the program, through loops, branches and calls, and
        after those of programs that were started before. ``vmap`` refuses ordered calls; of others it makes
        one per example.

    Returns:
      the pytree that ``callback`` returned, as arrays.

    Example:
      >>> seen = []
      >>> rb.jit(lambda x: rb.io_callback(lambda v: seen.append(float(v)), None, x))(2.0)
      >>> rb.effects_barrier()
      >>> seen
      [2.0]
    """
    return _bind(
        primitives.io_callback, callback, result_shape_dtypes, args, kwargs, sharding, ordered=bool(ordered)
    )


@folded
def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function on values of a program, to look at them; its result is ignored.

    Under ``vmap`` it is called once per example, under differentiation on the values, not the tangents.

    Args:
      callback: gets ``*args, **kwargs`` with arrays in place of traced values; arguments that are not arrays
        are passed on. Without one, a function with these options, of the function and its arguments, is
        returned.
      ordered: whether the calls happen in the order of the program.
      partitioned: of a program that runs on several devices each calls the function with the part that it
        has; False: it gets whole arrays, once. Within `shard_map` it gets each device's part.

    Example:
      >>> seen = []
      >>> @rb.jit
      ... def f(x):
      ...     rb.debug.callback(lambda v: seen.append(float(v)), x)
      ...     return x * 2
      >>> y = f(3.0)
      >>> rb.effects_barrier()
      >>> seen
      [3.0]
    """
    if callback is None and not args and not kwargs:
        return functools.partial(debug_callback, ordered=ordered, partitioned=partitioned)
    return look("debug.callback", callback, args, kwargs, ordered, partitioned)


def look(who, callback, args, kwargs, ordered, partitioned=False, numbers=True):
    """``debug_callback`` for the function ``who``; without ``numbers`` Python numbers stay what they are."""
    fixed = (lambda x: False) if numbers else is_python_scalar
    arrays, function = taken_apart(callback, who, args, kwargs, fixed=fixed)
    more = {"partitioned": True} if partitioned else {}
    primitives.debug_callback(*arrays, callback=function, ordered=bool(ordered), **more)


def _bind(primitive, callback, result_shape_dtypes, args, kwargs, sharding, **params):
    who = primitive.name
    wanted, out_tree = tree.flatten(result_shape_dtypes)
    device = _one_device(who, sharding)
    arrays, function = taken_apart(callback, who, args, kwargs, out_tree=out_tree, device=device)
    out_avals = tuple([_promised(x, who, callback) for x in wanted])
    outs = primitive(*arrays, callback=function, out_avals=out_avals, **params)
    return tree.unflatten(out_tree, outs)


def _promised(x, who, callback):
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        raise TypeError(
            f"{who}: result_shape_dtypes says what {describe_function(callback)} returns, by objects with a "
            f"shape and a dtype such as rb.ShapeDtypeStruct((2, 3), 'float32'); got {type(x).__name__} "
            f"{x!r:.60}"
        )
    dtype = dtypes.canonicalize(x.dtype)
    if dtypes.narrow(dtype) != dtype and config.explicit_x64_dtypes != "allow":
        # What the function returns has 64 bits: they would be cut off on the way.
        raise ValueError(
            f"{who}: {describe_function(callback)} is to return {dtype.name}, and enable_x64 is off while "
            f"config.explicit_x64_dtypes is {config.explicit_x64_dtypes!r}\n  to fix: promise "
            f"{dtypes.narrow(dtype).name}, or set enable_x64"
        )
    return ShapedArray(tuple(x.shape), dtype)


def _one_device(who, sharding):
    """The device of a ``SingleDeviceSharding``, or None."""
    if sharding is None:
        return None
    if not isinstance(sharding, SingleDeviceSharding):
        raise TypeError(
            f"{who}: one device calls Python, so sharding is a SingleDeviceSharding, got {sharding!r:.60}"
        )
    return sharding.device_order[0]


__all__ = ["debug_callback", "io_callback", "look", "pure_callback"]
