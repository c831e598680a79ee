"""Nothing about a primitive is an accident: each is tried by a row or by tests of its own, and each standard
table knows it or says why not.
"""

import pathlib

import pytest
import rabbet.ad_checkpoint
import rabbet.debug  # noqa: F401 - makes its primitives
from rabbet import lax
from rabbet.extend.passes import all_primitives
from rabbet.extend.transform import batch, jvp, lower, transpose
from rabbet.testing import closure, rows
from rabbet_pjrt_cpu import BACKEND

pytestmark = pytest.mark.optimized

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITH_ROWS = {row.primitive for family in rows.families().values() for row in family}
lax.custom_root  # noqa: B018 - makes its primitives
OURS = (
    "rabbet.primitives.",
    "rabbet_autodiff.primitives.",
    "rabbet_callbacks.",
    "rabbet.lax.linalg.",
    "rabbet.random.",
    "rabbet_special.",
    "rabbet_convolution.primitives.",
    "rabbet_collectives.",
    "rabbet_custom_rules.",
    "rabbet_fft.",
    "rabbet_algorithms.primitives.",
    "rabbet.experimental.sparse.",
)
PRIMITIVES = [p for p in all_primitives().values() if p.where.module.startswith(OURS)]

# What no row can try, because it carries programs, has effects, or answers differently each time; the tests
# that do, and the word by which they speak of it.
ELSEWHERE = {
    "todense": ("plugins/functions/sparse/tests/test_transformations.py", "todense"),
    "psum": ("plugins/scale/collectives/tests/test_collectives.py", "psum"),
    "pmax": ("plugins/scale/collectives/tests/test_collectives.py", "pmax"),
    "pmin": ("plugins/scale/collectives/tests/test_collectives.py", "pmin"),
    "all_gather": ("plugins/scale/collectives/tests/test_collectives.py", "all_gather"),
    "all_gather_invariant": ("plugins/scale/parallel/tests/many/test_varying_axes.py", "invarying"),
    "all_gather_reduced": ("plugins/scale/parallel/tests/many/test_unreduced_parts.py", "all_gather"),
    "scatter_addends": ("plugins/scale/parallel/tests/many/test_unreduced_parts.py", "psum_scatter"),
    "cast": ("plugins/scale/parallel/tests/many/test_unreduced_parts.py", "pcast"),
    "reduce_scatter": ("plugins/scale/collectives/tests/test_collectives.py", "psum_scatter"),
    "all_to_all": ("plugins/scale/collectives/tests/test_collectives.py", "all_to_all"),
    "ppermute": ("plugins/scale/collectives/tests/test_collectives.py", "ppermute"),
    "pvary": ("plugins/scale/parallel/tests/many/test_varying_axes.py", "pcast"),
    "new_keys": ("plugins/functions/random/tests/test_new_keys.py", "split"),
    "axis_index": ("plugins/scale/collectives/tests/test_collectives.py", "axis_index"),
    "cond": ("tests/conformance/test_control_flow.py", "lax.cond"),
    "while": ("tests/conformance/test_control_flow.py", "lax.while_loop"),
    "scan": ("tests/conformance/test_control_flow.py", "lax.scan"),
    "jit": ("tests/conformance/test_strangers.py", "rb.jit"),
    "checkpoint": ("plugins/transformations/autodiff/tests/test_checkpoint.py", "checkpoint"),
    "value_or_rule": ("plugins/transformations/autodiff/tests/test_checkpoint.py", "custom_"),
    "name": ("plugins/transformations/autodiff/tests/test_checkpoint_policies.py", "checkpoint_name"),
    "custom_call": ("plugins/transformations/autodiff/tests/test_custom_jvp.py", "custom_jvp"),
    "custom_linear": ("plugins/transformations/autodiff/tests/test_custom_vjp.py", "custom_vjp"),
    "rng_bit_generator": ("plugins/functions/random/tests/test_platform_bits.py", "rng_bit_generator"),
    "rng_uniform": ("plugins/functions/random/tests/test_platform_bits.py", "rng_uniform"),
    "to_physical": ("core/tests/primitives/test_stored.py", "to_physical"),
    "from_physical": ("core/tests/primitives/test_stored.py", "from_physical"),
    "platform_index": ("tests/conformance/test_platforms.py", "platform_dependent"),
    "composite": ("plugins/language/custom_rules/tests/test_composite.py", "composite"),
    "linear_solve": ("tests/conformance/test_solvers.py", "custom_linear_solve"),
    "pure_callback": ("tests/conformance/test_effects.py", "pure_callback"),
    "io_callback": ("tests/conformance/test_effects.py", "io_callback"),
    "debug_callback": ("tests/conformance/test_effects.py", "debug.print"),
    "inspect_sharding": ("plugins/language/callbacks/tests/test_debug.py", "inspect_array_sharding"),
    "to_memory": ("plugins/scale/parallel/tests/many/test_memories.py", "device_put"),
    "lies_in_memory": ("plugins/scale/parallel/tests/many/test_memories.py", "memory_kind"),
    "grouped_dot": ("plugins/functions/algorithms/tests/test_ragged.py", "ragged_dot"),
    "grouped_outer": ("plugins/functions/algorithms/tests/test_ragged.py", "ragged_dot"),
}


@pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda p: p.name)
def test_each_primitive_is_tried(primitive):
    if primitive not in WITH_ROWS:
        assert primitive.name in ELSEWHERE, f"{primitive.name} has no row in rabbet.testing.rows"
        path, word = ELSEWHERE[primitive.name]
        assert word in (ROOT / path).read_text()


@pytest.mark.parametrize("table", [jvp, batch], ids=lambda t: t.name)
def test_no_cell_is_an_accident(table):
    assert closure.accidents(table, PRIMITIVES) == []


def test_each_primitive_is_lowered_for_the_cpu_at_least():
    own = BACKEND.lowerings
    assert [p for p in closure.accidents(lower, PRIMITIVES) if own.find(p, "cpu") is None] == []


@pytest.mark.parametrize(
    "primitive",
    [p for p in PRIMITIVES if {"linear", "bilinear"} & set(p.kinds)],
    ids=lambda p: p.name,
)
def test_what_is_linear_can_be_transposed(primitive):
    assert transpose.explain(primitive) is not None
