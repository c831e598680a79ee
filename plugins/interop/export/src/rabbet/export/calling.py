"""``Exported.call``: an exported program as an operation."""


import hashlib

import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.export.apart import check_functions
from rabbet.export.checks import check_calls
from rabbet.export.devices import layouts_in
from rabbet.export.errors import ExportError
from rabbet.export.modules import leaf_name
from rabbet.export.symbolic.solving import at_sizes, solved
from rabbet.extend.dtype import lowers_stored
from rabbet.extend.functions import array_or_tracer, describe_value
from rabbet.extend.native import foreign_functions, refine_shapes
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.shapes import SymbolicDimension
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
    outs = run(exported, [operand(exported, i, x) for i, x in enumerate(leaves)])
    return tree.unflatten(exported.out_tree, outs)


def operand(exported, index, x):
    """An argument leaf as an array of the dtype that the program was exported for. Nothing is converted: a
    Python number has the dtype that it has elsewhere, float32 or int32 without 64 bits.

    Raises:
      ExportError: for what is not an array, and for another dtype.
    """
    aval = exported.in_avals[index]
    if not moves(aval):
        return x
    try:
        x = array_or_tracer(x)
    except TypeError:
        raise ExportError(
            f"{exported.fun_name!r}: {name_of(exported, index)} is not an array: {describe_value(x)}"
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
    return leaf_name(exported.in_tree, index)


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
    still = {i for i, a in enumerate(exported.in_avals) if not moves(a)}
    nothing = np.zeros((), dtypes.float0)  # of any shape: it is not looked at

    @rb.custom_vjp
    def function(*leaves):
        outs = call_exported(*leaves, exported=exported)
        return [
            out if moves(a) else np.zeros(typeof(out).shape, a.dtype)
            for a, out in zip(exported.out_avals, outs, strict=True)
        ]

    def forward(*leaves):
        return function(*leaves), leaves

    def backward(leaves, cotangents):
        given = iter(leaves)
        whole = [nothing if i in still else next(given) for i in range(len(exported.in_avals))]
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
    shapes = whole_shapes(exported, avals)
    for i, (aval, shape) in enumerate(zip(exported.in_avals, shapes, strict=True)):
        fits = len(shape) == aval.ndim and all(
            isinstance(d, SymbolicDimension) or d == given for d, given in zip(aval.shape, shape, strict=True)
        )
        if not fits:
            raise ExportError(
                f"{exported.fun_name!r} was exported for {aval.str_short()} as {name_of(exported, i)}, and "
                f"is called with the shape {shape}: the shapes differ"
            )
    if any(a.is_symbolic for a in avals):
        raise NotImplementedError(
            f"{exported.fun_name!r}: an exported program is called with symbolic dimensions, within another "
            "export; call the function itself there, and export both together"
        )
    sizes = sizes_of(exported, shapes)
    return [stored(a.update(shape=at_sizes(a.shape, sizes))) for a in exported.out_avals]


def whole_shapes(exported, avals):
    """The shapes of all argument leaves, of those that hold something ``avals``."""
    given = iter(avals)
    return [next(given).shape if moves(a) else a.shape for a in exported.in_avals]


def sizes_of(exported, shapes):
    """The symbolic sizes of a call, by name."""
    if not any(a.is_symbolic for a in exported.in_avals):
        return {}
    avals = [a if moves(a) else ShapedArray((), a.dtype) for a in exported.in_avals]
    shapes = [s if moves(a) else () for a, s in zip(exported.in_avals, shapes, strict=True)]
    return solved(avals, shapes, lambda i: name_of(exported, i), exported.fun_name)


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
    check_devices(exported, op.device_count)
    number = platform_number(exported, op.platform)
    given = iter(zip(names, op.in_avals, strict=True))
    leaves = [next(given) if moves(a) else (None, stored(a)) for a in exported.in_avals]
    if any(aval.is_symbolic for aval in exported.in_avals):
        leaves = [(n, a if n else at_call(exported, i, op.in_avals)) for i, (n, a) in enumerate(leaves)]
    kept = [leaves[i] for i in exported.module_kept_var_idx]
    operands = [op.constant(np.zeros((), bool), a) if name is None else name for name, a in kept]
    types = [a.physical.mlir for _, a in kept]
    functions = functions_of(exported, types, [a.mlir for a in op.out_avals], number)
    if len(exported.platforms) > 1 and not needs_refinement(exported):
        operands.insert(0, op.constant(np.int32(number), INDEX))
        types.insert(0, INDEX.mlir)
    symbol = op.include(functions)
    outs = ", ".join([a.mlir for a in op.out_avals])
    ins, results = lying(exported)
    first = len(operands) - len(kept)  # the platform's number is nowhere
    operands[first:] = laid_out(op, operands[first:], types[first:], ins[first:])
    text = f"func.call @{symbol}({', '.join(operands)}) : ({', '.join(types)}) -> ({outs})"
    return laid_out(op, op.emit_all(text, len(op.out_avals)), [a.mlir for a in op.out_avals], results)


def check_devices(exported, count):
    """Refuse a program for several devices where there are more or fewer.

    Raises:
      ExportError: says how many.
    """
    if exported.nr_devices not in (1, count):
        raise ExportError(
            f"{exported.fun_name!r} was exported for {exported.nr_devices} devices and is called on {count}\n"
            f"  to fix: lay an argument over {exported.nr_devices} devices, rb.device_put(x, sharding); "
            "exported.in_shardings_jax(mesh) says how all of them were to lie"
        )


def lying(exported):
    """How arguments and results lie, as texts, of a program for several devices."""
    if exported.nr_devices == 1:
        return [], []
    if "layouts" not in exported._kept:
        exported._kept["layouts"] = layouts_in(exported.mlir_module())
    return exported._kept["layouts"]


def laid_out(op, names, types, layouts):
    """Values of a program over several devices, laid out by texts."""
    if not layouts:
        return names
    return [
        name if text is None else op.emit(f"sdy.sharding_constraint {name} <{text}> : {kind}")
        for name, kind, text in zip(names, types, layouts, strict=True)
    ]


def at_call(exported, index, avals):
    """The type of a leaf that holds nothing, in a call with arguments of these types."""
    sizes = sizes_of(exported, whole_shapes(exported, avals))
    aval = exported.in_avals[index]
    return stored(aval.update(shape=at_sizes(aval.shape, sizes)))


def needs_refinement(exported):
    """Whether the program's text has shapes that are known when it is called only."""
    return any(a.is_symbolic for a in exported.in_avals)


def functions_of(exported, types, outs, number):
    """The program's functions under names that no other program has, for arguments of these types."""
    refined = needs_refinement(exported)
    key = ("functions", *types, number) if refined else "functions"
    if key not in exported._kept:
        text = exported.mlir_module()
        if not exported._trusted:
            check_calls(exported.fun_name, text)
            check_functions(exported.fun_name, text)
        prefix = f"exported_{exported.digest}"
        if refined:
            text = at_shapes(exported, text, types, outs, number)
            prefix += "_" + hashlib.sha256(text.encode()).hexdigest()[:12]
        try:
            exported._kept[key] = foreign_functions(text, prefix)
        except ValueError as error:
            raise ExportError(f"{exported.fun_name!r} cannot be read: {error}") from None
    return exported._kept[key]


def at_shapes(exported, text, types, outs, number):
    """The module for arguments of static types: a ``main`` of these types that calls the exported one."""
    whole = foreign_functions(text, "exported")
    ins = [exported.in_avals[i] for i in exported.module_kept_var_idx]
    lines, operands, wanted = [], [], []
    if len(exported.platforms) > 1:
        lines.append(f"%p = stablehlo.constant dense<{number}> : tensor<i32>")
        operands, wanted = ["%p"], ["tensor<i32>"]
    for i, (given, aval) in enumerate(zip(types, ins, strict=True)):
        open_type = aval.mlir if moves(aval) else stored(aval).mlir
        if open_type == given:
            operands.append(f"%arg{i}")
        else:
            lines.append(f"%a{i} = stablehlo.convert %arg{i} : ({given}) -> {open_type}")
            operands.append(f"%a{i}")
        wanted.append(open_type)
    open_outs = [stored(a).mlir for a in exported.out_avals]
    count = len(outs)
    head = f"%r:{count} = " if count > 1 else "%r = " if count else ""
    lines.append(
        f"{head}func.call @{whole.symbol}({', '.join(operands)}) : ({', '.join(wanted)}) -> "
        f"({', '.join(open_outs)})"
    )
    names = [f"%r#{i}" for i in range(count)] if count > 1 else ["%r"] * count
    for i, (name, given, open_type) in enumerate(zip(names, outs, open_outs, strict=True)):
        if given != open_type:
            lines.append(f"%o{i} = stablehlo.convert {name} : ({open_type}) -> {given}")
            names[i] = f"%o{i}"
    arguments = ", ".join([f"%arg{i}: {t}" for i, t in enumerate(types)])
    last = f"return {', '.join(names)} : {', '.join(outs)}" if names else "return"
    main = [f"func.func public @main({arguments}) -> ({', '.join(outs)}) {{", *lines, last, "}"]
    try:
        return refine_shapes("\n".join(["module @refined {", *main, whole.text, "}"]))
    except ValueError as error:
        raise ExportError(
            f"{exported.fun_name!r}: the program has no static shapes for these arguments: {error}"
        ) from None


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
