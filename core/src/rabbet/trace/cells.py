"""Cells: places with a value that a function may replace, such as ``rabbet.ref.Ref``.

Programs have no cells in them. A cell belongs to the interpreter that was current when it was made (its
*home*). Functions that are run read and replace its content there. A function that is traced by itself (by
``jit``, or as the body of a loop) finds the content as one more input of its program, and what it leaves
there is one more output: whoever calls the program hands contents in and puts them back. So all
transformations understand cells, since they meet none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rabbet.errors import UnexpectedTracerError
from rabbet.messages.function_names import describe_function
from rabbet.messages.source_positions import source_position
from rabbet.program.context import context
from rabbet.program.value_types import typeof
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.typing import Value


_exchanging = threading.Lock()  # held for a comparison and an assignment, never while anything is computed


class Cell:
    """A place with a value of one shape and dtype.

    Args:
      type: the ``ShapedArray`` of its values.
      content: the first of them; None for one that only stands for its type where functions are traced.

    Example:
      >>> from rabbet.extend.cells import Cell, read, write
      >>> cell = Cell(rb.typeof(np.float32(1)), rb.device_put(np.float32(1)))
      >>> write(cell, read(cell) + 1)
      >>> read(cell)
      Array(2., dtype=float32)
    """

    __slots__ = ("type", "content", "home", "__weakref__")

    def __init__(self, type: Any, content: Any = None) -> None:
        self.type, self.content, self.home = type, content, context.interpreter

    def within(self, content: Any) -> Any:
        """The cell that a function sees which is run or traced with this one as its argument.

        Example:
          >>> inner = cell.within(tracer)
        """
        made = object.__new__(_plain_class(self))
        made.type, made.content, made.home = typeof(content), content, context.interpreter
        return made

    def slices(self, index: Any) -> Any:
        """What the body of a loop sees that goes over this cell: its slice number ``index``."""
        raise TypeError(f"a loop cannot go over {self!r:.60}; read its value first")


def _plain_class(cell: Any) -> Any:
    return getattr(type(cell), "seen_as", None) or type(cell)


class Touched:
    """What a traced function knows of a cell from outside: the input of its program, and the content now.

    Example:
      >>> from rabbet.extend.cells import Cell, Touched
      >>> touched = Touched(Cell(rb.typeof(1.0), 1.0), None, 2.0)
      >>> touched.written
      False
    """

    __slots__ = ("cell", "input", "first", "content")

    def __init__(self, cell: Any, variable: Any, tracer: Any) -> None:
        self.cell, self.input, self.first, self.content = cell, variable, tracer, tracer

    written = property(lambda self: self.content is not self.first, doc="Whether the function replaced it.")

    def finish(self) -> None:
        """Let go of the tracers: the trace has ended. Whether the cell was written stays known."""
        self.first, self.content = None, True if self.written else None


def _holder(cell: Any) -> tuple[Any, ...]:
    """Who has the content at the current level, and the interpreters that run between here and there."""
    level, between = context.interpreter, []
    while level is not cell.home and not (is_bottom(level) and is_bottom(cell.home)):
        touch = getattr(level, "touch", None)
        if touch is not None:
            return touch(cell), between
        between.append(level)
        level = level.parent
        if level is None:
            raise UnexpectedTracerError(
                f"{_called(cell)} was used outside the transformation within which it was made: "
                f"{cell.home.describe()}\n  to fix: make it outside, or return its value"
            )
    return cell, between


def is_bottom(level: Any) -> bool:
    """Whether operations are executed there, which a setting may observe."""
    return getattr(level, "executes", False)


def _called(cell: Any) -> Any:
    return f"a {type(cell).__name__} of type {cell.type.str_short()}"


def read(cell: Any) -> Value:
    """The content of a cell at the current level.

    Raises:
      UnexpectedTracerError: if it was made by a function that is being transformed, and is used outside.

    Example:
      >>> from rabbet.extend.cells import Cell, read
      >>> read(Cell(rb.typeof(1.0), 1.0))
      1.0
    """
    content = _holder(cell)[0].content
    if content is None:
        raise TypeError(f"{_called(cell)} has no value: it only says with which types to trace")
    return content


def write(cell: Any, value: Value) -> None:
    """Replace the content of a cell at the current level by a value of the same shape and dtype.

    Raises:
      TypeError: if ``value`` depends on inputs of a transformation (``vmap``, ``grad``) outside of which the
        cell was made: there it would be many values, or lose its derivative.

    Example:
      >>> from rabbet.extend.cells import Cell, read, write
      >>> cell = Cell(rb.typeof(1.0), 1.0)
      >>> write(cell, 2.0)
      >>> read(cell)
      2.0
    """
    holder, between = _holder(cell)
    if type(value) is Tracer and value.interpreter in between:
        where = "" if value.where is None else f", made at {source_position(value.where)},"
        raise TypeError(
            f"{value.interpreter.describe()}: a value{where} that depends on its inputs cannot be written to "
            f"{_called(cell)} from outside\n  to fix: make the {type(cell).__name__} inside the function, or "
            "give it to the function as an argument where the transformation takes it, as vmap does; "
            "stop_gradient takes a value out of differentiation"
        )
    holder.content = value


def exchange(cells: Sequence[Any], old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Replace the contents of cells of the current level all at once, if each is still the one that was read.

    Args:
      old, new: for each cell, what was read and what should be there.

    Returns:
      whether it was done. False: another thread, or a callback, wrote to one of them in between.

    Example:
      >>> from rabbet.extend.cells import Cell, exchange, read
      >>> cell = Cell(rb.typeof(1.0), 1.0)
      >>> exchange([cell], [read(cell)], [2.0]), exchange([cell], [1.5], [3.0]), read(cell)
      (True, False, 2.0)
    """
    with _exchanging:
        if any(cell.content is not x for cell, x in zip(cells, old, strict=True)):
            return False
        for cell, x in zip(cells, new, strict=True):
            cell.content = x
        return True


