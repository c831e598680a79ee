"""The observer of ``config.debug_key_reuse``: who uses a key a second time is told where it was used first.

Each element of an array of keys has a number, its *identity*. Operations that move elements move their
numbers, a call of a program is followed through its equations (``key_rules``), and what draws from keys or
splits them uses their numbers up. Nothing here runs while the setting is off.
"""

import threading
import weakref
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from rabbet import Array, tree
from rabbet.errors import KeyReuseError
from rabbet.extend.functions import source_position
from rabbet.extend.transform import context
from rabbet.random import key_rules


class Use(NamedTuple):
    """Where a key was used up: by which function, and the places ``(code, instruction)`` that lead there, the
    innermost first.
    """

    who: str
    places: tuple[Any, ...]

    def lines(self):
        """The lines, as a text."""
        return ", called at ".join(dict.fromkeys([str(source_position(p)) for p in self.places]))

    def __str__(self):
        return f"{self.who} ({self.lines()})" if self.places else self.who


class Known:
    """What is known of the arrays of keys that live: the numbers of their elements, and which were used.

    An array is held weakly, and a use as long as an array lives that has the key. Arrays on the same memory
    are the same keys: what a function captured is another array there.
    """

    def __init__(self):
        self.arrays: dict[Any, tuple[Any, np.ndarray]] = {}
        self.uses: dict[int, Use] = {}
        self.holders: dict[int, int] = {}
        self.memory: dict[Any, int] = {}
        self.lock = threading.RLock()

    def numbers(self, array: Any) -> np.ndarray:
        """The numbers of the elements of an array of keys; new ones for one that was not seen before."""
        found = self.arrays.get(id(array))
        if found is None:
            before = self.arrays.get(self.memory.get(memory_of(array), -1))
            if before is not None and before[1].shape == array.shape:
                return self.enter(array, before[1])
            return self.enter(array, key_rules.fresh(array.shape))
        return found[1]

    def enter(self, array: Any, numbers: np.ndarray) -> np.ndarray:
        """Remember an array with these numbers."""
        with self.lock:
            here = id(array)
            if here not in self.arrays:
                place = memory_of(array)
                reference = weakref.ref(array, lambda _: self.leave(here, place))
                self.arrays[here] = reference, numbers
                self.memory[place] = here
                for n in numbers.flat:
                    self.holders[n] = self.holders.get(n, 0) + 1
            return self.arrays[here][1]

    def leave(self, here, place):
        """An array died."""
        with self.lock:
            if self.memory.get(place) == here:
                del self.memory[place]
            _, numbers = self.arrays.pop(here)
            for n in numbers.flat:
                self.holders[n] -= 1
                if not self.holders[n]:
                    del self.holders[n]
                    self.uses.pop(n, None)

    def commit(self, uses):
        """What a program used up, of the keys that somebody still has."""
        with self.lock:
            self.uses.update({n: use for n, use in uses.items() if n in self.holders})


def memory_of(array):
    """Where an array lies: the address on one device, else itself."""
    try:
        return str(array.sharding), array.unsafe_buffer_pointer()
    except Exception:
        return id(array)


KNOWN = Known()


class Following:
    """One operation as it is followed: rules of the table ``key_reuse`` speak to it.

    ``uses`` are those of this operation, by the numbers of keys; ``places`` lead here.
    """

    def __init__(self, used):
        self.used, self.uses, self.places, self.origin = used, {}, [], {}

    def use(self, numbers: np.ndarray, who: str) -> None:
        """Keys are used up here.

        Raises:
          KeyReuseError: if one of them was before.
        """
        now = Use(who, tuple(dict.fromkeys(reversed(self.places))))
        for place, n in zip(np.ndindex(numbers.shape), numbers.flat, strict=True):
            before = self.uses.get(n) or self.used.get(n)
            if before is not None:
                key = f"the key {list(place)} of an array {numbers.shape}" if numbers.ndim else "a key"
                raise KeyReuseError(message(key + self.origin.get(n, ""), before, now))
            self.uses[n] = now

    @contextmanager
    def again(self):
        """What is computed a second time for a derivative: it uses the keys that it used the first time."""
        used, uses = self.used, self.uses
        self.used, self.uses = {}, {}
        try:
            yield
        finally:
            self.used, self.uses = used, {**self.uses, **uses}

    def run(self, program: Any, operands: list) -> list:
        """Follow a program: what stands for its results, from what stands for its operands."""
        return key_rules.follow(self, program, operands)


def message(key, before, now):
    """What to say of a key that is used again."""
    if before == now:
        said = (
            f"{now} uses up {key} a second time: it is the same in each round of the loop, or in each call"
        )
    elif before.lines() == now.lines():
        said = f"{now} uses up {key} that {before.who} used up before, on the same line"
    else:
        said = f"{now} is given {key} that is used up: the first use was {before}"
    return (
        f"{said}\n  to fix: key, other = rabbet.random.split(key) before the first use, or fold_in a number; "
        "where the same numbers are wanted, rabbet.random.clone(key)"
    )


def origins(op, args, operands):
    """Where each key stands among the operands of a call, as words."""
    name = op.params.get("name", op.primitive.name)
    return {
        n: f" (operand {i} of {name!r})"
        for i, (a, x) in enumerate(zip(args, operands, strict=True))
        if isinstance(x, np.ndarray)
        for n in x.flat
    }


def observe(op, args, run):
    """Follow an operation on arrays, then run it; see ``rabbet.extend.settings.Setting``."""
    keys = [i for i, a in enumerate(args) if type(a) is Array and key_rules.is_keys(a)]
    if not keys and not key_rules.concerns(op):
        made = run()
        for array in made if type(made) is list else (made,):
            if type(array) is Array and key_rules.is_keys(array):
                KNOWN.numbers(array)  # it may be captured before it is used
        return made
    following = Following(KNOWN.uses)
    operands = [KNOWN.numbers(a) if i in keys else key_rules.value_of(a) for i, a in enumerate(args)]
    following.origin = origins(op, args, operands)
    outs = key_rules.apply(following, op, operands, context.where)
    made = run()
    KNOWN.commit(following.uses)
    leaves = tree.leaves(made)
    for array, numbers in zip(leaves, outs) if len(leaves) == len(outs) else ():
        if type(array) is Array and isinstance(numbers, np.ndarray) and key_rules.is_keys(array):
            KNOWN.enter(array, numbers)
            with KNOWN.lock:
                KNOWN.uses.update({n: u for n in numbers.flat if (u := following.uses.get(n))})
    return made


__all__ = ["KNOWN", "Following", "Known", "Use", "observe"]
