"""The functional interface to the primitives: JAX's ``lax``.

Where a name needs no handling of its arguments it *is* the primitive (``lax.add``, ``lax.sin``); the other
functions check and complete their arguments and bind one or a few primitives. Operands must agree in dtype,
and in shape but for scalars; elementwise primitives called on arrays of one rank spread sizes of 1.
``rabbet.numpy`` promotes and broadcasts.

Some families come from packages of their own, when one of their names is first used: linear algebra
(``rabbet-linalg``), special functions (``rabbet-special``), convolutions and windows
(``rabbet-convolution``), Fourier transforms (``rabbet-fft``), communication along named axes
(``rabbet-collectives``), sorting, running reductions and prefixes (``rabbet-algorithms``), the backends'
random generators (``rabbet-random``).

Where functions make or combine arrays, ``sharding`` and ``out_sharding`` are None or a ``Sharding``, by
which the result is laid over devices, as ``rb.device_put`` does.
"""

import pkgutil

__passes_operations_on__ = True

# Packages ship modules inside this one (rabbet/lax/linalg from rabbet-linalg).
__path__ = pkgutil.extend_path(__path__, __name__)

from rabbet.lax import plugin_functions as _from_plugins
from rabbet.messages.tracebacks import public_module as _public_module
from rabbet.lax.barriers import optimization_barrier
from rabbet.lax.contractions import (
    DotAlgorithm, DotAlgorithmPreset, DotDimensionNumbers, Precision, PrecisionLike, batch_matmul, dot,
    dot_general,
)  # fmt: skip
from rabbet.lax.branching import cond, switch
from rabbet.lax.loops import fori_loop, scan, while_loop
from rabbet.lax.scatter_by_function import scatter_apply
from rabbet.lax.dynamic import (
    dynamic_index_in_dim, dynamic_slice, dynamic_slice_in_dim, dynamic_update_index_in_dim,
    dynamic_update_slice, dynamic_update_slice_in_dim, index_in_dim,
)  # fmt: skip
from rabbet.lax.gathering import (
    GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers, gather, scatter, scatter_add,
    scatter_max, scatter_min, scatter_mul, scatter_sub,
)  # fmt: skip
from rabbet.lax.platforms import platform_dependent
from rabbet.lax.reductions import (
    argmax, argmin, reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum, reduce_xor,
)  # fmt: skip
from rabbet.lax.broadcasting import (
    broadcast, broadcast_in_dim, broadcast_like, broadcast_shapes, broadcast_to_rank,
)  # fmt: skip
from rabbet.lax.creation import broadcasted_iota, empty, full, full_like, iota
from rabbet.lax.shapes import (
    collapse, concatenate, expand_dims, pad, reshape, rev, slice, slice_in_dim, split, squeeze, stack, tile,
    transpose, unstack,
)  # fmt: skip
from rabbet.lax.values import (
    bitcast_convert_type,
    convert_element_type,
    reduce_precision,
    select,
    stage,
    stop_gradient,
)
from rabbet.primitives.accuracy import AccuracyMode, Tolerance
from rabbet.primitives.chlo_binary import mulhi, nextafter
from rabbet.primitives.complex_parts import complex, conj, imag, real
from rabbet.primitives import complex_functions as _complex_functions
from rabbet.primitives import far_slopes as _far_slopes
from rabbet.primitives.elementwise import (
    acos, acosh, add, asin, asinh, atan, atan2, atanh, cbrt, ceil, cos, cosh, div, exp, expm1, floor, log,
    log1p, logistic, mul, neg, rem, rsqrt, sin, sinh, sqrt, sub, tan, tanh,
)  # fmt: skip
from rabbet.primitives.logic import (
    bitwise_and, bitwise_not, bitwise_or, bitwise_xor, clz, eq, ge, gt, is_finite, le, lt, ne,
    population_count, select_n, shift_left, shift_right_arithmetic, shift_right_logical,
)  # fmt: skip
from rabbet.primitives.extremes import clamp, max, min
from rabbet.primitives.powers import abs, erf, erf_inv, erfc, exp2, pow, sign, square
from rabbet.lax.values import integer_pow, reciprocal, round, RoundingMethod


def __getattr__(name):
    # What plugins add: linalg, lgamma, custom_root, ...
    value = globals()[name] = _from_plugins.find(name)
    return value


_public_module(globals(), more=lambda: _from_plugins.names())
