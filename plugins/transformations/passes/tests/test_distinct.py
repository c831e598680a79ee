"""What a primitive says of itself decides whether equal calls of it are merged, a stranger's too."""

from rabbet.extend.passes import stage
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet_passes.cse import merge_equal

drawn = Primitive("drawn_for_a_test", lambda x: x, kinds=("distinct",), doc="x with new noise at each call")
pure = Primitive("pure_for_a_test", lambda x: x, doc="x")


def test_equal_calls_of_a_distinct_primitive_are_two():
    def two(primitive):
        program = stage(lambda x: [primitive(x), primitive(x)], [ShapedArray((), "float32")], "two").jaxpr
        return len(merge_equal(program).equations)

    assert two(pure) == 1
    assert two(drawn) == 2


