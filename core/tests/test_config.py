"""Settings: where a value comes from, who sees it, and what the traced key says."""

import gc
import pickle
import threading
import warnings

import pytest
import rabbet as rb
from rabbet.config import CORE_SETTINGS, Alias, Config, Setting, boolean, choice, size
from rabbet.errors import ConfigError, PluginConflictError


@pytest.fixture
def config():
    return Config(CORE_SETTINGS)


def in_another_thread(function):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(function()))
    thread.start()
    thread.join()
    return seen[0]


# Where a value comes from -------------------------------------------------------------------------


@pytest.mark.narrow
def test_default(config):
    assert config.enable_x64 is False
    assert config.cache_dir is None


def test_environment_gives_the_first_value(config, monkeypatch):
    monkeypatch.setenv("RABBET_ENABLE_X64", "on")
    monkeypatch.setenv("RABBET_PLATFORMS", "cuda, cpu")
    assert config.enable_x64 is True
    assert config.platforms == ("cuda", "cpu")


def test_environment_is_read_once_and_late(config, monkeypatch):
    monkeypatch.setenv("RABBET_LOG_COMPILES", "1")
    assert config.log_compiles is True
    monkeypatch.setenv("RABBET_LOG_COMPILES", "0")
    assert config.log_compiles is True


def test_update_beats_environment(config, monkeypatch):
    monkeypatch.setenv("RABBET_CACHE", "0")
    config.update("cache", True)
    assert config.cache is True


def test_override_beats_update_and_ends(config):
    config.update("traceback", "full")
    with config.override(traceback="fold"):
        assert config.traceback == "fold"
    assert config.traceback == "full"


@pytest.mark.narrow
def test_override_ends_on_error(config):
    with pytest.raises(ZeroDivisionError), config.override(enable_x64=True):
        raise ZeroDivisionError
    assert config.enable_x64 is False


@pytest.mark.narrow
def test_overrides_nest_and_can_be_entered_again(config):
    outer = config.override(enable_x64=True)
    with outer, config.override(enable_x64=False, debug_nans=True), outer:
        assert (config.enable_x64, config.debug_nans) == (True, True)
    assert (config.enable_x64, config.debug_nans) == (False, False)


def test_override_decorates(config):
    @config.override(debug_infs=True)
    def inside():
        return config.debug_infs

    assert inside() is True
    assert config.debug_infs is False


def test_contexts_have_the_name_of_their_setting(config):
    disable_jit, precision = config.context("disable_jit"), config.context("default_matmul_precision")
    assert disable_jit.__name__ == "disable_jit"
    with disable_jit(), precision("float32"):
        assert (config.disable_jit, config.default_matmul_precision) == (True, "float32")
        with disable_jit(False):
            assert config.disable_jit is False
    with pytest.raises(TypeError):
        precision()


# Threads ------------------------------------------------------------------------------------------


@pytest.mark.narrow
def test_override_is_seen_by_its_thread_only(config):
    with config.override(enable_x64=True):
        assert in_another_thread(lambda: config.enable_x64) is False
        assert in_another_thread(config.traced_key) is not config.traced_key()


def test_update_is_seen_by_all_threads_but_not_through_an_override(config):
    with config.override(enable_x64=True):
        in_another_thread(lambda: (config.update("enable_x64", False), config.update("debug_nans", True)))
        assert (config.enable_x64, config.debug_nans) == (True, True)


# The traced key -----------------------------------------------------------------------------------


@pytest.mark.narrow
def test_equal_traced_values_give_the_identical_key(config):
    before = config.traced_key()
    with config.override(enable_x64=True):
        inside = config.traced_key()
        with config.override(enable_x64=False):
            assert config.traced_key() is before
        assert config.traced_key() is inside
    assert inside is not before
    assert config.traced_key() is before


class Laying:
    """What stands for a sharding, as far as settings know one."""

    device_order = ()


