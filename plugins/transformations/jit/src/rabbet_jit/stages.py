"""The stages of a compiled function: ``Traced``, ``Lowered``, ``Compiled``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import Array, config, default_backend, device_put, local_devices, tree
from rabbet.errors import PluginError, ShardingError
from rabbet.extend.backend import (
    as_device,
    common_device,
    compile_program,
    copy_to_device,
    lower_program,
    normalize_compiler_options,
    program_entry,
)
from rabbet.extend.functions import describe_function, fold_traceback, folded, folds_itself, to_array
from rabbet.extend.native import hlo_computation, hlo_module, mlir_module, text_cost
from rabbet.extend.passes import ClosedJaxpr, Jaxpr, Var, consts_as_inputs
from rabbet.extend.sharding import SingleDeviceSharding, bring_to, is_described
from rabbet.extend.transform import is_tracer
from rabbet.extend.wrapping import is_of_handler

from rabbet_jit import cells, donation, explain, program_warnings
from rabbet_jit.argument_shardings import nameless_group, refit, spread_for
from rabbet_jit.array_constants import with_constants
from rabbet_jit.compiler_statistics import Measures
from rabbet_jit.dispatch import CONVERTED, LEAVES, converting
from rabbet_jit.result_assembly import assembler
from rabbet_jit.stage_base import Stage

if TYPE_CHECKING:
    from rabbet import Device
    from rabbet.extend.passes import Equation
    from rabbet.extend.sharding import DeviceGroup, Sharding, Spread
    from rabbet.typing import Value

    from rabbet_jit.layouts import Format


@folded
class Traced(Stage):
    """A function traced for argument types.

    Example:
      >>> traced = rb.jit(lambda x: x + 1).trace(1.0)
      >>> traced.out_info
      ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
    """

    def __init__(
        self, asked: Any, signature: Any, program: Any, avals: Any, layouts: Any = None, device: Any = None
    ) -> None:
        super().__init__(asked, signature.without_values(), program, avals, signature.key(avals))
        self.layouts = layouts or [None] * len(avals)
        self.device = device  # the one that was asked for, or that arguments were put on; None: the first

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program, a ``ClosedJaxpr``."""
        return ClosedJaxpr(*self.program.closed)

    @property
    def spread(self) -> Spread | None:
        """The ``rabbet.extend.sharding.Spread`` of a program over several devices, captured arrays first;
        None for one device.
        """
        return spread_for(self, self.layouts)

    def lower(
        self,
        *,
        platform: str | None = None,
        platforms: tuple[str, ...] | str | None = None,
        lowering_platforms: tuple[str, ...] | None = None,
    ) -> Lowered:
        """Write the program as StableHLO for a platform (by default the default backend's); a
        ``Lowered``. ``platforms``, also called ``lowering_platforms``, are a tuple of just one.
        """
        if platforms is not None and lowering_platforms is not None:
            raise TypeError("lower: give platforms or lowering_platforms, which mean the same, not both")
        platforms = lowering_platforms if platforms is None else platforms
        if platforms is not None:
            if isinstance(platforms, str) or len(platforms) != 1:
                raise ValueError(
                    "lower writes one program for one platform, as in platforms=('cpu',), got "
                    f"platforms={platforms!r}; lower once for each"
                )
            (platform,) = platforms
        return Lowered(self, platform)


def calls_a_function(eqn: Equation, platform: str) -> bool:
    """Whether an operation calls a native function on a platform, of which its compiler knows nothing."""
    alone = Jaxpr([v for v in dict.fromkeys(eqn.inputs) if type(v) is Var], eqn.outputs, [eqn])
    return "stablehlo.custom_call" in lower_program(alone, platform, keep_unused=True).module.text


