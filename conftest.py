"""What every test folder shares: skipping what needs plugins that this environment does not have."""

import gc
import inspect
import os
import pathlib
import re
import sys
import tomllib
import zlib
from functools import cache
from importlib.metadata import entry_points, version

import pytest

ROOT = pathlib.Path(__file__).resolve().parent
GROUPS = ("rabbet.api", "rabbet.backends", "rabbet.dtypes", "rabbet.rules", "rabbet.passes", "rabbet.hooks")


@cache
def installed_plugins():
    """Names offered through rabbet's entry-point groups, e.g. 'jit', 'numpy', 'bfloat16', 'cpu'."""
    return {point.name for group in GROUPS for point in entry_points(group=group)}


# Half of the time of the suite is XLA making code fast that runs once. With `--quick-compile` it is left out.
QUICK_FLAGS = "--xla_backend_optimization_level=0"
OF_JAXLIB_010 = "--xla_cpu_use_fusion_emitters=false"  # newer ones do not know it, and end the process


def quick_flags():
    """XLA's flags for `--quick-compile`, for the jaxlib that is installed."""
    return f"{QUICK_FLAGS} {OF_JAXLIB_010}" if version("jaxlib").startswith("0.10.") else QUICK_FLAGS


# What is compiled as users compile it all the same, in a run of its own (`-m optimized`): what platforms do,
# every primitive under every transformation, and what is about numbers and the programs that XLA makes.


@cache
def declared_marks(path):
    """The marks that choose environments for a file of tests.

    They are those of its ``pytestmark``, and those that its package declares for all its tests (``tests`` in
    ``[tool.rabbet]`` of its pyproject.toml).

    Read from the text, so that a file of which nothing is chosen need not be imported.
    """
    line = (
        re.search(r"^pytestmark = (.*?)(?=^\S|\Z)", path.read_text(), re.M | re.S)
        if path.suffix == ".py"
        else None
    )
    own = set(re.findall(r"pytest\.mark\.(optimized|exhaustive|library)\b", line[1])) if line else set()
    package = next((folder for folder in path.parents if (folder / "pyproject.toml").exists()), None)
    if package is not None and package != ROOT:
        own |= marks_of_package(package)
    return own - {"library"} if "exhaustive" in own else own  # what runs nowhere else is left out nowhere


@cache
def marks_of_package(folder):
    """What ``[tool.rabbet]`` of a package says of all its tests."""
    about = tomllib.loads((folder / "pyproject.toml").read_text()).get("tool", {}).get("rabbet", {})
    return set(about.get("tests", ()))


def pytest_addoption(parser):
    parser.addoption("--quick-compile", action="store_true", help="let XLA optimize less")


def pytest_configure(config):
    """XLA reads its flags when a process compiles its first program; workers and children take them over."""
    flags = os.environ.get("XLA_FLAGS", "")
    if config.getoption("--quick-compile") and QUICK_FLAGS not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {quick_flags()}".strip()


def pytest_sessionfinish(session, exitstatus):
    """A file that was asked for and whose tests are all in the other part of an environment is no failure."""
    asked_for = session.config.args_source is pytest.Config.ArgsSource.ARGS
    part = "optimized" in session.config.getoption("markexpr")
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and asked_for and part:
        session.exitstatus = pytest.ExitCode.OK


def pytest_runtest_setup(item):
    if item.get_closest_marker("narrow") and sys.modules["rabbet"].config.enable_x64:
        pytest.skip("about numbers where 64 bits are off")
    for mark in item.iter_markers("forbidden"):
        on = [s for s in mark.args if getattr(sys.modules["rabbet"].config, s) not in IDLE]
        if on:
            pytest.skip(f"about what {', '.join(on)} forbids")
    wanted = {name for mark in item.iter_markers("needs") for name in mark.args}
    missing = sorted(wanted - installed_plugins())
    if missing:
        pytest.skip(f"needs plugins that are not installed here: {', '.join(missing)}")


