"""Where the parts meet: the one place that knows both the tiers below and the plugins.

Lower tiers leave places open (who evaluates, who knows further dtypes, rules, passes and hooks);
``compose`` fills them, once, when ``rabbet`` is imported. It imports no plugin: each place holds a function
that looks among the installed packages when it is first asked.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax, passes
from rabbet.config import CORE_SETTINGS, config, log_levels
from rabbet.dtypes import host_formats, unknown_names
from rabbet.errors import ConfigError, PluginError, RuleConflict
from rabbet.lax import operators, plugin_functions
from rabbet.lowering import dtype_codes, extended_dtypes
from rabbet.messages import function_names, second_looks, source_positions, tracebacks
from rabbet.messages.spelling import nearest
from rabbet.messages.tracebacks import folded
from rabbet.primitives import batching, standard
from rabbet.primitives.contracts import decomposed_types
from rabbet.program import context
from rabbet.rules import contracts, failures, primitive, rule_sets, tables
from rabbet.rules.rule_sets import forget_lookups
from rabbet.runtime import host_programs
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.evaluation import EVALUATION, default_moves
from rabbet.runtime.execution import frames, nan_checks
from rabbet.runtime.housekeeping import clear_caches
from rabbet.runtime.platforms import backends, hook_calls
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.dtypes.specs import DTypeSpec
    from rabbet.passes.pipeline import Pass
    from rabbet.rules.rule_sets import RuleSet
    from rabbet.typing import Value

# The standard tables exist as soon as core does: interpreters of plugins look them up by name.
STANDARD_TABLES = (standard.lower, standard.jvp, standard.transpose, standard.batch)

# The settings whose names in ``rabbet`` are context managers: ``rb.enable_x64``.
CONTEXTS = frozenset(setting.name for setting in CORE_SETTINGS if setting.context)


def compose() -> None:
    """Fill the places that the lower tiers leave open."""
    context.set_bottom(EVALUATION)
    operators.give_to(Array, Tracer, array_methods, array_format)
    dtypes.use_finder(find_dtype, dtype_names, refuse_dtype)
    unknown_names.advice = dtype_advice
    tables.set_decomposed_types(decomposed_types)
    config.watch("enable_checks", check_rules)
    plugin_functions.use_finder(lax_function, lax_names)
    plugin_functions.use_loops(find_loops)
    frames.find_frames(find_frames)
    extended_dtypes.use_batching(standard.batch, batching.move_axis, lax.reshape)
    dtype_codes.use_operations(lax)
    host_formats.evaluate_with(host_programs.evaluate)
    tables.set_bridges(find_rule_sets)
    rule_sets.set_refusal(refuse_announced)
    failures.set_official(official_packages)
    passes.set_finder(find_passes, refuse_pass)
    backends.set_manager(manager, providers)
    config.use_finder(find_settings, settings_not_installed)
    source_positions.find_packages_with(plugin_packages)
    second_looks.use_check(nan_checks.check_results, lambda: bool(context.context.interpreter.executes))
    tracebacks.ways_of(lambda: config.traceback)
    hook_calls.set_notifier(notify_hooks, has_hooks, implements_hook)
    passes.set_teller(hook_calls.tell_hooks, lambda: hook_calls.is_implemented("pass_finished"))
    for name in ("debug_nans", "debug_infs", "no_execution"):
        # What is compiled checks its results or refuses to run, or does not, for good.
        config.watch(name, clear_caches)
    for name in ("default_device", "default_sharding"):
        config.watch(name, default_moves)
    config.observe_with(observe)
    log_levels.follow()


def observe(setting: Any) -> None:
    """Put the observer of a setting at the bottom while it is on; few programs have one."""
    from rabbet.runtime.observed import follow

    follow(setting)


def manager() -> Any:
    """The plugin manager of the process."""
    from rabbet.plugins.manager import default_manager

    return default_manager()


def official_packages() -> frozenset[Any]:
    """The names of Rabbet's own distributions."""
    from rabbet.plugins import catalogue

    return catalogue.official_packages()


@functools.cache
def plugin_packages() -> frozenset[Any]:
    """The import packages of the installed plugins, without the namespaces that they share."""
    from rabbet.plugins import discovery

    try:
        plugins = manager()
    except ConfigError:  # a setting that cannot be read is an error where a plugin is asked for
        return frozenset()
    records = [one for group in discovery.GROUPS for one in plugins.listed(group)]
    modules = [discovery.module_of(one.entry_point) for one in records]
    return frozenset(module.partition(".")[0] for module in modules) - {"rabbet", ""}


