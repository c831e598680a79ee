"""The settings of the CUDA backend, and what the plugin is told of them."""

from rabbet import config
from rabbet.extend.backend import Setting, gpu_plugin_options

# By our names, and by the plugin's.
ALLOCATORS = {"bfc": "bfc", "async": "cuda_async", "platform": "platform"}


def fraction(value):
    """Parse a share of the memory, more than 0 and at most 1; none is the plugin's own choice."""
    if value is None:
        return None
    number = float(value)
    if not 0 < number <= 1:
        raise ValueError("it is a share of the memory, more than 0 and at most 1")
    return number


def allocator(value):
    """Parse the name of an allocator."""
    if value not in ALLOCATORS:
        raise ValueError(f"it is one of {', '.join(ALLOCATORS)}")
    return value


def numbers(value):
    """Parse the numbers of GPUs: `'0,2'`, or a sequence of ints; none is all of them."""
    if value is None or value == "all":
        return None
    parts = value.split(",") if isinstance(value, str) else value
    found = tuple([int(part) for part in parts])
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise ValueError("it is a list of the numbers of GPUs, each once, such as 0,2")
    return found


def switch(value):
    """Parse a switch."""
    words = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False, "": False}
    known = words.get(value.lower()) if isinstance(value, str) else value
    if known not in (True, False):
        raise ValueError("it is 1 or 0")
    return bool(known)


WHEN = "Read when the CUDA client is made."
SETTINGS = (
    Setting(
        "cuda_memory_fraction", None, fraction,
        doc=f"How much of a GPU's memory the allocator may take; the plugin's own choice if not set. {WHEN}",
    ),
    Setting(
        "cuda_allocator", "bfc", allocator,
        doc="bfc: freed memory is kept for the next array; async: CUDA's own pool; platform: none, memory "
        f"goes back at once. {WHEN}",
    ),
    Setting(
        "cuda_preallocate", False, switch,
        doc=f"Take the memory at the start and not as it is needed. {WHEN}",
    ),
    Setting(
        "cuda_visible_devices", None, numbers, jax=True,
        doc=f"The numbers of the GPUs to use; all if not set. {WHEN}",
    ),
)  # fmt: skip


def options():
    """What the plugin is told at the start."""
    chosen = {"preallocate": config.cuda_preallocate, "allocator": ALLOCATORS[config.cuda_allocator]}
    if config.cuda_memory_fraction is not None:
        chosen["memory_fraction"] = config.cuda_memory_fraction
    if config.cuda_visible_devices is not None:
        chosen["visible_devices"] = list(config.cuda_visible_devices)
    return {**gpu_plugin_options(), **chosen}
