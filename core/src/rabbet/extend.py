"""Everything a plugin author may import, besides ``rabbet`` itself.

What is not on this page is private and may change. The doors, one line each:

=====================  ===============================================================================
a transformation       ``Interpreter``, ``run``, ``RuleTable``, and an entry point in ``rabbet.api``
a primitive            ``Primitive`` with its rules beside it
rules for two others   ``RuleSet`` and an entry point in ``rabbet.rules``
a dtype                ``DTypeSpec`` (``rabbet.dtypes``) or ``ExtendedDType``
a backend              ``Backend`` or ``CApiBackend`` and an entry point in ``rabbet.backends``
a pass                 ``Pass`` and an entry point in ``rabbet.passes``
a hook                 ``hookimpl`` and an entry point in ``rabbet.hooks``
=====================  ===============================================================================
"""

from rabbet.arguments import argument_name, converted, leaf_path, parameter_name, shown
from rabbet.axes import bound as bound_axes, named as named_axes
from rabbet.avals import ShapedArray, ShapeDtypeStruct
from rabbet.calls.derivatives import CustomVJPPrimal, SymbolicZero, pullback, pushforward
from rabbet.calls.ruled import RuledFunction
from rabbet.bodies import HOLE, PLAIN, interpret, put_together, take_apart
from rabbet.checking import check
from rabbet.config import Setting, config
from rabbet.current import context
from rabbet.debug import check_format
from rabbet.dtypes import DTypeSpec, ExtendedDType
from rabbet.effects import Effect, listed as listed_effects
from rabbet.errors import (
    ConcretizationTypeError, MissingPluginError, MissingRule, PluginError, RabbetError, RuleConflict,
    TreeError, UnexpectedTracerError,
)  # fmt: skip
from rabbet.interpreter import Interpreter, Tracer, is_tracer, payload_of, run, run_traced, typeof
from rabbet.jaxpr import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    Var,
    bodies_of,
    effects_of,
    evaluate,
    open_consts,
)
from rabbet.lowering.custom_calls import column_major, row_major
from rabbet.lowering.host_callbacks import write_call
from rabbet.lax.promotion import cast, is_array_like, promoted, spread
from rabbet.lax.values import as_weak
from rabbet.payloads import Batched, Dual, Linear, Zero, tangent_aval, zero_for
from rabbet.passes import Pass, PassContext
from rabbet.primitive import Op, Primitive
from rabbet.primitives import matrices
from rabbet.primitives.batching import move_axis, new_axis
from rabbet.primitives.branches import cond as cond_call
from rabbet.primitives.calls import call_of, jit as jit_call
from rabbet.primitives.checkpoint import checkpoint as checkpoint_call, checkpoint_of, value_or_rule
from rabbet.primitives.collectives import collective
from rabbet.primitives.custom import call as call_with_rules, custom_call
from rabbet.primitives.custom_linear import custom_linear
from rabbet.primitives.dynamic import (
    dynamic_slice as dynamic_slice_call,
    dynamic_update_slice as dynamic_update_slice_call,
)
from rabbet.primitives.gather import gather as gather_call
from rabbet.primitives.keys import from_physical, to_physical
from rabbet.primitives.linear_solve import linear_solve as linear_solve_call
from rabbet.primitives.loops import scan as scan_call, while_ as while_call
from rabbet.primitives.scatter import scatter_calls, window_sizes as scatter_window_sizes
from rabbet.primitives.sort import sort as sort_call
from rabbet.primitives.standard import batch, jvp, lower, transpose
from rabbet.primitives.threefry import threefry2x32
from rabbet.primitives.zeros import add_tangents, full as full_of, instantiate
from rabbet.rules import RuleSet, RuleTable, refusing
from rabbet.runtime.adapter import (
    gpu_plugin_options,
    load_pjrt_plugin,
    make_c_api_client,
    make_cpu_client,
    make_topology,
    provide_lapack,
    register_ffi_target,
    register_plugin_calls,
    topology_of,
)
from rabbet.runtime.adapter import version as jaxlib_version
from rabbet.runtime.ahead import compile_ahead
from rabbet.runtime.array import Array
from rabbet.runtime.backends import Backend
from rabbet.runtime.c_api import CApiBackend, library_in
from rabbet.runtime.compile_options import plain_options
from rabbet.runtime.compiled import compile_program, is_evaluating, lower_program
from rabbet.runtime.evaluation import EVALUATION, at_once
from rabbet.runtime.fused import fused
from rabbet.runtime.housekeeping import on_clear_caches
from rabbet.runtime.memory import is_glibc, keep_freed_memory
from rabbet.runtime.observers import listening as hooks_listen, tell as tell_hooks
from rabbet.runtime.ownership import captured
from rabbet.runtime.sharding import SingleDeviceSharding
from rabbet.runtime.transfer import as_device, placeable, placed
from rabbet.runtime.values import common_device, moved, to_array, traceable
from rabbet.scalars import adopted_avals, is_python_scalar
from rabbet.source_info import (
    address,
    caller,
    describe_function,
    fold_public,
    fold_traceback,
    folded,
    folds_itself,
    named_like,
    position,
)
from rabbet.staging import stage
from rabbet.primitives.transposition import add_to, backward, transpose_program
from rabbet.tree import broadcast_prefix


def __getattr__(name):
    # pluggy is only needed by those who write hooks, and need not be imported for anybody else.
    if name == "hookimpl":
        from rabbet.plugins.hookspecs import hookimpl

        return hookimpl
    raise AttributeError(f"rabbet.extend has no {name!r}; its docstring lists what plugins may use")
