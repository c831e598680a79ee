"""Names under which functions are found are the names that they have; settings from the command line."""

import functools
import pickle
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax, nn, tree_util

ALIASES = {
    rnp: "acos acosh amax amin around asin atan atan2 bitwise_invert bitwise_left_shift bitwise_not concat "
    "conjugate deg2rad mod permute_dims pow rad2deg true_divide",
    lax: "betainc bitwise_and bitwise_not bitwise_or bitwise_xor",
    tree_util: "tree_all tree_flatten tree_leaves tree_map tree_reduce tree_structure tree_unflatten",
    rb: "remat jacobian",
    nn: "swish hard_swish",
    nn.initializers: "xavier_uniform kaiming_normal",
}


@pytest.mark.parametrize("module", ALIASES, ids=lambda m: m.__name__)
def test_a_second_name_is_a_name_of_its_own(module):
    for name in ALIASES[module].split():
        function = getattr(module, name)
        assert (function.__name__, function.__qualname__) == (name, name)
        assert pickle.loads(pickle.dumps(function)) is function and function.__doc__


def test_second_names_do_what_the_first_do():
    x = rnp.array([[0.5, 0.25]])
    assert rnp.acos(x).tolist() == rnp.arccos(x).tolist() and rnp.permute_dims(x).shape == (2, 1)
    assert rnp.amax(x, axis=1, keepdims=True).tolist() == [[0.5]]
    assert tree_util.tree_unflatten(tree_util.tree_structure([1, 2]), [3, 4]) == [3, 4]
    with pytest.raises(TypeError, match="conj"):
        rnp.conjugate("text")


def scaled(a, x):
    """Scales."""
    return a * x


class Model:
    def __call__(self, x):
        return x * 2


@pytest.mark.parametrize(
    "transformation",
    [rb.jit, rb.vmap, rb.grad, rb.value_and_grad, rb.checkpoint, rb.jacfwd, rb.hessian, rb.named_call],
    ids=lambda t: t.__name__,
)
def test_what_is_made_of_partials_and_objects_has_a_name(transformation):
    made = transformation(functools.partial(scaled, 2.0))
    assert (made.__name__, made.__module__) == ("scaled", __name__)
    assert made.__doc__.endswith("Scales.") and transformation(Model()).__name__ == "Model"


def test_no_common_dtype_is_an_error_of_types_and_of_values():
    with rb.numpy_dtype_promotion("strict"):
        for kind in (TypeError, ValueError):
            with pytest.raises(kind, match="no implicit promotion"):
                rnp.ones(2) + rnp.arange(2)


def test_settings_are_read_as_items():
    assert rb.config.values["jax_enable_x64"] is rb.config.enable_x64
    with rb.enable_x64(True):
        assert rb.config.values["enable_x64"] is True


FLAGS = """
import sys
import rabbet as rb
rb.config.parse_flags_with_absl()
print(rb.config.enable_x64, rb.config.jax_numpy_rank_promotion)
"""
RUN = """
from absl import app, flags
import rabbet as rb
rb.config.config_with_absl()
flags.DEFINE_integer("steps", 3, "how many")
app.run(lambda argv: print(rb.config.enable_x64, flags.FLAGS.steps, argv[1:]))
"""


