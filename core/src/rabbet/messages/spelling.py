"""Names that somebody may have meant, and words with their number."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most ``n`` of the names ``known`` that are spelled much like ``name``, the likeliest first."""
    import difflib  # for error messages alone, so not at the start of each process

    return difflib.get_close_matches(name, list(known), n=n, cutoff=cutoff)


def counted(n: int, one: str, many: str = "") -> str:
    """``1 dimension``, ``2 dimensions``; ``many`` where the plural is no ``s`` more."""
    return f"{n} {one if n == 1 else many or f'{one}s'}"
