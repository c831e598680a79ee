"""``run``, and what the function that it runs may ask."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rabbet.extend.functions import folded

from rabbet_ray.plan import ATTEMPT, planned


@folded
def run(
    function: Callable[..., Any],
    *args: Any,
    processes: int = 2,
    resources_per_process: Mapping[str, float] | None = None,
    strategy: str = "PACK",
    restarts: int = 3,
    elastic: bool = False,
    retry_exceptions: bool | Sequence[type[Exception]] = False,
    start_timeout_seconds: float = 300,
    cpu_devices: int | None = None,
    runtime_env: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Call ``function(*args)`` in several processes of a Ray cluster that compute together; return what it
    returned in each.

    In these processes ``rb.distributed.initialize()`` needs no arguments, so a program for ``rabbet launch``
    runs as it is. The coordinator is an actor of its own. Where this process is not connected with Ray yet,
    ``ray.init()`` is called: it uses the cluster of ``RAY_ADDRESS``, or starts one on this machine.

    When a process is lost (killed, out of memory, its machine gone, stuck beyond the step time-out), all are
    ended and started again in the same placement group; the function then loads its last checkpoint.

    Args:
      function: what each process calls. Ray pickles it, with ``args``, and what it returns: numbers, NumPy
        arrays, or arrays on one device.
      processes: how many; each is a Ray actor.
      resources_per_process: what Ray is to set aside for each, by default ``{"CPU": 1}``; also ``"GPU"``,
        ``"memory"`` (bytes) and names of one's own. A process sees the GPUs that Ray gives it and no others.
      strategy: of the placement group: ``"PACK"`` (few machines), ``"SPREAD"`` (many), ``"STRICT_PACK"`` (one
        machine) or ``"STRICT_SPREAD"`` (a machine each).
      restarts: how often, in all, lost processes are made up for.
      elastic: start only what was lost. The others get ``PeerLost`` and go on by
        ``rb.distributed.reform()``, and the one that is started again joins them.
      retry_exceptions: whether an exception that ``function`` raised counts as a loss, too; or which ones do.
      start_timeout_seconds: how long to wait for Ray's resources, and for the processes to start.
      cpu_devices: CPU devices of each process (``RABBET_NUM_CPU_DEVICES``).
      runtime_env: of Ray, for the processes: a dict with ``working_dir``, ``env_vars``, ``pip`` and others.

    Returns:
      a list with the result of each process, by ``rb.process_index()`` at its start.

    Raises:
      ConfigError: for arguments that cannot be.
      TimeoutError: where Ray has no room for the processes, or they did not start in time; says what there
        is.
      PeerLost: if a process was lost and the restarts are used up; ``ranks`` are those lost last.
      Exception: what ``function`` raised, with a note of the process. The other processes are ended.

    Example:
      >>> def main(n):
      ...     rb.distributed.initialize()
      ...     return rb.process_index() * n
      >>> def program():
      ...     return rabbet_ray.run(main, 10, processes=2)  # [0, 10]
    """
    plan = planned(
        function, args, processes, resources_per_process, strategy, restarts, elastic, retry_exceptions,
        start_timeout_seconds, cpu_devices, runtime_env,
    )  # fmt: skip
    from rabbet_ray.job import Job  # imports Ray, which takes a second

    with Job(plan) as job:
        return job.run()


def attempt() -> int:
    """How often ``run`` has started this process before: 0 the first time, and outside of ``run``.

    Example:
      >>> rabbet_ray.attempt()
      0
    """
    return int(os.environ.get(ATTEMPT, 0))


__all__ = ["attempt", "run"]
