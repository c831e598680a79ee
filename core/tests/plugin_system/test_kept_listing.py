"""The list of what is installed that one process keeps for the next."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import stevedore
from rabbet.plugins import discovery, listing_cache


def install(folder, name, lines="[rabbet.api]\nf = os.path:join\n", metadata=""):
    """An installed package with entry points."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n{metadata}")
    (info / "entry_points.txt").write_text(lines)
    return info


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder with one package and one without, which Python imports from, and a cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("packages", "plain"):
        (tmp_path / name).mkdir()
    install(tmp_path / "packages", "my-dist", metadata="Requires-Dist: rabbet-core>=0.1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "plain"), str(tmp_path / "packages"), *sys.path])
    monkeypatch.setattr(discovery, "_kept", {})
    monkeypatch.setattr(stevedore.ExtensionManager, "ENTRY_POINT_CACHE", {})  # of this process
    return tmp_path


def keep():
    listing_cache.keep(lambda: {group: discovery.scan(group) for group in discovery.GROUPS}, discovery.owner)


def mine(group="rabbet.api"):
    kept = listing_cache.read()
    return kept and [point for point in kept[group] if point.dist.name == "my-dist"]


def test_what_was_kept_is_what_is_installed(site):
    assert listing_cache.read() is None
    keep()
    kept = listing_cache.read()
    for group in discovery.GROUPS:
        installed = [(*discovery.key(one), one.dist.name, one.dist.version) for one in discovery.scan(group)]
        found = [(*discovery.key(one), one.dist.name, one.dist.version) for one in kept[group]]
        assert sorted(found) == sorted(installed)
    (point,) = mine()
    assert point.load() is os.path.join and point.dist.requires == ["rabbet-core>=0.1"]
    assert point.dist.entry_points == [point] and discovery.owner(point) is point.dist
    assert discovery.unmet_requirement(point.dist, "0.1") is None
    assert discovery.unmet_requirement(point.dist, "0.0.9") == "rabbet-core>=0.1"


def test_the_manager_s_list_comes_from_it(site):
    (before,) = [one for one in discovery.cached("rabbet.api") if one.name == "f"]
    discovery._kept.clear()  # as in another process
    (after,) = [one for one in discovery.cached("rabbet.api") if one.name == "f"]
    assert discovery.key(before) == discovery.key(after) and type(after) is listing_cache.Point


def another_package(site):
    install(site / "packages", "other")


def a_package_where_there_was_none(site):
    install(site / "plain", "other")


def a_package_less(site):
    (site / "packages" / "my-dist-1.2.dist-info").rename(site / "elsewhere")


def other_entry_points(site):
    declared = site / "packages" / "my-dist-1.2.dist-info" / "entry_points.txt"
    declared.write_text("[rabbet.api]\ng = os.path:join\n")
    os.utime(declared, ns=(0, 0))


def another_order(site):
    sys.path[:2] = sys.path[1::-1]
    install(site / "plain", "other")


def a_folder_less(site):
    sys.path.remove(str(site / "packages"))


@pytest.mark.parametrize(
    "change",
    [another_package, a_package_where_there_was_none, a_package_less, other_entry_points, another_order,
     a_folder_less],
)  # fmt: skip
def test_it_counts_no_more_after(change, site):
    keep()
    assert listing_cache.read()
    change(site)
    assert listing_cache.read() is None


def test_other_changes_mean_nothing(site):
    keep()
    (site / "plain" / "results.txt").write_text("1")
    os.utime(site / "plain", ns=(0, 0))
    sys.path.insert(0, str(site))  # another script's folder
    sys.path.append(str(site / "nowhere"))
    assert mine()


@pytest.mark.parametrize("content", [b"", b"{}", b"[1, 2]", b'{"made by": null}', b"\xff", b'"text"'])
def test_garbage_is_as_nothing(content, site):
    keep()
    (file,) = (site / "cache" / "rabbet" / "installed").iterdir()
    file.write_bytes(content)
    assert listing_cache.read() is None
    assert any(one.name == "f" for one in discovery.cached("rabbet.api"))
    assert mine()  # it was written anew


def test_a_value_of_another_type_within_is_as_nothing(site):
    keep()
    (file,) = (site / "cache" / "rabbet" / "installed").iterdir()
    kept = json.loads(file.read_bytes())
    for name in kept:
        for value in (7, "text", [7], [[7]], {"x": 7}):
            file.write_text(json.dumps(kept | {name: value}))
            assert not listing_cache.read() or name == "plain"


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_a_file_that_others_may_write_to_is_not_read(site):
    keep()
    (file,) = (site / "cache" / "rabbet" / "installed").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    assert listing_cache.read() is None
    file.unlink()
    os.mkfifo(file)
    assert listing_cache.read() is None


def test_where_metadata_cannot_be_read_nobody_tries_to_keep_it_again(site, monkeypatch):
    (install(site / "packages", "bad") / "entry_points.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        discovery._tell_of.cache_clear()
        found = discovery.cached("rabbet.api")
    assert any(one.name == "f" for one in found)
    assert listing_cache.read() == listing_cache.UNREADABLE
    discovery._kept.clear()
    monkeypatch.setattr(listing_cache, "keep", None)
    assert any(one.name == "f" for one in discovery.cached("rabbet.api"))


def test_nothing_is_kept_where_settings_or_other_finders_say_so(site, monkeypatch):
    class Finder:
        def find_spec(self, *args):
            return None

        def find_distributions(self, context):
            return []

    with monkeypatch.context() as patch:
        patch.setenv("RABBET_CACHE", "off")
        keep()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
        keep()
    (site / "cache").write_text("a file in the place of the folder")
    keep()
    assert listing_cache.read() is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no alarm")
@pytest.mark.parametrize("name", ["_are_as_they_were", "_found", "_remove_oldest"])
def test_an_exception_of_a_signal_handler_goes_on(name, site, monkeypatch):
    """Which may be of any class: ``TimeoutError`` is an ``OSError``."""

    def handler(number, frame):
        raise TimeoutError("enough")

    def wait(*args):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(30)

    keep()
    monkeypatch.setattr(listing_cache, name, wait)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError, match="enough"):
            listing_cache.read()
            keep()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_oldest_lists_go(site, monkeypatch):
    monkeypatch.setattr(listing_cache, "MOST", 2)
    for number in range(4):
        monkeypatch.setenv("PYTHONPATH", str(number))
        keep()
    assert len(list((site / "cache" / "rabbet" / "installed").iterdir())) == 2
    assert mine()


def test_a_second_process_reads_no_metadata(site, monkeypatch):
    monkeypatch.setenv("RABBET_PLATFORMS", "cpu")  # others read the version of a library
    code = (
        "import sys; from rabbet import lax; lax.add(1.0, 2.0);"
        "print('importlib.metadata' in sys.modules, 'stevedore' in sys.modules)"
    )
    ran = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(2)]
    assert [one.stdout.split() for one in ran] == [[b"True", b"True"], [b"False", b"False"]]
