"""Who writes kernels for a platform: which target is chosen, what it is given, and what is refused."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.errors import NotOfferedError
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import targets as public
from rabbet.experimental.pallas import tpu, triton
from rabbet_pallas import targets


def double(x, out):
    out[...] = x[...] * 2


def lowered(f, *args, platform="cuda"):
    return rb.jit(f).trace(*args).lower(platforms=(platform,)).as_text()


def call(x, kernel=double, **options):
    return pl.pallas_call(kernel, rb.typeof(x), **options)(x)


X = rnp.ones((4, 8))


class Writer:
    """A target that writes a call of a native function, and keeps what it was given."""

    def __init__(self, name, params=None, refuses=None):
        self.given, self.refuses = [], refuses
        self.target = public.Target(name, "cuda", self.write, params=params)

    def write(self, site, call, names):
        self.given.append(call)
        if self.refuses is not None:
            raise self.refuses(call)
        return site.custom_call(f"{self.target.name}_kernel", names, site.out_avals)


@pytest.fixture
def installed(monkeypatch):
    def install(*writers):
        found = [w.target for w in writers]
        monkeypatch.setattr(targets, "all_targets", lambda p: [t for t in found if t.platform == p])

    return install


def test_a_target_writes_the_call(installed):
    writer = Writer("toaster")
    installed(writer)
    assert "@toaster_kernel(" in lowered(call, X)
    (given,) = writer.given
    assert given.name == "double" and given.grid == () and given.operands == (rb.typeof(X),)
    assert [e.primitive.name for e in given.kernel.equations] == ["load", "mul", "store"]
    np.testing.assert_array_equal(rb.jit(call)(X), X * 2)  # on the CPU nobody writes it


def test_a_mapped_kernel_is_written_as_one(installed):
    writer = Writer("toaster")
    installed(writer)
    lowered(rb.vmap(call), rnp.ones((3, 4, 8)))
    (given,) = writer.given
    assert given.grid == (3,) and given.ins[0].array.shape == (3, 4, 8) and given.ins[0].state.shape == (4, 8)


def test_compiler_params_choose(installed):
    installed(Writer("a"), Writer("b", triton.CompilerParams), Writer("c", tpu.CompilerParams))
    assert "@a_kernel" in lowered(call, X)
    for params, wanted in ((triton.CompilerParams(num_warps=4), "b"), (tpu.CompilerParams(), "c")):
        assert f"@{wanted}_kernel" in lowered(lambda x: call(x, compiler_params=params), X)  # noqa: B023


def test_where_nobody_writes_it_says_what_to_install(installed):
    installed()
    for platform, package in (("cuda", "rabbet-pallas-triton"), ("tpu", "rabbet-pallas-tpu")):
        with pytest.raises(NotOfferedError, match=f"no installed package writes kernels[^$]*{package}"):
            lowered(call, X, platform=platform)
    assert "stablehlo" in lowered(lambda x: call(x, interpret=True), X)


def test_what_a_target_refuses_names_kernel_line_and_repair(installed):
    def refuses(call):
        return public.Refused("a product", "a sum", where=call.kernel.equations[1].where)

    installed(Writer("toaster", refuses=refuses))
    with pytest.raises(NotOfferedError) as caught:
        lowered(call, X)
    said = str(caught.value)
    assert "kernel 'double' cannot be written for cuda by 'toaster': it has a product" in said
    assert "to fix: a sum" in said and "test_targets.py:" in said


def test_a_derivative_is_refused_where_a_kernel_would_be_written(installed):
    installed(Writer("toaster"))
    loss = lambda x, **options: call(x, **options).sum()
    for function in (rb.grad(loss), lambda x: rb.jvp(loss, (x,), (x,))):
        with pytest.raises(NotOfferedError, match="a derivative of kernel 'double'"):
            lowered(function, X)
    assert "toaster" not in lowered(rb.grad(lambda x: loss(x, interpret=True)), X)
    assert rb.jit(rb.grad(loss))(X)[0, 0] == 2


def test_programs_over_several_devices_need_shard_map(installed):
    writer = Writer("toaster")
    installed(writer)

    class Site:
        cut_over, platform, where = 2, "cuda", None

    with pytest.raises(NotOfferedError, match="call it within shard_map"):
        targets.written(writer.target, Site, rb.make_jaxpr(call)(X).eqns[0].params["call"], [])


def test_entry_points_name_targets(monkeypatch):
    class Entry:
        def __init__(self, name, value):
            self.name, self.value = name, value

        def load(self):
            return self.value

    toaster = Writer("toaster").target
    monkeypatch.setattr(targets, "listed", lambda folders: [Entry("toaster", toaster)])
    assert targets.all_targets("cuda") == [toaster] and targets.all_targets("cpu") == []
    for wrong in (Entry("other", toaster), Entry("toaster", None)):
        with pytest.raises(rb.errors.PluginError, match=wrong.name):
            targets.installed(wrong)


def test_which_dimensions_get_one_block():
    def seen(*maps, grid=(2, 3)):
        specs = [pl.BlockSpec((2, 4), m) for m in maps]
        f = pl.pallas_call(
            lambda *refs: None, rb.typeof(X), grid=grid, in_specs=specs[:-1], out_specs=specs[-1]
        )
        found = rb.make_jaxpr(f)(*[X] * (len(specs) - 1)).eqns[0].params["call"]
        return [public.revisited(found, b) for b in (*found.ins, *found.outs)]

    assert seen(lambda i, j: (i, 0), lambda i, j: (0, j // 2), lambda i, j: (i, j % 2)) == [
        {1},
        {0, 1},
        set(),
    ]
