"""Rules for primitives as values: what tables and sets of rules have in common, and ``RuleSet``, the rules
that one package ships between two others.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import weakref
from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.errors import PluginError, RuleConflict
from rabbet.messages import function_names

if TYPE_CHECKING:
    from rabbet.primitives.elementwise import Product
    from rabbet.rules.primitive import Primitive

CORE = "rabbet.primitives"
"""The package in which the primitives of the core are made."""

REMEMBERING = weakref.WeakValueDictionary()  # by id: its references are a list in one step, a set's are not
"""The tables that remember lookups."""


class Rules:
    """Rules for primitives under one table's name, collected by decorators; a value."""

    def __init__(self, name: Any) -> None:
        self.name = name
        self._by_primitive = {}
        self.by_primitive = MappingProxyType(self._by_primitive)  # read only: `primitive` is the way in

    def primitive(self, *primitives: Any, platform: str | None = None) -> Any:
        """Decorator: the rule of this table for ``primitives``, on one platform only if it is named."""

        for primitive in primitives:
            if not hasattr(primitive, "kinds"):
                raise TypeError(
                    f"{self!r}: rules are for primitives, got {type(primitive).__name__} "
                    f"{primitive!r}. A function is interpreted "
                    f"through the primitives that it is made of; rabbet.make_jaxpr(f)(*args) shows which"
                )

        def install(function: Callable[..., Any]) -> Callable[..., Any]:
            for primitive in primitives:
                self._refuse_second_rule(primitive, platform, function)
            for primitive in primitives:
                self._by_primitive[primitive, platform] = function
            forget_lookups()
            return function

        return install

    def _refuse_second_rule(
        self, primitive: Product | Primitive, platform: str | None, function: Callable[..., Any]
    ) -> None:
        key, what = (primitive, platform), f"primitive {primitive.name!r}"
        refuse_second(self, self._by_primitive, key, function, what)


class RuleSet(Rules):
    """Rules that a third package ships for a table and primitives that it owns neither of.

    Args:
      name: the table's name, ``"batch"``.

    Example:
      >>> from rabbet.extend.transform import RuleSet, RuleTable
      >>> ours = RuleSet("weigh")
      >>> @ours.primitive(lax.sin)
      ... def weigh_sin(op, x):
      ...     return x
      >>> RuleTable("weigh", bridges=lambda name: [ours]).explain(lax.sin).source
      'bridge'
    """

    def __init__(self, name: Any) -> None:
        super().__init__(name)
        self._announced = {}  # by the primitive's name and the platform: owners and modules

    def later(self, module: str, *names: str, owner: str = CORE, platform: str | None = None) -> None:
        """Announce rules for primitives by their names, without importing anything.

        The rule for the primitive ``"lu"`` is the function ``lu`` of ``module`` (a dotted name), which is
        imported when the first of them is looked for.

        Args:
          owner: the package or module in which the primitives are made, ``"rabbet.lax.linalg"``: what their
            ``__module__`` is or lies in, which need not be where users find them. By default Rabbet's core.
          platform: for which platform the rules are; None: for all.

        Raises:
          RuleConflict: there is a rule for one of them already, or one is announced.

        Example:
          >>> rules.later("my_backend.factors", "cholesky", "lu", owner="rabbet.lax.linalg")
        """
        for name in names:
            for announced in self._announced.get((name, platform), ()):
                if _lies_in(announced.owner, owner) or _lies_in(owner, announced.owner):
                    raise RuleConflict(
                        f"{self!r} already announces a rule for primitive {name!r} of {announced.owner}, in "
                        f"{announced.module}; a second one is announced in {module}. Keep one of them."
                    )
            for (primitive, where), rule in self._by_primitive.items():
                if primitive.name == name and where == platform and _lies_in(primitive.__module__, owner):
                    raise RuleConflict(
                        f"{self!r} already has a rule for primitive {name!r} at "
                        f"{function_names.address(rule)}; a second one is announced in {module}. "
                        "Keep one of them."
                    )
        for name in names:
            self._announced.setdefault((name, platform), []).append(_Announced(owner, module))
        forget_lookups()

    def names(self) -> list[str]:
        """The names of the primitives for which ``later`` has announced rules, sorted."""
        return sorted({name for name, _ in self._announced})

    def find(self, primitive: Product | Primitive, platform: str | None = None) -> Any:
        """The rule for ``primitive``, or None; one for this very platform goes first."""
        own = self.rule_for(primitive, platform) if platform is not None else None
        return own or self.rule_for(primitive, None)

    def rule_for(self, primitive: Primitive, platform: str | None) -> Callable[..., Any] | None:
        """The rule for ``primitive`` on exactly this platform (None: on all), or None; one that was announced
        is imported now.
        """
        own = self._by_primitive.get((primitive, platform))
        if own is None:
            found = self._announced_for(primitive, platform)
            if found is not None:
                try:
                    own = announced_rule(found.module, primitive.name)
                except BrokenAnnouncement as error:
                    refuse_announced(self, error)  # raises where nobody leaves it out
                    self._announced[primitive.name, platform].remove(found)
                    return None
                self._by_primitive[primitive, platform] = own
        return own

    def problems(self, find: Callable[..., Any]) -> Any:
        """What is wrong with the rules that ``later`` has announced, a text each; for checks. Imports their
        modules, and the packages of the primitives as far as they are installed; then all rules are known.

        Args:
          find: ``find(name)`` returns the primitive of a name, or None.
        """
        found = []
        for (name, platform), entries in sorted(self._announced.items(), key=str):
            for owner, module in entries:
                try:
                    announced_rule(module, name)
                except BrokenAnnouncement as error:
                    if not _lacks(error.__cause__, owner):
                        found.append(str(error))
                    continue
                primitive = find(name)
                if primitive is None or not _lies_in(primitive.__module__, owner):
                    if not _import_whole(owner):
                        continue  # its package is not installed, and need not be
                    primitive = find(name)
                if primitive is None:
                    found.append(
                        f"it announces a rule for primitive {name!r} of {owner!r}, which makes none of "
                        "that name\n"
                        "  to fix: the name that a primitive has in programs (`python -m rabbet explain "
                        "NAME` knows them)"
                    )
                elif not _lies_in(primitive.__module__, owner):
                    found.append(not_of_owner(primitive, owner))
                else:
                    self.rule_for(primitive, platform)
        return found

    def near_misses(self, primitive: Primitive) -> list[str]:
        """What it announces for a primitive of this name that another package makes, in words."""
        return [
            not_of_owner(primitive, announced.owner)
            for (name, _), entries in self._announced.items()
            for announced in entries
            if name == primitive.name and not _lies_in(primitive.__module__, announced.owner)
        ]

    def _announced_for(self, primitive: Product | Primitive, platform: str | None) -> Any:
        for announced in self._announced.get((primitive.name, platform), ()):
            if _lies_in(primitive.__module__, announced.owner):
                return announced
        return None

    def _module_of(self, primitive: Primitive, platform: Any) -> Any:
        found = self._announced_for(primitive, platform)
        return None if found is None else found.module

    def _refuse_second_rule(
        self, primitive: Primitive, platform: str | None, function: Callable[..., Any]
    ) -> None:
        super()._refuse_second_rule(primitive, platform, function)
        module = self._module_of(primitive, platform)
        if module is not None:
            raise RuleConflict(
                f"{self!r} already announces a rule for primitive {primitive.name!r} in {module}; a second "
                f"one stands at {function_names.address(function)}. Keep one of them."
            )

    def __repr__(self) -> str:
        announced = sum(map(len, self._announced.values()))
        return f"RuleSet({self.name!r}, {len(self.by_primitive)} rules, {announced} announced)"


