"""PJRT libraries of GPU vendors: which wheel, which version, what is missing, what the client is told."""

from types import SimpleNamespace

import pytest
from rabbet.runtime.platforms import vendor_wheels
from rabbet.runtime.platforms.vendor_wheels import VendorWheels

NOWHERE = ("not_there_of_test", "x.so", "not-there")
HERE = ("rabbet", "dlpack.py", "rabbet-core")


def made(*wheels, **how):
    return VendorWheels("toaster", wheels or (NOWHERE, HERE), sdk="Toast 3", **how)


def test_the_first_wheel_that_is_installed_counts():
    assert made().library().name == "dlpack.py" and made().package() == "rabbet-core"
    assert made(NOWHERE).library() is None and made(NOWHERE).package() == "not-there"


@pytest.mark.parametrize(
    ("behind", "version", "fits"),
    [
        (0, None, True), (0, "0.12.3", True), (0, "0.11.9", False), (0, "0.13.0", False),
        (1, "0.11.9", True), (1, "0.10.0", False),
    ],
)  # fmt: skip
def test_versions_that_go_together(behind, version, fits):
    said = made(behind=behind).fits(version, "0.12.0")
    assert (said is None) == fits
    assert fits or ('"rabbet-core==0.12.*"' in said and f'"jaxlib==0.{version.split(".")[1]}.*"' in said)


def test_what_the_library_needs_is_named(monkeypatch):
    absent = ["a.so", "b.so", "c.so", "d.so", "e.so"]
    monkeypatch.setattr(vendor_wheels, "missing_libraries", lambda path: absent)
    ((label, ok, detail),) = made().checks()
    assert (label, ok) == ("toaster libraries", None)
    assert "Toast 3 is not found" in detail and "a.so, b.so, c.so, d.so and 1 more missing" in detail
    absent.clear()
    assert made().checks() == [("toaster libraries", True, "Toast 3 is found")] and made().missing() is None
    assert made(NOWHERE).checks() == [] and made(NOWHERE).missing() is None


def test_settings_are_parsed():
    memory, visible = made().settings
    assert (memory.name, memory.parse("0.5")) == ("toaster_memory_fraction", 0.5)
    assert visible.parse("0,2") == visible.parse([0, 2]) == (0, 2)
    for wrong in ("2", "0", "-1"):
        with pytest.raises(ValueError, match="between 0 and 1"):
            memory.parse(wrong)


def test_what_the_client_is_told(monkeypatch):
    settings = SimpleNamespace(toaster_devices=(), toaster_memory_fraction=0.25)
    monkeypatch.setattr(vendor_wheels, "config", settings)
    told = made().options()
    assert (told["memory_fraction"], told["preallocate"]) == (0.25, False) and "visible_devices" not in told
    settings.toaster_devices = (1, 3)
    assert made().options()["visible_devices"] == [1, 3]
