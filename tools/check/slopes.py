"""First derivatives of elementwise functions beside mpmath's: how many differ, and where.

    python tools/check/slopes.py                # all functions, float32 and float64
    python tools/check/slopes.py lax.tanh       # some

Points are moderate numbers, tails, neighbours of 0 and 1, the ends of the range, of both signs; of functions
of two operands all pairs of some of them, and the slopes by both. Exact slopes are mpmath's difference
quotients in 430 digits (700 for two operands). A slope differs if it is further from the exact one than 64
units in the last place, and than what four times a change of the arguments by a unit in their last place
explains. Slopes below the smallest normal number count as 0, above the largest as infinite.
"""

import importlib
import sys

import numpy as np

POSITIVE = [
    1e-30,
    1e-10,
    1e-4,
    0.01,
    0.1,
    0.25,
    0.5,
    0.75,
    0.9,
    0.99,
    1.0,
    1.01,
    1.25,
    1.5,
    2.0,
    2.5,
    3.0,
    4.5,
]
POSITIVE += [7.0, 10.0, 17.0, 30.5, 44.0, 80.0, 100.0, 700.0, 1e4, 1e8, 1e15, 1e30]
ANY, ABOVE, UNIT, ONE = (-np.inf, np.inf), (0.0, np.inf), (-1.0, 1.0), (1.0, np.inf)

# name: (mpmath's function as text, the interval of its arguments)
FUNCTIONS = {
    "lax.exp": ("mp.exp(x)", ANY),
    "lax.exp2": ("mp.mpf(2) ** x", ANY),
    "lax.expm1": ("mp.expm1(x)", ANY),
    "lax.log": ("mp.log(x)", ABOVE),
    "lax.log1p": ("mp.log1p(x)", (-1.0, np.inf)),
    "lax.sin": ("mp.sin(x)", (-1e5, 1e5)),
    "lax.cos": ("mp.cos(x)", (-1e5, 1e5)),
    "lax.tan": ("mp.tan(x)", (-1e5, 1e5)),
    "lax.asin": ("mp.asin(x)", UNIT),
    "lax.acos": ("mp.acos(x)", UNIT),
    "lax.atan": ("mp.atan(x)", ANY),
    "lax.sinh": ("mp.sinh(x)", ANY),
    "lax.cosh": ("mp.cosh(x)", ANY),
    "lax.tanh": ("mp.tanh(x)", ANY),
    "lax.asinh": ("mp.asinh(x)", ANY),
    "lax.acosh": ("mp.acosh(x)", ONE),
    "lax.atanh": ("mp.atanh(x)", UNIT),
    "lax.sqrt": ("mp.sqrt(x)", ABOVE),
    "lax.rsqrt": ("1 / mp.sqrt(x)", ABOVE),
    "lax.cbrt": ("mp.sign(x) * mp.cbrt(abs(x))", ANY),
    "lax.logistic": ("1 / (1 + mp.exp(-x))", ANY),
    "lax.erf": ("mp.erf(x)", ANY),
    "lax.erfc": ("mp.erfc(x)", (-1e5, 1e5)),
    "lax.erf_inv": ("mp.erfinv(x)", UNIT),
    "lax.lgamma": ("mp.log(abs(mp.gamma(x)))", (-80.0, 1e5)),
    "lax.digamma": ("mp.digamma(x)", (-80.0, 1e9)),
    "lax.reciprocal": ("1 / x", ANY),
    "lax.square": ("x * x", ANY),
    "numpy.log2": ("mp.log(x, 2)", ABOVE),
    "numpy.log10": ("mp.log10(x)", ABOVE),
    "numpy.sinc": ("mp.sinc(mp.pi * x)", (-1e5, 1e5)),
    "numpy.i0": ("mp.besseli(0, x)", (-600.0, 600.0)),
    "numpy.deg2rad": ("x * mp.pi / 180", ANY),
    "nn.silu": ("x / (1 + mp.exp(-x))", ANY),
    "nn.softplus": ("mp.log1p(mp.exp(x))", (-1e5, 1e5)),
    "nn.log_sigmoid": ("-mp.log1p(mp.exp(-x))", (-1e5, 1e5)),
    "nn.mish": ("x * mp.tanh(mp.log1p(mp.exp(x)))", (-1e5, 1e5)),
    "nn.squareplus": ("(x + mp.sqrt(x * x + 4)) / 2", ANY),
    "nn.soft_sign": ("x / (abs(x) + 1)", ANY),
    "nn.log1mexp": ("mp.log(-mp.expm1(-x))", (0.0, 1e5)),
    "nn.elu": ("x if x > 0 else mp.expm1(x)", ANY),
    "special.expit": ("1 / (1 + mp.exp(-x))", ANY),
    "special.logit": ("mp.log(x / (1 - x))", (0.0, 1.0)),
    "special.gamma": ("mp.gamma(x)", (-80.0, 170.0)),
    "special.erfcx": ("mp.erfc(x) * mp.exp(x * x)", (-5.0, 1e3)),
    "special.erfinv": ("mp.erfinv(x)", UNIT),
    "special.ndtr": ("mp.erfc(-x / mp.sqrt(2)) / 2", (-1e5, 1e5)),
    "special.log_ndtr": ("mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)", (-100.0, 100.0)),
    "special.entr": ("-x * mp.log(x)", ABOVE),
    "special.dawsn": ("mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)", (-30.0, 30.0)),
    "special.exp1": ("mp.e1(x)", (0.0, 700.0)),
    "special.expi": ("mp.ei(x)", (-80.0, 700.0)),
    "special.i0": ("mp.besseli(0, x)", (-600.0, 600.0)),
    "special.i0e": ("mp.besseli(0, x) * mp.exp(-abs(x))", (-600.0, 600.0)),
    "special.i1": ("mp.besseli(1, x)", (-600.0, 600.0)),
    "special.i1e": ("mp.besseli(1, x) * mp.exp(-abs(x))", (-600.0, 600.0)),
    "special.j0": ("mp.besselj(0, x)", (-100.0, 100.0)),
    "special.j1": ("mp.besselj(1, x)", (-100.0, 100.0)),
    "special.y0": ("mp.bessely(0, x)", (0.0, 100.0)),
    "special.y1": ("mp.bessely(1, x)", (0.0, 100.0)),
    "special.k0": ("mp.besselk(0, x)", (0.0, 700.0)),
    "special.k1": ("mp.besselk(1, x)", (0.0, 700.0)),
    "special.k0e": ("mp.besselk(0, x) * mp.exp(x)", (0.0, 700.0)),
    "special.k1e": ("mp.besselk(1, x) * mp.exp(x)", (0.0, 700.0)),
    "special.spence": ("mp.polylog(2, 1 - x)", (0.0, 2.0)),
    "special.ndtri": ("mp.sqrt(2) * mp.erfinv(2 * x - 1)", (0.0, 1.0)),
}

