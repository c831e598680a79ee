"""What jit says to those who made a mistake: who, where in the user's file, what next."""

import functools
import os
import subprocess
import sys
import traceback

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.transform import context

X = np.arange(3, dtype="f4")


def line_of(function, offset):
    """``file:line`` as messages write it, ``offset`` lines into a function."""
    return f"test_messages.py:{function.__code__.co_firstlineno + offset}"


def message_of(function, *args, error):
    with pytest.raises(error) as caught:
        function(*args)
    return str(caught.value)


def clean():
    """Whether this thread computes eagerly, as it should outside transformations."""
    return lax.add(1, 2) == 3 and context.where is None and type(context.interpreter).__name__ == "Evaluation"


# -------------------------------------------------------------------------------- values not yet known
def choosing(x):
    y = x + 1
    if y > 0:
        return y
    return x


def indexing_a_list(i):
    j = i * 2
    return [1, 2, 3][j]


def counting_to(n):
    return sum(range(n))


def converting(x):
    return float(x)


def to_int(x):
    return int(x)


def with_numpy(x):
    y = x * 2
    return np.sin(y)


def item(x):
    return x.item()


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    ("function", "args", "error", "parts"),
    [
        (choosing, (1.0,), rb.errors.TracerBoolConversionError, ["bool[]", "where", "static"]),
        (indexing_a_list, (1,), rb.errors.TracerIntegerConversionError, ["i32[]", "index", "static"]),
        (counting_to, (3,), rb.errors.TracerIntegerConversionError, ["i32[]", "static"]),
        (converting, (1.0,), rb.errors.ConcretizationTypeError, ["f32[]", "float()", "static"]),
        (to_int, (1.0,), rb.errors.ConcretizationTypeError, ["f32[]", "int()", "static"]),
        (with_numpy, (X,), rb.errors.TracerArrayConversionError, ["f32[3]", "numpy"]),
        (item, (1.0,), rb.errors.ConcretizationTypeError, ["item()", "static"]),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_the_value_of_a_tracer(function, args, error, parts):
    message = message_of(rb.jit(function), *args, error=error)
    assert f"{function.__name__} (" in message and "test_messages.py" in message
    for part in parts:
        assert part in message
    assert clean()


@pytest.mark.forbidden("disable_jit")
def test_it_names_the_line_that_made_the_value():
    message = message_of(rb.jit(choosing), 1.0, error=rb.errors.TracerBoolConversionError)
    assert line_of(choosing, 2) in message
    message = message_of(rb.jit(indexing_a_list), 1, error=rb.errors.TracerIntegerConversionError)
    assert line_of(indexing_a_list, 1) in message
    message = message_of(rb.jit(with_numpy), X, error=rb.errors.TracerArrayConversionError)
    assert line_of(with_numpy, 1) in message


@pytest.mark.forbidden("disable_jit")
def test_an_argument_itself_is_named_as_an_argument():
    message = message_of(rb.jit(to_int), 1.0, error=rb.errors.ConcretizationTypeError)
    assert "argument" in message


# ------------------------------------------------------------------------------------------------ leaks
def leaky(kept):
    def f(x):
        y = x * 3
        kept.append(y)
        return y

    return f


@pytest.mark.narrow
@pytest.mark.parametrize(
    "use",
    [
        lambda y: y + 1,
        lambda y: lax.sin(y),
        lambda y: rb.jit(lambda z: z + 1)(y),
        lambda y: rb.jit(lambda z: z + y)(1.0),
        lambda y: rb.jit(lambda z: y)(1.0),
        np.asarray,
        float,
        bool,
        rb.device_put,
    ],
    ids=range(9),
)
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_a_leaked_tracer_names_the_line_that_made_it(use):
    kept = []
    f = leaky(kept)
    rb.jit(f)(1.0)
    with pytest.raises(rb.errors.UnexpectedTracerError) as caught:
        use(kept[0])
    message = str(caught.value)
    assert line_of(f, 1) in message
    assert "f32[]" in message and "leaky" in message and "finished" in message
    assert clean()


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_a_leaked_tracer_used_in_a_later_trace_of_the_same_function():
    kept = []

    @rb.jit
    def f(x):
        kept.append(x + 0)
        return x + kept[0]

    assert f(1.0) == 2
    with pytest.raises(rb.errors.UnexpectedTracerError):
        f(np.ones(2, "f4"))


@pytest.mark.narrow
@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_a_leaked_tracer_can_be_looked_at():
    kept = []
    rb.jit(leaky(kept))(1.0)
    assert "f32[]" in repr(kept[0])
    assert kept[0].shape == ()


# ------------------------------------------------------------------------------------- what is not an array
@pytest.mark.forbidden("disable_jit")
def test_an_argument_that_is_no_array():
    def f(x, options):
        return x

    message = message_of(rb.jit(f), 1.0, {"mode": "fast"}, error=TypeError)
    assert "f (" in message and "test_messages.py" in message
    assert "['mode']" in message and "str" in message and "'fast'" in message and "static" in message
    for bad in (object(), "text", lambda: 0, {1, 2}):
        assert "static" in message_of(rb.jit(f), 1.0, bad, error=TypeError)
        assert "static" in message_of(rb.jit(f).lower, 1.0, bad, error=TypeError)
        inside = rb.jit(functools.partial(lambda bad, x: rb.jit(f)(x, bad), bad))
        assert "static" in message_of(inside, 1.0, error=TypeError)


@pytest.mark.forbidden("disable_jit")
def test_a_result_that_is_no_array():
    def f(x):
        return {"x": x, "name": "a string"}

    message = message_of(rb.jit(f), 1.0, error=TypeError)
    assert "f (" in message and "test_messages.py" in message and "str" in message and "a string" in message
    assert "['name']" in message


def test_wrong_arguments_are_pythons_own_business():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        rb.jit(lambda x, y: x)(1.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        rb.jit(lambda x: x)(1.0, depth=2)


# ------------------------------------------------------------------------------------------- exceptions
def raising(x):
    y = x + 1
    raise KeyError("the user's own", y.shape)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    "call",
    [
        lambda: rb.jit(raising)(1.0),
        lambda: rb.jit(raising).lower(1.0),
        lambda: rb.make_jaxpr(raising)(1.0),
        lambda: rb.eval_shape(raising, 1.0),
        lambda: rb.jit(rb.jit(raising))(1.0),
        lambda: rb.jit(lambda x: x + rb.jit(raising)(x))(X),
    ],
    ids=range(6),
)
def test_an_exception_leaves_the_thread_clean(call):
    with pytest.raises(KeyError, match="the user's own"):
        call()
    assert clean()
    assert rb.jit(lambda x: x + 1)(1.0) == 2.0


def test_a_failed_trace_is_not_remembered():
    state = {"fail": True}

    @rb.jit
    def f(x):
        if state["fail"]:
            raise ValueError("not yet")
        return x

    with pytest.raises(ValueError):
        f(1.0)
    state["fail"] = False
    assert f(1.0) == 1.0


@pytest.mark.forbidden("disable_jit")
def test_tracebacks_show_the_users_frames_only():
    inner = rb.jit(raising)
    outer = rb.jit(lambda x: inner(x) + 1)
    try:
        with rb.config.override(traceback="fold"):
            outer(1.0)
    except KeyError as error:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert all(f.endswith("test_messages.py") for f in files)
    assert names[-1] == "raising"
    with rb.config.override(traceback="full"):
        try:
            outer(1.0)
        except KeyError as error:
            whole = traceback.extract_tb(error.__traceback__)
    assert len(whole) > len(files) + 5


def test_a_shape_error_points_at_the_users_line():
    def f(x, y):
        z = x * 2
        return lax.add(z, y)

    with rb.config.override(traceback="fold"), pytest.raises(TypeError) as caught:
        rb.jit(f)(np.ones(3, "f4"), np.ones(4, "f4"))
    assert "f32[3]" in str(caught.value) and "f32[4]" in str(caught.value)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename.endswith("test_messages.py") and last.lineno == f.__code__.co_firstlineno + 2


# Two devices, in a process of its own.
MIXED = """
import numpy as np
import rabbet as rb
from rabbet import lax
here, there = rb.devices("cpu")
x, elsewhere = rb.device_put(np.ones(3, "f4"), here), rb.device_put(np.ones((), "f4"), there)
free = rb.device_put(np.ones(3, "f4"))
captures = rb.jit(lambda x: lax.add(x, elsewhere))
for out in (captures(x), captures(free), rb.jit(lambda x: captures(x))(x)):
    assert out.device is here and out.tolist() == [2, 2, 2]
assert rb.jit(lambda x: lax.add(x, free))(rb.device_put(x, there)).device is there
looped = lambda: lax.fori_loop(0, 2, lambda i, c: c * elsewhere, x)
for mixing in (lambda: rb.jit(lax.mul)(x, elsewhere), looped):
    try:
        mixing()
    except ValueError as error:
        assert "f32[3], is on cpu:0" in str(error) and "f32[], is on cpu:1" in str(error), error
    else:
        raise AssertionError("arguments on two devices")
host, wanted = np.ones(3, "f4"), elsewhere.sharding
assert rb.jit(lax.neg, out_shardings=wanted)(host).device is there
assert rb.jit(lax.neg, in_shardings=wanted)(host).device is there
assert rb.jit(lax.neg).lower(host).compile(device_assignment=(there,))(host).device is there
try:
    rb.jit(lax.neg, in_shardings=x.sharding, out_shardings=wanted)
except rb.errors.ShardingError as error:
    assert "in_shardings, out_shardings and device name cpu:0, cpu:1" in str(error), error
else:
    raise AssertionError("shardings of two devices")
"""


@pytest.mark.forbidden("disable_jit")
def test_arguments_on_two_devices_are_refused_and_captured_arrays_go_where_the_program_runs():
    env = {**os.environ, "RABBET_NUM_CPU_DEVICES": "2", "RABBET_PLATFORMS": "cpu"}
    ran = subprocess.run([sys.executable, "-c", MIXED], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("x", [2.0, np.float32(2), np.ones(2, "float32")], ids=["number", "scalar", "array"])
def test_an_error_of_the_user_has_no_error_of_ours_in_front(x):
    with pytest.raises(ZeroDivisionError) as caught:
        rb.jit(lambda x: 1 / 0)(x)
    assert caught.value.__context__ is None


def test_keep_unused_is_true_or_false():
    for wrong in ({}, "no"):
        with pytest.raises(
            TypeError, match=r"jit of neg .*: keep_unused must be True or False, got (dict|str)"
        ):
            rb.jit(lax.neg, keep_unused=wrong)
    assert rb.jit(lax.neg, keep_unused=np.True_)(1.0) == -1.0
