"""JAX's way to write a transformation: subclasses of ``jax.core.Trace`` and ``jax.core.Tracer``, on Rabbet's.

A library's tracer is the payload of one of Rabbet's, which stands for it wherever arrays are asked for;
``process_primitive`` is given the library's own.
"""

from rabbet.extend import transform
from rabbet.extend.transform import Interpreter, context


class _Tracers(type):
    """``jax.core.Tracer`` is Rabbet's tracer for those who ask, and a base class for those who make their
    own.
    """

    def __instancecheck__(cls, x):
        if type(x) is transform.Tracer:
            return cls is Tracer or type.__instancecheck__(cls, x.payload)
        return type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, other):
        return (cls is Tracer and other is transform.Tracer) or type.__subclasscheck__(cls, other)

    def __call__(cls, trace, *args, **kwargs):
        own = type.__call__(cls, trace, *args, **kwargs)
        return transform.Tracer(trace, own, own.aval)


class Tracer(metaclass=_Tracers):
    """Base of a library's tracers: ``Tracer(trace, aval)``. A call of a subclass gives a tracer of Rabbet's,
    which has the attributes of the library's.
    """

    def __init__(self, trace, aval=None):
        self._trace, self._aval = trace, aval

    aval = property(lambda self: self._aval, doc="The type that the transformed function sees.")
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)


class _Traces(type):
    """``jax.core.Trace`` is Rabbet's interpreter for those who ask."""

    def __instancecheck__(cls, x):
        return isinstance(x, Interpreter) if cls is Trace else type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, other):
        return issubclass(other, Interpreter) if cls is Trace else type.__subclasscheck__(cls, other)


class Trace(Interpreter, metaclass=_Traces):
    """Base of a library's traces, which define ``process_primitive(primitive, tracers, params)``. Functions
    with rules of their own and calls come to it too, as primitives with programs among their parameters.
    """

    lifts_typed = False

    def __init__(self, *args, **kwargs):
        self.parent = context.interpreter
        self.fn, self.alive, self.state = None, True, None

    def type_of(self, payload):
        return payload.aval

    def attribute(self, payload, name):
        """What a library's tracer has under a name."""
        return getattr(payload, name)

    def process(self, op, args):
        """Run one operation: by the library's ``process_primitive``."""
        mine = [a.payload if type(a) is transform.Tracer and a.interpreter is self else a for a in args]
        out = self.process_primitive(op.primitive, mine, dict(op.params))
        return list(out) if op.primitive.multiple_results else out

    def full_raise(self, x):
        """``x``: values of the levels below need no tracer of this one's."""
        return x

    def process_primitive(self, primitive, tracers, params):
        raise NotImplementedError(
            f"{type(self).__name__} must say what an operation does: process_primitive(primitive, tracers, "
            "params)"
        )


def begin(trace):
    """Make a trace ready to be the current one: the level below a library's is its ``parent_trace``."""
    if type.__instancecheck__(Trace, trace):
        trace.parent = getattr(trace, "parent_trace", trace.parent)
    return trace


__all__ = ["Trace", "Tracer", "begin"]