def update(cell: Any, change: Callable[[Any], Any]) -> None:
    """Replace the content of a cell by ``change(content)``. No write of another thread in between is lost:
    then it is computed again.

    Example:
      >>> from rabbet.extend.cells import Cell, read, update
      >>> cell = Cell(rb.typeof(1.0), 1.0)
      >>> update(cell, lambda x: x + 1.0)
      >>> read(cell)
      2.0
    """
    while True:
        old = read(cell)
        new = change(old)
        if _holder(cell)[0] is not cell:
            write(cell, new)
            return
        if exchange([cell], [old], [new]):
            return


def refused(cell: Any, stager: Any) -> Any:
    """The error for a function in which no cell from outside can be used."""
    fn = getattr(stager, "fn", None)
    return TypeError(
        f"{_called(cell)} from outside cannot be used in {describe_function(fn)}, which is traced by itself "
        f"as a part of an operation\n  to fix: read its value before, and write what comes out"
    )


def contents(touched: list[Any] | tuple[Any, ...]) -> list[Any]:
    """The contents, at the current level, of cells that a traced function uses.

    Example:
      >>> from rabbet.extend.cells import Cell, Touched, contents
      >>> contents([Touched(Cell(rb.typeof(1.0), 1.0), None, 2.0)])
      [1.0]
    """
    return [read(t.cell) for t in touched]


def put_back(touched: list[Any], values: list[Any]) -> None:
    """Write what a traced function left in the cells that it wrote to.

    Example:
      >>> from rabbet.extend.cells import Cell, Touched, put_back, read
      >>> cell = Cell(rb.typeof(1.0), 1.0)
      >>> put_back([Touched(cell, None, 2.0)], [3.0])
      >>> read(cell)
      3.0
    """
    for t, value in zip(touched, values, strict=True):
        write(t.cell, value)


class Threading:
    """The cells that bodies of a branch or loop use, handed through as values.

    Args:
      touched: what each body was found to use, lists of ``Touched``.

    Example:
      >>> from rabbet.extend.cells import Threading
      >>> bool(Threading([], []))
      False
    """

    def __init__(self, *touched: Any) -> None:
        every = {id(t.cell): t.cell for ts in touched for t in ts}
        written = {id(t.cell) for ts in touched for t in ts if t.written}
        self.written = [cell for key, cell in every.items() if key in written]
        self.only_read = [cell for key, cell in every.items() if key not in written]

    def __bool__(self) -> bool:
        return bool(self.written or self.only_read)

    def enter(self) -> list[Value]:
        """Fix the contents of those that are only read; the contents of the others now."""
        self.held = [(cell, read(cell)) for cell in self.only_read]
        return [read(cell) for cell in self.written]

    def run(
        self, contents: list[Value], fn: Callable[..., Any], *args: tuple[Value, ...] | None
    ) -> tuple[list[Value] | tuple[tuple[Any, ...] | None, ...], ...]:
        """``fn(*args)`` in a body that was handed ``contents``; its result and the contents after it."""
        given = context.interpreter.given
        for cell, content in (*zip(self.written, contents, strict=True), *self.held):
            given(cell, content)
        out = fn(*args)
        return out, [read(cell) for cell in self.written]

    def leave(self, contents: list[Value]) -> None:
        """Write what the last body left."""
        for cell, value in zip(self.written, contents, strict=True):
            write(cell, value)


__all__ = ["Cell", "Threading", "Touched", "contents", "put_back", "read", "write"]
