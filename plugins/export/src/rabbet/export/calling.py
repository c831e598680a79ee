"""``Exported.call``: an exported program as an operation."""


import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.export.errors import ExportError
from rabbet.extend.dtype import lowers_stored
from rabbet.extend.functions import array_or_tracer, describe_value
from rabbet.extend.native import foreign_functions
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import refusing, typeof

INDEX = ShapedArray((), "int32")


def call(exported, args, kwargs):
    """The result for arguments in the structure that the program was exported for."""
    leaves, structure = tree.flatten((args, kwargs))
    if structure != exported.in_tree:
        raise ExportError(
            f"{exported.fun_name!r} was exported for arguments of the structure {exported.in_tree}, and is "
            f"called with {structure}"
        )
    if exported.nr_devices != 1:
        raise NotImplementedError(
            f"{exported.fun_name!r} was exported for {exported.nr_devices} devices, and programs for one are "
            "run here"
        )
    outs = run(exported, [operand(exported, i, x) for i, x in enumerate(leaves)])
    return tree.unflatten(exported.out_tree, outs)


def operand(exported, index, x):
    """An argument leaf as an array; of a Python number, that of the exported dtype."""
    aval = exported.in_avals[index]
    if not moves(aval):
        return np.zeros(aval.shape, aval.dtype)
    try:
        x = array_or_tracer(x)
    except TypeError:
        raise ExportError(
            f"{exported.fun_name!r}: {name_of(exported, index)} is no array: {describe_value(x)}"
        ) from None
    given = typeof(x)
    if given.dtype != aval.dtype:
        raise ExportError(
            f"{exported.fun_name!r} was exported for {aval.str_short()} as {name_of(exported, index)}, and "
            f"is called with {given.str_short()}: the dtypes differ"
        )
    return x


def name_of(exported, index):
    """What to call an argument leaf in messages, ``args[0]['w']``."""
    path = tree.leaf_path(exported.in_tree, index)
    which, rest = path[0].idx, path[1:]
    return ("args", "kwargs")[which] + tree.keystr(rest)


def run(exported, leaves):
    """The results, as leaves, for argument leaves of the right dtypes."""
    if "function" not in exported._kept:
        exported._kept["function"] = differentiable(exported)
    given = [x for x, a in zip(leaves, exported.in_avals, strict=True) if moves(a)]
    return exported._kept["function"](*given)


def moves(aval):
    """Whether arrays of a type hold something; those of float0 do not."""
    return aval.dtype != dtypes.float0


def differentiable(exported):
    """The program as a function of those leaves that hold something, which reverse mode differentiates by the
    exported derivative.
    """
    nothing = {i: np.zeros(a.shape, a.dtype) for i, a in enumerate(exported.in_avals) if not moves(a)}

    @rb.custom_vjp
    def function(*leaves):
        outs = call_exported(*leaves, exported=exported)
        return [
            out if moves(a) else np.zeros(a.shape, a.dtype)
            for a, out in zip(exported.out_avals, outs, strict=True)
        ]

    def forward(*leaves):
        return function(*leaves), leaves

    def backward(leaves, cotangents):
        given = iter(leaves)
        whole = [nothing[i] if i in nothing else next(given) for i in range(len(exported.in_avals))]
        pulled = exported.vjp()
        arrays = [operand(pulled, i, x) for i, x in enumerate([*whole, *cotangents])]
        found = run(pulled, arrays)
        return tuple([
            c if moves(out) else None
            for a, out, c in zip(exported.in_avals, pulled.out_avals, found, strict=True) if moves(a)
        ])  # fmt: skip

    function.defvjp(forward, backward)
    return function


def result_types(*avals, exported):
    """The types of the results; of the arguments, those that the program was exported for."""
    wanted = [(i, a) for i, a in enumerate(exported.in_avals) if moves(a)]
    for (i, aval), given in zip(wanted, avals, strict=True):
        if given.shape != aval.shape:
            raise ExportError(
                f"{exported.fun_name!r} was exported for {aval.str_short()} as {name_of(exported, i)}, and "
                f"is called with {given.str_short()}: the shapes differ"
            )
    return [stored(a) for a in exported.out_avals]


def stored(aval):
    """The type of a result as the program gives it: float0 is bool there."""
    return ShapedArray(aval.shape, aval.dtype if moves(aval) else bool)


call_exported = Primitive(
    "call_exported", result_types, multiple_results=True, doc="a program that was exported"
)

call_exported.rule("extended")(lowers_stored)  # typed keys stand in the program as what they are stored as


@call_exported.rule("lower")
def lower_call(op, *names):
    """A call of the program's functions, which are written beside the caller's."""
    exported = op["exported"]
    number = platform_number(exported, op.platform)
    given = iter(names)
    of_leaf = {i: next(given) for i, a in enumerate(exported.in_avals) if moves(a)}
    operands, types = [], []
    if len(exported.platforms) > 1:
        operands.append(op.constant(np.int32(number), INDEX))
        types.append(INDEX.mlir)
    for i in exported.module_kept_var_idx:
        aval = exported.in_avals[i]
        types.append(aval.mlir)
        if i not in of_leaf:
            of_leaf[i] = op.constant(np.zeros(aval.shape, bool), stored(aval))
        operands.append(of_leaf[i])
    symbol = op.include(functions_of(exported))
    outs = ", ".join([a.mlir for a in op.out_avals])
    text = f"func.call @{symbol}({', '.join(operands)}) : ({', '.join(types)}) -> ({outs})"
    return op.emit_all(text, len(op.out_avals))


def functions_of(exported):
    """The program's functions under names that no other program has."""
    if "functions" not in exported._kept:
        text = exported.mlir_module()
        exported._kept["functions"] = foreign_functions(text, f"exported_{exported.digest}")
    return exported._kept["functions"]


def platform_number(exported, platform):
    """The place of a platform among those that the program is for."""
    known = exported.platforms
    if platform in known:
        return known.index(platform)
    if any(str(check) == "platform" for check in exported.disabled_safety_checks):
        return 0
    raise ExportError(
        f"{exported.fun_name!r} was exported for the platforms {', '.join(known)} and is called on "
        f"{platform}; export it with platforms={(*known, platform)!r}"
    )


call_exported.rule("batch")(refusing(
    "an exported program takes the shapes that it was exported for; export rb.vmap of the function, or map "
    "with lax.map"
))  # fmt: skip
for table in ("jvp", "transpose"):
    call_exported.rule(table)(refusing(
        "an exported program is differentiated in reverse mode only, by the derivative that was exported "
        "with it"
    ))  # fmt: skip

__all__ = ["call", "call_exported"]
