"""At most so many programs are under way on several devices, where jaxlib needs that."""

from types import SimpleNamespace

from rabbet.runtime import adapter, bounds


class Token:
    """Of a program: waited for, or not."""

    waited = False

    def block_until_ready(self):
        self.waited = True


class Client:
    """What a group of devices belongs to."""


def test_the_oldest_is_waited_for(monkeypatch):
    monkeypatch.setattr(adapter, "STARVES", True)
    made = []

    def execute(raws, with_tokens):
        token = Token()
        made.append(token)
        return SimpleNamespace(consume_token=lambda: token)

    client = Client()
    run = bounds.bounded(execute, SimpleNamespace(platform="cpu", client=client))
    for _ in range(40):
        run([])
        waited = [t.waited for t in made]
        assert waited.count(False) <= bounds.MOST_UNDER_WAY
        assert waited == sorted(waited, reverse=True)  # the oldest
        assert waited.count(False) >= min(len(made), bounds.MOST_UNDER_WAY - bounds.AT_ONCE)
    assert any(waited)
    assert bounds.bounded(execute, SimpleNamespace(platform="cuda", client=client)) is execute
    monkeypatch.setattr(adapter, "STARVES", False)
    assert bounds.bounded(execute, SimpleNamespace(platform="cpu", client=client)) is execute
