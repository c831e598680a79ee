"""What happens on the host: functions over lists of tensors, and their derivatives by autograd."""

from __future__ import annotations

import contextlib

import numpy as np

import rabbet as rb
from rabbet.torch.into_torch import conjugate
from rabbet.torch.tensors import array_of, library, tensor_of


class HostCall:
    """A function from a list of tensors to a list of tensors, as programs call it.

    Args:
      fun: the function.
      name: what messages call it.
      vmap_method: as of ``rb.pure_callback``.
    """

    def __init__(self, fun, name, vmap_method):
        self.fun, self.name, self.vmap_method = fun, name, vmap_method

    def results(self, arrays, out_avals):
        """The results, called from the program that is being traced."""
        return rb.pure_callback(self.run, list(out_avals), *arrays, vmap_method=self.vmap_method)

    def results_and_state(self, arrays, out_avals):
        """The results, and the state of PyTorch's generator before, as bytes: zeros if it was not asked."""
        kept = rb.ShapeDtypeStruct(library().get_rng_state().shape, np.uint8)
        extra = [x.ndim for x in arrays][:1]

        def run(*given):
            torch = library()
            before = torch.get_rng_state()
            outs = self.run(*given)
            drawn = not torch.equal(before, torch.get_rng_state())
            state = before.numpy() if drawn else np.zeros(before.shape, np.uint8)
            mapped = given[0].shape[: given[0].ndim - extra[0]] if given else ()
            return outs, np.broadcast_to(state, (*mapped, *state.shape))

        return rb.pure_callback(run, (list(out_avals), kept), *arrays, vmap_method=self.vmap_method)

    def run(self, *arrays):
        """The results as arrays, for arguments that are arrays."""
        torch = library()
        with torch.no_grad():
            tensors = [tensor_of(x) for x in arrays]
            outs = self.fun(tensors)
            for i, x in enumerate(tensors):
                if x._version:
                    raise RuntimeError(
                        f"as_rabbet: {self.name} wrote into array {i} of its arguments, which other parts "
                        "of the program may be reading\n  to fix: let it work on a copy, x.clone()"
                    )
            return [array_of(x) for x in outs]


def pulled_back(fun, count, smooth_in, smooth_out):
    """The derivative of ``fun``: from ``count`` arguments, a generator's state and cotangents to the
    gradients."""

    def of_tensors(given):
        torch = library()
        tensors, state, cotangents = given[:count], given[count], given[count + 1 :]
        again = torch.is_grad_enabled()  # whether this is itself being differentiated
        with torch.enable_grad(), as_before(state):
            leaves = [
                x if not yes or x.requires_grad else x.detach().requires_grad_()
                for x, yes in zip(tensors, smooth_in, strict=True)
            ]
            outs = [x for x, yes in zip(fun(leaves), smooth_out, strict=True) if yes]
            moving = [x for x, yes in zip(leaves, smooth_in, strict=True) if yes]
            pairs = [(x, conjugate(c)) for x, c in zip(outs, cotangents, strict=True) if x.requires_grad]
            if not pairs:
                return [torch.zeros_like(x) for x in moving]
            found = torch.autograd.grad(
                [x for x, _ in pairs], moving, [c for _, c in pairs], create_graph=again, allow_unused=True
            )
            return [
                torch.zeros_like(x) if g is None else conjugate(g) for x, g in zip(moving, found, strict=True)
            ]

    return of_tensors


@contextlib.contextmanager
def as_before(state):
    """PyTorch's generator in a state of before, for as long as the block; of zeros: left alone."""
    torch = library()
    state = state.reshape(-1, state.shape[-1])[0]
    if not state.any():
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(state.clone())
        yield


__all__ = ["HostCall", "as_before", "pulled_back"]
