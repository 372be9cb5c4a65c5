"""The embedded server with real processes: sharing, persistence, recovery after kill -9."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from pathlib import Path

import pytest
import redis

from headrace.errors import EmbeddedServerError
from headrace.local_server import embedded, server_process
from headrace.local_server.scratch import private_server
from tests.support.processes import gone, run_python, start_python
from tests.support.servers import until


def pid_in(home: Path) -> int:
    running = embedded.status(home)
    assert running
    return running.pid


def kill_server(home: Path) -> int:
    pid = pid_in(home)
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid), "the server is dead")
    return pid


def test_second_start_finds_the_running_server(home: Path) -> None:
    url = embedded.start(home)
    pid = pid_in(home)

    assert embedded.start(home) == url
    assert embedded.status(home) == embedded.Status(pid, url, home)
    assert (home / "server.pid").read_text().strip() == str(pid)


def test_server_persists_data_and_listens_only_on_its_socket(home: Path) -> None:
    with redis.Redis.from_url(embedded.start(home), decode_responses=True) as server:
        found = server.config_get("*")

    assert found["appendonly"] == "yes"
    assert found["appendfsync"] == "everysec"
    assert found["maxmemory-policy"] == "noeviction"
    assert found["port"] == "0"
    assert (home / server_process.SOCKET).stat().st_mode & 0o777 == 0o700
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def tells_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the server with a program that prints its memory settings and exits."""
    program = tmp_path / "valkey-server"
    program.write_text('#!/bin/sh\necho "told: $GLIBC_TUNABLES"\nexit 1\n')
    program.chmod(0o700)
    monkeypatch.setattr(server_process, "binary", lambda: program)


@pytest.mark.usefixtures("tells_its_memory")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("", "glibc.malloc.tcache_count=1000"),
        ("glibc.malloc.arena_max=2", "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=1000"),
        ("glibc.malloc.tcache_count=3", "glibc.malloc.tcache_count=3"),
    ],
)
def test_server_keeps_freed_memory_unless_the_user_sets_otherwise(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: str, wanted: str
) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", said)

    with pytest.raises(EmbeddedServerError, match=f"told: {wanted}$"):
        embedded.start(home)
    with pytest.raises(EmbeddedServerError, match=f"told: {wanted}$"), private_server():
        pass


def test_data_survives_a_stop(home: Path) -> None:
    with redis.Redis.from_url(embedded.start(home)) as server:
        server.set("kept", "yes")
    pid = pid_in(home)

    assert embedded.stop(home)
    assert gone(pid)

    with redis.Redis.from_url(embedded.start(home)) as server:
        assert server.get("kept") == b"yes"


def test_data_survives_kill_9_of_the_server(home: Path) -> None:
    with redis.Redis.from_url(embedded.start(home)) as server:
        server.set("kept", "yes")
    killed = kill_server(home)

    assert embedded.status(home) is None
    with redis.Redis.from_url(embedded.start(home)) as server:
        assert server.get("kept") == b"yes"
    assert pid_in(home) != killed


def test_stop_returns_whether_a_server_ran(home: Path) -> None:
    assert not embedded.stop(home)
    assert not home.exists()

    embedded.start(home)
    assert embedded.stop(home)
    assert not embedded.stop(home)
    assert embedded.status(home) is None


