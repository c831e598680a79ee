"""Google TPUs as a Rabbet backend: loads the PJRT library of the `libtpu` package.

TPU_LIBRARY_PATH names another library. Not verified on hardware; ahead-of-time compilation is (`topology`).
"""

import os
from glob import glob
from importlib.util import find_spec
from pathlib import Path

from rabbet.extend import Backend, PluginError, load_pjrt_plugin, make_c_api_client, make_topology

NAME = "tpu"
ADVICE = 'install it with: python -m pip install "rabbet[tpu]", or name one in TPU_LIBRARY_PATH'


def library():
    """Return the path of libtpu.so, or None. Imports none of it."""
    given = os.environ.get("TPU_LIBRARY_PATH")
    if given:
        return Path(given) if os.path.exists(given) else None
    spec = find_spec("libtpu")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "libtpu.so"
        if path.exists():
            return path
    return None


def tpu_present():
    """Return whether this machine shows a TPU to this process."""
    return bool(glob("/dev/accel[0-9]*") or glob("/dev/vfio/[0-9]*"))


def obstacle():
    """Return why this machine cannot run the backend, or None."""
    if library() is None:
        return f"no TPU library is installed; {ADVICE}"
    if not tpu_present():
        return "no TPU is visible to this process (nothing matches /dev/accel* or /dev/vfio/*)"
    return None


def load():
    """Load the PJRT library; PluginError naming the package to install where it is missing."""
    path = library()
    if path is None:
        raise PluginError(f"the TPU backend has no library to load; {ADVICE}")
    load_pjrt_plugin(NAME, path)


def make_client(options):
    """Return the raw TPU client. `options` may hold `distributed_client`; the rest goes to the plugin."""
    load()
    options = dict(options)
    distributed_client = options.pop("distributed_client", None)
    return make_c_api_client(NAME, options, distributed_client)


def topology(name, **options):
    """Describe TPUs that need not be here, such as 'v5e:2x2', for ahead-of-time compilation.

    An op that libtpu does not know can abort the process: compile in a process of its own. On a
    machine without TPUs set TPU_SKIP_MDS_QUERY=1 first, or libtpu asks a metadata server.
    """
    load()
    return make_topology(NAME, name, **options)


def doctor():
    """Return the lines of `rabbet doctor` about TPU, each as (label, ok, detail)."""
    path, present = library(), tpu_present()
    return [
        ("tpu library", path is not None, str(path or f"missing; {ADVICE}")),
        ("tpu device", present, "visible" if present else "none visible to this process"),
    ]


BACKEND = Backend(
    platform="tpu",
    priority=300,
    make_client=make_client,
    obstacle=obstacle,
    topology=topology,
    native_dtypes=frozenset("bool int8 int16 int32 uint8 uint16 uint32 bfloat16 float32 complex64".split()),
    doctor=doctor,
)
