"""The classes: ``Ref``, a part of one (``View``), and ``AbstractRef``, which only says a type."""

from rabbet import Array, device_put, lax
from rabbet.extend.cells import Cell, read, update, write
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof
from rabbet.ref import indices


@folded
class Ref(Cell):
    """A place with an array of one shape and dtype that functions read and write; made by ``new_ref``.

    Example:
      >>> ref = rb.new_ref(rnp.arange(3))
      >>> ref[0] = 5
      >>> ref[...], ref
      (Array([5, 1, 2], dtype=int32), Ref([5, 1, 2], dtype=int32))
    """

    __slots__ = ()
    not_an_array = "it is a place with one. Read its value with ref[...]"

    shape = property(lambda self: self.type.shape, doc="The shape of its values.")
    dtype = property(lambda self: self.type.dtype, doc="The dtype of its values.")
    ndim = property(lambda self: self.type.ndim, doc="The number of dimensions.")
    size = property(lambda self: self.type.size, doc="The number of elements.")
    sharding = property(lambda self: read(self).sharding, doc="Where its value lies.")
    committed = property(lambda self: read(self).committed, doc="Whether its value was put there.")

    def __getitem__(self, index):
        return get(self, index)

    def __setitem__(self, index, value):
        put(self, index, value)

    def addupdate(self, x, idx=()):
        """``ref[idx] += x``."""
        add(self, idx, x)

    @property
    def at(self):
        """``ref.at[idx]`` is a part of the reference, which is read and written as one itself."""
        return At(self, ())

    def slices(self, index):
        """What the body of a ``scan`` over the reference sees."""
        return View(self, (index,))

    def block_until_ready(self):
        """Wait for its value; the reference."""
        read(self).block_until_ready()
        return self

    def unsafe_buffer_pointer(self):
        """The address of its value's memory."""
        return read(self).unsafe_buffer_pointer()

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a Ref of shape ()")
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __repr__(self):
        content = self.content
        if type(content) is Array and not content.is_deleted():
            return "Ref" + repr(content).removeprefix("Array")
        return f"Ref{{{self.type}}}"


class At:
    """What ``ref.at`` is: indexed, it is a part."""

    def __init__(self, ref, steps):
        self._ref, self._steps = ref, steps

    def __getitem__(self, index):
        return View(self._ref, (*self._steps, index))


