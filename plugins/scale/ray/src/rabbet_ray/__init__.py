"""Programs over several processes on a Ray cluster.

``api`` is what users call, ``plan`` checks what they ask for, ``job`` starts and looks after the processes
of one call, ``placement`` asks Ray for room for them, ``actors`` is what runs in them, ``outcomes`` tells
what has become of one.
"""

from rabbet.extend.functions import public_module as _public_module

from rabbet_ray.api import attempt, run

__all__ = ["attempt", "run"]

_public_module(globals())
