"""``jax.test_util``: the step of differences is JAX's, whatever the dtype."""

from rabbet import test_util
from rabbet.extend.wrapping import wraps

STEP = 1e-4


@wraps(test_util.check_grads)
def check_grads(f, args, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    return test_util.check_grads(f, args, order, modes, atol, rtol, STEP if eps is None else eps)


@wraps(test_util.check_jvp)
def check_jvp(f, f_jvp, args, atol=None, rtol=None, eps=None, err_msg=""):
    return test_util.check_jvp(f, f_jvp, args, atol, rtol, STEP if eps is None else eps, err_msg)


@wraps(test_util.check_vjp)
def check_vjp(f, f_vjp, args, atol=None, rtol=None, eps=None, err_msg=""):
    return test_util.check_vjp(f, f_vjp, args, atol, rtol, STEP if eps is None else eps, err_msg)


__all__ = ["check_grads", "check_jvp", "check_vjp"]
