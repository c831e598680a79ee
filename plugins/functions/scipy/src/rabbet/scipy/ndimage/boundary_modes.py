"""What filters of images share: dtypes, modes, and what is beyond the ends."""

import numpy as np

import rabbet.numpy as rnp
from rabbet import dtypes
from rabbet.extend.functions import is_array_like
from rabbet.scipy.inputs import array, one_of

# SciPy's names, and what numpy.pad calls them.
PADDING = {
    "reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant",
}  # fmt: skip
SAME = {"grid-constant": "constant", "grid-wrap": "wrap", "grid-mirror": "reflect"}
MODES = (*PADDING, *SAME)


def opened(name, input, *others):
    """An image in the dtype that it is filtered in: a float or complex one, of single precision at least."""
    x = array(name, input)
    if x.ndim == 0:
        raise ValueError(f"{name}: input must have at least one dimension")
    dtype = dtypes.to_inexact(x.dtype)
    if dtypes.kind(dtype) == "f" and dtypes.itemsize_bits(dtype) < 32:
        dtype = "float32"
    kinds = [dtypes.kind(rnp.result_type(w)) for w in others if is_array_like(w)]
    if "c" in kinds and dtypes.kind(dtype) != "c":
        raise TypeError(f"{name}: weights are complex and input is not; make it complex first")
    return rnp.asarray(x, dtype)


def finished(out, input, output, name):
    """The result in the dtype that was asked for; integers are cut off, as in SciPy."""
    if output is None:
        return rnp.asarray(out, input.dtype)
    if is_array_like(output) and not isinstance(output, np.generic):
        raise TypeError(f"{name}: output must be a dtype or None; arrays are not written to")
    return rnp.asarray(out, output)


def by_axis(name, mode, count):
    """A mode for each axis, by the short names."""
    modes = [mode] * count if isinstance(mode, str) else list(mode)
    if len(modes) != count:
        raise ValueError(f"{name}: {len(modes)} modes are given for {count} axes")
    for one in modes:
        one_of(name, "mode", one, MODES)
    return [SAME.get(one, one) for one in modes]


def over_axes(name, what, value, count):
    """A value for each axis, from one for all or a sequence."""
    if not isinstance(value, (tuple, list, np.ndarray)) or (isinstance(value, np.ndarray) and not value.ndim):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name}: {len(value)} values of {what} are given for {count} axes")
    return list(value)


def extended(x, sides, modes, cval):
    """The image with what is beyond its ends."""
    for axis, ((before, after), mode) in enumerate(zip(sides, modes, strict=True)):
        if before or after:
            widths = [(before, after) if i == axis else (0, 0) for i in range(x.ndim)]
            if mode == "mirror" and x.shape[axis] == 1:
                mode = "nearest"
            if x.shape[axis] == 0:  # nothing to repeat, and no point that would see it
                mode = "constant"
            how = {"constant_values": cval} if mode == "constant" else {}
            x = rnp.pad(x, widths, mode=PADDING[mode], **how)
    return x


__all__ = ["by_axis", "extended", "finished", "opened", "over_axes"]
