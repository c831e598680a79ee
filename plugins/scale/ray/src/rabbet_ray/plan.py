"""What ``run`` was asked for, checked before anything is started; and what a process is told."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rabbet.errors import ConfigError

WHO = "rabbet_ray.run"
ATTEMPT = "RABBET_RAY_ATTEMPT"
STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")


class Plan(NamedTuple):
    """What ``run`` was asked for. ``retried`` are types of exceptions, ``seconds`` the time to start."""

    function: Callable[..., Any]
    args: tuple
    processes: int
    resources: dict[str, float]
    strategy: str
    restarts: int
    elastic: bool
    retried: tuple[type[Exception], ...]
    seconds: float
    runtime_env: dict[str, Any]


def planned(
    function, args, processes, resources, strategy, restarts, elastic, retried, seconds, devices, runtime_env
):
    """The ``Plan`` of the arguments of ``run``.

    Raises:
      ConfigError: for arguments that cannot be.
    """
    if not callable(function):
        raise ConfigError(f"{WHO}: the first argument is the function to call, got {function!r}")
    if strategy not in STRATEGIES:
        raise ConfigError(f"{WHO}: strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ConfigError(f"{WHO}: start_timeout_seconds must be a positive number, got {seconds!r}")
    return Plan(
        function,
        args,
        whole(processes, "processes", 1),
        checked_resources({"CPU": 1} if resources is None else resources),
        strategy,
        whole(restarts, "restarts", 0),
        bool(elastic),
        checked_exceptions(retried),
        float(seconds),
        with_variables(runtime_env, devices),
    )


def variables(rank, count, address, attempt, secret):
    """What a process finds in its environment: what ``rabbet.distributed.initialize()`` reads."""
    return {
        "RABBET_COORDINATOR_ADDRESS": address,
        "RABBET_COORDINATOR_STARTED": "1",
        "RABBET_NUM_PROCESSES": str(count),
        "RABBET_PROCESS_ID": str(rank),
        "RABBET_JOB_SECRET": secret,
        ATTEMPT: str(attempt),
    }


def whole(value, name, least):
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{WHO}: {name} must be a whole number from {least}, got {value!r}")
    return value


def checked_resources(resources):
    """Resources of one process as a dict, without those of which none are asked for."""
    if not isinstance(resources, Mapping):
        raise ConfigError(
            f'{WHO}: resources_per_process is a dict such as {{"CPU": 1, "GPU": 1}}, got {resources!r}'
        )
    for name, amount in resources.items():
        if not isinstance(name, str):
            raise ConfigError(f"{WHO}: names of resources are strings, got {name!r}")
        if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not amount >= 0:
            raise ConfigError(f"{WHO}: {name!r} must be a number from 0, got {amount!r}")
    for mistaken, name in {"cpu": "CPU", "num_cpus": "CPU", "gpu": "GPU", "num_gpus": "GPU"}.items():
        if mistaken in resources:
            raise ConfigError(f"{WHO}: Ray calls this resource {name!r}, got {mistaken!r}")
    kept = {name: amount for name, amount in resources.items() if amount}
    if not kept:
        raise ConfigError(
            f'{WHO}: a process of a placement group needs some resource; ask for {{"CPU": 1}}, or less'
        )
    return kept


def checked_exceptions(given):
    """The types of exceptions of the function after which it is called again."""
    if isinstance(given, bool):
        return (Exception,) if given else ()
    types = tuple(given) if isinstance(given, (list, tuple, set, frozenset)) else (given,)
    for each in types:
        if not (isinstance(each, type) and issubclass(each, Exception)):
            raise ConfigError(f"{WHO}: retry_exceptions is True, False or a list of types, got {each!r}")
    return types


def with_variables(runtime_env, cpu_devices):
    """The runtime environment, with the number of CPU devices in its variables."""
    made = dict(runtime_env or {})
    told = dict(made.get("env_vars", {}))
    if cpu_devices is not None:
        told["RABBET_NUM_CPU_DEVICES"] = str(whole(cpu_devices, "cpu_devices", 1))
    return {**made, "env_vars": told} if told else made


__all__ = ["ATTEMPT", "STRATEGIES", "WHO", "Plan", "planned", "variables"]
