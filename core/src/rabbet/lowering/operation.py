"""What a ``lower`` rule speaks to: the place in a function where one operation is written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import ShardingError
from rabbet.lowering import custom_calls, stop_flag
from rabbet.lowering.attributes import mark_result
from rabbet.lowering.regions import TOKEN, Region, types_of
from rabbet.program import effects
from rabbet.program.avals import ShapedArray
from rabbet.program.dimensions import SymbolicDimension
from rabbet.program.jaxpr import effects_of
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.host_callbacks import HostCallback
    from rabbet.lowering.module import Function
    from rabbet.program.effects import Effect
    from rabbet.program.jaxpr import Equation, Jaxpr

# The type of the result at the end of a line, where the line is one whole operation.
ONE_TYPE = re.compile(r"\A[^\n]* (?::|->) (tensor<(?:[^<>\n]|<[^<>\n]*>)*>)\Z")


class Site:
    """What a ``lower`` rule is given as ``op``: parameters, types, and the place to write to.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.extend.rules import Site
      >>> tripled = Primitive("tripled", lambda x: x, kinds=("elementwise",))
      >>> @tripled.rule("lower")
      ... def lower_tripled(op: Site, x: str) -> str:
      ...     three = op.constant(np.array(3, op.out.dtype), rb.typeof(np.array(3, op.out.dtype)))
      ...     return op.emit(f"stablehlo.multiply {x}, {three} : {op.out.mlir}")
      >>> float(tripled(np.float32(2)))
      6.0
    """

    __slots__ = ("_function", "_equation", "params")

    def __init__(self, function: Function, equation: Equation) -> None:
        self._function = function
        self._equation = equation
        self.params = equation.op.params

    primitive = property(lambda self: self._equation.op.primitive)
    platform = property(lambda self: self._function.module.platform)
    python_call = property(lambda self: self._function.module.python_call)
    knows_nan = property(
        lambda self: self._function.module.knows_nan,
        doc="Whether a constant that was written before holds a NaN: the compiler may know an operand then.",
    )
    in_avals = property(lambda self: [v.aval for v in self._equation.inputs])
    out_avals = property(lambda self: [v.aval for v in self._equation.outputs])
    out = property(lambda self: self._equation.outputs[0].aval, doc="The aval of the only (or first) output.")
    where = property(lambda self: self._equation.where, doc="The user's line, as equations keep it, or None.")

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def emit(self, text: str) -> Any:
        """Write ``<name> = text`` with the user's source position; return the name."""
        function = self._function
        function.count += 1  # written out, because every operation passes here
        name = f"%{function.count}"
        function.lines.append((f"{name} = {text}", function.loc))
        return name

    def type_written(self, name: str) -> str | None:
        """The type with which a result was written, as text, where one line of this function says so; else
        None. For checks.
        """
        start = f"{name} = "
        for line, _ in reversed(self._function.lines):
            if line.startswith(start):
                found = ONE_TYPE.search(line)
                return found and found[1]
        return None

    def note_compound(self, name: str) -> str:
        """Say that ``name`` is a power, a root or a quotient, for ``as_a_whole``; return it."""
        self._function.compounds.add(name)
        return name

    def note_moved(self, name: str, source: str) -> str:
        """Say that ``name`` has the numbers of ``source`` in other places; return it."""
        compounds = self._function.compounds
        if source in compounds:
            compounds.add(name)
        return name

    def as_a_whole(self, name: str, aval: ShapedArray) -> str:
        """A value which, if it is a power, a root or a quotient, XLA cannot see to be one: it would compute
        ``log(x ** y)`` as ``y * log(abs(x))``, another number for negative ``x`` and for ``1 ** inf``, and
        ``x / (y / z)`` as ``x * z / y``, which overflows where no step of it does.

        A rounding to the precision that the value has costs nothing, and keeps no loops apart.
        """
        if name not in self._function.compounds or aval.kind not in "fc":
            return name
        if aval.kind == "c" or dtypes.itemsize_bits(aval.dtype) < 16:
            return self.emit(f"stablehlo.optimization_barrier {name} : {aval.mlir}")
        info = dtypes.finfo(aval.dtype)
        form = f"format = e{info.nexp}m{info.nmant}"
        return self.emit(f"stablehlo.reduce_precision {name}, {form} : {aval.mlir}")

    def line_of(self, name: str) -> str | None:
        """What was written for a value in this function, ``stablehlo.add %1, %2 : ...``; None for an
        argument, a constant or one of several results.
        """
        start = f"{name} = "
        written = (line for line, _ in reversed(self._function.lines) if line.startswith(start))
        found = next(written, None)
        return None if found is None else found[len(start) :]

    def aval_of(self, name: str) -> ShapedArray | None:
        """The type of a value of this function, if it says how the value lies."""
        return self._function.types.get(name)

    def mark(self, name: str, attributes: dict[Any, Any]) -> None:
        """Write attributes, texts by name, into the operation of this function that made the value ``name``;
        an argument stays as it is.
        """
        mark_result(self._function.lines, name, attributes)

    def emit_many(self, text: str, n: int) -> list[str]:
        """Write an operation with ``n`` results; return their names."""
        function = self._function
        name = function.fresh()
        function.lines.append((f"{name}:{n} = {text}", function.loc))
        return [f"{name}#{i}" for i in range(n)]

    def custom_call(
        self,
        target: str,
        operands: list[str],
        out_avals: list[ShapedArray],
        *,
        in_avals: list[ShapedArray] | None = None,
        attributes: dict[Any, Any] | None = None,
        layouts: tuple[list[tuple[Any, ...]], ...] | None = None,
        aliases: dict[Any, Any] | None = None,
        config: Any = None,
        properties: Any = None,
    ) -> list[str]:
        """Write a call of a native function through XLA's typed FFI; return the names of its results.

        Args:
          target: the name under which it is registered; ``Backend.provide_calls`` sees to that.
          operands: names of StableHLO values, of types ``in_avals`` (by default this operation's own).
          out_avals: the types of its results.
          attributes: by name: a letter (passed as a byte), a longer text or bytes (passed as text), a bool,
            an int or a float (64 bits), a number of NumPy's (of its width: ``np.float32(x)`` for a C++
            ``Attr<float>``), a NumPy vector, a list or a dict of these.
          layouts: ``(for operands, for results)``: each a sequence of dimensions per array, from the one
            that varies fastest to the slowest; by default the last dimension varies fastest.
          aliases: ``{operand index: result index}`` of what shares memory.
          config: text or bytes instead of attributes, for functions that are not of the typed FFI.
          properties: attributes, by name, of the call itself: ``{"has_side_effect": True}``.
        """
        in_avals = self.in_avals if in_avals is None else in_avals
        text = custom_calls.call_text(
            target, operands, in_avals, out_avals, attributes=attributes or {}, layouts=layouts,
            aliases=aliases or {}, config=config, properties=properties,
        )  # fmt: skip
        return [self.emit(text)] if len(out_avals) == 1 else self.emit_many(text, len(out_avals))

    def emit_none(self, text: str) -> None:
        """Write an operation without results."""
        self._function.lines.append((text, self._function.loc))

    def emit_all(self, text: str, n: int) -> list[str]:
        """Write an operation with any number of results; return their names."""
        if n == 0:
            self.emit_none(text)
            return []
        return [self.emit(text)] if n == 1 else self.emit_many(text, n)

    @property
    def is_in_a_body(self) -> bool:
        """Whether it stands in the body of another operation: of a loop, a branch, a reduction."""
        return self._function.module.regions > 0

    @property
    def is_cut_up(self) -> bool:
        """Whether the compiler cuts this program up over several devices."""
        module = self._function.module
        return bool(module.spread) and module.manual is None

    @property
    def device_count(self) -> int:
        """Over how many devices the compiler cuts this program up; 1 for programs on one device, and where
        each device computes by itself.
        """
        return self._function.module.spread if self.is_cut_up else 1

    @property
    def cut_over(self) -> int:
        """The same, but where devices compute by themselves along some axes of a mesh, those along the others
        count, over which the compiler cuts up what each computes.
        """
        return self.device_count if self.manual is None else self.manual.left

    def on_one_device(self, device: Any = None, tokens: int = 0) -> str:
        """An attribute, with a comma behind it, by which an operation of a program over several devices
        happens on one of them, by default the first, with whole operands; nothing in other programs and where
        each device computes by itself. ``tokens`` of its results are tokens.

        Raises:
          ShardingError: the program does not run on ``device``, or each device computes by itself.
        """
        if not self.is_cut_up:
            if device is not None and self.manual is not None:
                raise ShardingError(
                    f"{self.primitive.name} is to call Python on {device}, within shard_map, where each "
                    "device calls it with its own part; leave sharding out"
                )
            return ""
        place = 0
        if device is not None:
            devices = () if self.like is None else self.like.device_order
            if device not in devices:
                raise ShardingError(
                    f"{self.primitive.name} is to call Python on {device}, and its program runs on "
                    f"{', '.join(map(str, devices)) or 'other devices'}; name one of these"
                )
            place = devices.index(device)
        one = f"<mesh<[], device_ids=[{place}]>, []>"
        count = max(1, tokens + len(self.out_avals))
        return f"sdy.sharding = #sdy.sharding_per_value<[{', '.join([one] * count)}]>, "

    def whole(self, name: str, aval: ShapedArray, dims: Any = None) -> str:
        """The value ``name``, whole on each device, in a program over several devices that the compiler cuts
        up; as it is in all others. For the operands and results of operations of which the compiler computes
        parts wrongly, or not at all. With ``dims``, a list of dimensions, it is whole along these alone.
        """
        if self.cut_over == 1:
            return name
        shown = ["{}" if dims is None or d in dims else "{?}" for d in range(aval.physical.ndim)]
        mesh = f'mesh<["all"={self._function.module.spread}]>' if self.manual is None else self.manual.text
        everywhere = f"<{mesh}, [{', '.join(shown)}]>"
        return self.emit(f"sdy.sharding_constraint {name} {everywhere} : {aval.mlir}")

    @property
    def manual(self) -> Any:
        """What ``by_itself`` was given around this operation, or None."""
        return self._function.module.manual

    @contextlib.contextmanager
    def by_itself(self, manual: Any) -> Iterator[Any]:
        """What is written within the ``with`` block, each device computes by itself.

        Args:
          manual: hashable; rules for text find it as ``op.manual``. Its ``left`` is the number of devices
            over which the compiler cuts up what is written, and ``text`` their mesh, as Shardy writes it.
        """
        module = self._function.module
        around, module.manual = module.manual, manual
        try:
            yield
        finally:
            module.manual = around

    def fresh(self) -> Any:
        """A new name."""
        return self._function.fresh()

    def callback(self, callback: HostCallback) -> int:
        """Enter a ``HostCallback`` into the module; return its index."""
        callbacks = self._function.module.callbacks
        callbacks.append(callback)
        return len(callbacks) - 1

    def partitioner(self, partition: Any) -> Any:
        """Enter what the compiler asks how to cut up a call; return the call's target and attribute text.

        Args:
          partition: ``partition(ins, outs)``, where operands and results are pairs ``(counts, parts)`` as
            ``Sharding.tiles`` gives them, returns ``(jaxpr, manual, ins, outs)``: what each device computes,
            what ``by_itself`` takes, and how operands and results lie then. It runs on any thread.
        """
        partitioners = self._function.module.partitioners
        partitioners.append(partition)
        name = custom_calls.PARTITIONED
        return f"@{name}", f'api_version = 2 : i32, backend_config = "{name} {len(partitioners) - 1}"'

    @property
    def like(self) -> Any:
        """The sharding of one of the arguments of a program over several devices, or None."""
        return self._function.module.like

    @property
    def ordered_effects(self) -> tuple[Effect, ...]:
        """The ordered effects of this operation and its bodies, in the order in which their tokens are
        passed on.
        """
        return effects.ordered(effects_of(self._equation.op))

    def token(self, effect: Effect) -> str:
        """The name of the current token of an ordered effect: what happened before this operation."""
        return self._function.tokens[effect]

    def set_token(self, effect: Effect, name: str) -> None:
        """Name the token that stands for an ordered effect from here on: a result of this operation."""
        self._function.tokens.held[effect] = name

    def take_tokens(self, threaded: tuple[Effect, ...], results: list[str]) -> list[str]:
        """``results`` without the tokens of ``threaded`` at their end, which become the current ones."""
        n = len(results) - len(threaded)
        for effect, name in zip(threaded, results[n:], strict=True):
            self.set_token(effect, name)
        return results[:n]

    def emit_regions(
        self,
        head: Any,
        regions: Any,
        tail: Any,
        n: Any,
        closed: Any = False,
        terminator: Any = "stablehlo.return",
    ) -> Any:
        """Write an operation with regions: ``n`` results = ``head ({region}, {region}) tail``.

        Args:
          regions: a ``Region`` each, or its first two fields.
          closed: whether a region may not use values from outside, so that its constants stand in it.
          terminator: the operation that ends a region.
        """
        function = self._function
        name = function.fresh()
        shown = f"{name}:{n} = " if n > 1 else f"{name} = " if n == 1 else ""
        function.lines.append((f"{shown}{head} ({{", ""))
        for i, region in enumerate(regions):
            if i:
                function.lines.append(("}, {", ""))
            self._write_region(Region(*region), closed, terminator)
        function.lines.append((f"}}) {tail}", function.loc))
        return [name] if n == 1 else [f"{name}#{i}" for i in range(n)]

    def _write_region(self, region: Region, closed: bool, terminator: Any) -> None:
        function, (jaxpr, names, takes, gives, stops) = self._function, region
        module = function.module
        own = [(function.fresh(), v.aval.mlir) for v in jaxpr.invars[len(names) :]]
        taken = [(function.fresh(), TOKEN) for _ in takes]
        if own or taken:
            function.lines.append((f"^bb0({', '.join([f'{a}: {t}' for a, t in own + taken])}):", ""))
        outside, seen = function.tokens, function.written
        function.written = {} if closed else dict(seen)
        function.tokens = outside.within(region, [a for a, _ in taken], repr(self.primitive.name))
        names = [*names, *[a for a, _ in own]]
        names = [function.addends(n, v.aval) for n, v in zip(names, jaxpr.invars, strict=True)]
        module.regions += 1
        module.closed += closed
        try:
            outs = function.inline_closed(jaxpr, names) if closed else function.inline(jaxpr, names)
        finally:
            module.regions -= 1
            module.closed -= closed
            function.written = seen
        outs += [function.tokens[e] for e in gives]
        function.tokens = outside
        types = types_of(jaxpr.out_avals, gives)
        line = f"{terminator} {', '.join(outs)} : {types}" if outs else terminator
        if not stops or module.closed:
            module.unstoppable |= stops
            function.lines.append((line, ""))
            return
        lines, found = stop_flag.looked_up(outs[0], function.fresh)
        function.lines += lines
        function.lines += stop_flag.either(line, f"{terminator} {', '.join([found, *outs[1:]])} : {types}")
        function.stops = True
        module.stopped.add(self._equation.op)

    def constant(self, value: Any, aval: ShapedArray) -> str:
        """The name of a constant of type ``aval``; ``value`` is a scalar or a small NumPy array."""
        if aval.is_symbolic:
            scalar = aval.update(shape=())
            return self.broadcast_operand(self._function.constant(value, scalar), scalar, aval.shape)
        return self._function.constant(value, aval)

    def inline(self, jaxpr: Jaxpr, names: list[str] | tuple[str, ...]) -> Any:
        """Write a body in place; return the names of its outputs."""
        return self._function.inline(jaxpr, names)

    def write(
        self, parts: Callable[..., Any], avals: list[ShapedArray], names: list[str] | tuple[str, ...]
    ) -> list[str]:
        """Write what ``parts`` computes with operations, in place.

        Args:
          parts: from arrays of types ``avals`` to a list of arrays.
          names: of the values that it is given.

        Returns:
          the names of the results.
        """
        avals = [a.bare for a in avals]
        return self._function.inline(stage(parts, avals, self.primitive.name).jaxpr, names)

    def once(self, key: Any, write: Callable[[], Any]) -> Any:
        """What ``write()`` returned for ``key`` earlier in this function, where this place can see what it
        wrote; else what it writes and returns now. The compiler may send or keep the same value twice.
        """
        written = self._function.written
        if key not in written:
            written[key] = write()
        return written[key]

    def function(self, jaxpr: Jaxpr, name: Any) -> Any:
        """Write a body as a private function; return its symbol."""
        module = self._function.module
        symbol = module.function_of(jaxpr, name)
        if symbol in module.handing_on:  # whoever writes the call does not hand the table on
            module.unstoppable = True
        return symbol

    def call(self, jaxpr: Jaxpr, names: Any, name: str = "f", attributes: str = "") -> list[str]:
        """Write a body as a private function and call it; return the names of its outputs.

        Args:
          attributes: of the call, as MLIR text in braces.
        """
        function = self._function
        symbol = function.module.function_of(jaxpr, name)
        threaded = effects.ordered(jaxpr.effects)
        ins = [v.aval.mlir for v in (*jaxpr.constvars, *jaxpr.invars)] + [TOKEN] * len(threaded)
        outs = types_of(jaxpr.out_avals, threaded)
        names = [*names, *[self.token(e) for e in threaded]]
        attributes = f"{attributes} " if attributes else ""
        start, end = f"func.call @{symbol}({', '.join(names)}", f") {attributes}: ({', '.join(ins)}"
        at, end_of_line = len(function.lines), f") -> ({outs})"
        made = self.emit_all(f"{start}{end}{end_of_line}", len(jaxpr.outvars) + len(threaded))
        function.compounds.update([made[i] for i in function.module.compounds[symbol]])
        if symbol in function.module.handing_on:
            function.stops = True
            function.module.unstoppable |= function.module.closed > 0
            ((text, location),) = function.lines[at:]
            comma = ", " if names else ""
            more = f"{start}{comma}{stop_flag.TABLE}{end}{comma}{stop_flag.TABLE_TYPE}{end_of_line}"
            function.lines[at:] = stop_flag.either(text, text.partition("func.call")[0] + more, location)
        return self.take_tokens(threaded, made)

    def size(self, dimension: Any) -> Any:
        """The name of a dimension as a number, an i32 without dimensions."""
        if isinstance(dimension, SymbolicDimension):
            return self._function.module.symbolic.size(self, dimension)
        return self.constant(np.int32(dimension), ShapedArray((), "int32"))

    def shape_operand(self, shape: Any) -> Any:
        """The name and the type of a shape as a vector of i32, for operations that take their shape as an
        operand.
        """
        kind = f"tensor<{len(shape)}xi32>"
        if not any(isinstance(d, SymbolicDimension) for d in shape):
            return self.constant(np.array(shape, np.int32), ShapedArray((len(shape),), "int32")), kind
        one = "(tensor<i32>) -> tensor<1xi32>"
        each = [self.emit(f"stablehlo.reshape {self.size(d)} : {one}") for d in shape]
        if len(each) == 1:
            return each[0], kind
        types = ", ".join(["tensor<1xi32>"] * len(each))
        return self.emit(f"stablehlo.concatenate {', '.join(each)}, dim = 0 : ({types}) -> {kind}"), kind

    def include(self, functions: Any) -> Any:
        """Write the functions of another module beside this one's, once per module; return the symbol to
        call.

        Args:
          functions: ``ForeignFunctions``, as ``rabbet.extend.native.foreign_functions`` makes them. Their
            names are to be used by nobody else: a prefix with a digest of the text sees to that.
        """
        return self._function.module.include(functions)

    def broadcast_operand(self, name: str, aval: ShapedArray, shape: tuple[int, ...]) -> str:
        """``name`` spread to ``shape`` if it is a scalar beside arrays, as elementwise operations allow."""
        if aval.shape == shape:
            return name
        wide = ShapedArray(shape, aval.dtype)
        if wide.is_symbolic:
            sizes, kind = self.shape_operand(shape)
            return self.emit(
                f"stablehlo.dynamic_broadcast_in_dim {name}, {sizes}, dims = [] : ({aval.mlir}, {kind}) -> "
                f"{wide.mlir}"
            )
        return self.emit(f"stablehlo.broadcast_in_dim {name}, dims = [] : ({aval.mlir}) -> {wide.mlir}")