def printed(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_settings_come_from_the_command_line():
    pytest.importorskip("absl")
    given = "--jax_enable_x64", "--jax_numpy_rank_promotion=raise", "--other=3"
    assert printed(FLAGS, *given) == "True raise"
    assert printed(RUN, "--jax_enable_x64=true", "--steps=7", "rest") == "True 7 ['rest']"


def test_the_flag_of_xla_for_the_number_of_devices():
    flag = "--xla_force_host_platform_device_count=3"
    start = f"import os; os.environ['XLA_FLAGS'] = '{flag}'; import rabbet as rb;"
    assert printed(f"{start} print(len(rb.devices()))") == "3"
    assert printed(f"{start} rb.config.update('num_cpu_devices', 2); print(len(rb.devices()))") == "2"


class Duck:
    shape = [2, 3]
    dtype = np.dtype("int8")


def test_objects_with_a_shape_tell_it():
    assert (rnp.shape(Duck()), rnp.size(Duck()), rnp.ndim(rb.typeof(rnp.ones(3)))) == ((2, 3), 6, 1)
    assert lax.full_like(Duck(), 7).tolist() == [[7] * 3] * 2
    assert lax.full_like(Duck(), 7, shape=(1,)).dtype == np.int8


@pytest.mark.parametrize("transformation", [lambda f: f, rb.jit, rb.vmap])
def test_keys_of_given_bits(transformation):
    keys = rb.random.split(rb.random.key(3), 2)
    made = transformation(lambda k: (rnp.zeros_like(k), rnp.ones_like(k), lax.full_like(k, 7)))(keys)
    for key, bits in zip(made, (0, 1, 7), strict=True):
        assert key.dtype == keys.dtype
        assert rb.random.key_data(key).tolist() == [[bits, bits]] * 2
    assert rnp.zeros(2, keys.dtype).shape == rnp.empty((2,), keys.dtype).shape == (2,)
    same = rnp.full(2, keys[0], keys.dtype)
    assert rb.random.key_data(same)[1].tolist() == rb.random.key_data(keys)[0].tolist()
    with pytest.raises(TypeError, match="stored as uint32"):
        rnp.full_like(keys, 1.5)


def test_the_transpose_at_a_python_number_is_weak():
    (pulled,) = rb.linear_transpose(lambda x: 2 * x, 1.0)(3.0)
    assert float(pulled) == 6 and pulled.weak_type


@pytest.mark.parametrize("other", [[0, 1], (0, 1), {"a": 0}])
def test_a_list_is_no_array_to_compare_with(other):
    x = rnp.arange(2)
    for compare in (lambda a: a == other, lambda a: a != other, lambda a: other == a):
        for call in (compare, rb.jit(compare)):
            with pytest.raises(TypeError, match="make that an array first"):
                call(x)
    assert (x == None) is False and (x != "text") is True  # noqa: E711


@pytest.mark.parametrize("chosen", [True, False])
def test_cond_as_it_was_once_called(chosen):
    run = lambda p, x: lax.cond(p, x, rnp.sin, {"b": x}, lambda d: -d["b"])
    wanted = np.sin(np.float32(0.5)) if chosen else -0.5
    for call in (run, rb.jit(run)):
        assert float(call(chosen, 0.5)) == pytest.approx(float(wanted))


@rb.custom_vjp
def backward_only(x):
    return x


backward_only.defvjp(lambda x: (x, None), lambda kept, g: (g,))
WRONG = {
    "an axis that is not there": (lambda: rnp.sum(rnp.ones(3), axis=2), (ValueError, IndexError)),
    "swapped axes": (lambda: rnp.swapaxes(rnp.ones((2, 3)), 0, 5), (ValueError, IndexError)),
    "a dtype of numpy": (lambda: rnp.gcd(1.5, 2), (TypeError, ValueError)),
    "a dtype of special": (lambda: rb.scipy.special.i1(1j), (TypeError, ValueError)),
    "complex positions": (lambda: rnp.interp(1j, rnp.arange(2.0), rnp.arange(2.0)), (TypeError, ValueError)),
    "a static list": (lambda: rb.jit(lambda x: x, static_argnums=0)([1]), (TypeError, ValueError)),
    "jvp of custom_vjp": (lambda: rb.jvp(backward_only, (1.0,), (1.0,)), (TypeError, NotImplementedError)),
    "grad of while_loop": (
        lambda: rb.grad(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x))(1.0),
        (ValueError, NotImplementedError),
    ),
    "no key": (lambda: rb.random.dirichlet(1.5, rnp.float32(1)), (TypeError,)),
    "no parameter": (lambda: rb.random.gamma(rb.random.key(0), np.array(["a"])), (TypeError,)),
    "no axis": (lambda: rb.random.permutation(rb.random.key(0), X, axis=1.5), (TypeError,)),
    "nothing to correlate": (lambda: rnp.corrcoef(None), (TypeError,)),
    "choices that are a text": (lambda: rnp.choose(rnp.array([0]), "text"), (TypeError,)),
    "bins by name": (lambda: rnp.histogram(rnp.ones(3), bins="auto"), (TypeError,)),
}
X = rnp.arange(3)


@pytest.mark.parametrize("what", WRONG)
def test_errors_are_of_the_classes_that_programs_catch(what):
    call, classes = WRONG[what]
    for kind in classes:
        with pytest.raises(kind) as caught:
            call()
    assert len(str(caught.value)) > 20


def test_the_small_libraries_of_old_programs():
    from rabbet.example_libraries import optimizers, stax

    init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2), stax.LogSoftmax)
    shape, params = init(rb.random.PRNGKey(0), (-1, 3))
    assert shape == (-1, 2) and apply(params, rnp.ones((5, 3))).shape == (5, 2)
    start, update, params_of = optimizers.adam(1e-2)
    state = update(0, rb.grad(lambda p: rnp.sum(p**2))(rnp.ones(3)), start(rnp.ones(3)))
    np.testing.assert_allclose(params_of(state), 0.99, rtol=1e-5)
