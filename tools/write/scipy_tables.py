"""Writes the Chebyshev coefficients of special functions: rabbet/scipy/special/tables.py of rabbet-scipy.

    python tools/write/scipy_tables.py            # needs mpmath; takes half a minute

Each coefficient is a Gauss-Chebyshev sum over 90 nodes in 50 digits, kept as long as it counts in double
precision.
"""

import pathlib

import mpmath as mp

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "plugins/functions/scipy/src/rabbet/scipy/special/tables.py"
mp.mp.dps = 50
NODES = 90
TINY = mp.mpf(10) ** -20


def coefficients(function, low, high):
    """Of ``function`` on an interval, as many as count."""
    low, high = mp.mpf(low), mp.mpf(high)
    angles = [mp.pi * (k + mp.mpf(1) / 2) / NODES for k in range(NODES)]
    values = [function((low + high) / 2 + (high - low) / 2 * mp.cos(a)) for a in angles]
    found = [
        2 / mp.mpf(NODES) * mp.fsum([v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)])
        for j in range(NODES)
    ]
    found[0] /= 2
    largest = max([abs(c) for c in found])
    last = max([j for j, c in enumerate(found) if abs(c) > 1e-18 * largest])
    return found[: last + 1]


def on_half_line(function, scale, start=0):
    """``function`` on ``start ..  infinity`` in the variable ``t = (y - scale) / (y + scale)``."""
    return lambda t: function(start + scale * (1 + t) / (1 - t))


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def of_square(function):
    """``function(sqrt(u))`` of ``u``."""
    return lambda u: function(mp.sqrt(u))


def of_inverse_square(function):
    """``function(1 / sqrt(u))`` of ``u``."""
    return lambda u: function(1 / mp.sqrt(u))


def trigonometric(x):
    """The auxiliary functions f and g of the sine and cosine integrals (DLMF 6.2.17, 6.2.18)."""
    s, c = mp.pi / 2 - mp.si(x), mp.ci(x)
    return s * mp.cos(x) + c * mp.sin(x), s * mp.sin(x) - c * mp.cos(x)


def fresnel_parts(x):
    """The auxiliary functions f and g of Fresnel's integrals (DLMF 7.2.10, 7.2.11)."""
    s, c = mp.mpf(1) / 2 - mp.fresnels(x), mp.mpf(1) / 2 - mp.fresnelc(x)
    w = mp.pi * x * x / 2
    return s * mp.cos(w) - c * mp.sin(w), c * mp.cos(w) + s * mp.sin(w)


def of_inverse_fourth(function):
    """``function(u ** -1/4)`` of ``u``."""
    return lambda u: function(u ** (-mp.mpf(1) / 4))


EI_ROOT = mp.findroot(mp.ei, 0.3725)
PSI_ROOT = mp.findroot(mp.digamma, 1.4616)
END = 1 - mp.mpf(10) ** -15
FOURTH = mp.mpf(1) / 4

