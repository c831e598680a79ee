"""Dispatch: from a call on arrays to its program in one lookup, then execute and wrap.

An eager operation, a library function and a compiled function differ in how they find their program; what
follows is the same eight lines. A call of its own for these lines would cost a twentieth of a small
operation, so each kind of caller gets a *frame*, a function that finds the program and runs it at once. All
frames stand here, and so do the functions that they fall back on.

What a frame finds is a ``Known``: ``(execute, handlers, spec, run)``. ``run(arrays)`` does the whole work
and says what is wrong where something is; the first three are its parts, for a program that reads all its
arguments and has one result. For one that has several, and is to give them in some form, they are None,
``(execute, handlers)`` and what makes the result of raw arrays; else None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.messages.function_names import wraps
from rabbet.messages.signal_errors import is_of_handler
from rabbet.messages.tracebacks import fold_traceback, folds_itself
from rabbet.program.context import context
from rabbet.runtime.arrays import memory_exhausted
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.execution import frames, results
from rabbet.runtime.jaxlib import inside_callback, shared_memory

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.rules.primitive import Primitive
    from rabbet.runtime.arrays.placement import Placement
    from rabbet.runtime.compilation.program import Lowering
    from rabbet.runtime.evaluation import Evaluation
    from rabbet.runtime.platforms.device_groups import DeviceGroup
    from rabbet.runtime.platforms.devices import Device
    from rabbet.typing import Value

new = object.__new__
NOT_SEEN: Any = (None, None, None, None)


def known(run: Callable[..., Any]) -> tuple[Any, ...]:
    """What a frame finds, for a function that ``runner`` made."""
    return (*getattr(run, "parts", (None, None, None)), run)


def runner(
    execute: Any,
    specs: list[Placement],
    lowering: Lowering,
    device: DeviceGroup | Device,
    diagnose: Callable[..., Any],
    *,
    single: bool,
    assemble: Callable[..., Any] | type | None = None,
) -> Any:
    """A function from a sequence of ``Array`` arguments to a list of results, or to what ``assemble`` makes
    of that.

    Args:
      execute: the program, as jaxlib runs it.
      specs: the placements of its results.
      lowering: says which arguments the program reads.
      device: where it runs.
      diagnose: ``(error, args) -> error``, what to raise where running it failed.
      single: return the only result itself. The function then has an attribute ``parts``, if the program
        reads all of its arguments, else ``reading``: the numbers of those that it reads, and its parts.
        With either it has ``failed``: ``(error, args)`` does what the function does with what running the
        parts raised.
    """
    handlers = [s.handler for s in specs]
    kept, every = lowering.kept, lowering.keeps_all
    first = specs[0] if single else None

    def wrapped(given: Any) -> Any:
        raws = given.consume_with_handlers(handlers)
        if first is None:
            outs = list(map(Array, raws, specs))
            return outs if assemble is None else assemble(outs)
        out = new(Array)  # Array(raw, spec), without the call of __init__, a twentieth of a small program's
        out.raw, out.spec, out.aval = raws[0], first, first.aval
        return out

    def again(args: Any) -> Any:
        try:
            return wrapped(execute([a.raw for a in args] if every else [args[i].raw for i in kept]))
        except Exception as error:
            if is_of_handler(error):
                raise
            raise diagnose(error, args) from None

    # It must not name itself: a program that nobody holds would stay until Python looks for cycles, and it
    # does not know how much memory that takes. So what it does is written twice: it runs with every call.
    def run(args: list[Value] | tuple[Value, ...]) -> Any:
        try:
            return wrapped(execute([a.raw for a in args] if every else [args[i].raw for i in kept]))
        except Exception as error:
            if is_of_handler(error):
                raise
            if not memory_exhausted.made_room(error, device):
                raise diagnose(error, args) from None
        return again(args)

    def failed(error: Exception, args: Any) -> Any:
        # For who ran the program in the place of `run`, and has looked for exceptions of signal handlers.
        if not memory_exhausted.made_room(error, device):
            raise diagnose(error, args) from None
        return again(args)

    def run_many(
        args: list[Value] | tuple[Value, ...],
    ) -> Any:  # what ``run`` does without a call of ``wrapped``
        try:
            raws = execute(
                [a.raw for a in args] if every else [args[i].raw for i in kept]
            ).consume_with_handlers(handlers)
        except Exception as error:
            if is_of_handler(error):
                raise
            if not memory_exhausted.made_room(error, device):
                raise diagnose(error, args) from None
        else:
            return build(raws)
        return again(args)

    def with_parts(run: Any, *parts: Any) -> Any:
        run.failed = failed
        if every:
            run.parts = parts
        else:
            run.reading = tuple(kept), parts
        return run

    if assemble is not None:
        build = results.builder(specs, assemble)
        return with_parts(run_many, None, (execute, handlers), build)
    if first is None:
        return run
    only = first

    def run_single(
        args: list[Value] | tuple[Value, ...],
    ) -> Value:  # the same without two calls, a tenth of a small program
        try:
            raw = execute(
                [a.raw for a in args] if every else [args[i].raw for i in kept]
            ).consume_with_handlers(handlers)[0]
        except Exception as error:
            if is_of_handler(error):
                raise
            if not memory_exhausted.made_room(error, device):
                raise diagnose(error, args) from None
        else:
            out = new(Array)
            out.raw, out.spec, out.aval = raw, only, only.aval
            return out
        return again(args)

    return with_parts(run_single, execute, handlers, only)


def donating_parts(run: Any, places: list[int], refuse: Callable[[Any], None]) -> Any:
    """What a frame needs to run ``run`` and delete the arguments at ``places`` afterwards, the attribute
    ``donating`` of a function that does so (see ``FrameParts``); None where only that function can.

    Args:
      run: the runner of an ``Executable``, or what has its ``failed`` and ``captured``.
      places: numbers of arguments.
      refuse: ``(arrays)``, called where running failed, to say that an array was passed in two places.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.wrapping import donating_parts
      >>> program = stage(lambda x: [lax.neg(x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> run = compile_program(lower_program(program, donated=[0])).runner(False, single=True)
      >>> donating_parts(run, [0], lambda arrays: None).places
      (0,)
    """
    go_on = getattr(run, "failed", None)
    if go_on is None:
        return None

    def failed(error: Exception, args: Any) -> Any:
        try:
            return go_on(error, args)
        except Exception:
            refuse(args)
            raise

    return frames.DonatingParts(
        tuple(places), known(run), failed, shared_memory.seen, inside_callback.running
    )


def operations(first: Callable[..., Any], with_number: Callable[..., Any]) -> Callable[..., Any]:
    """The frame of the bottom interpreter: ``process(op, args)``.

    Args:
      first: ``(op, args)``, where the program is not known yet.
      with_number: ``(op, args)``, where an argument is not an array.
    """

    def process(self, op: Op, args: tuple[Any, ...]) -> list[Value] | Value:
        """Run one operation on arrays; a list with multiple results."""
        try:
            # Most have one operand or two, for which a comprehension is a tenth of all that this costs.
            if len(args) == 1:
                (x,) = args
                found = op.programs.get((x.spec,))
                raws = [x.raw]
            elif len(args) == 2:
                x, y = args
                found = op.programs.get((x.spec, y.spec))
                raws = [x.raw, y.raw]
            else:
                found = op.programs.get(tuple([a.spec for a in args]))
                raws = [a.raw for a in args]
        except AttributeError:
            pass  # called below: what is raised there has nothing to do with this error
        else:
            if found is None:
                return first(op, args)
            execute, handlers, spec, run = found
            if execute is None:
                return run(args)
            try:
                raw = execute(raws).consume_with_handlers(handlers)[0]
            except Exception as error:  # again through run: it says what is wrong with the arguments
                if is_of_handler(error):
                    raise
                return run(args)
            out = new(Array)  # Array(raw, spec), without that of __init__
            out.raw, out.spec, out.aval = raw, spec, spec.aval
            return out
        return with_number(op, args)

    return process


def unary(
    op: Op, kinds: str, otherwise: Primitive | Callable[..., Any], evaluation: Evaluation
) -> Callable[..., Any]:
    """The frame of a function of one array that is one operation.

    Args:
      op: an operator of one operand.
      kinds: dtype kinds (``ShapedArray.kind``) of the arrays on which to execute it here.
      otherwise: a function, called on everything else: other dtypes, what is no array, an operation not seen
        before, and under transformations.
      evaluation: the interpreter that executes operations at once.
    """
    programs, current = op.programs, context

    def call(x: Value, /) -> Value:
        try:
            if type(x) is not Array or x.aval.kind not in kinds or current.interpreter is not evaluation:
                return otherwise(x)
            execute, handlers, spec, _ = programs.get((x.spec,)) or NOT_SEEN
            if execute is None:
                return otherwise(x)
            try:
                raw = execute((x.raw,)).consume_with_handlers(handlers)[0]
            except Exception as error:  # again by the long way: it says what is wrong with the arguments
                if is_of_handler(error):
                    raise
                return otherwise(x)
            out = new(Array)
            out.raw, out.spec, out.aval = raw, spec, spec.aval
            return out
        except Exception as error:
            fold_traceback(error)
            raise

    return folds_itself(call)


def function(
    like: Primitive | Callable[..., Any],
    programs: dict[Any, Any],
    settings: Any,
    evaluation: Evaluation,
    *,
    traced: Callable[..., Any],
    slowly: Callable[..., Any],
    of_others: Callable[..., Any],
    of_trees: Any = (),
) -> Callable[..., Any]:
    """The frame of a function that has many programs: a library function, or what ``jit`` returns.

    Args:
      like: the function that it stands for.
      programs: ``Known`` by the placements of the arguments, with ``settings.traced_key`` behind them.
      settings: the values of ``rabbet.config``.
      evaluation: the interpreter that executes operations at once.
      traced: ``(*args, **kwargs)``, called under any other interpreter.
      slowly: ``(args, kwargs)``, where the program is not known yet, and where there are keywords.
      of_others: ``(args)``, where an argument is not an array.
      of_trees: a collection. While there is something in it, ``of_others`` is called at once: to find out by
        an exception that an argument is a pytree costs a tenth of a small program.
    """
    current = context

    @wraps(like)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if current.interpreter is not evaluation:
                return traced(*args, **kwargs)
            if kwargs:
                return slowly(args, kwargs)
            if of_trees:
                return of_others(args)
            try:
                # Written out for two arguments and one: a comprehension costs a twentieth of a call.
                if len(args) == 2:
                    x, y = args
                    found, raws = programs[x.spec, y.spec, settings.traced_key], [x.raw, y.raw]
                elif len(args) == 1:
                    (x,) = args
                    found, raws = programs[x.spec, settings.traced_key], [x.raw]
                else:
                    found = programs[(*[a.spec for a in args], settings.traced_key)]
                    raws = [a.raw for a in args]
            except KeyError:
                pair: Any = slowly, (args, kwargs)
            except AttributeError:
                pair = of_others, (args,)  # called below, so that what it raises has no other context
            else:
                execute, handlers, spec, run = found
                if execute is None:
                    if spec is None:
                        return run(args)
                    execute, handlers = handlers
                    try:
                        raws = execute(raws).consume_with_handlers(handlers)
                    except Exception as error:  # as below
                        if is_of_handler(error):
                            raise
                        return run(args)
                    return spec(raws)
                try:
                    raw = execute(raws).consume_with_handlers(handlers)[0]
                except Exception as error:  # run it again: it says what is wrong with the arguments
                    if is_of_handler(error):
                        raise
                    return run(args)
                out = new(Array)
                out.raw, out.spec, out.aval = raw, spec, spec.aval
                return out
            go_on, given = pair
            return go_on(*given)
        except Exception as error:  # show the user's frames only, not this one
            fold_traceback(error)
            raise

    return folds_itself(call)


__all__ = ["donating_parts", "function", "known", "operations", "runner", "unary"]
