"""What ``jax`` has beside ``rabbet``'s names."""

import contextlib
import functools
import inspect
import types
import weakref

import rabbet as rb
from rabbet.errors import PluginError
from rabbet.extend.cells import Cell
from rabbet.extend.wrapping import wraps
from rabbet_jax.overlay.ad_checkpoint import checkpoint, remat
from rabbet_jax.own_types import own_types
from rabbet_jax.user_contexts import UserContext
from rabbet_jax.vmappable import vmap

# Of packages that may be missing; libraries read these names without calling them.
ABSENT = (
    "P NamedSharding make_mesh set_mesh shard_map smap export make_array_from_callback "
    "make_array_from_process_local_data make_array_from_single_device_arrays reshard"
)


def _pmap(fun, *args, **kwargs):
    """Libraries make mapped functions while they are imported; without rabbet-parallel calling one fails."""

    @functools.wraps(fun)
    def mapped(*args, **kwargs):
        raise NotImplementedError("jax.pmap needs the package rabbet-parallel: pip install rabbet-parallel")

    return mapped


class _Config:
    """``jax.config``: Rabbet's settings under JAX's names, with flags of absl."""

    def __getattr__(self, name):
        return getattr(rb.config, name)

    def __setattr__(self, name, value):
        setattr(rb.config, name, value)

    def __repr__(self):
        return repr(rb.config)


config = _Config()


def _in_jaxs_words(function):
    """Of a platform that cannot be used, the message begins as JAX's does, which libraries match."""

    @wraps(function)
    def asked(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except PluginError as error:
            raise type(error)(f"Unknown backend: {error}") from None

    return asked


def _refused_when_called(fun, options):
    """JAX looks at ``device`` and ``backend`` when a function is called or lowered, and some never are."""

    def compiled():
        return _in_jaxs_words(rb.jit)(fun, **options)

    @functools.wraps(fun)
    def refused(*args, **kwargs):
        return compiled()(*args, **kwargs)

    vars(refused)["lower"] = lambda *args, **kwargs: compiled().lower(*args, **kwargs)
    return refused


@wraps(rb.jit)
def jit(fun=None, **options):
    """A compiled function tells its signature itself, as JAX's do: libraries ask what it wraps for none."""
    if fun is None:
        return functools.partial(jit, **options)
    try:
        compiled = rb.jit(fun, **options)
    except (PluginError, TypeError):
        if options.get("device") is None and options.get("backend") is None:
            raise
        compiled = _refused_when_called(fun, options)
    with contextlib.suppress(TypeError, ValueError):  # Python does not know it of every callable
        compiled.__signature__ = _signature(fun)
    return compiled


_signatures: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _signature(fun):
    """That of a function, found once: libraries make ``jit`` of one function again and again."""
    if type(fun) is not types.FunctionType:
        return inspect.signature(fun)
    if fun not in _signatures:
        _signatures[fun] = inspect.signature(fun)
    return _signatures[fun]


devices = _in_jaxs_words(rb.devices)
local_devices = _in_jaxs_words(rb.local_devices)
device_count = _in_jaxs_words(rb.device_count)
local_device_count = _in_jaxs_words(rb.local_device_count)


@wraps(rb.typeof)
def typeof(x):
    """Of a reference its own type, by which libraries know one; Rabbet refuses, as its value was meant."""
    if isinstance(x, Cell):
        return x if isinstance(x, rb.ref.AbstractRef) else rb.ref.AbstractRef(x.type)
    if type(x) in own_types:
        return own_types[type(x)](x)
    return rb.typeof(x)


float0 = rb.dtypes.float0


def make_user_context(default_value=None):
    """A value of one's own that is part of the key of compiled functions: ``context(value)`` sets it for a
    ``with`` block, and functions that are called there are traced again for another value.

    Args:
      default_value: the value outside of such blocks; values can be hashed.
    """
    return UserContext(default_value)


def __getattr__(name):
    if name in ("empty_ref", "free_ref"):
        return getattr(rb.ref, name)
    if name == "pmap" and not hasattr(rb, "pmap"):
        return _pmap
    if name in ("get_abstract_mesh", "use_abstract_mesh"):
        return getattr(rb.sharding, name)
    raise AttributeError(name)
