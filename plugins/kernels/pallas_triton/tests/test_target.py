"""The package is found as a writer of kernels; what it writes is tried in tests/kernels and tests/aot."""

from importlib.metadata import entry_points

from rabbet.experimental.pallas.targets import Target


def test_it_is_found_as_a_target():
    (entry,) = entry_points(group="rabbet.pallas_targets", name="triton")
    target = entry.load()
    assert isinstance(target, Target)
    assert (target.name, target.platform) == ("triton", "cuda")
    assert target.doc
