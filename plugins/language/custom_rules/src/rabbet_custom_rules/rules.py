"""What the author of a function says of one transformation: the rules of ``custom_call``.

A function's rules are a dict from the name of a rule table to a ``CustomRule``. A call asks a rule what it
needs to know, and knows of no transformation: whom it serves, how it is applied, which interpreters it
survives, and what it is under one of those.
"""

from rabbet.extend.transform import payload_of


class CustomRule:
    """A function's rule for one transformation. Subclasses belong to whoever owns the transformation.

    Example:
      >>> from rabbet_custom_rules import CustomRule
      >>> class Exact(CustomRule):
      ...     def apply(self, interpreter, rules, args, name, wanted):
      ...         return [interpreter.wrap(interpreter.lift(0.0))]
      >>> Exact().serves(None), Exact().survives(None)
      (False, False)
    """

    def serves(self, interpreter):
        """Whether it is also the rule for an interpreter that has another table, such as the rule of reverse
        mode for forward mode.
        """
        return False

    def survives(self, interpreter):
        """Whether it is still to be had after this interpreter, which has no rule and goes through the
        function: ``under`` then says what it is.
        """
        return False

    def under(self, passage):
        """The rule of the function that an interpreter makes of this rule's function.

        Args:
          passage: a ``Passage``: the interpreter, and the function under it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} survives and must say as what: define under(passage)"
        )

    def apply(self, interpreter, rules, args, name, wanted):
        """The function's outputs by this rule, with the level below current.

        Args:
          interpreter: whose rule it is.
          rules: all rules of the function.
          args: values, of which some are the interpreter's tracers.
          name: the function's, for messages.
          wanted: the types of the outputs; None where they are not known.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how it is applied: define apply")


class PayloadRule(CustomRule):
    """A rule on payloads: ``function(interpreter, payloads) -> payloads``, lists of one per array.

    Example:
      >>> from rabbet.extend.transform import Interpreter
      >>> from rabbet_custom_rules import PayloadRule
      >>> class Pairs(Interpreter):
      ...     def lift(self, value):
      ...         return value, 0.0
      ...     def type_of(self, pair):
      ...         return rb.typeof(pair[0])
      >>> swapped = PayloadRule(lambda interpreter, payloads: [payloads[1], payloads[0]])
      >>> [x.payload for x in swapped.apply(Pairs(), {}, [1.0, 2.0], "swap", None)]
      [(2.0, 0.0), (1.0, 0.0)]
    """

    def __init__(self, function):
        self.function = function

    def apply(self, interpreter, rules, args, name, wanted):
        payloads = [payload_of(interpreter, a) for a in args]
        return [interpreter.wrap(p) for p in self.function(interpreter, payloads)]


__all__ = ["CustomRule", "PayloadRule"]
