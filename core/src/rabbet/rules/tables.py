"""Rule tables: how each transformation treats each primitive, and how a rule is found.

Lookup goes down these steps and remembers the answer:

1. the rule that the primitive's owner put beside it under this table's name;
2. the table's own rule for the primitive;
3. a ``RuleSet`` of a third package (entry-point group ``rabbet.rules``, looked at only when 1 and 2 miss);
4. a primitive that carries bodies is interpreted through them (its owner's ``"body"`` rule);
5. the table's rule for one of the primitive's kinds, in the order in which the primitive lists them;
6. the table's rule for all primitives with a rule in another table, where it has one (``derived_from``);
7. the primitive's decomposition into other primitives;
8. the table's rule for all that is left, where it has one (``otherwise``; before 7 if it says so), or else
   ``MissingRule``, which names the primitive, the packages that own both sides, and the line to write.

A platform comes first at each of the first three steps: a rule for ``"lower:cuda"`` goes before one for
``"lower"``.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.config import config
from rabbet.errors import MissingRule, RefusedError, RuleConflict
from rabbet.messages import function_names, source_positions
from rabbet.messages.spelling import nearest
from rabbet.rules import contracts, misspelled_rules
from rabbet.rules.rule_sets import CORE, REMEMBERING, Rules, forget_lookups, refuse_second
from rabbet.rules.unique_names import Names

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.primitives.elementwise import Product
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Batched, Dual
    from rabbet.rules.primitive import Primitive

KINDS = (
    "elementwise", "increasing", "decreasing", "linear", "bilinear", "structural", "indexed",
    "reduction", "body", "effect", "finite_slope", "distinct", "shapeless",
)  # fmt: skip
"""The laws that a primitive can declare and a table can have rules for."""


class Role(enum.StrEnum):
    """What a table can declare that it does, for those who need to know it of an interpreter: they ask for
    the role (``Interpreter.plays``) and never for a table's name.

    Example:
      >>> from rabbet.extend.transform import Interpreter, Role, RuleTable
      >>> class Forward(Interpreter):
      ...     table = RuleTable("my_forward", doc="(op, *duals) -> dual", roles=(Role.FORWARD,))
      >>> Forward().plays(Role.FORWARD), Forward().plays(Role.BATCHES)
      (True, False)
    """

    FORWARD = "differentiates forward"
    TRANSPOSES = "transposes"
    BATCHES = "adds a dimension"
    WRITES = "writes programs"


class Found(NamedTuple):
    """A rule and where it came from: ``owner``, ``table``, ``bridge``, ``body``, ``kind``, ``derived``,
    ``decomposition`` or ``otherwise``.
    """

    rule: object
    source: str
    detail: str = ""


class RuleTable(Rules):
    """The rules of one transformation.

    Args:
      name: unique among tables; what owners of primitives write in ``@primitive.rule(name)``.
      doc: the payload's shape, ``"(op, *boxes) -> Box"``.
      roles: what the transformation does that others may need to know: each a ``Role``.
      bridges: ``bridges(name)`` returns the ``RuleSet`` objects of third packages; by default those of the
        installed plugins.
      contract: ``contract(op, payloads, out) -> problem or None``: what is wrong with what a rule returned,
        in words that go on after "the rule"; asked under ``config.enable_checks``.

    Example:
      >>> from rabbet.extend.transform import RuleTable
      >>> rules = RuleTable("signs", doc="(op, *signs) -> sign, -1 or 1")
      >>> @rules.kind("increasing")
      ... def same(op, x):
      ...     return x
      >>> @rules.primitive(lax.mul, lax.div)
      ... def product(op, x, y):
      ...     return x * y
      >>> rules.explain(lax.mul).source, rules.explain(lax.exp).source, rules.explain(lax.cos)
      ('table', 'kind', None)
    """

    def __init__(
        self, name: Any, doc: Any = "", bridges: Any = None, roles: Any = (), contract: Any = None
    ) -> None:
        super().__init__(name)
        self.contract = contract
        self.__doc__ = doc
        self.roles = tuple(roles)
        unknown = [role for role in roles if role not in set(Role)]
        if unknown:
            raise ValueError(f"{self!r}: unknown roles {unknown}; the roles are {', '.join(Role)}")
        self._by_kind = {}
        self.by_kind = MappingProxyType(self._by_kind)  # read only: `kind` is the way in
        self.model: Any = None
        self.from_model: Any = None
        self.last_resort: Any = None
        self.resort_first = False
        self.where = source_positions.definition_site()
        self._bridges = bridges
        self._memo = {}
        _names.take(self)

    def kind(self, *kinds: str) -> Any:
        """Decorator: the rule for every primitive of these kinds that has none of its own."""

        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise ValueError(f"{self!r}: unknown kinds {unknown}; the kinds are {', '.join(KINDS)}")

        def install(function: Callable[..., Any]) -> Callable[..., Any]:
            for kind in kinds:
                refuse_second(self, self.by_kind, kind, function, f"kind {kind!r}")
            for kind in kinds:
                self._by_kind[kind] = function
            forget_lookups()
            return function

        return install

    def derived_from(self, table: RuleTable) -> Callable[..., Any]:
        """Decorator: the rule for every primitive that has none here, of its own or of its kinds, but one in
        another table, from which the function makes this table's. It goes before decompositions, as the
        rule that it is made from does.
        """

        def install(function: Callable[..., Any]) -> Callable[..., Any]:
            if self.from_model is not None:
                raise RuleConflict(
                    f"{self!r} already derives rules from those of {self.model!r} at "
                    f"{function_names.address(self.from_model)}; "
                    f"a second way stands at {function_names.address(function)}. Keep one of them."
                )
            self.model, self.from_model = table, function
            forget_lookups()
            return function

        return install

    def otherwise(
        self, function: Callable[..., Any] | None = None, *, before_decompositions: bool = False
    ) -> Callable[..., Any]:
        """Decorator: the rule for every primitive that has none of its own, of its kinds or by its parts.

        For transformations that can do something with any primitive. One that wants to see primitives whole
        says ``@rules.otherwise(before_decompositions=True)``: then it goes before their parts.
        """
        if function is None:
            return lambda function: self.otherwise(function, before_decompositions=before_decompositions)
        if self.last_resort is not None:
            raise RuleConflict(
                f"{self!r} already has a rule for all other primitives at "
                f"{function_names.address(self.last_resort)}; "
                f"a second one stands at {function_names.address(function)}. Keep one of them."
            )
        self.last_resort, self.resort_first = function, before_decompositions
        forget_lookups()
        return function

    def lookup(self, primitive: Product | Primitive, platform: str | None = None) -> Any:
        """The rule for ``primitive``. Raises ``MissingRule`` where all steps fail."""
        try:
            return self._memo[primitive, platform]
        except KeyError:
            pass
        found = self.explain(primitive, platform)
        if found is None:
            raise self.missing(primitive)
        misspelled_rules.tell(primitive, self.name, all_tables())
        REMEMBERING[id(self)] = self
        rule = found.rule
        if contracts.wanted or config.enable_checks:
            rule = self._checked(primitive, rule)
        self._memo[primitive, platform] = rule
        return rule

    def _checked(self, primitive: Product | Primitive, rule: Callable[..., Any]) -> Any:
        """A rule that looks at what it returns while checks are on."""
        if type(rule) is Decomposed:
            return Decomposed(contracts.checked_parts(primitive, rule.parts, decomposed_types))
        if type(rule) is Through or self.contract is None:
            return rule
        return contracts.checked(self, primitive, rule)

    def explain(self, primitive: Product | Primitive, platform: str | None = None) -> Any:
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
        if self.from_model is not None:
            made_from = self.model.explain(primitive, platform)
            if made_from is not None and made_from.source not in ("decomposition", "otherwise"):
                return Found(self.from_model, "derived", self.model.name)
        if self.resort_first:
            return Found(self.last_resort, "otherwise")
        if primitive.decomposition is not None:
            return Found(Decomposed(primitive.decomposition), "decomposition")
        return Found(self.last_resort, "otherwise") if self.last_resort is not None else None

    def _from_bridges(self, primitive: Product | Primitive, platform: str | None) -> Found | None:
        rule_sets = self._bridges(self.name) if self._bridges is not None else find_bridges(self.name)
        found = [(s, s.rule_for(primitive, platform)) for s in rule_sets]
        hits = [(s, rule) for s, rule in found if rule is not None]
        if len(hits) > 1:
            addresses = " and ".join(function_names.address(rule) for _, rule in hits)
            raise RuleConflict(
                f"two packages bring a {self.name!r} rule for primitive {primitive.name!r}: {addresses}. "
                f"Switch one off with RABBET_DISABLE_PLUGINS."
            )
        return Found(hits[0][1], "bridge") if hits else None

    def missing(self, primitive: Product | Primitive) -> Exception:
        """The ``MissingRule`` to raise: who, where, and what to write. ``reached`` adds to it how it came
        to this.
        """
        kinds = ", ".join(primitive.kinds) or "none"
        known = ", ".join(self.by_kind) or "none"
        name = written(primitive)
        error = MissingRule(
            f"no {self.name!r} rule for primitive {primitive.name!r} (kinds: {kinds})\n"
            f"  primitive {primitive.name!r}{source_positions.owner(primitive.where.module)} is defined at "
            f"{primitive.where}\n"
            f"  table {self.name!r}{source_positions.owner(self.where.module)} is defined at {self.where}; "
            "its rules by kind "
            f"serve: {known}\n"
            f"  to fix: write one beside the primitive with @{name}.rule({self.name!r}), in the table "
            f"with @rules.primitive({name}), "
            f"or in a RuleSet({self.name!r}) of a package of yours{self._by_model(name)}; "
            f"see docs/extend.md#how-a-rule-is-found{self._nearly(primitive)}"
        )
        error.missing = self, primitive  # type: ignore[attr-defined]
        return error

    def _nearly(self, primitive: Product | Primitive) -> str:
        """Lines about rules that somebody may have meant for this table and primitive."""
        said = [
            f"\n  there is a rule {one!r} beside the primitive, and no table of that name: did you mean "
            f"{self.name!r}?"
            for one in nearest(self.name, [r for r in primitive.rules if r not in all_tables()])
        ]
        bridges = self._bridges(self.name) if self._bridges is not None else find_bridges(self.name)
        for bridge in bridges:
            said += [f"\n  {bridge!r}: {words}" for words in bridge.near_misses(primitive)]
        return "".join(said)

    def _by_model(self, name: str) -> str:
        return f", or write @{name}.rule({self.model.name!r}), from which it follows" if self.model else ""

    def forget(self) -> None:
        """Drop remembered lookups, as after plugins changed."""
        self._memo.clear()
        REMEMBERING.pop(id(self), None)

    def __repr__(self) -> str:
        return f"RuleTable({self.name!r})"


class Decomposed:
    """What step 6 finds: ``parts(op, *args)`` computes the primitive by others, under the interpreter that
    asked.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: Any) -> None:
        self.parts = parts


