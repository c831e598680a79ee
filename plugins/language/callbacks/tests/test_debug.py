"""rabbet.debug: what is printed, what the prompt does, and what is refused."""

import io
import logging

import numpy as np
import pytest
import rabbet as rb
from rabbet import debug

from . import programs

XS = np.arange(3, dtype="f4")


# --------------------------------------------------------------------------------------------------- print
@pytest.mark.parametrize("under", [lambda f: f, programs.jit])
def test_values_are_printed_where_the_program_gets_there(capsys, under):
    def f(x):
        debug.print(
            "x is {}, its half {half:.2f}, {note} {shape}", x, half=x[1] / 3.0, note="so", shape=x.shape
        )
        return x + 1.0

    under(f)(XS)
    assert capsys.readouterr().out == "x is [0. 1. 2.], its half 0.33, so (3,)\n"


@pytest.mark.needs("grad")
def test_what_the_backward_pass_computes_again_is_not_printed_again(capsys):
    @rb.checkpoint
    def f(x):
        y = rb.lax.sin(x)
        debug.print("y is {:.2f}", y)
        return rb.lax.sin(y)

    rb.grad(f)(1.0)
    assert capsys.readouterr().out == "y is 0.84\n"


def test_fields_of_pytrees_and_conversions(capsys):
    debug.print("{0[k]} {1.x!r} {{}}", {"k": XS}, np.float32(2) and type("P", (), {"x": 3})())
    assert capsys.readouterr().out == "[0. 1. 2.] 3 {}\n"


def test_arrays_are_printed_as_numpy_is_set_where_the_program_is_traced(capsys):
    with np.printoptions(precision=2):
        f = lambda x: debug.print("{}", x)
        programs.jit(lambda x: (f(x), [])[1])(XS / 3)
    assert capsys.readouterr().out == "[0.   0.33 0.67]\n"


def test_log_goes_to_the_logger(caplog):
    with caplog.at_level(logging.INFO, "rabbet"):
        debug.log("value {}", 1.5)
    assert caplog.messages == ["value 1.5"]


@pytest.mark.parametrize(
    "args, kwargs, error, message",
    [
        (("{x}", 1), {}, KeyError, "'{x}' asks for x, given are 0"),
        (("{} {}", 1), {}, IndexError, "asks for more positional arguments, given are 0"),
        (("{}", 1, 2), {}, ValueError, r"does not use the positional arguments \[1\].*not an f-string"),
        (("x",), {"y": 1}, ValueError, r"does not use the arguments \['y'\]"),
        (("{",), {}, ValueError, "is not a format string: .*write {{ and }} for braces"),
        ((1.0,), {}, TypeError, "debug.print takes a format string first, got float: 1.0"),
    ],
)
def test_a_format_that_does_not_fit_is_refused_while_tracing(args, kwargs, error, message):
    with pytest.raises(error, match=message):
        debug.print(*args, **kwargs)


def test_the_check_can_be_skipped(capsys):
    debug.print("{}", 1, 2, skip_format_check=True)
    assert capsys.readouterr().out == "1\n"


# ------------------------------------------------------------------------------------------------ callback
def test_callbacks_get_arrays_and_what_else_they_were_given():
    seen = []
    f = programs.jit(
        lambda x: (debug.callback(lambda *a, **k: seen.append((a, k)), x, "s", k=None, n=[x, len]), [])[1]
    )
    f(XS)
    rb.effects_barrier()
    ((x, s), rest) = seen[0]
    assert type(x) is rb.Array and x.tolist() == [0, 1, 2] and s == "s"
    assert rest["k"] is None and rest["n"][0].tolist() == [0, 1, 2] and rest["n"][1] is len


def test_the_sharding_of_an_array():
    seen = []
    programs.jit(lambda x: (debug.inspect_array_sharding(x, callback=seen.append), [])[1])(XS)
    assert "Cpu" in str(seen[0]) or "cpu" in str(seen[0])


# ---------------------------------------------------------------------------------------------- breakpoint
def prompted(commands, under=programs.jit, x=2.0):
    out = io.StringIO()

    def outer(x):
        y = x * 3.0
        return inner(y)

    def inner(z):
        note = "local"
        debug.breakpoint(stdin=io.StringIO(commands), stdout=out)
        return z if note else None

    under(outer)(np.float32(x))
    rb.effects_barrier()
    return out.getvalue()


@pytest.mark.parametrize("under", [lambda f: f, programs.jit])
def test_the_prompt_shows_the_values_of_the_running_functions(under):
    text = prompted("p z\nz + 1\nnote\nu\np y\nd\np note\nc\n", under)
    assert "test_debug.py" in text.splitlines()[0] and "in inner" in text.splitlines()[0]
    for value in ("6.", "7.", "'local'"):
        assert value in text
    assert text.count("6.") == 2


def test_other_commands():
    text = prompted("w\nl\na\npp note\nu\nd\nd\nnonsense\nhelp\n\nc\n")
    assert "> " in text and "in outer" in text
    assert "->" in text and "debug.breakpoint(" in text
    assert "note = 'local'" in text
    assert "*** newest frame" in text and "*** NameError" in text and "Documented commands" in text


def test_quitting_ends_the_program():
    from rabbet.debug.prompt import Quit

    with pytest.raises(Quit, match="at a breakpoint"):
        prompted("q\n")


def test_the_end_of_the_input_lets_the_program_go_on():
    assert prompted("p z\n").count("Array(6") == 1


def test_arguments_of_breakpoint():
    with pytest.raises(ValueError, match="backend is None or 'cli', got 'web'"):
        debug.breakpoint(backend="web")
    with pytest.raises(TypeError, match="stdin and stdout for its prompt, got colour"):
        debug.breakpoint(colour=True)
    out = io.StringIO()
    debug.breakpoint(num_frames=1, stdin=io.StringIO("u\nc\n"), stdout=out)
    assert "*** oldest frame" in out.getvalue()


def test_options_first(capsys):
    debug.print(ordered=True)("x is {}", np.float32(1))
    seen = []
    debug.callback(ordered=True)(seen.append, np.float32(2))
    rb.effects_barrier()
    assert capsys.readouterr().out == "x is 1.0\n" and [float(x) for x in seen] == [2]
    with pytest.raises(TypeError, match=r"debug\.print takes a format string first"):
        debug.print(x=1)


@pytest.mark.needs("jit")
def test_nothing_is_written_where_there_is_no_stdout(monkeypatch):
    """Python has none where the stream was closed before it began; its own `print` writes nothing then."""
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", None)
        assert rb.jit(lambda x: rb.debug.print("{}", x) or x + 1)(1.0) == 2.0
        rb.effects_barrier()