def another_value(setting):
    """A value of a setting that is not its default."""
    words = ("cpu", "warn", "high", "full", "strict", "O1", "INFO", "rbg", "log", "jaxpr", "wrap", "clamped",
             "explicit", "everywhere", {"a": "b"}, Laying())
    for value in (True, False, 1, *words):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if setting.parse(value) != setting.default:
                    return value
        except (TypeError, ValueError):
            pass
    raise AssertionError(f"{setting.name} takes none of the values tried")


@pytest.mark.filterwarnings("ignore:.*has no effect in Rabbet")
@pytest.mark.parametrize("setting", CORE_SETTINGS, ids=lambda s: s.name)
@pytest.mark.narrow
def test_exactly_traced_settings_change_the_key(config, setting):
    before = config.traced_key()
    with config.override(**{setting.name: another_value(setting)}):
        assert (config.traced_key() is not before) == setting.traced


def test_update_reaches_the_key_of_a_thread_with_overrides(config):
    with config.override(debug_nans=True):
        before = config.traced_key()
        in_another_thread(lambda: config.update("disable_jit", True))
        assert config.traced_key() is not before


def test_keys_distinguish_values_that_are_equal_but_of_other_types(config):
    config.define(Setting("odd", None, lambda value: value, doc="anything", traced=True))
    with config.override(odd=1):
        one = config.traced_key()
    with config.override(odd=True):
        assert config.traced_key() is not one


def test_a_setting_that_is_found_when_it_is_asked_for(config):
    asked = []

    def find(everything):
        asked.append(everything)
        config.define(Setting("slots", 2, int, doc="how many"))

    config.use_finder(find)
    config.update("slots", "3")
    assert (config.slots, asked) == (3, [True])
    with pytest.raises(AttributeError, match=r"Did you mean 'slots'"):
        config.update("slot", 1)


def test_a_second_name_and_one_for_several(config):
    config.define(Alias("quiet", "traceback", lambda v: "fold" if v else "full", lambda v: v == "fold"))
    config.define(Alias("debug_all", ("debug_nans", "debug_infs")))
    with config.override(quiet=False, jax_debug_all="on"):
        assert (config.traceback, config.debug_nans, config.debug_infs) == ("full", True, True)
        assert (config.quiet, config.debug_all) == (False, True)
    with pytest.raises(PluginConflictError, match="'quiet' exists already"):
        config.define(Setting("quiet", False, bool, doc="no noise"))


@pytest.mark.narrow
def test_variables_of_unknown_names_ask_for_further_names_once(config, monkeypatch):
    monkeypatch.setenv("JAX_DEBUG_ALL", "1")
    asked = []

    def find(everything):
        asked.append(everything)
        config.define(Alias("debug_all", ("debug_nans", "debug_infs")))

    config.use_finder(find)
    assert (config.debug_nans, config.debug_infs, config.enable_x64, asked) == (True, True, False, [False])


def test_an_unknown_name_says_which_packages_have_more(config):
    config.use_finder(
        lambda everything: None, lambda: ["rabbet-some-names, which is not installed, has more"]
    )
    with pytest.raises(AttributeError, match="rabbet-some-names, which is not installed, has more"):
        config.update("jax_use_magma", "off")


def test_bool_takes_words(config):
    config.define(Setting("loud", False, bool, doc="noise"))
    with config.override(loud="on"):
        assert config.loud is True


@pytest.mark.narrow
def test_key_shows_the_values_that_are_no_defaults(config):
    assert repr(config.traced_key()) == "TracedKey()"
    with config.override(enable_x64=True):
        assert repr(config.traced_key()) == "TracedKey(enable_x64=True)"


# Many of them -------------------------------------------------------------------------------------


@pytest.mark.narrow
def test_two_configs_do_not_share(config):
    other = Config(CORE_SETTINGS)
    config.update("enable_x64", True)
    with config.override(debug_nans=True):
        assert (other.enable_x64, other.debug_nans) == (False, False)


