"""Primitives and operators: the words of the language that every interpreter speaks.

A ``Primitive`` is a name, its kinds (laws it obeys) and a shape rule. With its parameters it becomes an
``Op``, interned, so that the same operation is the same object and what was computed for it once (shapes,
compiled programs) stays with it. Calling either one speaks to the current interpreter.

The rules that the owner of a primitive writes stand beside it, under the name of their table: that table
may come from a package which is not installed.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
from collections.abc import Callable
from types import FunctionType, MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any

from rabbet.errors import RuleConflict, ShapeError
from rabbet.messages import function_names, source_positions, tracebacks
from rabbet.program.context import context
from rabbet.program.effects import NONE, Effect
from rabbet.rules import captures, tables
from rabbet.rules.examples import documented
from rabbet.rules.operator import Op, number_types, same_numbers
from rabbet.rules.tables import KINDS
from rabbet.rules.unique_names import Names

if TYPE_CHECKING:
    from rabbet.primitives.elementwise import Product
    from rabbet.typing import Value

# An eager loop over x[i:i+1] makes an operator per i: past this many the table of one primitive starts anew.
MOST_OPS = 4096

_names = Names("primitive")


KIND_PARAMETERS = {"reduction": ("axes",)}
"""What the rules by kind read of an operator: the parameters that a primitive of the kind must have."""


def refuse_without_parameters(name: str, abstract: Callable[..., Any], kinds: tuple[str, ...]) -> None:
    """Raise TypeError for a kind whose rules read parameters that the shape rule does not take."""
    for kind in kinds:
        needed = KIND_PARAMETERS.get(kind)
        if needed is None:
            continue
        parameters = inspect.signature(abstract).parameters
        missing = [p for p in needed if p not in parameters]
        if missing and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise TypeError(
                f"primitive {name!r} declares the kind {kind!r}, whose rules read the parameter "
                f"{missing[0]!r}, and its shape rule takes ({', '.join(parameters)})\n"
                f"  to fix: give the shape rule a parameter {missing[0]!r} (what each kind needs is in "
                "docs/extend.md#how-a-rule-is-found), or leave the kind out"
            )


class CallSignature:
    """What ``inspect.signature`` shows of a primitive: the operands by their names, then the parameters that
    the shape rule takes by keyword. The class itself has that of its ``__init__``.
    """

    def __get__(self, primitive: Product | Primitive | None, owner: type) -> Any:
        if primitive is None:
            raise AttributeError("__signature__")
        if not primitive.operands:
            return None
        shape_rule = inspect.signature(primitive.abstract).parameters.values()
        # Types of a shape rule are types of types: a caller gives arrays.
        parameters = [p.replace(annotation=p.empty) for p in shape_rule if p.kind is p.KEYWORD_ONLY]
        return inspect.Signature([*map(_operand, primitive.operands), *parameters])


class Primitive:
    """One operation, whose meaning each transformation gives by a rule.

    Args:
      name: unique among all primitives, and shown in programs; two of one name are a ``RuleConflict``.
      abstract: ``abstract(*avals, **params)`` returns the output aval, or a tuple of them with
        ``multiple_results``.
      kinds: laws from ``KINDS``, the specific ones first. The first kind for which a table has a rule serves.
      multiple_results: True if calls return a list.
      effects: the ``Effect``s of calling it, or a function that is given the parameters by their names,
        ``lambda *, tag="": ...``, and returns them; that makes ``effect`` one of its kinds. A primitive of
        that kind which names none has one of its own name.
      adopt: from which operand on Python scalars take the dtype of the first array operand; 0 for
        elementwise ones, None: never.
      operands: the names of the operands, where callers may also give them by name; ``inspect.signature``
        shows them. The last one may start with ``*``: any number of them, not by name.
      is_call: calling it runs the program in its parameter ``jaxpr``, and nothing else: who compiles it alone
        compiles that program.
      decider: the place of the operand that decides which of its programs run, where it has such an operand.
      axis: the name of the parameter that names the mapped axis along which it communicates, where it does;
        a tuple of names is one axis made of several.
      place: the name of the parameter that is the ``Sharding`` over whose devices it has to run, where it
        has one.
      binds: the name of the parameter that holds the names of axes that its programs may communicate along.
      indices: for the kind ``indexed``, the slice of its operands that are indices and not data; by default
        all but the first.
      endless: where it is a loop, a function from its operator to whether that may run forever: such
        programs are run so that Ctrl-C gives control back.
      doc: one sentence on what it computes.
      parameters: what its parameters mean, by name: ``{"by": "float: the factor"}``, which `rabbet explain`
        shows.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> triple = Primitive("triple", lambda x: x, kinds=("elementwise", "linear", "increasing"))
      >>> @triple.decompose
      ... def triple_parts(op, x):
      ...     return lax.mul(x, 3.0)
      >>> float(triple(2.0))
      6.0
    """

    # What walkers of JAX's programs ask for: none of ours has its program in a parameter ``call_jaxpr``.
    call_primitive = map_primitive = False
    indices: slice

    def __init__(
        self,
        name: Any,
        abstract: Any,
        *,
        kinds: Any = (),
        multiple_results: Any = False,
        doc: Any = "",
        adopt: Any = None,
        effects: Any = None,
        operands: Any = (),
        is_call: Any = False,
        decider: Any = None,
        axis: Any = None,
        endless: Any = None,
        place: Any = None,
        binds: Any = None,
        indices: slice | None = None,
        parameters: Any = None,
    ) -> None:
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise ValueError(
                f"primitive {name!r} declares unknown kinds {unknown}; the kinds are {', '.join(KINDS)}"
            )
        refuse_without_parameters(name, abstract, kinds)
        self.name = name
        if effects is not None and "effect" not in kinds:
            kinds = (*kinds, "effect")
        self.kinds = tuple(kinds)
        self.effects = (Effect(name),) if effects is None and "effect" in kinds else effects
        # Whether it carries bodies or has effects: staging looks closer then.
        self.special = "body" in kinds or "effect" in kinds
        self.multiple_results = multiple_results
        self.abstract = abstract
        self.adopt = 0 if adopt is None and "elementwise" in kinds else adopt
        self.operands = tuple(operands)
        self.is_call, self.decider, self.axis, self.endless = is_call, decider, axis, endless
        self.place, self.binds = place, binds
        if indices is not None and "indexed" not in kinds:
            raise ValueError(
                f"primitive {name!r} says which of its operands are indices, and not that it is of the kind "
                "'indexed'\n  to fix: add 'indexed' to its kinds, or leave `indices` out"
            )
        none = slice(1, None) if "indexed" in kinds else slice(0, 0)
        self.indices = none if indices is None else indices
        self._said = parameters
        self._rules = {}
        # Read only: the way in is `rule`, which refuses a second one.
        self.rules = MappingProxyType(self._rules)
        self.decomposition = None
        self.__doc__ = doc
        self.__name__ = self.__qualname__ = name
        self.where = source_positions.definition_site(maker_of=name)
        self.__module__ = self.where.module
        if self.__module__.startswith("rabbet.primitives."):
            self.__doc__ = documented(name, doc)
        self._ops = {}
        self._plain = Op(self, {})
        _names.take(self)

    @property
    def parameters(self) -> dict[str, str]:
        """What its parameters mean, texts by name."""
        if self.__module__.startswith("rabbet.primitives."):
            from rabbet.rules.parameters import of_core  # documents and `rabbet explain` only

            return of_core(self.abstract, self._said)
        return dict(self._said or {})

    def __call__(self, *args: Value, **params: Any) -> list[Value] | Value:
        try:
            if params and self.operands:
                args, params = self._in_their_places(args, params)
            op = self.op(**params) if params else self._plain
            try:
                return context.interpreter.process(op, args)
            except ShapesDiffer as error:
                together = None if self.adopt != 0 else error.aligned(args)
                if together is None:
                    raise ShapeError(str(error)) from None
            return context.interpreter.process(op, together)
        except Exception as error:
            tracebacks.fold_traceback(error)
            raise

    def _in_their_places(self, args: tuple[Value, ...], params: dict[Any, Any]) -> Any:
        """Operands that were given by name put behind the others; (operands, what is left of ``params``)."""
        if params.keys().isdisjoint(self.operands):
            return args, params
        names = self.__signature__.replace(parameters=map(_operand, self.operands))
        params = dict(params)
        given = {name: params.pop(name) for name in self.operands if name in params}
        try:
            return names.bind(*args, **given).args, params
        except TypeError as error:
            raise TypeError(f"{self.name}{names}: {error}") from None

    __signature__ = CallSignature()

    def open_programs(self, args: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Operands and parameters as a call takes them, of parameters whose programs may be closed: what
        those have captured are operands then.
        """
        return captures.as_operands(self, args, params) if "body" in self.kinds else (args, params)

    def op(self, **params: Any) -> Any:
        """The operator of this primitive with ``params``; the same object for equal hashable params."""
        if not params:
            return self._plain
        key = tuple(params.items())
        try:
            op = self._ops.get(key)
        except TypeError:
            return Op(self, params)
        if op is None:
            return self._intern(key, params)
        if op.has_numbers and not same_numbers(op.params, params):
            return self._intern((key, number_types(params)), params)
        return op

    def _intern(self, key: tuple[tuple[Any, ...], ...], params: dict[Any, Any]) -> Op:
        op = self._ops.get(key)
        if op is None:
            op = Op(self, params)
            if "body" in self.kinds or not _FUNCTIONS.isdisjoint(map(type, params.values())):
                # Programs and functions are users', with all that they hold: who needs them keeps them.
                return op
            if len(self._ops) >= MOST_OPS:
                self._ops.clear()
            self._ops[key] = op
        return op

    def effects_of(self, params: dict[Any, Any]) -> frozenset[Any]:
        """The set of effects of calling this primitive with ``params``, without those of its bodies."""
        if self.effects is None:
            return NONE
        if not callable(self.effects):
            return frozenset(self.effects)
        try:
            return frozenset(self.effects(**params))
        except Exception as error:
            given = ", ".join([f"{name}={value!r:.40}" for name, value in params.items()])
            raise TypeError(
                f"the function `effects` of primitive {self.name!r} "
                f"({function_names.address(self.effects)}) is called with the parameters by their names, "
                f"effects({given}), and returns Effects; it raised {type(error).__name__}: {error}"
            ) from error

    def rule(self, table: str) -> Callable[..., Any]:
        """Decorator: the owner's rule of this primitive for the table of that name (``"lower:cuda"`` for
        one platform).
        """

        def install(function: Any) -> Any:
            if table in self.rules:
                raise RuleConflict(
                    f"primitive {self.name!r} already has a {table!r} rule at "
                    f"{function_names.address(self.rules[table])}; "
                    f"a second one stands at {function_names.address(function)}. Keep one of them."
                )
            self._rules[table] = function
            self._rules_changed()
            return function

        return install

    def decompose(self, function: Any) -> Callable[..., Any]:
        """Decorator: ``function(op, *args)`` computes this primitive by others; serves every table without
        a rule.
        """
        if self.decomposition is not None:
            raise RuleConflict(
                f"primitive {self.name!r} already has a decomposition at "
                f"{function_names.address(self.decomposition)}; "
                f"a second one stands at {function_names.address(function)}. Keep one of them."
            )
        self.decomposition = function
        self._rules_changed()
        return function

    def _rules_changed(self) -> None:
        if tables.forget_lookups():
            self.forget()

    def forget(self) -> None:
        """Drop the interned operators and the programs compiled for eager calls."""
        self.forget_placements()
        for op in (*self._ops.values(), self._plain):
            op.executables.clear()
        self._ops.clear()

    def forget_placements(self) -> None:
        """Drop what eager calls find by the placements of their arguments; compiled programs stay."""
        for op in (*self._ops.values(), self._plain):
            op.programs.clear()

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[tuple[str, ...] | Callable[..., Any], ...]:
        if find(self.name) is not self:
            raise pickle.PicklingError(
                f"primitive {self.name!r} made at {self.where} cannot be pickled: another of this name has "
                f"taken its place, made at {find(self.name).where}"
            )
        return unpickle, (self.name, self.__module__)


