"""Core and the CPU alone: it computes, and a name that a plugin would bring says which package to install."""

import importlib.metadata
import operator
import re
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingPluginError

PROVIDED = {
    "jit": "rabbet-jit",
    "make_jaxpr": "rabbet-jit",
    "grad": "rabbet-autodiff",
    "value_and_grad": "rabbet-autodiff",
    "custom_vjp": "rabbet-autodiff",
    "checkpoint": "rabbet-autodiff",
    "remat": "rabbet-autodiff",
    "checkpoint_policies": "rabbet-autodiff",
    "ad_checkpoint": "rabbet-autodiff",
    "vmap": "rabbet-vmap",
    "custom_batching": "rabbet-vmap",
    "numpy": "rabbet-numpy",
    "nn": "rabbet-nn",
    "random": "rabbet-random",
    "lax.linalg": "rabbet-linalg",
    "lax.lgamma": "rabbet-special",
    "lax.conv_general_dilated": "rabbet-convolution",
    "lax.reduce_window": "rabbet-convolution",
    "lax.psum": "rabbet-collectives",
    "lax.fft": "rabbet-fft",
    "lax.associative_scan": "rabbet-algorithms",
    "lax.sort": "rabbet-algorithms",
    "lax.cumsum": "rabbet-algorithms",
    "lax.rng_bit_generator": "rabbet-random",
    "scipy": "rabbet-scipy",
    "debug": "rabbet-callbacks",
    "tree_util": "rabbet-jax-names",
    "CompilerEffortLevel": "rabbet-jax-names",
    "pure_callback": "rabbet-callbacks",
    "experimental.io_callback": "rabbet-callbacks",
}


def test_only_core_the_cpu_and_the_kit_that_tests_them_are_installed():
    ours = {d.name for d in importlib.metadata.distributions() if d.name.startswith("rabbet")}
    # The kit has programs with such functions.
    assert ours == {"rabbet-core", "rabbet-custom-rules", "rabbet-pjrt-cpu", "rabbet-testing"}


def test_primitives_run():
    x = rb.device_put(np.float32([1, 2, 3]))
    assert lax.add(x, lax.mul(x, 2.0)).tolist() == [3, 6, 9]
    assert (x + x).tolist() == [2, 4, 6]


@pytest.mark.parametrize(("name", "package"), PROVIDED.items())
def test_a_missing_name_says_what_to_install(name, package):
    said = re.escape(f"rb.{name} is provided by the package {package}")
    with pytest.raises(MissingPluginError, match=said):
        operator.attrgetter(name)(rb)


def test_a_missing_plugin_is_also_an_attribute_error():
    assert not hasattr(rb, "grad")
    with pytest.raises(AttributeError):
        rb.no_such_name_at_all  # noqa: B018


def test_a_missing_experimental_name_says_what_to_install():
    import rabbet.experimental

    with pytest.raises(
        MissingPluginError, match=r"rb\.experimental\.jet is provided by the package rabbet-jet"
    ):
        rabbet.experimental.jet  # noqa: B018


def test_a_missing_module_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", "import rabbet.numpy"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "MissingModuleError" in done.stderr


def test_a_missing_function_of_lax_says_what_to_install():
    offered = {"map": "vmap", "custom_root": "autodiff", "custom_linear_solve": "autodiff"}
    for name, package in offered.items():
        said = rf"rb\.lax\.{name} is provided by the package rabbet-{package}"
        with pytest.raises(MissingPluginError, match=said):
            getattr(lax, name)
    with pytest.raises(AttributeError, match=r"'rabbet\.lax' has no attribute 'consine'"):
        lax.consine  # noqa: B018


def test_a_missing_method_of_arrays_says_what_to_install():
    with pytest.raises(MissingPluginError, match="the package rabbet-numpy"):
        lax.add(1.0, 2.0).sum()


def test_core_has_no_derivative_rules():
    """A function may have some: they wait for a package that knows of them."""
    import rabbet.extend.transform as door

    assert not {"Pullback", "Pushforward", "pullback", "pushforward"} & set(dir(door))
    double = rb.custom_rules(lambda x: lax.add(x, x))
    double.def_rule("jvp", lambda primals, tangents: None)
    assert double(2.0).tolist() == 4


def test_notebooks_show_an_array_as_text():
    assert lax.add(1.0, 2.0)._repr_html_() is None


def test_the_command_line_says_which_package_it_is():
    done = subprocess.run([sys.executable, "-m", "rabbet", "doctor"], capture_output=True, text=True)
    assert done.returncode == 2 and "python -m pip install rabbet-cli" in done.stderr
