"""``pmap``: a function mapped over a dimension, each example on a device of its own; and arrays for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import rabbet
from rabbet import devices as all_devices
from rabbet import lax, tree
from rabbet.errors import ShardingError
from rabbet.extend.functions import (
    argument_name,
    array_or_tracer,
    describe_function,
    fold_traceback,
    folded,
    folds_itself,
    on_clear_caches,
)
from rabbet.extend.transform import is_tracer, typeof
from rabbet.extend.wrapping import wraps

from rabbet_parallel.meshes import Mesh
from rabbet_parallel.named_sharding import NamedSharding
from rabbet_parallel.nested_pmap import NeedsAxis, around, axis_for, example, together
from rabbet_parallel.partition_spec import PartitionSpec
from rabbet_parallel.pmap_devices import UNNAMED, Shared, Whole, grid_of, own_share, refuse_global
from rabbet_parallel.shard_map_function import shard_map

# What the compiled function of a pmap takes, whatever parameters the function of the user's has.
LEAVES = inspect.Signature([inspect.Parameter("leaves", inspect.Parameter.VAR_POSITIONAL)])


class Given(NamedTuple):
    """The arguments of a call: what another program is compiled for, and the leaves that it takes."""

    key: tuple
    leaves: list


class Made(NamedTuple):
    """A compiled ``shard_map`` on leaves, what puts leaves where it wants them, and which of them it is
    given."""

    compiled: Callable
    placed: Callable
    donated: list


def pmap(
    fun: Callable[..., Any],
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Any = (),
    devices: Any = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: Any = (),
) -> Any:
    """A compiled function that maps ``fun`` over a dimension of its arguments, each example on a device of
    its own.

    Args:
      fun: takes and returns pytrees of arrays.
      axis_name: the name of the mapped axis, for collectives.
      in_axes: which dimension of each argument is mapped: an int, None (whole on each device), or a tuple
        with an entry for each argument, a prefix of it.
      out_axes: where the mapped dimension stands in the results; None: one device's result, for all.
      static_broadcasted_argnums: positions of arguments that are compiled in by value.
      devices: those to use, by default the first ones (of each process).
      backend: a platform, instead of ``devices``.
      axis_size: how many examples there are, in all processes; needed where no argument is mapped.
      donate_argnums: positions of arguments whose memory may be reused.

    Returns:
      a function of the same arguments. The mapped dimension may be at most as long as there are devices.
      Over several processes each calls it with its own rows and gets its own rows back, as many as it has
      devices there (all have as many where ``devices`` is not given); collectives and ``axis_index`` go over
      all of them, and what is not mapped must be the same in each.
      Within the function of another ``pmap`` it maps over devices, too: n outer and m inner examples need
      n * m of them, and what ``fun`` of the outer one does besides is done by each.

    Raises:
      ShardingError: for more examples than devices; over several processes for an array that lies over
        them, and within a transformation. ValueError: for mapped dimensions of different sizes.

    Example:
      >>> rb.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.float32([5.0]))
      Array([1.], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"pmap takes a function, got {type(fun).__name__}: {fun!r:.60}")
    given = None if devices is None else list(devices)
    static = static_broadcasted_argnums
    mapped = Pmapped(
        fun, axis_name, in_axes, out_axes, static, given, backend, axis_size, donate_argnums
    )  # fmt: skip

    placed = mapped.placed

    @folds_itself
    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if around.names:
                return mapped.within(args, kwargs)
            if not kwargs:
                try:
                    compiled = placed.get(tuple([x.spec for x in args]))
                except (AttributeError, TypeError):  # what is not an array, or a class of the user's
                    compiled = None
                if compiled is not None:
                    return compiled(*args)
            return mapped.on_devices(args, kwargs, mapped.run)
        except Exception as error:
            fold_traceback(error)
            raise

    @folded
    def lower(*args: Any, **kwargs: Any) -> Any:
        return mapped.on_devices(args, kwargs, mapped.lowered)

    call.lower = lower
    return call