@folded
class Lowered(Stage):
    """A function as StableHLO text for one platform.

    Example:
      >>> lowered = rb.jit(lambda x: x + 1).lower(1.0)
      >>> 'stablehlo.add' in lowered.as_text()
      True
    """

    def __init__(self, traced: Any, platform: Any) -> None:
        program, self.spread = traced.program, traced.spread
        self.device = traced.device
        place = self.device if self.spread is None else self.spread.group
        if platform is None and place is not None:
            platform = place.platform
        if self.spread is None and program.closed.consts:
            program = with_constants(program, traced, platform or default_backend())
        super().__init__(traced.asked, traced.signature, program, traced.avals, traced.key)
        closed = self.program.closed
        offset = len(closed.consts)
        donated = self.signature.donated_leaves(self.asked.donated) if self.asked.donated else ()
        self.donated = tuple([i + offset for i in donated])
        self.lowering = lower_program(
            consts_as_inputs(closed),
            platform,
            self.program.name,
            donated=self.donated,
            keep_unused=self.asked.keep_unused,
            options=self.asked.options,
            spread=self.spread,
        )
        program_warnings.of_captured(self.fun_name, closed.consts)
        program_warnings.of_donated(self, offset)
        if config.explain:
            explain.lowered(self.lowering)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module's text: StableHLO, with source locations if ``debug_info``; or ``dialect="hlo"``, the
        same program as HLO, which no pass of the compiler has seen yet.
        """
        if dialect == "hlo":
            return hlo_module(self.lowering.module.text).to_string()
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"as_text knows the dialects 'stablehlo' and 'hlo', got {dialect!r}")
        return self.lowering.module.text if debug_info else self.lowering.module.key_text

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module for tools: an ``ir.Module`` of jaxlib's MLIR, whose ``str`` is the text of StableHLO, or
        with ``dialect="hlo"`` XLA's computation, with methods such as ``as_hlo_text`` and
        ``as_serialized_hlo_module_proto``.
        """
        if dialect == "hlo":
            return hlo_computation(self.lowering.module.text)
        return mlir_module(self.as_text(dialect))

    def cost_analysis(self) -> dict[Any, Any]:
        """Estimates of the program before it is optimized, a dict with ``flops``, ``bytes accessed``,
        ``transcendentals`` and others, in which native functions count as what the rules ``cost`` of their
        primitives say, or nothing. The body of a loop counts once. Where nobody counts these, those of the
        compiled program, which is compiled for it.
        """
        found = text_cost(self.lowering.module.text)
        if found is None:
            return self.compile().cost_analysis()
        if "stablehlo.custom_call" in self.lowering.module.text:
            from rabbet.extend.cost import cost_of  # few programs ask

            known: dict[Any, bool] = {}

            def counts(eqn: Equation) -> bool:
                key = eqn.op, tuple([v.aval for v in eqn.inputs])
                if key not in known:
                    known[key] = calls_a_function(eqn, self.lowering.platform)
                return known[key]

            own = cost_of(self.lowering.jaxpr, own_only=True, rounds=False, counts=counts)
            unknown = max(-found.pop("optimal_seconds", 0.0), 0.0)  # each such call is a -1 in the sums
            for name, more in zip(("flops", "bytes accessed"), own[:2], strict=True):
                found[name] = found.get(name, 0.0) + unknown + more
            found["transcendentals"] = found.get("transcendentals", 0.0) + own.transcendentals
        return found

    def compile(
        self,
        compiler_options: dict[Any, Any] | None = None,
        *,
        device: Any = None,
        topology: str | None = None,
        device_assignment: tuple[Device | int, ...] | Device | None = None,
    ) -> Any:
        """Compile the program.

        Args:
          compiler_options: by name, over those given to ``jit``.
          device: the ``Device`` to run on; by default the one given to ``jit`` or that the arguments were put
            on, else the platform's first.
          topology: the name of hardware that need not be here: ``"v5e:2x2"`` for tpu, ``"h100"`` for cuda.
          device_assignment: the device in a tuple.

        Returns:
          a ``Compiled``; with ``topology``, or for devices of one, a ``CompiledAhead``, which can be looked
          at and not be called.

        Raises:
          ConfigError: for an option that the compiler does not know, or a value that it refuses.
          CompileError: for a program that the compiler refuses.
          NotImplementedError: for several devices.
        """
        options = {
            **(self.asked.options or {}),
            **normalize_compiler_options(compiler_options or {}),
        } or None
        if self.spread is not None:
            return self.compile_spread(options, device, topology, device_assignment)
        device = as_device(device)
        if device_assignment is not None:
            if not isinstance(device_assignment, (tuple, list)):
                device_assignment = (device_assignment,)
            given = [as_device(d, "device_assignment") for d in device_assignment]
            if len(given) != 1 or device not in (None, *given):
                beside = "" if device is None else f" beside device={device}"
                raise NotImplementedError(
                    "compile: a program runs on one device in this version, got "
                    f"device_assignment={given}{beside}; give a tuple of one Device"
                )
            (device,) = given
        if topology is not None:
            from rabbet_jit.ahead_of_time import CompiledAhead  # few compile for hardware elsewhere

            if device is not None:
                raise TypeError(f"compile takes a device or a topology, got {device} and {topology!r}")
            return CompiledAhead(self, topology, options)
        if device is None and self.device is not None and self.device.platform == self.lowering.platform:
            device = self.device
        device = device or self.local_device()
        if device.platform != self.lowering.platform:
            raise ValueError(
                f"{self.fun_name!r} was lowered for {self.lowering.platform} and cannot be compiled for "
                f"{device}; lower it for {device.platform}"
            )
        if is_described(device):
            from rabbet_jit.ahead_of_time import CompiledAhead

            return CompiledAhead(self, device, options)
        executable = compile_program(self.lowering, device, options)
        if config.explain:
            explain.compiled(executable)
        return Compiled(self, executable, options)

    def compile_spread(
        self, options: Any, device: DeviceGroup | None, topology: Any, device_assignment: Any
    ) -> Any:
        """``compile`` for the devices of the program's shardings."""
        group = self.spread.group
        if group is nameless_group(len(group)):
            raise ShardingError(
                f"compile: the shardings of {self.fun_name!r} name no devices, only sizes of axes\n"
                "  to fix: give arguments over a Mesh, or set one, rb.set_mesh(mesh), around trace and lower"
            )
        if device not in (None, group) or topology is not None:
            raise ShardingError(
                f"compile: {self.fun_name!r} runs on {group}, the devices of its shardings; leave out device "
                "and topology"
            )
        if device_assignment is not None and tuple(device_assignment) != group.devices:
            raise ShardingError(
                f"compile: {self.fun_name!r} runs on {group}, the devices of its shardings in their order; "
                f"got device_assignment={device_assignment}"
            )
        if is_described(group):
            from rabbet_jit.ahead_of_time import CompiledAhead  # few compile for hardware elsewhere

            return CompiledAhead(self, None, options)
        executable = compile_program(self.lowering, group, options)
        if config.explain:
            explain.compiled(executable)
        return Compiled(self, executable, options)

    def local_device(self) -> Device:
        """The device to compile for if nobody named one."""
        device, platform = common_device([], "compile")[0], self.lowering.platform
        if device.platform == platform:
            return device
        try:
            return local_devices(backend=platform)[0]
        except PluginError as error:
            raise PluginError(
                f"{error}\n  to compile for hardware elsewhere, name it: compile(topology=...)"
            ) from None