def find_settings(everything: bool) -> None:
    """Define the settings that packages bring, those of backends only if ``everything`` is asked for. A
    package whose settings cannot be used is left out, with a warning.
    """
    group = "rabbet.settings"
    with contextlib.suppress(ConfigError):  # one that cannot be read is an error where a plugin is asked for
        for name in manager().names(group):
            for found in manager().get_all(group, name):
                config.define_all(found, lambda error, name=name: refuse(group, name, "the settings", error))
    if everything:
        load_backends()


def settings_not_installed() -> list[Any]:
    """What to say of packages that would bring settings: first-party ones that are not installed, and those
    that are left out.
    """
    plugins, group = manager(), "rabbet.settings"
    installed = plugins.names(group)
    said = [
        f"{package}, which is not installed, has more"
        for name, package in providers(group).items()
        if name not in installed
    ]
    broken = [record for record in plugins.listed(group) if record.broken]
    see = "see `python -m rabbet doctor`"
    return said + [f"{one.title}, which has more, cannot be used: {see}" for one in broken]


def refuse(group: Any, name: Any, what: Any, reason: Any) -> None:
    """Leave out an installed object that does not fit to what else is there, and say so, once.

    Args:
      what: what it is, for the message: "the pass".
      reason: an exception, or its text.
    """
    for record in manager().records(group, name):
        if not record.broken:
            error = PluginError(f"{what} {name!r} of {record.title}: left out\n  {reason}")
            manager().fail(record, error, "invalid")
            manager().warn(record, error)


def put_to_use() -> Any:
    """Put everything that is installed where it belongs, as if all of it were used, so that what does not fit
    is refused. For ``rabbet doctor``, which shows what was.

    Returns:
      further checks, ``(label, ok, detail)``, of what is not a single package's mistake.
    """
    plugins = manager()
    config.find_all()
    for name in plugins.names("rabbet.settings"):
        for found in plugins.get_all("rabbet.settings", name, quiet=True):
            for alias, missing in config.loose_aliases(found):
                reason = (
                    f"the Alias {alias.name!r} means the setting {missing!r}, which does not exist\n"
                    "  to fix: let it name a setting of Rabbet's or of this list"
                )
                refuse("rabbet.settings", name, "the settings", reason)
    passes.all_passes()
    for name in dtype_names():
        with contextlib.suppress(PluginError, TypeError):
            dtypes.find(name)
    if has_hooks():
        from rabbet.plugins.hooks import default_hooks

        default_hooks().prepare()
    checks = []
    for record in plugins.records("rabbet.rules"):
        if record.status == "loaded":
            for problem in record.object.problems(primitive.find):
                refuse_announced(record.object, problem)
            checks += of_unknown_table(record)
            checks += of_unused_rules(record)
    for platform in backends.default_registry().installed():
        with contextlib.suppress(PluginError):
            backend = backends.default_registry().get(platform)
            for problem in backend.lowerings.problems(primitive.find) if backend.lowerings else ():
                checks.append((f"backends.{platform}", False, f"of its lowerings: {problem}"))
    return checks


def of_unknown_table(record: Any) -> Iterator[Any]:
    """A check of a RuleSet for a table that no package has made here, if there is something to say."""
    known = tables.all_tables()
    if record.name in known:
        return
    near = nearest(record.name, known, n=1)
    hint = (
        f": did you mean {near[0]!r}?" if near else ", which may be that of a package that is not installed"
    )
    detail = f"{record.title}\nits rules are for a table {record.name!r} that no package makes{hint}"
    yield f"rules.{record.name}", False if near else None, detail


def of_unused_rules(record: Any) -> Iterator[Any]:
    """A check for each rule of a RuleSet that a lookup does not find, and one where two packages bring it."""
    table = tables.all_tables().get(record.name)
    for (one, platform), rule in record.object.by_primitive.items() if table is not None else ():
        try:
            found = table.explain(one, platform)
        except RuleConflict as error:
            yield f"rules.{record.name}", False, f"{record.title}\n{error}"
            continue
        if found.rule is not rule:
            detail = (
                f"its rule for {one!r} ({function_names.address(rule)}) is never used: the one of the "
                f"{found.source} goes before it\n  to fix: take it out"
            )
            yield f"rules.{record.name}", False, f"{record.title}\n{detail}"


