"""Rule tables: how each transformation treats each primitive, and how a rule is found.

Lookup goes down seven steps and remembers the answer:

1. the rule that the primitive's owner put beside it under this table's name;
2. the table's own rule for the primitive;
3. a ``RuleSet`` of a third package (entry-point group ``rabbet.rules``, looked at only when 1 and 2 miss);
4. a primitive that carries bodies is interpreted through them (its owner's ``"body"`` rule);
5. the table's rule for one of the primitive's kinds, in the order in which the primitive lists them;
6. the primitive's decomposition into other primitives;
7. ``MissingRule``, which names the primitive, the packages that own both sides, and the line to write.

A platform comes first at each of the first three steps: a rule for ``"lower:cuda"`` goes before one for ``"lower"``.
"""

from typing import NamedTuple

from rabbet import source_info
from rabbet.errors import MissingRule, RuleConflict


class Found(NamedTuple):
    """A rule and where it came from: ``owner``, ``table``, ``bridge``, ``body``, ``kind`` or ``decomposition``."""

    rule: object
    source: str
    detail: str = ""


class _Rules:
    """Rules for primitives under one table's name, collected by decorators; a value."""

    def __init__(self, name):
        self.name = name
        self.by_primitive = {}

    def primitive(self, *primitives, platform=None):
        """Decorator: the rule of this table for ``primitives``, on one platform only if it is named."""

        def install(function):
            for primitive in primitives:
                _refuse_second(self, self.by_primitive, (primitive, platform), function, f"primitive {primitive.name!r}")
            for primitive in primitives:
                self.by_primitive[primitive, platform] = function
            return function

        return install


class RuleSet(_Rules):
    """Rules that a third package ships for a table and primitives that it owns neither of.

    Args:
      name: the table's name, ``"batch"``.
    """

    def __repr__(self):
        return f"RuleSet({self.name!r}, {len(self.by_primitive)} rules)"


class RuleTable(_Rules):
    """The rules of one transformation.

    Args:
      name: unique among tables; what owners of primitives write in ``@primitive.rule(name)``.
      doc: the payload's shape, ``"(op, *boxes) -> Box"``.
      bridges: ``bridges(name)`` returns the ``RuleSet`` objects of third packages; by default those of the installed plugins.

    Example:
      >>> rules = RuleTable("enclose", doc="(op, *boxes) -> Box")
      >>> @rules.kind("increasing")
      ... def increasing(op, *boxes):
      ...     return Box(op(*(b.lo for b in boxes)), op(*(b.hi for b in boxes)))
    """

    def __init__(self, name, doc="", bridges=None):
        super().__init__(name)
        self.__doc__ = doc
        self.by_kind = {}
        self.where = source_info.definition_site()
        self._bridges = bridges
        self._memo = {}
        _tables.setdefault(name, self)

    def kind(self, *kinds):
        """Decorator: the rule for every primitive of these kinds that has none of its own."""

        def install(function):
            for kind in kinds:
                _refuse_second(self, self.by_kind, kind, function, f"kind {kind!r}")
            for kind in kinds:
                self.by_kind[kind] = function
            return function

        return install

    def lookup(self, primitive, platform=None):
        """The rule for ``primitive``. Raises ``MissingRule`` where all seven steps fail."""
        try:
            return self._memo[primitive, platform]
        except KeyError:
            found = self.explain(primitive, platform)
            if found is None:
                raise MissingRule(self.missing(primitive)) from None
            self._memo[primitive, platform] = found.rule
            return found.rule

    def explain(self, primitive, platform=None):
        """What ``lookup`` finds, as ``Found``, or None."""
        for where in (platform, None) if platform is not None else (None,):
            own = primitive.rules.get(self.name if where is None else f"{self.name}:{where}")
            if own is not None:
                return Found(own, "owner", where or "")
            own = self.by_primitive.get((primitive, where))
            if own is not None:
                return Found(own, "table", where or "")
            bridge = self._from_bridges(primitive, where)
            if bridge is not None:
                return bridge
        if "body" in primitive.rules:
            return Found(Through(primitive.rules["body"]), "body")
        for kind in primitive.kinds:
            if kind in self.by_kind:
                return Found(self.by_kind[kind], "kind", kind)
        if primitive.decomposition is not None:
            return Found(Decomposed(primitive.decomposition), "decomposition")
        return None

    def _from_bridges(self, primitive, platform):
        rule_sets = self._bridges(self.name) if self._bridges is not None else find_bridges(self.name)
        hits = [(s, s.by_primitive[primitive, platform]) for s in rule_sets if (primitive, platform) in s.by_primitive]
        if len(hits) > 1:
            addresses = " and ".join(source_info.address(rule) for _, rule in hits)
            raise RuleConflict(
                f"two packages bring a {self.name!r} rule for primitive {primitive.name!r}: {addresses}. "
                f"Switch one off with RABBET_DISABLE_PLUGINS."
            )
        return Found(hits[0][1], "bridge") if hits else None

    def missing(self, primitive):
        """The text of ``MissingRule``: who, where, and what to write."""
        kinds = ", ".join(primitive.kinds) or "none"
        known = ", ".join(self.by_kind) or "none"
        return (
            f"no {self.name!r} rule for primitive {primitive.name!r} (kinds: {kinds})\n"
            f"  primitive {primitive.name!r} is defined at {primitive.where}\n"
            f"  table {self.name!r} is defined at {self.where}; its rules by kind serve: {known}\n"
            f"  to fix: write one beside the primitive with @{primitive.name}.rule({self.name!r}), "
            f"see docs/extend.md#{self.name}"
        )

    def forget(self):
        """Drop remembered lookups, as after plugins changed."""
        self._memo.clear()

    def __repr__(self):
        return f"RuleTable({self.name!r})"


class Decomposed:
    """What step 6 finds: ``parts(op, *args)`` computes the primitive by others, under the interpreter that asked."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts


class Through:
    """What step 4 finds: ``body(op, interpreter, args)`` takes the interpreter through the bodies (see ``bodies``)."""

    __slots__ = ("body",)

    def __init__(self, body):
        self.body = body


def no_bridges(name):
    """No third packages: what ``find_bridges`` is until ``rabbet`` is composed."""
    return ()


find_bridges = no_bridges
_tables = {}


def set_bridges(finder):
    """Name the function that returns the installed ``RuleSet`` objects for a table name. Called once, by composition."""
    global find_bridges
    find_bridges = finder


def all_tables():
    """Every rule table by name, in the order in which they were made."""
    return dict(_tables)


def _refuse_second(table, rules, key, function, what):
    if key in rules:
        raise RuleConflict(
            f"{table!r} already has a rule for {what} at {source_info.address(rules[key])}; "
            f"a second one stands at {source_info.address(function)}. Keep one of them."
        )