def test_a_plugin_may_define_a_setting(config):
    before = config.traced_key()
    config.define(
        Setting("random_impl", "threefry", choice("threefry", "rbg"), "Random generator.", traced=True)
    )
    assert config.random_impl == "threefry"
    assert config.traced_key() is before  # so that programs which were traced before are found
    with config.override(random_impl="rbg"):
        assert config.traced_key() is not before
    assert config.traced_key() is before


def test_defining_the_same_setting_again_is_harmless_a_different_one_is_not(config):
    setting = Setting("mine", 1, int, "First.")
    config.define(setting)
    config.define(setting)
    with pytest.raises(PluginConflictError, match="First"):
        config.define(Setting("mine", 2, int, "Second."))
    with pytest.raises(PluginConflictError, match="part of Config"):
        config.define(Setting("update", 2, int, "Third."))


def test_a_list_of_settings_is_taken_whole_or_not_at_all(config):
    refused = []
    taken, free = Setting("cache", 1, int, "Mine."), Setting("slots", 1, int, "How many.")
    config.define_all([free, taken], refused.append)
    assert "'cache' exists already" in str(refused[0]) and "slots" not in config.settings
    config.define_all([free], refused.append)
    config.define_all([free], refused.append)
    assert (config.slots, len(refused)) == (1, 1)


def test_a_backends_setting_takes_the_name_from_a_list(config):
    refused = []
    config.define_all([Setting("slots", 1, int, "Mine."), Setting("other", 1, int, "Mine.")], refused.append)
    assert config.slots == 1
    config.define(Setting("slots", 5, int, "The backend's."))
    assert config.slots == 5 and "The backend's" in str(refused[0])
    with pytest.raises(AttributeError, match="no setting is called 'other'"):
        _ = config.other


def test_the_name_of_a_setting_is_a_str(config):
    with pytest.raises(TypeError, match="the name of a setting is a str, got int 5"):
        config.update(5, True)


def test_an_alias_of_nothing_says_so(config):
    config.define(Alias("loose", "no_such_setting"))
    with pytest.raises(AttributeError, match="another name of the setting 'no_such_setting', which does not"):
        config.update("loose", 1)


# Parsing and messages -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, value", [("1", True), ("TRUE", True), (" no ", False), (1, True), (False, False)]
)
def test_boolean(text, value):
    assert boolean(text) is value


@pytest.mark.parametrize(
    "text, value", [("512", 512), ("4GB", 2**32), ("1k", 1024), (7, 7), ("3m", 3 * 2**20)]
)
def test_size(text, value):
    assert size(text) == value


@pytest.mark.parametrize("text", ["", "GB", "1.5G", "-1", "5gib", True, None])
def test_size_refuses(text):
    with pytest.raises(ValueError, match="number of bytes"):
        size(text)


def test_unknown_name_lists_the_known_ones(config):
    for ask in (
        lambda: config.enable_x46,
        lambda: config.update("enable_x46", 1),
        lambda: config.override(enable_x46=1),
        lambda: config.context("enable_x46"),
    ):
        with pytest.raises(AttributeError, match=r"(?s)Did you mean 'enable_x64'.*cache_dir"):
            ask()


def test_bad_value_names_setting_value_and_choices(config):
    with pytest.raises(ConfigError, match=r"(?s)config.traceback cannot be 'none'.*fold, full"):
        config.update("traceback", "none")


def test_bad_environment_names_the_variable(config, monkeypatch):
    monkeypatch.setenv("RABBET_DEBUG_NANS", "maybe")
    with pytest.raises(ConfigError, match="environment variable RABBET_DEBUG_NANS cannot be 'maybe'"):
        _ = config.debug_nans


def test_assignment_says_what_to_write_instead(config):
    with pytest.raises(AttributeError, match=r"(?s)config.update\('debug_nans', True\).*config.override"):
        config.debug_nans = True


@pytest.mark.narrow
def test_a_config_shows_what_is_not_at_its_default(config, monkeypatch):
    monkeypatch.delenv("RABBET_ENABLE_CHECKS", raising=False)
    assert repr(config) == "Config()"
    config.update("debug_nans", True)
    assert repr(config) == "Config(debug_nans=True)"
    assert {"debug_nans", "update"} <= set(dir(config))


