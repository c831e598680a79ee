"""A generator with a state, for programs outside of compiled functions: ``stateful_rng(seed).normal()``.

Each draw uses the key ``fold_in(base_key, counter)`` and counts one further. ``rabbet.random`` itself, with
keys that are passed about, is what compiled programs want.
"""

import numpy as np
from rabbet_vmap.interpreter import Vmap as _Vmap

import rabbet.random as _random
from rabbet import tree as _tree
from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.transform import context as _context, typeof as _typeof
from rabbet.ref import new_ref as _new_ref


class StatefulPRNG:
    """Random numbers from a key and a counter that every draw advances. Made by ``stateful_rng``.

    As a pytree it goes into ``vmap``: ``vmap(f)(rng.split(3))`` gives each example a generator of its own.
    The counter is a ``Ref``: what a compiled function draws, from a generator of its own, of its arguments or
    of the outside, advances it. Within ``vmap`` one generator for all examples refuses.

    Example:
      >>> rng = rb.experimental.random.stateful_rng(0)
      >>> first, second = rng.normal(size=(2,)), rng.normal(size=(2,))
      >>> first.shape, bool((first == second).any())
      ((2,), False)
    """

    def __init__(self, base_key, counter):
        self._base_key, self._counter = base_key, counter
        self._home = _context.interpreter

    def __repr__(self):
        return f"StatefulPRNG(base_key={self._base_key!r}, counter={self._counter!r})"

    def key(self, shape=()):
        """A new key; an array of keys for a ``shape`` other than ``()``.

        Raises:
          RuntimeError: within ``vmap``, of a generator that belongs to the outside.
        """
        self._refuse_sharing()
        counter = self._counter[...]
        self._counter[...] = counter + 1
        out = _random.fold_in(self._base_key, counter)
        return out if _is_single(shape) else _random.split(out, shape)

    def _refuse_sharing(self):
        """One generator within ``vmap`` would give all examples the same numbers."""
        interpreter = _context.interpreter
        while interpreter is not None and interpreter is not self._home:
            if isinstance(interpreter, _Vmap):
                raise RuntimeError(
                    "a StatefulPRNG that was made outside of a function under vmap would give each "
                    "example the same numbers; map over rng.split(n), or pass the function keys"
                )
            interpreter = interpreter.parent

    def uniform(self, low=0, high=1, size=None, *, dtype=float):
        """Numbers spread evenly over [low, high)."""
        return _random.uniform(self.key(), _size(size, low, high), dtype, minval=low, maxval=high)

    def normal(self, loc=0, scale=1, size=None, *, dtype=float):
        """Normal numbers of mean ``loc`` and standard deviation ``scale``."""
        return loc + scale * _random.normal(self.key(), _size(size, loc, scale), dtype)

    def random(self, size=None, dtype=float):
        """Numbers spread evenly over [0, 1)."""
        return _random.uniform(self.key(), _size(size), dtype)

    def integers(self, low, high=None, size=None, *, dtype=int):
        """Integers spread evenly over [low, high), or [0, low) if there is no ``high``."""
        low, high = (0, low) if high is None else (low, high)
        return _random.randint(self.key(), _size(size, low, high), low, high, dtype)

    def split(self, num):
        """Generators of a shape (an int or ints), as one object to map over with ``vmap``."""
        keys = self.key(num)
        return StatefulPRNG(keys, _new_ref(np.zeros(keys.shape, "int32")))

    def spawn(self, n_children):
        """A list of new generators, independent of each other."""
        keys = self.key(n_children)
        return [_started(keys[i]) for i in range(n_children)]


def _is_single(shape):
    return isinstance(shape, (tuple, list)) and not len(shape)


def _size(size, *parameters):
    """The shape asked for, or that to which the parameters broadcast."""
    if size is not None:
        return size
    return np.broadcast_shapes(*[_typeof(x).shape for x in parameters])


def _started(key):
    return StatefulPRNG(key, _new_ref(np.int32(0)))


def _flatten(rng):
    return (rng._base_key, rng._counter), None


def _unflatten(_, children):
    return StatefulPRNG(*children)


_tree.register_node(StatefulPRNG, _flatten, _unflatten)


def stateful_rng(seed=None, *, impl=None):
    """A ``StatefulPRNG``.

    Args:
      seed: an integer, see ``rabbet.random.key``; None: from the operating system.
      impl: the generator of its keys.

    Example:
      >>> rng = stateful_rng(42)
      >>> rng.uniform().shape, rng.integers(10, size=3).shape
      ((), (3,))
    """
    if seed is None:
        if _context.interpreter.parent is not None:
            raise TypeError("stateful_rng: a traced function must give a seed")
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    return _started(_random.key(seed, impl=impl))


__all__ = ["StatefulPRNG", "stateful_rng"]

_public_module(globals())
