"""RABBET_PLUGINS, RABBET_DISABLE_PLUGINS and RABBET_PREFER: what the settings say about plugins."""

from __future__ import annotations

from dataclasses import dataclass, field

from rabbet.config.setting import OF_PLUGINS
from rabbet.plugins import discovery
from rabbet.plugins.records import Record

VARIABLES = OF_PLUGINS


@dataclass(frozen=True)
class Selection:
    """Which of the installed plugins may be used, and who wins a conflict.

    Attributes:
      allow: names of distributions or plugin packages; None allows all, the empty set none.
      deny: names that are switched off even where ``allow`` has them.
      prefer: ``{(group, name): distribution}``.
    """

    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    prefer: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def from_settings(
        cls, plugins: str | None = None, disable: str | None = None, prefer: str | None = None
    ) -> Selection:
        """From the texts of RABBET_PLUGINS (``none`` for none), RABBET_DISABLE_PLUGINS and RABBET_PREFER."""
        allow: frozenset[str] | None = discovery.split_names(plugins)
        if not allow:
            allow = None
        elif allow == {"none"}:
            allow = frozenset()
        return cls(allow, discovery.split_names(disable), discovery.split_choices(prefer))

    def refusal(self, record: Record) -> str | None:
        """The setting that switches ``record`` off, as the user would read it; None when it may be used."""
        if self.allow is None and not self.deny:
            return None
        if self.deny & record.called:
            return f"switched off by RABBET_DISABLE_PLUGINS={','.join(sorted(self.deny & record.called))}"
        if self.allow is not None and not self.allow & record.called:
            return f"not in the allow list RABBET_PLUGINS={','.join(sorted(self.allow)) or 'none'}"
        return None

    @property
    def names(self) -> frozenset[str]:
        """Every distribution or package that the settings mention."""
        return (self.allow or frozenset()) | self.deny | frozenset(self.prefer.values())