# name: (what it holds, function, low, high)
TABLES = {
    "ERFCX": (
        "(1 + 2 x) exp(x^2) erfc(x), in (x - 3.75) / (x + 3.75)",
        on_half_line(lambda x: (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x), mp.mpf("3.75")), -1, END,
    ),
    "DAWSON_NEAR": ("F(x) / x, in x^2 from 0 to 6.25", of_square(lambda x: dawson(x) / x), TINY, 6.25),
    "DAWSON_MIDDLE": ("x F(x), in x from 2.5 to 5", lambda x: x * dawson(x), 2.5, 5),
    "DAWSON_FAR": (
        "x F(x), in 1 / x^2 from 0 to 1/25", of_inverse_square(lambda x: x * dawson(x)), TINY,
        mp.mpf(1) / 25,
    ),
    "E1": (
        "x exp(x) E1(x), in (x - 4) / (x + 2)",
        on_half_line(lambda x: x * mp.exp(x) * mp.e1(x), 3, 1), -1, END,
    ),
    "EI_NEAR": (
        "(Ei(x) - log(x / x0)) / (x - x0), in x from 0 to 6, where x0 is the root",
        lambda x: (mp.ei(x) - mp.log(x / EI_ROOT)) / (x - EI_ROOT), TINY, 6,
    ),
    **{
        f"EI_FROM_{low}": (
            f"x exp(-x) Ei(x), in 1 / x from {high or 'infinity'} to {low}",
            lambda u: mp.exp(-1 / u) * mp.ei(1 / u) / u, mp.mpf(1) / high if high else mp.mpf(10) ** -15,
            mp.mpf(1) / low,
        )
        for low, high in ((6, 12), (12, 24), (24, None))
    },
    "SI_NEAR": ("Si(x) / x, in x^2 from 0 to 16", of_square(lambda x: mp.si(x) / x), TINY, 16),
    "CI_NEAR": (
        "(Ci(x) - log(x) - gamma) / x^2, in x^2 from 0 to 16",
        of_square(lambda x: (mp.ci(x) - mp.log(x) - mp.euler) / x**2), TINY, 16,
    ),
    "SICI_F_MIDDLE": (
        "x f(x), in 1 / x^2 from 1/64 to 1/16", of_inverse_square(lambda x: x * trigonometric(x)[0]),
        mp.mpf(1) / 64, mp.mpf(1) / 16,
    ),
    "SICI_G_MIDDLE": (
        "x^2 g(x), in 1 / x^2 from 1/64 to 1/16", of_inverse_square(lambda x: x * x * trigonometric(x)[1]),
        mp.mpf(1) / 64, mp.mpf(1) / 16,
    ),
    "SICI_F_FAR": (
        "x f(x), in 1 / x^2 from 0 to 1/64", of_inverse_square(lambda x: x * trigonometric(x)[0]),
        TINY, mp.mpf(1) / 64,
    ),
    "SICI_G_FAR": (
        "x^2 g(x), in 1 / x^2 from 0 to 1/64", of_inverse_square(lambda x: x * x * trigonometric(x)[1]),
        TINY, mp.mpf(1) / 64,
    ),
    "FRESNEL_C": (
        "C(x) / x, in x^4 from 0 to 1.6^4", lambda u: mp.fresnelc(u**FOURTH) / u**FOURTH, TINY**2,
        mp.mpf("1.6") ** 4,
    ),
    "FRESNEL_S": (
        "S(x) / x^3, in x^4 from 0 to 1.6^4", lambda u: mp.fresnels(u**FOURTH) / u ** (3 * FOURTH), TINY,
        mp.mpf("1.6") ** 4,
    ),
    **{
        f"FRESNEL_{letter}_{place}": (
            f"x^{power} {letter.lower()}(x), in 1 / x^4 from {low} to {high}",
            of_inverse_fourth(lambda x, part=part, power=power: x**power * fresnel_parts(x)[part]),
            TINY if place == "FAR" else mp.mpf("2.5") ** -4,
            mp.mpf("2.5") ** -4 if place == "FAR" else mp.mpf("1.6") ** -4,
        )
        for place, low, high in (("MIDDLE", "2.5^-4", "1.6^-4"), ("FAR", "0", "2.5^-4"))
        for part, (letter, power) in enumerate((("F", 1), ("G", 3)))
    },
    "GAMMA": ("gamma(x), in x from 2 to 3", mp.gamma, 2, 3),
    "DIGAMMA": (
        "digamma(x) / (x - x0), in x from 1 to 2, where x0 is the root",
        lambda x: mp.digamma(x) / (x - PSI_ROOT), 1, 2,
    ),
}  # fmt: skip


def split(value):
    """A number as the sum of a short and a small one, so that differences to it are exact."""
    short = mp.nint(value * 2**20) / 2**20
    return float(short), float(value - short)


def main():
    lines = [
        '"""Chebyshev coefficients of special functions, made by tools/write/scipy_tables.py.',
        "",
        "Each row names the function and the variable, which is brought to -1 .. 1.",
        '"""',
        "",
        "# Roots, as the sum of a number of 20 binary places and a small one.",
        f"EI_ROOT = {split(EI_ROOT)}",
        f"DIGAMMA_ROOT = {split(PSI_ROOT)}",
        "",
    ]
    for name, (what, function, low, high) in TABLES.items():
        numbers = [repr(float(c)) for c in coefficients(function, low, high)]
        lines += [f"# {what}", f"{name} = ("]
        row = "   "
        for number in numbers:
            if len(row) + len(number) > 106:
                lines.append(row)
                row = "   "
            row += f" {number},"
        lines += [row, ")  # fmt: skip"]
        print(name, len(numbers), flush=True)
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
