"""Whose test suites are run, where their files are, and which of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Library:
    """One library: what pip calls it, and where its tests lie below its unpacked source distribution."""

    distribution: str
    patterns: tuple[str, ...] = ()  # none: its source distribution has no tests; ours are in `own`
    sample: tuple[str, ...] = ()  # names of files; empty: all
    skipped: tuple[str, ...] = ()  # files that start processes, or read what is not there


LIBRARIES = {
    "optax": Library("optax", ("optax/**/*_test.py",)),
    "chex": Library("chex", ("chex/**/*_test.py",)),
    "haiku": Library("dm-haiku", ("haiku/**/*_test.py",)),
    "distrax": Library("distrax", ("distrax/**/*_test.py",)),
    "rlax": Library("rlax", ("rlax/**/*_test.py",)),
    "jraph": Library("jraph", ("jraph/**/*_test.py",)),
    "equinox": Library("equinox"),
    "diffrax": Library("diffrax"),
    "lineax": Library("lineax"),
    "optimistix": Library("optimistix"),
    "flax": Library("flax", ("tests/**/*_test.py",)),
    "numpyro": Library("numpyro", ("test/**/test_*.py",)),
    "blackjax": Library("blackjax", ("tests/**/test_*.py",)),
}
