from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from headrace.lake import lock
from headrace.lake.files import LocalFiles
from headrace.lake.lock import EXPIRES, Holder, LakeBusy, held
from headrace.lake.manifest import packed, unpacked

PATH = "locks/sync.json"


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def holder(files: LocalFiles) -> Holder:
    return unpacked(Holder, PATH, files.read(PATH))


def test_a_lock_is_held_once(files: LocalFiles) -> None:
    with held(files, "sync"):
        with (
            pytest.raises(LakeBusy, match=rf"another sync .* process {os.getpid()} on"),
            held(files, "sync"),
        ):
            pass
        with held(files, "compact"):
            pass
        assert holder(files).pid == os.getpid()
    with held(files, "sync"):
        pass
    assert files.list("locks") == []


def test_a_lock_is_given_back_after_a_failure(files: LocalFiles) -> None:
    with pytest.raises(RuntimeError), held(files, "sync"):
        raise RuntimeError
    with held(files, "sync"):
        pass


def test_who_died_here_holds_nothing(files: LocalFiles) -> None:
    program = f"""
import os, signal
from headrace.lake.files import LocalFiles
from headrace.lake.lock import held
with held(LocalFiles({str(files)!r}), "sync"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    # Not waited for: a process that nobody has buried is dead too.
    dead = subprocess.Popen([sys.executable, "-c", program])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    assert holder(files).pid == dead.pid
    with held(files, "sync"):
        assert holder(files).pid == os.getpid()
    dead.wait()


@pytest.fixture(params=["proc", "ps"])
def told_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How processes are known: by /proc as on Linux, or by ps as elsewhere."""
    if request.param == "ps":
        monkeypatch.setattr(lock, "PROC", Path("/nowhere"))


@pytest.mark.usefixtures("told_by")
def test_a_process_is_known_by_when_it_began_however_that_is_told(files: LocalFiles) -> None:
    with held(files, "sync"):
        mine = holder(files)
        with pytest.raises(LakeBusy, match="another sync"), held(files, "sync"):
            pass
    other = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    for pid in (1, other.pid):
        files.create(PATH, packed(msgspec.structs.replace(mine, pid=pid)))
        with held(files, "sync"):
            assert holder(files).pid == os.getpid()
    other.wait()


def test_where_processes_are_not_known_one_lives_while_it_says_so(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "PROC", Path("/nowhere"))
    monkeypatch.setenv("PATH", "/nowhere")
    with held(files, "sync"):
        assert holder(files).began == ""
        with pytest.raises(LakeBusy, match="another sync"), held(files, "sync"):
            pass
        monkeypatch.setattr(lock, "EXPIRES", 0.0)
        with held(files, "sync"):
            pass


def test_who_slept_until_another_took_over_stops(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = packed(Holder(host="elsewhere", pid=1, began="", told=time.time()))
    with held(files, "sync") as mine:
        files.delete(PATH)
        files.create(PATH, another)
        monkeypatch.setattr(lock, "EXPIRES", 0.0)
        with pytest.raises(LakeBusy, match=r"has taken the lake in .* over"):
            mine.renew()
    assert files.read(PATH) == another


def test_another_process_with_the_same_number_is_not_the_holder(files: LocalFiles) -> None:
    with held(files, "sync"):
        mine = holder(files)
    files.create(PATH, packed(msgspec.structs.replace(mine, began="1")))
    with held(files, "sync"):
        pass


@pytest.mark.parametrize("silent", [0, EXPIRES - 60, EXPIRES + 1])
def test_a_holder_on_another_machine_lives_while_it_says_so(
    files: LocalFiles, silent: float
) -> None:
    told = time.time() - silent
    files.create(PATH, packed(Holder(host="elsewhere", pid=1, began="", told=told)))
    if silent > EXPIRES:
        with held(files, "sync"):
            pass
    else:
        with pytest.raises(LakeBusy, match="process 1 on elsewhere"), held(files, "sync"):
            pass


def test_a_lock_is_renewed_when_its_time_has_come(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(files, "sync") as mine:
        first = holder(files)
        mine.renew()
        assert holder(files) == first
        monkeypatch.setattr(lock, "EXPIRES", 0.0)
        mine.renew()
        assert holder(files).told > first.told


@pytest.mark.parametrize("text", [b"", b"{}", b'{"format": 2}'])
def test_a_lock_that_cannot_be_read_is_nobodys(files: LocalFiles, text: bytes) -> None:
    files.create(PATH, text)
    with held(files, "sync"):
        pass
