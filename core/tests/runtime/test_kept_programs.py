"""What compiled programs take in memory has a bound in bytes, and those that are used stay."""

import gc

import pytest
from rabbet.runtime.caching.shared_programs import LEAST_BYTES, Kept, Loaded, Shared, estimate

pytestmark = pytest.mark.exhaustive

MOST = 1000


class Functions:
    """Functions by name that keep their programs, of 100 bytes each, as long as nothing is forgotten."""

    def __init__(self, most=MOST):
        self.shared, self.compiled, self.programs = Shared(), [], {}
        self.kept = Kept(self.shared, lambda: most)
        self.kept.relieve += [self.programs.clear, self.shared.clear]

    def load(self, name, key):
        self.compiled.append(name)
        loaded = Loaded(object(), "compiler", key, 100)
        self.kept.one_more(loaded)
        return loaded

    def call(self, name):
        if name not in self.programs:
            self.programs[name] = self.shared.get(name, lambda: self.load(name, name))[0]
        return self.programs[name]


def test_programs_stay_within_the_bound():
    functions = Functions()
    for n in range(100):
        functions.call(n)
        assert functions.kept.nbytes() <= MOST + 200  # it looks at each eighth
    assert functions.compiled == list(range(100))


def test_what_is_called_stays():
    functions = Functions()
    for n in range(100):
        functions.call(n)
        functions.call("hot")
        functions.call("warm") if n % 4 == 0 else None
    assert functions.compiled.count("hot") <= 2
    functions.call(99)
    assert functions.compiled.count(99) == 1
    functions.call(0)
    assert functions.compiled.count(0) == 2


def test_programs_that_nobody_uses_are_not_held_for_long():
    functions = Functions()
    for n in range(12):
        functions.call(n)
    assert functions.kept._spared
    functions.programs.clear()
    functions.call("a"), functions.call("b")
    gc.collect()
    assert functions.kept.nbytes() == 200
    functions.kept.release()
    assert not functions.kept._spared


def test_what_users_hold_does_not_make_others_go_again_and_again():
    functions = Functions()
    held = [functions.load("held", None) for _ in range(50)]
    for n in range(40):
        functions.call(n % 4)
    assert len(functions.compiled) - len(held) <= 8
    del held
    for n in range(100):
        functions.call(n)
    assert functions.kept.nbytes() <= MOST + 200


def test_no_bound():
    functions = Functions(most=0)
    for n in range(100):
        functions.call(n)
    assert functions.kept.nbytes() == 100 * 100


@pytest.mark.parametrize(("serialized", "text"), [(7_000, 400), (0, 400)])
def test_an_estimate_is_never_nothing(serialized, text):
    assert LEAST_BYTES < estimate(serialized, text) < estimate(serialized and 10 * serialized, 10 * text)
