"""``jit`` and its relatives."""

from __future__ import annotations

import enum
import functools
import operator
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import Array, config, devices, tree
from rabbet.errors import ShardingError
from rabbet.extend.backend import as_device, normalize_compiler_options
from rabbet.extend.functions import (
    array_or_tracer,
    describe_function,
    folded,
    is_evaluating,
    on_clear_caches,
)
from rabbet.extend.passes import consts_as_inputs
from rabbet.extend.primitive import call_op
from rabbet.extend.shapes import flag
from rabbet.extend.sharding import bring_to, device_group
from rabbet.extend.transform import bind_axes, bound_axes, typeof
from rabbet.extend.wrapping import wraps

from rabbet_jit import cells, explain, stages
from rabbet_jit.argument_shardings import Layouts, checked, device_of, layout_of, over_several, settle
from rabbet_jit.dispatch import CONVERTED, Quick, Split, caller, converting
from rabbet_jit.jit_options import Asked, AskedWeakly
from rabbet_jit.shared_traces import kept_traces
from rabbet_jit.signature import Signature, Statics, found_by_name
from rabbet_jit.tracing import arguments, leaf_aval, trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet import Device
    from rabbet.extend.primitive import ShapedArray
    from rabbet.typing import Value

    from rabbet_jit.compiled_function import CompiledFunction
    from rabbet_jit.stages import Lowered, Traced

disable_jit = config.context("disable_jit")


MOST_TRACED = 4096  # programs of one function; what was compiled is bounded by its bytes


