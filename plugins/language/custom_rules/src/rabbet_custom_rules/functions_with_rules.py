"""Functions of pytrees that have rules of their own: positional binding, static arguments, and the call.

``custom_rules``, and the ``custom_jvp`` and ``custom_vjp`` of the package for differentiation, are this with
different ways of giving the rules.
"""

import functools
import inspect

from rabbet import tree
from rabbet.extend.functions import array_or_tracer, describe_function, folded, is_evaluating
from rabbet.extend.shapes import whole_number
from rabbet.extend.transform import Tracer
from rabbet.extend.wrapping import wraps

from rabbet_custom_rules.custom_call_primitive import call_with_rules


@folded
class RuledFunction:
    """A function with rules; what differs is in ``has_rule`` and ``rules``.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.
      nondiff_argnums, nondiff_argnames: arguments that are static: no rule sees them as arrays.

    Example:
      >>> from rabbet_custom_rules import RuledFunction
      >>> class WithoutRules(RuledFunction):
      ...     def has_rule(self):
      ...         return True
      ...     def rules(self, call):
      ...         return {}
      >>> @WithoutRules
      ... def double(x):
      ...     return {"double": x * 2.0}
      >>> float(double(3.0)["double"])
      6.0
    """

    def __init__(self, fun, nondiff_argnums=(), nondiff_argnames=()):
        if not callable(fun):
            raise TypeError(f"{type(self).__name__} takes a function, got {type(fun).__name__}: {fun!r:.60}")
        wraps(fun)(self)
        self.fun = fun
        what = f"{type(self).__name__} of {describe_function(fun)}"
        numbers = () if nondiff_argnums is None else nondiff_argnums
        numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
        self.nondiff_argnums = tuple([whole_number(what, "nondiff_argnums", n) for n in numbers])
        self.nondiff_argnames = (
            (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        )

        for name in self.nondiff_argnames:
            if not isinstance(name, str):
                raise TypeError(f"{what}: nondiff_argnames must be names, got {name!r:.60}")

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def has_rule(self):
        """Whether the function may be called yet."""
        raise NotImplementedError

    def rules(self, call):
        """The rules for one call, as ``call_with_rules`` takes them."""
        raise NotImplementedError

    def refuse_without_rule(self):
        """Raise the error that says which method gives a rule."""
        raise NotImplementedError

    def _bound(self, args, kwargs):
        """All arguments by position, defaults filled in; those that have no position keep their defaults."""
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
        except ValueError:
            return args
        bound.apply_defaults()
        without_position = sorted(name for name in bound.kwargs if name in kwargs)
        if without_position:
            raise TypeError(
                f"{describe_function(self.fun)} has keyword-only arguments {without_position}; "
                "functions with rules of their own take arguments by position"
            )
        return bound.args

    def _static(self, count):
        outside = [n for n in self.nondiff_argnums if not -count <= n < count]
        if outside:
            raise IndexError(
                f"{describe_function(self.fun)} is called with {count} arguments, and nondiff_argnums lists "
                f"the positions {outside}"
            )
        numbers = {n % count for n in self.nondiff_argnums}
        if self.nondiff_argnames:
            names = list(inspect.signature(self.fun).parameters)
            unknown = [n for n in self.nondiff_argnames if n not in names]
            if unknown:
                raise ValueError(
                    f"{describe_function(self.fun)} has no arguments {unknown}, which nondiff_argnames "
                    f"lists; its arguments are {names}"
                )
            numbers |= {names.index(n) for n in self.nondiff_argnames if names.index(n) < count}
        return sorted(numbers)

    def __call__(self, *args, **kwargs):
        args = self._bound(args, kwargs)
        if not self.has_rule():
            self.refuse_without_rule()
        if is_evaluating():
            return self.fun(*args)
        static = self._static(len(args))
        moving = [a for i, a in enumerate(args) if i not in static]
        leaves, in_tree = tree.flatten(tuple(moving))
        call = RuledCall(self.fun, args, static, in_tree)
        leaves = [*map(array_or_tracer, leaves), *call.taken]
        outs = call_with_rules(call, self.rules(call), leaves, call.__name__)
        del call.taken
        return tree.unflatten(call.out_tree, outs)


HOLE = object()


class RuledCall:
    """One call: the function on flat arrays, with its static arguments in place.

    Tracers among the static arguments belong to one trace, and the call outlives it. So they become operands
    behind those that have derivatives, and rules get them back in their places.

    ``out_tree`` is the structure of the result, known once the function or one of its rules has run.
    """

    def __init__(self, fun, args, static, in_tree):
        # Not the arrays: a program keeps the call, and must not keep the tracers of one trace.
        self.args = [a if i in static else None for i, a in enumerate(args)]
        self.fun, self.static, self.in_tree = fun, static, in_tree
        self.out_tree = None
        self.__name__ = getattr(fun, "__name__", "custom")
        self.taken, self.held = [], {}
        for i in static:
            self._take_tracers(i)

    def _take_tracers(self, i):
        if not any(type(x) is Tracer for x in tree.leaves(self.args[i])):
            return
        leaves, structure = tree.flatten(self.args[i])
        self.taken += [x for x in leaves if type(x) is Tracer]
        self.held[i] = structure, [HOLE if type(x) is Tracer else x for x in leaves]
        self.args[i] = None

    def split(self, leaves):
        """The operands that have derivatives, and those that static arguments hold."""
        leaves, count = list(leaves), self.in_tree.num_leaves
        return leaves[:count], leaves[count:]

    def static_args(self, held=()):
        """The static arguments, in their order, with the operands that they hold."""
        values, given = [], iter(held)
        for i in self.static:
            value = self.args[i]
            if i in self.held:
                structure, leaves = self.held[i]
                value = tree.unflatten(structure, [next(given) if x is HOLE else x for x in leaves])
            values.append(value)
        return values

    def arguments(self, leaves):
        """All arguments, with ``leaves`` in the places of the arrays."""
        moving, held = self.split(leaves)
        moving, static = iter(tree.unflatten(self.in_tree, moving)), iter(self.static_args(held))
        return [next(static) if i in self.static else next(moving) for i in range(len(self.args))]

    def result(self, result, what):
        """The leaves of a result; its structure must be the one that is known.

        Args:
          result: what the function, or a rule, gave as output.
          what: whose it is, for the message.
        """
        outs, out_tree = tree.flatten(result)
        if self.out_tree is not None and out_tree != self.out_tree:
            raise TypeError(f"{what} returned the structure {out_tree}, the function returns {self.out_tree}")
        self.out_tree = out_tree
        return outs

    def __call__(self, *leaves):
        outs, self.out_tree = tree.flatten(self.fun(*self.arguments(leaves)))
        return [array_or_tracer(x) for x in outs]