# of two operands: the intervals of both
OF_TWO = {
    "lax.atan2": ("mp.atan2(x, y)", ANY, ANY),
    "lax.div": ("x / y", ANY, ANY),
    "lax.mul": ("x * y", ANY, ANY),
    "lax.pow": ("x ** y", ABOVE, (-40.0, 40.0)),
    "numpy.hypot": ("mp.hypot(x, y)", ANY, ANY),
    "numpy.float_power": ("x ** y", ABOVE, (-40.0, 40.0)),
    "numpy.logaddexp": ("max(x, y) + mp.log1p(mp.exp(-abs(x - y)))", (-1e5, 1e5), (-1e5, 1e5)),
    "numpy.logaddexp2": (
        "max(x, y) + mp.log1p(mp.mpf(2) ** -abs(x - y)) / mp.log(2)", (-1e5, 1e5), (-1e5, 1e5),
    ),
    "special.xlogy": ("x * mp.log(y)", ANY, ABOVE),
    "special.xlog1py": ("x * mp.log1p(y)", ANY, (-1.0, np.inf)),
    "special.rel_entr": ("x * mp.log(x / y)", ABOVE, ABOVE),
    "special.kl_div": ("x * mp.log(x / y) - x + y", ABOVE, ABOVE),
    "special.beta": ("mp.beta(x, y)", (0.0, 150.0), (0.0, 150.0)),
    "special.betaln": ("mp.log(mp.beta(x, y))", (0.0, 1e5), (0.0, 1e5)),
}  # fmt: skip
SOME = [1e-30, 1e-10, 0.1, 0.5, 1.0, 2.5, 10.0, 100.0, 1e4, 1e15, 1e30]
HOMES = {"lax": "rabbet.lax", "numpy": "rabbet.numpy", "nn": "rabbet.nn", "special": "rabbet.scipy.special"}


def points(interval, dtype, some=POSITIVE):
    f = np.finfo(dtype)
    some = [*some, f.tiny * 4, f.max / 4, 1 - f.epsneg, 1 + f.eps]
    found = np.unique(np.array([*some, *[-x for x in some]], dtype))
    return found[(found > interval[0]) & (found < interval[1])]


