"""The persistent cache: keys, whole entries only, trust, room, and many processes at once."""

import os
import stat
import subprocess
import sys
import tempfile
import warnings
import zlib
from types import SimpleNamespace

import pytest
from rabbet.config import config
from rabbet.errors import CacheWarning
from rabbet.runtime.caching import atomic_files, disk_cache
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.compile_options import build_options

BLOB = os.urandom(500) + b"x" * 5000
KEY, OTHER = "a" * 64, "b" * 64
root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="needs to be root")
not_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write anywhere")


@pytest.fixture
def programs(tmp_path):
    return disk_cache.ProgramCache(tmp_path / "programs", 1 << 20)


def file_of(programs, key=KEY):
    return programs.folder / (key + disk_cache.SUFFIX)


# Keys ---------------------------------------------------------------------------------------------------


def test_keys_depend_on_everything_that_the_code_depends_on(device, monkeypatch):
    options = adapter.option_bytes(build_options(device))
    base = disk_cache.key("module", options, device)
    assert base == disk_cache.key("module", options, device)
    assert len(base) == 64 and set(base) <= set("0123456789abcdef")
    fast = adapter.option_bytes(build_options(device, extra={"xla_cpu_enable_fast_math": True}))
    client = SimpleNamespace(version="other")
    assert (
        len(
            {
                base,
                disk_cache.key("module ", options, device),
                disk_cache.key("module", fast, device),
                disk_cache.key(
                    "module",
                    options,
                    SimpleNamespace(platform="cuda", device_kind="cpu", client=device.client),
                ),
                disk_cache.key(
                    "module",
                    options,
                    SimpleNamespace(platform="cpu", device_kind="H100", client=device.client),
                ),
                disk_cache.key(
                    "module", options, SimpleNamespace(platform="cpu", device_kind="cpu", client=client)
                ),
            }
        )
        == 6
    )
    monkeypatch.setattr(disk_cache, "host_fingerprint", lambda: "another processor")
    assert disk_cache.key("module", options, device) != base
    monkeypatch.undo()
    monkeypatch.setattr(adapter, "version", lambda: "9.9.9")
    assert disk_cache.key("module", options, device) != base


def test_parts_of_a_key_cannot_run_into_each_other(device):
    assert disk_cache.key("ab", b"c", device) != disk_cache.key("a", b"bc", device)


KEY_SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from rabbet.runtime.caching import disk_cache
from rabbet.runtime.jaxlib import adapter
from rabbet.runtime.platforms.backends import Backend, BackendRegistry
from rabbet.runtime.platforms.clients import Clients
from rabbet.runtime.platforms.compile_options import build_options
from rabbet.runtime.platforms.devices import Device
backend = Backend(platform='cpu', priority=0, make_client=lambda options: adapter.make_cpu_client(1, False))
class Manager:
    names = lambda self, group: ['cpu']
    get = lambda self, group, name: backend
