"""The hooks that count."""

from __future__ import annotations

from rabbet.extend.hooks import CompiledProgram, PassRun, Transfer, hookimpl

from rabbet_metrics.counters import add, put


@hookimpl
def trace_started(name: str) -> None:
    add("rabbet_traces_total", function=name)


@hookimpl
def trace_finished(name: str, seconds: float) -> None:
    add("rabbet_trace_seconds_total", seconds, function=name)


@hookimpl
def pass_finished(run: PassRun) -> None:
    add("rabbet_pass_seconds_total", run.seconds, **{"pass": run.name})
    if run.before != run.after:
        add("rabbet_pass_equations_removed_total", run.before - run.after, **{"pass": run.name})


@hookimpl
def program_ready(program: CompiledProgram) -> None:
    add("rabbet_programs_total", function=program.name, origin=program.origin)
    add("rabbet_program_seconds_total", program.seconds, origin=program.origin)
    if program.temporary_bytes is not None:
        put("rabbet_program_temporary_bytes", program.temporary_bytes, function=program.name)
    for kind, count in program.collectives.items():
        add("rabbet_collectives_total", count, kind=kind)


@hookimpl
def cache_hit() -> None:
    add("rabbet_cache_hits_total")


@hookimpl
def cache_miss() -> None:
    add("rabbet_cache_misses_total")


@hookimpl
def transferred(transfer: Transfer) -> None:
    add("rabbet_transferred_bytes_total", transfer.nbytes, direction=transfer.direction)
