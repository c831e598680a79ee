"""Discovery: pure functions over metadata."""

import importlib.metadata

import pytest
from rabbet.errors import ConfigError
from rabbet.plugins import discovery

from .fakes import FakeDistribution


def entry_point(value, name="x", group="rabbet.api"):
    return importlib.metadata.EntryPoint(name, value, group)


@pytest.mark.parametrize(
    "value, package",
    [
        ("rabbet_jit:jit", "rabbet_jit"),
        ("rabbet_autodiff.reverse.api:grad", "rabbet_autodiff"),
        ("rabbet.numpy", "rabbet.numpy"),
        ("rabbet.numpy.linalg:norm", "rabbet.numpy"),
    ],
)
def test_package_behind_an_entry_point(value, package):
    assert discovery.package_of(entry_point(value)) == package


def test_spellings_of_one_name_are_one_name():
    for name in ("rabbet-jit", "Rabbet_JIT", "rabbet.jit"):
        assert discovery.normalise(name) == "rabbet-jit"


@pytest.mark.parametrize(
    "requires, met",
    [
        ((), True),
        (("numpy>=99",), True),
        (("rabbet-core",), True),
        (("rabbet_core>=0.1,<0.2",), True),
        (("Rabbet.Core (>=0.1)",), True),
        (("rabbet-core>=99",), False),
        (("rabbet-core<0.1",), False),
        (("rabbet-core>=99; python_version<'3'",), True),
        (("rabbet-core>=99; extra == 'all'",), True),
        (("rabbet-core-extras>=99",), True),
        (("rabbet-core>=0.1", "rabbet-core!=0.1.4"), False),
    ],
)
def test_the_core_version_that_a_plugin_asks_for(requires, met):
    unmet = discovery.unmet_requirement(FakeDistribution("p", "", requires), "0.1.4")
    assert (unmet is None) == met


VERSIONS = ["0", "0.1", "0.1.0", "0.1.4", "0.2", "0.10", "1", "1.0.0.1", "00.1"]
SIGNS = [">=", ">", "<=", "<", "==", "!="]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_quick_reading_of_plain_requirements_agrees_with_packaging(version):
    lines = [f"rabbet-core{sign}{bound}" for sign in SIGNS for bound in VERSIONS]
    lines += [f"rabbet_core (>={low}, <{high})" for low in VERSIONS for high in VERSIONS]
    for line in lines:
        assert discovery._plainly_met(line, version) == discovery._met(line, version), line


@pytest.mark.parametrize(
    "line, version",
    [
        ("rabbet-core>=0.1; python_version<'3'", "0.1"),
        ("rabbet-core~=0.1", "0.1"),
        ("rabbet-core>=0.1rc1", "0.1"),
        ("rabbet-core==0.1.*", "0.1"),
        ("rabbet-core===0.1", "0.1"),
        ("rabbet-core[cli]>=0.1", "0.1"),
        ("rabbet-core-extras>=99", "0.1"),
        ("rabbet-core>=0.1", "0.1.dev3"),
    ],
)
def test_other_requirements_are_left_to_packaging(line, version):
    assert discovery._plainly_met(line, version) is None


def test_a_pre_release_of_the_core_counts_as_that_version():
    assert discovery.unmet_requirement(FakeDistribution("p", "", ["rabbet-core>=0.1"]), "0.2.dev3") is None


def test_owner_of_a_listed_entry_point():
    distribution = FakeDistribution("my-dist", "[rabbet.api]\nf = m:f\n")
    (listed,) = distribution.entry_points
    assert discovery.owner(listed) is distribution


def test_owner_is_found_without_the_cache_knowing_it():
    # An entry point that really is installed here, with the owner left out as stevedore's cache
    # leaves it out.
    real = next(one for one in discovery.scan("console_scripts") if one.dist.name == "pytest")
    bare = importlib.metadata.EntryPoint(real.name, real.value, real.group)
    assert bare.dist is None
    assert discovery.owner(bare).name == "pytest"


def test_an_entry_point_that_nobody_declares_has_no_owner():
    assert discovery.owner(entry_point("no_such_package:x")) is None


def test_names_in_a_setting():
    assert discovery.split_names("rabbet_jit, my.dist other") == {"rabbet-jit", "my-dist", "other"}
    assert discovery.split_names("") == discovery.split_names(None) == frozenset()


def test_choices_in_a_setting():
    choices = discovery.split_choices("api.grad=My_Dist, rabbet.dtypes.int4=other")
    assert choices == {("rabbet.api", "grad"): "my-dist", ("rabbet.dtypes", "int4"): "other"}
    assert discovery.split_choices(None) == {}


@pytest.mark.parametrize("text", ["grad=mine", "api.grad", "nope.grad=mine", "api.=mine", "api.grad="])
def test_a_choice_of_another_form_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match=r"api\.grad=my-grad"):
        discovery.split_choices(text)
