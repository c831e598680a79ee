"""What a kernel is given: references, and parts of them."""

import math

from rabbet import lax
from rabbet.extend.cells import Cell, read, write
from rabbet.extend.functions import array_or_tracer, folded
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import indexing, memory
from rabbet_pallas.reference_parts import Bitcast, Index, Place, Reshape, Transpose


class Readable:
    """What references and parts of them have in common."""

    __slots__ = ()
    not_an_array = "it is a reference within a kernel. Read its value with ref[...]"

    shape = property(lambda self: self.type.shape, doc="The shape of its values.")
    dtype = property(lambda self: self.type.dtype, doc="The dtype of its values.")
    ndim = property(lambda self: self.type.ndim, doc="The number of dimensions.")
    size = property(lambda self: self.type.size, doc="The number of elements.")
    at = property(lambda self: At(self), doc="``ref.at[index]`` is a part.")
    T = property(lambda self: self.transpose(), doc="The same elements with the dimensions turned around.")

    def __getitem__(self, index):
        indexing.refuse_beyond(index, self.shape)
        return get(part(self, index))

    def __setitem__(self, index, value):
        indexing.refuse_beyond(index, self.shape)
        put(part(self, index), value)

    def get(self):
        """The value."""
        return get(self)

    def set(self, value):
        """Replace the value."""
        put(self, value)

    def swap(self, value):
        """Replace the value; the one before."""
        return swap(self, value)

    def addupdate(self, x, idx=()):
        """``ref[idx] += x``."""
        self[idx] = self[idx] + x

    def bitcast(self, dtype):
        """The same bits as another dtype: the last dimension but one changes its size with the elements'."""
        return behind(self, Bitcast(ShapedArray((), dtype).dtype))

    def reshape(self, *shape):
        """The same elements in another shape; one size may be -1."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return behind(self, Reshape(complete(tuple(shape), self.size)))

    def transpose(self, *permutation):
        """The same elements with the dimensions in another order."""
        order = (
            permutation[0] if len(permutation) == 1 and not isinstance(permutation[0], int) else permutation
        )
        order = order or tuple(reversed(range(self.ndim)))
        return behind(self, Transpose(tuple([d % self.ndim for d in order])))

    def __add__(self, other):
        raise TypeError(
            f"arithmetic with {self!r} itself\n  to fix: its value, ref[...]; to add to it: ref[...] += x"
        )

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
    __matmul__ = __rmatmul__ = __pow__ = __lt__ = __le__ = __gt__ = __ge__ = __add__

    def __neg__(self):
        return self + 0

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a reference of shape ()")
        return self.shape[0]


@folded
class Ref(Readable, Cell):
    """A place in memory that a kernel reads and writes: ``ref[...]``, ``ref[i, ds(j, 8)] = x``."""

    __slots__ = ("memory_space", "kind")

    def __init__(self, type, content=None, memory_space=None, kind=None):
        super().__init__(type, content)
        self.memory_space, self.kind = memory_space, kind

    def within(self, content):
        made = super().within(content)
        made.memory_space, made.kind = self.memory_space, self.kind
        return made

    root = property(lambda self: self, doc="The reference that this is a part of: itself.")
    steps, operands = (), ()

    def __repr__(self):
        return f"Ref{{{self.type.str_short()}}}"


@folded
class View(Readable):
    """A part of a reference, read and written as one itself; made by ``ref.at[...]`` and its like."""

    __slots__ = ("root", "steps", "operands", "type")

    def __init__(self, root, steps, operands):
        self.root, self.steps, self.operands = root, tuple(steps), tuple(operands)
        self.type = Place(self.steps).type_of(root.type)

    memory_space = property(lambda self: self.root.memory_space, doc="The memory of its reference.")
    kind = property(lambda self: self.root.kind, doc="The kind of semaphores that it is of.")

    def __repr__(self):
        return f"{self.root!r}.at[...]{{{self.type.str_short()}}}"


class At:
    """What ``ref.at`` is: indexed, it is a part."""

    __slots__ = ("_ref",)

    def __init__(self, ref):
        self._ref = ref

    def __getitem__(self, index):
        return part(self._ref, index)


def part(ref, index):
    """The part of a reference that an index names."""
    if index is None or index is ... or index == () if not hasattr(index, "dtype") else False:
        return ref
    found, operands = indexing.index_of(ref.shape, index)
    if found.is_all_of(ref.shape):
        return ref
    if ref.steps and isinstance(ref.steps[-1], Index):
        last = ref.steps[-1]
        split = len(ref.operands) - last.operands
        one = indexing.joined(last, ref.operands[split:], found, operands)
        if one is not None:
            return View(ref.root, (*ref.steps[:-1], one[0]), (*ref.operands[:split], *one[1]))
    return behind(ref, found, operands)


def behind(ref, step, operands=()):
    """The part of a reference that one more step leads to."""
    return View(ref.root, (*ref.steps, step), (*ref.operands, *operands))


def get(ref, mask=None, other=None, hints=()):
    """The value of a reference or of a part."""
    as_reference(ref)
    state, place = read(ref.root), Place(ref.steps)
    if mask is None:
        if other is not None:
            raise TypeError("load: other says what elements are that a mask leaves out; there is no mask")
        more = {"hints": hints} if hints else {}
        return memory.load(state, *ref.operands, place=place, **more)
    operands = [*ref.operands, spread(mask, ref.shape, "bool", "the mask")]
    if other is not None:
        operands.append(spread(other, ref.shape, ref.dtype, "other"))
    return memory.load(state, *operands, place=place, masked=True, other=other is not None, hints=hints)


def put(ref, value, mask=None, hints=()):
    """Replace the value of a reference or of a part."""
    as_reference(ref)
    place, value = Place(ref.steps), fitting(value, ref)
    operands, more = list(ref.operands), {}
    if mask is not None:
        operands.append(spread(mask, ref.shape, "bool", "the mask"))
        more["masked"] = True
    if hints:
        more["hints"] = hints
    write(ref.root, memory.store(read(ref.root), value, *operands, place=place, **more))


def swap(ref, value, mask=None):
    """Replace the value of a reference or of a part; its value before."""
    old = get(ref, mask)
    put(ref, value, mask)
    return old


def as_reference(ref):
    """Refuse what is not a reference of a kernel."""
    if not isinstance(ref, (Ref, View)):
        raise TypeError(
            f"expected a reference of a kernel, got {type(ref).__name__} {ref!r:.40}\n"
            "  to fix: give what pallas_call hands to the kernel, or ref.at[...]"
        )
    return ref


def fitting(value, ref):
    """``value`` as an array of the dtype and shape of a part."""
    value = array_or_tracer(value)
    aval = typeof(value)
    if aval.kind in "fc" and ref.type.kind in "iub" and aval.shape == ref.shape:
        raise ValueError(
            f"a value of {aval.dtype} cannot be written to a reference of {ref.dtype}: digits would be lost\n"
            f"  to fix: value.astype({str(ref.dtype)!r}), or another dtype of what is written to"
        )
    if aval.shape != ref.shape and aval.shape != ():
        raise ValueError(
            f"a value of shape {aval.shape} cannot be written to a reference of shape {ref.shape}\n"
            "  to fix: bring it to that shape, as with rabbet.numpy.broadcast_to"
        )
    return spread(value, ref.shape, ref.dtype, "the value")


def spread(value, shape, dtype, what):
    """``value`` in a dtype and a shape."""
    value = array_or_tracer(value)
    aval = typeof(value)
    if aval.dtype != dtype or aval.weak_type:
        value = lax.convert_element_type(value, dtype)
    if aval.shape == tuple(shape):
        return value
    missing = len(shape) - aval.ndim
    if missing < 0 or any(n not in (1, m) for n, m in zip(aval.shape, shape[missing:], strict=True)):
        raise ValueError(f"{what} of shape {aval.shape} does not fit a reference of shape {tuple(shape)}")
    return lax.broadcast_in_dim(value, tuple(shape), tuple(range(missing, len(shape))))


def complete(shape, size):
    """A shape with its -1 replaced."""
    known = math.prod([n for n in shape if n != -1])
    return tuple([size // known if n == -1 else n for n in shape])


__all__ = ["Ref", "View", "as_reference", "behind", "get", "part", "put", "swap"]
