"""Every exception that Rabbet raises on purpose.

One base class, ``RabbetError``, so that a program can tell our errors from its own. Where Python already
has a word for the mistake (``TypeError``, ``AttributeError``, ``NotImplementedError``) the class is that
too, so ordinary ``except`` clauses keep working. A message says who failed, where, and what to do next;
the longer story, a failing program and its repair, stands in the docstring of the class, and the message
ends by saying so.
"""

from __future__ import annotations

from rabbet.errors.arguments import ArgumentError, AxisError, DTypeError, StaticArgumentError
from rabbet.errors.base import RabbetError
from rabbet.errors.tracers import (
    ConcretizationTypeError,
    InconclusiveDimensionOperation,
    KeyReuseError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)

__all__ = [
    "ArgumentError",
    "AxisError",
    "CacheWarning",
    "CompileError",
    "ConcretizationTypeError",
    "ConfigError",
    "DTypeError",
    "DeletedArrayError",
    "ForwardModeError",
    "InconclusiveDimensionOperation",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "MissingModuleError",
    "MissingPluginError",
    "MissingRule",
    "NestingError",
    "NonConcreteBooleanIndexError",
    "NotAddressableError",
    "NotOfferedError",
    "OutOfMemoryError",
    "PeerLost",
    "PluginConflictError",
    "PluginError",
    "RabbetError",
    "RefusedError",
    "ReverseModeError",
    "RuleConflict",
    "ShapeError",
    "ShardingError",
    "StaticArgumentError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TransferError",
    "TreeError",
    "TypePromotionError",
    "UnboundAxisError",
    "UnexpectedTracerError",
]


# What the runtime raises, by the name in JAX: jaxlib's own error and several of the classes below.
JaxRuntimeError = RuntimeError


# Configuration and trees --------------------------------------------------------------------------


class ConfigError(RabbetError, ValueError):
    """A setting got a value that it cannot have. The message lists the values it accepts.

    Example:
      >>> try:
      ...     rb.config.update('numpy_rank_promotion', 'perhaps')
      ... except rb.errors.ConfigError as error:
      ...     print(str(error).splitlines()[0])
      config.numpy_rank_promotion cannot be 'perhaps': it is one of allow, warn, raise
    """


class NestingError(RabbetError, RecursionError):
    """Functions were traced inside each other, deeper than Python can go. The message names the depth.

    Example:
      >>> def deeper(x):
      ...     return rb.jit(deeper)(x)
      >>> try:
      ...     deeper(1.0)
      ... except rb.errors.NestingError as error:
      ...     print(type(error).__name__)
      NestingError
    """


class TreeError(RabbetError, ValueError):
    """Two pytrees that had to have the same structure do not. The message names the path where they part.

    Example:
      >>> try:
      ...     rb.tree.map(rnp.add, {'a': 1}, {'b': 1})
      ... except rb.errors.TreeError as error:
      ...     print(str(error).splitlines()[0])
      tree.map: the trees differ in structure, at the root
    """


# Plugins and rules --------------------------------------------------------------------------------


class PluginError(RabbetError, RuntimeError):
    """An installed plugin could not be used: it failed to import, or it broke the contract of its kind.

    The real cause is the ``__cause__`` of this error. ``rabbet doctor`` shows the state of every plugin.

    Example:
      >>> issubclass(rb.errors.MissingPluginError, rb.errors.PluginError)
      True
    """


class MissingPluginError(PluginError, AttributeError):
    """No installed plugin provides the name that was asked for. The message names the package that would.

    It is an ``AttributeError`` too, because the usual way to ask is ``rb.name``; ``hasattr(rb, name)`` is
    then False.

    Example:
      >>> hasattr(rb, "no_such_function")
      False
      >>> issubclass(rb.errors.MissingPluginError, AttributeError)
      True
    """


class MissingModuleError(PluginError, ModuleNotFoundError):
    """``import rabbet.random``, or ``from rabbet import grad``, where the package that has it is not
    installed. The message names it. The attribute ``name`` is the module's, as ever.

    Example:
      >>> issubclass(rb.errors.MissingModuleError, ModuleNotFoundError)
      True
    """


class PluginWarning(UserWarning):
    """A plugin is left out or has failed; everything else works without it."""


class PluginConflictError(PluginError):
    """Two packages provide the same name. The message names both, and the setting that chooses between
    them.

    Example:
      >>> import dataclasses
      >>> from rabbet.dtypes import DTypeTable, spec
      >>> try:
      ...     DTypeTable().add(dataclasses.replace(spec("float32"), kind="i"))
      ... except rb.errors.PluginConflictError as error:
      ...     print(str(error).splitlines()[0])
      dtype 'float32' is in the table already
    """


