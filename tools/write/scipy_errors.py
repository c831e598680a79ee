"""Writes docs/scipy.md: the worst relative error of each function of rabbet.scipy.special and
rabbet.scipy.stats.

    python tools/write/scipy_errors.py              # all of it: needs mpmath and scipy, takes some minutes
    python tools/write/scipy_errors.py gamma beta   # prints the rows of some functions

Special functions are compared with mpmath in 50 digits, distributions with SciPy in double precision, both at
the arguments as the dtype holds them.
"""

import argparse
import importlib
import pathlib

import mpmath as mp
import numpy as np
import rabbet.numpy as rnp
import rabbet.scipy.special
import rabbet.scipy.stats
import scipy.special
import scipy.stats

ROOT = pathlib.Path(__file__).resolve().parents[2]
mp.mp.dps = 50
DTYPES = ("float64", "float32", "bfloat16")
POINTS = 200


def rng():
    return np.random.default_rng(20)


def between(low, high, count=POINTS):
    """Numbers spread evenly."""
    return low + (high - low) * rng().permutation(np.linspace(0.0, 1.0, count))


def spread(low, high, seed=0, count=POINTS):
    """Numbers whose logarithms are spread evenly."""
    return np.exp(np.random.default_rng(seed).permutation(np.linspace(np.log(low), np.log(high), count)))


def scattered(low, high, seed=0, count=POINTS):
    return np.random.default_rng(seed).uniform(low, high, count)


def plane(radius, seed=0):
    draw = np.random.default_rng(seed)
    return spread(1e-2, radius, seed) * np.exp(1j * draw.uniform(-np.pi, np.pi, POINTS))


def counted(low, high, seed=0):
    return np.random.default_rng(seed).integers(low, high + 1, POINTS).astype(float)


# ------------------------------------------------------------------------------------------------- references
def inverse(function, start):
    """The inverse of an increasing function, from SciPy's value on."""
    return lambda p: mp.findroot(lambda x: function(x) - p, start(float(p)))


def owen(h, a):
    h = abs(h)
    sign, a = (-1 if a < 0 else 1), abs(a)
    end = min(a, 12 / max(h, mp.mpf("1e-3")))
    marks = [end * mp.mpf(k) / 8 for k in range(9)]
    value = mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), marks)
    return sign * value / (2 * mp.pi)


def betainc(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def log_beta(a, b):
    return mp.re(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b))


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def faddeeva(z):
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def box_cox(x, power):
    return (x**power - 1) / power


def harmonic(n, m, theta, phi):
    return mp.spherharm(int(n), int(m), theta, phi)


def quantile(p):
    start = scipy.special.ndtri(float(p))
    if p < 0.5:
        return mp.findroot(lambda x: mp.log(mp.ncdf(x)) - mp.log(p), start)
    return -mp.findroot(lambda x: mp.log(mp.ncdf(x)) - mp.log(1 - p), -start)


def multigamma(a, d=3):
    return mp.log(mp.pi) * d * (d - 1) / 4 + mp.fsum([mp.loggamma(a - mp.mpf(j) / 2) for j in range(d)])


