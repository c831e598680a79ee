"""English text that comes with Python: what `help()` says about the language's topics, as bytes."""

import pydoc_data.topics

import numpy as np


def documentation():
    """Two arrays of symbols in 0..127, for training and held out; a twentieth is held out."""
    pages = "\n\n".join(text for _, text in sorted(pydoc_data.topics.topics.items()))
    symbols = np.frombuffer(pages.encode("ascii", "ignore"), np.uint8).astype(np.int32)
    cut = len(symbols) * 19 // 20
    return symbols[:cut], symbols[cut:]


def windows(symbols, count, length, rng):
    """Pieces of the text from random places, of shape (count, length)."""
    starts = rng.integers(0, len(symbols) - length, count)
    return symbols[starts[:, None] + np.arange(length)]


def readable(symbols):
    """Symbols as text."""
    return bytes(np.asarray(symbols, np.uint8)).decode("ascii")
