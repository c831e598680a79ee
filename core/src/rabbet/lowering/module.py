"""A program as StableHLO text.

Each equation's ``lower`` rule is called with a ``Site`` (its parameters, avals and an ``emit``) and the
names of its operands, and returns the names of its results. Locations are kept beside the lines, so that
the same text without them is the key of the persistent cache: moving a function down a file does not
compile it again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.config import config
from rabbet.errors import MissingRule, NotOfferedError
from rabbet.lowering import constants, dtype_codes, extended_dtypes, stop_flag
from rabbet.lowering.attributes import attributes_at, mark
from rabbet.lowering.locations import Locations
from rabbet.lowering.operation import Site
from rabbet.lowering.regions import TOKEN, Tokens, types_of
from rabbet.lowering.target import Target, target_of
from rabbet.messages.argument_names import describe_value
from rabbet.messages.source_positions import Scoped
from rabbet.program import effects, python_scalars
from rabbet.program.context import context
from rabbet.program.jaxpr import Var
from rabbet.program.sharded_types import memory_of
from rabbet.program.value_types import typeof
from rabbet.rules import contracts, failures
from rabbet.rules.failures import blamed, named, reached
from rabbet.rules.tables import Decomposed, Role, RuleTable, Through
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.primitives.elementwise import Product
    from rabbet.program.avals import ShapedArray
    from rabbet.program.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal
    from rabbet.rules.primitive import Primitive
    from rabbet.typing import Value

lower = RuleTable(
    "lower",
    doc="""(op, *names) -> name or list of names, of StableHLO values that op.emit wrote

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.extend.transform import lower
      >>> twice = Primitive("twice", lambda x: x, kinds=("elementwise",))
      >>> @twice.rule("lower")
      ... def lower_twice(op, x):
      ...     return op.emit(f"stablehlo.add {x}, {x} : {op.out.mlir}")
      >>> float(twice(2.0)), lower.explain(twice).source
      (4.0, 'owner')
    """,
    roles=(Role.WRITES,),
)


class ModuleText(NamedTuple):
    """A module's text, and the same without locations: the part that decides what is compiled.

    ``callbacks`` are the ``HostCallback``s that it calls by their index, ``partitioners`` what the compiler
    asks while it cuts the program up (see ``Site.partitioner``). ``stoppable`` is the same module with one
    more argument, by which its loops can be stopped, if it has some and all of them can (``stopping``).
    """

    text: str
    key_text: str
    callbacks: tuple = ()
    partitioners: tuple = ()
    stoppable: ModuleText | None = None


def lower_program(
    jaxpr: Any,
    target: Target | str,
    *,
    name: str = "main",
    donated: Any = (),
    arg_attributes: Any = (),
    result_attributes: Any = (),
) -> ModuleText:
    """The StableHLO module of a program.

    Args:
      jaxpr: a ``Jaxpr``; its captured arrays and then its inputs become the arguments of ``@main``.
      target: what it is written for: a ``Target``, or the name of a platform.
      name: the module's name.
      donated: indices of arguments whose memory the program may take over.
      arg_attributes, result_attributes: pairs (index, attribute text) to add to arguments and results. What a
        donated argument hands over goes to a result with the same text.

    Raises:
      MissingRule: there is no lowering of an operation for the platform.
      NotOfferedError: the backend says that the platform does not offer it.
    """
    target = target_of(target)
    module = Module(target, name)
    attributes, of_results = dict(arg_attributes), dict(result_attributes)
    for i, attribute in donation_attributes(jaxpr, donated, dict(attributes), of_results):
        add_attribute(attributes, i, attribute)
    note_memories(attributes, [*jaxpr.constvars, *jaxpr.invars])
    note_memories(of_results, jaxpr.outvars)
    outer, context.is_lowering = context.is_lowering, True
    try:
        with config.override(explicit_x64_dtypes="allow"):  # what rules ask for is no user's call
            module.function("main", jaxpr, public=True, attributes=attributes, result_attributes=of_results)
    finally:
        context.is_lowering = outer
    whole = not target.spread and target.symbolic is None
    can_stop = whole and not (donated or jaxpr.effects)  # what has been stopped may run again
    return module.text(_symbol(name), can_stop and module.stops(jaxpr))


def add_attribute(attributes: dict[Any, Any], i: int, attribute: str) -> None:
    """Add to the text of the attributes of an argument or result."""
    attributes[i] = f"{attributes[i]}, {attribute}" if i in attributes else attribute


def note_memories(attributes: dict[Any, Any], variables: list[Literal | Var]) -> None:
    """Say of arguments or results in which memory their types put them, where their sharding does not."""
    for i, v in enumerate(variables):
        memory = memory_of(v.aval)
        if memory is not None and "mhlo.memory_kind" not in attributes.get(i, ""):
            add_attribute(attributes, i, f'mhlo.memory_kind = "{memory}"')


def donation_attributes(
    jaxpr: Jaxpr, donated: tuple[int, ...], of_arguments: dict[Any, Any], of_results: dict[Any, Any]
) -> Iterator[Any]:
    """Pair each donated argument with an output of the same type that may take its memory, first come first
    served. Where arguments and results have attributes, these must be the same too.
    """
    arguments = [*jaxpr.constvars, *jaxpr.invars]
    free = {}
    for i, v in enumerate(jaxpr.outvars):
        free.setdefault((v.aval.physical.strong(), of_results.get(i)), []).append(i)
    for i in donated:
        candidates = free.get((arguments[i].aval.physical.strong(), of_arguments.get(i)))
        if candidates:
            yield i, f"tf.aliasing_output = {candidates.pop(0)} : i32"
        else:
            yield i, "jax.buffer_donor = true"


class Module:
    """A module under construction: its functions, each written once per body."""

    def __init__(self, target: Target, name: str = "") -> None:
        self.name = name  # of the program
        self.platform, self.backend_rules = target.platform, target.backend_rules
        self.lacks = target.lacks if target.symbolic is None else target.why_not
        self.python_call, self.symbolic = target.python_call, target.symbolic
        self.spread, self.like = target.spread, target.like
        self.manual = target.manual  # another within a part that each device computes by itself
        self.locations = Locations()
        self.functions = []
        self.callbacks = []
        self.partitioners = []
        self.knows_nan = False  # whether one of its constants holds a NaN
        self.regions = 0  # how many bodies of operations, one in another, are being written
        self.closed = 0  # how many of them see nothing from outside
        self.stopped = set()  # the operators of loops that look into the table of ``stopping``
        self.unstoppable = False  # whether there are others
        self.handing_on = set()  # the functions with such loops
        self.rules = {}  # by primitive, those found so far
        self.compounds = {}  # by function, the places of results that are powers, roots or quotients
        self._names = {}
        self._by_body = {}
        self._parts = {}

    def function(
        self, name: Any, jaxpr: Any, *, public: Any = False, attributes: Any = (), result_attributes: Any = ()
    ) -> Any:
        """Write ``jaxpr`` as a function; return its symbol."""
        symbol = self._unique(_symbol(name))
        function = Function(self)
        if public:  # of the others the compiler puts the name of the call in front
            function.path = f"jit({self.name})"
        arguments = [f"%arg{i}" for i in range(len(jaxpr.constvars) + len(jaxpr.invars))]
        threaded = effects.ordered(jaxpr.effects)
        given = {e: f"%token{i}" for i, e in enumerate(threaded)}
        if public:  # nobody hands tokens to a program: it starts with new ones
            function.constant_lines += [
                (f"{t} = stablehlo.create_token : {TOKEN}", "") for t in given.values()
            ]
            passed = ()
        else:
            passed = threaded
            function.compounds.update(arguments)  # for all that it knows
        function.tokens = Tokens(f"the function {name!r}", given)
        results = function.inline(jaxpr, arguments)
        self.compounds[symbol] = [i for i, name in enumerate(results) if name in function.compounds]
        results += [function.tokens[e] for e in passed]
        notes = dict(attributes)
        head = ", ".join(
            f"{a}: {v.aval.mlir}" + (f" {{{notes[i]}}}" if i in notes else "")
            for i, (a, v) in enumerate(zip(arguments, (*jaxpr.constvars, *jaxpr.invars), strict=True))
        )
        head = ", ".join([part for part in (head, *[f"{given[e]}: {TOKEN}" for e in passed]) if part])
        types = shown = types_of(jaxpr.out_avals, passed)
        if result_attributes:
            notes = dict(result_attributes)
            each = [
                f"{a.mlir} {{{notes[i]}}}" if i in notes else a.mlir for i, a in enumerate(jaxpr.out_avals)
            ]
            shown = ", ".join([*each, *[TOKEN] * len(passed)])
        start, end = f"func.func {'public' if public else 'private'} @{symbol}(", f") -> ({shown}) {{"
        lines = [(f"{start}{head}{end}", "")]
        if function.stops:
            self.handing_on.add(symbol)
            table = f"{stop_flag.TABLE}: {stop_flag.TABLE_TYPE}"
            lines = stop_flag.either(lines[0][0], f"{start}{head}{', ' if head else ''}{table}{end}")
        lines += function.constant_lines
        lines += function.lines
        lines.append((f"return {', '.join(results)} : {types}" if results else "return", ""))
        lines.append(("}", ""))
        self.functions.append(lines)
        return symbol

    def function_of(self, jaxpr: Jaxpr, name: str) -> str:
        """The symbol of the function for a body, written when it is first asked for."""
        key = jaxpr, self.manual, self.regions > 0
        if key not in self._by_body:
            self._by_body[key] = self.function(name, jaxpr)
        return self._by_body[key]

    def include(self, functions: Any) -> Any:
        """Write ``ForeignFunctions``, unless they are there; return the symbol of their entry."""
        if functions.symbol not in self._names:
            self._names[functions.symbol] = 0
            self.functions.append([(functions.text, "")])
        return functions.symbol

    def rule(self, primitive: Product | Primitive) -> Decomposed | Callable[..., Any]:
        """The lowering of a primitive: the backend's own, else the table's for the platform, else the
        table's.
        """
        own = None if self.symbolic is None else self.symbolic.rules.find(primitive, self.platform)
        if own is None and self.backend_rules is not None:
            own = self.backend_rules.find(primitive, self.platform)
        if own is not None and config.enable_checks:
            own = contracts.checked(lower, primitive, own)
        rule = self.rules[primitive] = own or lower.lookup(primitive, self.platform)
        return rule

    def parts(self, eqn: Equation, rule: Decomposed) -> ClosedJaxpr:
        """The program that a decomposition makes of an equation, made once for its operator and types."""
        key = eqn.op, *[v.aval for v in eqn.inputs]
        if key not in self._parts:
            self._parts[key] = decomposed(eqn, rule.parts)
        return self._parts[key]

    def stops(self, jaxpr: Jaxpr) -> bool:
        """Whether every loop of this program of which it is not known that it ends can be stopped."""
        if self.unstoppable or not self.stopped:
            return False
        return all(op in self.stopped for op in stop_flag.endless(jaxpr))

    def text(self, name: str, stoppable: bool = False) -> ModuleText:
        """The whole module as ``ModuleText``; with the other text if it is ``stoppable``."""
        lines = [(f"module @{name} {{", ""), *(line for f in self.functions for line in f), ("}", "")]
        if not self.stopped:
            return self._written(lines)
        other = self._written(stop_flag.lines_of(lines, stop_flag.STOPPABLE)) if stoppable else None
        return self._written(stop_flag.lines_of(lines, stop_flag.ORDINARY))._replace(stoppable=other)

    def _written(self, lines: list[tuple[str, ...]]) -> ModuleText:
        with_locations = [f"{text} {loc}" if loc else text for text, loc in lines]
        return ModuleText(
            "\n".join([*with_locations, *self.locations.definitions()]),
            "\n".join([text for text, _ in lines]),
            tuple(self.callbacks),
            tuple(self.partitioners),
        )

    def _unique(self, symbol: str) -> Any:
        name, n = symbol, self._names.get(symbol, 0)
        while name in self._names:  # a function may be called f_1 by its author
            n += 1
            name = f"{symbol}_{n}"
        self._names[symbol], self._names[name] = n, self._names.get(name, 0)
        return name


class Function:
    """The body of one function: lines, fresh names, constants written once at its head."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.lines = []
        self.constant_lines = []
        self.tokens = Tokens("this function", {})
        self._constants = {}
        self._literals = {}
        self.written = {}  # what ``Site.once`` returned, by its key
        self.types = {}  # of values whose types say how they lie, by their names
        self.compounds = set()  # the names of powers, roots and quotients
        self.count = 0
        self.stops = False  # whether loops of it look into the table of ``stopping``
        self._prefix = "c"
        self.loc = ""
        self.path = ""  # what stands in front of the names of its operations

    def fresh(self) -> Any:
        """A new SSA name."""
        self.count += 1
        return f"%{self.count}"

    def constant(self, value: Any, aval: ShapedArray) -> str:
        """The name of a constant, written once per function."""
        if aval.codes is not None:
            value, aval = dtype_codes.bits_of(value, aval), aval.physical
        text = f"stablehlo.constant {constants.dense(value, aval.dtype)} : {aval.mlir}"
        name = self._constants.get(text)
        if name is None:
            name = self._constants[text] = f"%{self._prefix}{len(self._constants)}"
            self.constant_lines.append((f"{name} = {text}", ""))
            self.module.knows_nan |= aval.kind in "fc" and constants.holds_nan(value)
        return name

    def inline(self, jaxpr: Any, names: Any) -> Any:
        """Write the equations of ``jaxpr`` here, its inputs being ``names``; return the names of its
        outputs.
        """
        arguments = (*jaxpr.constvars, *jaxpr.invars)
        env = dict(zip(arguments, names, strict=True))
        # Most programs have no typed keys, so their equations need not be looked at one by one.
        made = (v for eqn in jaxpr.equations for v in eqn.outputs)
        keys = holds_keys(arguments) or holds_keys(made)
        spread = self.module.spread
        if spread:
            held = zip(arguments, names, strict=True)
            self.types.update([(name, v.aval) for v, name in held if v.aval.spread is not None])
        typed = spread and any(v.aval.spread for eqn in jaxpr.equations for v in eqn.outputs)
        place = self.module.locations.place
        rules, find_rule, lacks = self.module.rules, self.module.rule, self.module.lacks
        ctx = context
        outer, outer_where, where, attributes, start = self.loc, ctx.where, None, None, 0
        here: Any = None
        try:
            for eqn in jaxpr.equations:
                if eqn.where is not where and eqn.where is not None:
                    where = ctx.where = eqn.where  # what a rule stages comes from this line, too
                    here = place(where, self.path)
                    attributes = attributes_at(where) if type(where) is Scoped else None
                inputs = [env[v] if type(v) is Var else self._literal(v) for v in eqn.inputs]
                primitive = eqn.op.primitive
                if eqn.where is not None:
                    self.loc = here[primitive.name]
                if attributes:
                    start = len(self.lines)
                cut_up = self._partitioned(eqn, inputs) if spread else None
                try:
                    if lacks is not None and (reason := lacks(Site(self, eqn))) is not None:
                        raise NotOfferedError(f"{primitive.name!r} on {self.module.platform!r}: {reason}")
                    rule = rules.get(primitive) or find_rule(primitive)
                    if cut_up is not None:
                        outs = cut_up
                    elif keys or type(rule) is Decomposed or type(rule) is Through:
                        outs = self._apply(rule, eqn, inputs)
                    else:
                        outs = rule(Site(self, eqn), *inputs)
                except MissingRule as error:
                    reached(error, lower, primitive, eqn.where)
                    raise
                except Exception as error:
                    rule = rules.get(primitive)
                    if rule is not None:
                        failures.attribute(error, *named(lower, eqn.op, rule), eqn.where)
                    raise
                if attributes:
                    mark(self.lines, start, attributes)
                if typed:
                    outs = [outs] if type(outs) is str else outs
                    outs = [self._laid_out(name, v.aval) for name, v in zip(outs, eqn.outputs, strict=True)]
                if type(outs) is str:
                    env[eqn.outputs[0]] = outs
                else:
                    try:
                        env.update(zip(eqn.outputs, outs, strict=True))
                    except Exception as error:
                        found = blamed(error, lower, Site(self, eqn), rule, inputs, outs)
                        if found is error:
                            raise
                        raise found from error
        finally:
            self.loc, ctx.where = outer, outer_where
        return [env[v] if type(v) is Var else self._literal(v) for v in jaxpr.outvars]

    def _partitioned(self, eqn: Any, inputs: Any) -> Any:
        """What an operation with a rule ``partition`` is in a program that is cut up, or None."""
        said = eqn.op.primitive.rules.get("partition")
        if said is None or self.module.manual is not None or self.module.like is None:
            return None
        return self.module.like.write_partitioned(Site(self, eqn), said, inputs)

    def addends(self, name: str, aval: ShapedArray) -> Any:
        """A value that a region uses: of addends the compiler is told again, or it adds them up."""
        if self.module.manual is not None or aval.spread is None or not aval.spread.unreduced:
            return name
        return self._laid_out(name, aval)

    def _laid_out(self, name: str, aval: ShapedArray) -> Any:
        """A value whose type says how it lies, as the compiler is told of it."""
        manual = self.module.manual
        told = aval.spread is not None
        text = None if not told else aval.spread.text(aval) if manual is None else manual.text_of(aval)
        if text is None:
            return name
        made = self.fresh()
        self.types[made] = aval
        self.lines.append((f"{made} = sdy.sharding_constraint {name} <{text}> : {aval.mlir}", self.loc))
        return made

    def inline_closed(self, jaxpr: Jaxpr, names: list[str]) -> Any:
        """``inline`` in a region that sees no values from outside: constants are written at its head."""
        outer = self._constants, self._literals, self.constant_lines, self._prefix
        self.count += 1
        self._constants, self._literals, self.constant_lines, self._prefix = {}, {}, [], f"c{self.count}_"
        start = len(self.lines)
        try:
            outs = self.inline(jaxpr, names)
            self.lines[start:start] = self.constant_lines
        finally:
            self._constants, self._literals, self.constant_lines, self._prefix = outer
        return outs

    def _literal(self, literal: Literal) -> Any:
        value, aval = literal.value, literal.aval
        key = repr(value) if value == 0 else value, aval  # 0.0 and -0.0 are equal as keys
        name = self._literals.get(key)
        if name is None:
            name = self._literals[key] = self.constant(python_scalars.as_numpy(value, aval), aval)
        return name

    def inline_with(self, closed: ClosedJaxpr, names: list[str]) -> list[str]:
        """``inline`` of a program with the arrays that it uses."""
        held = zip(closed.jaxpr.constvars, closed.consts, strict=True)
        return self.inline(closed.jaxpr, [*[self.constant(c, v.aval) for v, c in held], *names])

    def _apply(self, rule: Any, eqn: Equation, inputs: list[str]) -> Any:
        if type(rule) is Decomposed:
            return self.inline_with(self.module.parts(eqn, rule), inputs)
        if type(rule) is Through and rule.body is eqn.op.primitive.rules.get("body"):
            raise lower.missing(eqn.op.primitive)
        keys = holds_keys(eqn.inputs) or holds_keys(eqn.outputs)
        if keys and not extended_dtypes.is_aware(eqn.op.primitive):
            if not dtype_codes.concerns(eqn):
                return self.inline(extended_dtypes.physical(eqn), inputs)
            if not dtype_codes.is_aware(eqn.op.primitive):
                return self.inline_with(dtype_codes.widened(eqn), inputs)
        return rule(Site(self, eqn), *inputs)


