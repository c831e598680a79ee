"""``debug.show``: every stage is on the page, lines belong to their places, and costs add up."""

import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.debug.showing.costs import Counter, peak_of
from rabbet.debug.showing.page import amount
from rabbet.extend.cost import Cost
from rabbet.extend.passes import stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import typeof

pytestmark = pytest.mark.needs("cpu", "jit")

X = np.ones((4, 4), np.float32)


def dot(x, y):
    return lax.dot_general(x, y, (((1,), (0,)), ((), ())))


def model(x):
    y = lax.tanh(dot(x, x))
    y = lax.scan(lambda c, _: (lax.sin(c), None), y, None, length=3)[0]
    return lax.while_loop(lambda c: lax.lt(c[0, 0], 9.0), lambda c: lax.mul(c, 2.0), y)


def counted(fn, *args):
    """What the lines of a function cost, by how far they are below its first one."""
    closed = stage(lambda *xs: [fn(*xs)], [typeof(a) for a in args])
    counter = Counter("cpu")
    counter.count(closed.jaxpr)
    first = fn.__code__.co_firstlineno
    return {line - first: cost for (_, line), cost in counter.lines.items()}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return rb.debug.show(rb.jit(model), X, file=tmp_path_factory.mktemp("page") / "model.html")


def test_it_is_a_file_and_all_stages_are_in_it(page):
    assert page.path.read_text(encoding="utf-8") == page.html
    assert repr(page) == f"Page({str(page.path)!r})"
    for title in ("jaxpr", "after passes", "StableHLO", "HLO", "optimized HLO"):
        assert f">{title}</button>" in page.html
    for text in ("b:f32[4,4] = dot_general[", "stablehlo.tanh", "ENTRY", "as it runs"):
        assert text in page.html
    assert "<!--" not in page.html


def test_it_asks_for_nothing_from_elsewhere(page):
    assert not re.search(r"(src|href)=|url\(|https?:|@import", page.html)
    assert "default-src 'none'" in page.html


def test_lines_of_all_stages_are_those_of_the_program(page):
    panels = page.html.split('<section role="tabpanel"')[1:]
    (row,) = [r for r in page.html.split("<tr")[1:] if "y = lax.tanh" in r]
    number = re.match(r' data-at="(\d+)"', row)[1]
    for panel, operation in zip(panels, ("tanh ", "tanh ", "stablehlo.tanh", "tanh(", "tanh"), strict=True):
        at = re.findall(rf'<span data-at="{number}">[^<]*{re.escape(operation)}', panel)
        assert at, operation


def test_notebooks_show_it_in_a_frame_of_its_own(page):
    shown = page._repr_html_()
    assert shown.startswith("<iframe") and 'sandbox="allow-scripts"' in shown
    assert shown.count("<") == 2  # the rest is a value of an attribute


@pytest.mark.forbidden("disable_jit")
def test_what_lines_cost():
    found = counted(model, X)
    assert found[1].equations == 1 and found[1].transcendentals == 16
    assert found[2].transcendentals == 3 * 16 and found[2].equations == 2  # scan, and sin
    assert found[3].endless and not found[2].endless
    assert sum(cost.flops for cost in counted(dot, X, X).values()) == 2 * 4**3
    wide = counted(dot, np.ones((4, 8), np.float32), np.ones((8, 4), np.float32))[1]
    assert (wide.flops, wide.made, wide.accessed) == (2 * 4 * 8 * 4, 64, 4 * (32 + 32 + 16))


def test_the_same_operation_costs_the_same_on_other_lines():
    def twice(x):
        y = lax.sin(x)
        return lax.sin(y)

    found = counted(twice, X)
    assert found[1].transcendentals == found[2].transcendentals == 16


def native(name, rule=None):
    p = Primitive(f"{name}_of_test_show", lambda x: x)
    p.rule("lower")(lambda op, x: op.custom_call("nobody_has_it", [x], [op.out])[0])
    if rule is not None:
        p.rule("cost")(rule)
    return p


def test_native_functions_cost_what_their_rules_say():
    told = native("told", lambda op, x: Cost(flops=100.0 * x.size, bytes=7.0, transcendentals=3.0))
    silent = native("silent")

    def both(x):
        y = told(x)
        y = lax.scan(lambda c, _: (told(c), None), y, None, length=3)[0]
        return silent(y)

    found = counted(both, X)
    assert (found[1].flops, found[1].accessed, found[1].transcendentals) == (1600.0, 7.0, 3.0)
    assert found[2].flops == 3 * 1600.0
    assert (found[3].flops, found[3].accessed) == (0.0, 128.0)


def test_operations_with_effects_are_not_counted():
    def spoken(x):
        rb.debug.print("{}", x)
        return lax.sin(x)

    found = counted(spoken, X)
    assert found[1].uncounted == 1 and found[1].flops == 0 and found[2].uncounted == 0


def test_the_most_memory_that_values_take():
    def grows(x):
        y = lax.broadcast(x, (100,))
        return lax.reduce_sum(y, (0,))

    def chain(x):
        for _ in range(10):
            x = lax.sin(x)
        return x

    def peak(fn):
        return peak_of(stage(lambda x: [fn(x)], [typeof(X)]).jaxpr)

    line = grows.__code__.co_firstlineno + 2
    assert (peak(grows).size, peak(grows).place) == (64 + 6400 + 64, (__file__, line))
    assert peak(chain).size == 3 * 64  # the argument, a value and the next
    assert peak(lambda x: x).size == 64


def test_names_and_sources_cannot_become_markup():
    def strange(x):
        return lax.add(x, 1.0)  # </code><script>alert(1)</script> <!--tabs-->

    strange.__name__ = strange.__qualname__ = "<script>alert(1)</script>"
    page = rb.debug.show(strange, X)
    assert page.html.count("<script>") == 1 and page.html.count('role="tablist"') == 1
    assert re.fullmatch(r"[\w-]+\.html", page.path.name)


def test_functions_that_are_not_jitted_structs_and_keywords():
    page = rb.debug.show(lambda x, *, k: lax.mul(x, k), rb.ShapeDtypeStruct((2,), "float32"), k=np.float32(2))
    assert "f32[2], f32[]" in page.html


def test_what_is_no_function():
    with pytest.raises(TypeError, match=r"debug\.show takes a function and its arguments, got "):
        rb.debug.show(X)


@pytest.mark.parametrize("number, text", [
    (0, "0"), (144, "144"), (999.4, "999"), (1536, "1.54k"), (2e6, "2M"), (3.21e18, "3.21e+03P"),
])  # fmt: skip
def test_numbers_are_short(number, text):
    assert amount(number) == text
