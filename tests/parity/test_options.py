"""Options with values that mean nothing: what jax refuses is refused here, too.

Each option of each function in ``ROWS`` is given each of ``WRONG`` in jax and in Rabbet. A value that both
take may still be told by other tests; here a silent option is found.
"""

import importlib
import inspect

import jax
import numpy as np
import pytest
import rabbet as rb

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.ones((4, 4), "float32")


class Thing:
    """What no option means."""

    def __repr__(self):
        return "Thing()"


WRONG = ("nonsense", -5, 1.5, Thing(), None, (7, 9), {"a": 1})


def struct(p):
    return p.ShapeDtypeStruct((4, 4), np.dtype("float32"))


def mesh(p):
    return p.sharding.Mesh(np.array(p.devices()[:1]), ("x",))


def spec(p):
    return p.sharding.PartitionSpec("x")


def sparse(p):
    return importlib.import_module(f"{p.__name__}.experimental.sparse").BCOO.fromdense(X)


def called(p, f):
    return f(X)


def typed(p, f):
    return p.eval_shape(f, struct(p))


# module.function: the arguments of a package, the options, and what is done with the result.
ROWS = {
    "experimental.pallas.pallas_call": (
        lambda p: ([lambda ref, out: None, struct(p)], {"grid": (1,), "interpret": True}),
        "grid in_specs out_specs scratch_shapes input_output_aliases debug interpret name", typed,
    ),
    "experimental.pallas.BlockSpec": (
        lambda p: ([(2, 2), lambda i: (i, 0)], {}), "block_shape index_map memory_space pipeline_mode", None,
    ),
    "experimental.pallas.GridSpec": (
        lambda p: ([], {"grid": (1,)}), "grid in_specs out_specs scratch_shapes", None,
    ),
    "experimental.pallas.CostEstimate": (
        lambda p: ([], {"flops": 1, "transcendentals": 1, "bytes_accessed": 1}), "flops bytes_accessed", None,
    ),
    "experimental.sparse.bcoo_fromdense": (lambda p: ([X], {}), "nse n_batch n_dense index_dtype", None),
    "experimental.sparse.bcoo_reduce_sum": (lambda p: ([sparse(p)], {"axes": (0,)}), "axes", None),
    "experimental.sparse.bcoo_transpose": (
        lambda p: ([sparse(p)], {"permutation": (1, 0)}), "permutation", None,
    ),
    "experimental.sparse.bcoo_dot_general": (
        lambda p: ([sparse(p), X], {"dimension_numbers": (((1,), (0,)), ((), ()))}),
        "dimension_numbers precision preferred_element_type", None,
    ),
    "experimental.sparse.bcoo_slice": (
        lambda p: ([sparse(p)], {"start_indices": (0, 0), "limit_indices": (2, 2)}),
        "start_indices limit_indices strides", None,
    ),
    "export.export": (
        lambda p: ([p.jit(lambda x: x + 1)], {}), "platforms disabled_checks", lambda p, f: f(struct(p)),
    ),
    "sharding.Mesh": (lambda p: ([np.array(p.devices()[:1]), ("x",)], {}), "axis_names axis_types", None),
    "sharding.AbstractMesh": (lambda p: ([(2,), ("x",)], {}), "axis_names axis_types", None),
    "sharding.NamedSharding": (lambda p: ([mesh(p), spec(p)], {}), "spec", None),
    "make_mesh": (lambda p: ([(1,), ("x",)], {}), "axis_shapes axis_names devices axis_types", None),
    "shard_map": (
        lambda p: ([lambda x: x], {"mesh": mesh(p), "in_specs": spec(p), "out_specs": spec(p)}),
        "mesh in_specs out_specs axis_names check_vma", typed,
    ),
    "jit": (
        lambda p: ([lambda x, y=1: x], {}),
        """in_shardings out_shardings static_argnums static_argnames donate_argnums donate_argnames device
        keep_unused backend inline abstracted_axes compiler_options""",
        called,
    ),
    "checkpoint": (
        lambda p: ([lambda x: x * 2], {}), "prevent_cse policy static_argnums concrete", called,
    ),
    "vmap": (
        lambda p: ([lambda x: x * 2], {}), "in_axes out_axes axis_name axis_size spmd_axis_name", called,
    ),
    "grad": (
        lambda p: ([lambda x: x.sum()], {}), "argnums has_aux holomorphic allow_int reduce_axes", called,
    ),
    "make_jaxpr": (
        lambda p: ([lambda x: x], {}), "static_argnums axis_env return_shape abstracted_axes", called,
    ),
    "device_put": (lambda p: ([X], {}), "device src donate may_alias", None),
    "pure_callback": (lambda p: ([lambda x: x, struct(p), X], {}), "sharding vmap_method", None),
    "custom_jvp": (lambda p: ([lambda x: x], {}), "nondiff_argnames", None),
    "ShapeDtypeStruct": (lambda p: ([(3,), np.dtype("float32")], {}), "sharding weak_type vma", None),
    "experimental.multihost_utils.process_allgather": (lambda p: ([X], {}), "tiled", None),
    "experimental.multihost_utils.host_local_array_to_global_array": (
        lambda p: ([X, mesh(p), spec(p)], {}), "global_mesh pspecs", None,
    ),
    "experimental.layout.Layout": (lambda p: ([(0, 1)], {}), "major_to_minor tiling", None),
    "experimental.mesh_utils.create_device_mesh": (
        lambda p: ([(1,)], {"devices": p.devices()[:1]}), "devices contiguous_submeshes", None,
    ),
    "nn.dot_product_attention": (
        lambda p: ([np.ones((1, 2, 1, 4), "float32")] * 3, {}),
        "bias mask scale is_causal query_seq_lengths local_window_size implementation", None,
    ),
    "nn.one_hot": (lambda p: ([np.arange(3), 3], {}), "num_classes dtype axis", None),
    "lax.scan": (lambda p: ([lambda c, x: (c, x), 0.0, X], {}), "length reverse unroll", None),
    "lax.map": (lambda p: ([lambda x: x, X], {}), "batch_size", None),
    "lax.fori_loop": (lambda p: ([0, 2, lambda i, c: c, 0.0], {}), "unroll", None),
    "lax.associative_scan": (lambda p: ([lambda a, b: a + b, X], {}), "reverse axis", None),
    "random.key": (lambda p: ([0], {}), "seed impl", None),
    "image.resize": (lambda p: ([X, (2, 2), "linear"], {}), "method antialias precision shape", None),
    "scipy.optimize.minimize": (
        lambda p: ([lambda x: (x**2).sum(), np.ones(2, "float32")], {"method": "BFGS"}),
        "method tol options", None,
    ),
}  # fmt: skip