# What a setting is where it forbids nothing.
IDLE = (False, None, "allow", "standard", "fold")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Whatever platform is the default: one that lacks what a test needs says so itself (`Backend.lacks`)."""
    try:
        return (yield)
    except Exception as error:
        # Environments without rabbet share this file.
        refused = getattr(sys.modules.get("rabbet.errors"), "NotOfferedError", ())
        while isinstance(error, ExceptionGroup):  # of several threads, each a warning about an error
            error = error.exceptions[0].__cause__ or error.exceptions[0]
        if not isinstance(error, refused):
            raise
        reason = str(error).splitlines()[0]
    pytest.skip(reason)


def leave_rows_out(items, most):
    """Keep at most so many rows of each test with parameters, the first among them; return the rest.

    Of an exhaustive test 15 times as many stay. `pytest.mark.rows(2)` on a test says how many there are to
    be whatever `most` is: its first ones.
    """
    by_test = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = set()
    for rows in by_test.values():
        mark = rows[0].get_closest_marker("rows")
        if mark:
            chosen.update(rows[: mark.args[0]])
            continue
        exhaustive = any(row.get_closest_marker("exhaustive") for row in rows)
        count = min(15 * most if exhaustive else most, len(rows))
        chosen.update(rows[i * len(rows) // count] for i in range(count))
    left_out = [item for item in items if item not in chosen]
    items[:] = [item for item in items if item in chosen]
    return left_out


# What an older jaxlib could break first: an environment that runs a share of the tests runs all of these.
WHOLE = ("core/", "pjrt_", "plugins/transformations/")


def leave_tests_out(items, share, root):
    """Keep one in so many tests beside what `WHOLE` names, chosen by a hash of their names; return the rest.

    A test with parameters is kept or left out with all its rows, so a share is the same on every machine.
    """
    chosen, left_out = [], []
    for item in items:
        place = item.path.relative_to(root).as_posix()
        name = f"{place}::{item.nodeid.partition('::')[2].partition('[')[0]}"
        kept = place.startswith(WHOLE) or zlib.crc32(name.encode()) % share == 0
        (chosen if kept else left_out).append(item)
    items[:] = chosen
    return left_out


# Tests of one package; those that need no more than it requires run alone, in `core-only` and `minimal`.
BESIDE = ("core/", "pjrt_cpu/", "plugins/")
# What those environments install besides the package, and for core and the CPU.
WITH_ALL = ("rabbet-core", "rabbet-pjrt-cpu", "rabbet-testing")
WITH_CORE = ("rabbet-custom-rules",)


@cache
def distributions():
    """Folder and pyproject.toml of each package that tests stand beside, by the name of its distribution."""
    files = [
        file for where in ("core", "pjrt_cpu", "plugins/*/*") for file in ROOT.glob(f"{where}/pyproject.toml")
    ]
    read = {file.parent: tomllib.loads(file.read_text()) for file in files}
    return {about["project"]["name"]: (folder, about) for folder, about in read.items()}


def bare(requirement):
    """The name of a distribution, without versions and extras."""
    return re.match(r"[\w.-]+", requirement)[0]


class Alone:
    """What is installed where a package is tried alone: it, what it requires, and the kit for tests."""

    def __init__(self, folder):
        own = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        of_core = WITH_CORE if folder.parent == ROOT else ()
        queue, found = [own["name"], *WITH_ALL, *of_core], set()
        while queue:
            name = queue.pop()
            if name not in found:
                found.add(name)
                about = distributions().get(name, (None, {"project": {}}))[1]["project"]
                queue += map(bare, about.get("dependencies", ()))
        ours = [distributions()[name] for name in found if name in distributions()]
        self.folders = [folder for folder, _ in ours]
        # What a test asks for in `pytest.mark.needs`.
        self.plugins = {
            plugin
            for _, about in ours
            for group, plugins in about["project"].get("entry-points", {}).items()
            if group in GROUPS
            for plugin in plugins
        }
        extra = own.get("optional-dependencies", {}).get("test", ()) if not of_core else ()
        self.others = {name.replace("-", "_") for name in [*found, *map(bare, extra)]}

    def has_module(self, name):
        """Whether `pytest.importorskip(name)` goes on there."""
        if not name.startswith("rabbet"):
            return name.partition(".")[0] in self.others
        path = name.replace(".", "/")
        places = [folder / "src" / path for folder in self.folders]
        return any(place.is_dir() or place.with_suffix(".py").exists() for place in places)

    def suffices(self, text):
        """Whether nothing that a text asks for is missing; what is computed counts as missing."""
        for call in re.findall(r"\bneeds\(([^)]*)\)", text):
            if not literal(call) or not set(re.findall(r'"([^"]*)"', call)) <= self.plugins:
                return False
        for call in re.findall(r"\bimportorskip\(([^),]*)", text):
            if not literal(call) or not self.has_module(call.strip().strip('"')):
                return False
        return True


def literal(arguments):
    """Whether a call's arguments are plain texts."""
    return re.fullmatch(r'\s*("[^"]*"\s*,?\s*)+', arguments) is not None


