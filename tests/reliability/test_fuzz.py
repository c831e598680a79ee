"""Random programs run in several ways that must agree: few here, thousands by ``tools/check/fuzz``."""

import shutil
from pathlib import Path

import pytest

pytestmark = [pytest.mark.exhaustive, pytest.mark.needs("cpu", "jit", "numpy", "grad", "vmap", "nn")]

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "check"
BATCHES, EACH = 8, 4


@pytest.fixture
def fuzz(monkeypatch):
    """The modules of ``tools/check/fuzz``, and the settings of the process as they were."""
    rb = pytest.importorskip("rabbet")
    pytest.importorskip("rabbet_special")

    monkeypatch.syspath_prepend(str(TOOLS))
    from fuzz import programs, reduction, ways

    with rb.config.override(disable_most_optimizations=True):
        yield programs, reduction, ways


@pytest.mark.parametrize("batch", range(BATCHES))
def test_programs_agree_in_all_ways(fuzz, batch):
    programs, _, ways = fuzz
    for number in range(batch * EACH, (batch + 1) * EACH):
        text = programs.source(number)
        try:
            ways.compare(text, ways.chosen(text, number, with_jax=False))
        except ways.NoProgram:
            pass
        except Exception as error:
            error.add_note(f"python tools/check/fuzz --program {number} makes it small")
            raise


@pytest.mark.exhaustive  # 20 s: so many programs are traced in the time in which a few dozen are compiled
@pytest.mark.parametrize("batch", range(10))
def test_a_thousand_programs_and_their_transformations_are_well_formed(fuzz, batch):
    programs, _, ways = fuzz
    for number in range(batch * 100, (batch + 1) * 100):
        text = programs.source(number)
        try:
            ways.trace(text)
        except ways.NoProgram:
            pass
        except Exception as error:
            error.add_note(f"python tools/check/fuzz --program {number} shows it")
            raise


def test_tracing_finds_types_that_are_not_kept(fuzz):
    _, _, ways = fuzz
    ways.trace(PLANTED.replace("FAULT(v5)", "v5"))
    seen = "FAULTS.append(0) or (v5 if len(FAULTS) % 2 else v5.astype('int32'))"
    with pytest.raises(ways.Disagreement, match="result 1 is float32"):
        ways.trace("FAULTS = []\n" + PLANTED.replace("FAULT(v5)", f"({seen})"))


def test_a_number_gives_the_same_program_and_programs_differ(fuzz):
    programs, _, _ = fuzz
    texts = [programs.source(number) for number in range(20)]
    assert texts == [programs.source(number) for number in range(20)] and len(set(texts)) == 20
    for word in (
        "lax.scan",
        "lax.cond",
        "rb.vmap",
        "rb.grad",
        "rb.custom_vjp",
        "rb.checkpoint",
        "while_loop",
    ):
        assert any(word in programs.source(number) for number in range(100)), word


PLANTED = """WIDE, SMOOTH = False, True
ARGUMENTS = lambda np: (np.array([1.0, 2.0], 'float32'),)

def program(rb, fnp, lax, np, row):
  def f(x0):
    x0 = fnp.asarray(x0)
    v1 = fnp.sum(x0)
    def g2(p3):
        v4 = p3 * 2.0
        return v4
    v5 = rb.vmap(g2)(x0)
    v6 = FAULT(v5)
    v7 = lax.sin(v1)
    return v7, v6, v5
  return f
"""


def test_a_fault_is_found_and_its_program_made_small(fuzz):
    _, reduction, ways = fuzz
    # A result that depends on whether it is traced, as no result may.
    text = PLANTED.replace("FAULT(v5)", "v5 * (2.0 if type(v5).__name__ == 'Array' else 3.0)")

    def fails(text):
        try:
            ways.compare(text, ["eager", "jitted"])
        except ways.Disagreement:
            return True
        except Exception:
            return False
        return False

    assert fails(text) and not fails(PLANTED.replace("FAULT(v5)", "v5 * 2.0"))
    small = reduction.reduced(text, fails)
    assert fails(small) and "__name__" in small
    assert "sin" not in small and "vmap" not in small and len(small.splitlines()) < 10


def test_results_are_compared_by_type_and_number(fuzz):
    import numpy as np

    _, _, ways = fuzz
    one = np.float32([1.0, 2.0])
    ways.agree(one, one + np.float32(1e-6), wide=False)
    for other in (one + np.float32(0.1), one.astype("f8"), one[:1], one * np.nan, (one, one)):
        with pytest.raises(ways.Disagreement):
            ways.agree(one, other, wide=False)


COMMANDS = "cache,check,explain,new-plugin,passes,plan,plugins,store"


@pytest.mark.parametrize("first", [0, 1000])
def test_command_lines_end_with_a_sentence(fuzz, capsys, first):
    for package in ("rabbet_cli", "rabbet_plan", "rabbet_store", "rabbet_jax"):
        pytest.importorskip(package)
    from fuzz import command_lines

    assert command_lines.main(["--only", COMMANDS, "--from", str(first), "--count", "40"]) == 0, (
        capsys.readouterr()
    )


def test_settings_take_or_refuse_odd_values(fuzz):
    from fuzz import environments

    faults, outcomes = environments.settings_tried(count=1)
    assert not faults and outcomes["refused"] > 1000 and outcomes["taken"] > 500


def test_changed_entries_of_the_cache_are_compiled_again(fuzz, capsys):
    from fuzz import cache_entries

    count = 2 * len(cache_entries.WAYS)  # each in a folder of one's own and in a shared one
    assert cache_entries.main(["--count", str(count)]) == 0, capsys.readouterr()


def test_tasks_of_several_kinds_get_their_values(fuzz, capsys):
    from fuzz import tasks

    assert tasks.main(["--count", "2"]) == 0, capsys.readouterr()


def test_a_profile_server_stands_what_it_is_sent(fuzz, capsys):
    pytest.importorskip("rabbet.profiler")
    from fuzz import profile_server

    assert profile_server.main(["--count", "20"]) == 0, capsys.readouterr()


def test_odd_arguments_of_planning_are_refused_or_make_sense(fuzz, capsys):
    pytest.importorskip("rabbet_plan")
    from fuzz import plan_inputs

    assert plan_inputs.main(["--count", "60"]) == 0, capsys.readouterr()
    assert "60 calls, 0 faults" in capsys.readouterr().out


def test_changed_exports_are_refused_or_compute(fuzz, capsys):
    pytest.importorskip("rabbet.export")
    from fuzz import exported_programs

    assert exported_programs.main(["--count", "12"]) == 0, capsys.readouterr()
    assert "12 programs, 0 faults" in capsys.readouterr().out


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a compiler of C++")
def test_hostile_libraries_and_odd_calls_of_them(fuzz, capsys):
    pytest.importorskip("rabbet.ffi")
    from fuzz import foreign_functions

    assert foreign_functions.main(["--count", "16"]) == 0, capsys.readouterr()
    assert "16 calls, 0 faults" in capsys.readouterr().out