class Through:
    """A rule that is told the interpreter, ``body(op, interpreter, args)``, and returns its values: what step
    4 finds, which takes it through the bodies (see ``bodies``), and what ``with_interpreter`` makes.
    """

    __slots__ = ("__wrapped__", "body")

    def __init__(self, body: Any) -> None:
        self.body = self.__wrapped__ = body

    def __call__(self, op: Site | Op, *payloads: Batched | str) -> Any:
        name = op.primitive.name
        raise TypeError(
            f"the rule for primitive {name!r} at {function_names.address(self.body)} needs the "
            "interpreter, and was called without one: its table has no interpreter (as 'lower' and "
            "'transpose' have none), or a rule of another table is made from it. Write it without "
            f"with_interpreter, or a rule for {name!r} in the other table"
        )


def refusing(reason: str) -> Callable[..., Any]:
    """A rule for what a transformation cannot do to a primitive: it raises ``RefusedError`` with the reason.

    Args:
      reason: why, and what to do instead; ``"random bits have no derivative"``.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.extend.transform import jvp, refusing
      >>> noise = Primitive("noise", lambda x: x)
      >>> _ = noise.rule("jvp")(refusing("random numbers have no derivative"))
      >>> jvp.lookup(noise).refusal
      'random numbers have no derivative'
    """

    def refuse(op: Op, *payloads: Dual) -> Any:
        raise RefusedError(f"{op.primitive.name!r}: {reason}")

    refuse.refusal = reason  # type: ignore[attr-defined]
    return refuse


