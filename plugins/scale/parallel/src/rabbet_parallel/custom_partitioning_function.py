"""``custom_partitioning``: a function whose author says how the compiler cuts it up over devices."""

from __future__ import annotations

import inspect
from typing import Any

from rabbet import tree
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    folded,
)
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.transform import typeof
from rabbet.extend.wrapping import name_of, wraps

from rabbet_parallel.custom_partitioning_primitive import custom_partitioning as partitioned
from rabbet_parallel.sharding_rules import KINDS, SdyShardingRule, parse_rule


@folded
class custom_partitioning:
    """Decorator: a function that is one call for the compiler, which asks its author what each device does.

    Args:
      fun: takes and returns pytrees of arrays. It says what the whole result is: it runs where there is one
        device, within ``shard_map``, and under ``grad`` and ``vmap``, which know nothing of ``partition``
        (wrap the function in ``custom_vjp`` to keep it for derivatives).
      static_argnums: positions of arguments that are not arrays; they must be hashable.

    Example:
      >>> from rabbet.experimental.custom_partitioning import custom_partitioning
      >>> import rabbet.numpy as rnp
      >>> @custom_partitioning
      ... def spectrum(x):
      ...     return abs(rnp.fft.fft(x))
      >>> def partition(mesh, args, result):
      ...     (x,) = args
      ...     return mesh, lambda part: abs(rnp.fft.fft(part)), result.sharding, (x.sharding,)
      >>> _ = spectrum.def_partition(
      ...     partition, sharding_rule="... i -> ... i", need_replication_factors=("i",)
      ... )
      >>> spectrum(np.eye(4, dtype=np.float32)).shape
      (4, 4)
    """

    def __init__(self, fun: Any, static_argnums: Any = ()) -> None:
        if not callable(fun):
            raise TypeError(f"custom_partitioning takes a function, got {describe_value(fun)}")
        wraps(fun)(self)
        self.fun = fun
        self.static_argnums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        self.partition = None
        self.sharding_rule, self.decode_shardings = None, True

    def def_partition(
        self,
        partition: Any,
        infer_sharding_from_operands: Any = None,
        propagate_user_sharding: Any = None,
        decode_shardings: Any = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: Any = (),
        need_replication_factors: Any = (),
        permutation_factors: Any = (),
        **factor_sizes: Any,
    ) -> Any:
        """Say how the function is cut up.

        Args:
          partition: ``partition(*static, mesh, args, result)`` returns ``(mesh, function, result_shardings,
            arg_shardings)``. ``args`` is the tuple of arguments and ``result`` the result, with a
            ``ShapeDtypeStruct`` that has the proposed ``sharding`` in the place of each array. What is
            returned has shardings in these places; the compiler lays the arrays out so. ``function`` takes
            and returns the parts of one device, and may communicate along the mesh's axes.
          sharding_rule: which dimensions are cut alike: a text such as ``"i k, k j -> i j"``, an
            ``SdyShardingRule``, or a function of ``(*static, mesh, operands, results)``, the types of all
            arrays, that returns one of these. None: the compiler knows nothing, and proposes whole results.
          infer_sharding_from_operands, propagate_user_sharding: the older way to say the same, which the
            compiler here does not ask: they are taken, and only with a ``sharding_rule`` beside them.
          decode_shardings: give ``partition`` ``NamedSharding``s; otherwise, and where no ``PartitionSpec``
            can say one, shardings that only tell how arrays are cut.
          reduction_factors, need_replication_factors, permutation_factors, factor_sizes: with a text, as
            ``SdyShardingRule`` takes them.

        Raises:
          ValueError: for a sharding rule that cannot be read.
          NotImplementedError: for one of the older functions without a ``sharding_rule``.
        """
        special = dict(
            zip(KINDS, (reduction_factors, need_replication_factors, permutation_factors), strict=True)
        )
        if isinstance(sharding_rule, str):
            sharding_rule = parse_rule(sharding_rule, special, factor_sizes)
        elif any(special.values()) or factor_sizes:
            names = [*[kind for kind, given in special.items() if given], *factor_sizes]
            raise ValueError(
                f"custom_partitioning of {describe_function(self.fun)}: {', '.join(names)} go with a "
                "sharding_rule that is a text; give them to the SdyShardingRule"
            )
        if sharding_rule is None and (infer_sharding_from_operands or propagate_user_sharding):
            raise NotImplementedError(
                f"custom_partitioning of {describe_function(self.fun)}: the compiler does not ask "
                "infer_sharding_from_operands and propagate_user_sharding here; say with sharding_rule which "
                "dimensions are cut alike, as in sharding_rule='... i -> ... i'"
            )
        self.partition, self.sharding_rule = partition, sharding_rule
        self.decode_shardings = decode_shardings
        return partition

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        who = f"custom_partitioning of {describe_function(self.fun)}"
        if self.partition is None:
            raise AttributeError(f"{who}: say how it is cut up with def_partition before it is called")
        args = self.by_position(who, args, kwargs)
        numbers = {i + len(args) if i < 0 else i for i in self.static_argnums}
        if any(not 0 <= i < len(args) for i in numbers):
            raise ValueError(f"{who}: static_argnums are {self.static_argnums}, of {len(args)} arguments")
        static = tuple([x for i, x in enumerate(args) if i in numbers])
        leaves, in_tree = tree.flatten(tuple([x for i, x in enumerate(args) if i not in numbers]))
        leaves = convert_leaves(
            array_or_tracer,
            leaves,
            lambda i, x: f"{who}: argument leaf {i} is not an array: {describe_value(x)}",
        )
        call = Call(self, who, static, in_tree)
        closed = stage(lambda *xs: call.flat(args, numbers, xs), [typeof(x) for x in leaves], call.name)
        op = partitioned.op(jaxpr=consts_as_inputs(closed), call=call, consts=len(closed.consts))
        return tree.unflatten(call.out_tree, op(*closed.consts, *leaves))

    def by_position(self, who: Any, args: Any, kwargs: Any) -> Any:
        """The arguments by position, with the defaults of static ones and of those in between."""
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        last = max(self.static_argnums, default=-1)
        if not bound.kwargs and last < len(bound.args):
            return bound.args
        given = len(bound.args) + len(bound.kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise TypeError(f"{who}: arguments that go by name only are not taken, got {names}")
        return bound.args[: max(given, last + 1)]


class Call:
    """One call of a function that says how it is cut up."""

    out_tree: Any = None

    def __init__(self, function: Any, who: Any, static: Any, in_tree: Any) -> None:
        self.fun, self.name, self.who = function.fun, name_of(function.fun), who
        self.static, self.in_tree = static, in_tree
        self.partition, self.decode_shardings = function.partition, function.decode_shardings
        self.sharding_rule = function.sharding_rule

    def flat(self, args: Any, numbers: Any, leaves: Any) -> Any:
        """The function on leaves."""
        arrays = iter(tree.unflatten(self.in_tree, list(leaves)))
        given = [x if i in numbers else next(arrays) for i, x in enumerate(args)]
        outs, self.out_tree = tree.flatten(self.fun(*given))
        return convert_leaves(
            array_or_tracer, outs,
            lambda i, x: f"{self.who} must return arrays, result leaf {i} is {describe_value(x)}",
        )  # fmt: skip

    def rule(self, mesh: Any, ins: Any, outs: Any) -> Any:
        """The ``SdyShardingRule`` for arrays of these types, or None."""
        rule = self.sharding_rule
        if callable(rule) and not isinstance(rule, SdyShardingRule):
            rule = rule(*self.static, mesh, list(ins), list(outs))
        if isinstance(rule, str):
            rule = parse_rule(rule, {}, {})
        if rule is not None and not isinstance(rule, SdyShardingRule):
            raise TypeError(
                f"{self.who}: a sharding rule is a text or an SdyShardingRule, got {describe_value(rule)}"
            )
        return rule


__all__ = ["custom_partitioning"]
