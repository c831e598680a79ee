"""``Slerp``: rotations between rotations."""

from typing import NamedTuple

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.scipy.spatial.transform.rotation import Rotation


class Slerp(NamedTuple):
    """Spherical linear interpolation: between two rotations the shortest way at constant speed.

    Make one by ``Slerp.init``. It is a tuple of arrays, so functions can take and return it.

    Example:
      >>> ends = Rotation.from_euler("z", rnp.array([0.0, 90.0]), degrees=True)
      >>> middle = Slerp.init(rnp.array([0.0, 1.0]), ends)(0.5)
      >>> print(np.asarray(middle.as_euler("zyx", degrees=True)).round(3) + 0.0)
      [45.  0.  0.]
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: Array, rotations: Rotation) -> "Slerp":
        """From times, increasing, of shape ``(n,)``, and as many rotations.

        Raises:
          ValueError: for other shapes, or less than two rotations.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp.init takes a Rotation, got a {type(rotations).__name__}")
        times = rnp.asarray(times)
        times = rnp.asarray(times, dtypes.to_inexact(times.dtype))
        if rotations.quat.ndim != 2 or len(rotations) < 2 or times.shape != (len(rotations),):
            raise ValueError(
                "Slerp.init takes n >= 2 times and as many rotations, got times of shape "
                f"{times.shape} and quaternions of shape {rotations.quat.shape}"
            )
        # Its class is a tuple's, so mypy reads a slice of it as a tuple.
        before: Rotation = rotations[:-1]  # type: ignore[assignment]
        return cls(times, times[1:] - times[:-1], before, (before.inv() * rotations[1:]).as_rotvec())

    def __call__(self, times: Array) -> Rotation:
        """The rotations at times of any shape; before the first and after the last time those at the ends."""
        times = rnp.asarray(times)
        times = rnp.clip(rnp.asarray(times, dtypes.to_inexact(times.dtype)), self.times[0], self.times[-1])
        at = rnp.clip(rnp.searchsorted(self.times, times, side="right") - 1, 0, self.timedelta.shape[0] - 1)
        share = (times - self.times[at]) / self.timedelta[at]
        return Rotation(self.rotations.quat[at]) * Rotation.from_rotvec(self.rotvecs[at] * share[..., None])
