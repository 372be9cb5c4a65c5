"""The command import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import Client
from tests.cli.conftest import RunCommand
from tests.cli.support.terminal import MAIN, on_a_terminal
from tests.importing.old import Old, line_of
from tests.support.servers import until

KEYS = "LPUSH worqr:queues:q a b\nLPUSH worqr:processes:q_1 r\nSADD worqr:workers w"


@pytest.fixture
def old(valkey_url: str) -> Iterator[Old]:
    found = Old(valkey_url)
    yield found
    found.close()


def test_nothing_is_imported_without_confirmation(
    cli: RunCommand, client: Client, old: Old
) -> None:
    old.lay(KEYS)

    result = cli("import", "worqr", old.url)
    assert result.code == 1
    assert result.rows[1][:3] == ["q", "running", "1"]
    assert result.out.endswith("Found 3 items of worqr.\n")
    assert result.err == "headrace: nothing was imported; pass --yes to import it\n"

    only_counted = cli("import", "worqr", old.url, "--dry-run", "--json")
    assert only_counted.code == 0
    found = only_counted.json["found"]
    assert [(each["what"], each["count"]) for each in found] == [("running", 1), ("waiting", 2)]
    assert client.queues() == {}


def test_import_is_verified_and_reported(cli: RunCommand, client: Client, old: Old) -> None:
    old.lay(KEYS)
    before = old.dump()

    result = cli("import", "worqr", old.url, "--yes")
    assert (result.code, result.out.splitlines()[-1]) == (0, "3 items imported; 3 verified.")
    assert line_of(client.queue("q")) == [b"r", b"a", b"b"]

    again = cli("import", "worqr", old.url, "--yes", "--json")
    facts = again.json
    assert (facts["brought"], facts["known"], facts["verified"], facts["deleted"]) == (
        *(0, 3),
        *(True, False),
    )
    assert old.dump() == before


def test_delete_source_deletes_the_imported_keys(cli: RunCommand, client: Client, old: Old) -> None:
    old.lay(f"{KEYS}\nSET mine x")

    result = cli("import", "worqr", old.url, "--yes", "--delete-source")

    assert result.out.endswith("3 items imported; 3 verified; source deleted.\n")
    assert set(old.dump()) == {b"mine", b"worqr:workers"}
    assert client.queue("q").counts().waiting == 3


def test_left_out_keys_stay_at_the_source_and_are_reported(cli: RunCommand, old: Old) -> None:
    old.lay("HSET ql:j:a state waiting queue q data 1\nZADD ql:q:q-work 1 a\nSET ql:other x")

    result = cli("import", "qless", old.url, "--yes", "--delete-source")

    assert result.err == "left out: ql:other: this key is not known; it stays there\n"
    assert result.out.endswith("1 verified; source deleted except what was left out.\n")
    assert set(old.dump()) == {b"ql:other"}


def test_invalid_arguments_are_refused(cli: RunCommand, old: Old) -> None:
    some = cli("import", "worqr", old.url, "--delete-source", "--queue", "q")
    assert (some.code, some.err) == (
        2,
        "headrace: --delete-source deletes everything; do not pass --queue\n",
    )
    assert cli("import", "resque", old.url).code == 2
    assert cli("import", "worqr", "http://localhost").code == 2
    nothing = cli("import", "worqr", old.url)
    assert nothing.code == 1
    assert "has nothing of worqr" in nothing.err
    nobody = cli("import", "worqr", "redis://127.0.0.1:1/0")
    assert nobody.code == 1
    assert "did not answer" in nobody.err


def test_import_asks_on_a_terminal(
    client: Client, valkey_url: str, old: Old, tmp_path: Path
) -> None:
    old.lay(KEYS)
    words = ("import", "worqr", old.url, "--into-url", valkey_url, "-n", client.core.namespace)

    with on_a_terminal(*words, cwd=tmp_path) as asked:
        asked.until("Import 3 items")
        asked.press("n\r")
        assert asked.end() == 1
    assert client.queue("q").counts().waiting == 0


def test_killed_import_continues_when_repeated(client: Client, valkey_url: str, old: Old) -> None:
    old.say("LPUSH", "worqr:queues:q", *(str(number) for number in range(3000)))
    words = ["import", "worqr", old.url, "--into-url", valkey_url, "-n", client.core.namespace]
    command = [sys.executable, "-c", MAIN, *words, "--yes", "--json"]
    queue = client.queue("q")

    first = subprocess.Popen(command, stdout=subprocess.PIPE)
    until(lambda: queue.counts().waiting > 0, "the first items are imported")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    came = queue.counts().waiting

    done = subprocess.run(command, capture_output=True, check=True)
    facts = json.loads(done.stdout)
    assert (facts["brought"], facts["known"]) == (3000 - came, came)
    assert facts["verified"]
    found = [
        job.payload
        for page in range(3)
        for job in queue.jobs("waiting", offset=1000 * page, count=1000).jobs
    ]
    assert found == [str(number).encode() for number in range(3000)]
    assert client.audit().balanced
