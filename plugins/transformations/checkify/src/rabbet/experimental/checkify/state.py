"""The state that ``checkify`` threads through programs: the first error that happened, if any.

It is the code of the error's site (0: none happened) and the values for its message, with one *slot* for
each combination of types that the values of some possible error have. Which slots there are, and which kinds
of errors are possible, is the static part. Since the state goes through the program in order, and is only
written while its code is 0, what it holds is the first error.
"""

import math

import numpy as np

from rabbet import lax, tree
from rabbet.dtypes import ExtendedDType, canonicalize
from rabbet.experimental.checkify import error_sites
from rabbet.extend.bodies import HOLE
from rabbet.extend.functions import array_or_tracer, folded, with_weak_type
from rabbet.extend.primitive import ShapedArray, full_of_type
from rabbet.extend.transform import typeof
from rabbet.extend.wrapping import is_of_handler


@folded
class Error:
    """Whether, and which, error happened while a function ran: a pytree of arrays.

    ``checkify`` returns it. From ``vmap`` of such a function it comes with a leading dimension: one error per
    example.

    Example:
      >>> from rabbet.experimental import checkify
      >>> error, y = checkify.checkify(lambda x: x + 1)(1.0)
      >>> isinstance(error, checkify.Error), error.get()
      (True, None)
    """

    __slots__ = ("code", "keys", "kinds", "slots")

    def __init__(self, code, slots=(), kinds=(), keys=()):
        self.code, self.slots, self.kinds, self.keys = code, tuple(slots), tuple(kinds), tuple(keys)

    def get(self) -> str | None:
        """The message of the first error, with the user's file and line; None if all went well.

        Of a batch of errors: a line for each example that failed, with its index.
        """
        exception = self.get_exception()
        return None if exception is None else str(exception)

    def get_exception(self) -> Exception | None:
        """The exception for the error that happened, not raised; None if all went well."""
        code = np.asarray(self.code)
        slots = [[_on_host(x) for x in slot] for slot in self.slots]
        found = [(i, _exception(self.keys, slots, code, i)) for i in np.ndindex(code.shape) if code[i]]
        if not found:
            return None
        if not code.ndim:
            return found[0][1]
        kinds = {type(e) for _, e in found}
        kind = kinds.pop() if len(kinds) == 1 else error_sites.CheckError
        return kind("\n".join([f"at mapped index {_listed(i)}: {e}" for i, e in found]))

    def throw(self) -> None:
        """Raise the error, if one happened; the same as ``check_error``."""
        from rabbet.experimental.checkify.primitive import check_error

        check_error(self)

    def __repr__(self):
        try:
            return f"Error({self.get()!r})"
        except Exception as error:  # inside a program that is being transformed nobody knows yet
            if is_of_handler(error):
                raise
            return f"Error(<{typeof(self.code).str_short()}>)"


tree.register_node(
    Error, lambda e: ((e.code, e.slots), (e.kinds, e.keys)), lambda aux, parts: Error(*parts, *aux)
)


def _exception(keys, slots, code, at):
    site = error_sites.site_of(int(code[at]))
    values = [x[at] for x in slots[keys.index(site.key)]] if site.key else []
    inside = [slot[0][at] for key, slot in zip(keys, slots, strict=True) if is_mapped(key)]
    indices = [_listed(i) for i in inside if (i >= 0).all()]
    behind = f", at mapped index {', '.join(indices)}" if indices else ""
    return site.kind(site.describe(values, behind))


def _on_host(x):
    """As NumPy's array, if there is one: keys have none, and show themselves in messages."""
    return x if isinstance(typeof(x).dtype, ExtendedDType) else np.asarray(x)


def _listed(index):
    return ", ".join([str(int(i)) for i in index])


def none_yet():
    """The state at the start: no error happened, and none can."""
    return Error(array_or_tracer(np.int32(0)))


def failed(pred_failed, site, values):
    """The error of a site, if a boolean scalar says that it failed.

    Args:
      pred_failed: a boolean scalar.
      site: the ``ErrorSite``.
      values: an array for each entry of the site's key.
    """
    code = lax.select_n(pred_failed, np.int32(0), np.int32(error_sites.code_of(site)))
    slots, keys = ((tuple(values),), (site.key,)) if site.key else ((), ())
    return Error(code, slots, (error_sites.KINDS.index(site.kind),), keys)