def jit(
    fun: Any = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: Any = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: Any = False,
    compiler_options: Any = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> Any:
    """Compile a function: it is traced once per signature, compiled, and from then on runs as one program.

    Args:
      fun: takes and returns pytrees of arrays. Its Python code runs only while it is traced.
      static_argnums, static_argnames: arguments by position or name that are part of the signature by their
        (hashable) value.
      donate_argnums, donate_argnames: arguments whose memory the program may reuse for its outputs; they
        are deleted by the call. A call within a transformation (``vmap``, ``grad``) gives up nothing.
      keep_unused: keep arguments that the program does not read.
      device: the ``Device`` to run on; by default that of the arguments.
      backend: a platform, to run on its first device.
      inline: within another traced function, leave no ``jit`` equation but the function's own.
      compiler_options: XLA options by name, ``{"xla_cpu_enable_fast_math": True}``.
      in_shardings, out_shardings: how arguments (by position) and results lie over devices: a ``Sharding``,
        or a prefix of them with these and None, which leaves it to the argument or the compiler. Arrays that
        were put elsewhere on purpose are refused.

    Returns:
      a function of the same arguments, with ``trace(...)`` and ``lower(...)`` for its stages
      (``.lower().compile()``).

    Raises:
      TypeError: for arguments that are not arrays and not static, or static arguments that cannot be hashed.
      ConfigError: for compiler options that are no dict of names and values; for one that the compiler does
        not know, when the function is compiled.
      ShardingError: for arguments on other devices than the shardings, or that cannot be cut into equal
        parts.

    Example:
      >>> @rb.jit
      ... def step(w, x):
      ...     return w - 0.1 * x
      >>> step(rnp.ones(2), rnp.array([0.0, 10.0]))
      Array([1., 0.], dtype=float32)
    """
    if fun is None:
        options = {name: value for name, value in locals().items() if name != "fun"}
        return functools.partial(jit, **options)
    if device is None and backend is not None:
        device = devices(backend)[0]
    device, layouts, said = the_places(as_device(device), in_shardings, out_shardings)
    if not callable(fun):
        raise TypeError(f"jit takes a function, got {type(fun).__name__}: {fun!r:.60}")
    if not isinstance(inline, (bool, enum.Enum)):  # an enum: rb.Inline
        raise ValueError(f"jit of {describe_function(fun)}: inline must be True or False, got {inline!r:.60}")
    if type(keep_unused) is not bool:
        keep_unused = flag(f"jit of {describe_function(fun)}", "keep_unused", keep_unused)
    statics = Statics(fun, static_argnums, static_argnames)
    donated = Statics(fun, donate_argnums, donate_argnames)
    both = set(statics.numbers) & set(donated.numbers) or set(statics.names) & set(donated.names)
    if both:
        raise ValueError(f"jit of {describe_function(fun)}: {sorted(both)} cannot be both static and donated")
    if compiler_options is not None:
        compiler_options = normalize_compiler_options(compiler_options)
    asked = fun, statics, donated, keep_unused, device, inline, compiler_options, layouts, said
    return Jitted(*asked).function()


def the_places(device: Device | None, ins: Any, outs: Any) -> tuple[Device | Layouts | None, ...]:
    """The device to run on or None, the ``Layouts`` or None, and what was said: shardings that all name one
    device are that.

    Raises:
      TypeError: for what is not a sharding. ShardingError: for a device beside shardings over others.
    """
    if ins is outs is None:
        return device, None, None
    try:
        known = checked(ins, "in_shardings"), checked(outs, "out_shardings")
    except ShardingError:  # of a spec before a mesh is set; where none is at the call either, it says so
        if device is not None:
            raise
        return None, Layouts(ins, outs, late=True), None
    if not all(s.has_devices for s in tree.leaves(known)):  # meant on the mesh that is set, or lowered alone
        return None, Layouts(ins, outs, late=True), None
    ins, outs = known
    named = {s.device_order for s in tree.leaves((ins, outs))}
    if device is not None:
        named.add((device,))
    if len(named) > 1:
        groups = [str(device_group(devices)) for devices in named]
        raise ShardingError(
            f"jit: in_shardings, out_shardings and device name {', '.join(sorted(groups))}, but one "
            "program runs on one set of devices, in one order"
        )
    if not over_several((ins, outs)):
        return next(iter(named), (None,))[0], None, Layouts(ins, outs)
    return None, Layouts(ins, outs), None


@folded
class Jitted(Asked):
    """Behind the function that ``jit`` returns: everything but the fast path of its calls (see
    ``dispatch``).
    """

    def __init__(self, *asked: Any) -> None:
        super().__init__(*asked)
        shared = kept_traces.shared(self.fun, self.in_all()) if self.layouts is None else None
        self.is_shared = shared is not None
        self.asked = AskedWeakly(*asked) if self.is_shared else Asked(*asked)
        self.asked.keeper = weakref.WeakMethod(self.keep)
        self.programs = kept_traces.programs(self.fun, self.statics)
        if shared is None or shared.quick is None:
            self.runners, self.compiled, self.quick = {}, {}, Quick()
            if shared is not None:
                shared.runners, shared.compiled, shared.quick = self.runners, self.compiled, self.quick
        else:
            self.runners, self.compiled, self.quick = shared.runners, shared.compiled, shared.quick
        self.split = Split(self.statics)
        on_clear_caches(Jitted.clear_cache, of=self)

    def __reduce__(self) -> Any:
        named = found_by_name(self.fun)
        if getattr(named, "jitted", None) is self:  # the name of a decorated function is that of its `jit`
            return operator.attrgetter("jitted"), (named,)
        return Jitted, self.asked.__reduce__()[1]

    def function(self) -> CompiledFunction:
        """What users call."""
        return caller(self)

    def in_all(self) -> tuple[Any, ...]:
        """All that was asked of it, but for the function and shardings, as a key."""
        named = [(tuple(one.numbers), tuple(one.names)) for one in (self.statics, self.donated)]
        options = None if self.options is None else tuple(sorted(self.options.items()))
        return (*named, self.keep_unused, self.device, str(self.inline), options)

    def slowly(self, args: Any, kwargs: Any) -> Any:
        """The call where the fast path does not apply."""
        if config.disable_jit:
            return self.fun(*args, **kwargs)
        signature = Signature(self, args, kwargs)
        if not is_evaluating(alone=True):
            return self.within(signature)
        if signature.cells:
            return cells.run(self, signature)
        leaves = arguments(signature, converting(self))
        if self.device is not None:
            leaves = bring_to(leaves, self.device)
        elif self.layouts is not None:
            leaves = self.layouts.place(signature, leaves)
        key = signature.key([x.spec for x in leaves])
        run = self.runners.get(key)
        if run is None:
            leaves, run = self.compile(signature, leaves)
            if run is None:
                return cells.run(self, signature)
            self.runners[signature.key([x.spec for x in leaves])] = run
        if self.device is None:
            self.remember(args, kwargs, leaves, signature, run)
        return run(leaves)

    def remember(
        self,
        args: tuple[Any, ...],
        kwargs: dict[Any, Any],
        leaves: list[Value],
        signature: Signature,
        run: Any,
    ) -> None:
        """Enter a program under the keys that the fast path asks for."""
        if bound_axes() or not all(type(x) is Array or type(x) in CONVERTED for x in signature.leaves):
            return
        if self.layouts is not None and list(map(id, leaves)) != list(map(id, signature.leaves)):
            return
        key = (*[x.spec for x in leaves], config.traced_key())
        if self.statics:
            values, _ = self.split(args, kwargs)
            self.quick.remember_fixed(values, signature.treedef, signature.leaves, key, run)
            return
        self.quick.remember(args, kwargs, signature.leaves, key, run)

    def within(self, signature: Any) -> Any:
        """A call inside a transformation: bind the traced program as one equation.

        Raises ValueError within a compiled function where this one has compiler options: one program has one
        set of them.
        """
        if self.options and not is_evaluating(beneath=True):
            raise ValueError(
                f"jit of {describe_function(self.fun)} has compiler_options, {self.options}, and is called "
                "within another compiled function: both are one program\n  to fix: give the options to the "
                "outermost jit"
            )
        given = cells.with_contents(signature)
        leaves = arguments(signature.with_leaves(given) if signature.cells else signature, array_or_tracer)
        avals = tuple([typeof(x) for x in leaves])
        program = self.program(signature, avals)
        leaves = cells.operands(signature, program, leaves)
        body = consts_as_inputs(program.closed)
        call = call_op(body, self.name, self.inline)
        if self.layouts is not None:
            leaves = self.layouts.constrain(signature, leaves)
        operands = [*program.closed.consts, *leaves]
        if self.inline:
            from rabbet.extend.passes import evaluate

            outs = evaluate(body, operands)
        else:
            outs = call(*operands)
        outs = cells.finish(signature, program, outs)
        if self.layouts is not None:
            outs = self.layouts.constrain_results(program.out_tree, outs)
        return tree.unflatten(program.out_tree, outs)

    def program(self, signature: Signature, avals: tuple[ShapedArray, ...]) -> Any:
        """The traced program for argument types, traced once."""
        key = signature.key(avals)
        program = self.programs.get(key)
        if program is None:
            make = functools.partial(trace, self.fun, signature, avals, self.name)
            program = explain.tracing(self, signature, key, make) if explain.wanted() else make()
            if self.layouts is None and self.said is not None:  # trees of them have the structures of these
                self.said.of_arguments(signature)
                self.said.of_results(program.out_tree)
            if not program.captures_tracers:
                if len(self.programs) >= MOST_TRACED:
                    self.programs.clear()
                self.programs[key] = program
        return program

    def compile(self, signature: Signature, leaves: Any) -> Any:
        """Trace, lower and compile for these arguments; the arguments on the device, and a function of
        them, or None for what uses cells from outside.
        """
        avals = tuple([x.aval for x in leaves])
        program = self.program(signature, avals)
        if program.cells:
            return leaves, None
        leaves, compiled, committed = self.placed(signature, program, leaves, avals)
        return leaves, compiled.runner(committed)

    def placed(self, signature: Signature, program: Any, leaves: Any, avals: tuple[Any, ...]) -> Any:
        """Lower and compile a traced program for where its inputs are: the inputs on the device, the compiled
        program, and whether results are committed to the device.

        ``leaves`` may have contents of cells from outside behind the arguments, whose types are ``avals``.
        """
        device, committed, leaves = settle(self, program, leaves, signature.name_of)
        spread = any(x.spec.layout is not None for x in leaves)
        key = signature.key([x.spec for x in leaves] if spread else avals)
        compiled = self.compiled.get((key, device))
        if compiled is None:
            if config.explain:
                explain.placed(self, key, device)
            layouts = [x.spec.layout for x in leaves]
            held = signature.held_weakly() if self.is_shared else signature
            traced = stages.Traced(self.asked.here(), held, program, avals, layouts)
            compiled = traced.lower(platform=device.platform).compile(device=device)
            compiled.key = key
            self.keep(compiled)
        return leaves, compiled, committed

    def keep(self, compiled: Any) -> None:
        """Remember what was compiled with the function's own options, for calls to come."""
        if not compiled.program.captures_tracers:
            self.compiled[compiled.key, compiled.device] = compiled

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for the types of these arguments (arrays or ``ShapeDtypeStruct``); a ``Traced`` stage."""
        return self._trace(args, kwargs)

    def _trace(self, args: tuple[Any, ...], kwargs: dict[Any, Any], *, anywhere: bool = False) -> Traced:
        signature = Signature(self, args, kwargs)
        avals = tuple(arguments(signature, leaf_aval))
        if self.layouts is not None:
            if not anywhere:
                self.layouts.check(signature)
            avals = self.layouts.in_memories(signature, avals)
        layouts = [None if self.device else layout_of(x) for x in signature.leaves]
        program = self.program(signature, avals)
        device = self.device or device_of(signature)
        held = signature.held_weakly() if self.is_shared else signature
        return stages.Traced(self.asked.here(), held, program, avals, layouts, device)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for the types of these arguments; a ``Lowered`` stage.

        ``platform="tpu"`` lowers for another platform than the default one, as ``trace(...).lower`` does. A
        string can be an argument of the function only if it is static: then it is one here as well.
        """
        platform = None
        if isinstance(kwargs.get("platform"), str) and "platform" not in self.statics.names:
            platform = kwargs.pop("platform")
        return self.trace(*args, **kwargs).lower(platform=platform)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result, without computing it. Shapes that ``in_shardings`` and
        ``out_shardings`` cannot cut are an error; arguments that lie elsewhere are none.
        """
        traced = self._trace(args, kwargs, anywhere=True)
        if self.layouts is not None:
            self.layouts.check_sizes(traced.signature, traced.avals)
            self.layouts.check_results(self.fun, traced.program.out_tree, traced.program.closed.out_avals)
        return traced.out_info

    def cache_size(self) -> int:
        """How many compiled programs it keeps: one for each signature (structure, types and static values of
        the arguments) that it was called with.
        """
        return len(self.runners)

    _cache_size = cache_size  # the name that programs for JAX know

    def clear_cache(self) -> None:
        """Forget every traced and compiled program of this function."""
        self.runners.clear()
        self.programs.clear()
        self.compiled.clear()
        self.quick.clear()

    def __repr__(self) -> str:
        from rabbet_jit import shown  # few ask, and loading it would count in the first trace

        return shown.text(self)

    def __str__(self) -> str:
        return f"<jit of {describe_function(self.fun)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What notebooks and IPython show of the function that ``jit`` returns."""
        from rabbet_jit import shown

        return {"text/plain": shown.text(self), "text/html": shown.html(self)}


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that returns the program of ``fun`` for given arguments instead of running it.

    Args:
      fun: takes and returns pytrees of arrays.
      static_argnums: positions of static arguments.
      axis_env: pairs of a name and a size: axes that collectives in ``fun`` may name.
      return_shape: return also the shapes and dtypes of the result.

    Example:
      >>> rb.make_jaxpr(lambda x: x * 2)(1.0)
      { lambda ; a:f32[]. let
          b:f32[] = mul a 2.0:f32[]
        in (b,) }
    """
    jitted = jit(fun, static_argnums=static_argnums)

    @wraps(fun)
    @folded
    def program_of(*args: Any, **kwargs: Any) -> Any:
        with bind_axes(axis_env or ()):
            traced = jitted.trace(*args, **kwargs)
        return (traced.jaxpr, traced.out_info) if return_shape else traced.jaxpr

    return program_of


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes that ``fun`` returns for these arguments, without computing anything.

    Args:
      fun: takes and returns pytrees of arrays.
      args, kwargs: arrays, ``ShapeDtypeStruct`` objects, or pytrees of them.

    Returns:
      a pytree of ``ShapeDtypeStruct``.

    Example:
      >>> rb.eval_shape(lambda x: x @ x.T, rb.ShapeDtypeStruct((1000, 10), "float32"))
      ShapeDtypeStruct(shape=(1000, 1000), dtype=float32)
    """
    jitted: Any = fun if hasattr(fun, "jitted") else jit(fun)
    return jitted.eval_shape(*args, **kwargs)
