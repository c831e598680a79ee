"""The primitives of memory: ``load``, ``store`` and ``atomic``, on states that go from one to the next."""

from rabbet import lax
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas import array_parts, masked_parts


def fitting(name, place, state, value, operands, masked, other=False):
    """Refuse operands that do not fit the place; its type."""
    part = place.type_of(state)
    wanted = place.operands + masked + other
    if len(operands) != wanted:
        raise TypeError(f"{name}: the place needs {wanted} operands, got {len(operands)}")
    if value is not None and (value.shape, value.dtype) != (part.shape, part.dtype):
        raise TypeError(f"{name}: a value {value.str_short()} for a part {part.str_short()}")
    if masked and operands[place.operands].shape != part.shape:
        raise TypeError(
            f"{name}: a mask {operands[place.operands].str_short()} for a part {part.str_short()}"
        )
    return part


def load_type(state, *operands, place, masked=False, other=False, hints=()):
    return fitting("load", place, state, None, operands, masked, other)


def store_type(state, value, *operands, place, masked=False, hints=()):
    fitting("store", place, state, value, operands, masked)
    return ShapedArray(state.shape, state.dtype)


def atomic_type(state, value, *operands, place, kind, masked=False):
    part = fitting("atomic", place, state, value, operands, masked)
    return ShapedArray(state.shape, state.dtype), part


def exchange_type(state, expected, value, *operands, place):
    part = fitting("compare_and_swap", place, state, value, operands, False)
    return ShapedArray(state.shape, state.dtype), part


load = Primitive("load", load_type, doc="the part of a reference's state at a place")
store = Primitive("store", store_type, doc="a reference's state with the part at a place replaced")
atomic = Primitive(
    "atomic", atomic_type, multiple_results=True,
    doc="a state whose part at a place is combined with a value at once, and the part before",
)  # fmt: skip
compare_and_swap = Primitive(
    "compare_and_swap", exchange_type, multiple_results=True,
    doc="a state whose element is replaced if it is the expected one, and the element before",
)  # fmt: skip


@load.decompose
def load_parts(op, state, *operands):
    place, masked = op.params["place"], op.params.get("masked", False)
    if not masked:
        return array_parts.take(state, place.steps, operands)
    n = place.operands
    other = operands[n + 1] if op.params.get("other", False) else None
    return masked_parts.take(state, place.steps, operands[:n], operands[n], other)


@store.decompose
def store_parts(op, state, value, *operands):
    place = op.params["place"]
    if not op.params.get("masked", False):
        return array_parts.put(state, value, place.steps, operands)
    n = place.operands
    return masked_parts.put(state, value, place.steps, operands[:n], operands[n])


@atomic.decompose
def atomic_parts(op, state, value, *operands):
    place, kind = op.params["place"], op.params["kind"]
    masked = op.params.get("masked", False)
    old = load(state, *operands, place=place, masked=masked)
    mask = operands[place.operands] if masked else None
    return [masked_parts.combine(state, value, place, operands[: place.operands], mask, kind), old]


@compare_and_swap.decompose
def compare_and_swap_parts(op, state, expected, value, *operands):
    place = op.params["place"]
    old = load(state, *operands, place=place)
    new = lax.select(lax.eq(old, expected), value, old)
    return [store(state, new, *operands, place=place), old]


def type_of(x):
    """The type of a value, weak or not, as states have it."""
    aval = typeof(x)
    return ShapedArray(aval.shape, aval.dtype)


__all__ = ["atomic", "compare_and_swap", "load", "store", "type_of"]