def test_every_setting_is_documented():
    assert all(setting.doc.endswith(".") and len(setting.doc) > 20 for setting in CORE_SETTINGS)


def test_contexts_have_the_fields_argument_names():
    (device, *_) = rb.devices()
    with rb.disable_jit(disable=True), rb.debug_nans(new_val=True), rb.default_device(new_val=device):
        assert (rb.config.disable_jit, rb.config.debug_nans, rb.config.default_device) == (True, True, device)
    assert rb.local_devices(host_id=0) == rb.local_devices(process_index=0)
    with pytest.raises(ValueError, match="no process 7; there are 1"):
        rb.local_devices(host_id=7)


# Overrides that do not end in the order in which they began ---------------------------------------


def suspended(config):
    """A generator that stopped within a block that changes a setting."""

    def generator():
        with config.override(enable_x64=True):
            yield
            yield

    made = generator()
    next(made)
    return made


def nothing_is_left(config):
    return config.enable_x64 is False and config.overrides() == {} and not config._overridden


@pytest.mark.narrow
def test_a_generator_that_ends_within_another_block_leaves_nothing(config):
    generator = suspended(config)
    with config.override(enable_x64=False, debug_nans=True):
        generator.close()
        assert (config.enable_x64, config.debug_nans) == (False, True)
    assert nothing_is_left(config)


@pytest.mark.narrow
def test_generators_end_in_the_order_in_which_they_began(config):
    first, second = suspended(config), suspended(config)
    key = config.traced_key()
    first.close()
    assert config.enable_x64 is True and config.traced_key() is key
    second.close()
    assert nothing_is_left(config) and config.traced_key() is not key


@pytest.mark.narrow
def test_the_collector_ends_a_generator_in_a_cycle(config):
    cycle = [suspended(config)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert nothing_is_left(config)


@pytest.mark.narrow
def test_another_thread_ends_a_generator(config):
    generator = suspended(config)

    def end():
        with config.override(debug_nans=True):
            generator.close()
            return config.overrides()

    assert in_another_thread(end) == {"debug_nans": True}
    assert nothing_is_left(config)


@pytest.mark.narrow
def test_a_generator_of_a_thread_that_is_gone(config):
    generator = in_another_thread(lambda: suspended(config))
    assert config.enable_x64 is False
    generator.close()
    assert nothing_is_left(config)


@pytest.mark.narrow
def test_one_override_in_two_threads_at_a_time(config):
    override = config.override(enable_x64=True)
    began, ended = threading.Event(), threading.Event()

    def other():
        with override:
            began.set()
            ended.wait(10)
            return config.enable_x64

    seen = []
    with override:
        thread = threading.Thread(target=lambda: seen.append(other()))
        thread.start()
        began.wait(10)
    assert config.overrides() == {}
    ended.set()
    thread.join()
    assert seen == [True] and nothing_is_left(config)


@pytest.mark.parametrize("name", ["enable_x64", "debug_nans", "default_device", "numpy_dtype_promotion"])
def test_the_context_manager_of_a_setting_is_pickled_by_its_name(name):
    context = getattr(rb, name)
    assert pickle.loads(pickle.dumps(context)) is context is rb.config.context(name)
    assert (context.__module__, context.__qualname__) == ("rabbet", name)


@pytest.mark.parametrize("all_of_it", [False, True])
def test_threads_may_bring_the_same_setting_at_once(config, all_of_it):
    oven = lambda: Setting("oven", False, boolean, doc="What two threads bring.")
    bring = lambda: config.define_all([oven()], refused.append) if all_of_it else config.define(oven())
    known, others, refused = config._known, [], []

    def overtaken(name):
        found = known(name)
        if not others:
            others.append(threading.Thread(target=bring))
            others[0].start()
            others[0].join(0.1)  # it may have to wait for this thread
        return found

    config.__dict__["_known"] = overtaken
    bring()
    others[0].join()
    assert config.oven is False and not refused
