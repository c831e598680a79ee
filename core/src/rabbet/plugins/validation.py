"""Whether what an entry point names is what its group is for: asked once, when the object is loaded.

A plugin that fails here is skipped like one whose import failed: everybody else works, and whoever asks for
its name, or runs ``rabbet doctor``, is told what to change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from rabbet.messages.signal_errors import is_of_handler

if TYPE_CHECKING:
    from rabbet.config.setting import Alias, Setting
    from rabbet.dtypes.specs import DTypeSpec
    from rabbet.passes.pipeline import Pass
    from rabbet.rules.rule_sets import RuleSet


def problem(group: str, name: str, loaded: Any) -> str | None:
    """What is wrong with the object behind an entry point, and what to change; None if nothing is.

    Args:
      group: the entry-point group, ``"rabbet.passes"``.
      name: the entry point's name.
      loaded: the object that it names.
    """
    check = CHECKS.get(group)
    try:
        return None if check is None else check(name, loaded)
    except (Exception, SystemExit) as error:  # the object's own code ran: a property, a __getattr__
        if is_of_handler(error):
            raise
        return (
            f"it names a {type(loaded).__name__} that cannot be looked at: {type(error).__name__}: {error}\n"
            "  to fix: let its attributes be read without an exception"
        )


def wrong_type(loaded: Any, wanted: str, door: str, example: str) -> str:
    """The sentence for an object of another type."""
    return (
        f"it names a {type(loaded).__name__}, {_shortened(loaded)}, and must name a {wanted} "
        f"(rabbet.extend.{door}.{wanted})\n  to fix: let the entry point name an object such as {example}"
    )


def core_has_it(what: str) -> str:
    """The sentence for a name that is taken."""
    return f"core has a {what} itself\n  to fix: another name"


def another_name(loaded_name: Any, name: Any, what: Any) -> Any:
    """The sentence for an object that has another name than its entry point."""
    return (
        f"the {what} that it names is called {loaded_name!r}, the entry point {name!r}\n"
        f"  to fix: give both the same name"
    )


def check_api(name: str, loaded: Any) -> Any:
    """A public name: a function, a class, a module, or any other value but None."""
    if loaded is None:
        return (
            "it names None, and must name a function, a class or a module\n"
            "  to fix: the value of the entry point is `module:function` or `module`"
        )
    return None


def check_backend(name: str, loaded: Any) -> str | None:
    """A platform: a ``Backend`` of that name."""
    from rabbet.runtime.platforms.backends import Backend

    if not isinstance(loaded, Backend):
        return wrong_type(loaded, "Backend", "backend", f'BACKEND = Backend("{name}", priority=10, ...)')
    if loaded.platform != name:
        return another_name(loaded.platform, name, "Backend")
    if not isinstance(loaded.priority, (int, float)):
        return f"its priority is {loaded.priority!r}\n  to fix: a number; the CPU's is 0"
    for field in ("make_client", "obstacle"):
        if not callable(getattr(loaded, field)):
            return f"its {field} is {getattr(loaded, field)!r}, which cannot be called\n  to fix: a function"
    return None


def check_calls(name: Any, loaded: Any) -> Any:
    """Native functions for others' platforms: a ``NativeCalls`` of that name."""
    from rabbet.runtime.platforms.native_calls import NativeCalls

    if not isinstance(loaded, NativeCalls):
        return wrong_type(loaded, "NativeCalls", "native", f'CALLS = NativeCalls("{name}", ("{name}_*",))')
    if loaded.name != name:
        return another_name(loaded.name, name, "NativeCalls")
    if isinstance(loaded.targets, str) or not callable(loaded.provide):
        return "its targets or its provide cannot be used\n  to fix: a tuple of names, and a function"
    return None


