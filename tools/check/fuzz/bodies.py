"""Statements that carry functions: branches, loops, and the transformations."""

from fuzz.straight import STATEMENTS
from fuzz.values import Value

LENGTHS = [3, 2, 1, 0]


def statements(s, count):
    """Write about ``count`` statements, of any sort."""
    for _ in range(count):
        if s.program.budget <= 0:
            return
        s.program.budget -= 1
        nested = s.depth < 3 and s.chance(35)
        s.pick(BODIES if nested else STATEMENTS)(s)


def body(s, wanted):
    """Write a few statements and ``return`` values of the shapes and kinds of ``wanted``; returns these."""
    statements(s, s.number(0, 3))
    found = [used(s, s.of(w.shape, w.kind)) for w in wanted]
    # What a loop carries stays small, so that many rounds do not overflow.
    found = [small(s, v) for v in found]
    s.returned(*found)
    return found


def used(s, v):
    """``v``, and often something of what was computed last, so that it matters."""
    other = s.some("fib") if v.kind == "f" and v.size < 1e6 and s.chance(50) else None
    if other is None or other.text == v.text:
        return v
    number = f"fnp.sum({other.text})" if other.kind == "f" else f"fnp.sum({other.text}) % 5"
    return s.add(f"{v.text} + lax.tanh({number} * 0.5)", v.shape, "f", v.size + 1)


def small(s, v):
    return s.add(f"lax.tanh({v.text})", v.shape, v.kind, 1.0) if v.kind == "f" and v.size > 4 else v


def operands(s, most=2, kinds="fibc"):
    """Some values, small ones if they are floats."""
    found = []
    for _ in range(s.number(1, most)):
        v = s.some(kinds)
        if v is not None:
            found.append(small(s, v))
    return found or [s.constant((), "f")]


def rounded_off(values):
    """As unknown numbers: what is carried through a loop may have been rounded."""
    return [v.but(places=None, size=4.0) if v.kind == "f" else v.but(places=None) for v in values]


def bound(s, call, outs):
    """Write ``a, b = call``; the values have shapes and kinds of ``outs``."""
    named = [o.but(text=s.program.fresh("v")) for o in outs]
    s.write(f"{', '.join(v.text for v in named)}{',' if len(named) == 0 else ''} = {call}")
    s.values += named
    return named


def texts(values):
    return ", ".join(v.text for v in values)


def joined(*many):
    """What is known of each result of several branches."""
    out = []
    for each in zip(*many):
        places = None if any(v.places is None for v in each) else max(v.places for v in each)
        out.append(each[0].but(size=max(v.size for v in each), places=places))
    return out


def predicate(s):
    p = s.some("b", lambda v: v.shape == ())
    return p.text if p is not None else f"fnp.sum({s.of((2,), 'i').text}) > 2"


def cond(s):
    args = operands(s)
    wanted = args[: s.number(1, len(args))]
    p = predicate(s)
    branches = []
    for _ in range(2):
        with s.function(args) as (name, inner):
            branches.append((name, body(inner, wanted)))
    bound(
        s,
        f"lax.cond({p}, {branches[0][0]}, {branches[1][0]}, {texts(args)})",
        joined(*[b for _, b in branches]),
    )


def switch(s):
    args = operands(s)
    index = s.of((), "i")
    branches = []
    for _ in range(s.number(1, 3)):
        with s.function(args) as (name, inner):
            branches.append((name, body(inner, args[:1])))
    names = ", ".join(n for n, _ in branches)
    outs = joined(*[b for _, b in branches])
    bound(s, f"lax.switch({index.text} % 3, [{names}], {texts(args)})", outs)


def carried(s, args):
    """The initial values of a loop as text: now and then a Python number, whose dtype is weak."""
    return [
        ("0.5" if v.kind == "f" else "1") if v.shape == () and v.kind in "fi" and s.chance(25) else v.text
        for v in args
    ]


