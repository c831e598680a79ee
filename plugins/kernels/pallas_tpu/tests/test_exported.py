"""Programs with kernels for TPUs are exported in the form that outlives releases of libtpu."""

import base64
import json
import re

import pytest
import rabbet as rb

pytest.importorskip("rabbet.experimental.pallas")
export = pytest.importorskip("rabbet.export")

from rabbet.experimental import pallas as pl  # noqa: E402 - only where it is installed
from rabbet_pallas_tpu.target import versioned  # noqa: E402

pytestmark = pytest.mark.needs("jit", "tpu")
SHAPE = rb.ShapeDtypeStruct((16, 128), "float32")


def doubled(x):
    def kernel(x, out):
        out[...] = x[...] * 2.0

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, SHAPE, grid=2, in_specs=[block], out_specs=block)(x)


def config_of(text):
    found = re.search(r'@tpu_custom_call\([^\n]*?backend_config = "([^"]*)"', text)[1]
    return json.loads(found.replace("\\22", '"'))["custom_call_config"]


def test_an_exported_kernel_is_serialized_and_a_compiled_one_is_text():
    exported = export.export(rb.jit(doubled), platforms=["tpu"])(SHAPE)
    config = config_of(str(exported.mlir_module()))
    body = base64.b64decode(config["body"])
    assert config["serialization_format"] == 1
    assert body.startswith(b"ML\xefR") and b"stable_mosaic" in body
    lowered = config_of(rb.jit(doubled).trace(SHAPE).lower(platforms=("tpu",)).as_text())
    assert "serialization_format" not in lowered
    assert base64.b64decode(lowered["body"]).startswith(b"module")


def test_what_is_read_back_is_called_as_it_is():
    blob = export.export(rb.jit(doubled), platforms=["tpu"])(SHAPE).serialize()
    again = rb.jit(export.deserialize(blob).call).trace(SHAPE).lower(platforms=("tpu",)).as_text()
    assert config_of(again)["serialization_format"] == 1
    twice = export.export(rb.jit(export.deserialize(blob).call), platforms=["tpu"])(SHAPE)
    assert config_of(str(twice.mlir_module())) == config_of(again)


def test_other_settings_of_the_call_stay():
    text = "module { func.func @kernel() { return } }"
    body = base64.b64encode(text.encode()).decode()
    config = {"body": body, "needs_layout_passes": True, "collective_id": 3}
    found = json.loads(versioned(json.dumps({"custom_call_config": config})))["custom_call_config"]
    assert found["collective_id"] == 3 and found["needs_layout_passes"] is True
