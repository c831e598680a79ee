"""Capsules of compiled functions: what is in one is looked at before the compiler trusts it."""

import ctypes
import os

NAME = b"xla._CUSTOM_CALL_TARGET"  # capsules keep the pointer: these bytes live as long as this module
STAGES = ("instantiate", "prepare", "initialize", "execute")
TYPE_PARTS = ("type_id", "type_info")
MAPS = "/proc/self/maps"


def make(pointer):
    """A capsule of an address."""
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(("PyCapsule_New", ctypes.pythonapi))(pointer, NAME, None)


def pointer_of(capsule, name, who):
    """The address in a capsule of a function: it has XLA's name, or none, as C++ libraries make them."""
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(
            f"{who}: {name!r} needs a capsule, as pycapsule(library.Function) makes it, "
            f"got {type(capsule).__name__}"
        )
    named = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    within = named(capsule)
    if within not in (NAME, None, b""):
        shown = within.decode("utf-8", "replace")
        raise TypeError(
            f"{who}: {name!r} needs a capsule of a function, as pycapsule(library.Function) makes it, got "
            f"one of {shown!r}"
        )
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return get(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, within)


def function_of(capsule, name, who):
    """The address in a capsule, at which there has to be code of this process."""
    address = pointer_of(capsule, name, who)
    if is_code(address) is False:
        raise ValueError(
            f"{who}: {name!r}: at the address {address:#x} is no code of this process; is the library still "
            "loaded, and is it a function and not data?"
        )
    return address


def is_code(address):
    """Whether an address can be run; None where the system does not tell."""
    if not os.access(MAPS, os.R_OK):
        return None
    with open(MAPS, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            span, rights = line.split()[:2]
            first, _, end = span.partition("-")
            if int(first, 16) <= address < int(end, 16):
                return "x" in rights
    return False


def check_name(name, who):
    """Refuse what the compiler cannot find again."""
    if not isinstance(name, str):
        raise TypeError(f"{who}: a name is a str, got {type(name).__name__} {name!r:.60}")
    if not name or "\0" in name:
        raise ValueError(f"{who}: a name has at least one character and no null character, got {name!r:.60}")


def check_stages(name, stages, api_version):
    """Refuse a dict of stages that the compiler would refuse later, where its first client is made."""
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown or "execute" not in stages:
        problem = f"has no stage {unknown[0]!r}" if unknown else "needs the stage 'execute'"
        raise ValueError(
            f"register_ffi_target: {name!r} {problem}; the stages are {', '.join(map(repr, STAGES))}"
        )
    if api_version != 1:
        raise ValueError(f"register_ffi_target: {name!r} has stages, which api_version=1 alone has")


def check_type(name, parts, who):
    """Refuse what describes no type."""
    check_name(name, who)
    if not isinstance(parts, dict) or "type_id" not in parts or set(parts) - set(TYPE_PARTS):
        shown = sorted(map(str, parts)) if isinstance(parts, dict) else type(parts).__name__
        raise TypeError(
            f"{who}: {name!r} needs a dict with a capsule 'type_id' and, where there is one, 'type_info', "
            f"got {shown}"
        )
    for capsule in parts.values():
        pointer_of(capsule, name, who)