class _Announced(NamedTuple):
    """Where the rule for a primitive of ``owner`` will be found."""

    owner: str
    module: str


class BrokenAnnouncement(PluginError):
    """The rule that a ``RuleSet`` has announced is not where it should be."""


def announced_rule(module: str, name: str) -> Any:
    """The function ``name`` of a module, imported now."""
    try:
        loaded = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise BrokenAnnouncement(
            f"it announces the rule for primitive {name!r} in the module {module!r}, whose import raised "
            f"{type(error).__name__}: {error}\n"
            "  to fix: the first argument of RuleSet.later is a module's dotted name"
        ) from error
    rule = getattr(loaded, name, None)
    if rule is None and getattr(loaded.__spec__, "_initializing", False):
        raise ImportError(f"the rule for {name!r} was asked for while {module!r} was still being imported")
    if not callable(rule):
        raise BrokenAnnouncement(
            f"it announces the rule for primitive {name!r} in the module {module!r}, which has no function "
            f"of that name\n  to fix: def {name}(op, *payloads) in {module}"
        )
    return rule


def _lacks(error: Any, owner: str) -> bool:
    """Whether an import failed because the package of the primitives is not installed, which need not be."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return name is not None and _lies_in(owner, name)


def not_of_owner(primitive: Primitive, owner: str) -> str:
    """What to say of a rule announced for a primitive of another owner."""
    made = primitive.__module__
    right = made if made.startswith("rabbet.") else made.partition(".")[0]
    right = CORE if _lies_in(made, CORE) else right
    return (
        f"it announces a rule for primitive {primitive.name!r} of {owner!r}; that primitive is made in "
        f"{made}\n"
        f"  to fix: RuleSet.later(..., owner={right!r})"
    )


def _import_whole(package: Any) -> Any:
    """Import a package with all modules in it; False if there is none. What cannot be imported is left."""
    try:
        loaded = importlib.import_module(package)
    except Exception:
        return False
    for one in pkgutil.walk_packages(
        getattr(loaded, "__path__", []), f"{package}.", onerror=lambda name: None
    ):
        with contextlib.suppress(Exception):
            importlib.import_module(one.name)
    return True


def raise_it(rule_set: Any, error: Any) -> Any:
    """What becomes of an announced rule that is not there, until ``rabbet`` is composed."""
    raise error


refuse_announced = raise_it


def set_refusal(function: Callable[..., Any]) -> None:
    """Name who is told of an announced rule that is not there: ``function(rule_set, error)``. Called once, by
    composition.
    """
    global refuse_announced
    refuse_announced = function


def _lies_in(module: str, package: str) -> bool:
    """Whether a dotted name is that of a package or of something inside it."""
    return module == package or module.startswith(f"{package}.")


def forget_lookups() -> bool:
    """Drop all remembered lookups, because a rule was added; whether there were any."""
    tables = [table for reference in REMEMBERING.valuerefs() if (table := reference()) is not None]
    for table in tables:
        table.forget()
    return bool(tables)


def refuse_second(
    table: Any, rules: Any, key: tuple[Any, ...] | str, function: Callable[..., Any], what: str
) -> None:
    if key in rules:
        raise RuleConflict(
            f"{table!r} already has a rule for {what} at {function_names.address(rules[key])}; "
            f"a second one stands at {function_names.address(function)}. Keep one of them."
        )
