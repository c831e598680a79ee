"""The address that a process tells the others, in networks that are made up."""

import ipaddress

import pytest

api = pytest.importorskip("rabbet_distributed.api")


@pytest.mark.parametrize(
    ("host", "ways", "own"),
    [
        ("127.0.0.1", {"127.0.0.1": "127.0.0.1"}, "127.0.0.1"),
        ("localhost", {"localhost": "127.0.0.1", api.ELSEWHERE: "10.0.0.7"}, "127.0.0.1"),
        ("::1", {"::1": "::1", api.ELSEWHERE: "10.0.0.7"}, "::1"),
        ("head", {"head": "10.0.0.7"}, "10.0.0.7"),
        ("head", {"head": "127.0.1.1", api.ELSEWHERE: "10.0.0.7"}, "10.0.0.7"),  # its own name, in /etc/hosts
        ("head", {"head": "127.0.1.1", api.ELSEWHERE_6: "fd00::7"}, "fd00::7"),
        ("head", {"head": "127.0.1.1"}, "127.0.1.1"),  # a machine without a network
    ],
)
def test_the_address_that_others_reach(monkeypatch, host, ways, own):
    def way_to(there, port):
        return ipaddress.ip_address(ways[there]) if there in ways else None

    monkeypatch.setattr(api, "way_to", way_to)
    assert api.own_address(host, 4321) == own


def test_the_way_to_this_machine():
    assert api.way_to("127.0.0.1", 1).is_loopback and api.own_address("127.0.0.1", 1) == "127.0.0.1"
    with pytest.raises(OSError):
        api.way_to("no-such-host.invalid", 1)