# Of these nothing is compiled, or little.
QUICK = """
experimental.pallas.pallas_call experimental.pallas.GridSpec sharding.AbstractMesh make_mesh shard_map
checkpoint make_jaxpr custom_jvp experimental.layout.Layout
experimental.multihost_utils.host_local_array_to_global_array
lax.scan
""".split()


def error_of(p, name, option=None, value=None):
    """What a call raises, or None."""
    module, _, function = f"{p.__name__}.{name}".rpartition(".")
    make, _, after = ROWS[name]
    try:
        function = getattr(importlib.import_module(module), function)
        args, kwargs = make(p)
        places = list(inspect.signature(function).parameters) if option else []
        if option in places[: len(args)]:
            args[places.index(option)] = value
        elif option:
            kwargs[option] = value
        made = function(*args, **kwargs)
        if after:
            after(p, made)
    except Exception as error:
        return error
    return None


def accepted(names):
    """What is taken here and refused by jax."""
    found, count = [], 0
    for name in names:
        assert error_of(jax, name) is None and error_of(rb, name) is None, name
        for option in [*ROWS[name][1].split(), "no_such_option"]:
            for value in WRONG:
                count += 1
                theirs = error_of(jax, name, option, value)
                if theirs is not None and error_of(rb, name, option, value) is None:
                    found.append(f"{name}({option}={value!r}): jax {type(theirs).__name__}: {theirs}"[:200])
    return found, count


def test_what_jax_refuses_is_refused():
    found, count = accepted(QUICK)
    assert count > 250
    assert not found, "\n".join(found)


@pytest.mark.exhaustive
def test_what_jax_refuses_of_all_is_refused():
    found, count = accepted(ROWS)
    assert count > 800
    assert not found, "\n".join(found)