def refuse_announced(rules: Any, error: Any) -> None:
    """Leave out a RuleSet whose announced rules are not there, and say whose it is. One that no entry point
    brings, such as a backend's, is an error.
    """
    for record in manager().records("rabbet.rules"):
        if record.object is rules:
            wrong = PluginError(f"the rules {record.name!r} of {record.title}: left out\n  {error}")
            manager().fail(record, wrong, "invalid")
            manager().warn(record, wrong)
            return
    raise PluginError(f"{rules!r}: {error}")


def load_backends() -> None:
    """Load the installed backends for the settings that they bring."""
    registry = backends.default_registry()
    for platform in registry.installed():
        with contextlib.suppress(PluginError):
            registry.get(platform)


def dtype_advice(name: str) -> str | None:
    """What to type for a dtype of one of our packages that is not installed."""
    from rabbet.plugins import catalogue, installing  # for messages alone

    home = catalogue.provider("rabbet.dtypes", name)
    return None if home is None else installing.command(home)


@functools.cache
def array_methods() -> Any:
    """The object whose functions are the methods of arrays, such as ``x.sum``; asked for by each of them."""
    return public_name("Array.methods")


def array_format(x: Value) -> Any:
    """What ``x.format`` is, which a plugin knows."""
    return public_name("Array.format")(x)


def lax_function(name: str) -> Any:
    """What ``rabbet.lax.<name>`` is: a module of core that nobody has used yet, or what a plugin offers."""
    from rabbet.plugins import public_names

    return public_names.for_users(f"lax.{name}", public_names.resolve(f"lax.{name}"))


def lax_names() -> list[str]:
    """The names that plugins add to ``rabbet.lax``."""
    from rabbet.plugins import public_names

    return public_names.names(within="lax")


def providers(group: str) -> dict[Any, Any]:
    """What to install for the names of an entry-point group, as far as Rabbet's own packages offer them."""
    from rabbet.plugins import catalogue

    return catalogue.offers()[group]


def check_rules() -> None:
    """From the first time on that ``config.enable_checks`` is on, rules look at what they return."""
    if config.enable_checks and contracts.turn_on():
        forget_lookups()


def find_dtype(name: str) -> DTypeSpec | None:
    """The ``DTypeSpec`` that an installed package offers under this name, or None."""
    plugins = manager()
    return plugins.get("rabbet.dtypes", name) if name in plugins.names("rabbet.dtypes") else None


def refuse_dtype(name: Any, reason: Any) -> None:
    """Leave out an installed dtype that does not fit to the others; an error for whoever asked for it."""
    refuse("rabbet.dtypes", name, "the dtype", reason)
    find_dtype(name)


def dtype_names() -> Any:
    """The names of the dtypes that installed packages offer."""
    return manager().names("rabbet.dtypes")


def find_rule_sets(table: str) -> list[RuleSet] | tuple[Any, ...]:
    """The ``RuleSet`` objects of third packages for a table."""
    plugins = manager()
    return plugins.get_all("rabbet.rules", table) if table in plugins.names("rabbet.rules") else ()


def find_loops() -> tuple[list[Any], list[str]]:
    """What installed packages have for loops that keep few states, and which packages of Rabbet's do."""
    return manager().objects("rabbet.loops"), sorted(set(providers("rabbet.loops").values()))


def find_frames() -> list[Any]:
    """What installed packages make frames of compiled functions with."""
    return manager().objects("rabbet.frames")


def find_passes() -> list[Pass]:
    """The ``Pass`` objects of installed packages; a broken one is left out (``rabbet doctor`` shows it)."""
    return manager().objects("rabbet.passes")


def refuse_pass(name: Any, reason: Any) -> None:
    """Leave out an installed pass, and say so."""
    refuse("rabbet.passes", name, "the pass", reason)


def has_hooks() -> Any:
    """Whether any installed package offers hooks."""
    return bool(manager().names("rabbet.hooks"))


def implements_hook(hook: str) -> bool:
    """Whether an installed hook plugin has this hook."""
    from rabbet.plugins.hooks import default_hooks

    return default_hooks().implements(hook)


def notify_hooks(hook: str, **facts: Any) -> None:
    """Tell the installed hook plugins; where there are none, the machinery for them is not even imported."""
    if "rabbet.plugins.hooks" in sys.modules or has_hooks():  # the second takes as long as a small program
        from rabbet.plugins.hooks import notify

        notify(hook, **facts)


def public_name(name: str) -> Any:
    """The object behind ``rabbet.<name>``: a setting's context manager of core, or what a plugin offers."""
    if name in CONTEXTS:
        return folded(config.context(name))
    from rabbet.plugins import public_names

    return public_names.resolve(name)
