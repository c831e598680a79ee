"""Which process of how many this is, and where the coordinator should be: what clusters tell in the
environment.

Each way is a function of the environment (a mapping) that returns a ``Place``, or None where it is not that
cluster's.
"""

import importlib
import os
import re
import socket
from collections.abc import Mapping
from typing import NamedTuple

from rabbet.errors import ConfigError


class Place(NamedTuple):
    """Where a process stands among others; None for what is not known."""

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None


# Ports that services of the operating system do not use, from which one is chosen by the number of a job.
FIRST_PORT, PORTS = 61440, 4096


def port_of(job):
    """A port for a job, the same in all of its processes."""
    digits = re.sub(r"\D", "", str(job)) or "0"
    return FIRST_PORT + int(digits) % PORTS


def number(env, name):
    """A variable as a whole number, or None."""
    text = env.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"the environment variable {name} must be a whole number, got {text!r}") from None


def first_of(env, *names, read=Mapping.get):
    """The first of these variables that is set."""
    return next((found for name in names if (found := read(env, name)) not in (None, "")), None)


def from_variables(env):
    """``RABBET_COORDINATOR_ADDRESS``, ``RABBET_NUM_PROCESSES``, ``RABBET_PROCESS_ID`` and
    ``RABBET_LOCAL_DEVICE_IDS``, or the same with ``JAX_``; any of them.
    """

    def both(name, read=Mapping.get):
        return first_of(env, f"RABBET_{name}", f"JAX_{name}", read=read)

    ids = both("LOCAL_DEVICE_IDS")
    place = Place(
        both("COORDINATOR_ADDRESS"),
        both("NUM_PROCESSES", number),
        both("PROCESS_ID", number),
        None if ids is None else tuple([int(i) for i in ids.split(",")]),
    )
    return None if place == Place() else place


