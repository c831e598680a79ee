"""A user's Python function as a parameter of a primitive: how its arguments and its result are put together.

The program sees flat lists of arrays. The function gets its own pytrees, and what it returns is checked
against what was promised: the layers below copy bytes without looking at their type.
"""

import numpy as np
from rabbet import dtypes, tree
from rabbet.extend.functions import describe_function, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.tree import keystr


class Hole:
    """Marks the place of an array among the leaves of the arguments."""

    def __repr__(self):
        return "*"


HOLE = Hole()


class Fixed:
    """A leaf of the arguments that is not an array, such as a string: the function gets it as it is."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class HostFunction:
    """A Python function that programs call.

    Args:
      function: the user's; messages name it.
      who: the function of Rabbet that it was given to, for messages.
      structure: the structure of ``(args, kwargs)``.
      places: what each leaf of it is: ``HOLE`` for an array, ``Fixed``, or the structure of a pytree of them.
      out_tree: the structure of the result; None: the result is ignored.
      device: the one of a program over several devices that calls it; None: the first.
    """

    __slots__ = ("function", "who", "structure", "places", "out_tree", "device")
    # An operator with such a parameter is not kept with its primitive: that would keep the user's closures.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, function, who, structure, places, out_tree, device=None):
        self.function, self.who, self.device = function, who, device
        self.structure, self.places, self.out_tree = structure, places, out_tree

    name = property(lambda self: getattr(self.function, "__name__", type(self.function).__name__))

    def __str__(self):
        return describe_function(self.function)

    def call(self, arrays, out_avals):
        """Call the function on a flat list of arrays; a list of NumPy arrays of the types ``out_avals``."""
        args, kwargs = self.arguments(arrays)
        result = self.function(*args, **kwargs)
        return [] if self.out_tree is None else self.checked(result, out_avals)

    def arguments(self, arrays):
        """The function's own ``(args, kwargs)`` from a flat list of arrays."""
        given = iter(arrays)
        leaves = []
        for place in self.places:
            if place is HOLE:
                leaves.append(next(given))
            elif type(place) is Fixed:
                leaves.append(place.value)
            else:
                leaves.append(tree.unflatten(place, [next(given) for _ in range(place.num_leaves)]))
        return tree.unflatten(self.structure, leaves)

    def on_trees(self, structures):
        """The same function where each of its arrays has become a pytree of arrays."""
        mine = iter(structures)
        places = [p if type(p) is Fixed else self._within(p, mine) for p in self.places]
        return HostFunction(
            self.function, self.who, self.structure, tuple(places), self.out_tree, self.device
        )

    @staticmethod
    def _within(place, structures):
        if place is HOLE:
            return next(structures)
        skeleton = tree.unflatten(place, [next(structures) for _ in range(place.num_leaves)])
        filled = tree.map(lambda s: tree.unflatten(s, [0] * s.num_leaves), skeleton)
        return tree.structure(filled)

    def checked(self, result, out_avals):
        """The leaves of ``result`` as NumPy arrays of the types ``out_avals``.

        Raises:
          TypeError: another structure or dtype was returned; a list counts as a tuple, None as an empty one.
          ValueError: another shape was returned.
        """
        leaves, structure = tree.flatten(result)
        if structure != self.out_tree and _as_sequences(structure) != _as_sequences(self.out_tree):
            raise TypeError(
                f"{self.who}: {self} returned the structure {structure}, result_shape_dtypes promised "
                f"{self.out_tree}"
            )
        paths = [path for path, _ in tree.leaves_with_path(result)] if len(leaves) > 1 else [()]
        return [
            self._leaf(x, aval, keystr(path)) for x, aval, path in zip(leaves, out_avals, paths, strict=False)
        ]

    def _leaf(self, x, aval, path):
        if getattr(x, "dtype", None) == aval.dtype and x.shape == aval.shape and not aval.is_extended:
            return np.asarray(x, order="C")
        return self._converted(x, aval, path)

    def _converted(self, x, aval, path):
        """What is not of the promised type to the letter: a number, NumPy's own 64 bits; or refused."""
        what = f"{self.who}: {self} returned{f' at {path}' if path else ''} "
        promised = f", result_shape_dtypes promised {aval.str_short()}"
        try:
            have = typeof(x)
        except TypeError:
            shown = f"{type(x).__name__} {x!r:.60}"
            raise TypeError(f"{what}a value that is not an array, {shown}{promised}") from None
        if have.shape != aval.shape:
            raise ValueError(f"{what}an array of shape {have.shape}{promised}")
        if aval.is_extended:
            raise TypeError(f"{what}an array of an extended dtype{promised}; return what stores it")
        adopted = is_python_scalar(x) and dtypes.kind_rank(type(x)) <= dtypes.kind_rank(aval.dtype)
        # NumPy's own 64 bits count as 32, as everywhere.
        if not (adopted or have.dtype == aval.dtype):
            raise TypeError(
                f"{what}an array of dtype {getattr(x, 'dtype', have.dtype)}{promised}; convert it with "
                f".astype({aval.dtype.name!r})"
            )
        return np.asarray(x).astype(aval.dtype, order="C")


def _as_sequences(structure):
    """A structure with lists as tuples, and None as a tuple of nothing: Python functions return None where
    they return nothing, and often a list where a tuple is meant.
    """
    data = structure.node_data()
    if data is None:
        return "leaf"
    cls, metadata = data
    kind = tuple if cls in (list, type(None)) else cls
    return kind, metadata if kind is not tuple else None, *map(_as_sequences, structure.children())


def taken_apart(function, who, args, kwargs, *, out_tree=None, fixed=None, device=None):
    """The arrays among a call's arguments, and the ``HostFunction`` that puts them together again.

    Args:
      fixed: which leaves stay what they are although they could be arrays; then those that could not stay
        what they are, too. None: every leaf must be an array.
      device: the one that calls the function.

    Raises:
      TypeError: ``function`` is not callable, or a leaf is not an array and ``fixed`` is None.
    """
    if not callable(function):
        raise TypeError(f"{who} takes a function, got {type(function).__name__}: {function!r:.60}")
    leaves, structure = tree.flatten((args, kwargs))
    arrays: list = []
    places: list = []
    for x in leaves:
        try:
            typeof(x)
        except TypeError:
            if fixed is None:
                raise TypeError(
                    f"{who}: an argument for {describe_function(function)} is not an array: "
                    f"{type(x).__name__} {x!r:.60}; bind such values with functools.partial"
                ) from None
            places.append(Fixed(x))
        else:
            is_fixed = fixed is not None and fixed(x)
            places.append(Fixed(x) if is_fixed else HOLE)
            arrays += [] if is_fixed else [x]
    return arrays, HostFunction(function, who, structure, tuple(places), out_tree, device)


__all__ = ["HOLE", "Fixed", "HostFunction", "taken_apart"]
