"""Statements without functions in them: arithmetic, shapes, indices, reductions, products.

Each takes a ``Scope``, writes a line or none, and adds its value.
"""

from fuzz.values import broadcast

# text, largest operand, bound of the result: for floats of any kind
SMOOTH = [
    ("lax.sin({0})", 50, 1), ("lax.cos({0})", 50, 1), ("lax.tanh({0})", 50, 1), ("lax.exp({0})", 3, 21),
    ("lax.log({0} * {0} + 1.5)", 50, 8), ("lax.sqrt({0} * {0} + 1)", 50, 50),
    ("lax.rsqrt({0} * {0} + 1)", 50, 1),
    ("lax.logistic({0})", 50, 1), ("lax.erf({0})", 50, 1), ("lax.atan({0})", 50, 2),
    ("lax.asinh({0})", 50, 5),
    ("lax.integer_pow({0}, 3)", 4, 64), ("{0} ** 2", 6, 36), ("lax.expm1({0})", 3, 21),
    ("lax.log1p({0} * {0})", 50, 8),
    ("1 / ({0} * {0} + 1)", 50, 1), ("lax.integer_pow({0} * {0} + 1, -2)", 50, 1),
    ("fnp.sinc({0} * 0.3)", 50, 1),
    ("lax.stop_gradient({0})", 50, 50), ("lax.optimization_barrier({0})", 50, 50),
    ("lax.cosh(lax.sin({0}))", 50, 2),
    ("lax.reduce_precision({0}, 11, 52)", 50, 50), ("rb.nn.softplus({0})", 50, 51), ("lax.erfc({0})", 50, 2),
    ("lax.pow({0} * {0} + 0.5, 1.5)", 5, 130), ("lax.lgamma({0} * {0} + 1)", 5, 60),
    ("lax.digamma({0} * {0} + 1)", 5, 4),
]  # fmt: skip
# text, what the result's places are
ROUNDED = [
    ("lax.floor({0})", 0), ("lax.ceil({0})", 0), ("lax.sign({0})", 0), ("fnp.round({0})", 0),
    ("lax.abs({0})", None),
    ("lax.neg({0})", None), ("-{0}", None), ("fnp.abs({0})", None), ("rb.nn.relu({0})", None),
]  # fmt: skip
INTEGER = [
    "{0} + 1", "{0} * 3", "lax.neg({0})", "lax.abs({0})", "lax.sign({0})", "{0} // 3", "{0} % 5", "~{0}",
    "lax.population_count({0})", "lax.clz({0})", "lax.shift_left({0}, 2)", "lax.rem({0}, 7)", "{0} >> 1",
    "lax.div({0}, 3)", "fnp.square({0})", "lax.clamp(0, {0}, 5)",
]  # fmt: skip
NUMBERS = ["0.5", "2.0", "-1.5", "1", "0.25", "-1"]


def unary(s):
    x = s.some("f", lambda v: v.size <= 50)
    if x is None:
        return
    text, limit, size = s.pick(SMOOTH)
    if x.size > limit:
        text, size = "lax.sin({0})", 1
    s.add(text.format(x.text), x.shape, "f", size)


def rounded(s):
    x = s.some("fh", s.exact)
    if x is None:
        return
    text, places = s.pick(ROUNDED)
    s.add(text.format(x.text), x.shape, x.kind, x.size + 1, x.places if places is None else places)


def integer(s):
    x = s.some("i")
    if x is not None:
        s.add(s.pick(INTEGER).format(x.text), x.shape, "i")


def with_number(s):
    """A Python number, whose dtype is weak, beside an array."""
    x = s.some("fhic")
    if x is None:
        return
    number = s.pick(NUMBERS)
    value = float(number)
    sign = s.pick("+-*")
    left, right = (x.text, f"({number})") if s.chance(50) else (number, x.text)
    kind = "f" if x.kind == "i" and "." in number else x.kind
    if x.kind == "i" and kind == "f":
        left, right = (f"({t} % 8)" if t == x.text else t for t in (left, right))
        x = x.but(size=8.0, places=0)
    places = None if x.places is None else x.places + 2
    s.add(
        f"{left} {sign} {right}",
        x.shape,
        kind,
        x.size * abs(value) if sign == "*" else x.size + abs(value),
        places,
    )