@folded
class Compiled(Measures, Stage):
    """A compiled function: call it with arguments of the types that it was compiled for.

    Example:
      >>> compiled = rb.jit(lambda x: x + 1).lower(1.0).compile()
      >>> compiled(2.0)
      Array(3., dtype=float32, weak_type=True)
    """

    def __init__(self, lowered: Any, executable: Any, options: Any) -> None:
        super().__init__(lowered.asked, lowered.signature, lowered.program, lowered.avals, lowered.key)
        self.lowered, self.executable, self.options = lowered, executable, options
        self.device = executable.device
        self.committed = self.device is lowered.device  # so results stay there, too
        self.runners = {}
        self.quick = {}  # runners by what was seen of arguments that passed all checks
        self.convert = converting(lowered)

    def as_text(self) -> str:
        """The optimized program as HLO text."""
        return self.executable.hlo_text()

    def runtime_executable(self) -> Any:
        """The executable underneath."""
        return self.executable.exe

    @property
    def input_shardings(self) -> tuple[tuple[Sharding, ...] | dict[Any, Any], ...]:
        """The shardings of the arguments: ``(args, kwargs)`` without the static ones."""
        spread, offset = self.lowered.spread, len(self.program.closed.consts)
        if spread is None:
            return tree.unflatten(self.in_tree, [SingleDeviceSharding(self.device)] * len(self.avals))
        ins = spread.ins[offset : offset + len(self.avals)]
        return tree.unflatten(self.in_tree, [s.public for s in ins])

    @property
    def output_shardings(self) -> Any:
        """The shardings of the result, in its structure: as asked for, or what the compiler chose."""
        outs = self.executable.out_shardings[: self.out_tree.num_leaves]
        return tree.unflatten(self.out_tree, [s.public for s in outs])

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the result, and how it lies."""
        infos, shardings = tree.leaves(super().out_info), tree.leaves(self.output_shardings)
        outs = [x.update(sharding=s) for x, s in zip(infos, shardings, strict=True)]
        return tree.unflatten(self.out_tree, outs)

    @property
    def input_formats(self) -> Any:
        """How the arguments lie, a ``Format`` (layout and sharding) each: ``(args, kwargs)``."""
        from rabbet_jit import layouts  # few programs ask, and loading it would count in the first trace

        first, count = len(self.program.closed.consts), len(self.avals)
        # The program may have one argument more, by which its loops are stopped.
        kept, given = self.lowered.lowering.kept, self.executable.exe.get_parameter_layouts()
        own = dict(zip(kept, given[: len(kept)], strict=True))
        raw = [own.get(first + i) for i in range(count)]
        shardings = tree.leaves(self.input_shardings)
        return tree.unflatten(self.in_tree, layouts.formats(raw, shardings, self.avals))

    @property
    def output_formats(self) -> Format | dict[Any, Any]:
        """How the result lies, a ``Format`` (layout and sharding) each, in its structure."""
        from rabbet_jit import layouts

        raw = self.executable.exe.get_output_layouts()[: self.out_tree.num_leaves]
        avals = self.program.closed.jaxpr.out_avals[: self.out_tree.num_leaves]
        return tree.unflatten(self.out_tree, layouts.formats(raw, tree.leaves(self.output_shardings), avals))

    def flat_runner(self, committed: Any) -> Any:
        """A function from all inputs of the program, but those that it captured, to a list of its outputs."""
        consts = bring_to([to_array(c) for c in self.program.closed.consts], self.device)
        run = self.executable.runner(committed, single=False)
        return lambda leaves: run([*consts, *leaves])

    def runner(self, committed: bool) -> Any:
        """A function from array leaves to the result, for arguments whose types were checked by the
        caller.
        """
        consts = bring_to([to_array(c) for c in self.program.closed.consts], self.device)
        assemble = assembler(self.program.out_tree)
        single = assemble is None
        run = self.executable.runner(committed, single=single, assemble=assemble)
        if consts:
            inner = run

            def run(leaves: list[Value]) -> Any:
                return inner([*consts, *leaves])

            run.captured = tuple(consts), program_entry(inner)  # type: ignore[attr-defined]  # see `FrameParts`
            failed = getattr(inner, "failed", None)
            if failed is not None:
                run.failed = lambda error, leaves: failed(error, [*consts, *leaves])  # type: ignore[attr-defined]

        return donation.giving_up(self, run, consts)

    @folds_itself
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            try:
                # Written out for two arguments and one: a comprehension costs a twentieth of a call.
                if kwargs:
                    run = None
                elif len(args) == 2:
                    x, y = args
                    run = self.quick.get((x.spec, y.spec))
                elif len(args) == 1:
                    run = self.quick.get((args[0].spec,))
                else:
                    run = self.quick.get(tuple([x.spec for x in args]))
            except AttributeError:  # no array of ours
                run = None
                call = self._of_trees
            else:
                call = self._checked
            return call(args, kwargs) if run is None else run(args)
        except Exception as error:
            fold_traceback(error)
            raise

    def _of_trees(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
        """The result for Python's numbers, NumPy's numbers and arrays, and pytrees of them and of arrays."""
        run, convert = None, self.convert
        leaves: Any = []
        if not kwargs:
            try:
                if LEAVES.issuperset(map(type, args)):
                    leaves = [x if type(x) is Array else convert(x) for x in args]
                    run = self.quick.get(tuple([x.spec for x in leaves]))
                else:
                    leaves, treedef = tree.flatten(args)
                    leaves = [
                        x if type(x) is Array or type(x) not in CONVERTED else convert(x) for x in leaves
                    ]
                    run = self.quick.get((treedef, *[x.spec for x in leaves]))
            except Exception as error:  # what cannot be an argument, of which `_checked` says so
                if is_of_handler(error):
                    raise
        return self._checked(args, kwargs) if run is None else run(leaves)

    def _checked(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
        """The result for arguments that were not seen before."""
        leaves, treedef = tree.flatten((args, kwargs))
        uses_cells = self.program.cells or self.signature.cells
        given = leaves
        if uses_cells:
            signature = self.signature.with_leaves(leaves)
            leaves = cells.with_contents(signature)
        if treedef != self.in_tree:
            if self.signature.static_args or self.signature.static_kwargs:
                hint = "; static arguments were fixed when it was compiled, leave them out"
            else:
                hint = ""
            raise TypeError(
                f"the compiled function {describe_function(self.asked.fun)} was compiled for arguments of "
                f"the structure {self.in_tree}, got {treedef}{hint}"
            )
        if any(is_tracer(x) for x in leaves):
            raise TypeError(
                f"the compiled function {describe_function(self.asked.fun)} was called under a "
                "transformation, on a traced array; compiled programs take values only, call the jitted "
                "function there instead"
            )
        leaves = [x if type(x) is Array else to_array(x) for x in leaves]
        for i, (x, aval) in enumerate(zip(leaves, self.avals, strict=True)):
            if x.shape != aval.shape or x.dtype != aval.dtype:
                raise TypeError(
                    f"the compiled function {describe_function(self.asked.fun)} takes {aval.str_short()} "
                    f"for {self.signature.name_of(i)}, got {x.aval.str_short()}; compiled programs take one "
                    "signature, call the jitted function to compile others"
                )
            asked = self.asked.device is not None  # a function that was given one brings arguments there
            if self.lowered.spread is None and x.committed and x.device is not self.device and not asked:
                raise ValueError(
                    f"the compiled function {describe_function(self.asked.fun)} was compiled for "
                    f"{self.device}, and {self.signature.name_of(i)} was put on {x.device}; bring it there "
                    "with device_put, or call the jitted function, which runs where its arguments are"
                )
        if uses_cells:
            leaves = cells.operands(signature, self.program, leaves)
        if self.lowered.spread is None:
            leaves = [_there(x, self.device) for x in leaves]
        else:
            ins = self.lowered.spread.ins[len(self.program.closed.consts) :]
            who = f"the compiled function {describe_function(self.asked.fun)}"
            leaves = [
                refit(x, s, f"{who}: {self.signature.name_of(i)}")
                for i, (x, s) in enumerate(zip(leaves, ins, strict=True))
            ]
        committed = self.committed or any(x.committed for x in leaves)
        if uses_cells:
            outs = cells.finish(signature, self.program, self.flat_runner(committed)(leaves))
            return tree.unflatten(self.out_tree, outs)
        run = self.runners.get(committed)
        if run is None:
            run = self.runners[committed] = self.runner(committed)
        if not kwargs and all(x is y or type(x) in CONVERTED for x, y in zip(given, leaves, strict=True)):
            form = () if LEAVES.issuperset(map(type, args)) else (tree.structure(args),)
            self.quick[*form, *[x.spec for x in leaves]] = run
        return run(leaves)


def _there(x: Value, device: Device) -> Value:
    if x.spec.layout is not None:
        return device_put(x, device)
    return x if x.spec.device is device else copy_to_device(x, device, x.committed)
