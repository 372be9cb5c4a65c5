"""Private servers start at once, and leave no files or processes behind."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
import redis

from headrace.errors import EmbeddedServerError
from headrace.local_server import server_process
from headrace.local_server.scratch import private_server
from tests.support.processes import gone, start_python
from tests.support.servers import until

OWNER = """
from headrace.local_server.scratch import private_server
server = private_server()
print(server.__enter__(), flush=True)
"""


def socket_of(url: str) -> Path:
    return Path(url.removeprefix("unix://"))


def pid_of(url: str) -> int:
    found = re.search(r"process_id:(\d+)", server_process.ask(socket_of(url), "INFO", "server"))
    assert found
    return int(found[1])


def test_private_server_ends_with_the_block() -> None:
    with private_server() as url:
        with redis.Redis.from_url(url) as server:
            assert server.ping()
        pid = pid_of(url)

    assert gone(pid)
    assert not socket_of(url).parent.exists()


def test_private_servers_are_separate() -> None:
    with private_server() as one, private_server() as other:
        assert pid_of(one) != pid_of(other)


def test_private_server_ends_after_kill_9_of_its_owner() -> None:
    owner = start_python(OWNER + "input()")
    assert owner.stdout
    url = owner.stdout.readline().strip()
    pid = pid_of(url)

    owner.kill()
    owner.communicate()

    until(lambda: gone(pid), "the server is dead")
    until(lambda: not socket_of(url).parent.exists(), "its directory is removed")


def test_private_server_ends_with_an_owner_that_does_not_stop_it() -> None:
    owner = start_python(OWNER)
    url = owner.communicate()[0].strip()

    until(lambda: not socket_of(url).parent.exists(), "its directory is removed")


def test_server_killed_inside_the_block_leaves_nothing() -> None:
    with private_server() as url:
        pid = pid_of(url)
        os.kill(pid, signal.SIGKILL)
        until(lambda: gone(pid), "the server is dead")

    assert not socket_of(url).parent.exists()


def test_refused_server_options_are_reported() -> None:
    with pytest.raises(EmbeddedServerError, match="nonsense"), private_server("--nonsense", "1"):
        pass