def holds_keys(atoms: Any) -> Any:
    """Whether one of these variables and literals is an array of typed keys, or of codes."""
    for v in atoms:  # noqa: SIM110 - a generator would cost as much again for each
        if v.aval.is_stored:
            return True
    return False


def decomposed(eqn: Equation, parts: Callable[..., Any]) -> ClosedJaxpr:
    """The program of a primitive's decomposition for this equation's types, and arrays that it uses."""
    avals = [v.aval.bare for v in eqn.inputs]

    def flat(*args: Value) -> list[Value]:
        out = parts(eqn.op, *args)
        return out if eqn.op.primitive.multiple_results else [out]

    closed = stage(flat, avals, eqn.op.primitive.name)
    for const in closed.consts:
        if typeof(const).is_extended:
            raise MissingRule(
                f"the decomposition of primitive {eqn.op.primitive.name!r} uses {describe_value(const)} from "
                "outside, which cannot be written into the program; make it an operand"
            )
    for part in closed.jaxpr.equations:
        part.where = None  # they stand where the equation stood
    return closed


@functools.lru_cache(maxsize=4096)
def _symbol(name: str) -> Any:
    cleaned = "".join(c if (c.isalnum() and c.isascii()) or c == "_" else "_" for c in name)
    return cleaned if cleaned and not cleaned[0].isdigit() else f"f_{cleaned}"
