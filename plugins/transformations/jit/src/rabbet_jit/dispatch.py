"""The function that ``jit`` returns: its fast path finds the program by the arguments in one lookup.

Anything unusual (a signature not seen before, a transformation that is running) goes to ``Jitted.slowly``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import Array, config
from rabbet import tree as trees
from rabbet.extend.backend import call_by_placements, program_entry
from rabbet.extend.functions import to_array
from rabbet.extend.wrapping import is_of_handler

from rabbet_jit.compiled_function import CompiledFunction
from rabbet_jit.signature import kinds

if TYPE_CHECKING:
    from rabbet.typing import Value

shared_array = functools.partial(to_array, shared=True)
later = functools.partial(to_array, later=True)
# What the fast path makes arrays of, beside the arrays that it gets.
NUMPY_NUMBERS = [np.dtype(name).type for name in "?bhilBHILefd"]
CONVERTED = frozenset([float, int, bool, np.ndarray, *NUMPY_NUMBERS])
LEAVES = CONVERTED | {Array}


def converting(jitted: Any) -> Any:
    """What makes an array of an argument: one of a number may be donated if it was made for this call, else
    it is shared with all that take it.
    """
    return to_array if jitted.donated else shared_array


class Trees(dict):
    """Programs for pytrees by their structure: for each one the programs by placements, and the places where
    a leaf was no array in some call.

    ``shapes`` has pairs of a structure and those programs, once more: a frame of another package may put what
    finds a structure more quickly in the place of each (see ``FrameParts``).
    """

    __slots__ = ("shapes",)

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[object, ...]] = []

    def enter(self, treedef: Any, leaves: list[Any], key: Any, run: Callable[..., Any]) -> None:
        """Enter a program for the types of ``leaves``, with ``key`` for its placements."""
        programs, numbers = self.get(treedef, (None, ()))
        if programs is None:
            programs = {}
            self.shapes.append((treedef, programs))
        programs[key] = program_entry(run)
        places = [i for i, x in enumerate(leaves) if type(x) is not Array]
        self[treedef] = programs, tuple(sorted({*numbers, *places}))

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self.shapes.clear()


def unread_by(run: Any, leaves: list[Any]) -> list[int]:
    """The places of NumPy arrays among the leaves of a call that its program does not read."""
    reading = reading_of(run)
    if reading is None:
        return []
    captured = len(run.captured[0]) if hasattr(run, "captured") else 0
    read = {i - captured for i in reading[0]}
    return [i for i, x in enumerate(leaves) if type(x) is np.ndarray and i not in read]


def reading_of(run: Any) -> Any:
    """The ``reading`` of a program, see ``FrameParts``; None where it gets all leaves."""
    captured = getattr(run, "captured", None)
    return getattr(run if captured is None else captured[1][-1], "reading", None)


def all_there(run: Any, leaves: list[Any]) -> list[Any]:
    """The leaves for a program: where it gets all of them, those that ``later`` put off are made."""
    if reading_of(run) is not None:
        return leaves
    return [x if type(x) is Array else x.array for x in leaves]


class Quick(dict):
    """The programs of a function by what the fast path sees: here by arrays, in ``trees`` by pytrees of
    ``args``, in ``named`` by pytrees of ``(args, kwargs)``, in ``fixed`` by static values and then by pytrees
    of the other arguments.

    There is something in ``apart`` while calls are not looked up as calls on arrays at all: because of
    pytrees, or since the last call had a number or a NumPy array. To find out by an exception takes longer.

    ``unread`` are the places of NumPy arrays among leaves that some program did not read: they are put on the
    device where one does.
    """

    __slots__ = ("apart", "fixed", "named", "trees", "unread")

    def __init__(self) -> None:
        super().__init__()
        self.trees, self.named, self.fixed, self.apart = Trees(), Trees(), {}, []
        self.unread: set[int] = set()

    def remember(
        self, args: tuple[Any, ...], kwargs: dict[Any, Any], leaves: list[Any], key: Any, run: Any
    ) -> None:
        """Enter a program under what the fast path asks for; ``leaves`` are those of the call."""
        self.unread.update(unread_by(run, leaves))
        if kwargs:
            self.named.enter(trees.structure((args, kwargs)), leaves, key, run)
        elif not self.trees and LEAVES.issuperset(map(type, args)):
            self[key] = program_entry(run)
        else:
            self.trees.enter(trees.structure(args), leaves, key, run)
            self.apart[:] = [self.trees]

    def remember_fixed(
        self, values: tuple[Any, ...], treedef: Any, leaves: list[Value], key: Any, run: Callable[..., Any]
    ) -> None:
        """Enter a program of a call with these static ``values``, as ``Split`` gives them."""
        self.unread.update(unread_by(run, leaves))
        self.fixed.setdefault(values, Trees()).enter(treedef, leaves, key, run)

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self.apart.clear()
        self.unread.clear()
        self.fixed.clear()
        self.trees.clear()
        self.named.clear()


class Split:
    """Takes static arguments out of a call: ``split(args, kwargs)`` is a key of their values, and the other
    arguments.

    Values are told apart as ``Signature`` does it: 1, 1.0 and True are different. Raises what hashing them
    does where the key is looked up.
    """

    def __init__(self, statics: Any) -> None:
        self.statics, self.names = statics, tuple(statics.names)
        self.by_count: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> tuple[tuple[Any, ...], ...]:
        count = len(args)
        try:
            fixed, moving = self.by_count[count]
        except KeyError:
            places = self.statics.positions(count)
            fixed, moving = tuple(sorted(places)), tuple([i for i in range(count) if i not in places])
            self.by_count[count] = fixed, moving
        values: list[Any] = [count]
        for i in fixed:
            value = args[i]
            values += (kinds(value) if isinstance(value, tuple) else type(value), value)
        if kwargs:
            for name in self.names:
                if name in kwargs:
                    value = kwargs[name]
                    values += (name, kinds(value) if isinstance(value, tuple) else type(value), value)
            kwargs = {k: v for k, v in kwargs.items() if k not in self.names}
        return tuple(values), (tuple([args[i] for i in moving]), kwargs)


def caller(jitted: Any) -> Any:
    """The function that users call, with the stages as its attributes."""
    slowly, quick, settings, convert = jitted.slowly, jitted.quick, config.values, converting(jitted)
    apart, unread = quick.apart, () if jitted.donated else quick.unread

    def unusual(*args: Any, **kwargs: Any) -> Value | tuple[Any, ...] | None:
        return slowly(args, kwargs)

    def in_pytrees(known: dict[Any, Any], given: tuple[dict[Any, Any] | tuple[Any, ...], ...]) -> Any:
        """The program for pytrees out of ``known``, and the arrays to run it on."""
        # By the module: a function sent to another process can name that, not the registry itself.
        try:
            leaves, treedef = trees.registry.flatten(given)
        except Exception as error:  # `slowly` meets it again, and says what it is
            trees.recursion_levels.give_back(error, given)
            raise
        programs, numbers = known[treedef]
        for i in numbers:
            x = leaves[i]
            if type(x) in CONVERTED:
                leaves[i] = later(x) if i in unread and type(x) is np.ndarray else convert(x)
        run = programs[(*[x.spec for x in leaves], settings.traced_key)][-1]
        return run, all_there(run, leaves) if unread else leaves

    def of_others(args: tuple[Any, ...]) -> Any:
        """The fast path for arrays, Python's numbers, NumPy's numbers and arrays, and pytrees of them."""
        leaves: Any
        try:
            if quick.trees:  # as `in_pytrees`, without its call
                try:
                    leaves, treedef = trees.registry.flatten(args)
                except Exception as error:
                    trees.recursion_levels.give_back(error, args)
                    raise
                programs, numbers = quick.trees[treedef]
                for i in numbers:
                    x = leaves[i]
                    if type(x) in CONVERTED:
                        leaves[i] = later(x) if i in unread and type(x) is np.ndarray else convert(x)
                run = programs[(*[x.spec for x in leaves], settings.traced_key)][-1]
            else:
                # No pytree was among them so far: then the key is that of the arrays which are made of them.
                leaves = list(args)
                places = [i for i, x in enumerate(args) if type(x) is not Array]
                for i in places:
                    x = args[i]
                    if type(x) in CONVERTED:
                        leaves[i] = later(x) if i in unread and type(x) is np.ndarray else convert(x)
                run = quick[(*[x.spec for x in leaves], settings.traced_key)][-1]
                apart[:] = places
            if unread:
                leaves = all_there(run, leaves)
        except Exception as error:  # not known; or what cannot be an argument, of which `slowly` says so
            if is_of_handler(error):
                raise
            run = None
        return slowly(args, {}) if run is None else run(leaves)

    def by_name(args: Any, kwargs: Any) -> Any:
        """The fast path for calls with keywords; without one, it is a program that is not known yet."""
        try:
            run, leaves = in_pytrees(quick.named, (args, kwargs)) if kwargs else (None, ())
        except Exception as error:
            if is_of_handler(error):
                raise
            run = None
        return slowly(args, kwargs) if run is None else run(leaves)

    def of_fixed(args: Any, kwargs: Any) -> Any:
        """The fast path for calls with static arguments."""
        try:
            values, given = split(args, kwargs)
            run, leaves = in_pytrees(fixed[values], given)
        except Exception as error:
            if is_of_handler(error):
                raise
            run, leaves = None, ()
        return slowly(args, kwargs) if run is None else run(leaves)

    def of_fixed_places(args: tuple[Any, ...]) -> tuple[Value, ...] | Value:
        return of_fixed(args, {})

    if jitted.statics:
        split, fixed = jitted.split, quick.fixed
        others, keywords, of_trees = of_fixed_places, of_fixed, fixed
        offered: dict[str, Any] = {"fixed": fixed, "split": split}
    else:
        others, keywords, of_trees = of_others, by_name, apart
        offered = {"trees": quick.trees, "named": quick.named}
    more = {**offered, "convert": convert, "converted": CONVERTED}
    if not jitted.donated:
        more.update(unread=quick.unread, later=later)
    call = call_by_placements(
        jitted.fun, quick, traced=unusual, slowly=keywords, of_others=others, of_trees=of_trees, offered=more
    )
    return CompiledFunction(call, jitted)
