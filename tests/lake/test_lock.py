from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.lake import lock
from headrace.lake.files import Files, LocalFiles
from headrace.lake.lock import EXPIRES, LakeBusy, LockHolder, held
from headrace.lake.manifest import packed, unpacked

PATH = "locks/sync.json"


class RemoteFiles:
    """Files on a file system without flock."""

    def __init__(self, root: Path) -> None:
        local = LocalFiles(root)
        self.root = local.root
        self.read, self.create, self.flush = local.read, local.create, local.flush
        self.list, self.delete = local.list, local.delete


@pytest.fixture
def remote(tmp_path: Path) -> RemoteFiles:
    return RemoteFiles(tmp_path)


@pytest.fixture(params=[LocalFiles, RemoteFiles])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    made: Files = request.param(tmp_path)
    return made


def holder(files: Files) -> LockHolder:
    return unpacked(LockHolder, PATH, files.read(PATH))


def test_second_holder_of_same_lock_is_refused(files: Files) -> None:
    with held(files, "sync"):
        with (
            pytest.raises(LakeBusy, match=rf"another sync .* process {os.getpid()} on"),
            held(files, "sync"),
        ):
            pass
        with held(files, "compact"):
            pass
    with held(files, "sync"):
        pass


def test_lock_is_released_after_failure(files: Files) -> None:
    with pytest.raises(RuntimeError), held(files, "sync"):
        raise RuntimeError
    with held(files, "sync"):
        pass


def test_kernel_releases_local_lock_of_killed_process(tmp_path: Path) -> None:
    program = f"""
import os, signal
from headrace.lake.files import LocalFiles
from headrace.lake.lock import held
with held(LocalFiles({str(tmp_path)!r}), "sync"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    # The test does not wait for the killed process, because a zombie process holds no lock.
    dead = subprocess.Popen([sys.executable, "-c", program])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    assert f"process {dead.pid}" in (tmp_path / "locks" / "sync.lock").read_text()
    with held(LocalFiles(tmp_path), "sync") as mine:
        mine.renew()
        assert f"process {os.getpid()}" in (tmp_path / "locks" / "sync.lock").read_text()
    dead.wait()


def test_remote_lock_file_is_deleted_on_release(remote: RemoteFiles) -> None:
    with held(remote, "sync"):
        assert holder(remote).pid == os.getpid()
    assert remote.list("locks") == []


def test_renew_fails_after_another_process_took_over(
    remote: RemoteFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = packed(LockHolder(host="elsewhere", pid=1, renewed=time.time()))
    with held(remote, "sync") as mine:
        remote.delete(PATH)
        remote.create(PATH, another)
        monkeypatch.setattr(lock, "EXPIRES", 0.0)
        with pytest.raises(LakeBusy, match=r"another process took over the lock of the lake in"):
            mine.renew()
    assert remote.read(PATH) == another


@pytest.mark.parametrize("silent", [0, EXPIRES - 60, EXPIRES + 1])
def test_remote_lock_expires_without_renewal(remote: RemoteFiles, silent: float) -> None:
    renewed = time.time() - silent
    remote.create(PATH, packed(LockHolder(host="elsewhere", pid=1, renewed=renewed)))
    if silent > EXPIRES:
        with held(remote, "sync"):
            pass
    else:
        with pytest.raises(LakeBusy, match="process 1 on elsewhere"), held(remote, "sync"):
            pass


def test_remote_lock_is_rewritten_only_when_due(
    remote: RemoteFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(remote, "sync") as mine:
        first = holder(remote)
        mine.renew()
        assert holder(remote) == first
        monkeypatch.setattr(lock, "EXPIRES", 0.0)
        mine.renew()
        assert holder(remote).renewed > first.renewed


@pytest.mark.parametrize("text", [b"", b"{}", b'{"format": 2}'])
def test_unreadable_remote_lock_is_taken_over(remote: RemoteFiles, text: bytes) -> None:
    remote.create(PATH, text)
    with held(remote, "sync"):
        pass