def binary(s):
    x, y = s.some("fichu"), s.some("fichu")
    if x is None or not matched(x, y):
        return
    shape = broadcast(x.shape, y.shape)
    if shape is None:
        return
    sign = s.pick("+-*")
    known = x.places is not None and y.places is not None
    if sign == "*":
        size, places = x.size * y.size, x.places + y.places if known else None
    else:
        size, places = x.size + y.size, max(x.places, y.places) if known else None
    s.add(f"{x.text} {sign} {y.text}", shape, x.kind, size, places)


def quotient(s):
    x, y = s.some("f"), s.some("f", lambda v: v.size <= 50)
    if x is None or y is None or (shape := broadcast(x.shape, y.shape)) is None:
        return
    text = s.pick(
        ["{0} / ({1} * {1} + 1)", "fnp.arctan2({0}, {1} * {1} + 1)", "fnp.hypot({0}, {1} * {1} + 1)"]
    )
    s.add(text.format(x.text, y.text), shape, "f", x.size + y.size**2 + 1)


def matched(x, y):
    """Whether an operator may take them: alike, or at least not of surprising promotion."""
    return x.kind == y.kind


def extreme(s):
    x, y = s.some("fihu", s.exact), s.some("fihu", s.exact)
    if x is None or not matched(x, y) or (shape := broadcast(x.shape, y.shape)) is None:
        return
    places = None if x.places is None else max(x.places, y.places or 0)
    s.add(
        f"fnp.{s.pick(['maximum', 'minimum'])}({x.text}, {y.text})",
        shape,
        x.kind,
        max(x.size, y.size),
        places,
    )


def compared(s):
    x, y = s.some("fihu", s.exact), s.some("fihu", s.exact)
    if x is None or not matched(x, y) or (shape := broadcast(x.shape, y.shape)) is None:
        return
    s.add(f"{x.text} {s.pick(['<', '<=', '>', '>=', '==', '!='])} {y.text}", shape, "b")


def logic(s):
    x, y = s.some("bi"), s.some("bi")
    if x is None or x.kind != y.kind or (shape := broadcast(x.shape, y.shape)) is None:
        return
    s.add(f"{x.text} {s.pick('&|^')} {y.text}", shape, x.kind)


def chosen(s):
    p, x, y = s.some("b"), s.some(), s.some()
    if p is None or not matched(x, y) or (shape := broadcast(p.shape, x.shape, y.shape)) is None:
        return
    places = None if x.places is None or y.places is None else max(x.places, y.places)
    s.add(f"fnp.where({p.text}, {x.text}, {y.text})", shape, x.kind, max(x.size, y.size), places)


def converted(s):
    x = s.some()
    to = s.pick("fibuhc")
    if x is None or x.kind == to or x.kind == "c":
        return
    text, size, places = x.text, x.size, x.places
    if x.kind in "iu" and to in "fhc":
        text, size, places = f"({text} % 8)", 8.0, 0
    elif x.kind == "b" and to in "fhc":
        size, places = 1.0, 0
    elif to in "ib" and not s.exact(x):
        return
    elif to == "u" and x.kind != "b":
        if x.kind != "i":
            return
        text = f"({text} & 127)"
    elif to == "h" and not (s.exact(x.but(kind="h")) and x.size < 200):
        return
    if to == "i" and x.size > 1e6 and x.kind in "fh":
        return
    s.add(f"{text}.astype('{s.dtype(to)}')", x.shape, to, size, places)


