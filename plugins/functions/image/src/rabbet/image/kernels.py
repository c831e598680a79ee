"""The methods of resampling, and their kernels: the weight of a pixel by its distance from where a value is
taken. Distances are in pixels of the source or, where a result pixel covers several of them, of the result.
"""

import enum

import rabbet.numpy as rnp


class ResizeMethod(enum.Enum):
    """How an image is resampled; see ``resize``.

    Example:
      >>> rb.image.resize(rnp.array([[0.0, 2.0]]), (1, 4), rb.image.ResizeMethod.LINEAR)
      Array([[0. , 0.5, 1.5, 2. ]], dtype=float32)
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s):
        """The method that a text names.

        Raises:
          ValueError: if it names none.
        """
        try:
            return NAMES[s]
        except KeyError:
            raise ValueError(f"resize: unknown method {s!r}; the methods are {', '.join(NAMES)}") from None


NAMES = {
    "nearest": ResizeMethod.NEAREST, "linear": ResizeMethod.LINEAR, "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR, "triangle": ResizeMethod.LINEAR, "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5, "cubic": ResizeMethod.CUBIC, "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC, "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH, "area": ResizeMethod.AREA,
}  # fmt: skip


def method_of(method):
    """A ``ResizeMethod`` from one or its name."""
    return method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


def triangle(x):
    """Linear interpolation."""
    return rnp.maximum(0, 1 - rnp.abs(x))


def cubic(x, a=-0.5):
    """R. Keys, "Cubic convolution interpolation for digital image processing" (1981)."""
    x = rnp.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return rnp.where(x >= 2, 0, rnp.where(x >= 1, far, near))


def lanczos(x, radius):
    """A sinc, cut off by the main part of a wider one."""
    x = rnp.abs(x)
    return rnp.where(x > radius, 0, rnp.sinc(x) * rnp.sinc(x / radius))


KERNELS = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lambda x: lanczos(x, 3.0),
    ResizeMethod.LANCZOS5: lambda x: lanczos(x, 5.0),
    ResizeMethod.CUBIC: cubic,
    ResizeMethod.CUBIC_PYTORCH: cubic,
}

__all__ = ["KERNELS", "ResizeMethod", "cubic", "method_of"]
