"""Where the parts meet: the one place that knows both the tiers below and the plugins.

Lower tiers leave places open (who evaluates, who knows further dtypes, rules, passes and hooks);
``compose`` fills them, once, when ``rabbet`` is imported. It imports no plugin: each place holds a function
that looks among the installed packages when it is first asked.
"""

import contextlib
import functools

from rabbet import dtypes, passes
from rabbet.config import CORE_SETTINGS, config, log_levels
from rabbet.errors import ConfigError, PluginError
from rabbet.lax import from_plugins, operators
from rabbet.lowering import extended
from rabbet.messages import source_positions, tracebacks
from rabbet.messages.tracebacks import folded
from rabbet.primitives import batching, standard
from rabbet.primitives.contracts import decomposed_types
from rabbet.program import context
from rabbet.rules import contracts, tables
from rabbet.rules.rule_sets import forget_lookups
from rabbet.runtime import backends, hook_calls
from rabbet.runtime.array import Array
from rabbet.runtime.evaluation import EVALUATION
from rabbet.runtime.housekeeping import clear_caches
from rabbet.trace.interpreter import Tracer

# The standard tables exist as soon as core does: interpreters of plugins look them up by name.
STANDARD_TABLES = (standard.lower, standard.jvp, standard.transpose, standard.batch)

# The settings whose names in ``rabbet`` are context managers: ``rb.enable_x64``.
CONTEXTS = frozenset(setting.name for setting in CORE_SETTINGS if setting.context)


def compose():
    """Fill the places that the lower tiers leave open."""
    context.set_bottom(EVALUATION)
    operators.give_to(Array, Tracer, array_methods)
    dtypes.use_finder(find_dtype, dtype_names)
    tables.set_decomposed_types(decomposed_types)
    config.watch("enable_checks", check_rules)
    from_plugins.use_finder(lax_function, lax_names)
    extended.use_batching(standard.batch, batching.move_axis)
    tables.set_bridges(find_rule_sets)
    passes.set_finder(find_passes, refuse_pass)
    backends.set_manager(manager, providers)
    config.use_finder(find_settings, settings_not_installed)
    source_positions.find_packages_with(plugin_packages)
    tracebacks.full_if(lambda: config.traceback == "full")
    hook_calls.set_notifier(notify_hooks, has_hooks)
    for name in ("debug_nans", "debug_infs"):
        # What is compiled checks its results, or does not, for good.
        config.watch(name, clear_caches)
    log_levels.follow()


def manager():
    """The plugin manager of the process."""
    from rabbet.plugins.manager import default_manager

    return default_manager()


@functools.cache
def plugin_packages():
    """The import packages of the installed plugins, without the namespaces that they share."""
    from rabbet.plugins import discovery

    try:
        plugins = manager()
    except ConfigError:  # a setting that cannot be read is an error where a plugin is asked for
        return frozenset()
    records = [one for group in discovery.GROUPS for one in plugins.listed(group)]
    return frozenset(one.entry_point.module.partition(".")[0] for one in records) - {"rabbet"}


def find_settings(everything):
    """Define the settings that packages bring, those of backends only if ``everything`` is asked for. A
    broken package says so where it is used.
    """
    with contextlib.suppress(ConfigError):  # one that cannot be read is an error where a plugin is asked for
        for name in manager().names("rabbet.settings"):
            with contextlib.suppress(PluginError):
                for one in manager().get("rabbet.settings", name):
                    config.define(one)
    if everything:
        load_backends()


def settings_not_installed():
    """The first-party packages that would bring settings."""
    installed = manager().names("rabbet.settings")
    return [package for name, package in providers("rabbet.settings").items() if name not in installed]


def load_backends():
    """Load the installed backends for the settings that they bring."""
    registry = backends.default_registry()
    for platform in registry.installed():
        with contextlib.suppress(PluginError):
            registry.get(platform)


@functools.cache
def array_methods():
    """The object whose functions are the methods of arrays, such as ``x.sum``; asked for by each of them."""
    return public_name("Array.methods")


def lax_function(name):
    """What ``rabbet.lax.<name>`` is: a module of core that nobody has used yet, or what a plugin offers."""
    from rabbet.plugins import api

    return api.for_users(f"lax.{name}", api.resolve(f"lax.{name}"))


def lax_names():
    """The names that plugins add to ``rabbet.lax``."""
    from rabbet.plugins import api

    return api.names(within="lax")


def providers(group):
    """What to install for the names of an entry-point group, as far as Rabbet's own packages offer them."""
    from rabbet.plugins import catalogue

    return catalogue.offers()[group]


def check_rules():
    """From the first time on that ``config.enable_checks`` is on, rules look at what they return."""
    if config.enable_checks and contracts.turn_on():
        forget_lookups()


def find_dtype(name):
    """The ``DTypeSpec`` that an installed package offers under this name, or None."""
    plugins = manager()
    return plugins.get("rabbet.dtypes", name) if name in plugins.names("rabbet.dtypes") else None


def dtype_names():
    """The names of the dtypes that installed packages offer."""
    return manager().names("rabbet.dtypes")


def find_rule_sets(table):
    """The ``RuleSet`` objects of third packages for a table."""
    plugins = manager()
    return plugins.get_all("rabbet.rules", table) if table in plugins.names("rabbet.rules") else ()


def find_passes():
    """The ``Pass`` objects of installed packages; a broken one is left out (``rabbet doctor`` shows it)."""
    return manager().objects("rabbet.passes")


def refuse_pass(name, reason):
    """Leave out an installed pass, and say so."""
    for record in manager().records("rabbet.passes", name):
        error = PluginError(f"the pass {name!r} of {record.title} is left out: {reason}")
        manager().fail(record, error, "invalid")
        manager().warn(record, error)


def has_hooks():
    """Whether any installed package offers hooks."""
    return bool(manager().names("rabbet.hooks"))


def notify_hooks(hook, **facts):
    """Tell the installed hook plugins; where there are none, the machinery for them is not even imported."""
    if has_hooks():
        from rabbet.plugins.hooks import notify

        notify(hook, **facts)


def public_name(name):
    """The object behind ``rabbet.<name>``: a setting's context manager of core, or what a plugin offers."""
    if name in CONTEXTS:
        return folded(config.context(name))
    from rabbet.plugins import api

    return api.resolve(name)
