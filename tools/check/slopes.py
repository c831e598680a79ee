"""First derivatives of elementwise functions beside mpmath's: how many differ, and where.

    python tools/check/slopes.py                # all functions, float32 and float64
    python tools/check/slopes.py lax.tanh       # some

Points are moderate numbers, tails, neighbours of 0 and 1, the ends of the range, of both signs. Exact slopes
are mpmath's difference quotients in 430 digits. A slope differs if it is further from the exact one than 64
units in the last place, and than what four times a change of the argument by a unit in its last place
explains. Slopes below the smallest normal number count as 0, above the largest as infinite.
"""

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


def points(interval, dtype):
    f = np.finfo(dtype)
    some = [*POSITIVE, f.tiny * 4, f.max / 4, 1 - f.epsneg, 1 + f.eps]
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


def differences(name, dtype):
    """``(how many, those that differ as (x, ours, exact))``."""
    import rabbet as rb
    from mpmath import mp
    from rabbet import lax, nn, numpy
    from rabbet.scipy import special

    homes = {"lax": lax, "numpy": numpy, "nn": nn, "special": special}
    text, interval = FUNCTIONS[name]
    home, _, short = name.partition(".")
    x, code, f = points(interval, dtype), compile(text, name, "eval"), np.finfo(dtype)
    with rb.config.override(enable_x64=True):
        slopes = np.asarray(rb.jit(rb.vmap(rb.grad(getattr(homes[home], short))))(x))
    count, bad = 0, []
    for a, got in zip(x, slopes, strict=True):
        right = exact(mp, code, a)
        if right is None:
            continue
        count += 1
        slope, bend = right
        room = 64 * float(f.eps) * abs(slope) + 4 * float(f.eps) * abs(mp.mpf(float(a)) * bend)
        if abs(slope) < 8 * float(f.tiny):
            good = abs(got) < 32 * f.tiny
        elif abs(slope) > float(f.max) / 8:
            good = abs(got) > f.max / 64 and (got > 0) == (slope > 0)
        else:
            good = bool(np.isfinite(got)) and abs(mp.mpf(float(got)) - slope) <= room
        if not good:
            bad.append((float(a), float(got), mp.nstr(slope, 9)))
    return count, bad


def main():
    if unknown := [name for name in sys.argv[1:] if name not in FUNCTIONS]:
        sys.exit(f"not among these functions: {', '.join(unknown)}; there are {', '.join(FUNCTIONS)}")
    total = wrong = 0
    for name in sys.argv[1:] or FUNCTIONS:
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
