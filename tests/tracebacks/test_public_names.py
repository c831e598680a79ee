"""Whatever public function, method or operator refuses its arguments: only the user's lines are shown."""

import importlib
import inspect
import operator
import traceback

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import config
from rabbet.messages.source_positions import is_internal

MODULES = """
    rabbet rabbet.ad_checkpoint rabbet.checkpoint_policies rabbet.custom_batching rabbet.custom_derivatives
    rabbet.debug rabbet.experimental rabbet.experimental.checkify rabbet.experimental.jet
    rabbet.experimental.random rabbet.experimental.sparse rabbet.flatten_util
    rabbet.image rabbet.lax rabbet.lax.linalg rabbet.nn rabbet.nn.initializers rabbet.numpy rabbet.numpy.fft
    rabbet.numpy.linalg rabbet.ops rabbet.random rabbet.scipy.special rabbet.tree rabbet.tree_util
""".split()
PROVIDED = (
    "custom_gradient custom_jvp custom_vjp eval_shape closure_convert fwd_and_bwd grad hessian jacfwd "
    "jacobian jacrev jit jvp linear_transpose linearize make_jaxpr precompile stop_gradient value_and_grad "
    "vjp vmap default_device debug_nans numpy_rank_promotion"
).split()

# Settings for a block, which these calls make and nobody enters.
pytestmark = pytest.mark.filterwarnings(r"ignore:config\.override:RuntimeWarning")

# Made by Rabbet alone; of effect on the whole process; or not for users.
NOT_CALLED = {"Array", "Device", "Key", "ndarray", "breakpoint", "check_format", "clear_caches"}
# Policies are functions that ``checkpoint`` calls.
NOT_CALLED |= {"checkpoint_dots", "checkpoint_dots_with_no_batch_dims", "dots_saveable"}
NOT_CALLED |= {"dots_with_no_batch_dims_saveable"}


def public(module):
    """The functions and primitives of a module, and classes of Rabbet, by name; each once."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {}
    for name in sorted({*names, *(PROVIDED if module is rb else ())} - NOT_CALLED):
        thing = getattr(module, name)
        ours = getattr(thing, "__module__", None) or type(thing).__module__
        exception = isinstance(thing, type) and issubclass(thing, BaseException)
        if callable(thing) and ours.startswith("rabbet") and not exception:
            found.setdefault(body_of(thing), (f"{module.__name__}.{name}", thing))
    return dict(found.values())


def body_of(thing):
    """What a function shares with another one that is a second name of it."""
    if not inspect.isfunction(thing):
        return thing
    body = inspect.unwrap(thing)
    return (body.__code__, *map(id, body.__closure__ or ()))


def bad_calls(function):
    """Arguments that are likely to be refused: what is no array and no function, arrays that do not fit."""
    nothing, arrays = object(), (rnp.ones((2, 3)), rnp.ones((5, 7)), rnp.ones((2, 2)))
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    required = [p for p in parameters if p.default is p.empty]
    keywords = {p.name: nothing for p in required if p.kind is p.KEYWORD_ONLY}
    yield (nothing,) * sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in required), keywords
    for count in range(1, 6):
        yield (nothing,) * count, keywords
        yield (arrays[0], *(nothing,) * count), keywords
        yield arrays[:count], keywords


def refusal(call):
    """The exception that ``call()`` raises with this frame as its outermost one, or None."""
    try:
        call()
    except Exception as error:
        return error
    return None


def internal_frames(error):
    """The frames of Rabbet in the tracebacks of an exception and of its causes."""
    found, pending = [], [error]
    while pending:
        one = pending.pop()
        frames = traceback.extract_tb(one.__traceback__)
        found += [f"{f.filename}:{f.lineno} {f.name}" for f in frames if is_internal(f.filename)]
        pending += [e for e in (one.__cause__, one.__context__) if e is not None]
    return found


def shown(functions):
    """The internal frames that are seen when functions, given by name, refuse their arguments, as texts."""
    wrong, refused = [], 0
    for name, function in functions.items():
        for args, kwargs in bad_calls(function):
            error = refusal(lambda f=function, a=args, k=kwargs: f(*a, **k))
            # A call with the wrong number of arguments fails before there is a frame inside.
            if error is not None and "positional argument" not in str(error):
                wrong += [f"{name}: {frame}" for frame in internal_frames(error)]
                refused += 1
                break
    assert refused > len(functions) // 5, "more than a fifth of them refuse something"
    return wrong


@pytest.mark.parametrize("module", MODULES)
def test_functions(module):
    functions = public(importlib.import_module(module))
    wrong = shown(functions)

    def traced(x):
        wrong.extend(shown(functions))
        return x

    rb.make_jaxpr(traced)(1.0)
    assert wrong == []


# Python's own, what needs other arguments than these to fail, or what cannot be undone.
LEFT_OUT = {
    "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__",
    "__dir__", "__setattr__", "__delattr__", "__getstate__", "__reduce__", "__reduce_ex__", "__sizeof__",
    "delete",
}  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


def methods(x):
    """The methods of an array, an operator's among them."""
    names = [n for n in dir(type(x)) if n not in LEFT_OUT and (n.endswith("__") or not n.startswith("_"))]
    return {f"x.{n}": getattr(x, n) for n in names if callable(getattr(x, n))}


