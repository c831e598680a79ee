"""Programs over several processes, as their overseer sees them; the runtime is made up."""

from types import SimpleNamespace

from rabbet.runtime.execution import multi_process


def run_for(monkeypatch, times):
    """What an overseer is told at looks at these times."""
    told = []

    class Overseer(multi_process.Overseer):
        def look(self, group, name, seconds):
            told.append(seconds)

    clock = iter([0.0, *times])
    monkeypatch.setattr(multi_process, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(multi_process.adapter, "hlo_text", lambda exe: "%a = f32[] all-reduce(%b)")
    monkeypatch.setattr(multi_process, "_overseer", Overseer())

    def watched(function, look, every, give_up, note):
        for _ in times:
            look()
        return SimpleNamespace(consume_with_handlers=None)

    monkeypatch.setattr(multi_process.interruptible, "watched", watched)
    lowering = SimpleNamespace(name="step", module=SimpleNamespace(key_text="module"))
    group = SimpleNamespace(is_local=False, local_devices=(0,), platform="cpu")
    multi_process.overseen(None, SimpleNamespace(device=group, lowering=lowering, exe=None))([])
    return told


def test_it_counts_seconds_and_not_looks(monkeypatch):
    assert run_for(monkeypatch, [0.1, 0.2, 1.7, 4.0]) == [0.1, 0.2, 1.7, 4.0]


def test_seconds_in_which_the_process_was_stopped_do_not_count(monkeypatch):
    found = run_for(monkeypatch, [1.0, 2.0, 1002.0, 1003.0])
    assert found == [1.0, 2.0, 2.0 + multi_process.MOST_BETWEEN_LOOKS, 3.0 + multi_process.MOST_BETWEEN_LOOKS]
