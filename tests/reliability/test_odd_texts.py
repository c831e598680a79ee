"""Names that are no plain text, files in other encodings than the locale's, objects with any attribute."""

from unittest import mock

import pytest
import rabbet as rb
import rabbet.numpy as rnp

C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.needs("jit", "numpy", "safetensors")
def test_text_is_written_and_read_as_utf8_whatever_the_locale_is(child):
    said = child(  # the name of the program's file is Latin-1, and so no UTF-8
        """
        name = "gr\\u00f6\\u00dfe"
        space = {"rnp": rnp}
        exec(compile(f"def {name}(x):\\n    return rnp.sin(x) * 2", "mo\\udce9\\n\\t\\"l.py", "exec"), space)

        import json, locale, os
        assert "UTF" not in locale.getpreferredencoding().upper()
        with rb.config.override(dump_ir_to="dumps", dump_ir_modes=("jaxpr", "stablehlo")):
            print(float(rb.jit(space[name])(0.0)))
        print(len(os.listdir("dumps")))
        import rabbet.safetensors as st
        st.save({name: np.ones(2, "float32")}, "a.safetensors")
        with open("m.safetensors.index.json", "w", encoding="utf-8") as file:
            json.dump({"weight_map": {name: "a.safetensors"}}, file, ensure_ascii=False)
        print(*map(ascii, st.load("m.safetensors.index.json")))
        """,
        **C_LOCALE,
    )
    assert said.split() == ["0.0", "2", r"'gr\xf6\xdfe'"]


@pytest.mark.needs("jit", "numpy")
def test_no_file_is_opened_in_the_encoding_of_the_locale(child):
    child(
        """
        def f(x):
            return rnp.sin(x) @ x.T
        rb.jit(f)(rnp.ones((2, 3)))
        """,
        PYTHONWARNDEFAULTENCODING="1",
        PYTHONWARNINGS="error::EncodingWarning",
    )


@pytest.mark.needs("jit", "numpy")
def test_names_that_are_no_text_can_be_compiled():
    for name in ("a\nb", "a\0b", "\udce9", "ö", "\u2028\x85", 'a"b\\', ""):
        space = {"rnp": rnp}
        file = f"{name}.py".replace("\0", "")
        exec(compile("def f(x):\n    return rnp.cos(x) * 2", file, "exec"), space)
        f = space["f"]
        f.__name__ = f.__qualname__ = name

        def within(x, f=f, name=name):
            with rb.named_scope(name):
                return f(x) + 1

        assert float(rb.jit(f)(0.0)) == 2 and float(rb.jit(within)(0.0)) == 3, ascii(name)


@pytest.mark.needs("jit", "grad", "vmap", "numpy")
def test_objects_with_odd_attributes_may_be_called():
    class Anything:
        def __getattr__(self, name):
            if name in ("__wrapped__", "__code__", "__name__", "__qualname__", "func"):
                return 3
            raise AttributeError(name)

        def __call__(self, x):
            return x + 1

    assert float(rb.jit(Anything())(1.0)) == 2 and float(rb.grad(Anything())(1.0)) == 1
    stand_in = mock.Mock(return_value=3.0)
    assert float(rb.jit(stand_in)(1.0)) == 3 and rb.vmap(stand_in)(rnp.ones(2)).tolist() == [3, 3]
    with pytest.raises(TypeError, match="is not an array: got str"):
        rb.jit(stand_in)("a")


@pytest.mark.needs("numpy")
def test_a_format_for_one_number_and_an_array():
    assert f"{rnp.float32(1.5):.3f}" == "1.500" and f"{rnp.ones(2):>10}" == "   [1. 1.]"
    with pytest.raises(TypeError, match=r"the format '.3f' is for one number, and this is an array f32\[2\]"):
        format(rnp.ones(2), ".3f")
