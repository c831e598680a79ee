"""How the exceptions of callbacks travel past jaxlib, which would make text of them."""

import gc
import weakref

import pytest
from rabbet.runtime.arrays import callback_errors
from rabbet.runtime.jaxlib import adapter


def test_exceptions_whose_text_never_arrives_are_dropped():
    first = ValueError("first")
    text = str(callback_errors.put_aside(first))
    assert callback_errors.original(adapter.XlaRuntimeError(f"INTERNAL: {text} and more")) is first
    for i in range(callback_errors.MOST_WAITING):
        callback_errors.put_aside(ValueError(i))
    assert callback_errors.original(adapter.XlaRuntimeError(text)) is None
    assert callback_errors.original(adapter.XlaRuntimeError("INTERNAL: something else")) is None


def test_a_result_that_is_read_later_raises_what_the_callback_raised():
    boom = ValueError("late")

    def late():
        raise adapter.XlaRuntimeError(f"INTERNAL: {callback_errors.put_aside(boom)}")

    with pytest.raises(ValueError) as caught:
        callback_errors.translated(late)
    assert caught.value is boom and boom.__context__ is None


class TwoParts(Exception):
    def __init__(self, what, where):
        super().__init__(f"{what} at {where}")


@pytest.mark.parametrize("error", [ValueError("boom"), TwoParts("boom", 3), OSError(2, "boom")], ids=repr)
def test_what_was_told_keeps_no_frames_alive(error):
    class Held:
        pass

    def callback(held):
        raise error

    held = Held()
    try:
        callback(held)
    except Exception as caught:
        text = f"INTERNAL: {callback_errors.put_aside(caught)}"
    alive, message = weakref.ref(held), str(error)
    assert callback_errors.original(adapter.XlaRuntimeError(text)) is error
    again = callback_errors.original(adapter.XlaRuntimeError(text))  # of a result that is read twice
    assert type(again) is type(error) and str(again) == message and again.__traceback__ is None
    del held
    error.__traceback__ = None
    gc.collect()
    assert alive() is None