class ShapesDiffer(TypeError):
    """Operands of an elementwise primitive have different shapes.

    Programs know no broadcasting. Where somebody calls such a primitive on arrays of one rank, sizes of 1
    are spread in front of it: ``aligned(args)`` returns the operands so, or None where that does not help.
    """

    def __init__(self, message: Any, aligned: Any) -> None:
        super().__init__(message)
        self.aligned = aligned


_FUNCTIONS = frozenset([FunctionType, MethodType, functools.partial])


def _operand(name: str) -> Any:
    kinds = inspect.Parameter
    if name.startswith("*"):
        return kinds(name[1:], kinds.VAR_POSITIONAL)
    return kinds(name, kinds.POSITIONAL_OR_KEYWORD)


def unpickle(name: str, module: str) -> Product | Primitive:
    """The primitive called ``name``, importing the module that makes it if need be."""
    if _names.find(name) is None:
        importlib.import_module(module)
    found = _names.find(name)
    if found is None:
        raise pickle.UnpicklingError(
            f"there is no primitive {name!r}, and importing {module!r} did not make it"
        )
    return found


def find(name: str) -> Any:
    """The primitive of this name, for ``rabbet explain`` and pickles; None if there is none."""
    return _names.find(name)


def all_primitives() -> dict[Any, Any]:
    """Every primitive by name, in the order in which they were made: a dict.

    Example:
      >>> from rabbet.extend.passes import all_primitives
      >>> all_primitives()["mul"] is lax.mul
      True
    """
    return _names.all()
