"""Semaphores and copies. On the CPU a copy is made when it is started, and nobody waits."""

import enum

import numpy as np
from rabbet import lax, tree
from rabbet.extend.cells import read, write
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import array_parts
from rabbet_pallas.block_specs import MemoryRef, MemorySpace
from rabbet_pallas.memory import type_of
from rabbet_pallas.reference_parts import Place
from rabbet_pallas.references import as_reference

I32 = ShapedArray((), "int32")


class SemaphoreType(enum.Enum):
    """Kinds of semaphores, for ``scratch_shapes`` and ``run_scoped``; called with a shape, several."""

    REGULAR = "regular"
    DMA = "dma"
    BARRIER = "barrier"

    def __call__(self, shape):
        """Semaphores in this shape."""
        return MemoryRef(ShapedArray(tuple(shape), "int32"), MemorySpace.SEMAPHORE, self.value)

    def get_ref_aval(self):
        """One semaphore."""
        return self(())

    shape = ()


def copy_type(dst, src, sem, *operands, dst_place, src_place, sem_place, add=False):
    one, other = dst_place.type_of(dst), src_place.type_of(src)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        raise TypeError(
            f"a copy of {other.str_short()} to {one.str_short()}\n  to fix: parts of one shape and one dtype"
        )
    if sem_place.type_of(sem).shape:
        raise TypeError(f"a copy needs one semaphore, got {sem_place.type_of(sem).str_short()}")
    return type_only(dst), type_only(sem)


def type_only(aval):
    return ShapedArray(aval.shape, aval.dtype)


copy_start = Primitive("copy_start", copy_type, multiple_results=True, doc="begins to copy a part to another")
copy_wait = Primitive("copy_wait", copy_type, multiple_results=True, doc="waits until a copy is made")
semaphore_signal_p = Primitive(
    "semaphore_signal", lambda sem, inc, *operands, place: type_only(sem), doc="adds to a semaphore"
)
semaphore_wait_p = Primitive(
    "semaphore_wait", lambda sem, value, *operands, place, decrement=True: type_only(sem),
    doc="waits until a semaphore has a value",
)  # fmt: skip
semaphore_read_p = Primitive(
    "semaphore_read", lambda sem, *operands, place: I32, doc="the value of a semaphore"
)


def cut(operands, *places):
    """The operands of several places."""
    found, at = [], 0
    for place in places:
        found.append(operands[at : at + place.operands])
        at += place.operands
    return found


@copy_start.decompose
def copy_at_once(op, dst, src, sem, *operands):
    p = op.params
    to, of, at = cut(operands, p["dst_place"], p["src_place"], p["sem_place"])
    value = array_parts.take(src, p["src_place"].steps, of)
    if p.get("add", False):
        value = lax.add(value, array_parts.take(dst, p["dst_place"].steps, to))
    made = array_parts.put(dst, value, p["dst_place"].steps, to)
    return [made, counted(sem, p["sem_place"], at, size_of(value))]


@copy_wait.decompose
def copy_is_made(op, dst, src, sem, *operands):
    p = op.params
    _, _, at = cut(operands, p["dst_place"], p["src_place"], p["sem_place"])
    size = p["dst_place"].type_of(typeof(dst))
    return [dst, counted(sem, p["sem_place"], at, -size.size * size.itemsize)]


def size_of(value):
    aval = typeof(value)
    return aval.size * aval.itemsize


def counted(sem, place, operands, by):
    """Semaphores with a number added to one of them."""
    old = array_parts.take(sem, place.steps, operands)
    by = np.int32(by) if isinstance(by, int) else by
    return array_parts.put(sem, lax.add(old, by), place.steps, operands)


@semaphore_signal_p.decompose
def signal_parts(op, sem, inc, *operands):
    return counted(sem, op.params["place"], operands, inc)


@semaphore_wait_p.decompose
def wait_parts(op, sem, value, *operands):
    if not op.params.get("decrement", True):
        return sem
    return counted(sem, op.params["place"], operands, lax.neg(value))


@semaphore_read_p.decompose
def read_parts(op, sem, *operands):
    return array_parts.take(sem, op.params["place"].steps, operands)


class AsyncCopyDescriptor:
    """A copy from a part of memory to another; made by ``make_async_copy``."""

    def __init__(self, src, dst, sem, src_sem=None):
        self.src, self.dst, self.sem, self.src_sem = as_reference(src), as_reference(dst), sem, src_sem

    def _do(self, primitive, **more):
        src, dst, sem = self.src, self.dst, self.sem
        if sem is None:
            raise ValueError(
                "a copy that is not made at once needs a semaphore\n  to fix: give make_async_copy one"
            )
        operands = [*dst.operands, *src.operands, *sem.operands]
        places = {"dst_place": Place(dst.steps), "src_place": Place(src.steps), "sem_place": Place(sem.steps)}
        states = read(dst.root), read(src.root), read(sem.root)
        made, count = primitive(*states, *operands, **places, **more)
        write(dst.root, made)
        write(sem.root, count)

    def start(self, priority=0, *, add=False):
        """Begin. ``priority`` is a hint for TPUs, without effect here."""
        self._do(copy_start, **({"add": True} if add else {}))

    def wait(self):
        """Wait until it is made."""
        self._do(copy_wait)

    def wait_recv(self):
        """Wait until the destination has it."""
        self.wait()

    def wait_send(self):
        """Wait until the source was read."""


