"""Programs for plugins to compile: what ``rabbet.extend`` offers of the runtime."""

from rabbet.program.context import context
from rabbet.runtime import program
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
