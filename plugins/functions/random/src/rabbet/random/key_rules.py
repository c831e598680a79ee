"""How operations move keys: the table ``key_reuse``, and how programs are followed through it.

A rule is ``(op, following, *operands) -> results``. An operand that is an array of keys is given as an array
of the numbers of its elements; any other as a function that returns its value as a NumPy array, or None
where that is not known. Results are such arrays of numbers, or None for what is not a key and for new keys.
"""

import threading

import numpy as np

from rabbet.extend.passes import Literal, bodies_of
from rabbet.extend.primitive import cond, scan, while_
from rabbet.extend.transform import RuleTable
from rabbet.random.key_marks import key_clone, key_use

_next, _lock = [0], threading.Lock()
MOST_VALUES = 1 << 16
"""Numbers that say where keys are moved to are computed where there are no more than these."""

key_reuse = RuleTable(
    "key_reuse",
    doc="(op, following, *operands) -> results: numbers of the keys that are moved; following.use(numbers, "
    "who) uses keys up",
)


def fresh(shape):
    """Numbers that no other key has."""
    count = int(np.prod(shape, dtype=np.int64))
    with _lock:
        first = _next[0]
        _next[0] += count
    return np.arange(first, first + count, dtype=np.int64).reshape(shape)


def is_keys(x):
    """Whether something with a dtype is an array of typed keys."""
    from rabbet.random.keys import KeyDType  # stands above

    return isinstance(getattr(x, "dtype", None), KeyDType)


def value_of(x):
    """A function that gives the value of an operand that is not a key."""

    def value():
        return np.asarray(x) if np.size(x) <= MOST_VALUES else None

    return value


# ----------------------------------------------------------------------------------------------- programs
def concerns(op):
    """Whether an operation carries a program in which there are keys."""
    return "body" in op.primitive.kinds and any(_relevant(p) for _, p in bodies_of(op))


def _relevant(program):
    """The equations of a program that keys go through, and what makes each variable."""
    return program.once("keys in it", lambda: _equations(program))


def _equations(program):
    return [
        eqn
        for eqn in program.equations
        if any(is_keys(v.aval) for v in (*eqn.inputs, *eqn.outputs)) or concerns(eqn.op)
    ]


def follow(following, program, operands):
    """What stands for the results of a program, from what stands for its operands."""
    known = dict(zip([*program.constvars, *program.invars], operands, strict=True))
    makers = None

    def value(v):
        """The value of a variable that is not a key, where it follows from what is known."""
        nonlocal makers
        if type(v) is Literal:
            return np.asarray(v.value, v.aval.dtype)
        if v in known:
            return known[v]() if callable(known[v]) else None
        if makers is None:
            makers = {out: eqn for eqn in program.equations for out in eqn.outputs}
        eqn = makers.get(v)
        if eqn is None or eqn.op.primitive.special or is_keys(v.aval) or v.aval.size > MOST_VALUES:
            return None
        parts = [value(x) for x in eqn.inputs]
        if any(x is None for x in parts):
            return None
        outs = eqn.op(*parts)
        outs = outs if eqn.op.primitive.multiple_results else [outs]
        for out, x in zip(eqn.outputs, outs, strict=True):
            known[out] = value_of(x)
        return known[v]()

    def read(v):
        if type(v) is not Literal and is_keys(v.aval):
            if not isinstance(known.get(v), np.ndarray):
                known[v] = fresh(v.aval.shape)
            return known[v]
        return lambda: value(v)

    for eqn in _relevant(program):
        outs = apply(following, eqn.op, [read(v) for v in eqn.inputs], eqn.where)
        for v, out in zip(eqn.outputs, outs, strict=True):
            if is_keys(v.aval):
                known[v] = out if isinstance(out, np.ndarray) else fresh(v.aval.shape)
    return [read(v) for v in program.outvars]


def apply(following, op, operands, where):
    """What stands for the results of an operation."""
    found = key_reuse.explain(op.primitive)
    rule = through if found.source == "body" else found.rule
    if where is not None:
        following.places.append(where)
    try:
        outs = rule(op, following, *operands)
    finally:
        if where is not None:
            following.places.pop()
    return list(outs) if isinstance(outs, (list, tuple)) else [outs]


# -------------------------------------------------------------------------------------------------- rules
@key_reuse.otherwise(before_decompositions=True)
def unknown(op, following, *operands):
    """What an operation without a rule makes is new; one that carries programs runs them."""
    if "body" in op.primitive.kinds:
        return through(op, following, *operands)
    count = op.primitive.multiple_results and op.known_count(len(operands))
    return [None] * (count or 1)


