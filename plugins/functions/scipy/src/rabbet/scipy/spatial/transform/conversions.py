"""Quaternions ``(x, y, z, w)`` and other ways to write rotations, for arrays with any leading dimensions.

Where a formula divides by an angle that may be zero, its series takes over, so that derivatives exist there.
"""

from itertools import pairwise

import numpy as np

import rabbet.numpy as rnp
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import where

SMALL = 1e-4  # the square below which series are exact in double precision with the terms written here


def squares(v):
    return rnp.sum(v * v, -1, keepdims=True)


def safe_root(square):
    """The root, and 1 where the square is so small that a series is used instead."""
    small = square < SMALL
    return small, rnp.sqrt(where(small, 1, square))


@fused
def normalized(quat):
    """Of length 1; NaN for zero."""
    return quat / rnp.sqrt(squares(quat))


def upright(quat):
    """The same rotation with ``w >= 0``."""
    return where(quat[..., 3:] < 0, -quat, quat)


@fused
def canonical(quat):
    """The same rotation, the last of ``w, x, y, z`` before zeros being positive: ``w``, or else the first."""
    x, y, z, w = [quat[..., i : i + 1] for i in range(4)]
    turn = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))))
    return where(turn, -quat, quat)


@fused
def composed(p, q):
    """The rotation ``q`` and then ``p``."""
    a, b = p[..., :3], q[..., :3]
    v, w = p[..., 3:], q[..., 3:]
    one, other = rnp.broadcast_arrays(a, b)
    xyz = v * b + w * a + rnp.cross(one, other)
    return rnp.concatenate([xyz, v * w - rnp.sum(a * b, -1, keepdims=True)], -1)


@fused
def inverse(quat):
    return quat * np.array([-1, -1, -1, 1], quat.dtype)


@fused
def magnitude(quat):
    """The angle of the rotation, from 0 to pi; its derivative at 0 is taken to be 0."""
    square = squares(quat[..., :3])
    none = square == 0
    sine = where(none, 0, rnp.sqrt(where(none, 1, square)))
    return 2 * rnp.arctan2(sine[..., 0], rnp.abs(quat[..., 3]))


# -------------------------------------------------------------------------------------------------- matrices
@fused
def to_matrix(quat):
    x, y, z, w = [quat[..., i] for i in range(4)]
    xx, yy, zz, ww = x * x, y * y, z * z, w * w
    rows = [
        [xx - yy - zz + ww, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), yy - xx - zz + ww, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), zz - xx - yy + ww],
    ]
    return rnp.stack([rnp.stack(row, -1) for row in rows], -2)


@fused
def rotated(quat, vectors):
    """Vectors multiplied with the rotations' matrices."""
    return rnp.sum(to_matrix(quat) * vectors[..., None, :], -1)


@fused
def from_matrix(matrix):
    """Four formulas, of which the one with the largest element is taken, so that nothing cancels
    (F. Markley, Unit quaternion from rotation matrix, 2008).
    """
    m = [[matrix[..., i, j] for j in range(3)] for i in range(3)]
    trace = m[0][0] + m[1][1] + m[2][2]
    ways = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        way = {i: 1 - trace + 2 * m[i][i], j: m[j][i] + m[i][j], k: m[k][i] + m[i][k], 3: m[k][j] - m[j][k]}
        ways.append(rnp.stack([way[n] for n in range(4)], -1))
    ways.append(rnp.stack([m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1], 1 + trace], -1))
    best = rnp.argmax(rnp.stack([m[0][0], m[1][1], m[2][2], trace], -1), -1)
    out = ways[3]
    for i in range(3):
        out = where((best == i)[..., None], ways[i], out)
    return normalized(out)


# --------------------------------------------------------------------------------------------------- vectors
@fused(static=("degrees",))
def from_rotvec(rotvec, degrees=False):
    rotvec = rotvec * (np.pi / 180) if degrees else rotvec
    square = squares(rotvec)
    small, angle = safe_root(square)
    scale = where(small, 0.5 - square / 48 + square * square / 3840, rnp.sin(angle / 2) / angle)
    w = where(small, 1 - square / 8 + square * square / 384, rnp.cos(angle / 2))
    return rnp.concatenate([rotvec * scale, w], -1)


