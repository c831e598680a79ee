"""``ffi_call``: a compiled function as an operation, and what ``vmap`` makes of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rabbet import dtypes, lax
from rabbet.errors import MissingRule
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.primitive import Batched, Effect, Primitive, ShapedArray, move_axis, new_axis
from rabbet.extend.transform import refusing, typeof
from rabbet.ffi.lowering import ffi_lowering
from rabbet.ffi.tokens import abstract_token

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")
FFI = Effect("ffi", ordered=False)

call = Primitive(
    "ffi_call", lambda *avals, out_avals, **params: out_avals, multiple_results=True,
    effects=lambda has_side_effect=False, **params: [FFI] if has_side_effect else [],
    doc="a compiled function that is registered under a name",
)  # fmt: skip


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable:
    """A function of arrays that calls a compiled one.

    Args:
      target_name: the name that ``register_ffi_target`` gave it.
      result_shape_dtypes: what it writes: an object with ``shape`` and ``dtype``, such as a
        ``rb.ShapeDtypeStruct``, or a sequence of these; ``abstract_token`` for a result without content.
      has_side_effect: whether it is to run although nobody reads its results.
      vmap_method: what ``vmap`` makes of it: ``"sequential"`` calls it once per example, ``"broadcast_all"``
        once
        with a new leading dimension on all operands, ``"expand_dims"`` the same with size 1 where an operand
        is not mapped, ``"legacy_vectorized"`` without one there. Without a method ``vmap`` is an error.
      input_layouts, output_layouts: for each array None (row-major) or its dimensions from the slowest to the
        one that varies fastest.
      input_output_aliases: ``{operand: result}`` of arrays that share memory.
      custom_call_api_version: 4 for the typed FFI; older functions take ``legacy_backend_config``, a text.

    Returns:
      a function ``(*arrays, **attributes)`` that returns an array, or a list of them for a sequence.
      Attributes
      are bools, numbers (a Python int or float has 64 bits, NumPy's keep their width), NumPy vectors, texts,
      and tuples and dicts of these.

    Raises:
      ValueError: for an unknown ``vmap_method``; when it is called, for a name that is not registered.

    Differentiation needs a rule: give the function that calls it one with ``rb.custom_vjp`` or
    ``rb.custom_jvp``.

    Example:
      >>> from rabbet.ffi import ffi_call
      >>> norm = ffi_call("norm", rb.ShapeDtypeStruct((3,), "float32"), vmap_method="broadcast_all")
      >>> rb.eval_shape(norm, np.ones(3, np.float32))
      ShapeDtypeStruct(shape=(3,), dtype=float32)
      >>> norm(np.ones(3, np.float32), eps=1e-5)  # doctest: +SKIP
    """
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"ffi_call: vmap_method must be one of {', '.join(map(repr, VMAP_METHODS))}, got {vmap_method!r}"
        )
    if legacy_backend_config is not None and custom_call_api_version >= 4:
        raise ValueError("ffi_call: legacy_backend_config is for custom_call_api_version below 4")
    several = isinstance(result_shape_dtypes, (tuple, list))
    wanted = list(result_shape_dtypes) if several else [result_shape_dtypes]
    tokens = [x is abstract_token for x in wanted]
    out_avals = tuple([_aval(x) for x in wanted if x is not abstract_token])
    if not several and output_layouts is not None:
        output_layouts = [output_layouts]
    params = {
        "target": target_name, "out_avals": out_avals,
        "has_side_effect": bool(has_side_effect or any(tokens)),
        "vmap_method": vmap_method, "layouts": (_layouts(input_layouts), _layouts(output_layouts)),
        "aliases": _aliases(input_output_aliases),
        "api_version": custom_call_api_version, "legacy": legacy_backend_config,
    }  # fmt: skip

    def ffi(*args, **attributes):
        if legacy_backend_config is not None and attributes:
            raise ValueError("ffi_call: attributes go into legacy_backend_config here")
        arrays = [array_or_tracer(x) for x in args]
        outs = iter(call(*arrays, attributes=Attributes(attributes), **params))
        results = [lax.create_token() if token else next(outs) for token in tokens]
        return results if several else results[0]

    ffi.__name__ = ffi.__qualname__ = target_name
    return ffi


def _aval(x):
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        raise TypeError(
            "ffi_call: result_shape_dtypes holds objects with a shape and a dtype, such as "
            f"rb.ShapeDtypeStruct((2, 3), 'float32'), got {type(x).__name__} {x!r:.60}"
        )
    return ShapedArray(tuple(x.shape), dtypes.canonicalize(x.dtype))


def _aliases(given):
    pairs = given is None or (
        isinstance(given, Mapping) and all(isinstance(n, int) for pair in given.items() for n in pair)
    )
    if not pairs:
        raise TypeError(
            "ffi_call: input_output_aliases is a dict from positions of operands to positions of results, "
            f"such as {{0: 0}}, got {given!r:.60}"
        )
    return tuple(sorted((given or {}).items()))


def _layouts(given):
    return None if given is None else tuple([None if order is None else tuple(order) for order in given])


class Attributes:
    """The attributes of a call, comparable: equal ones make one program."""

    def __init__(self, values):
        self.values = values
        try:
            self.key = tuple([(name, _key(value)) for name, value in sorted(values.items())])
        except RecursionError:
            raise ValueError("ffi_call: an attribute holds itself, or too much within one another") from None

    def __eq__(self, other):
        return type(other) is Attributes and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        return repr(self.values)


def _key(value):
    if hasattr(value, "tobytes"):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, value))
    if isinstance(value, Mapping):
        return tuple([(name, _key(one)) for name, one in sorted(value.items())])
    return type(value), repr(value)


@call.rule("lower")
def lower_call(op, *names):
    """The call in a program's text."""
    ins, outs = (
        [None if o is None else o[::-1] for o in given] if given else None for given in op["layouts"]
    )
    rule = ffi_lowering(
        op["target"], operand_layouts=ins, result_layouts=outs, has_side_effect=op["has_side_effect"],
        backend_config=op["attributes"].values if op["legacy"] is None else op["legacy"],
        operand_output_aliases=dict(op["aliases"]), api_version=op["api_version"],
    )  # fmt: skip
    return rule(op, *names)


@call.rule("batch")
def batch_call(op, *args):
    """As ``vmap_method`` says."""
    params, method = op.params, op.params["vmap_method"]
    size = next(typeof(b.value).shape[b.axis] for b in args if b.axis is not None)
    if method is None:
        raise MissingRule(
            f"vmap of the compiled function {params['target']!r}: give ffi_call a vmap_method: "
            f"{', '.join(map(repr, VMAP_METHODS))}"
        )
    if method.startswith("sequential"):
        mapped = [move_axis(b.value, b.axis, 0) for b in args if b.axis is not None]

        def one(*slices):
            mine = iter(slices)
            return call(*[b.value if b.axis is None else next(mine) for b in args], **params)

        if method == "sequential":
            outs = lax.map(lambda slices: one(*slices), tuple(mapped))
        else:
            rows = [one(*[x[i] for x in mapped]) for i in range(size)]
            avals = params["out_avals"]
            outs = [lax.stack([row[i] for row in rows]) if rows else lax.full((0, *a.shape), 0, a.dtype)
                    for i, a in enumerate(avals)]  # fmt: skip
        return [Batched(out, 0) for out in outs]
    unmapped = {"expand_dims": 1, "broadcast_all": size, "legacy_vectorized": None}[method]
    operands = []
    for b in args:
        if b.axis is not None:
            operands.append(move_axis(b.value, b.axis, 0))
        else:
            operands.append(b.value if unmapped is None else new_axis(b.value, 0, unmapped))
    wider = [b.axis is not None or unmapped is not None for b in args]
    ins, outs = params["layouts"]
    layouts = _wider(ins, wider), _wider(outs, [True] * len(params["out_avals"]))
    avals = tuple([ShapedArray((size, *a.shape), a.dtype) for a in params["out_avals"]])
    results = call(*operands, **{**params, "layouts": layouts, "out_avals": avals})
    return [Batched(out, 0) for out in results]


def _wider(layouts, wider):
    """Layouts of arrays some of which have a new leading dimension."""
    if layouts is None:
        return None
    return tuple(
        [
            order if order is None or not more else (0, *[d + 1 for d in order])
            for order, more in zip(layouts, wider, strict=True)
        ]
    )


DERIVATIVE = (
    "a compiled function has no derivative of its own; give the function that calls it a rule with "
    "rb.custom_vjp or rb.custom_jvp"
)
for table in ("jvp", "transpose"):
    call.rule(table)(refusing(DERIVATIVE))