def test_stop_creates_nothing_in_an_unknown_directory(tmp_path: Path) -> None:
    assert not embedded.stop(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_stop_after_a_crash_finds_nothing_to_stop(home: Path) -> None:
    embedded.start(home)
    kill_server(home)

    assert not embedded.stop(home)


def test_server_survives_kill_9_of_its_starter(home: Path) -> None:
    starter = run_python(
        "import os, signal, sys\n"
        "from headrace.local_server import embedded\n"
        "print(embedded.start(sys.argv[1]), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)",
        home,
    )

    assert starter.returncode == -signal.SIGKILL
    assert embedded.start(home) == starter.stdout.strip()


KILLED_AT_EVERY_LINE = """
import os, pathlib, signal, sys
from headrace.local_server import embedded, server_process
from headrace.local_server.scratch import private_server

def kill_at(number):
    lines = set()
    def trace(frame, event, _):
        if frame.f_code.co_filename not in (embedded.__file__, server_process.__file__):
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        if len(lines) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    return trace

for number in range(1, 1000):
    home = pathlib.Path(sys.argv[1], str(number))
    starter = os.fork()
    if starter == 0:
        sys.settrace(kill_at(number))
        embedded.start(home)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(starter, 0)[1])
    embedded.start(home)
    assert embedded.stop(home), number
    if ended == 0:
        print(number)
        break
"""


@pytest.mark.slow
def test_starter_killed_at_any_line_leaves_a_usable_directory(home: Path) -> None:
    done = run_python(KILLED_AT_EVERY_LINE, home)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def test_processes_that_start_together_share_one_server(home: Path) -> None:
    starters = [
        start_python(
            "import sys\n"
            "from headrace.local_server import embedded\n"
            "print('ready', flush=True)\n"
            "sys.stdin.read()\n"
            "embedded.start(sys.argv[1])\n"
            "print(embedded.status(sys.argv[1]))",
            home,
        )
        for _ in range(6)
    ]
    for starter in starters:
        assert starter.stdout
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin
        starter.stdin.close()
        starter.stdin = None

    found = {starter.communicate()[0] for starter in starters}

    assert found == {f"{embedded.status(home)}\n"}


def test_stale_files_do_not_prevent_a_start(home: Path) -> None:
    home.mkdir()
    (home / "server.pid").write_text(str(os.getpid()))
    (home / embedded.LOCK).write_text("somebody")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home / server_process.SOCKET))

    assert embedded.status(home) is None
    assert server_process.ping(home / server_process.SOCKET) is None
    embedded.start(home)
    assert pid_in(home) != os.getpid()


def test_plain_file_in_place_of_the_socket_is_replaced(home: Path) -> None:
    home.mkdir()
    (home / server_process.SOCKET).write_text("not a socket")

    embedded.start(home)
    assert pid_in(home)


def test_error_names_a_lock_that_no_server_holds(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "REPLY_TIMEOUT", 0.1)
    home.mkdir()
    with embedded._lock(home) as lock:
        assert lock
        with pytest.raises(EmbeddedServerError, match=embedded.LOCK):
            embedded.start(home)
        with pytest.raises(EmbeddedServerError, match=r"did not stop within .*: no reply"):
            embedded.stop(home)


def test_start_waits_for_a_loading_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "REPLY_TIMEOUT", 0.05)
    home.mkdir()
    replies = [b"-LOADING Valkey is loading the dataset in memory\r\n"] * 20 + [b"+PONG\r\n"]
    with socket.socket(socket.AF_UNIX) as server, embedded._lock(home):
        server.bind(str(home / server_process.SOCKET))
        server.listen()
        reader = threading.Thread(target=answer_with, args=(server, replies))
        reader.start()

        assert embedded.start(home) == server_process.url_of(home / server_process.SOCKET)
        reader.join()
    assert replies == []


def answer_with(server: socket.socket, replies: list[bytes]) -> None:
    while replies:
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            connection.sendall(replies.pop(0))


def test_child_forked_during_the_start_does_not_keep_the_lock(home: Path) -> None:
    home.mkdir()
    forking = multiprocessing.get_context("fork")
    end = forking.Event()
    with embedded._lock(home):
        child = forking.Process(target=end.wait)
        child.start()
    try:
        until(lambda: is_free(home), "the lock is free")
        assert child.is_alive()
    finally:
        end.set()
        child.join()


def is_free(home: Path) -> bool:
    with embedded._lock(home) as lock:
        return lock is not None