def check_loops(name: Any, loaded: Any) -> Any:
    """Loops that keep few states: an object with the two functions that core hands its own to."""
    wanted = ("while_keeping_few", "scan_keeping_few")
    lacks = [one for one in wanted if not callable(getattr(loaded, one, None))]
    if lacks:
        return (
            f"{_shortened(loaded)} lacks {' and '.join(lacks)}\n"
            "  to fix: give it both, as docs/extend.md says for rabbet.loops"
        )
    return None


def check_dtype(name: str, loaded: DTypeSpec) -> str | None:
    """A dtype: a ``DTypeSpec`` of that name."""
    from rabbet.dtypes import DTypeSpec
    from rabbet.dtypes.specs import CORE_SPECS, KINDS

    if name in {one.name for one in CORE_SPECS}:
        return core_has_it(f"dtype {name!r}")
    if not isinstance(loaded, DTypeSpec):
        return wrong_type(loaded, "DTypeSpec", "dtype", f'{name} = DTypeSpec("{name}", ...)')
    if loaded.name != name:
        return another_name(loaded.name, name, "DTypeSpec")
    for field in ("above", "below"):
        value = getattr(loaded, field)
        if isinstance(value, str) or not all(isinstance(one, str) for one in value):
            return f"its {field!r} is {value!r}\n  to fix: write a tuple of names, such as ({value!r},)"
    if loaded.kind not in KINDS:
        return f"its kind is {loaded.kind!r}\n  to fix: write one of the kinds {', '.join(KINDS)}"
    if loaded.overflow not in (None, "infinity", "nan", "saturate"):
        return (
            f"its overflow is {loaded.overflow!r}\n  to fix: write 'infinity', 'nan' or 'saturate'; without "
            "it the format's infinities and NaN decide"
        )
    try:
        own = loaded.dtype
    except TypeError as error:
        return (
            f"NumPy does not know its numpy_dtype {loaded.numpy_dtype!r} ({error})\n"
            "  to fix: give a NumPy dtype or a scalar type that NumPy can store, such as those of ml_dtypes"
        )
    if loaded.kind in "iufc":
        try:
            ends = loaded.smallest, loaded.largest
        except Exception as error:
            if is_of_handler(error):
                raise
            if loaded.finfo is None and loaded.decode is not None:
                return (
                    f"its decode raises {type(error).__name__}: {error} ({address(loaded.decode)})\n"
                    f"  to fix: it is a function of an array of {loaded.codes} that returns {loaded.compute}"
                )
            return (
                f"its limits cannot be read ({type(error).__name__}: {error})\n"
                f"  to fix: give finfo=lambda: ..., what finfo or iinfo of {own} answers: min, max, bits"
            )
        if not ends[0] < ends[1]:
            return f"its smallest number {ends[0]} is not below its largest {ends[1]}\n  to fix: its finfo"
    if own.name != name and own.names != (name,):  # of a format that NumPy does not know, its only field
        return (
            f"NumPy calls its numpy_dtype {own.name!r}, and arrays of it are looked up by that name\n"
            f"  to fix: call the DTypeSpec and the entry point {own.name!r}, or register a NumPy dtype of "
            "your own"
        )
    return None


def check_rules(name: str, loaded: RuleSet) -> str | None:
    """Rules for a table: a ``RuleSet`` of the table's name, whose rules can be called as rules are."""
    from rabbet.rules.rule_sets import RuleSet

    if not isinstance(loaded, RuleSet):
        return wrong_type(loaded, "RuleSet", "transform", f'rules = RuleSet("{name}")')
    if loaded.name != name:
        return another_name(loaded.name, name, "RuleSet")
    for (primitive, _), rule in loaded.by_primitive.items():
        if not takes(rule, 1):
            return (
                f"its rule for {primitive!r} ({address(rule)}) cannot be called as rule(op, *payloads)\n"
                "  to fix: let it take the operator first and then one payload for each operand"
            )
    return None


