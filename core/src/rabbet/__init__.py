"""Rabbet: composable transformations of NumPy-style programs, every backend, transformation and dtype a
package of its own.

This module is where the parts are put together: core's own names are imported here; names that plugins
provide (``rabbet.jit``, ``rabbet.grad``, ``rabbet.numpy``) are looked up among the installed packages when
they are first used.
"""

import os
import pkgutil

# jaxlib reads this once, when it is loaded: 1 hides the informational lines of its clients. Whoever set it
# keeps control.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

# Plugins ship modules inside this package (rabbet/numpy from rabbet-numpy); editable installs put them in
# other folders.
__path__ = pkgutil.extend_path(__path__, __name__)

from rabbet.version import VERSION as __version__

from rabbet.messages.source_positions import add_internal_root as _add_internal_root
from rabbet.messages.tracebacks import public_module as _public_module

for _folder in __path__:
    _add_internal_root(_folder)

from rabbet import composition
from rabbet.program.avals import ShapeDtypeStruct
from rabbet.config import config
from rabbet.trace.interpreter import typeof
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.platforms.devices import (
    Device, default_backend, device_count, devices, local_device_count, local_devices, process_count,
    process_index,
)  # fmt: skip
from rabbet import dlpack, dtypes, errors, lax, tree
from rabbet.runtime.housekeeping import (
    block_until_ready,
    clear_caches,
    copy_to_host_async,
    device_get,
    live_arrays,
)
from rabbet.runtime.transfer import device_put
from rabbet.runtime.execution.effects import effects_barrier
from rabbet.lax.indexing.dynamic_slices import ds

from rabbet.plugins.missing_modules import install as _name_missing_modules

_name_missing_modules()
composition.compose()
_own = frozenset(globals())  # what core has itself, before plugins add their names


def __getattr__(name):
    from rabbet.composition import public_name
    from rabbet.plugins import public_names

    value = globals()[name] = public_names.for_users(name, public_name(name))
    return value


# Public modules of core; those that are not imported above are when they are first used.
_MODULES = (
    "dlpack", "dtypes", "errors", "experimental", "extend", "lax", "tree", "typing",
)  # fmt: skip


def _found_when_asked():
    from rabbet.composition import CONTEXTS
    from rabbet.plugins import public_names

    return ("__version__", *CONTEXTS, *public_names.names())


_public_module(globals(), _MODULES, _found_when_asked)
