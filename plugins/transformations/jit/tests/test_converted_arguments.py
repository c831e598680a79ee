"""Calls with Python's numbers and NumPy's arrays, also once their program is known."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import UnexpectedTracerError
from rabbet.extend.functions import to_array


def counting(f, **options):
    count = []

    def counted(*args):
        count.append(0)
        return f(*args)

    return rb.jit(counted, **options), count


@pytest.mark.forbidden("disable_jit")
def test_numbers_and_host_arrays_find_their_program():
    f, count = counting(lambda a, b: (lax.add(a["x"], b), b))
    for i in range(4):
        total, b = f({"x": np.full(3, i, np.float32)}, np.full(3, 1.5, np.float32))
        assert total.tolist() == [i + 1.5] * 3 and b.dtype == np.float32
    assert len(count) == 1


@pytest.mark.forbidden("disable_jit")
def test_each_kind_of_number_has_its_own_program():
    f, count = counting(lambda x: x)
    for _ in range(3):
        for x in (2, 2.0, True, np.float32(2), np.array(2.0, np.float32), rb.device_put(np.float32(2))):
            y, like = f(x), rb.device_put(x)
            assert y.dtype == like.dtype and y.weak_type == like.weak_type and y == like
    assert len(count) == 4  # the last three are of one type


@pytest.mark.forbidden("disable_jit")
def test_calls_on_arrays_and_on_others_take_turns():
    f, count = counting(lambda *xs: sum(xs))
    x, host = rb.device_put(np.float32(2)), np.full((), 3, np.float32)
    for pair in [(x, x), (x, host), (host, host), (x, x), (x, x), (1.0, x), (x, x), (host, 2.0)] * 2:
        assert float(f(*pair)) == sum(map(float, pair))
    programs = len(count)
    assert f(x, x) == 4 and not f.jitted.quick.apart  # arrays alone are looked up as such again
    with pytest.raises(TypeError):
        f("text", x)
    f(x, host)
    assert len(count) == programs


@pytest.mark.forbidden("disable_jit")
def test_the_values_are_those_of_this_call():
    f = rb.jit(lambda a, b: (a, b))
    host = np.zeros(2, np.float32)
    for i in range(3):
        host[:] = i
        (a, b), number = f(host, i + 0.5), i + 0.5
        assert a.tolist() == [i, i] and float(b) == number
    host[:] = 9
    assert a.tolist() == [2, 2]
    assert [str(f(host, z)[1]) for z in (0.0, -0.0, np.inf)] == ["0.0", "-0.0", "inf"]


def test_made_arrays_can_be_donated():
    f = rb.jit(lambda x, y: x + y, donate_argnums=0)
    y = rb.device_put(np.float32(1))
    for i in range(3):
        assert float(f(2.0, y)) == 3.0 and float(f(np.float32(i), y)) == i + 1


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("bad", [2**40, "text", np.array(["text"]), np.ma.array([1.0, 2.0], mask=[0, 1])])
def test_what_is_no_argument_is_refused_by_name(bad):
    f = rb.jit(lambda weight, x: x)
    x = rb.device_put(np.float32(1))
    for good in (1, 2.0, np.zeros(2, np.float32), np.zeros(2, np.float32)):
        f(good, x)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, OverflowError), match=r"weight|does not fit|mask"):
            f(bad, x)


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_a_leaked_tracer_is_told():
    kept = []
    rb.jit(lambda x: kept.append(x) or x)(1.0)
    f = rb.jit(lambda x, y: x)
    f(1.0, 2.0), f(1.0, 2.0)
    with pytest.raises(UnexpectedTracerError):
        f(kept[0], 2.0)


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_settings_are_part_of_the_program():
    f = rb.jit(lambda x: x + 1)
    assert f(1.0).dtype == f(2.0).dtype == np.float32
    with rb.enable_x64():
        assert f(1.0).dtype == np.float64 and f(np.ones(1)).dtype == np.float64
    assert f(1.0).dtype == np.float32


@pytest.mark.narrow
def test_compiled_functions_take_them():
    f = rb.jit(lambda a, b: (lax.add(a["x"], b), b)).lower({"x": np.zeros(2, np.float32)}, 1.0).compile()
    host = np.zeros(2, np.float32)
    for i in range(4):
        host[:] = i
        total, b = f({"x": host}, i + 0.5)
        assert total.tolist() == [2 * i + 0.5] * 2 and float(b) == i + 0.5
    with pytest.raises(TypeError, match="takes f32"):
        f({"x": np.zeros(3, np.float32)}, 1.0)
    with pytest.raises(TypeError, match="structure"):
        f(host, 1.0)
    donating = rb.jit(lambda x: x + 1, donate_argnums=0).lower(1.0).compile()
    assert [float(donating(2.0)) for _ in range(3)] == [3.0] * 3


@pytest.mark.forbidden("disable_jit")
def test_arrays_find_the_program_that_numbers_made():
    f, count = counting(lambda x, y: x + y)
    x = rb.device_put(2.0)
    for y in (3.0, x, 3.0, x, x):
        assert float(f(x, y)) == 2.0 + float(y)
    assert len(count) == 1 and len(f.jitted.quick) == 1


def test_formats_of_a_loop_that_can_be_stopped():
    loop = rb.jit(lambda x: lax.while_loop(lambda x: x < 9.0, lambda x: x * 2, x)).lower(1.0).compile()
    ((one,), _) = loop.input_formats
    assert one.sharding == loop.input_shardings[0][0] and float(loop(1.0)) == 16.0


@pytest.mark.parametrize("make", [float, int, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
def test_new_numbers_take_the_fast_path(make, monkeypatch):
    f = rb.jit(lambda x, y: x + y)
    x = rb.device_put(np.ones(3, np.float32))
    slow = f(x, make(2))
    monkeypatch.setattr("rabbet_jit.api.Signature", None)  # what the slow path begins with
    for i in range(3):
        y = f(x, make(i))
        assert y.tolist() == [1.0 + float(make(i))] * 3 and y.dtype == slow.dtype


def test_keywords_take_the_fast_path(monkeypatch):
    f, seen = rb.jit(lambda a, **named: {n: a - v["x"] for n, v in named.items()}), []
    one = np.float32(1)
    for i in range(3):
        seen.append(f(one, c={"x": i}, b={"x": 0.5}))
        assert {n: float(v) for n, v in f(one, b={"x": 2.0}, c={"x": i}).items()} == {"b": -1.0, "c": 1.0 - i}
        monkeypatch.setattr("rabbet_jit.api.Signature", None)
    assert [float(s["c"]) for s in seen] == [1.0, 0.0, -1.0] and float(seen[0]["b"]) == 0.5


def test_keywords_and_pytrees_of_the_same_form_are_told_apart():
    f = rb.jit(lambda *args, **named: len(args) + 10 * len(named) + 0 * sum(rb.tree.leaves((args, named))))
    x = rb.device_put(np.float32(1))
    for _ in range(3):
        assert [float(f(x, k=x)), float(f((x,), {"k": x})), float(f(x)), float(f(j=x, k=x))] == [11, 2, 1, 20]


def test_a_number_is_kept_from_the_second_time_on():
    first, second, third = (to_array(0.123456, shared=True) for _ in range(3))
    assert first is not second and second is third
    assert float(first) == float(second) == np.float32(0.123456)


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_keywords_ask_the_settings_of_each_call():
    count = []
    f = rb.jit(lambda x: count.append(0) or lax.add(x, 1.0))
    for _ in range(3):
        f(x=2.0)
    assert len(count) == 1
    with rb.disable_jit():
        f(x=2.0)
    assert len(count) == 2
    with rb.enable_x64():
        assert f(x=2.0).dtype == np.float64
    assert f(x=2.0).dtype == np.float32 and len(count) == 3


def test_pytrees_take_the_fast_path_whatever_their_leaves_were_before(monkeypatch):
    f, one = rb.jit(lambda p, x: p["a"] * 10 + p["b"] + x), rb.device_put(np.float32(1))
    calls = [({"a": 2.0, "b": one}, one), ({"a": one, "b": 2.0}, 3.0), ({"a": one, "b": one}, one)]
    calls += [({"a": np.float32(2), "b": 2}, one), (one, one)]
    wanted = [22.0, 15.0, 12.0, 23.0]
    for args in calls[:-1]:
        f(*args)
    monkeypatch.setattr("rabbet_jit.api.Signature", None)
    for _ in range(2):
        assert [float(f(*args)) for args in calls[:-1]] == wanted
    with pytest.raises(TypeError):  # not known yet
        f(*calls[-1])


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("first", ["arrays", "pytrees"])
def test_arrays_and_pytrees_by_turns_take_the_fast_path(first, monkeypatch):
    f, one = rb.jit(lambda x, y: rb.tree.map(lambda x, y: x + y, x, y)), rb.device_put(np.float32(1))
    calls = [(one, 2.0), ({"x": one, "y": 2.0}, {"x": 3.0, "y": one}), (one, one)]
    for args in 2 * (calls if first == "arrays" else calls[::-1]):
        f(*args)
    monkeypatch.setattr("rabbet_jit.api.Signature", None)
    assert float(f(*calls[0])) == 3.0 and float(f(*calls[2])) == 2.0
    assert {k: float(v) for k, v in f(*calls[1]).items()} == {"x": 4.0, "y": 3.0}
    f.clear_cache()
    with pytest.raises(TypeError):  # not known any more
        f(*calls[1])