def check_rule_maker(name: str, loaded: Callable[..., Any]) -> Any:
    """How rules of ``rb.custom_rules`` for a table are made: a function of a call and what the user wrote."""
    if not callable(loaded) or not takes(loaded, 2):
        return (
            f"it names {_shortened(loaded)}, which cannot be called as make(call, function)\n"
            "  to fix: let it name a function of the call and the user's rule that returns a CustomRule"
        )
    return None


def check_pass(name: str, loaded: Pass | Callable[..., Any]) -> str | None:
    """A pass: a ``Pass`` of that name whose function takes a program and a context."""
    from rabbet.passes.pipeline import DEAD_CODE, Pass

    if name == DEAD_CODE.name:
        return core_has_it(f"pass {name!r}")
    if not isinstance(loaded, Pass):
        return wrong_type(loaded, "Pass", "passes", f'PASS = Pass("{name}", run)')
    if loaded.name != name:
        return another_name(loaded.name, name, "Pass")
    if not callable(loaded.run) or not takes(loaded.run, 2):
        return (
            f"its function ({address(loaded.run)}) cannot be called as run(jaxpr, context)\n"
            "  to fix: let it take a Jaxpr and a PassContext, and return a Jaxpr"
        )
    for field in ("after", "before", "platforms"):
        value = getattr(loaded, field)
        if isinstance(value, str) or not all(isinstance(one, str) for one in value or ()):
            return f"its {field!r} is {value!r}\n  to fix: write a tuple of names, such as ({value!r},)"
    return None


def check_hooks(name: str, loaded: Any) -> str | None:
    """Hook implementations: a module or an object with functions marked as such, of hooks that there are."""
    from rabbet.plugins import hookspecs

    known, found = hookspecs.hook_names(), []
    for attribute in dir(loaded):
        if getattr(getattr(loaded, attribute, None), "rabbet_impl", None) is not None:
            found.append(attribute)
    if not found:
        return (
            f"{_shortened(loaded)} has no function marked with @rabbet.extend.hooks.hookimpl\n"
            f"  the hooks are {', '.join(known)}"
        )
    wrong = [
        said for said in (wrong_facts(getattr(loaded, one), one) for one in found if one in known) if said
    ]
    if wrong:
        return wrong[0]
    unknown = [one for one in found if one not in known]
    if unknown:
        import difflib

        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the hooks are {', '.join(known)}"
        return f"there is no hook {unknown[0]!r}\n  to fix: {hint}"
    return None


def wrong_facts(function: Callable[..., Any], hook: str) -> str | None:
    """What is wrong with the arguments of a hook's implementation; None if nothing is."""
    from rabbet.plugins import hookspecs

    facts = hookspecs.facts(hook)
    wanted = [
        p.name for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]  # fmt: skip
    unknown = [one for one in wanted if one not in facts]
    if not unknown:
        return None
    return (
        f"its hook {hook} ({address(function)}) takes {', '.join(map(repr, unknown))}, which that hook is "
        f"not given\n  to fix: take any of {', '.join(facts) or 'no arguments'}, by these names"
    )


def check_settings(name: str, loaded: list[Alias | Setting] | tuple[Setting, ...]) -> Any:
    """Settings: each a ``Setting``, or an ``Alias`` of one."""
    from rabbet.config import Alias, Setting

    given = loaded if isinstance(loaded, (list, tuple)) else [None]
    wrong = [loaded if one is None else one for one in given if not isinstance(one, (Setting, Alias))]
    if wrong:
        return (
            f"it names {_shortened(wrong[0])} among its settings\n"
            "  to fix: let the entry point name a list of rabbet.extend.backend.Setting and Alias"
        )
    names = [one.name for one in loaded]
    for one in loaded:
        said = wrong_setting(one)
        if said is None and names.count(one.name) > 1:
            said = "is there twice\n  to fix: keep one of them"
        if said is not None:
            return f"its {type(one).__name__} {one.name!r} {said}"
    return None


