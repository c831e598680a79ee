"""Broken plugins, really installed: nothing else breaks, and `rabbet doctor` says what is wrong.

Each test "installs" made-up packages into a folder of its own (`conftest.Environment`), and runs a fresh
Python that sees them beside the packages of this environment.
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.library


def offers_broken(environment, source, **options):
    """Install `rabbet-broken`, which offers rb.broken, a dtype and a rule set for vmap from one module."""
    entry_points = """
        [rabbet.api]
        broken = rabbet_broken:broken
        [rabbet.dtypes]
        brokenfloat = rabbet_broken:spec
        [rabbet.rules]
        batch = rabbet_broken:rules
        [rabbet.passes]
        broken_pass = rabbet_broken:broken_pass
        [rabbet.hooks]
        broken_hooks = rabbet_broken
        """
    environment.install("rabbet-broken", source, entry_points, **options)


# How each is broken, and what must be told about it.
BROKEN = {
    "its import raises": (
        "def helper():\n    raise ValueError('out of cheese')\nhelper()",
        {},
        ["ValueError: out of cheese", "rabbet_broken.py:2"],
    ),
    "a module that it needs is not installed": (
        "import no_such_module_at_all",
        {},
        ["ModuleNotFoundError: No module named 'no_such_module_at_all'", "rabbet_broken.py:1"],
    ),
    "its native library is missing": (
        "import ctypes\nctypes.CDLL('libnope.so')",
        {},
        ["libnope.so: cannot open shared object file", "rabbet_broken.py:2"],
    ),
    "it is not Python": ("def broken(:", {}, ["SyntaxError", "rabbet_broken.py"]),
    "it ends the program": ("raise SystemExit(0)", {}, ["SystemExit", "rabbet_broken.py:1"]),
    "it is for another core": (
        "raise SystemExit('it was imported')",
        {"requires": "rabbet-core>=99"},
        ["requires rabbet-core>=99"],
    ),
    "its entry point names nothing": ("pass", {}, ["has no attribute 'broken'"]),
}
cases = pytest.mark.parametrize("how", BROKEN)


@cases
def test_importing_rabbet_neither_fails_nor_imports_it(environment, how):
    source, options, _ = BROKEN[how]
    offers_broken(environment, source, **options)
    environment.run("import sys, rabbet; assert 'rabbet_broken' not in sys.modules")


@cases
def test_using_its_name_raises_plugin_error_with_the_cause_each_time(environment, how):
    source, options, facts = BROKEN[how]
    offers_broken(environment, source, **options)
    output = environment.run(
        """
        import rabbet as rb
        for _ in range(2):
            try:
                rb.broken
            except rb.errors.PluginError as error:
                print(error)
            else:
                raise SystemExit("rb.broken exists")
        """
    )
    assert output.count("rb.broken comes from rabbet-broken 1.0 (rabbet_broken:broken)") == 2
    for fact in facts:
        assert output.count(fact) == 2


@cases
@pytest.mark.needs("jit", "cpu")
def test_everything_else_works(environment, how):
    source, options, _ = BROKEN[how]
    offers_broken(environment, source, **options)
    output = environment.run(
        """
        import warnings
        import rabbet as rb
        warnings.simplefilter("ignore")          # the hook plugin is reported, see below
        print(float(rb.jit(lambda x: rb.lax.mul(x, 2.0))(21.0)))
        """
    )
    assert output.strip() == "42.0"


@pytest.mark.needs("jit", "cpu")
def test_a_broken_hook_plugin_is_one_warning(environment):
    offers_broken(environment, "raise ValueError('out of cheese')")
    done = environment.python(
        "-c", "import rabbet as rb\nfor n in (1.0, 2.0):\n    rb.jit(lambda x: x * n)(n)\nprint('done')"
    )
    assert done.stdout.strip() == "done"
    assert done.stderr.count("PluginWarning") == 1
    assert "out of cheese" in done.stderr


@cases
def test_doctor_shows_the_cause_and_fails(environment, how):
    source, options, facts = BROKEN[how]
    offers_broken(environment, source, **options)
    done = environment.doctor()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN  api.broken: rabbet-broken 1.0 (rabbet_broken:broken)" in done.stdout
    for fact in facts:
        assert fact in done.stdout


# Two packages, one name -----------------------------------------------------------------------------


def two_claims(environment):
    for name in ("first", "second"):
        entry_points = f"[rabbet.api]\nclaimed = {name}_dist:claimed\n"
        environment.install(f"{name}-dist", f"claimed = {name!r}", entry_points)


def test_two_packages_with_one_name_are_an_error_that_names_both(environment):
    two_claims(environment)
    done = environment.python("-c", "import rabbet as rb; rb.claimed")
    assert "PluginConflictError" in done.stderr
    for fact in ("first-dist 1.0", "second-dist 1.0", "RABBET_PREFER=api.claimed=first-dist"):
        assert fact in done.stderr
    doctor = environment.doctor()
    assert doctor.returncode == 1
    assert "2 packages offer rb.claimed" in doctor.stdout


@pytest.mark.parametrize("choice", ["first", "second"])
def test_the_setting_chooses_between_them(environment, choice):
    two_claims(environment)
    prefer = f"api.claimed={choice}-dist"
    assert environment.run("import rabbet as rb; print(rb.claimed)", RABBET_PREFER=prefer).strip() == choice


# Settings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"RABBET_PLUGINS": "none"},
        {"RABBET_PLUGINS": "rabbet-jit,rabbet_pjrt_cpu"},
        {"RABBET_DISABLE_PLUGINS": "rabbet-broken"},
        {"RABBET_DISABLE_PLUGINS": "rabbet_broken, other"},
    ],
)
def test_a_plugin_that_is_switched_off_is_not_imported(environment, settings):
    offers_broken(environment, "raise SystemExit('it was imported')")
    output = environment.run(
        """
        import sys, rabbet as rb
        assert not hasattr(rb, "broken")
        assert "broken" not in dir(rb)
        try:
            rb.broken
        except rb.errors.MissingPluginError as error:
            print(error)
        assert "rabbet_broken" not in sys.modules
        """,
        **settings,
    )
    assert "rb.broken is installed but" in output
    assert next(iter(settings)) in output


def test_doctor_is_content_once_the_broken_plugin_is_switched_off(environment):
    offers_broken(environment, "raise SystemExit('it was imported')")
    done = environment.doctor(RABBET_DISABLE_PLUGINS="rabbet-broken")
    assert "BROKEN" not in done.stdout
    assert done.returncode == 0, done.stdout


def test_doctor_reports_a_setting_that_names_nothing(environment):
    done = environment.doctor(RABBET_DISABLE_PLUGINS="rabbet-typo")
    assert done.returncode == 1
    assert "names 'rabbet-typo'" in done.stdout


def test_a_good_plugin_is_found_whatever_the_cache_says(environment):
    # The same folder, read once without the plugin and once with it: stevedore's cache must not hide it.
    environment.run("import rabbet as rb; assert not hasattr(rb, 'late')")
    environment.install("rabbet-late", "late = 1", "[rabbet.api]\nlate = rabbet_late:late\n")
    assert environment.run("import rabbet as rb; print(rb.late)").strip() == "1"


def test_importing_rabbet_does_not_import_the_plugin_system():
    code = "import sys, rabbet; print(*({'stevedore', 'pluggy', 'packaging', 'argparse'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