class MissingRule(RabbetError, NotImplementedError):
    """A transformation met a primitive that it has no rule for.

    Looked for, in this order: the primitive's own rule for the table, the table's rule for the primitive,
    a rule set from a third package, the table's rule for one of the primitive's kinds, the primitive's
    decomposition.

    Example:
      >>> try:
      ...     rb.grad(lambda x: lax.while_loop(lambda v: v < 3, lambda v: v * 2, x))(1.0)
      ... except rb.errors.MissingRule as error:
      ...     print(str(error).partition(' at ')[0])
      reverse-mode differentiation cannot go through a while_loop
    """


class RefusedError(MissingRule, ValueError):
    """A transformation cannot be done to a primitive: its rule says why, and what to do instead.

    Example:
      >>> try:
      ...     rb.grad(lambda x: rb.pure_callback(np.sin, x, x))(1.0)
      ... except ValueError as error:
      ...     print(type(error).__name__)
      RefusedError
    """


class ForwardModeError(MissingRule, TypeError):
    """A function with a rule for reverse mode alone (``custom_vjp``) is differentiated forward. Give it one
    for forward mode, with ``rb.custom_jvp``, or use ``rb.grad``.

    Example:
      >>> triple = rb.custom_vjp(lambda x: 3 * x)
      >>> triple.defvjp(lambda x: (3 * x, None), lambda _, ct: (3 * ct,))
      >>> try:
      ...     rb.jvp(triple, (1.0,), (1.0,))
      ... except TypeError as error:
      ...     print(type(error).__name__)
      ForwardModeError
    """


class ReverseModeError(MissingRule, ValueError):
    """A loop of which the number of steps is not known is differentiated backward. Use ``lax.scan``, a
    ``lax.fori_loop`` with bounds that are Python numbers, or ``rb.jvp``.

    Example:
      >>> try:
      ...     rb.grad(lambda x: lax.while_loop(lambda x: x < 9, lambda x: 2 * x, x))(1.0)
      ... except ValueError as error:
      ...     print(type(error).__name__)
      ReverseModeError
    """

    complete = True  # no rule is missing: by which ones it was reached is of no use


class NotOfferedError(MissingRule):
    """A program uses an operation that its platform does not offer, as the platform's backend says.

    Compute that part elsewhere: ``rb.device_put(x, rb.devices("cpu")[0])``, and outside of the function that
    is compiled for the other device.

    Example:
      >>> def where_it_goes(f, x):
      ...     try:
      ...         return f(x)
      ...     except rb.errors.NotOfferedError:
      ...         return f(rb.device_put(x, rb.devices("cpu")[0]))
      >>> where_it_goes(rb.jit(rnp.fft.fft), rnp.ones(2))
      Array([2.+0.j, 0.+0.j], dtype=complex64)
    """


class RuleConflict(RabbetError):
    """Two rules of the same rank serve one primitive in one table. The message shows where both stand.

    Example:
      >>> square = rb.custom_rules(lambda x: x * x)
      >>> rule = square.def_rule("jvp", lambda xs, ts: (xs[0] ** 2, 2 * xs[0] * ts[0]))
      >>> try:
      ...     square.def_rule("jvp", rule)
      ... except rb.errors.RuleConflict as error:
      ...     print(type(error).__name__)
      RuleConflict
    """


# Arrays and programs ------------------------------------------------------------------------------


class UnboundAxisError(RabbetError, NameError):
    """A collective, such as ``lax.psum(x, "i")``, names an axis that nothing around it has named.

    Repair: give the name where the function is mapped, ``rb.vmap(f, axis_name="i")``. A function that is
    traced or compiled by itself knows no names of axes.

    Example:
      >>> try:
      ...     rb.jit(lambda x: lax.psum(x, 'i'))(1.0)
      ... except rb.errors.UnboundAxisError as error:
      ...     print(str(error).splitlines()[0])
      psum: no axis is called 'i' here; no axis has a name here
    """


class DeletedArrayError(RabbetError, RuntimeError):
    """An array was used after its memory had been given away, by ``x.delete()`` or by donating it to a
    jitted function.

    Example:
      >>> try:
      ...     x = rnp.ones(2)
      ...     x.delete()
      ...     x + 1
      ... except rb.errors.DeletedArrayError as error:
      ...     print(str(error).partition(';')[0])
      array f32[2] has been deleted or donated to a computation
    """


class TransferError(RabbetError, RuntimeError):
    """Values went from the host to a device, between devices or back, which a ``transfer_guard`` forbids.

    Example:
      >>> try:
      ...     with rb.transfer_guard_host_to_device('disallow'):
      ...         rnp.sin(np.ones(2))
      ... except rb.errors.TransferError as error:
      ...     print(str(error).partition(',')[0])
      host-to-device transfer of f32[2] (cpu:0)
    """


