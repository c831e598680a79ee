"""How the parts meet: what ``import rabbet`` loads, whom lower tiers ask, what public names resolve to."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import composition, dtypes, lax
from rabbet.errors import MissingRule, PluginError
from rabbet.extend.dtype import DTypeSpec
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import RuleSet, context
from rabbet.passes import pipeline
from rabbet.rules import tables
from rabbet.runtime.evaluation import EVALUATION


class Manager:
    """A plugin manager over a dict ``(group, name) -> object``; an exception is what loading raises."""

    def __init__(self, offers):
        self.offers, self.loaded = offers, []

    def names(self, group):
        return sorted(name for g, name in self.offers if g == group)

    def get(self, group, name):
        self.loaded.append(name)
        offer = self.offers[group, name]
        if isinstance(offer, Exception):
            raise offer
        return offer

    def get_all(self, group, name):
        return [self.get(group, name)]

    def objects(self, group):
        return [self.get(group, name) for name in self.names(group)]


@pytest.fixture
def offering(monkeypatch):
    """Install a manager with these offers for one test."""

    def install(**groups):
        offers = {
            (f"rabbet.{group}", name): value
            for group, names in groups.items()
            for name, value in names.items()
        }
        manager = Manager(offers)
        monkeypatch.setattr(composition, "manager", lambda: manager)
        return manager

    return install


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


# --------------------------------------------------------------------------------------- what is imported
def test_importing_rabbet_loads_no_plugin_and_nothing_heavy():
    done = python(
        "import sys, rabbet;"
        "heavy = ('scipy', 'jax', 'pluggy', 'stevedore', 'importlib.metadata', 'jaxlib.mlir', 'rich',"
        " 'rabbet_jit', 'rabbet_autodiff', 'rabbet_vmap', 'rabbet.numpy', 'rabbet_pjrt_cpu');"
        "print([m for m in heavy if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_importing_rabbet_takes_no_library_that_it_uses_later_or_never():
    done = python(
        "import sys, numpy, jaxlib; before = set(sys.modules); import rabbet;"
        "later = ('logging', 'hashlib', 'json', 'zlib', 'queue', 'graphlib', 'sysconfig',"
        " 'traceback', 'jaxlib.xla_client');"
        "print([m for m in later if m in sys.modules and m not in before])"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.needs("numpy", "random")
def test_numpy_jit_grad_and_random_take_no_factorizations_before_they_are_used():
    done = python(
        "import sys, rabbet as rb, rabbet.numpy; rb.random; print('rabbet.lax.linalg' in sys.modules)"
    )
    assert done.stdout.strip() == "False", done.stdout + done.stderr


def test_importing_starts_no_device():
    done = python(
        "import rabbet; from rabbet.runtime.platforms import devices;"
        "print(devices.default_clients.cache_info().currsize and list(devices.default_clients().running()))"
    )
    assert done.stdout.strip() in ("0", "[]"), done.stdout + done.stderr


def test_the_first_operation_needs_only_a_backend():
    done = python(
        "import sys, rabbet as rb; from rabbet import lax; assert float(lax.add(1.0, 2.0)) == 3.0;"
        "heavy = ('rabbet_jit', 'rabbet_autodiff', 'rabbet.numpy', 'jaxlib.mlir', 'jax');"
        "print([m for m in heavy if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


# ------------------------------------------------------------------------------------------- who is asked
def test_every_thread_starts_with_evaluation():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(context.interpreter))
    thread.start()
    thread.join()
    assert seen == [EVALUATION] and context.interpreter is EVALUATION


def test_the_standard_tables_exist():
    assert [t.name for t in composition.STANDARD_TABLES] == ["lower", "jvp", "transpose", "batch"]
    assert all(tables.all_tables()[t.name] is t for t in composition.STANDARD_TABLES)


def test_an_unknown_dtype_is_asked_of_the_plugins(offering):
    import ml_dtypes
    import numpy as np

    row = DTypeSpec("float8_e5m2", np.dtype(ml_dtypes.float8_e5m2), "f8E5M2", "f")
    manager = offering(dtypes={"float8_e5m2": row})
    table = dtypes.DTypeTable(find_spec=composition.find_dtype)
    assert table.find("float8_e5m2") is row
    assert table.find("float8_other") is None
    assert manager.loaded == ["float8_e5m2"]


def test_a_table_asks_for_bridges_by_its_name(offering):
    p = Primitive("bridged_of_test_composition", lambda x: x)
    bridge = RuleSet("of test_composition")
    bridge.primitive(p)(lambda op, x: x)
    offering(rules={"of test_composition": bridge})
    assert tables.RuleTable("of test_composition").explain(p).source == "bridge"
    with pytest.raises(MissingRule):
        tables.RuleTable("another of test_composition").lookup(p)


def test_a_broken_bridge_does_not_touch_what_does_not_need_it(offering):
    p = Primitive("unbridged_of_test_composition", lambda x: x, kinds=("linear",))
    offering(rules={"broken table": PluginError("it fell over")})
    table = tables.RuleTable("broken table")
    table.primitive(lax.sin)(lambda op, x: x)
    assert table.lookup(lax.sin)
    with pytest.raises(PluginError, match="fell over"):
        table.lookup(p)


def test_passes_come_from_the_plugins(offering, monkeypatch):
    extra = passes_named("extra")
    offering(passes={"extra": extra})
    monkeypatch.setattr(pipeline, "_ordered", None)
    assert extra in pipeline.all_passes()


def passes_named(name):
    from rabbet.extend.passes import Pass

    return Pass(name, lambda jaxpr, context: jaxpr)


def test_hooks_are_only_imported_where_there_are_any(offering):
    manager = offering()
    composition.notify_hooks("compile_started", name="f", platform="cpu", module_size=3)
    assert manager.loaded == []


# ------------------------------------------------------------------------------------------- public names
@pytest.mark.filterwarnings("ignore:.*has no effect in Rabbet")
@pytest.mark.parametrize("name", sorted(composition.CONTEXTS))
def test_settings_are_context_managers_of_the_same_name(name):
    from rabbet.config import config

    before = getattr(config, name)
    value = {
        "default_matmul_precision": "highest",
        "default_device": rb.devices()[0],
        "numpy_rank_promotion": "raise",
        "numpy_dtype_promotion": "strict",
        "legacy_prng_key": "error",
        "default_prng_impl": "rbg",
    }.get(name, "log" if name.startswith("transfer_guard") else True)
    with getattr(rb, name)(value):
        assert getattr(config, name) is not None
        assert getattr(config, name) != before or before == value
    assert getattr(config, name) == before


def test_numpy_rank_promotion_is_heard_by_operators():
    x, y = rb.device_put([[1.0, 2.0]][0][0]), rb.device_put(1.0)
    assert float(x + y) == 2.0
    import numpy as np

    a, b = rb.device_put(np.ones((2, 2), np.float32)), rb.device_put(np.ones(2, np.float32))
    with rb.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match=r"could not be broadcast together.*differ in rank"):
            a + b
        assert (a + 1.0).shape == (2, 2)
    with rb.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="differ in rank"):
        a + b
    assert (a + b).shape == (2, 2)


@pytest.mark.narrow
def test_debug_nans_names_the_operation():
    with rb.debug_nans(True):
        rb.clear_caches()
        with pytest.raises(FloatingPointError, match=r"'log' produced a NaN in an array f32\[\]"):
            lax.log(-1.0)
        assert float(lax.log(1.0)) == 0.0
    rb.clear_caches()
    assert str(lax.log(-1.0)) == "nan"


def test_unknown_names_are_attribute_errors_with_a_suggestion():
    with pytest.raises(AttributeError, match=r"'rabbet' has no attribute 'devicees'.*rb.devices"):
        rb.devicees  # noqa: B018
    assert not hasattr(rb, "_private") and not hasattr(rb, "__wrapped__")


def test_dir_lists_core_and_what_plugins_offer():
    assert {"Array", "device_put", "devices", "lax", "tree", "typeof"} <= set(dir(rb))


def test_core_modules_are_attributes():
    assert rb.extend.transform.Interpreter and rb.messages.source_positions.caller
    assert rb.runtime.arrays.array.Array is rb.Array


@pytest.mark.needs("numpy")
def test_methods_of_arrays_are_looked_up_once(monkeypatch):
    """Each method asks for them, so nothing of the plugin system may run when it is called again."""
    x = rb.device_put(np.ones(3, np.float32))
    first = x.sum()

    def resolved(name):
        raise AssertionError(f"{name} was looked up again")

    monkeypatch.setattr(composition, "public_name", resolved)
    assert x.sum() == first and (x @ x).shape == ()
