"""``Rotation``: one rotation or an array of them."""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, random
from rabbet.scipy.spatial.transform import conversions


def floats(name: str, x: Any, *last: int) -> Array:
    """An array of floats whose last dimensions are given.

    Raises:
      ValueError: for another shape.
      TypeError: for complex numbers.
    """
    x = rnp.asarray(x)
    if dtypes.kind(x.dtype) == "c":
        raise TypeError(f"Rotation.{name} takes real numbers, got {x.dtype}")
    if x.shape[x.ndim - len(last) :] != last:
        shown = ", ".join(map(str, last))
        raise ValueError(f"Rotation.{name} takes an array of shape (..., {shown}), got {x.shape}")
    return rnp.asarray(x, dtypes.to_inexact(x.dtype))


class Rotation(NamedTuple):
    """A rotation in space, or an array of rotations, as quaternions of length 1.

    Make one by ``Rotation.from_quat`` and its relatives. It is a tuple with the one array ``quat`` of shape
    ``(..., 4)``, so functions can take and return it, under ``jit``, ``vmap`` and ``grad``.

    Example:
      >>> quarter = Rotation.from_euler("z", 90.0, degrees=True)
      >>> print(np.asarray(quarter.apply(rnp.array([1.0, 0.0, 0.0]))).round(3) + 0.0)
      [0. 1. 0.]
    """

    quat: Array

    @classmethod
    def from_quat(cls, quat: Array) -> "Rotation":
        """From quaternions ``(x, y, z, w)`` of shape ``(..., 4)``, which are brought to length 1 (NaN for
        zero).
        """
        return cls(conversions.normalized(floats("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: Array) -> "Rotation":
        """From orthogonal matrices of shape ``(..., 3, 3)``; of others something near is taken."""
        return cls(conversions.from_matrix(floats("from_matrix", matrix, 3, 3)))

    @classmethod
    def from_rotvec(cls, rotvec: Array, degrees: bool = False) -> "Rotation":
        """From vectors of shape ``(..., 3)`` along the axis, whose length is the angle."""
        return cls(conversions.from_rotvec(floats("from_rotvec", rotvec, 3), bool(degrees)))

    @classmethod
    def from_mrp(cls, mrp: Array) -> "Rotation":
        """From modified Rodrigues parameters of shape ``(..., 3)``: along the axis, ``tan(angle / 4)``
        long.
        """
        return cls(conversions.from_mrp(floats("from_mrp", mrp, 3)))

    @classmethod
    def from_euler(cls, seq: str, angles: Array, degrees: bool = False) -> "Rotation":
        """From angles about axes, one after the other.

        Args:
          seq: one to three letters of ``"xyz"``, axes that stay, or of ``"XYZ"``, axes that turn along.
          angles: of shape ``(..., len(seq))``; for one letter a number, or of shape ``(n,)`` for ``n``
            rotations.
          degrees: whether angles are in degrees.

        Raises:
          ValueError: for other letters or shapes.
        """
        axes, _ = conversions.axes_of(seq, 1, 3)
        angles = floats("from_euler", angles)
        if len(axes) == 1 and (angles.ndim < 2 or angles.shape[-1] != 1):
            angles = angles[..., None]
        angles = floats("from_euler", angles, len(axes))
        return cls(conversions.from_euler(seq, angles, bool(degrees)))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> "Rotation":
        """No rotation at all, or ``num`` times none."""
        quat = rnp.asarray(np.array([0, 0, 0, 1]), dtype)
        return cls(quat if num is None else rnp.broadcast_to(quat, (operator.index(num), 4)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> "Rotation":
        """A rotation, or ``num`` of them, drawn evenly from all."""
        shape = (4,) if num is None else (operator.index(num), 4)
        return cls.from_quat(random.normal(random_key, shape))

    @classmethod
    def concatenate(cls, rotations: Sequence["Rotation"]) -> "Rotation":
        """An array of rotations from several, single ones included."""
        return cls(rnp.concatenate([rnp.atleast_2d(r.quat) for r in rotations]))

    # ------------------------------------------------------------------------------------------- other forms
    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions of shape ``(..., 4)``.

        Args:
          canonical: of the two that mean the same the one with ``w`` positive (or else ``x``, ``y``, ``z``).
          scalar_first: ``(w, x, y, z)`` instead of ``(x, y, z, w)``.
        """
        quat = conversions.canonical(self.quat) if canonical else self.quat
        return rnp.roll(quat, 1, -1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Matrices of shape ``(..., 3, 3)``."""
        return conversions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors of shape ``(..., 3)`` along the axes, whose lengths are the angles, at most pi."""
        return conversions.to_rotvec(self.quat, bool(degrees))

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters of shape ``(..., 3)``, of length 1 at most."""
        return conversions.to_mrp(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles about three axes, of shape ``(..., 3)``.

        Args:
          seq: three letters, see ``from_euler``. Where the first and the third axis coincide (gimbal lock),
            the third angle is 0.
          degrees: whether to return degrees.
        """
        conversions.axes_of(seq, 3, 3)
        return conversions.to_euler(self.quat, seq, bool(degrees))

    # -------------------------------------------------------------------------------------------- operations
    def apply(self, vectors: Array, inverse: bool = False) -> Array:
        """Rotate vectors of shape ``(..., 3)``; leading dimensions of both are broadcast. ``inverse``: the
        other way round.
        """
        quat = conversions.inverse(self.quat) if inverse else self.quat
        return conversions.rotated(quat, floats("apply", vectors, 3))

    def inv(self) -> "Rotation":
        """The inverse."""
        return Rotation(conversions.inverse(self.quat))

    def magnitude(self) -> Array:
        """The angles, from 0 to pi."""
        return conversions.magnitude(self.quat)

    def mean(self, weights: Array | None = None) -> "Rotation":
        """The rotation that is nearest to all of them: the eigenvector of the largest eigenvalue of the sum
        of ``weights`` times ``quat quat^T`` (F. Markley et al., Averaging quaternions, 2007).
        """
        quat = self.quat.reshape((-1, 4))
        if weights is None:
            weighed = quat
        else:
            weights = floats("mean", weights)
            if weights.shape != self.quat.shape[:-1]:
                raise ValueError(
                    f"Rotation.mean: weights must be of shape {self.quat.shape[:-1]}, got {weights.shape}"
                )
            weighed = quat * weights.reshape((-1, 1))
        return Rotation(rnp.linalg.eigh(rnp.matmul(weighed.T, quat, precision="highest"))[1][:, -1])

    def approx_equal(self, other: "Rotation", atol: float | None = None, degrees: bool = False) -> Array:
        """Whether the angle between two rotations is below ``atol`` (by default 1e-8)."""
        atol = 1e-8 if atol is None else atol * (np.pi / 180 if degrees else 1.0)
        return (other * self.inv()).magnitude() < atol

    @property
    def single(self) -> bool:
        """Whether this is one rotation and no array."""
        return self.quat.ndim == 1

    def __mul__(self, other: "Rotation") -> "Rotation":  # type: ignore[override]
        """The rotation ``other`` and then this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(conversions.composed(self.quat, other.quat))

    def __pow__(self, n: float) -> "Rotation":
        """This rotation ``n`` times; ``n`` need not be whole."""
        return Rotation.from_rotvec(self.as_rotvec() * n)

    def __getitem__(self, indexer: Any) -> "Rotation":  # type: ignore[override]
        """Some of an array of rotations."""
        if self.single:
            raise TypeError("a single rotation has no elements")
        if isinstance(indexer, tuple):
            indexer = (*indexer, slice(None)) if Ellipsis in indexer else (*indexer, Ellipsis)
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single rotation has no length")
        return self.quat.shape[0]

    def __bool__(self) -> bool:
        return True