@key_reuse.primitive(key_use)
def use(op, following, keys):
    following.use(keys, f"random.{op.params['who']}")
    return keys


@key_reuse.primitive(key_clone)
def clone(op, following, keys):
    return fresh(keys.shape)


@key_reuse.kind("structural", "indexed")
def moved(op, following, *operands):
    """An operation that moves elements, by what it does to their places."""
    numbers = [x for x in operands if isinstance(x, np.ndarray)]
    if not numbers:
        return None
    every = np.concatenate([x.ravel() for x in numbers])
    at, given = 0, []
    for x in operands:
        if isinstance(x, np.ndarray):
            given.append(np.arange(at, at + x.size, dtype=np.int32).reshape(x.shape))
            at += x.size
        else:
            given.append(x())
    if any(x is None for x in given):
        return None
    places = np.asarray(op(*given)).astype(np.int64)
    inside = (places >= 0) & (places < every.size)
    return np.where(inside, every[np.where(inside, places, 0)] if every.size else 0, fresh(places.shape))


def through(op, following, *operands):
    """An operation that carries one program with its own operands and results."""
    if op.params.get("differentiated"):
        with following.again():
            return through_programs(op, following, operands)
    return through_programs(op, following, operands)


def through_programs(op, following, operands):
    outs = []
    for _, program in bodies_of(op):
        inner = [v.aval for v in program.invars]
        given = list(operands)[-len(inner) :] if len(inner) <= len(operands) else None
        fits = given is not None and all(
            not isinstance(x, np.ndarray) or x.shape == a.shape for x, a in zip(given, inner, strict=True)
        )
        if fits:
            outs = following.run(program, given)
        else:
            outs = parts(following, program, operands)
    return outs


def parts(following, program, operands):
    """A program that runs on parts of its operands, on each device one: of each the whole is used up."""
    inner = [fresh(v.aval.shape) if is_keys(v.aval) else (lambda: None) for v in program.invars]
    before = dict(following.uses)
    following.run(program, inner)
    used = {n: u for n, u in following.uses.items() if n not in before}
    for x, part in zip(operands, inner):
        if isinstance(x, np.ndarray) and isinstance(part, np.ndarray):
            found = [used[n] for n in part.flat if n in used]
            if found:
                following.use(x, found[0].who)
    return [None] * len(program.outvars)


def rounds(length):
    """How many rounds of a loop tell what all of them do."""
    return min(int(length), 2)


@key_reuse.primitive(scan)
def loop(op, following, *operands):
    """A scan: keys that stay are the same in each round, slices are other ones."""
    p = op.params
    n, m, program = p["consts"], p["carry"], p["jaxpr"]
    consts, carry, scanned = list(operands[:n]), list(operands[n : n + m]), operands[n + m :]
    outs = []
    for i in range(rounds(p["length"])):
        slices = [np.asarray(x[i]) if isinstance(x, np.ndarray) else (lambda: None) for x in scanned]
        plain = [x if isinstance(x, np.ndarray) else (lambda: None) for x in carry]
        outs = following.run(program, [*consts, *plain, *slices])
        carry = outs[:m]
    for x in scanned:
        if isinstance(x, np.ndarray) and x.shape[0] > 2:
            for place in np.ndindex(x.shape[1:]):
                first = following.uses.get(x[(0, *place)])
                if first is not None:
                    following.use(np.asarray(x[(slice(2, None), *place)]), first.who)
    return [*carry, *[None] * (len(program.outvars) - m)]


@key_reuse.primitive(while_)
def repeat(op, following, *operands):
    """A while: its rounds are not counted, so two are followed."""
    p = op.params
    c, b = p["cond_consts"], p["body_consts"]
    for_condition, for_body, carry = operands[:c], operands[c : c + b], list(operands[c + b :])
    for _ in range(2):
        plain = [x if isinstance(x, np.ndarray) else (lambda: None) for x in carry]
        following.run(p["cond_jaxpr"], [*for_condition, *plain])
        carry = following.run(p["body_jaxpr"], [*for_body, *plain])
    return carry


@key_reuse.primitive(cond)
def branch(op, following, index, *operands):
    """A cond: what one of its branches uses up is used up."""
    before, after, results = following.uses, {}, []
    for program in op.params["branches"]:
        following.uses = dict(before)
        results.append(following.run(program, list(operands)))
        after.update(following.uses)
    following.uses = {**before, **after}
    outs = []
    for each in zip(*results, strict=True):
        alike = all(isinstance(x, np.ndarray) and np.array_equal(x, each[0]) for x in each)
        outs.append(each[0] if alike else None)
    return outs


__all__ = ["apply", "concerns", "follow", "fresh", "is_keys", "key_reuse", "value_of"]