def wrong_setting(one: Alias | Setting) -> Any:
    """What is wrong with a ``Setting`` or an ``Alias``; None if nothing is."""
    from rabbet.config import CORE_SETTINGS, Alias, Config

    if not isinstance(one.name, str) or not one.name.isidentifier():
        return "has no name that Python can write\n  to fix: a name such as 'toaster_slots'"
    if one.name in {core.name for core in CORE_SETTINGS} or hasattr(Config, one.name):
        return f"has a name that rb.config has itself\n  to fix: another name, such as 'my_{one.name}'"
    functions = ("given", "shown") if isinstance(one, Alias) else ("parse",)
    for field in functions:
        function = getattr(one, field)
        if not callable(function) or not takes(function, 1):
            return (
                f"has {field}={_shortened(function)}, which cannot be called on a value\n  to fix: a "
                "function "
                "of what users give, such as `int`, that raises ValueError for what it does not take"
            )
    if isinstance(one, Alias):
        if not one.settings or not all(isinstance(name, str) for name in one.settings):
            return f"means {one.setting!r}\n  to fix: the name of a setting, or a tuple of names"
    elif not isinstance(one.doc, str):
        return f"has doc={_shortened(one.doc)}\n  to fix: a sentence"
    return None


def check_command(name: Any, loaded: Any) -> Any:
    """A subcommand: a module, or another object, with its help and two functions."""
    functions = [name for name in ("add_arguments", "run") if not callable(getattr(loaded, name, None))]
    lacks = functions if isinstance(getattr(loaded, "HELP", None), str) else ["HELP", *functions]
    if lacks:
        return (
            f"{_shortened(loaded)} is not a command: it lacks {', '.join(lacks)}\n"
            "  to fix: give it HELP, a text, add_arguments(parser), and run(args) -> exit status"
        )
    return None


def check_check(name: Any, loaded: Any) -> Any:
    """A check of the doctor: a function of the plugin manager."""
    if not takes(loaded, 1):
        return (
            f"{_shortened(loaded)} cannot be called as check(manager)\n"
            "  to fix: name a generator function of the plugin manager that yields (label, ok, detail)"
        )
    return None


def check_frames(name: Any, loaded: Any) -> Any:
    """What offers frames: a function of the ``FrameParts``."""
    if not takes(loaded, 1):
        return (
            f"{_shortened(loaded)} cannot be called as offer(parts)\n"
            "  to fix: name a function of rabbet.extend.wrapping.FrameParts that returns a callable or None"
        )
    return None


CHECKS = {
    "rabbet.api": check_api,
    "rabbet.backends": check_backend,
    "rabbet.calls": check_calls,
    "rabbet.loops": check_loops,
    "rabbet.dtypes": check_dtype,
    "rabbet.rules": check_rules,
    "rabbet.custom_rules": check_rule_maker,
    "rabbet.passes": check_pass,
    "rabbet.settings": check_settings,
    "rabbet.commands": check_command,
    "rabbet.checks": check_check,
    "rabbet.frames": check_frames,
    "rabbet.hooks": check_hooks,
}


def takes(function: Callable[..., Any] | type, count: int) -> bool:
    """Whether a function can be called with ``count`` positional arguments, or with more."""
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        code, flags = function.__code__, inspect.CO_VARARGS  # `signature` takes 20 us to say the same
        needs_more = code.co_kwonlyargcount > len(function.__kwdefaults__ or ())
        return (code.co_argcount >= count or bool(code.co_flags & flags)) and not needs_more
    if function in (bool, int, float, str):
        return count == 1
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C: nothing is known of it
        return callable(function)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    needs = any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    return (any_number or len(positional) >= count) and not needs


def address(function: Callable[..., Any]) -> Any:
    """Where a function stands, for messages."""
    from rabbet.messages.function_names import address

    return address(function)


def _shortened(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    try:
        text = repr(value)
    except Exception as error:
        text = f"an object whose repr raises {type(error).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


__all__ = ["problem"]