def exact(mp, code, x):
    """The slope and that of the slope, or None where mpmath gives up."""
    with mp.workdps(430):
        x = mp.mpf(float(x))
        h = min(abs(x), 1) * mp.mpf(10) ** -60
        if 0 < abs(abs(x) - 1) < 1:
            h = min(h, abs(abs(x) - 1) * mp.mpf(10) ** -60)
        try:
            below, here, above = [mp.re(eval(code, {"mp": mp, "x": a})) for a in (x - h, x, x + h)]
            return (above - below) / (2 * h), (above + below - 2 * here) / (h * h)
        except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence, NotImplementedError):
            return None


def exact_of_two(mp, code, x, y):
    """Of the slopes by ``x`` and by ``y``, each: its value, and how much it moves with the arguments, for
    changes relative to their sizes. None where mpmath gives up.
    """
    names = {"mp": mp, "max": max, "abs": abs}
    step, apart = mp.mpf(10) ** -60, mp.mpf(10) ** -20

    def slope(by, x, y):
        above, below = [
            mp.re(eval(code, {**names, "x": x * (1 + h * (by == 0)), "y": y * (1 + h * (by == 1))}))
            for h in (step, -step)
        ]
        return (above - below) / (2 * step * (y if by else x))

    with mp.workdps(700):
        x, y = mp.mpf(float(x)), mp.mpf(float(y))
        try:
            found = [slope(by, x, y) for by in (0, 1)]
            others = (x * (1 + apart), y), (x, y * (1 + apart))
            moved = [[slope(by, *other) for by in (0, 1)] for other in others]
        except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence, NotImplementedError):
            return None
        return [(s, sum([abs(m[by] - s) for m in moved]) / apart) for by, s in enumerate(found)]


def is_right(got, slope, room, f):
    """Whether a slope is the exact one but for ``room``, at the ends of the range of ``f``, a finfo, too."""
    if abs(slope) < 8 * float(f.tiny):
        return abs(got) < 32 * f.tiny
    if abs(slope) > float(f.max) / 8:
        return abs(got) > f.max / 64 and (got > 0) == (slope > 0)
    return bool(np.isfinite(got)) and abs(slope - float(got)) <= room


def function(name):
    home, _, short = name.partition(".")
    return getattr(importlib.import_module(HOMES[home]), short)


def differences(name, dtype):
    """``(how many, those that differ as (x, ours, exact))``; of two operands ``(x, y, by, ours, exact)``."""
    import rabbet as rb
    from mpmath import mp

    f = np.finfo(dtype)
    text, *intervals = FUNCTIONS.get(name) or OF_TWO[name]
    code = compile(text, name, "eval")
    operands, by = [points(intervals[0], dtype)], 0
    if len(intervals) == 2:
        grid = np.meshgrid(*[points(interval, dtype, SOME) for interval in intervals])
        operands, by = [x.ravel() for x in grid], (0, 1)
    with rb.config.override(enable_x64=True):
        slopes = np.array(rb.jit(rb.vmap(rb.grad(function(name), argnums=by)))(*operands))
    count, bad = 0, []
    for i, point in enumerate(zip(*operands, strict=True)):
        if len(point) == 2:
            exactly = exact_of_two(mp, code, *point)
        else:
            exactly = exact(mp, code, *point)
            if exactly is not None:
                exactly = [(exactly[0], abs(mp.mpf(float(point[0])) * exactly[1]))]
        for k, (slope, moves) in enumerate(exactly or ()):
            got = slopes[k, i] if len(point) == 2 else slopes[i]
            count += 1
            if not is_right(got, slope, float(f.eps) * (64 * abs(slope) + 4 * moves), f):
                which = "xy"[k : k + 1] if len(point) == 2 else ""
                bad.append((*map(float, point), *which, float(got), mp.nstr(slope, 9)))
    return count, bad


def main():
    if unknown := [name for name in sys.argv[1:] if name not in FUNCTIONS | OF_TWO]:
        sys.exit(f"not among these: {', '.join(unknown)}; there are {', '.join(FUNCTIONS | OF_TWO)}")
    total = wrong = 0
    for name in sys.argv[1:] or FUNCTIONS | OF_TWO:
        for dtype in ("float32", "float64"):
            try:
                count, bad = differences(name, dtype)
            except Exception as error:
                print(f"{name} {dtype}: {type(error).__name__}: {error}"[:200], flush=True)
                continue
            total, wrong = total + count, wrong + len(bad)
            if bad:
                print(f"{name} {dtype}: {len(bad)} of {count}", *bad[:6], sep="\n    ", flush=True)
    print(f"{total} slopes, {wrong} differ")


if __name__ == "__main__":
    main()
