"""Where the time goes, and what holds the memory.

A trace records what the host and the devices do: compiled programs and the operations in them, with the lines
of your program that they come from, and the parts that you name with ``TraceAnnotation``. It is written as
files that TensorBoard's profile plugin (xprof) and Perfetto open::

    with rabbet.profiler.trace("/tmp/trace"):
        step(params, batch).block_until_ready()
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.profiler.annotations import StepTraceAnnotation, TraceAnnotation, annotate_function
from rabbet.profiler.memory import device_memory_profile, save_device_memory_profile
from rabbet.profiler.server import register_subprocess, start_server, stop_server
from rabbet.profiler.tracing import (
    ProfileData,
    ProfileOptions,
    ProfileSession,
    start_trace,
    stop_trace,
    trace,
)

__all__ = [
    "ProfileData", "ProfileOptions", "ProfileSession", "StepTraceAnnotation", "TraceAnnotation",
    "annotate_function", "device_memory_profile", "register_subprocess", "save_device_memory_profile",
    "start_server", "start_trace", "stop_server", "stop_trace", "trace",
]  # fmt: skip

_public_module(globals())
