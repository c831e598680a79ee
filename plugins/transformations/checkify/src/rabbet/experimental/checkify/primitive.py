"""The primitive ``check``: raise an error if it has happened.

Its operands are the leaves of an ``Error``. Called on arrays it raises; ``checkify`` takes it into its state;
compiled without that it is an error that says so.
"""

from rabbet import tree
from rabbet.extend.primitive import Primitive, move_axis, new_axis
from rabbet.extend.transform import refusing, typeof

check = Primitive(
    "check", lambda *avals, structure, debug: (), kinds=("effect",), multiple_results=True,
    doc="raises an error, if it has happened",
)  # fmt: skip


def check_error(error, debug=False):
    """Raise ``error`` if it has happened; a primitive, so that transformations can look at it."""
    leaves, structure = tree.flatten(error)
    check(*leaves, structure=structure, debug=debug)


@check.rule("evaluate")
def raise_now(op, *leaves):
    exception = None if op.params["debug"] else tree.unflatten(op.params["structure"], leaves).get_exception()
    if exception is not None:
        raise exception
    return []


@check.rule("lower")
def lower_check(op, *names):
    if op["debug"]:
        return []
    raise ValueError(
        "checkify.check in a program that is compiled: a compiled program cannot raise by itself\n"
        "  to fix: make the function return the error, error, out = rb.jit(checkify.checkify(f))(x), and "
        "raise it with error.throw(); or use checkify.debug_check, which is left out where nobody checks"
    )


@check.rule("jvp")
def jvp_check(op, *duals):
    return op(*[d.primal for d in duals])


@check.rule("batch")
def batch_check(op, *operands):
    size = next(typeof(b.value).shape[b.axis] for b in operands if b.axis is not None)
    return op(*[_at_front(b, size) for b in operands])


def _at_front(b, size):
    return new_axis(b.value, 0, size) if b.axis is None else move_axis(b.value, b.axis, 0)


check.rule("transpose")(refusing("an error has no cotangent"))
