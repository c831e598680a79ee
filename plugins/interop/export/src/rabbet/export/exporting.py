"""From a jitted function and argument types to an ``Exported``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import rabbet as rb
from rabbet import config, dtypes, tree
from rabbet.export.checks import DisabledSafetyCheck, check_targets
from rabbet.export.devices import laid
from rabbet.export.errors import ExportError
from rabbet.export.exported import READABLE, Exported
from rabbet.export.modules import leaf_name, module_of
from rabbet.export.stable_calls import in_stable_form
from rabbet.extend.backend import platform_named
from rabbet.extend.functions import describe_function, folded
from rabbet.extend.native import stablehlo_versions, to_portable
from rabbet.extend.passes import consts_as_inputs, evaluate
from rabbet.extend.primitive import ShapedArray, convert_element_type, effect_names, full_of_type

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

# The StableHLO of the oldest jaxlib that Rabbet runs on. What it cannot express is written for a newer one.
WRITTEN_FOR = "1.17.0"


def default_export_platform() -> str:
    """The platform that ``export`` writes for if it is told none: that of the default backend.

    Example:
      >>> from rabbet import export
      >>> export.default_export_platform() in ("cpu", "cuda", "tpu")
      True
    """
    return rb.default_backend()


def export(
    fun_jit: Callable[..., Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Lower a jitted function to an artifact that can be kept and run elsewhere.

    Args:
      fun_jit: what ``rb.jit`` returned.
      platforms: for which to write, as in ``("cpu", "cuda")``; by default that of the default backend. With
        several, the caller's decides when the program is called.
      disabled_checks: see ``DisabledSafetyCheck``.

    Returns:
      a function of arguments, or ``ShapeDtypeStruct`` in their place, whose dimensions may be symbolic
      (``symbolic_shape``). It returns an ``Exported``.

    Raises:
      ExportError: for what is not jitted, and for programs that call native functions that nobody promises to
        keep. MissingPluginError: for a platform of which no package is known, with the nearest name.
        NotImplementedError: for programs with Python callbacks or other effects.

    Example:
      >>> from rabbet import export
      >>> exported = export.export(rb.jit(lambda x, y: x @ y))(rnp.ones((2, 3)), rnp.ones(3))
      >>> exported.out_avals, exported.call(rnp.ones((2, 3)), rnp.ones(3)).tolist()
      ((ShapedArray(float32[2]),), [3.0, 3.0])
    """
    if not (callable(fun_jit) and hasattr(fun_jit, "trace") and hasattr(fun_jit, "lower")):
        what = describe_function(fun_jit) if callable(fun_jit) else repr(fun_jit)
        raise ExportError(f"export takes a jitted function, export(rb.jit(f)), got {what}")
    if isinstance(platforms, str):
        raise TypeError(f"export: platforms is a sequence, as in ({platforms!r},), got {platforms!r}")
    wanted = tuple([platform_named(p) for p in platforms or (default_export_platform(),)])
    if len(set(wanted)) < len(wanted):
        raise ValueError(f"export: each platform is named once, got {wanted}")
    disabled = tuple(disabled_checks)

    @folded
    def exporter(*args: Any, **kwargs: Any) -> Exported:
        return exported_of(fun_jit.trace(*args, **kwargs), wanted, disabled)

    return exporter


def exported_of(traced, platforms, disabled):
    """The ``Exported`` of a ``Traced`` function."""
    name = traced.fun_name
    closed = traced.jaxpr
    if getattr(traced.program, "cells", ()):
        raise NotImplementedError(
            f"export of {name!r}: it uses references (rabbet.ref), which belong to this process; take their "
            "contents as arguments and return the new ones"
        )
    if closed.jaxpr.effects:
        raise NotImplementedError(
            f"export of {name!r}: the program has effects ({effect_names(closed.jaxpr.effects)}), and only "
            "results can be exported; leave out callbacks, debug.print and the like"
        )
    spread = traced.spread
    types = [a.spread for a in (*closed.in_avals, *closed.out_avals) if a.spread is not None]
    if any(s.unreduced for s in types) or any(s.addends for s in (spread and spread.outs) or () if s):
        raise NotImplementedError(
            f"export of {name!r}: an argument or a result is a sum that is not added up yet (unreduced), "
            "which an exported program does not say; add up within it, rb.reshard(x, P(...))"
        )
    ins = tuple([a.bare for a in tree.leaves(traced.in_avals)])
    outs = tuple([a.bare for a in closed.out_avals])
    in_tree = traced.in_tree
    module = module_of(closed, ins, platforms, name, lambda leaf: leaf_name(in_tree, leaf), spread)
    check_targets(name, module.targets, disabled)
    made = Exported(
        fun_name=name,
        in_tree=in_tree,
        in_avals=ins,
        out_tree=traced.out_tree,
        out_avals=outs,
        in_shardings_hlo=(None,) * len(ins),
        out_shardings_hlo=(None,) * len(outs),
        nr_devices=1 if spread is None else len(spread.group),
        platforms=platforms,
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=disabled,
        mlir_module_serialized=portable(in_stable_form(module.text), spread is not None),
        calling_convention_version=convention(),
        module_kept_var_idx=module.kept,
        uses_global_constants=module.global_constants,
        _get_vjp=lambda exported: vjp_of(exported, closed, spread),
        _in_layouts=layouts_of(ins, spread and spread.ins[len(closed.consts) :], spread),
        _out_layouts=layouts_of(outs, spread and spread.outs, spread),
    )
    READABLE.add(made.digest)
    return made


