"""Rotations in space: ``jax.scipy.spatial.transform``."""

from rabbet.extend.functions import public_module
from rabbet.scipy.spatial.transform.rotation import Rotation
from rabbet.scipy.spatial.transform.slerp import Slerp

__all__ = ["Rotation", "Slerp"]

public_module(globals())