@fused(static=("degrees",))
def to_rotvec(quat, degrees=False):
    quat = upright(quat)
    square = squares(quat[..., :3])
    small, sine = safe_root(square)
    angle = 2 * rnp.arctan2(sine, quat[..., 3:])
    scale = where(small, 2 + square / 3 + square * square * 0.15, angle / sine)
    return quat[..., :3] * (scale * (180 / np.pi) if degrees else scale)


@fused
def from_mrp(mrp):
    square = squares(mrp)
    return rnp.concatenate([2 * mrp, 1 - square], -1) / (1 + square)


@fused
def to_mrp(quat):
    quat = upright(quat)
    return quat[..., :3] / (1 + quat[..., 3:])


# ---------------------------------------------------------------------------------------------------- angles
def axes_of(seq, least, most):
    """The axes as numbers, and whether they turn with the body (capital letters).

    Raises:
      ValueError: for other letters, or too few or many of them.
    """
    intrinsic = seq.isupper()
    if not least <= len(seq) <= most or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        count = str(most) if least == most else f"{least} to {most}"
        raise ValueError(
            f"Rotation: seq must be {count} letters of 'xyz' (about fixed axes) or of 'XYZ' (about axes that "
            f"turn), got {seq!r}"
        )
    axes = ["xyz".index(letter) for letter in seq.lower()]
    if any(a == b for a, b in pairwise(axes)):
        raise ValueError(f"Rotation: two consecutive axes of seq must differ, got {seq!r}")
    return axes, intrinsic


@fused(static=("seq", "degrees"))
def from_euler(seq, angles, degrees=False):
    """From angles of shape ``(..., len(seq))``."""
    axes, intrinsic = axes_of(seq, 1, 3)
    half = angles * (np.pi / 360 if degrees else 0.5)
    out = None
    for i, axis in enumerate(axes):
        part = rnp.sin(half[..., i, None]) * np.eye(3, dtype=half.dtype)[axis]
        turn = rnp.concatenate([part, rnp.cos(half[..., i, None])], -1)
        if out is None:
            out = turn
        else:
            out = composed(out, turn) if intrinsic else composed(turn, out)
    return out


@fused(static=("seq", "degrees"))
def to_euler(quat, seq, degrees=False):
    """The angles about three axes (E. Bernardes and S. Viollet, Quaternion to Euler angles conversion: a
    direct, general and computationally efficient method, 2022). Where the first and the third axis coincide,
    the third angle is set to zero.
    """
    axes, intrinsic = axes_of(seq, 3, 3)
    i, j, k = axes[::-1] if intrinsic else axes
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x, w = [quat[..., n] for n in range(3)], quat[..., 3]
    if symmetric:
        a, b, c, d = w, x[i], x[j], x[k] * sign
    else:
        a, b, c, d = w - x[j], x[i] + x[k] * sign, x[j] + w, x[k] * sign - x[i]
    second = 2 * rnp.arctan2(rnp.hypot(c, d), rnp.hypot(a, b))
    low, high = rnp.abs(second) <= 1e-7, rnp.abs(second - np.pi) <= 1e-7
    half_sum, half_difference = rnp.arctan2(b, a), rnp.arctan2(d, c)
    first = half_sum - half_difference
    third = half_sum + half_difference
    if not symmetric:
        third, second = third * sign, second - np.pi / 2
    if intrinsic:
        first, third = third, first
    alone = where(low, 2 * half_sum, 2 * half_difference * (1 if intrinsic else -1))
    if not symmetric and intrinsic:
        alone = alone * sign
    locked = low | high
    angles = rnp.stack([where(locked, alone, first), second, where(locked, 0, third)], -1)
    angles = where(angles < -np.pi, angles + 2 * np.pi, where(angles > np.pi, angles - 2 * np.pi, angles))
    return angles * (180 / np.pi) if degrees else angles
