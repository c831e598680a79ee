"""What a type says of the axes of a mesh along which devices compute by themselves: ``typeof(x).mat``."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, ClassVar

NOWHERE: frozenset = frozenset()


class UnreducedKind(enum.Enum):
    """How the addends of an unreduced value belong together.

    Example:
      >>> rb.sharding.UnreducedKind.sum.name
      'sum'
    """

    sum = 1
    max = 2
    min = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class ManualAxisType:
    """Along which axes a value differs, along which it is a sum not added up yet, and along which its
    gradient should be one.

    Args:
      varying, unreduced, reduced: sets of names of axes; no name is in two of them.
      unreduced_kind: how the values along ``unreduced`` belong together, by default their sum.

    Raises:
      ValueError: if a name is in two sets, or a kind is given without axes.

    Example:
      >>> from rabbet.extend.sharding import ManualAxisType
      >>> ManualAxisType(varying={"x"}).varying
      frozenset({'x'})
      >>> rb.typeof(np.ones(3)).mat.empty
      True
    """

    varying: Any = NOWHERE
    unreduced: Any = NOWHERE
    reduced: Any = NOWHERE
    unreduced_kind: UnreducedKind | None = None
    kinds: ClassVar[type[UnreducedKind]] = UnreducedKind

    def __post_init__(self) -> None:
        sets = {
            "varying": frozenset(self.varying),
            "unreduced": frozenset(self.unreduced),
            "reduced": frozenset(self.reduced),
        }
        names = list(sets)
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                if both := sets[one] & sets[other]:
                    raise ValueError(
                        f"ManualAxisType: axis {sorted(map(str, both))[0]!r} is in {one} and in {other}; a "
                        "value is one or the other along an axis"
                    )
        kind = self.unreduced_kind
        if kind is not None and not sets["unreduced"]:
            raise ValueError("ManualAxisType: unreduced_kind says how values along axes in unreduced add up")
        if sets["unreduced"] and kind is None:
            kind = UnreducedKind.sum
        for name, value in {**sets, "unreduced_kind": kind}.items():
            object.__setattr__(self, name, value)

    @property
    def empty(self) -> bool:
        """Whether no axis is named."""
        return not (self.varying or self.unreduced or self.reduced)

    @property
    def vur(self) -> frozenset:
        """All axes that are named."""
        return self.varying | self.unreduced | self.reduced

    def update(self, **changes: Any) -> ManualAxisType:
        """The type that differs in the sets that are given."""
        kept = vars(self) | changes
        if not kept["unreduced"] and "unreduced_kind" not in changes:
            kept["unreduced_kind"] = None
        return ManualAxisType(**kept)

    def invarying(self, mesh: Any) -> frozenset:
        """The axes of a mesh that are manual there and along which the value is the same."""
        return frozenset(mesh.manual_axes) - self.varying

    def to_ct_mat(self) -> ManualAxisType:
        """That of a cotangent: unreduced and reduced change places."""
        return ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)

    def __repr__(self) -> str:
        return f"ManualAxisType({', '.join(f'{n}={v!r}' for n, v in vars(self).items())})"


PLAIN = ManualAxisType()
