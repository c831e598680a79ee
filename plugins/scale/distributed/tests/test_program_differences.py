"""What is said of two programs that differ."""

import pytest

differing = pytest.importorskip("rabbet_distributed.program_differences")

PROGRAM = """module @main {
func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
%c0 = stablehlo.constant dense<2.0> : tensor<3xf32>
%1 = stablehlo.sine %arg0 : tensor<3xf32> loc(#l1)
%2 = stablehlo.multiply %1, %c0 : tensor<3xf32> loc(#l2)
return %2 : tensor<3xf32>
}
}
#l0 = loc("model.py":11:33)
#l1 = loc("jit(main)/sin"(#l0))
#l2 = loc("jit(main)/mul"("model.py":12:5))"""


def test_the_first_operation_and_its_line():
    other = PROGRAM.replace("sine", "cosine").replace("11:33", "14:2").replace("2.0", "2.0")
    assert differing.difference(PROGRAM, other, 0, 3) == (
        "  they differ first in line 4 of their texts:\n"
        "    process 0 has (model.py:11): %1 = stablehlo.sine %arg0 : tensor<3xf32>\n"
        "    process 3 has (model.py:14): %1 = stablehlo.cosine %arg0 : tensor<3xf32>"
    )


def test_constants_have_no_line_and_one_may_be_longer():
    other = PROGRAM.replace("dense<2.0>", "dense<3.0>")
    assert "process 1 has: %c0 = stablehlo.constant dense<3.0>" in differing.difference(PROGRAM, other, 0, 1)
    shorter = PROGRAM[: PROGRAM.index("return")]
    assert differing.difference(PROGRAM, shorter, 0, 1).endswith("process 1 has: nothing more")


def test_lines_alone_are_no_difference():
    assert differing.difference(PROGRAM, PROGRAM.replace("11:33", "99:1"), 0, 1) == ""


def test_packed():
    assert differing.unpacked(differing.packed(PROGRAM)) == PROGRAM
    with pytest.raises(ValueError):
        differing.unpacked("no ~ text of ours \x00")
