"""The manager, from fresh ones over made-up entry points: laws first, then corners, then messages."""

import sys
import textwrap
import threading

import pytest
from rabbet.errors import MissingPluginError, PluginConflictError, PluginError, PluginWarning
from rabbet.plugins import discovery
from rabbet.plugins.manager import PluginManager
from rabbet.plugins.selection import Selection

from .fakes import FakeDistribution, offer


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write an importable module and return its name."""
    monkeypatch.syspath_prepend(tmp_path)
    written = []

    def write(source, name="thing"):
        name = f"rabbet_fake_{name}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def make(*entry_points, **options):
    """A fresh manager over lists of entry points."""
    flat = [one for group in entry_points for one in group]
    return PluginManager(flat, core_version="0.1.0", **options)


def selection(**settings):
    return Selection.from_settings(**settings)


# Laws ------------------------------------------------------------------------------------------


def test_listing_imports_nothing(module):
    name = module("raise SystemExit('imported')")
    manager = make(offer("a", "rabbet.api", f=f"{name}:f"))
    assert manager.names("rabbet.api") == ["f"]
    assert [one.status for one in manager.records()] == ["found"]
    assert name not in sys.modules


def test_a_name_is_loaded_once(module):
    name = module("def f(): pass")
    manager = make(offer("a", "rabbet.api", f=f"{name}:f"))
    first = manager.get("rabbet.api", "f")
    del sys.modules[name]
    assert manager.get("rabbet.api", "f") is first
    assert name not in sys.modules


def test_two_managers_share_nothing(module):
    name = module("f = object()")
    entry_points = offer("a", "rabbet.api", f=f"{name}:f")
    loaded, untouched = make(entry_points), make(entry_points)
    loaded.get("rabbet.api", "f")
    assert [one.status for one in untouched.records()] == ["found"]


@pytest.mark.parametrize(
    "body", ["raise ValueError('boom')", "import no_such_module_here", "raise SystemExit(3)", "f ="]
)
def test_a_broken_plugin_breaks_only_its_own_name(module, body):
    broken, good = module(body, "broken"), module("g = 1", "good")
    manager = make(offer("a", "rabbet.api", f=f"{broken}:f"), offer("b", "rabbet.api", g=f"{good}:g"))
    for _ in range(2):
        with pytest.raises(PluginError) as caught:
            manager.get("rabbet.api", "f")
        assert caught.value.__cause__ is manager.records("rabbet.api", "f")[0].error
    assert manager.get("rabbet.api", "g") == 1


def test_a_failed_import_is_not_tried_again(module, tmp_path):
    log = str(tmp_path / "log")
    name = module(f"with open({log!r}, 'a') as log:\n    log.write('x')\nraise ValueError")
    manager = make(offer("a", "rabbet.api", f=f"{name}:f"))
    for _ in range(3):
        with pytest.raises(PluginError):
            manager.get("rabbet.api", "f")
    assert (tmp_path / "log").read_text() == "x"


def test_a_plugin_for_another_core_is_refused_before_its_import(module):
    name = module("raise SystemExit('imported')")
    distribution = FakeDistribution("a", f"[rabbet.api]\nf = {name}:f\n", ["rabbet-core>=99"])
    manager = make(distribution.entry_points)
    with pytest.raises(PluginError, match=r"requires rabbet-core>=99, and rabbet-core 0\.1\.0 is installed"):
        manager.get("rabbet.api", "f")
    assert name not in sys.modules
    assert manager.records()[0].status == "incompatible"


def test_groups_that_are_not_ours_are_ignored():
    manager = make(offer("a", "rabbet.nonsense", f="m:f"), offer("b", "console_scripts", g="m:g"))
    assert manager.records() == []
    with pytest.raises(PluginError, match=r"no plugin group is called 'rabbet\.nonsense'"):
        manager.names("rabbet.nonsense")


# Conflicts -------------------------------------------------------------------------------------


def claims(module):
    one, two = module("f = 1", "one"), module("f = 2", "two")
    return offer("dist-one", "rabbet.api", f=f"{one}:f"), offer("dist-two", "rabbet.api", f=f"{two}:f")


def test_two_claims_to_one_name_are_an_error_that_names_both_and_the_setting(module):
    manager = make(*claims(module))
    with pytest.raises(PluginConflictError) as caught:
        manager.get("rabbet.api", "f")
    text = str(caught.value)
    assert "dist-one 1.0 (rabbet_fake_one:f)" in text
    assert "dist-two 1.0 (rabbet_fake_two:f)" in text
    assert "RABBET_PREFER=api.f=dist-one" in text
    assert [one.status for one in manager.records()] == ["conflict", "conflict"]


@pytest.mark.parametrize("choice, value", [("dist-one", 1), ("dist_two", 2), ("rabbet_fake_two", 2)])
def test_the_setting_chooses(module, choice, value):
    manager = make(*claims(module), selection=selection(prefer=f"api.f={choice}"))
    assert manager.get("rabbet.api", "f") == value
    assert sorted(one.status for one in manager.records()) == ["loaded", "passed over"]


def test_a_choice_that_is_not_there_is_named(module):
    manager = make(*claims(module), selection=selection(prefer="api.f=third"))
    with pytest.raises(PluginConflictError, match="RABBET_PREFER names 'third'"):
        manager.get("rabbet.api", "f")


def test_a_claim_that_is_switched_off_is_no_claim(module):
    manager = make(*claims(module), selection=selection(disable="dist-one"))
    assert manager.get("rabbet.api", "f") == 2


def test_rule_sets_for_one_table_add_up_and_a_broken_one_is_left_out(module):
    rules = "from rabbet.extend.transform import RuleSet\nr = RuleSet('batch')"
    one, two, bad = module(rules, "one"), module(rules, "two"), module("raise ValueError", "bad")
    manager = make(*(offer(f"d-{name}", "rabbet.rules", batch=f"{name}:r") for name in (one, two, bad)))
    with pytest.warns(PluginWarning, match="ValueError"):
        found = manager.get_all("rabbet.rules", "batch")
    assert [one.name for one in found] == ["batch", "batch"]
    assert manager.get_all("rabbet.rules", "enclose") == []
    assert sorted(one.status for one in manager.records()) == ["failed", "loaded", "loaded"]


# Settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, names",
    [
        ({}, ["f", "g"]),
        ({"plugins": ""}, ["f", "g"]),
        ({"plugins": "none"}, []),
        ({"plugins": "dist_one"}, ["f"]),
        ({"plugins": "rabbet_fake_two"}, ["g"]),
        ({"disable": "dist-one"}, ["g"]),
        ({"disable": "rabbet-fake-one, dist.two"}, []),
        ({"plugins": "dist-one,dist-two", "disable": "dist-two"}, ["f"]),
    ],
)
def test_allow_and_deny_lists(settings, names):
    one = offer("dist-one", "rabbet.api", f="rabbet_fake_one:f")
    two = offer("dist-two", "rabbet.api", g="rabbet_fake_two:g")
    assert make(one, two, selection=selection(**settings)).names("rabbet.api") == names


def test_a_name_that_is_switched_off_says_by_which_setting():
    entry_points = offer("dist-one", "rabbet.api", f="rabbet_fake_one:f")
    with pytest.raises(MissingPluginError, match="switched off by RABBET_DISABLE_PLUGINS=dist-one"):
        make(entry_points, selection=selection(disable="dist-one")).get("rabbet.api", "f")
    with pytest.raises(MissingPluginError, match="not in the allow list RABBET_PLUGINS=none"):
        make(entry_points, selection=selection(plugins="none")).get("rabbet.api", "f")


# Corners ---------------------------------------------------------------------------------------


def test_metadata_that_cannot_be_read_is_the_plugins_own_failure(module):
    name = module("f = 1")
    distribution = FakeDistribution("a", f"[rabbet.api]\nf = {name}:f\n", ["rabbet-core is nice"])
    manager = make(distribution.entry_points)
    with pytest.raises(PluginError):
        manager.get("rabbet.api", "f")
    assert manager.records()[0].status == "incompatible"


def test_asking_for_a_name_while_its_module_is_imported_is_a_circle_and_not_remembered(module):
    name = module(
        """
        import builtins
        try:
            builtins.rabbet_test_manager.get("rabbet.api", "f")
        except Exception as error:
            seen = error
        f = 1
        """
    )
    import builtins

    builtins.rabbet_test_manager = manager = make(offer("a", "rabbet.api", f=f"{name}:f"))
    try:
        assert manager.get("rabbet.api", "f") == 1
        assert "while a 1.0" in str(sys.modules[name].seen)
    finally:
        del builtins.rabbet_test_manager


def test_a_thread_that_imports_a_plugin_and_one_that_asks_for_it_do_not_wait_for_each_other(module):
    # The module, while it is imported by thread A, waits for B to be inside `get` for the same
    # module, then uses the manager. With a lock held around imports, A would wait for B's lock and
    # B for A's import.
    import builtins

    name = module(
        """
        import builtins
        builtins.rabbet_test.importing.set()
        builtins.rabbet_test.asked.wait(0.2)
        builtins.rabbet_test.manager.get("rabbet.api", "g")
        f = 1
        """
    )
    other = module("g = 2", "other")

    class Shared:
        importing, asked = threading.Event(), threading.Event()
        manager = make(offer("a", "rabbet.api", f=f"{name}:f"), offer("b", "rabbet.api", g=f"{other}:g"))

    def ask():
        Shared.importing.wait()
        found.append(Shared.manager.get("rabbet.api", "f"))

    builtins.rabbet_test, found = Shared, []
    threads = [threading.Thread(target=__import__, args=(name,)), threading.Thread(target=ask)]
    try:
        for one in threads:
            one.start()
        for one in threads:
            one.join(20)
        assert found == [1]
    finally:
        del builtins.rabbet_test


def test_loaded_plugins_are_announced_with_their_folder_or_file(module, tmp_path):
    name, places = module("f = 1"), []
    package = tmp_path / "rabbet_fake_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("g = 1")
    shared = tmp_path / "rabbet_fake_namespace" / "part"
    shared.mkdir(parents=True)
    (shared / "__init__.py").write_text("h = 1")
    manager = make(
        offer("a", "rabbet.api", f=f"{name}:f"),
        offer("b", "rabbet.api", g="rabbet_fake_package.inner:g"),
        offer("c", "rabbet.api", h="rabbet_fake_namespace.part:h"),
        on_load=places.append,
    )
    manager.load_all()
    assert places == [str(tmp_path / f"{name}.py"), str(package), str(shared)]


def test_a_name_that_the_cached_listing_lacks_is_looked_for_in_the_packages_themselves(monkeypatch, module):
    name = module("f = 1")
    fresh = offer("a", "rabbet.api", f=f"{name}:f")
    monkeypatch.setattr(discovery, "cached", lambda group: [])
    monkeypatch.setattr(discovery, "scan", lambda group: fresh)
    manager = PluginManager(core_version="0.1.0")
    assert manager.names("rabbet.api") == []
    assert manager.get("rabbet.api", "f") == 1
    assert manager.names("rabbet.api") == ["f"]


# Messages --------------------------------------------------------------------------------------


def test_the_message_of_a_failed_import_says_who_where_and_what_next(module):
    name = module("import ctypes\nctypes.CDLL('libnope.so')\n")
    manager = make(offer("my-dist", "rabbet.api", f=f"{name}:f"))
    with pytest.raises(PluginError) as caught:
        manager.get("rabbet.api", "f")
    text = str(caught.value)
    assert f"rb.f comes from my-dist 1.0 ({name}:f), which cannot be used" in text
    assert "OSError: libnope.so: cannot open shared object file" in text
    assert f"({name}.py:2)" in text
    assert "RABBET_DISABLE_PLUGINS=my-dist" in text