# name: (reference, where, arguments). For float32 and bfloat16 arguments are brought into their range by
# "narrow".
SPECIAL = {
    "beta": (mp.beta, "a, b from 1e-3 to 80", lambda: (spread(1e-3, 80), spread(1e-3, 80, 1))),
    "betainc": (
        betainc,
        "a, b from 0.1 to 100, x around the mean",
        lambda: (
            spread(0.1, 100),
            spread(0.1, 100, 1),
            np.random.default_rng(2).beta(spread(0.1, 100), spread(0.1, 100, 1)),
        ),
    ),
    "betaln": (log_beta, "a, b from 1e-3 to 1e4", lambda: (spread(1e-3, 1e4), spread(1e-3, 1e4, 1))),
    "boxcox": (box_cox, "x from 0.01 to 100, power -3 to 3", lambda: (spread(0.01, 100), between(-3, 3))),
    "boxcox1p": (
        lambda x, p: mp.expm1(p * mp.log1p(x)) / p,
        "x from 1e-6 to 100, power -3 to 3",
        lambda: (spread(1e-6, 100), between(-3, 3)),
    ),
    "comb": (mp.binomial, "N to 30, k to N", lambda: (counted(0, 15) + counted(0, 15, 1), counted(0, 15))),
    "dawsn": (dawson, "-20 to 20", lambda: (between(-20, 20),)),
    "digamma": (mp.digamma, "1e-3 to 1e4", lambda: (spread(1e-3, 1e4),)),
    "entr": (lambda x: -x * mp.log(x), "1e-6 to 100", lambda: (spread(1e-6, 100),)),
    "erf": (mp.erf, "-4 to 4", lambda: (between(-4, 4),)),
    "erfc": (mp.erfc, "-3 to 9", lambda: (between(-3, 9),)),
    "erfcx": (
        lambda x: mp.exp(x * x) * mp.erfc(x),
        "-5 to 100",
        lambda: (np.r_[-spread(1e-3, 5)[:50], spread(1e-3, 100)[:150]],),
    ),
    "erfinv": (lambda y: mp.erfinv(y), "-0.999 to 0.999", lambda: (between(-0.999, 0.999),)),
    "exp1": (mp.e1, "1e-5 to 60", lambda: (spread(1e-5, 60),)),
    "expi": (mp.ei, "-40 to 60", lambda: (between(-40, 60),)),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), "-40 to 40", lambda: (between(-40, 40),)),
    "expn": (
        lambda n, x: mp.expint(n, x),
        "n to 30, x from 1e-3 to 40",
        lambda: (counted(0, 30), spread(1e-3, 40)),
    ),
    "factorial": (mp.factorial, "0 to 30", lambda: (between(0, 30),)),
    "fresnel": (mp.fresnels, "S, 0.01 to 50", lambda: (spread(0.01, 50),)),
    "gamma": (mp.gamma, "-30 to 30", lambda: (between(-30, 30),)),
    "gammainc": (
        lambda a, x: mp.gammainc(a, 0, x, regularized=True),
        "a from 0.1 to 1000, x around a",
        lambda: (spread(0.1, 1000), np.random.default_rng(2).gamma(spread(0.1, 1000)) + 1e-3),
    ),
    "gammaincc": (
        lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
        "a from 0.1 to 1000, x around a",
        lambda: (spread(0.1, 1000), np.random.default_rng(2).gamma(spread(0.1, 1000)) + 1e-3),
    ),
    "gammaln": (lambda x: mp.re(mp.loggamma(x)), "1e-3 to 1e4", lambda: (spread(1e-3, 1e4),)),
    "hyp1f1": (
        mp.hyp1f1,
        "a, b from 0.1 to 5, x from -30 to 30",
        lambda: (scattered(0.1, 5), scattered(0.1, 5, 1), between(-30, 30)),
    ),
    "hyp2f1": (
        mp.hyp2f1,
        "a, b, c from 0.1 to 5, x from -5 to 0.95",
        lambda: (scattered(0.1, 5), scattered(0.1, 5, 1), scattered(0.1, 5, 2), between(-5, 0.95)),
    ),
    "i0": (lambda x: mp.besseli(0, x), "-80 to 80", lambda: (between(-80, 80),)),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), "-80 to 80", lambda: (between(-80, 80),)),
    "i1": (lambda x: mp.besseli(1, x), "-80 to 80", lambda: (between(-80, 80),)),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), "-80 to 80", lambda: (between(-80, 80),)),
    "kl_div": (
        lambda p, q: p * mp.log(p / q) - p + q,
        "p from 0.01 to 1, q from 2 p to 10 p",
        lambda: (spread(0.01, 1), spread(0.01, 1) * scattered(2, 10)),
    ),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), "-50 to 5", lambda: (between(-50, 5),)),
    "loggamma": (mp.loggamma, "complex, up to 20 in size, and 0.1 from 1 and 2", lambda: (_away(plane(20)),)),
    "logit": (lambda p: mp.log(p / (1 - p)), "0.001 to 0.999", lambda: (between(0.001, 0.999),)),
    "multigammaln": (multigamma, "d = 3, a from 4 to 1000", lambda: (spread(4, 1000),)),
    "ndtr": (mp.ncdf, "-12 to 5", lambda: (between(-12, 5),)),
    "ndtri": (
        quantile,
        "1e-30 to 0.999",
        lambda: (np.r_[spread(1e-30, 0.1)[:100], between(0.1, 0.999)[:100]],),
    ),
    "owens_t": (owen, "h to 10, a to 10", lambda: (scattered(-10, 10), scattered(-10, 10, 1))),
    "poch": (mp.rf, "z from 0.1 to 20, m from -3 to 10", lambda: (scattered(3, 20), scattered(-3, 10, 1))),
    "polygamma": (
        lambda n, x: mp.psi(int(n), x),
        "n from 1 to 5, x from 0.1 to 100",
        lambda: (counted(1, 5), spread(0.1, 100)),
    ),
    "rel_entr": (
        lambda p, q: p * mp.log(p / q),
        "p from 0.01 to 1, q from 2 p to 10 p",
        lambda: (spread(0.01, 1), spread(0.01, 1) * scattered(2, 10)),
    ),
    "sici": (mp.si, "Si, 0.01 to 100", lambda: (spread(0.01, 100),)),
    "spence": (lambda z: mp.re(mp.polylog(2, 1 - z)), "1e-3 to 1e3", lambda: (spread(1e-3, 1e3),)),
    "sph_harm_y": (
        harmonic,
        "n to 10",
        lambda: (
            np.maximum(counted(0, 10), counted(0, 10, 1)),
            counted(0, 10, 1),
            scattered(0.2, 2.9),
            scattered(0, 6),
        ),
    ),
    "wofz": (faddeeva, "complex, above -1, up to 50", lambda: (_above(plane(50)),)),
    "xlog1py": (
        lambda x, y: x * mp.log1p(y),
        "y from 1e-6 to 10",
        lambda: (between(-5, 5), spread(1e-6, 10)),
    ),
    "xlogy": (lambda x, y: x * mp.log(y), "y from 0.01 to 0.9", lambda: (between(-5, 5), spread(0.01, 0.9))),
    "zeta": (mp.zeta, "x from 1.05 to 20, q from 0.1 to 20", lambda: (scattered(1.05, 20), spread(0.1, 20))),
}
STATIC = {"multigammaln": (3,)}


