"""Names of TPUs: `generation:AxB`, from three dimensions on `AxBxC`, the number of chips along each."""

import re

from rabbet.errors import ConfigError

# The smallest host of each generation, which its name alone stands for.
GENERATIONS = {
    "v2": "2x2",
    "v3": "2x2",
    "v4": "2x2x1",
    "v5e": "2x2",
    "v5p": "2x2x1",
    "v6e": "2x2",
    "tpu7x": "2x2x1",
}
NAME = re.compile(r"(\w+)(?::(\d+(?:x\d+){1,2}))?")


def full_name(name):
    """Return a topology's name with its dimensions; ConfigError for one that no TPU has."""
    found = NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None or found[1] not in GENERATIONS:
        raise ConfigError(unknown(name, f"generations: {', '.join(GENERATIONS)}"))
    usual = GENERATIONS[found[1]]
    sizes = found[2] or usual
    if sizes.count("x") != usual.count("x"):
        raise ConfigError(unknown(name, f"{found[1]} has {usual.count('x') + 1} dimensions, as in {usual}"))
    if not all(map(int, sizes.split("x"))):  # libtpu would divide by it, which ends the process
        raise ConfigError(unknown(name, "a dimension is 1 or more"))
    return f"{found[1]}:{sizes}"


def unknown(name, reason):
    """The message for a name that no TPU has."""
    known = ", ".join([f"{generation}:{sizes}" for generation, sizes in GENERATIONS.items()])
    return f"there is no TPU topology {name!r}: {reason}\n  for example: {known}, v5e:4x4"


def made(name, make):
    """Return what `make()` returns; ConfigError where libtpu refuses the name."""
    try:
        return make()
    except ConfigError as error:
        raise ConfigError(unknown(name, str(error))) from None