def public_name(primitive: Product | Primitive) -> str:
    """The name of a primitive as an attribute: its own, or where that is a word of Python the one that the
    module has for it, such as ``while_`` and ``bitwise_and``.
    """
    home = vars(sys.modules.get(primitive.__module__, sys))
    if home.get(primitive.name) is primitive:
        return primitive.name
    names = [name for name, value in home.items() if value is primitive and not name.startswith("_")]
    return names[0] if names else primitive.name


def written(primitive: Product | Primitive) -> str:
    """How a program names a primitive, for messages: ``rabbet.extend.primitive.mul`` if it is core's, else by
    the module that made it.
    """
    home, name = primitive.__module__, public_name(primitive)
    if home.startswith(CORE):
        return f"rabbet.extend.primitive.{name}"
    for public, module in list(sys.modules.items()):  # where users find it: rabbet.lax.lgamma
        if public.startswith("rabbet.") and "._" not in public and vars(module).get(name) is primitive:
            return f"{public}.{name}"
    known = getattr(sys.modules.get(home), name, None) is primitive and home != "__main__"
    return f"{home}.{name}" if known else name


def unknown_types(op: Op, args: Any, out: Any) -> Any:
    """No types: what ``decomposed_types`` is until ``rabbet`` is composed."""
    return None, ()


decomposed_types = unknown_types


def no_bridges(name: Any) -> Any:
    """No third packages: what ``find_bridges`` is until ``rabbet`` is composed."""
    return ()


find_bridges = no_bridges
_names = Names("rule table")


def set_bridges(finder: Callable[..., Any]) -> None:
    """Name the function that returns the installed ``RuleSet`` objects for a table name. Called once, by
    composition.
    """
    global find_bridges
    find_bridges = finder


def set_decomposed_types(function: Callable[..., Any]) -> None:
    """Name the function that gives the types of a decomposition's results and of the shape rule: ``(op, args,
    out) -> (types or None, types)``. Called once, by composition.
    """
    global decomposed_types
    decomposed_types = function


def all_tables() -> Any:
    """Every rule table by name, in the order in which they were made.

    Example:
      >>> from rabbet.extend.transform import all_tables, jvp
      >>> all_tables()["jvp"] is jvp
      True
    """
    return _names.all()
