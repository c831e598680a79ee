"""Interpreters: how a Python function is run on something other than arrays.

``run(interpreter, fn, payloads)`` makes the interpreter current and calls ``fn`` on tracers that hold the
payloads. Each operation that meets one of these tracers is looked up in the interpreter's table, and its
rule runs with the interpreter's parent current, so rules speak to the level below. There is no stack to
search: an interpreter knows its parent and a tracer knows its interpreter.

A payload is any pytree of arrays. A value the interpreter never touched stays plain: it is an array, a
scalar or a tracer of a level below, not a tracer of this one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.errors import MissingRule
from rabbet.messages import (
    function_names,
    methods_elsewhere,
    second_looks,
    source_positions,
    traced_attributes,
)
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray, ShapeDtypeStruct
from rabbet.program.context import context
from rabbet.program.value_types import typeof
from rabbet.rules import failures, tables
from rabbet.trace import named_axes
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.rules.primitive import Primitive
    from rabbet.rules.tables import Role
    from rabbet.typing import Value

PYTHON = frozenset(python_scalars.PYTHON_SCALARS)


class Interpreter:
    """A transformation's way of running a program. Subclasses give a ``table`` and three small methods.

    ``lift(value)`` represents a constant as a payload; ``type_of(payload)`` is the aval that the function
    sees; ``join(a, b)``, where payloads of one value can differ in their static part, is the least payload
    that covers both (see ``rabbet.extend.bodies``).

    Example:
      >>> from rabbet.extend.transform import Interpreter, RuleTable, run
      >>> rules = RuleTable("depth", doc="(op, *(value, depth)) -> (value, depth)")
      >>> @rules.otherwise
      ... def one_more(op, *args):
      ...     return op(*[value for value, _ in args]), 1 + max(depth for _, depth in args)
      >>> class Depth(Interpreter):
      ...     table = rules
      ...     def lift(self, value):
      ...         return value, 0
      ...     def type_of(self, payload):
      ...         return rb.typeof(payload[0])
      >>> value, depth = run(Depth(), lambda x: lax.exp(lax.sin(x) + 1.0), [(0.0, 0)])
      >>> depth
      3
    """

    __slots__ = ("parent", "fn", "alive", "thread", "state", "__dict__", "__weakref__")
    parent: Any
    fn: Callable[..., Any]
    alive: bool
    thread: int
    state: Any
    table: Any = None
    # Whether it has a ``state``, a pytree of arrays that its ``wrap`` may replace while the program runs:
    # through branches and loops the state is threaded like a value. Every operation is then its own.
    threads = False
    # Whether the floating-point leaves of the state are results of the function that users differentiate.
    # False: where the function has derivative rules of its own, the state that comes out of it has the
    # derivative 0.
    state_moves = True
    # Whether rules that a function has for other transformations survive this one: then the payload has one
    # leaf, the value itself, and the interpreter gives ``uniform``, ``collapse`` and ``give_back``. One that
    # ``threads`` a state has plain values then.
    carries = False
    # Whether ``lift`` is given numbers in the dtype that they adopt from the arrays beside them, so that it
    # may compute with them. An interpreter whose ``lift`` only wraps the value does without.
    lifts_typed = True
    # Whether it writes a program down: a function with rules of its own becomes an equation in it, whatever
    # its arguments are.
    stages = False
    # Whether operations concern it only where an argument is its own: a function that it does not meet by its
    # arguments has captured nothing of it either.
    concerns_only_its_own = False
    # The named axes along which this interpreter maps its function, ``((name, size), ...)``: collectives over
    # them come to its method ``collective``.
    bound = ()
    # Whether it runs operations at once, as what is at the bottom does.
    executes = False
    # Whether user's code sees its tracers. False for one half of a transformation, which keeps tracers in the
    # payloads of the other.
    outermost = True

    def lift(self, value: Any) -> Any:
        """The payload of a value that this interpreter has not touched."""
        raise NotImplementedError(
            f"{type(self).__name__} must say how to lift a constant: define lift(self, value)"
        )

    def type_of(self, payload: float) -> Any:
        """The aval that the transformed function sees for this payload."""
        raise NotImplementedError(
            f"{type(self).__name__} must give the type of a payload: define type_of(self, payload)"
        )

    def uniform(self, payload: Any) -> Any:
        """The payload with the static part that all values can have; itself where payloads have no choice."""
        return payload

    def collapse(self, payload: Any) -> Any:
        """The value of a uniform payload that stands for an untouched one."""
        (leaf,) = tree.leaves(payload)
        return leaf

    def give_back(self, payload: Any, structure: Any) -> Any:
        """The leaf of a cotangent for an input of the given static part, which is
        ``rabbet.extend.bodies.PLAIN`` where it was not touched.
        """
        (leaf,) = tree.leaves(payload)
        return leaf

    def join(self, a: Any, b: Any) -> Any:
        """The least payload that covers two of different static parts; their leaves are placeholders (see
        ``bodies``).
        """
        raise TypeError(
            f"{self.describe()}: a loop or branch brings together values whose representations differ ({a} "
            f"and {b}); {type(self).__name__} must define join(a, b) and force(payload, like)"
        )

    def force(self, payload: Any, like: Any) -> Any:
        """``payload`` with the static part of ``like``, which covers its own; the leaves of ``like`` are
        placeholders.
        """
        raise TypeError(
            f"{self.describe()}: {type(self).__name__} must define force(payload, like) to "
            "go through this loop"
        )

    def join_state(self, a: Any, b: Any) -> Any:
        """The least state that covers two of different static parts; their leaves are placeholders. Only
        for an interpreter that ``threads`` one.
        """
        raise TypeError(
            f"{self.describe()}: a loop or branch brings together the states {a} and {b}; "
            f"{type(self).__name__} must define join_state(a, b) and force_state(state, like)"
        )

    def force_state(self, state: Any, like: Any) -> Any:
        """``state`` with the static part of ``like``, which covers its own; the leaves of ``like`` are
        placeholders.
        """
        raise TypeError(
            f"{self.describe()}: {type(self).__name__} must define force_state(state, like) to "
            "go through this loop"
        )

    def state_of_parts(self, before: Any, states: Any) -> Any:
        """The state after a program whose parts ran apart, one on each device: ``before`` is what it was,
        ``states`` is what each part made of it, along a new first dimension of its leaves.
        """
        raise TypeError(
            f"{self.describe()}: {type(self).__name__} must define state_of_parts(before, states) to go "
            "through programs that each device runs on a part"
        )

    def sliced(self, payload: Any) -> Any:
        """For a scanned input: (payload whose leaves have the scanned dimension in front, payload of one
        slice with placeholders).
        """
        return payload, payload

    def stacked(self, slice_payload: Any) -> Any:
        """For a scanned output: the payload (of placeholders) that stacking such slices along a new first
        dimension makes.
        """
        return slice_payload

    def added_dimension(self, structure: Any) -> None:
        """Where the leaves of payloads of a static part have one dimension more than the value; None, for
        most
        transformations: they have its dimensions.
        """
        return

    # The axes of a mesh over which the dimension that it adds to values is to lie: a name, a tuple of
    # names, or None.
    added_over: Any = None

    def of_part(self, count: Any) -> Any:
        """This interpreter for one of ``count`` equal parts of the dimension that it adds. Only for one that
        says ``added_over``.
        """
        raise NotImplementedError(f"{type(self).__name__} gives added_over: define of_part(self, count)")

    def predicate(self, op: Op, args: list[float] | tuple[Value, ...]) -> None:
        """What to do where a branch or loop is decided by a value of this interpreter; by default an error
        that says so.

        Called with this interpreter current; ``args`` are the operands of ``op``. Returns its outputs.
        """
        place = op.primitive.decider
        decider = None if place is None else args[place]
        value = "a value" if decider is None else f"a value of type {typeof(decider).str_short()}"
        made = getattr(decider, "where", None)
        raise TypeError(
            f"{self.describe()}: {op.primitive.name!r} is decided by {value} that depends on transformed "
            f"inputs{'' if made is None else f' (made at {source_positions.source_position(made)})'}"
            f"{'' if context.where is None else f', at {source_positions.source_position(context.where)}'}. "
            f"Decide by values that do not, or give {type(self).__name__} a method predicate(op, args)"
            f"{', or a wrap that returns its argument: its payloads are values' if self.carries else ''}"
        )

    def collective(self, op: Op, args: tuple[Value, ...]) -> Any:
        """What a collective (``lax.psum``) over an axis that this interpreter binds does.

        Called with the level below current; ``args`` are the operands of ``op``, of which any or none may be
        this interpreter's tracers. Returns what the function sees.
        """
        raise NotImplementedError(
            f"{self.describe()} binds the axis {op.params['axis']!r}: {type(self).__name__} must define "
            "collective(op, args)"
        )

    def plays(self, role: Role) -> bool:
        """Whether the transformation does this, by the roles that its table declares, such as
        ``rabbet.extend.transform.Role.BATCHES``.
        """
        return self.table is not None and role in self.table.roles

    def custom_rule(self, rules: dict[Any, Any]) -> Any:
        """The rule by which this interpreter treats a function with rules of its own (a ``CustomRule``), or
        None: it goes through the function.

        Args:
          rules: dict from the name of a table to a rule: the one for this interpreter's table, else the first
            that serves this interpreter too.
        """
        if self.table is None:
            return None
        own = rules.get(self.table.name)
        if own is not None:
            return own
        for rule in rules.values():
            if rule.serves(self):
                return rule
        return None

    def binds(self, names: frozenset[Any] | tuple[Any, ...]) -> Any:
        """Whether this interpreter binds one of these axes."""
        return any(name in names for name, _ in self.bound)

    def observed(self, payload: tuple[Value, ...]) -> tuple[Value, ...]:
        """What ``debug.print`` and ``debug.callback`` see of a payload: a pytree of arrays, by default the
        payload itself.
        """
        return payload

    def attribute(self, payload: Any, name: Any) -> None:
        """What tracers of a payload have under a name that arrays do not have; by default nothing.

        Raises:
          AttributeError: for a name that they do not have.
        """
        if name not in traced_attributes.ADVICE:  # programs ask for names to see whether they are there
            raise AttributeError(methods_elsewhere.absent("Tracer", name))
        kind = self.type_of(payload).str_short()
        raise AttributeError(traced_attributes.absent(name, kind, self.describe()))

    def at_this_level(self, method: Callable[..., Any], *args: Any) -> list[Value]:
        """Call ``method`` with this interpreter current; for rules, which run with the parent current."""
        ctx = context
        previous = ctx.interpreter
        ctx.interpreter = self
        try:
            return method(*args)
        finally:
            ctx.interpreter = previous

    def at_parent(self, method: Primitive | Callable[..., Any], *args: Any) -> Any:
        """Call ``method`` with the level below current; for hooks, which run at this level."""
        ctx = context
        previous = ctx.interpreter
        ctx.interpreter = self.parent
        try:
            return method(*args)
        finally:
            ctx.interpreter = previous

    def fresh(self) -> Any:
        """A new interpreter of the same settings, for running a body; by default a shallow copy."""
        return copy.copy(self)

    def aside(self) -> None:
        """What runs a function's derivative rule, for an interpreter that ``threads`` a state: the rule's
        operations are not the function's own and leave no state. By default None: nobody, the rule runs at
        the level below. Else an interpreter whose state is left behind; among the values that it sees are
        tangents and cotangents, with which it may do nothing that is not linear.
        """
        return

    def key(self) -> type | None:
        """What ``fresh`` copies, hashable: bodies interpreted under equal keys are shared. None: never
        shared.
        """
        return type(self) if not self.__dict__ else None

    def wrap(self, payload: Any) -> Any:
        """The tracer of a payload that a rule returned. A subclass may return a plain value instead."""
        aval = self.type_of(payload)
        if type(aval) is not ShapedArray:
            refuse_no_type(self, aval)
        return Tracer(self, payload, aval, context.where)

    def process(self, op: Op, args: Any) -> Any:
        """Run one operation: by its rule if an argument is this interpreter's tracer, else on the parent.

        Arguments are values of the level below, or tracers: ``payload_of(self, x)`` is the payload of either.
        What a subclass does with payloads itself it does with the level below current: ``at_parent``.
        """
        mine = False
        payloads = []
        for a in args:
            if type(a) is Tracer and a.interpreter is self:
                payloads.append(a.payload)
                mine = True
            else:
                payloads.append(a)
        ctx = context
        outermost = ctx.where is None
        if outermost:
            ctx.where = source_positions.caller()
        ctx.interpreter = self.parent
        rule = None
        try:
            if self.bound and self.binds(named_axes.used_by(op)):
                if named_axes.is_collective(op):
                    op.out(tuple([typeof(a) for a in args]))  # refuses operands that do not fit
                    return self.collective(op, args)
                mine = True  # a program that communicates along our axis concerns us whatever its operands
            if not mine and not self.threads:
                return op(*args)
            if self.table is None:
                raise NotImplementedError(
                    f"{type(self).__name__} met primitive {op.primitive.name!r} and has no rules: "
                    "write `table = rules` in the class, "
                    f"where rules is a RuleTable"
                )
            rule = self.table.lookup(op.primitive)
            if type(rule) is tables.Decomposed:
                ctx.interpreter = self
                return rule.parts(op, *args)
            if type(rule) is tables.Through:
                return rule.body(op, self, args)
            for i, a in enumerate(args):
                if payloads[i] is a:
                    if self.lifts_typed and type(a) in PYTHON:
                        a = python_scalars.as_operand(a, python_scalars.operand_avals(op, args, typeof)[i])
                    payloads[i] = self.lift(a)
            out = rule(op, *payloads)
            if op.primitive.multiple_results:
                wanted = op.known_count(len(args))
                wanted = wanted or len(op.outs(tuple(python_scalars.operand_avals(op, args, typeof))))
                if type(out) not in (list, tuple) or len(out) != wanted:
                    raise failures.miscounted(self.table, op.primitive, rule, out, wanted, ctx.where)
            try:
                return [self.wrap(p) for p in out] if op.primitive.multiple_results else self.wrap(out)
            except Exception as error:
                found = failures.blamed(error, self.table, op, rule, payloads, out)
                if found is error:
                    raise
                raise found from error
        except MissingRule as error:
            if mine or self.threads:
                failures.reached(error, self.table, op.primitive, ctx.where)
            raise
        except Exception as error:
            if type(error) is FloatingPointError and not self.threads:
                ctx.interpreter = self
                place = source_positions.source_position(ctx.where)
                said = f", in a rule for {op.primitive.name!r}, at {place}"
                ctx.where = None if outermost else ctx.where
                return second_looks.look_again(error, said, self.process, op, args)
            if rule is not None:
                failures.attribute(error, *failures.named(self.table, op, rule), ctx.where)
            raise
        finally:
            ctx.interpreter = self
            if outermost:
                ctx.where = None

    def describe(self) -> str:
        """A few words for messages: the transformation and the function that it runs."""
        fn = getattr(self, "fn", None)
        return f"{type(self).__name__}" + (
            f" of {function_names.describe_function(fn)}" if fn is not None else ""
        )


def refuse_no_type(interpreter: Interpreter, aval: int) -> None:
    """Raise TypeError for what an interpreter's ``type_of`` returned and is not a type."""
    kind = type(interpreter)
    raise TypeError(
        f"{interpreter.describe()}: {kind.__name__}.type_of ({function_names.address(kind.type_of)}) "
        f"returned {aval!r:.60}; expected is the type of what the function sees, as in rb.typeof(p.value)"
    )


__all__ = ["Interpreter", "ShapeDtypeStruct", "Tracer", "context", "typeof"]
