"""The version of JAX whose behaviour is tested, and which ``jax.__version__`` therefore says."""

JAX_VERSION = "0.12.0"