def complexed(s):
    x = s.some("c", lambda v: v.size < 1e3)
    if x is None:
        x = s.some("f", lambda v: v.size < 1e3)
        if x is not None:
            s.add(f"lax.complex({x.text}, lax.sin({x.text}))", x.shape, "c", x.size + 1)
        return
    text, kind, size = s.pick([
        ("lax.real({0})", "f", x.size), ("lax.imag({0})", "f", x.size), ("lax.conj({0})", "c", x.size),
        ("{0} * {0}", "c", x.size**2), ("fnp.real({0} * fnp.conj({0}))", "f", x.size**2),
    ])  # fmt: skip
    s.add(text.format(x.text), x.shape, kind, size)


def shaped(s):
    x = s.some()
    options = ["fnp.expand_dims({0}, 0)", "fnp.ravel({0})", "fnp.broadcast_to({0}, (2, *{shape}))"]
    shapes = [(1, *x.shape), (x.elements,), (2, *x.shape)]
    if x.rank:
        options += ["fnp.flip({0}, 0)", "fnp.roll({0}, 1, -1)", "lax.rev({0}, ({last},))", "{0}[::-1]"]
        shapes += [x.shape] * 4
        options += ["fnp.concatenate([{0}, {0}], {last})", "fnp.stack([{0}, {0}], {rank})"]
        shapes += [(*x.shape[:-1], 2 * x.shape[-1]), (*x.shape, 2)]
    if x.rank > 1:
        options += ["{0}.T", "fnp.moveaxis({0}, 0, -1)", "{0}.reshape({elements})"]
        shapes += [x.shape[::-1], (*x.shape[1:], x.shape[0]), (x.elements,)]
    if 1 in x.shape:
        options.append("fnp.squeeze({0}, {one})")
        at = x.shape.index(1)
        shapes.append(x.shape[:at] + x.shape[at + 1 :])
    which = s.number(0, len(options) - 1)
    if max(len(shapes[which]), 0) > 3 or max(shapes[which], default=0) > 12:
        return
    words = {"shape": x.shape, "last": x.rank - 1, "rank": x.rank, "elements": x.elements}
    words["one"] = x.shape.index(1) if 1 in x.shape else 0
    s.like(x, options[which].format(x.text, **words), shapes[which])