def from_slurm(env):
    """A task of ``srun``."""
    rank = number(env, "SLURM_PROCID")
    nodes = first_of(env, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
    count = first_of(env, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", read=number)
    if None in (rank, nodes, count) or "SLURM_JOB_ID" not in env:
        return None
    local = number(env, "SLURM_LOCALID")
    return Place(
        f"{first_host(nodes)}:{port_of(env['SLURM_JOB_ID'])}",
        count,
        rank,
        None if local is None else (local,),
    )


def first_host(nodes):
    """The first name of a list as SLURM writes it, ``"node[07-09,12],other"``."""
    found = re.match(r"([^\[,]+)(?:\[([^\],-]+)[^\]]*\]([^,]*))?", nodes)
    if found is None:
        raise ConfigError(f"cannot read the list of nodes {nodes!r}; give coordinator_address")
    return "".join([part or "" for part in found.groups()])


def from_open_mpi(env):
    """A process of Open MPI's ``mpirun``. Before version 5 it tells the address of the launching machine;
    later ones only help where all processes are on one machine.
    """
    rank, count = number(env, "OMPI_COMM_WORLD_RANK"), number(env, "OMPI_COMM_WORLD_SIZE")
    if rank is None or count is None:
        return None
    local = number(env, "OMPI_COMM_WORLD_LOCAL_RANK")
    uri = first_of(env, "OMPI_MCA_orte_hnp_uri", "OMPI_MCA_hnp_uri")
    found = re.match(r"(\d+)\.\d+;tcp6?://\[?([^,:\]/]+)", uri or "")
    address = None
    if found is not None:
        address = f"{found[2]}:{port_of(found[1])}"
    elif number(env, "OMPI_COMM_WORLD_LOCAL_SIZE") == count:
        job = first_of(env, "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid") or "0"
        address = f"127.0.0.1:{port_of(job)}"
    return Place(address, count, rank, None if local is None else (local,))


def from_torchrun(env):
    """``MASTER_ADDR``, ``MASTER_PORT``, ``WORLD_SIZE``, ``RANK`` and ``LOCAL_RANK``, as ``torchrun``, Ray
    Train and Kubeflow set them. The coordinator takes the port after theirs.
    """
    rank, count, port = number(env, "RANK"), number(env, "WORLD_SIZE"), number(env, "MASTER_PORT")
    if None in (rank, count, port) or "MASTER_ADDR" not in env:
        return None
    local = number(env, "LOCAL_RANK")
    return Place(f"{env['MASTER_ADDR']}:{port + 1}", count, rank, None if local is None else (local,))


def from_kubernetes(env, full_name=socket.getfqdn):
    """A pod of an Indexed Job with a headless service. The number of pods is not told to them: set
    ``RABBET_NUM_PROCESSES`` in the pod's template.
    """
    if "KUBERNETES_SERVICE_HOST" not in env:
        return None
    rank = first_of(env, "JOB_COMPLETION_INDEX", read=number)
    if rank is None:
        return None
    name, _, domain = full_name().partition(".")
    if not name.endswith(f"-{rank}"):
        return Place(None, None, rank)
    leader = name.removesuffix(f"-{rank}") + "-0" + (f".{domain}" if domain else "")
    return Place(f"{leader}:{FIRST_PORT}", None, rank)


def from_mpi4py(env):
    """Any MPI that mpi4py speaks to; asked for by name only, since it starts MPI."""
    try:
        mpi = importlib.import_module("mpi4py.MPI")
    except ImportError:
        raise ConfigError(
            'cluster_detection_method="mpi4py" needs the package mpi4py: python -m pip install mpi4py'
        ) from None
    world = mpi.COMM_WORLD
    job = world.bcast(os.getpid(), root=0)
    address = world.bcast(f"{socket.gethostname()}:{port_of(job)}", root=0)
    local = world.Split_type(mpi.COMM_TYPE_SHARED).Get_rank()
    return Place(address, world.Get_size(), world.Get_rank(), (local,))


AUTOMATIC = {
    "slurm": from_slurm,
    "ompi": from_open_mpi,
    "torchrun": from_torchrun,
    "k8s": from_kubernetes,
}
METHODS = {**AUTOMATIC, "mpi4py": from_mpi4py}
NAMES = ("coordinator_address", "num_processes", "process_id", "local_device_ids")


def complete(given, method=None, env=None):
    """A ``Place`` with what is None in ``given`` taken from the environment.

    Args:
      method: one of ``METHODS``, for what our own variables do not tell; None: the first that fits;
        "deactivate": nothing is read, of the variables neither.

    Raises:
      ConfigError: for what nobody tells, with the ways to tell it; for numbers that cannot be.
    """
    env = os.environ if env is None else env
    if method is not None and method != "deactivate" and method not in METHODS:
        known = ", ".join([*METHODS, "deactivate"])
        raise ConfigError(f"cluster_detection_method must be one of {known}, got {method!r}")
    found = [given]
    if method != "deactivate" and None in given[:3]:
        found.append(from_variables(env))
        # Where the variables tell all, as under `rabbet launch` in a job of SLURM, the cluster's numbers are
        # those of something else.
        if found[-1] is None or None in joined(found)[:3]:
            read = METHODS[method] if method else first_that_fits
            found.append(read(env))
    return checked(joined(found))


def first_that_fits(env):
    """What the first cluster tells of which there are signs, or None."""
    return next((place for read in AUTOMATIC.values() if (place := read(env))), None)


def joined(places):
    """One ``Place`` of several, of which the first counts that tells something; None tells nothing."""
    told = [place for place in places if place is not None]
    return Place(*[next((v for v in values if v is not None), None) for values in zip(*told, strict=True)])


def checked(place):
    """A place of which all but the devices is known, and makes sense."""
    missing = [name for name, value in zip(NAMES[:3], place[:3], strict=True) if value is None]
    if missing:
        variables = ", ".join([f"RABBET_{name.upper()}" for name in missing])
        raise ConfigError(
            f"distributed.initialize: not known: {', '.join(missing)}\n"
            f"  to fix: give them as arguments, set {variables}, start the program with "
            "`rabbet launch -n 4 program.py`, or run it in one of these clusters: "
            f"{', '.join(AUTOMATIC)}"
        )
    if place.num_processes < 1 or not 0 <= place.process_id < place.num_processes:
        raise ConfigError(
            f"distributed.initialize: process_id must be from 0 to num_processes - 1, got process_id "
            f"{place.process_id} of {place.num_processes}"
        )
    return place


__all__ = ["AUTOMATIC", "METHODS", "Place", "complete", "port_of"]
