"""Programs for plugins to compile: what ``rabbet.extend`` offers of the runtime."""

from rabbet.config import config
from rabbet.program.context import context
from rabbet.runtime import dispatch, program
from rabbet.runtime.devices import default_device
from rabbet.runtime.evaluation import EVALUATION


def is_evaluating():
    """Whether operations on this thread are executed at once: no transformation is running.

    Example:
      >>> from rabbet.extend.functions import is_evaluating
      >>> from rabbet.extend.passes import stage
      >>> is_evaluating()
      True
      >>> closed = stage(lambda x: [print(is_evaluating()) or x], [rb.typeof(1.0)])
      False
    """
    return context.interpreter is EVALUATION


def lower_program(jaxpr, platform=None, name="main", *, donated=(), keep_unused=False, options=None):
    """Run the passes on a program and write its StableHLO text; see ``compile_program``.

    Example:
      >>> from rabbet.extend.backend import lower_program
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.sin(x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> lowering = lower_program(program, platform="cpu")
      >>> lowering.platform, "stablehlo.sine" in lowering.module.text
      ('cpu', True)
    """
    return program.lower(
        jaxpr,
        platform or default_device().platform,
        name,
        donated=donated,
        keep_unused=keep_unused,
        options=options,
    )


def compile_program(lowering, device=None, options=None):
    """Compile what ``lower_program`` returned, for a device (by default the default one).

    Returns:
      an ``Executable``; its ``runner(committed)`` runs it on arrays of exactly the lowered types on that
      device.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.mul(x, x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> run = compile_program(lower_program(program)).runner(False)
      >>> run([rb.device_put(np.float32(3))])
      [Array(9., dtype=float32)]
    """
    return program.compile(lowering, device or default_device(), options)


def call_by_placements(function, programs, *, traced, slowly, of_others):
    """A function that finds its compiled program by its arguments in one lookup, for what compiles on demand.

    Args:
      function: what it stands for.
      programs: a dict that the caller fills, of ``program_entry(run)`` by the placements of the arguments and
        ``config.traced_key()`` behind them: ``(*[x.spec for x in arrays], config.traced_key())``.
      traced: ``(*args, **kwargs)``, called under a transformation.
      slowly: ``(args, kwargs)``, where the program is not known yet, and where there are keywords.
      of_others: ``(args)``, where an argument is no array: a pytree, a number.

    Example:
      >>> from rabbet.extend.backend import call_by_placements, compile_program, lower_program, program_entry
      >>> from rabbet.extend.passes import stage
      >>> def negated(x):
      ...     return lax.neg(x)
      >>> programs = {}
      >>> def compile_now(args, kwargs):
      ...     program = stage(lambda x: [negated(x)], [rb.typeof(args[0])]).jaxpr
      ...     run = compile_program(lower_program(program)).runner(False, single=True)
      ...     programs[args[0].spec, rb.config.traced_key()] = program_entry(run)
      ...     return run(args)
      >>> fast = call_by_placements(
      ...     negated, programs, traced=negated, slowly=compile_now, of_others=lambda args: negated(*args)
      ... )
      >>> x = rb.device_put(np.float32(3))
      >>> fast(x), fast(x), len(programs)
      (Array(-3., dtype=float32), Array(-3., dtype=float32), 1)
    """
    return dispatch.function(
        function, programs, config.values, EVALUATION, traced=traced, slowly=slowly, of_others=of_others
    )


def program_entry(run):
    """What ``call_by_placements`` finds, for ``run``, the runner of an ``Executable``.

    Example:
      >>> from rabbet.extend.backend import compile_program, lower_program, program_entry
      >>> from rabbet.extend.passes import stage
      >>> program = stage(lambda x: [lax.neg(x)], [rb.typeof(np.float32(1))]).jaxpr
      >>> entry = program_entry(compile_program(lower_program(program)).runner(False))
      >>> entry[-1]([rb.device_put(np.float32(3))])
      [Array(-3., dtype=float32)]
    """
    return dispatch.known(run)