device = Clients(BackendRegistry(Manager()), Device).default().devices[0]
print(disk_cache.key('module', adapter.option_bytes(build_options(device)), device))
"""


def test_another_process_finds_the_same_key(device):
    ran = subprocess.run(
        [sys.executable, "-c", KEY_SCRIPT.format(tests=os.path.dirname(__file__))],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert ran.stdout.strip() == disk_cache.key("module", adapter.option_bytes(build_options(device)), device)


# Entries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blob", [BLOB, b"", b"\0" * 100_000])
def test_what_is_put_is_got(programs, blob):
    assert programs.get(KEY) is None
    assert programs.put(KEY, blob)
    assert programs.get(KEY) == blob
    assert programs.get(OTHER) is None
    info = programs.info()
    assert (info.entries, info.hits, info.misses, info.reason) == (1, 1, 2, None)
    assert 0 < info.bytes < len(blob) + 200


def test_a_compiled_program_goes_there_and_back(programs, device):
    text = "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }"
    options = build_options(device)
    exe = adapter.compile_text(device.client.raw, text, device.device_list, options)
    key = disk_cache.key(text, adapter.option_bytes(options), device)
    programs.put(key, adapter.serialize(exe))
    loaded = adapter.deserialize(device.client.raw, programs.get(key), device.device_list)
    assert adapter.hlo_text(loaded) == adapter.hlo_text(exe)


def test_nothing_is_made_before_something_is_kept(programs):
    programs.get(KEY), programs.info(), programs.clear()
    assert not programs.folder.exists()


def test_an_entry_is_replaced_whole(programs):
    programs.put(KEY, BLOB)
    programs.put(KEY, b"second")
    assert programs.get(KEY) == b"second"
    assert programs.info().entries == 1
    assert [name for name in os.listdir(programs.folder) if name.startswith(atomic_files.TEMPORARY)] == []


def test_clear(programs):
    programs.put(KEY, BLOB)
    programs.put(OTHER, BLOB)
    assert programs.clear() == 2
    assert programs.get(KEY) is None and programs.info().entries == 0


# Damage -------------------------------------------------------------------------------------------------

DAMAGE = {
    "empty": lambda content: b"",
    "cut in the header": lambda content: content[:20],
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "one bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "another format": lambda content: b"X" + content[1:],
    "nonsense": lambda content: b"\xff" * 3000,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_a_miss_and_a_warning_and_gone(programs, damage):
    programs.put(KEY, BLOB)
    path = file_of(programs)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.warns(CacheWarning, match="it is damaged") as seen:
        assert programs.get(KEY) is None
    assert seen[0].filename == __file__
    assert not path.exists()
    programs.put(KEY, BLOB)
    assert programs.get(KEY) == BLOB


def test_an_entry_that_the_runtime_refuses_is_removed(programs):
    programs.put(KEY, b"not a program")
    with pytest.warns(CacheWarning, match="INTERNAL: whatever"):
        programs.discard(KEY, "INTERNAL: whatever")
    assert programs.get(KEY) is None


def test_an_entry_that_is_a_folder(programs):
    programs.put(OTHER, BLOB)
    file_of(programs).mkdir()
    with pytest.warns(CacheWarning):
        assert programs.get(KEY) is None


# Trust --------------------------------------------------------------------------------------------------


def test_folder_and_entries_are_for_the_user_alone(programs):
    before = os.umask(0)
    try:
        programs.put(KEY, BLOB)
    finally:
        os.umask(before)
    assert stat.S_IMODE(programs.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(programs).stat().st_mode) == 0o600


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache folder of the user's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "rabbet"


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_shared_folder_has_signed_entries(programs, home, mode):
    programs.folder.mkdir()
    programs.folder.chmod(mode)
    assert programs.put(KEY, BLOB) and programs.get(KEY) == BLOB
    assert stat.S_IMODE((home / "shared-folder-key").stat().st_mode) == 0o600
    (entry,) = programs.folder.glob("*.program")
    again = disk_cache.ProgramCache(programs.folder, 1 << 20)
    assert again.get(KEY) == BLOB and again.info().entries == 1
    # What somebody else puts there: made without the key, or with another one, or under another name.
    other = os.urandom(32)
    evil = disk_cache.pack(KEY, b"evil"), disk_cache.pack(KEY, b"evil", other)
    for forged in (*evil, entry.read_bytes()[:-1]):
        entry.write_bytes(forged)
        again._warned.clear()
        with pytest.warns(CacheWarning, match="damaged, or the file of another entry"):
            assert again.get(KEY) is None
    (programs.folder / f"{KEY}.program").write_bytes(disk_cache.pack(KEY, b"evil"))
    assert again.get(KEY) is None
    assert again.clear() == 0 and (programs.folder / f"{KEY}.program").exists()  # others' are left alone


def test_users_of_a_shared_folder_do_not_meet(programs, home, tmp_path, monkeypatch):
    programs.folder.mkdir()
    programs.folder.chmod(0o777)
    assert programs.put(KEY, BLOB)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    other = disk_cache.ProgramCache(programs.folder, 1 << 20)
    assert other.get(KEY) is None and other.put(KEY, b"of the other") and other.get(KEY) == b"of the other"
    assert programs.get(KEY) == BLOB and len(list(programs.folder.glob("*.program"))) == 2


@pytest.mark.parametrize("wrong", ["shared home", "readable key"])
def test_a_shared_folder_is_not_used_without_a_key_of_ones_own(programs, home, wrong):
    programs.folder.mkdir()
    programs.folder.chmod(0o777)
    home.mkdir(parents=True)
    if wrong == "shared home":
        home.chmod(0o777)
    else:
        (home / "shared-folder-key").write_bytes(bytes(32))
        (home / "shared-folder-key").chmod(0o644)
    with pytest.warns(CacheWarning, match="can be written to by others"):
        assert not programs.put(KEY, BLOB)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert programs.get(KEY) is None and not programs.put(KEY, BLOB) and programs.clear() == 0
    assert "others" in programs.info().reason


def test_an_entry_that_others_may_write_to_is_not_used(programs):
    programs.put(KEY, BLOB)
    file_of(programs).chmod(0o666)
    with pytest.warns(CacheWarning, match="can be written to by others"):
        assert programs.get(KEY) is None
    assert file_of(programs).exists()


def test_links_are_not_followed(programs, tmp_path):
    programs.put(OTHER, BLOB)
    file_of(programs).symlink_to(file_of(programs, OTHER))
    with pytest.warns(CacheWarning):
        assert programs.get(KEY) is None
    elsewhere = disk_cache.ProgramCache(tmp_path / "link", 1 << 20)
    elsewhere.folder.symlink_to(programs.folder)
    with pytest.warns(CacheWarning, match="a link"):
        assert elsewhere.get(OTHER) is None


@root
def test_what_belongs_to_another_user_is_not_used(programs, home):
    programs.put(KEY, BLOB)
    programs.put(OTHER, BLOB)
    os.chown(file_of(programs), 12345, 12345)
    with pytest.warns(CacheWarning, match="another user"):
        assert programs.get(KEY) is None
    assert programs.get(OTHER) == BLOB
    os.chown(programs.folder, 12345, 12345)
    again = disk_cache.ProgramCache(programs.folder, 1 << 20)
    assert again.get(OTHER) is None  # theirs is not signed with our key
    assert again.put(OTHER, b"ours") and again.get(OTHER) == b"ours"


# Folders that cannot be written to
# ---------------------------------------------------------------------------


@not_root
def test_a_read_only_folder_serves_and_warns_once(programs):
    programs.put(KEY, BLOB)
    programs.folder.chmod(0o500)
    with pytest.warns(CacheWarning, match="cannot be written to"):
        assert not programs.put(OTHER, BLOB)


def test_a_full_disk_is_one_warning(programs, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    programs.put(KEY, BLOB)
    monkeypatch.setattr(disk_cache.os, "replace", full)
    with pytest.warns(CacheWarning, match="No space left on device"):
        assert not programs.put(OTHER, BLOB)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not programs.put(OTHER, BLOB)
    assert [name for name in os.listdir(programs.folder) if name.startswith(atomic_files.TEMPORARY)] == []


def test_a_full_disk_does_not_hide_what_is_there(programs, monkeypatch):
    programs.put(KEY, BLOB)
    monkeypatch.setattr(tempfile, "mkstemp", lambda **_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.warns(CacheWarning):
        programs.put(OTHER, BLOB)
    assert programs.get(KEY) == BLOB


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    programs = disk_cache.ProgramCache(tmp_path / "file" / "programs", 1 << 20)
    with pytest.warns(CacheWarning):
        assert not programs.put(KEY, BLOB)
    assert programs.get(KEY) is None


# Room
# --------------------------------------------------------------------------------------------------------


def test_the_least_recently_used_go_first(tmp_path):
    size = len(disk_cache.pack(KEY, BLOB))
    programs = disk_cache.ProgramCache(tmp_path / "programs", 10 * size)
    keys = [f"{i:064x}" for i in range(10)]
    for age, key in enumerate(keys):
        programs.put(key, BLOB)
        os.utime(file_of(programs, key), (1000 + age, 1000 + age))
    programs.get(keys[0])  # used just now
    programs.put(KEY, BLOB)
    left = {key for key in [*keys, KEY] if programs.get(key) is not None}
    assert left >= {keys[0], keys[9], KEY} and keys[1] not in left
    assert programs.info().bytes <= 10 * size


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path):
    programs = disk_cache.ProgramCache(tmp_path / "programs", 100)
    assert not programs.put(KEY, os.urandom(1000))
    assert not programs.folder.exists()


def test_what_dead_processes_left_is_removed(programs):
    programs.put(KEY, BLOB)
    old, new = programs.folder / ".tmp-old", programs.folder / ".tmp-new"
    old.write_bytes(b"x"), new.write_bytes(b"x")
    os.utime(old, (1000, 1000))
    programs.info()
    assert not old.exists() and new.exists()


# Many processes
# ------------------------------------------------------------------------------------------------

WORKER = """
import sys, warnings
warnings.simplefilter('error')
from rabbet.runtime.caching.disk_cache import ProgramCache
programs = ProgramCache({folder!r}, 30_000)
me = int(sys.argv[1])
for turn in range(150):
    key = f'{{turn % 7:064x}}'
    blob = programs.get(key)
    assert blob is None or blob == key.encode() * 100, 'a torn entry'
    programs.put(key, key.encode() * 100)
    if turn % 40 == me * 10:
        programs.clear()