class Pmapped:
    """Behind the function that ``pmap`` returns: a compiled ``shard_map`` for each structure of arguments."""

    def __init__(
        self,
        fun: Any,
        name: Any,
        in_axes: Any,
        out_axes: Any,
        static: Any,
        devices: Any,
        backend: Any,
        size: Any,
        donated: Any,
    ) -> None:
        self.fun, self.name, self.in_axes, self.out_axes = fun, name, in_axes, out_axes
        self.static, self.donated = as_tuple(static), as_tuple(donated)
        self.devices, self.backend, self.size = devices, backend, size
        self.who = f"pmap of {describe_function(fun)}"
        self.compiled, self.inner = {}, {}  # for each kind of call; the axes of each pmap within
        # The same for arguments that are arrays which lie as they should, by their placements.
        self.placed: dict = {}
        on_clear_caches(Pmapped.clear_cache, of=self)

    def clear_cache(self) -> None:
        """Forget every program."""
        self.compiled.clear()
        self.placed.clear()

    def on_devices(self, args: Any, kwargs: Any, use: Any) -> Any:
        """``use(compiled, leaves)``: the compiled function for these arguments, and those that it takes."""
        given = self.given(args, kwargs)
        while True:
            try:
                made = self.compiled.get(given.key)
            except TypeError:
                static = given.key[-1]
                raise TypeError(
                    f"{self.who}: a static argument cannot be hashed, got {static!r:.80}"
                ) from None
            if made is None:
                made = self.compiled[given.key] = self.compile(given.key, self.inner.get(given.key, ()))
            try:
                leaves = made.placed(given.leaves)
                out = use(made, leaves, given.key)
                if use == self.run and len(args) == len(leaves) and not kwargs and not given.key[-1]:
                    self.remember(made, args, leaves, given.key)
                return out
            except NeedsAxis as needs:  # a pmap within
                self.inner[given.key] = (*self.inner.get(given.key, ()), needs.axis)
                del self.compiled[given.key]

    def run(self, made: Any, leaves: Any, key: Any) -> Any:
        """The function's results on leaves."""
        self.refuse_double_use(key, leaves, made.donated)
        out = made.compiled(*leaves)
        for i in made.donated:
            if not is_tracer(leaves[i]):
                leaves[i].delete()  # the array on the only device of one is not gone yet
        return out

    def lowered(self, made: Any, leaves: Any, key: Any) -> Any:
        """What ``jit`` makes of it before it is compiled; it takes what the user's function takes."""
        structure, _, _, count, static = key
        fixed = dict(static)

        def whole(*args: Any, **kwargs: Any) -> Any:
            moving = tuple([a for n, a in enumerate(args) if n not in fixed])
            return made.compiled(*tree.leaves((moving, kwargs)))

        moving, kwargs = structure.unflatten(leaves)
        rest = iter(moving)
        args = [fixed[n] if n in fixed else next(rest) for n in range(count)]
        donated = [n for n in self.donated if -count <= n < count]
        of_trees = rabbet.jit(wraps(self.fun)(whole), static_argnums=tuple(fixed), donate_argnums=donated)
        return of_trees.lower(*args, **kwargs)

    def remember(self, made: Any, args: Any, leaves: Any, key: Any) -> None:
        """That arguments which lie like these need not be looked at the next time."""
        if not all(type(x) is rabbet.Array and x is y for x, y in zip(args, leaves, strict=True)):
            return
        run = (lambda *leaves: self.run(made, leaves, key)) if made.donated else made.compiled
        self.placed[tuple([x.spec for x in args])] = run

    def refuse_double_use(self, key: Any, leaves: Any, donated: Any) -> None:
        """Refuse a donated array that stands in another place, too.

        Raises:
          ValueError: names both places.
        """
        if not donated or len(set(map(id, leaves))) == len(leaves):
            return  # as in almost all calls
        for i in donated:
            places = [k for k, x in enumerate(leaves) if x is leaves[i]]
            if len(places) > 1 and not is_tracer(leaves[i]):
                structure, _, _, count, static = key
                fixed = {n for n, _ in static}
                positions = [n for n in range(count) if n not in fixed]
                names = [argument_name(self.fun, tree.leaf_path(structure, k), positions) for k in places]
                raise ValueError(
                    f"{self.who}: the array {typeof(leaves[i]).str_short()} is passed more than once, as "
                    f"{' and '.join(names)}, and is donated; donate a copy"
                )

    def within(self, args: Any, kwargs: Any) -> Any:
        """The same within the function of another pmap."""
        given = self.given(args, kwargs)
        structure, places, size, count, static = given.key
        if self.devices is not None or self.backend is not None:
            raise ShardingError(f"{self.who}: the pmap around it has the devices; give them there")
        name = axis_for(self.who, self.name if isinstance(self.name, str) else None, size)
        own = [example(name, x, p) for x, p in zip(given.leaves, places, strict=True)]
        with around.function(name):
            outs, wanted, out_tree = self.applied(own, structure, count, static)
        return out_tree.unflatten(
            [together(name, x, self.out_place(p, x)) for x, p in zip(outs, wanted, strict=True)]
        )

    def given(self, args: Any, kwargs: Any) -> Any:
        """The ``Given`` of a call."""
        count = len(args)
        static = tuple([(n % count, args[n]) for n in self.static if -count <= n < count])
        fixed = {n for n, _ in static}
        moving = tuple([a for n, a in enumerate(args) if n not in fixed])
        axes = self.in_axes
        if isinstance(axes, (tuple, list)):
            if len(axes) != count:
                raise ValueError(
                    f"{self.who}: in_axes is of length {len(axes)}, the call has {count} positional arguments"
                )
            axes = tuple([a for n, a in enumerate(axes) if n not in fixed])
        leaves, structure = tree.flatten((moving, kwargs))
        places: Any = tree.broadcast_prefix(
            axes, moving, is_none, names=(f"{self.who}: in_axes", "the arguments")
        )
        places += [0] * (len(leaves) - len(places))
        leaves = [array_or_tracer(x) for x in leaves]
        refuse_global(self.who, leaves)
        places = tuple([self.place(p, x, i) for i, (p, x) in enumerate(zip(places, leaves, strict=True))])
        return Given((structure, places, self.size_of(leaves, places), count, static), leaves)

    def applied(self, leaves: Any, structure: Any, count: Any, static: Any) -> Any:
        """The results of the function on leaves: their leaves, for each its ``out_axes``, and their tree."""
        fixed = dict(static)
        moving, kwargs = tree.unflatten(structure, leaves)
        rest = iter(moving)
        result = self.fun(*[fixed[n] if n in fixed else next(rest) for n in range(count)], **kwargs)
        outs, out_tree = tree.flatten(result)
        names = (f"{self.who}: out_axes", "the result")
        wanted = tree.broadcast_prefix(self.out_axes, result, is_none, names=names)
        return [array_or_tracer(x) for x in outs], wanted, out_tree

    def out_place(self, place: Any, x: Any) -> Any:
        """Where the mapped dimension of a result stands, from the front; ``x`` has none yet."""
        return place if place is None or place >= 0 else place + typeof(x).ndim + 1

    def place(self, axis: Any, x: Any, i: Any) -> Any:
        """The mapped dimension of an argument leaf, from the front."""
        ndim = typeof(x).ndim
        if axis is None:
            return None
        if not -ndim <= axis < ndim:
            raise ValueError(f"{self.who}: in_axes is {axis} for argument leaf {i}, {typeof(x).str_short()}")
        return axis % ndim

    def size_of(self, leaves: Any, places: Any) -> Any:
        """How many examples there are."""
        sizes = {typeof(x).shape[p] for x, p in zip(leaves, places, strict=True) if p is not None}
        if self.size is not None:
            sizes.add(own_share(self.who, self.size, self.there(), self.devices is not None))
        if len(sizes) != 1:
            what = f"of the sizes {sorted(sizes)}" if sizes else "none; give axis_size"
            raise ValueError(f"{self.who}: the mapped dimensions must have one size, got {what}")
        if not all(sizes):
            raise ValueError(f"{self.who}: there are no examples, the mapped dimensions have the size 0")
        return sizes.pop()

    def there(self) -> Any:
        """The devices that there are for it."""
        return all_devices(self.backend) if self.devices is None else self.devices

    def mesh(self, size: Any, inner: Any) -> Any:
        """As many devices as there are examples, with those of each pmap within: of all processes, and this
        one's own.
        """
        sizes = [size, *[n for _, n in inner]]
        grid, own = grid_of(self.who, self.there(), self.devices is not None, sizes)
        name = self.name if isinstance(self.name, str) else UNNAMED
        names = (name, *[n for n, _ in inner])
        mesh = Mesh(grid, names)
        return mesh, mesh if own is grid else Mesh(own, names)

    def compile(self, key: Any, inner: Any) -> Any:
        """The function on leaves, a compiled ``shard_map``, and what puts leaves where it wants them."""
        structure, places, size, count, static = key
        mesh, own = self.mesh(size, inner)
        axis = mesh.axis_names[0]
        fixed = dict(static)

        def one(*leaves: Any) -> Any:
            own = [x if p is None else lax.squeeze(x, (p,)) for x, p in zip(leaves, places, strict=True)]
            with around.function(axis, mesh):
                outs, wanted, out_tree = self.applied(own, structure, count, static)
            return out_tree.unflatten([
                x if p is None else lax.expand_dims(x, (max(p, 0),))  # see ``counted_from_the_end``
                for x, p in zip(outs, wanted, strict=True)
            ])  # fmt: skip

        ins = tuple([PartitionSpec() if p is None else PartitionSpec(*[None] * p, axis) for p in places])

        def spec(p: Any) -> Any:
            if p is not None and p < 0 and own is not mesh:
                raise ValueError(f"{self.who}: out_axes over processes count from the front, got {p}")
            return PartitionSpec() if p is None else PartitionSpec(*[None] * max(p, 0), axis)

        outs = tree.map(spec, self.out_axes, is_leaf=is_none)
        named = wraps(self.fun)(one)
        named.__signature__ = LEAVES
        mapped = shard_map(named, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False)
        donated = self.donated_leaves(structure, count, fixed)
        rows = Whole(mesh, ins) if own is mesh else Shared(self.who, mesh, own, ins)
        if any(p is not None and p < 0 for p in tree.leaves(self.out_axes, is_leaf=is_none)):
            mapped = self.counted_from_the_end(mapped, mesh)
        compiled = rabbet.jit(mapped, donate_argnums=donated or None)
        return Made(rows.results(compiled), rows.placed, donated)

    def counted_from_the_end(self, mapped: Any, mesh: Any) -> Any:
        """``mapped``, whose mapped dimensions come first where ``out_axes`` count from the end, with them
        where they belong: how many dimensions a result has is known when it is there.
        """

        def placed(x: Any, p: Any) -> Any:
            if p is None or p >= 0:
                return x
            ndim = typeof(x).ndim
            if p < -ndim:
                raise ValueError(f"{self.who}: out_axes is {p} for a result of {ndim} dimensions")
            others = list(range(1, ndim))
            x = lax.transpose(x, (*others[: p + ndim], 0, *others[p + ndim :]))
            return lax.with_sharding_constraint(
                x, NamedSharding(mesh, PartitionSpec(*[None] * (p + ndim), mesh.axis_names[0]))
            )

        def moved(*leaves: Any) -> Any:
            result = mapped(*leaves)
            outs, out_tree = tree.flatten(result)
            wanted = tree.broadcast_prefix(self.out_axes, result, is_none)
            return out_tree.unflatten([placed(x, p) for x, p in zip(outs, wanted, strict=True)])

        named = wraps(self.fun)(moved)
        named.__signature__ = LEAVES
        return named

    def donated_leaves(self, structure: Any, count: Any, fixed: Any) -> Any:
        """The positions of the leaves that may be reused."""
        moving, _ = tree.unflatten(structure, list(range(structure.num_leaves)))
        positions = [n for n in range(count) if n not in fixed]
        wanted = {n % count for n in self.donated if -count <= n < count}
        return [
            leaf for n, a in zip(positions, moving, strict=True) if n in wanted for leaf in tree.leaves(a)
        ]


def is_none(node: Any) -> Any:
    """Whether a node is None."""
    return node is None


def as_tuple(numbers: Any) -> Any:
    """Positions as a tuple."""
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


__all__ = ["pmap"]
