"""Programs for plugins to compile: what ``rabbet.extend`` offers of the runtime."""

from rabbet.config import config
from rabbet.program.context import context
from rabbet.runtime import dispatch, program
from rabbet.runtime.devices import default_device
from rabbet.runtime.evaluation import EVALUATION


def is_evaluating():
    """Whether operations on this thread are executed at once: no transformation is running."""
    return context.interpreter is EVALUATION


def lower_program(jaxpr, platform=None, name="main", *, donated=(), keep_unused=False, options=None):
    """Run the passes on a program and write its StableHLO text; see ``compile_program``."""
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
    """
    return dispatch.function(
        function, programs, config.values, EVALUATION, traced=traced, slowly=slowly, of_others=of_others
    )


def program_entry(run):
    """What ``call_by_placements`` finds, for ``run``, the runner of an ``Executable``."""
    return dispatch.known(run)
