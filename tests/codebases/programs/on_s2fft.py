"""a spherical harmonic transform and back"""

# packages: s2fft
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
import s2fft  # noqa: E402

L = 4
rng = np.random.default_rng(0)
flm = s2fft.utils.signal_generator.generate_flm(rng, L, reality=False)
f = s2fft.inverse_jax(flm, L)
back = s2fft.forward_jax(f, L)
print(float(abs(f).sum()), float(abs(back - flm).max() < 1e-9))