class OutOfMemoryError(RabbetError, MemoryError, RuntimeError):
    """A device had no room for an array. The message has the size that was asked for, and the largest arrays
    that live there. The process goes on: arrays are as they were.

    Example:
      >>> def largest_batch(step, sizes):
      ...     for size in sizes:
      ...         try:
      ...             step(rnp.zeros(size))
      ...         except rb.errors.OutOfMemoryError:
      ...             break
      ...         best = size
      ...     return best
      >>> largest_batch(rnp.sum, [8, 16])
      16
    """


class ShapeError(RabbetError, TypeError, ValueError):
    """Shapes, sizes or positions do not fit each other, or the function that was called.

    It is a TypeError and a ValueError: for some functions NumPy and JAX raise the one, for some the other.

    Example:
      >>> try:
      ...     rb.lax.reshape(rnp.arange(3), (4,))
      ... except ValueError as error:
      ...     print(error)
      cannot reshape array i32[3] of 3 elements to (4,) of 4
    """


class ShardingError(RabbetError, ValueError):
    """An array cannot lie over devices as it was asked to: a dimension cannot be cut into equal parts, a mesh
    has no such axis, or arrays are on different devices. The message names both.

    Example:
      >>> from rabbet.sharding import NamedSharding, PartitionSpec as P
      >>> try:
      ...     NamedSharding(rb.make_mesh((1,), ("x",)), P("y"))
      ... except rb.errors.ShardingError as error:
      ...     print(error)
      P('y',) names the axis 'y', which is none of the mesh's: 'x'
    """


class NoMeshError(ShardingError, RuntimeError):
    """A ``PartitionSpec`` stands alone, and no mesh is set whose axes it names.

    Example:
      >>> from rabbet.sharding import PartitionSpec as P
      >>> try:
      ...     rb.device_put(rnp.ones(2), P("x"))
      ... except rb.errors.NoMeshError as error:
      ...     print(str(error)[:45])
      device is P('x',), and no mesh is set; give N
    """


class NotAddressableError(ShardingError, RuntimeError):
    """A process asked for values that lie on devices of other processes.

    ``x.addressable_shards`` has the parts that are here; ``multihost_utils.process_allgather`` of
    ``rabbet.experimental`` brings all parts to every process.

    Example:
      >>> issubclass(rb.errors.NotAddressableError, RuntimeError)
      True
    """


class PeerLost(RabbetError, RuntimeError):
    """A program over several processes cannot go on, because some of them are gone, are stuck, or would run
    another program.

    Attributes:
      ranks: the numbers of these processes, a tuple; empty where they could not be found out.

    Nothing that communicates can run until the others have formed a new group::

        try:
            state = step(state, batch)
        except rb.errors.PeerLost:
            rabbet.distributed.reform()           # the rest, with fewer devices
            state = load_the_last_checkpoint()

    Example:
      >>> rb.errors.PeerLost("process 2 is gone", ranks=(2,)).ranks
      (2,)
    """

    def __init__(self, message: str, ranks: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.ranks = tuple(ranks)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (*self.args, self.ranks)


class JaxprTypeError(RabbetError, TypeError):
    """A jaxpr breaks its own grammar: a variable out of scope, or an equation whose types disagree.
    Always a bug in the transformation, pass or primitive that made it; the message shows the equation.

    Example:
      >>> with rb.enable_checks():  # programs are looked at before they run
      ...     float(rb.jit(rnp.sin)(0.0))
      0.0
    """


class TypePromotionError(RabbetError, TypeError, ValueError):
    """Values of these dtypes have no common dtype. Convert one of them explicitly, with
    ``x.astype(...)``.

    Example:
      >>> try:
      ...     with rb.numpy_dtype_promotion('strict'):
      ...         rnp.ones(2, 'float32') + rnp.ones(2, 'int32')
      ... except rb.errors.TypePromotionError as error:
      ...     print(str(error).partition(';')[0])
      no implicit promotion of float32, int32 while config.numpy_dtype_promotion is 'strict'
    """


class CompileError(RabbetError, RuntimeError):
    """The compiler refused a program. The message has the compiler's own words, the line of the user's code
    that they are about, the passes that the program went through, and the file with the module's text.

    Example:
      >>> try:
      ...     rb.jit(rnp.sin, compiler_options={"xla_embed_ir_in_constants": False})(1.0)
      ... except (rb.errors.CompileError, rb.errors.ConfigError) as error:
      ...     print("refused")
      refused
    """


class CacheWarning(UserWarning):
    """The persistent compilation cache could not use an entry or its folder. Results are right; compiling
    takes longer.

    Example:
      >>> import warnings
      >>> with warnings.catch_warnings():
      ...     warnings.simplefilter("error", rb.errors.CacheWarning)  # to find out why a folder is not used
      ...     float(rb.jit(rnp.cos)(0.0))
      1.0
    """


def __dir__() -> list[str]:
    return sorted(__all__)
