"""Tests use parts of the package without ``import jax``, which gives Rabbet's classes JAX's words."""

import pytest

second_names = pytest.importorskip("rabbet_jax.second_names")


@pytest.fixture(autouse=True, scope="session")
def words():
    second_names.take_second_names()