@folded
def make_async_copy(src_ref, dst_ref, sem=None, *, src_sem=None):
    """A copy from a part of memory to another, which ``start`` begins and ``wait`` waits for.

    Args:
      src_ref, dst_ref: references or parts of them, of one shape and dtype.
      sem: a semaphore, ``tpu.SemaphoreType.DMA``.
      src_sem: another one for the source; not looked at.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(x, out, sem):
      ...     copy = tpu.make_async_copy(x.at[pl.ds(1, 2)], out, sem)
      ...     copy.start()
      ...     copy.wait()
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((2,), "int32"),
      ...                scratch_shapes=[tpu.SemaphoreType.DMA])(rnp.arange(4)).tolist()
      [1, 2]
    """
    return AsyncCopyDescriptor(src_ref, dst_ref, sem, src_sem)


@folded
def async_copy(src_ref, dst_ref, sem=None, *, src_sem=None, priority=0, add=False):
    """``make_async_copy``, started."""
    made = AsyncCopyDescriptor(src_ref, dst_ref, sem, src_sem)
    made.start(priority, add=add)
    return made


@folded
def sync_copy(src_ref, dst_ref, *, add=False):
    """Copy trees of references to others, and return when it is done.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(x, out):
      ...     tpu.sync_copy(x, out)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((2,), "int32"))(rnp.arange(2)).tolist()
      [0, 1]
    """
    from rabbet_pallas.scopes import run_scoped

    is_ref = lambda x: not isinstance(x, (dict, list, tuple))
    sources, targets = [tree.leaves(x, is_leaf=is_ref) for x in (src_ref, dst_ref)]

    def body(sem):
        for src, dst in zip(sources, targets, strict=True):
            async_copy(src, dst, sem, add=add).wait()

    run_scoped(body, SemaphoreType.DMA)


def _number(x):
    x = array_or_tracer(np.int32(x) if isinstance(x, int) else x)
    return x if type_of(x).dtype == "int32" else lax.convert_element_type(x, "int32")


def _local(what, device, core):
    if device is not None or core is not None:
        raise NotImplementedError(
            f"{what}: another device or core is named; copies and signals between devices are not offered\n"
            "  to fix: lax.ppermute and its like, outside of the kernel"
        )


@folded
def semaphore_signal(sem_or_view, inc=1, *, device_id=None, device_id_type=None, core_index=None):
    """Add to a semaphore.

    Args:
      sem_or_view: a reference to one.
      inc: an integer.
      device_id, device_id_type, core_index: of another device; not offered.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out, sem):
      ...     pl.semaphore_signal(sem, 3)
      ...     pl.semaphore_wait(sem, 1)
      ...     out[0] = pl.semaphore_read(sem)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((1,), "int32"),
      ...                scratch_shapes=[tpu.SemaphoreType.REGULAR])().tolist()
      [2]
    """
    _local("semaphore_signal", device_id, core_index)
    sem = as_reference(sem_or_view)
    write(sem.root, semaphore_signal_p(read(sem.root), _number(inc), *sem.operands, place=Place(sem.steps)))


@folded
def semaphore_wait(sem_or_view, value=1, *, decrement=True):
    """Wait until a semaphore has a value, and subtract that. On the CPU nobody waits.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out, sem):
      ...     pl.semaphore_signal(sem, 3)
      ...     pl.semaphore_wait(sem, 1)
      ...     out[0] = pl.semaphore_read(sem)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((1,), "int32"),
      ...                scratch_shapes=[tpu.SemaphoreType.REGULAR])().tolist()
      [2]
    """
    sem = as_reference(sem_or_view)
    more = {} if decrement else {"decrement": False}
    write(
        sem.root,
        semaphore_wait_p(read(sem.root), _number(value), *sem.operands, place=Place(sem.steps), **more),
    )


@folded
def semaphore_read(sem_or_view):
    """The value of a semaphore, an i32.

    Example:
      >>> from rabbet.experimental import pallas as pl
      >>> from rabbet.experimental.pallas import tpu
      >>> def kernel(out, sem):
      ...     pl.semaphore_signal(sem, 3)
      ...     pl.semaphore_wait(sem, 1)
      ...     out[0] = pl.semaphore_read(sem)
      >>> pl.pallas_call(kernel, rb.ShapeDtypeStruct((1,), "int32"),
      ...                scratch_shapes=[tpu.SemaphoreType.REGULAR])().tolist()
      [2]
    """
    sem = as_reference(sem_or_view)
    return semaphore_read_p(read(sem.root), *sem.operands, place=Place(sem.steps))


@folded
def make_async_remote_copy(*args, **named):
    """A copy to another device: not offered."""
    _local("make_async_remote_copy", True, None)


__all__ = [
    "AsyncCopyDescriptor",
    "SemaphoreType",
    "async_copy",
    "copy_start",
    "copy_wait",
    "make_async_copy",
    "make_async_remote_copy",
    "semaphore_read",
    "semaphore_read_p",
    "semaphore_signal",
    "semaphore_signal_p",
    "semaphore_wait",
    "semaphore_wait_p",
    "sync_copy",
]