@cache
def alone_in(folder):
    """`Alone` of a package's folder."""
    return Alone(folder)


def package_of(path):
    """The folder of the package that a test stands beside, or None."""
    inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).as_posix().startswith(BESIDE)
    folders = [folder for folder in path.parents if inside and (folder / "pyproject.toml").exists()]
    return folders[0] if folders and folders[0] != ROOT else None


@cache
def whole_file_alone(path):
    """Whether all tests of a file run where their package is alone."""
    folder = package_of(path)
    return folder is not None and alone_in(folder).suffices(path.read_text())


@cache
def head_of(path):
    """The lines of a file that stand in no function: what they ask for, all its tests need."""
    return "".join(line for line in path.read_text().splitlines(True) if not line[:1].isspace())


def runs_alone(item):
    """Whether a test runs, and is not skipped, where its package is alone."""
    folder = package_of(item.path)
    if folder is None:
        return False
    there = alone_in(folder)
    needed = {name for mark in item.iter_markers("needs") for name in mark.args}
    if not needed <= there.plugins:
        return False
    return whole_file_alone(item.path) or there.suffices(
        importorskips_in(head_of(item.path)) + importorskips_in(source(item.function))
    )


@cache
def source(function):
    """A test's text."""
    return inspect.getsource(inspect.unwrap(function))


def importorskips_in(text):
    """The calls of `importorskip`; marks are not read from the text but from the test."""
    return "".join(re.findall(r"importorskip\([^)]*\)", text))


def pytest_ignore_collect(collection_path, config):
    """Files of which `-m` chooses nothing need not be read: each process would make all their rows."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    chosen = config.getoption("markexpr").split(" and ")
    marks = declared_marks(collection_path)
    without = any(f"not {mark}" in chosen for mark in marks)
    without |= "not alone" in chosen and whole_file_alone(collection_path)
    return True if without or ("optimized" in chosen and "optimized" not in marks) else None


def pytest_collection_finish():
    """What is there by now stays to the end: garbage is looked for among what tests make, not in all rows."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        for mark in declared_marks(item.path):
            item.add_marker(mark)
        if runs_alone(item):
            item.add_marker("alone")
    yield  # here `-m` and `-k` choose
    if os.environ.get("RABBET_TEST_ROWS"):
        config.hook.pytest_deselected(items=leave_rows_out(items, int(os.environ["RABBET_TEST_ROWS"])))
    if os.environ.get("RABBET_TEST_SHARE"):
        share = int(os.environ["RABBET_TEST_SHARE"])
        config.hook.pytest_deselected(items=leave_tests_out(items, share, config.rootpath))