def _away(z):
    z = np.where(np.abs(z - 1) < 0.1, z + 0.3j, z)
    return np.where(np.abs(z - 2) < 0.1, z + 0.3j, z)


def _above(z):
    return np.where(z.imag < -1, z.conj(), z)


# Distributions: their parameters; variables are drawn from them, probabilities between 0.001 and 0.999.
STATS = {
    "bernoulli": lambda: (scattered(0.05, 0.95),),
    "beta": lambda: (spread(0.3, 30), spread(0.3, 30, 1)),
    "betabinom": lambda: (counted(1, 40), spread(0.3, 30), spread(0.3, 30, 1)),
    "binom": lambda: (counted(1, 60), scattered(0.05, 0.95)),
    "cauchy": lambda: (),
    "chi2": lambda: (spread(0.5, 60),),
    "expon": lambda: (),
    "gamma": lambda: (spread(0.3, 60),),
    "gennorm": lambda: (spread(0.5, 5),),
    "geom": lambda: (scattered(0.05, 0.95),),
    "gumbel_l": lambda: (),
    "gumbel_r": lambda: (),
    "laplace": lambda: (),
    "logistic": lambda: (),
    "nbinom": lambda: (spread(0.5, 30), scattered(0.1, 0.9)),
    "norm": lambda: (),
    "pareto": lambda: (spread(0.5, 10),),
    "poisson": lambda: (spread(0.1, 100),),
    "t": lambda: (spread(0.5, 60),),
    "truncnorm": lambda: (scattered(-3, 0), scattered(1, 4)),
    "uniform": lambda: (),
    "vonmises": lambda: (spread(0.1, 20),),
    "wrapcauchy": lambda: (scattered(0.1, 0.9),),
}