def refused_by(x, other):
    """Operators and conversions between arrays that do not fit."""
    calls = {op.__name__: lambda op=op: op(x, other) for op in OPERATORS}
    calls["mT"] = lambda: other[0].mT
    calls |= {f.__name__: lambda f=f: f(x) for f in (bool, int, float, complex, hash, operator.index)}
    calls["for"] = lambda: list(x[0, 0])
    calls["setitem"] = lambda: operator.setitem(x, 0, 1)
    calls |= {f"[{i!r}]": lambda i=i: x[i] for i in (7, "a", (0, 0, 0), 1.5)}
    at = x.at[0]
    calls |= {f"at.{m}": lambda m=m: getattr(at, m)(object()) for m in ("set", "add", "mul", "min", "power")}
    return calls


def test_methods_and_operators_of_arrays():
    x, other = rnp.ones((2, 3)), rnp.ones((5, 7))
    wrong = shown(methods(x))
    for name, call in refused_by(x, other).items():
        error = refusal(call)
        assert error is not None, name
        wrong += [f"{name}: {frame}" for frame in internal_frames(error)]
    assert wrong == []


def test_methods_and_operators_of_traced_arrays():
    wrong = []

    def traced(x, other):
        wrong.extend(shown(methods(x)))
        calls = refused_by(x, other)
        del calls["hash"]  # by identity, while the value is not known
        for name, call in calls.items():
            error = refusal(call)
            assert error is not None, name
            wrong.extend([f"{name}: {frame}" for frame in internal_frames(error)])
        return x

    rb.jit(traced)(rnp.ones((2, 3)), rnp.ones((5, 7)))
    assert wrong == []


def test_what_functions_return():
    x = rnp.ones((2, 3))
    traced = rb.jit(lambda a: a).trace(x)
    made = {
        "jit": rb.jit(lambda a: a @ a), "grad": rb.grad(lambda a: a), "vmap": rb.vmap(lambda a: a),
        "pullback": rb.vjp(lambda a: a, x)[1], "linear": rb.linearize(lambda a: a, x)[1],
        "checkpoint": rb.checkpoint(lambda a: a @ a), "initializer": rb.nn.initializers.normal(),
        "lower": traced.lower, "compile": traced.lower().compile, "compiled": traced.lower().compile(),
        "make_jaxpr": rb.make_jaxpr(lambda a: a), "custom_jvp": rb.custom_jvp(lambda a: a),
        "custom_vjp": rb.custom_vjp(lambda a: a), "defjvp": rb.custom_jvp(lambda a: a).defjvp,
        "float32": rnp.float32, "update": config.update, "override": config.override,
    }  # fmt: skip
    assert shown(made) == []


def test_missing_names():
    for call in (lambda: rb.no_such, lambda: rnp.no_such, lambda: rb.lax.no_such, lambda: rb.random.no_such):
        assert internal_frames(refusal(call)) == []


def users_mistake(*args):
    raise KeyError("mine")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: rb.tree.map(users_mistake, x), lambda x: rb.lax.scan(users_mistake, x, x),
        lambda x: rb.lax.cond(True, users_mistake, users_mistake, x), lambda x: rb.vmap(users_mistake)(x),
        lambda x: rb.jit(users_mistake)(x), lambda x: rb.grad(lambda y: rb.checkpoint(users_mistake)(y))(x),
        lambda x: rb.lax.while_loop(users_mistake, users_mistake, x), lambda x: rb.vjp(users_mistake, x),
        lambda x: x.at[0].apply(users_mistake), lambda x: rb.pure_callback(users_mistake, x, x),
    ],
)  # fmt: skip
def test_the_users_own_functions_stay(call):
    error = refusal(lambda: call(rnp.ones(3)))
    assert isinstance(error, KeyError)
    assert internal_frames(error) == []
    assert traceback.extract_tb(error.__traceback__)[-1].name == "users_mistake"


def test_all_frames_on_request():
    with config.override(traceback="full"):
        assert internal_frames(refusal(lambda: rnp.dot(rnp.ones(2), rnp.ones(3))))
        assert internal_frames(refusal(lambda: rb.lax.reshape(rnp.ones(2), (3,))))