@folded
class View:
    """A part of a reference, read and written as one itself. ``jit`` and others take whole ones only."""

    not_an_array = Ref.not_an_array

    def __init__(self, ref, steps):
        self.ref, self.steps = ref, steps

    @property
    def shape(self):
        """The shape of the part."""
        return _shape_of(self.ref, self.steps)

    dtype = property(lambda self: self.ref.dtype, doc="The dtype.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    at = property(lambda self: At(self.ref, self.steps), doc="A part of the part.")

    def __getitem__(self, index):
        return get(self, index)

    def __setitem__(self, index, value):
        put(self, index, value)

    def get(self):
        """The value of the part."""
        return get(self, ...)

    def set(self, value):
        """Replace the value of the part."""
        put(self, ..., value)

    def __repr__(self):
        return f"{self.ref!r}.at{''.join(f'[{s!r}]' for s in self.steps)}"


def _parts(ref, index):
    """The reference and the indices to apply one after the other."""
    if isinstance(ref, View):
        ref, steps = ref.ref, ref.steps
    elif isinstance(ref, Ref):
        steps = ()
    else:
        raise TypeError(f"expected a Ref, made by new_ref, got {type(ref).__name__}: {ref!r:.40}")
    return ref, [step for step in (*steps, index) if not indices.is_everything(step)]


def _shape_of(ref, steps):
    shape = ref.shape
    for step in steps:
        shape = indices.shape_at(shape, step)
    return shape


def get(ref, index):
    """The value of a part."""
    ref, steps = _parts(ref, index)
    _shape_of(ref, steps)  # refuses what is out of bounds
    value = read(ref)
    for step in steps:
        value = value[step]
    return value if steps else apart(value)


def apart(value):
    """An array apart from that of the reference, as another handle or as a copy: who donates or deletes one
    leaves the other as it is.
    """
    if type(value) is not Array:
        return value
    devices = value.sharding.device_set
    if len(devices) == 1 and next(iter(devices)).platform == "cpu":
        return array_or_tracer(value, captured=True)
    return device_put(value, may_alias=False)


def put(ref, index, value):
    """Replace a part."""
    ref, steps = _parts(ref, index)
    value = _fitting(value, ref, _shape_of(ref, steps))
    if steps:
        update(ref, lambda whole: _with_part(whole, steps, lambda at: at.set(value)))
    else:
        write(ref, apart(value))


def swap(ref, index, value):
    """Replace a part; its value before."""
    ref, steps = _parts(ref, index)
    value = _fitting(value, ref, _shape_of(ref, steps))
    before = []

    def change(whole):
        before[:] = [whole]
        return _with_part(whole, steps, lambda at: at.set(value)) if steps else apart(value)

    update(ref, change)
    (old,) = before
    for step in steps:
        old = old[step]
    return old if steps else apart(old)


def add(ref, index, value):
    """Add to a part."""
    ref, steps = _parts(ref, index)
    value = _fitting(value, ref, _shape_of(ref, steps))

    def change(whole):
        return _with_part(whole, steps, lambda at: at.add(value)) if steps else lax.add(whole, value)

    update(ref, change)


def _with_part(whole, steps, change):
    """``whole`` with the part that the indices lead to changed."""
    step, *rest = steps
    if not rest:
        return change(whole.at[step])
    return whole.at[step].set(_with_part(whole[step], rest, change))


def _fitting(value, ref, shape):
    """``value`` as an array of the dtype and shape that is replaced."""
    value = array_or_tracer(value)
    aval = typeof(value)
    fits = aval.dtype == ref.dtype or (
        aval.weak_type and not (ref.dtype.kind in "biu" and aval.dtype.kind in "fc")
    )
    if not fits:
        raise ValueError(
            f"a {aval.dtype} value cannot be written to a Ref of {ref.dtype}\n"
            f"  to fix: convert it with .astype('{ref.dtype}')"
        )
    if aval.shape != shape:
        raise ValueError(
            f"a value of shape {aval.shape} cannot be written to a part of shape {shape} of a Ref of shape "
            f"{ref.shape}\n  to fix: bring it to that shape, as with rabbet.numpy.broadcast_to"
        )
    if aval.dtype != ref.dtype or aval.weak_type:
        value = lax.convert_element_type(value, ref.dtype)
    return value


class AbstractRef(Cell):
    """The type of a reference, for tracing without one: ``jit(f).lower(AbstractRef(rb.typeof(x)))``.

    Args:
      inner_aval: the type of its values, an object with a shape and a dtype.
      memory_space, kind: accepted and kept.

    Example:
      >>> rb.ref.AbstractRef(rb.typeof(rnp.zeros(3)))
      Ref{float32[3]}
    """

    __slots__ = ("kind", "memory_space")
    seen_as = Ref
    not_an_array = Ref.not_an_array

    def __init__(self, inner_aval, memory_space=None, kind=None):
        super().__init__(ShapedArray(tuple(inner_aval.shape), inner_aval.dtype))
        self.memory_space, self.kind = memory_space, kind

    inner_aval = property(lambda self: self.type, doc="The type of its values.")
    shape = property(lambda self: self.type.shape, doc="The shape of its values.")
    dtype = property(lambda self: self.type.dtype, doc="The dtype of its values.")
    ndim = property(lambda self: self.type.ndim, doc="The number of dimensions.")

    def __eq__(self, other):
        return type(other) is AbstractRef and self.type == other.type

    def __hash__(self):
        return hash((AbstractRef, self.type))

    def __repr__(self):
        return f"Ref{{{self.type}}}"


__all__ = ["AbstractRef", "Ref", "View", "add", "get", "put", "swap"]