def key_of(values):
    """The types of values, as a site and a state's static part have them."""
    return tuple([(typeof(v).shape, typeof(v).dtype.name) for v in values])


def strong(value):
    """An array as a slot holds it: not weak, without a derivative."""
    return lax.stop_gradient(with_weak_type(array_or_tracer(value), False))


# --------------------------------------------------------------------------- the place in a batch, as a slot
def mapped_key(rank):
    """The key of the slot for the place of an error in a batch of that many dimensions; -1 where there is
    none.
    """
    return ("mapped", rank)


def is_mapped(key):
    """Whether a slot holds a place in a batch."""
    return key[:1] == ("mapped",)


def first_of_batch(error):
    """A batch of errors as one: the first in row-major order, with its place."""
    shape = typeof(error.code).shape
    if not shape:
        return error
    rank, size = len(shape), math.prod(shape)
    if not size:
        return Error(array_or_tracer(np.int32(0)))
    flat = lax.reshape(error.code, (size,))
    at = lax.argmax(lax.ne(flat, np.int32(0)), 0, np.int32)

    def pick(x):
        rows = lax.reshape(x, (size, *typeof(x).shape[rank:]))
        return lax.dynamic_index_in_dim(rows, at, 0, keepdims=False)

    code = pick(error.code)
    slots = {key: tuple([pick(x) for x in slot]) for key, slot in zip(error.keys, error.slots, strict=True)}
    strides = np.array([math.prod(shape[d + 1 :]) for d in range(rank)], np.int32)
    places = lax.rem(lax.div(lax.broadcast(at, (rank,)), strides), np.int32(shape))
    happened = lax.broadcast(lax.ne(code, np.int32(0)), (rank,))
    slots[mapped_key(rank)] = (lax.select_n(happened, np.full(rank, -1, np.int32), places),)
    return with_slots(code, slots, error.kinds)


# --------------------------------------------------------------------------------------------- joining errors
def with_slots(code, slots, kinds):
    """An error from a dict of slots, in the order that is part of its static part."""
    keys = sorted(slots, key=repr)
    return Error(code, [slots[k] for k in keys], sorted(set(kinds)), keys)


def earlier(state, error):
    """The state after an error may have happened: it keeps what it has."""
    if not error.kinds:
        return state
    if not state.kinds:
        return error
    free = lax.eq(state.code, np.int32(0))
    slots = dict(zip(state.keys, state.slots, strict=True))
    for key, slot in zip(error.keys, error.slots, strict=True):
        old = slots.get(key) or (nothing(key) if is_mapped(key) else slot)
        slots[key] = tuple(
            [x if x is y else lax.select_n(free, x, y) for x, y in zip(old, slot, strict=True)]
        )
    return with_slots(lax.select_n(free, state.code, error.code), slots, state.kinds + error.kinds)


def nothing(key):
    """What a slot holds while no error needs it."""
    if is_mapped(key):
        return (full_of_type(ShapedArray((key[1],), np.dtype("int32")), -1),)
    return tuple([full_of_type(ShapedArray(shape, canonicalize(name)), 0) for shape, name in key])


def covering(a, b):
    """The static part that covers those of two errors, as an error of placeholders."""
    slots = {**dict(zip(a.keys, a.slots, strict=True)), **dict(zip(b.keys, b.slots, strict=True))}
    slots = {k: (HOLE,) * (1 if is_mapped(k) else len(k)) for k in slots}
    return with_slots(HOLE, slots, a.kinds + b.kinds)


def widened(error, like):
    """``error`` with the static part of ``like``, which covers its own."""
    slots = dict(zip(error.keys, error.slots, strict=True))
    return Error(error.code, [slots.get(k) or nothing(k) for k in like.keys], like.kinds, like.keys)


init_error = Error(np.zeros((), np.int32))
"""The error of a function that checks nothing, and where none happened: what loops over errors begin with."""