def sliced(s):
    x = s.some(where=lambda v: v.rank and v.shape[0])
    if x is None:
        return
    n, rest = x.shape[0], x.shape[1:]
    i = s.some("i", lambda v: v.shape == ())
    options = [
        ("{0}[1:]", (n - 1, *rest)),
        ("{0}[::2]", ((n + 1) // 2, *rest)),
        ("{0}[0]", rest),
        ("{0}[-1]", rest),
    ]
    if i is not None:
        options += [
            ("{0}[{1}]", rest), ("lax.dynamic_index_in_dim({0}, {1}, 0)", (1, *rest)),
            ("lax.dynamic_slice_in_dim({0}, {1}, 1, 0)", (1, *rest)), ("{0}.at[{1}].set({0}[0])", x.shape),
            ("lax.dynamic_update_index_in_dim({0}, {0}[0], {1}, 0)", x.shape),
        ]  # fmt: skip
    index = s.some("i", lambda v: v.rank == 1)
    if index is not None and x.kind in "fic":
        options += [
            ("fnp.take({0}, {2}, axis=0, mode='clip')", (*index.shape, *rest)),
            ("{0}[{2} % {3}]", (*index.shape, *rest)),
            ("{0}.at[{2} % 2].add(1)", x.shape),
            ("{0}.at[{2}].get(mode='fill', fill_value=0)", (*index.shape, *rest)),
        ]  # fmt: skip
    text, shape = s.pick(options)
    text = text.format(x.text, i and i.text, index and index.text, n)
    grows = ".add(" in text
    s.add(text, shape, x.kind, x.size + (index.elements if grows else 0), x.places)


def padded(s):
    x = s.some("fi", lambda v: v.rank == 1)
    if x is None:
        return
    zero = "0" if x.kind == "i" else "0.0"
    low, high, inner = s.number(-1, 2), s.number(0, 2), s.number(0, 1)
    size = x.shape[0] + max(x.shape[0] - 1, 0) * inner + low + high
    if size >= 0:
        s.like(
            x, f"lax.pad({x.text}, fnp.asarray({zero}, {x.text}.dtype), [({low}, {high}, {inner})])", (size,)
        )


def reduced(s):
    x = s.some("fibc", lambda v: v.rank and v.elements)
    if x is None:
        return
    axis = s.pick([None, *range(x.rank)])
    shape = () if axis is None else x.shape[:axis] + x.shape[axis + 1 :]
    count = x.elements if axis is None else x.shape[axis]
    if x.kind == "b":
        s.add(f"fnp.{s.pick(['any', 'all'])}({x.text}, axis={axis})", shape, "b")
        return
    options = [("sum", x.size * count, x.places), ("mean", x.size, None)]
    if x.kind == "f" and x.size < 8:
        options += [
            ("var", x.size**2, None),
            ("prod", x.size**count, None if x.places is None else x.places * count),
        ]
    if s.exact(x) and x.kind in "fi":
        options += [("max", x.size, x.places), ("min", x.size, x.places), ("argmax", 0, None)]
    name, size, places = s.pick(options)
    if x.kind == "i" and name in ("mean",):
        return
    if name == "argmax":
        s.add(f"fnp.argmax({x.text}, axis={axis}).astype('{s.dtype('i')}')", shape, "i")
    else:
        s.add(f"fnp.{name}({x.text}, axis={axis})", shape, x.kind, size, places)


def running(s):
    x = s.some("fi", lambda v: v.rank)
    if x is None:
        return
    count, last = x.shape[-1], x.rank - 1
    options = [
        ("lax.cumsum({0}, {1})", x.size * max(count, 1)),
        ("fnp.cumsum({0}, {1})", x.size * max(count, 1)),
    ]
    options.append(("lax.cumsum({0}, {1}, reverse=True)", x.size * max(count, 1)))
    if s.exact(x):
        options += [
            ("lax.cummax({0}, {1})", x.size),
            ("lax.cummin({0}, {1})", x.size),
            ("fnp.sort({0}, {1})", x.size),
        ]
    elif x.size < 5:
        options += [("lax.cumlogsumexp({0}, {1})", 10), ("rb.nn.softmax({0}.astype('{2}'), {1})", 1)]
    text, size = s.pick(options)
    places = None if "softmax" in text or "exp" in text else x.places
    s.add(text.format(x.text, last, s.dtype(x.kind)), x.shape, x.kind, size, places)


def product(s):
    x = s.some("fc", lambda v: v.rank in (1, 2))
    y = None if x is None else s.some(x.kind, lambda v: v.rank in (1, 2) and v.shape[0] == x.shape[-1])
    if y is None:
        return
    text = "{0} @ {1}" if s.chance(60) else "lax.dot({0}, {1})"
    size = x.size * y.size * x.shape[-1]
    s.add(text.format(x.text, y.text), x.shape[:-1] + y.shape[1:], x.kind, size)


def fresh(s):
    """An array that depends on nothing, or a number that Python holds."""
    n = s.number(0, 3)
    options = [
        (f"fnp.arange({n}, dtype='{s.dtype('f')}')", (n,), "f", 4.0, 0), (f"fnp.arange({n})", (n,),
        "i", 4.0, None),
        ("fnp.asarray(0.5)", (), "f", 1.0, 1), ("fnp.asarray(2)", (), "i", 2.0, None),
        (f"np.full(({n},), 0.25, '{s.dtype('f')}')", (n,), "f", 1.0, 2),
        (f"fnp.ones(({n}, 2)) > 0", (n, 2), "b", 1.0, None),
        ("fnp.zeros(())", (), "f", 0.0, 0),
    ]  # fmt: skip
    text, shape, kind, size, places = s.pick(options)
    s.add(f"fnp.asarray({text})" if text.startswith("np.") else text, shape, kind, size, places)


STATEMENTS = [
    unary, unary, unary, rounded, integer, with_number, with_number, binary, binary, binary, quotient,
    extreme, compared, compared, logic, chosen,
    converted, complexed, shaped, shaped, sliced, sliced, padded, reduced, reduced, running, product, fresh,
]  # fmt: skip
