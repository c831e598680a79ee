"""Operators: a primitive with its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.messages import function_names
from rabbet.program.avals import ShapedArray
from rabbet.program.context import context
from rabbet.program.jaxpr import Jaxpr
from rabbet.program.sharded_types import results_over

if TYPE_CHECKING:
    from rabbet.primitives.elementwise import Product
    from rabbet.rules.primitive import Primitive
    from rabbet.typing import Value

# Past so many types, what one operator remembers of them starts anew.
MOST_OUTS = 1024
# Python finds True and 1.0 under 1, and -0.0 under 0.0, but as parameters they may mean different programs.
_NUMBERS = frozenset([bool, int, float, complex])


def refuse_no_types(primitive: Product | Primitive, out: Any) -> None:
    """Raise TypeError where a shape rule returned something that is no type, or not as many as it should."""
    several = primitive.multiple_results
    if several and type(out) in (list, tuple):
        wrong = next((one for one in out if type(one) is not ShapedArray), None)
    else:
        wrong = None if type(out) is ShapedArray and not several else out
        wrong = "nothing" if out is None else wrong
    if wrong is not None:
        inside = "" if wrong is out or out is None else f"{type(wrong).__name__} in "
        wanted = "a tuple of types, one for each result" if several else "the type of the result"
        raise TypeError(
            f"the shape rule of primitive {primitive.name!r} "
            f"({function_names.address(primitive.abstract)}) returned "
            f"{inside}{out!r:.60}; expected is {wanted}, "
            "such as x.update(shape=(3,)) or ShapedArray((3,), 'float32')"
        )


class Op:
    """A primitive with its parameters. Calling it speaks to the current interpreter.

    Example:
      >>> from rabbet.extend.primitive import Op, reduce_sum
      >>> op = reduce_sum.op(axes=(0,))
      >>> type(op) is Op, op is reduce_sum.op(axes=(0,)), op.primitive, op["axes"]
      (True, True, reduce_sum, (0,))
      >>> op(np.ones((3, 2), np.float32))
      Array([3., 3.], dtype=float32)
    """

    __slots__ = ("primitive", "params", "programs", "executables", "has_numbers", "_outs", "__weakref__")

    def __init__(self, primitive: Product | Primitive, params: dict[Any, Any]) -> None:
        self.primitive = primitive
        self.params = params
        self.has_numbers = not _NUMBERS.isdisjoint(map(type, params.values()))
        # What runs it, by the placements of its operands (of none: by the device), and what was compiled for
        # it, by types and device.
        self.programs = {}
        self.executables = {}
        self._outs = {}

    def __call__(self, *args: Value) -> list[Value] | Value:
        return context.interpreter.process(self, args)

    def out(self, avals: tuple[ShapedArray, ...]) -> Any:
        """The output aval (a tuple of them with multiple results) for a tuple of input avals; computed
        once.
        """
        out = self._outs.get(avals)
        if out is None:
            spread = next((a.spread for a in avals if a.spread is not None), None)
            bare = avals if spread is None or "body" in self.primitive.kinds else [a.bare for a in avals]
            out = self.primitive.abstract(*bare, **self.params)
            refuse_no_types(self.primitive, out)
            if spread is not None:
                several = self.primitive.multiple_results
                outs = results_over(self, avals, tuple(out) if several else (out,))
                out = outs if several else outs[0]
            if len(self._outs) >= MOST_OUTS:
                self._outs.clear()
            self._outs[avals] = out
        return out

    def outs(self, avals: tuple[ShapedArray, ...]) -> Any:
        """The output avals as a tuple, whether there is one or several."""
        out = self.out(avals)
        return tuple(out) if self.primitive.multiple_results else (out,)

    def replaced(self, **params: Any) -> Op:
        """This operator with some parameters replaced, as a transformation makes it of new programs.

        The same object each time for equal parameters, where a program is among them: what was compiled for
        it is kept with that program.

        Example:
          >>> again = eqn.op.replaced(jaxpr=simplified)
        """
        made = {**self.params, **params}
        body = next((v for v in params.values() if type(v) is Jaxpr), None)
        if body is None:
            return self.primitive.op(**made)
        key = self.primitive, *[(k, v) for k, v in made.items() if v is not body]
        try:
            return body.once(key, lambda: self.primitive.op(**made))
        except TypeError:  # a parameter that cannot be hashed
            return self.primitive.op(**made)

    def known_count(self, operands: int) -> Any:
        """How many results it has for so many operands, where the shape rule has been asked; else 0."""
        for avals, outs in self._outs.copy().items():
            if len(avals) == operands:
                return len(outs)
        return 0

    def __getitem__(self, name: str) -> Jaxpr | int:
        return self.params[name]

    def __reduce__(self) -> tuple[tuple[Any, ...] | Callable[..., Any], ...]:
        return _remake, (self.primitive, self.params)

    def __repr__(self) -> str:
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.primitive.name}[{params}]" if params else self.primitive.name


def number_types(params: dict[Any, Any]) -> tuple[tuple[str | type, ...], ...]:
    return tuple(
        [(type(v), str(v) if v == 0 else "") if type(v) in _NUMBERS else None for v in params.values()]
    )


def same_numbers(params: dict[Any, Any], others: dict[Any, Any]) -> bool:
    for v, w in zip(params.values(), others.values(), strict=True):
        if v is not w and type(v) in _NUMBERS and (type(v) is not type(w) or (v == 0 and str(v) != str(w))):
            return False
    return True


def _remake(primitive: Product | Primitive, params: dict[Any, Any]) -> Op:
    return primitive.op(**params)