def scan(s):
    carry = operands(s, kinds="fibc")
    length = s.pick(LENGTHS)
    xs = s.some("fi", lambda v: v.rank and v.shape[0] < 4)
    if xs is not None:
        length = xs.shape[0]
        carry_in = rounded_off(carry)
        parameters = [*carry_in, xs.but(shape=xs.shape[1:])]
    else:
        parameters = rounded_off(carry)
    n = len(carry)
    with s.function(parameters) as (name, inner):
        statements(inner, inner.number(0, 3))
        outs = [small(inner, inner.of(c.shape, c.kind)) for c in carry]
        y = inner.some("fi") or inner.constant((), "f")
        inner.write(f"return ({texts(outs)},), {y.text}")
    adapter = s.program.fresh("g")
    inside = ", ".join(p.text for p in inner.parameters[:n])
    start = ", ".join(carried(s, carry))
    s.write(f"def {adapter}(carry, x):")
    s.write(f"    {inside}, = carry")
    s.write(f"    return {name}({inside}{', x' if xs is not None else ''})")
    options = s.pick(["", "", ", reverse=True", ", unroll=2"])
    over = xs.text if xs is not None else f"None, length={length}"
    ys = y.but(text=s.program.fresh("v"), shape=(length, *y.shape), places=None)
    named = [o.but(text=s.program.fresh("v")) for o in rounded_off(outs)]
    s.write(f"({texts(named)},), {ys.text} = lax.scan({adapter}, ({start},), {over}{options})")
    s.values += [*named, ys]


def fori(s):
    carry = operands(s, most=1, kinds="fibc")
    index = Value("i", (), "i")
    with s.function([index, *rounded_off(carry)]) as (name, inner):
        body(inner, carry)
    top = "3" if s.smooth or s.chance(50) else f"{s.of((), 'i').text} % 4"
    bound(s, f"lax.fori_loop(0, {top}, {name}, {carried(s, carry)[0]})", rounded_off(carry))


def while_loop(s):
    carry = operands(s, most=1, kinds="fibc")
    start = small(s, carry[0])
    text = carried(s, [start])[0]
    if s.smooth and start.kind in "fc":
        text = f"lax.stop_gradient({start.text})"
    # In reverse nothing outside may be captured that has a derivative, so the body sees its parameter alone.
    with s.function(rounded_off([start])) as (name, inner):
        if s.smooth:
            inner.values = list(inner.parameters)
        body(inner, [start])
    most = s.number(0, 3)
    out = rounded_off([start])[0]
    v = out.but(text=s.program.fresh("v"))
    functions = f"lambda c: c[0] < {most}, lambda c: (c[0] + 1, {name}(c[1]))"
    s.write(f"{v.text} = lax.while_loop({functions}, (0, {text}))[1]")
    s.values.append(v)


def wrapped(s):
    """A call under ``jit`` or ``checkpoint``, which change nothing."""
    args = operands(s)
    how = s.pick(["rb.jit", "rb.jit", "rb.checkpoint", "rb.named_call"])
    with s.function(args) as (name, inner):
        outs = body(inner, args[:1])
    bound(s, f"{how}({name})({texts(args)})", outs)


def mapped(s):
    x = s.some("fib", lambda v: v.rank and v.shape[0])
    if x is None:
        return
    axis = s.number(0, x.rank - 1)
    size = x.shape[axis]
    others = operands(s, most=1)
    inner_x = x.but(shape=x.shape[:axis] + x.shape[axis + 1 :])
    with s.function([inner_x, *others]) as (name, inner):
        statements(inner, inner.number(0, 4))
        out = inner.some("fibc") or inner.parameters[0]
        inner.returned(out)
    to = s.number(0, min(out.rank, 1))
    shape = (*out.shape[:to], size, *out.shape[to:])
    if len(shape) > 3:
        to, shape = 0, (size, *out.shape)
    axes = ", ".join([str(axis)] + ["None"] * len(others))
    call = f"rb.vmap({name}, in_axes=({axes},), out_axes={to})({texts([x, *others])})"
    bound(s, call, [out.but(shape=shape)])


def lax_map(s):
    x = s.some("fi", lambda v: v.rank)
    if x is None:
        return
    with s.function([x.but(shape=x.shape[1:])]) as (name, inner):
        outs = body(inner, [x.but(shape=x.shape[1:])])
    batch = s.pick(["", ", batch_size=2"])
    bound(s, f"lax.map({name}, {x.text}{batch})", [outs[0].but(shape=x.shape)])


