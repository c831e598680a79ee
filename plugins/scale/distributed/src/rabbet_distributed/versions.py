"""Processes that compute together have the same versions."""

import rabbet
from rabbet.errors import RabbetError
from rabbet.extend.backend import jaxlib_version


class VersionError(RabbetError, RuntimeError):
    """Processes that compute together have different versions of Rabbet or jaxlib. The message names both.

    Example:
      >>> issubclass(rb.distributed.VersionError, RuntimeError)
      True
    """


def versions():
    """The versions that processes that compute together share."""
    return [rabbet.__version__, jaxlib_version()]


def check_versions(ready):
    """Refuse members of different versions: what each has told, by its slot."""
    by_versions: dict = {}
    for slot, told in ready.items():
        by_versions.setdefault(tuple(told["versions"]), []).append(str(slot))
    if len(by_versions) > 1:
        told = "; ".join(
            [f"{', '.join(slots)}: rabbet {v[0]} and jaxlib {v[1]}" for v, slots in by_versions.items()]
        )
        raise VersionError(f"processes that compute together need the same versions, got process {told}")


__all__ = ["VersionError", "check_versions", "versions"]
