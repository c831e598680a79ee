"""Windows: weights of the points of a segment. They are NumPy arrays in double precision, computed once."""

from collections.abc import Callable
from typing import Any

import numpy as np


def cosines(*a: float) -> Callable[[int], np.ndarray]:
    """A sum of cosines with alternating signs."""

    def window(m):
        turn = np.linspace(-np.pi, np.pi, m)
        return sum(x * np.cos(k * turn) for k, x in enumerate(a))

    return window


def triang(m):
    n = np.arange(1, (m + 1) // 2 + 1)
    half = 2 * n / (m + 1) if m % 2 else (2 * n - 1) / m
    return np.concatenate([half, half[-2::-1] if m % 2 else half[::-1]])


def parzen(m):
    n = np.abs(np.arange(m) - (m - 1) / 2) / (m / 2)
    return np.where(n <= (m - 1) / 4 / (m / 2), 1 - 6 * n**2 * (1 - n), 2 * (1 - n) ** 3)


def bohman(m):
    x = np.abs(np.linspace(-1, 1, m))
    w = (1 - x) * np.cos(np.pi * x) + np.sin(np.pi * x) / np.pi
    w[[0, -1]] = 0
    return w


def barthann(m):
    x = np.abs(np.arange(m) / (m - 1) - 0.5)
    return 0.62 - 0.48 * x + 0.38 * np.cos(2 * np.pi * x)


def cosine(m):
    return np.sin(np.pi / m * (np.arange(m) + 0.5))


def lanczos(m):
    half = np.sinc(2 * np.arange(m // 2, m) / (m - 1) - 1)
    return np.concatenate([half[::-1], half[1:] if m % 2 else half])


def tukey(m, alpha=0.5):
    if alpha <= 0:
        return np.ones(m)
    if alpha >= 1:
        return cosines(0.5, 0.5)(m)
    n = np.minimum(np.arange(m), np.arange(m)[::-1])
    width = alpha * (m - 1) / 2
    return np.where(n <= np.floor(width), 0.5 * (1 + np.cos(np.pi * (n / width - 1))), 1.0)


def exponential(m, center=None, tau=1.0):
    center = (m - 1) / 2 if center is None else center
    return np.exp(-np.abs(np.arange(m) - center) / tau)


def kaiser(m, beta):
    return np.kaiser(m, beta)


def gaussian(m, std):
    return np.exp(-((np.arange(m) - (m - 1) / 2) ** 2) / (2 * std * std))


def general_gaussian(m, p, sig):
    return np.exp(-0.5 * np.abs((np.arange(m) - (m - 1) / 2) / sig) ** (2 * p))


def general_cosine(m, a):
    return cosines(*a)(m)


def general_hamming(m, alpha):
    return cosines(alpha, 1 - alpha)(m)


def chebwin(m, at):
    """The window of Dolph and Chebyshev: the transform of a Chebyshev polynomial."""
    order = m - 1
    x = np.cosh(np.arccosh(10 ** (abs(at) / 20)) / order) * np.cos(np.pi * np.arange(m) / m)
    inside = np.cos(order * np.arccos(np.clip(x, -1, 1)))
    outside = np.cosh(order * np.arccosh(np.maximum(np.abs(x), 1)))
    p = np.where(np.abs(x) <= 1, inside, np.where(x > 1, 1, 2 * (m % 2) - 1) * outside)
    if m % 2:
        w = np.fft.fft(p).real[: (m + 1) // 2]
        w = np.concatenate([w[:0:-1], w])
    else:
        w = np.fft.fft(p * np.exp(1j * np.pi / m * np.arange(m))).real[: m // 2 + 1]
        w = np.concatenate([w[:0:-1], w[1:]])
    return w / w.max()


def taylor(m, nbar=4, sll=30, norm=True):
    """T. Taylor's window, whose first ``nbar`` side lobes are ``sll`` decibels below the main one."""
    a = np.arccosh(10 ** (sll / 20)) / np.pi
    spread = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    k = np.arange(1, nbar)
    f = []
    for i in k:
        above = (-1) ** (i + 1) * np.prod(1 - i**2 / spread / (a**2 + (k - 0.5) ** 2))
        f.append(above / (2 * np.prod(1 - i**2 / k[k != i] ** 2)))

    def weights(n):
        return 1 + 2 * np.dot(f, np.cos(2 * np.pi * k[:, None] * (n - m / 2 + 0.5) / m))

    w = weights(np.arange(m))
    return w / weights(np.array([(m - 1) / 2])) if norm else w


def dpss(m, nw):
    """D. Slepian's window, whose energy is most concentrated: an eigenvector of a tridiagonal matrix."""
    n = np.arange(m)
    d = ((m - 1 - 2 * n) / 2) ** 2 * np.cos(2 * np.pi * nw / m)
    e = n[1:] * (m - n[1:]) / 2
    w = np.linalg.eigh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1))[1][:, -1]
    w = w * np.sign(w.sum())
    w = w / w.max()
    return w if m % 2 else w * m**2 / (m**2 + nw)


WINDOWS: dict[str, Callable[..., np.ndarray]] = {
    "boxcar": np.ones, "triang": triang, "parzen": parzen, "bohman": bohman, "bartlett": np.bartlett,
    "barthann": barthann, "cosine": cosine, "lanczos": lanczos, "tukey": tukey, "exponential": exponential,
    "hann": cosines(0.5, 0.5), "hamming": cosines(0.54, 0.46), "blackman": cosines(0.42, 0.5, 0.08),
    "nuttall": cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": cosines(0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": cosines(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "kaiser": kaiser, "gaussian": gaussian, "general_gaussian": general_gaussian,
    "general_cosine": general_cosine, "general_hamming": general_hamming, "chebwin": chebwin,
    "taylor": taylor, "dpss": dpss,
}  # fmt: skip
SHORT = {
    "box": "boxcar", "ones": "boxcar", "rect": "boxcar", "rectangular": "boxcar", "tri": "triang",
    "triangle": "triang", "parz": "parzen", "par": "parzen", "bman": "bohman", "bmn": "bohman",
    "bart": "bartlett", "brt": "bartlett", "brthan": "barthann", "bth": "barthann", "halfcosine": "cosine",
    "sinc": "lanczos", "tuk": "tukey", "poisson": "exponential", "hanning": "hann", "han": "hann",
    "hamm": "hamming", "ham": "hamming", "black": "blackman", "blk": "blackman", "nutl": "nuttall",
    "nut": "nuttall", "blackharr": "blackmanharris", "bkh": "blackmanharris", "flat": "flattop",
    "flt": "flattop", "ksr": "kaiser", "gauss": "gaussian", "gss": "gaussian",
    "general gaussian": "general_gaussian", "general gauss": "general_gaussian", "ggs": "general_gaussian",
    "cheb": "chebwin", "taylorwin": "taylor",
}  # fmt: skip
NEED_NUMBERS = {
    "kaiser",
    "gaussian",
    "general_gaussian",
    "general_cosine",
    "general_hamming",
    "chebwin",
    "dpss",
}


def get_window(name: str, window: Any, size: int) -> np.ndarray:
    """The window of a name, of a tuple of a name and its numbers, or of a number (Kaiser's ``beta``), one
    point short of symmetric, as spectra ask for.

    Args:
      name: of the function that asks.

    Raises:
      ValueError: for an unknown window, or one without the numbers that it needs.
    """
    if isinstance(window, (int, float)):
        window = ("kaiser", window)
    word, *numbers = (window,) if isinstance(window, str) else tuple(window)
    found = SHORT.get(word, word) if isinstance(word, str) else None
    if found not in WINDOWS:
        raise ValueError(f"{name}: there is no window {word!r}; there are {', '.join(sorted(WINDOWS))}")
    if found in NEED_NUMBERS and not numbers:
        raise ValueError(f"{name}: the window {word!r} needs numbers, as in ({word!r}, 1.0)")
    if size <= 1:
        return np.ones(size)
    return np.asarray(WINDOWS[found](size + 1, *numbers), "float64")[:-1]