def held(args, dtype):
    """The arguments as arrays of a dtype, and the numbers that they hold."""
    complex_dtype = {"float64": "complex128", "float32": "complex64"}.get(dtype)
    arrays = []
    for x in args:
        wanted = complex_dtype if np.iscomplexobj(x) else dtype
        if wanted is None:
            return None, None
        arrays.append(rnp.array(np.asarray(x), dtype=wanted))
    return arrays, [np.asarray(a).astype("complex128" if a.dtype.kind == "c" else "float64") for a in arrays]


def numbers(out):
    out = out[0] if isinstance(out, tuple) else out
    return np.asarray(out).astype("complex128" if out.dtype.kind == "c" else "float64")


def worst(found, wanted, dtype):
    """The largest relative error where the value is a normal number of the dtype."""
    limits = np.finfo("float64" if dtype == "float64" else "float32")
    with np.errstate(all="ignore"):
        size = np.abs(wanted)
        counts = (size > 8 * limits.tiny) & (size < limits.max) & np.isfinite(wanted)
        errors = np.abs(found - wanted)[counts] / size[counts]
    errors = np.where(np.isnan(errors), np.inf, errors)
    return float(errors.max(initial=0.0))


def special_row(name):
    reference, where, arguments = SPECIAL[name]
    cells = []
    for dtype in DTYPES:
        arrays, values = held(arguments(), dtype)
        if arrays is None:
            cells.append(None)
            continue
        found = numbers(getattr(rabbet.scipy.special, name)(*arrays, *STATIC.get(name, ())))
        wanted = []
        for one in zip(*values, strict=True):
            try:
                wanted.append(
                    complex(reference(*[mp.mpc(v) if isinstance(v, complex) else mp.mpf(v) for v in one]))
                )
            except (ValueError, ZeroDivisionError, OverflowError):
                wanted.append(np.nan)
        wanted = np.asarray(wanted)
        cells.append(worst(found, wanted if np.iscomplexobj(found) else wanted.real, dtype))
    return where, cells


def stats_row(name, function):
    ours = getattr(importlib.import_module(f"rabbet.scipy.stats.{name}"), function)
    theirs = getattr(getattr(scipy.stats, name), function)
    shapes = STATS[name]()
    cells = []
    for dtype in DTYPES:
        if function in ("ppf", "isf"):
            first = (between(0.001, 0.999),)
        elif function == "entropy":
            first = ()
        else:
            _, exact = held(shapes, dtype)
            first = (getattr(scipy.stats, name).rvs(*exact, size=POINTS, random_state=3),)
            if name == "vonmises":
                first = (scattered(-3, 3),)
        arrays, values = held((*first, *shapes), dtype)
        wanted = theirs(*values)
        cells.append(worst(numbers(ours(*arrays)), np.asarray(wanted), dtype))
    return cells


def shown(cell):
    return (
        "" if cell is None else "0" if cell == 0 else f"{cell:.0e}".replace("e-0", "e-").replace("e+00", "")
    )


def table(rows, heads):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def tables(only=()):
    special = []
    for name in SPECIAL:
        if not only or name in only:
            where, cells = special_row(name)
            special.append((f"`{name}`", where, *map(shown, cells)))
            print(*special[-1], flush=True)
    stats = []
    for name in STATS:
        if not only or name in only:
            rows = importlib.import_module(f"rabbet.scipy.stats.{name}").__all__
            for function in sorted(rows):
                stats.append((f"`{name}.{function}`", *map(shown, stats_row(name, function))))
                print(*stats[-1], flush=True)
    return special, stats


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names
    special, stats = tables(names)
    if names:
        return
    target = ROOT / "docs/scipy.md"
    text = target.read_text()
    heads = ["worst relative error", *DTYPES]
    for mark, content in (
        ("special", table(special, ["function", "arguments", *DTYPES])),
        ("stats", table(stats, ["function", *heads[1:]])),
    ):
        start, end = f"<!-- {mark}: tools/write/scipy_errors.py -->", f"<!-- end of {mark} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}\n\n{content}\n\n{end}{after}"
    target.write_text(text)


if __name__ == "__main__":
    main()