"""


def test_many_processes_share_a_folder(tmp_path):
    script = WORKER.format(folder=str(tmp_path / "programs"))
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(i)], stderr=subprocess.PIPE) for i in range(4)
    ]
    errors = [worker.communicate(timeout=600)[1].decode() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4, errors


# Settings
# --------------------------------------------------------------------------------------------------------


def test_the_settings_choose_the_folder(tmp_path, monkeypatch):
    with config.override(cache_dir=str(tmp_path / "mine")):
        assert disk_cache.default_cache().folder == tmp_path / "mine" / "programs"
        assert disk_cache.default_cache() is disk_cache.default_cache()
    with config.override(cache_dir=None):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert disk_cache.default_folder() == tmp_path / "rabbet"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification says: to be ignored
        monkeypatch.setenv("HOME", "/home/somebody")
        assert str(disk_cache.default_folder()) == "/home/somebody/.cache/rabbet"


def test_the_cache_can_be_switched_off(tmp_path):
    with config.override(cache=False, cache_dir=str(tmp_path)):
        assert disk_cache.default_cache() is None
        assert disk_cache.get(KEY) is None and disk_cache.info() is None and disk_cache.clear() == 0
        assert not disk_cache.store(KEY, lambda: BLOB, 100)
    assert os.listdir(tmp_path) == []


def test_store_keeps_what_took_long(tmp_path):
    with config.override(cache=True, cache_dir=str(tmp_path)):
        assert not disk_cache.store(KEY, lambda: BLOB, 0.0)
        assert disk_cache.store(KEY, lambda: BLOB, 1.0)
        assert disk_cache.get(KEY) == BLOB

        def refuse():
            raise adapter.XlaRuntimeError("UNIMPLEMENTED")

        assert not disk_cache.store(OTHER, refuse, 1.0)
        with pytest.warns(CacheWarning):
            disk_cache.reject(KEY, "it does not load")
        assert disk_cache.get(KEY) is None
        assert disk_cache.clear() == 0


# Entries in each other's place ----------------------------------------------------------------------------


def test_entries_whose_files_were_exchanged_are_misses(programs):
    programs.put(KEY, BLOB)
    programs.put(OTHER, b"another program")
    one, other = programs._path(KEY), programs._path(OTHER)
    aside = one.with_suffix(".aside")
    one.rename(aside), other.rename(one), aside.rename(other)
    for key in (KEY, OTHER):
        with pytest.warns(CacheWarning, match="the file of another entry"):
            assert programs.get(key) is None


def test_a_right_checksum_around_a_damaged_body_is_a_miss(programs):
    programs.put(KEY, BLOB)
    for body in (b"no compressed bytes", zlib.compress(BLOB)[:-4], b""):
        programs._path(KEY).write_bytes(disk_cache.FORMAT + disk_cache.checksum(KEY, body) + body)
        programs._warned.clear()
        with pytest.warns(CacheWarning, match="damaged"):
            assert programs.get(KEY) is None
        assert not programs._path(KEY).exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_place_of_an_entry_is_a_miss(programs):
    programs.put(KEY, BLOB)
    programs._path(KEY).unlink()
    os.mkfifo(programs._path(KEY), 0o600)
    with pytest.warns(CacheWarning, match="another kind of file"):
        assert programs.get(KEY) is None
