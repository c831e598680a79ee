"""The target ``tpu``: a kernel becomes a custom call that holds its text."""

import base64
import json
import re

from rabbet import lax
from rabbet.experimental.pallas import tpu
from rabbet.experimental.pallas.targets import Target
from rabbet.extend.native import NativeCalls
from rabbet.extend.rules import versioned_mosaic

from rabbet_pallas_tpu import kernel, limits, memrefs

CALL = "tpu_custom_call"


def write(site, call, names):
    """Write the call of a kernel; the names of its results."""
    params = call.params if isinstance(call.params, tpu.CompilerParams) else tpu.CompilerParams()
    limits.check(call, params)
    if 0 in call.grid:
        undefined = lambda *_: [lax.full(b.array.shape, 0, b.array.dtype) for b in call.outs]
        return site.write(undefined, site.in_avals, names)
    name = re.sub(r"\W", "_", call.name, flags=re.ASCII) or "kernel"
    text = kernel.module(call, name)
    first = call.computed + len(call.prefetch)
    aliases = {first + operand: result for operand, result in call.aliases}
    effect = params.has_side_effects
    properties: dict[str, object] = {"kernel_name": name.encode()}
    if effect not in (False, tpu.SideEffectType.PURE):
        properties["has_side_effect"] = True
    types, results = list(call.operands), [b.array for b in call.outs]
    held, made = [[*map(memrefs.in_memory, avals)] for avals in (types, results)]
    outs = site.custom_call(
        CALL, converted(site, types, names, held), made, in_avals=held, aliases=aliases,
        config=json.dumps({"custom_call_config": settings(call, params, text)}), properties=properties,
    )  # fmt: skip
    return converted(site, made, outs, results)


def converted(site, types, names, wanted):
    """Names of arrays of other types: truth values as kernels hold them, or back."""
    dtypes = [a.dtype for a in wanted]
    if [a.dtype for a in types] == dtypes:
        return names
    return site.write(lambda *xs: [*map(lax.convert_element_type, xs, dtypes)], types, names)


def settings(call, params, text):
    """What the compiler is told of a kernel."""
    body = base64.b64encode(text.encode()).decode()
    found = {"body": body, "needs_layout_passes": bool(params.needs_layout_passes)}
    if call.cost is not None:
        cost = call.cost
        found["cost_estimate"] = {
            "flops": int(cost.flops), "transcendentals": int(cost.transcendentals),
            "bytes_accessed": int(cost.bytes_accessed),
        }  # fmt: skip
    if params.vmem_limit_bytes is not None:
        found["scoped_memory_configs"] = [{"memory_space": 1, "offset": 0, "size": params.vmem_limit_bytes}]
    for name in ("collective_id", "internal_scratch_in_bytes"):
        if getattr(params, name) is not None:
            found[name] = getattr(params, name)
    for name in ("disable_bounds_checks", "disable_semaphore_checks", "skip_device_barrier"):
        if getattr(params, name):
            found[name] = True
    if params.allow_input_fusion is not None:
        found["allow_input_fusion"] = [bool(x) for x in params.allow_input_fusion]
    return found


def versioned(config):
    """The call of a kernel for programs that are exported: its text in the dialect that has versions."""
    known = json.loads(config)
    call = known["custom_call_config"]
    if "serialization_format" not in call:
        body = versioned_mosaic(base64.b64decode(call["body"]).decode())
        call |= {"body": base64.b64encode(body).decode(), "serialization_format": 1}
    return json.dumps(known)


CALLS = NativeCalls("pallas-tpu", (CALL,), stable=versioned)

TARGET = Target(
    "tpu",
    platform="tpu",
    params=tpu.CompilerParams,
    write=write,
    doc="kernels for TPUs, as text that libtpu takes",
)

__all__ = ["CALLS", "TARGET", "write"]
