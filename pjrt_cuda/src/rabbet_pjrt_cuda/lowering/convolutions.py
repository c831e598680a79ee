"""Convolutions of integers, booleans and complex numbers, which cuDNN lacks, by those of real numbers.

Integers are taken modulo 2**bits, as everywhere. Numbers of up to 16 bits go through float64 at once: it has
53 bits, so sums of up to 2**21 of their products are exact. Larger ones are cut into limbs of 16 bits, and
the products of limbs that reach into the result are added up as 64-bit integers, each moved to its place.
"""

import functools

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray, convert_element_type
from rabbet.extend.transform import lower

LIMB = 16


def conv_general_dilated(op, x, w):
    """The rule for ``conv_general_dilated`` on GPUs."""
    form = FORMS.get(np.dtype(op.in_avals[0].dtype).kind)
    if form is None or not op.out.size:
        return lower.lookup(op.primitive)(op, x, w)
    types = [ShapedArray(a.shape, a.dtype) for a in op.in_avals]
    return op.write(lambda x, w: [form(op.primitive, op.params, op.out.dtype, x, w)], types, [x, w])[0]


def cast(x, dtype):
    """``x`` in a dtype, also in one of 64 bits where those are off."""
    return convert_element_type(x, new_dtype=np.dtype(dtype), weak_type=False)


def of_complex(convolve, params, dtype, x, w):
    """Real and imaginary parts, each of two convolutions: with three in all, digits would cancel."""
    params = {**params, "preferred_element_type": None}
    conv = functools.partial(convolve, **params)
    (a, b), (c, d) = [(lax.real(z), lax.imag(z)) for z in (x, w)]
    return cast(lax.complex(lax.sub(conv(a, c), conv(b, d)), lax.add(conv(a, d), conv(b, c))), dtype)


def of_booleans(convolve, params, dtype, x, w):
    """Whether anywhere both are true."""
    params = {**params, "preferred_element_type": None}
    found = convolve(cast(x, "float32"), cast(w, "float32"), **params)
    return cast(lax.gt(found, np.float32(0.5)), dtype)


def of_integers(convolve, params, dtype, x, w):
    """The convolution modulo 2 to the power of the result's bits."""
    params = {**params, "preferred_element_type": None}

    def conv(a, b):
        return cast(convolve(cast(a, "float64"), cast(b, "float64"), **params), "int64")

    if x.dtype.itemsize * 8 <= LIMB:
        return cast(conv(x, w), dtype)
    count = dtype.itemsize * 8 // LIMB
    xs, ws = limbs(x, count), limbs(w, count)
    total = None
    for place in range(count):
        terms = [conv(xs[i], ws[place - i]) for i in range(place + 1)]
        term = functools.reduce(lax.add, terms)
        if place:
            term = lax.shift_left(term, lax.full_like(term, LIMB * place))
        total = term if total is None else lax.add(total, term)
    return cast(total, dtype)


def limbs(x, count):
    """The lowest ``count`` groups of 16 bits of each number, lowest first, as positive 64-bit integers."""
    x = cast(x, "int64")
    mask = lax.full_like(x, 2**LIMB - 1)
    parts = [lax.shift_right_logical(x, lax.full_like(x, LIMB * i)) if i else x for i in range(count)]
    return [lax.bitwise_and(part, mask) for part in parts]


FORMS = {"c": of_complex, "b": of_booleans, "i": of_integers, "u": of_integers}