def associative(s):
    x = s.some("f", lambda v: v.rank and v.size < 10)
    if x is not None:
        combine = s.pick(["lambda a, b: a + b", "lambda a, b: lax.tanh(a) * b", "fnp.add"])
        # In jax the result is weak for one element and not for two.
        s.add(
            f"lax.associative_scan({combine}, {x.text}.astype('{s.dtype('f')}'))",
            x.shape,
            "f",
            x.size * max(x.shape[0], 1),
        )


def scalar_function(s, args):
    """A function from ``args`` to a float of no dimensions; its name."""
    with s.function(args, smooth=True) as (name, inner):
        statements(inner, inner.number(1, 4))
        out = inner.some("f") or inner.constant((), "f")
        inner.write(
            f"return fnp.sum(fnp.sin({out.text}) * {inner.parameters[0].text}{first(inner.parameters[0])})"
        )
    return name


def first(v):
    return "".join("[0]" for _ in range(v.rank)) if v.elements else ".sum()"


def derived(s):
    x = small(s, s.of((), "f") if s.chance(40) else s.some("f") or s.constant((), "f"))
    others = operands(s, most=1)
    args = [x, *others]
    name = scalar_function(s, args)
    how = s.pick(
        [
            "rb.grad({0})",
            "rb.grad({0})",
            "rb.jit(rb.grad({0}))",
            "rb.grad(rb.checkpoint({0}))",
            "rb.jacfwd({0})",
            "rb.jacrev({0})",
        ]
    )
    s.add(f"lax.tanh(0.1 * {how.format(name)}({texts(args)}))", x.shape, "f", 1.0)


def pushed(s):
    """``jvp``, ``vjp`` and ``linearize`` of a function of one float."""
    x = small(s, s.some("f") or s.constant((), "f"))
    t = small(s, s.of(x.shape, "f"))
    how = s.pick(["jvp", "vjp", "linearize", "linear_transpose"])
    with s.function([x], smooth=True) as (name, inner):
        if how == "linear_transpose":
            inner.returned(inner.add(f"{inner.parameters[0].text} * 2.0", x.shape, "f", 2 * x.size))
        else:
            body(inner, [x])
    value, slope = s.program.fresh("v"), s.program.fresh("v")
    if how == "jvp":
        s.write(f"{value}, {slope} = rb.jvp({name}, ({x.text},), ({t.text},))")
    elif how == "vjp":
        back = s.program.fresh("w")
        s.write(f"{value}, {back} = rb.vjp({name}, {x.text})")
        s.write(f"{slope}, = {back}({t.text})")
    elif how == "linearize":
        forth = s.program.fresh("w")
        s.write(f"{value}, {forth} = rb.linearize({name}, {x.text})")
        s.write(f"{slope} = {forth}({t.text})")
    else:
        s.write(f"{value} = {name}({x.text})")
        s.write(f"{slope}, = rb.linear_transpose({name}, {x.text})({t.text})")
    s.values.append(Value(value, x.shape, "f", 8.0))
    s.add(f"lax.tanh(0.1 * {slope})", x.shape, "f", 1.0)


def ruled(s):
    """A function with a derivative of its own, which is not the true one."""
    x = small(s, s.some("f") or s.constant((), "f"))
    y = small(s, s.of(x.shape, "f"))
    how = s.pick(["custom_jvp", "custom_vjp"])
    with s.function([x, y], decorator=f"rb.{how}", smooth=True) as (name, inner):
        inner.values = list(inner.parameters)
        outs = body(inner, [x])
    rule = s.program.fresh("r")
    if how == "custom_jvp":
        s.write(f"def {rule}(primals, tangents):")
        s.write("    (a, b), (s, t) = primals, tangents")
        s.write(f"    return {name}(a, b), s * fnp.cos(a) + 0.5 * t * b")
        s.write(f"{name}.defjvp({rule})")
    else:
        s.write(f"def {rule}(a, b):")
        s.write(f"    return {name}(a, b), (a, b)")
        s.write(f"def {rule}_back(saved, g):")
        s.write("    return g * fnp.cos(saved[0]), 0.5 * g * saved[1]")
        s.write(f"{name}.defvjp({rule}, {rule}_back)")
    bound(s, f"{name}({x.text}, {y.text})", outs)


BODIES = [
    cond, cond, switch, scan, scan, scan, fori, while_loop, wrapped, wrapped, wrapped, mapped, mapped, mapped,
    lax_map, associative, derived, derived, pushed, pushed, ruled, ruled,
]  # fmt: skip