def layouts_of(avals, shardings, spread):
    """The record of how each leaf lies, or None."""
    if shardings is None:
        return (None,) * len(avals)
    return tuple([laid(s, spread.group.platform) for s in shardings])


def convention():
    """The calling convention to name: the newest, or that of the setting, which rabbet-jax-names brings."""
    lowest = minimum_supported_calling_convention_version
    highest = maximum_supported_calling_convention_version
    version = int(getattr(config, "export_calling_convention_version", highest))
    if not lowest <= version <= highest:
        raise ExportError(
            f"config.export_calling_convention_version is {version}; programs are called by conventions "
            f"{lowest} to {highest}"
        )
    return version


def portable(text, shardings):
    """The artifact, for the oldest StableHLO that is written for if that can express the program."""
    current = stablehlo_versions().current
    if _numbers(WRITTEN_FOR) < _numbers(current):
        try:
            return to_portable(text, WRITTEN_FOR, shardings=shardings)
        except ValueError:
            pass
    return to_portable(text, current, shardings=shardings)


def _numbers(version):
    return tuple(map(int, version.split(".")))


def vjp_of(exported, closed, spread):
    """The ``Exported`` of a program's derivative: ``(*leaves, *cotangents) -> cotangents`` of the leaves."""
    count = len(exported.in_avals)
    program, consts = consts_as_inputs(closed), list(closed.consts)
    moving = [i for i, a in enumerate(exported.in_avals) if is_inexact(a)]
    carried = [i for i, a in enumerate(exported.out_avals) if is_inexact(a)]

    def fun_vjp(*given):
        leaves, cotangents = given[:count], given[count:]

        def of_moving(*values):
            moved = dict(zip(moving, values, strict=True))  # a list of outside would hold them afterwards
            outs = evaluate(program, [*consts, *[moved.get(i, x) for i, x in enumerate(leaves)]])
            return [outs[i] for i in carried]

        _, pull = rb.vjp(of_moving, *[leaves[i] for i in moving])
        found = dict(zip(moving, pull([cotangents[i] for i in carried]), strict=True))
        return tuple([found[i] if i in found else nothing(given[i].shape) for i in range(count)])

    fun_vjp.__name__ = f"{exported.fun_name}_vjp"
    types = [struct(a) for a in exported.in_avals] + [cotangent(a) for a in exported.out_avals]
    if spread is None:
        traced = rb.jit(fun_vjp).trace(*types)
    else:
        ins = asked(spread.ins[len(closed.consts) :], exported.in_avals)
        outs = asked(spread.outs or [None] * len(exported.out_avals), exported.out_avals)
        traced = rb.jit(fun_vjp, in_shardings=(*ins, *outs), out_shardings=ins).trace(*types)
    return exported_of(traced, exported.platforms, exported.disabled_safety_checks)


def asked(shardings, avals):
    """Shardings to ask for where a mesh says how an array lies, of leaves that move; else None."""
    return tuple([
        s if is_inexact(a) and laid(s, "") is not None else None
        for a, s in zip(avals, shardings, strict=True)
    ])  # fmt: skip


def nothing(shape):
    """The cotangent of what does not move."""
    if not ShapedArray(shape, bool).is_symbolic:
        return np.zeros(shape, dtypes.float0)
    stored = full_of_type(ShapedArray(shape, bool), False)
    return convert_element_type(stored, new_dtype=dtypes.float0, weak_type=False)


def is_inexact(aval):
    """Whether arrays of a type have tangents."""
    return dtypes.issubdtype(aval.dtype, dtypes.inexact)


def struct(aval):
    """What stands for an argument of a type."""
    return rb.ShapeDtypeStruct(aval.shape, aval.dtype)


def cotangent(aval):
    """What stands for a cotangent of a result of a type."""
    return rb.ShapeDtypeStruct(aval.shape, aval.dtype if is_inexact(aval) else dtypes.float0)


__all__ = [
    "default_export_platform", "export", "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
]  # fmt: skip
