"""`headrace import`: the plan, the confirmation and the report."""

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
from tests.compat.importing.support.installation import Installation, waiting
from tests.support.servers import until

KEYS = "LPUSH worqr:queues:q a b\nLPUSH worqr:processes:q_1 r\nSADD worqr:workers w"


@pytest.fixture
def old(valkey_url: str) -> Iterator[Installation]:
    with Installation(valkey_url) as found:
        yield found


def test_nothing_is_imported_without_a_confirmation(
    cli: RunCommand, client: Client, old: Installation
) -> None:
    old.write(KEYS)

    done = cli("import", "worqr", old.url)
    assert done.code == 1
    assert done.rows[1][:3] == ["q", "running", "1"]
    assert done.out.endswith("Found 3 items of worqr.\n")
    assert done.err == "headrace: nothing was imported; pass --yes to import the items\n"

    only_counted = cli("import", "worqr", old.url, "--dry-run", "--json")
    assert only_counted.code == 0
    found = only_counted.json["found"]
    assert [(each["what"], each["count"]) for each in found] == [("running", 1), ("waiting", 2)]
    assert client.queues() == {}


def test_yes_imports_and_verifies(cli: RunCommand, client: Client, old: Installation) -> None:
    old.write(KEYS)
    before = old.dump()

    done = cli("import", "worqr", old.url, "--yes")
    assert (done.code, done.out.splitlines()[-1]) == (0, "3 items imported; 3 verified.")
    assert waiting(client.queue("q")) == [b"r", b"a", b"b"]

    again = cli("import", "worqr", old.url, "--yes", "--json")
    facts = again.json
    assert (facts["imported"], facts["imported_before"], facts["verified"]) == (0, 3, True)
    assert old.dump() == before


def test_items_that_are_left_out_are_listed(cli: RunCommand, old: Installation) -> None:
    old.write("HSET ql:j:a state waiting queue q data 1\nZADD ql:q:q-work 1 a\nSET ql:other x")

    done = cli("import", "qless", old.url, "--yes")

    assert done.err == "left out: ql:other: unknown key\n"
    assert done.out.endswith("1 item imported; 1 verified.\n")


def test_problem_of_the_check_is_an_error(
    cli: RunCommand, client: Client, old: Installation
) -> None:
    old.write("HSET ql:r:each interval 60 data 1\nZADD ql:q:q-recur 1 each")
    client.queue("mine").schedule("each", 7, every=60)

    done = cli("import", "qless", old.url, "--yes")

    assert done.code == 1
    assert done.err == (
        "headrace: the namespace differs from the source: schedule 'each' of 'q' has another queue "
        "or other data in the namespace\n"
    )


def test_invalid_arguments_are_refused(cli: RunCommand, old: Installation) -> None:
    assert cli("import", "resque", old.url).code == 2
    assert cli("import", "worqr", "http://localhost").code == 2
    nothing = cli("import", "worqr", old.url)
    assert nothing.code == 1
    assert "has no data of worqr" in nothing.err
    nobody = cli("import", "worqr", "redis://127.0.0.1:1/0")
    assert nobody.code == 1
    assert "did not answer" in nobody.err


def test_terminal_is_asked_for_confirmation(
    client: Client, valkey_url: str, old: Installation, tmp_path: Path
) -> None:
    old.write(KEYS)
    words = ("import", "worqr", old.url, "--into-url", valkey_url, "-n", client.core.namespace)

    with on_a_terminal(*words, cwd=tmp_path) as asked:
        asked.until("Import 3 items")
        asked.press("n\r")
        assert asked.end() == 1
    assert client.queue("q").counts().waiting == 0


def test_killed_import_continues_with_the_same_command(
    client: Client, valkey_url: str, old: Installation
) -> None:
    old.run("LPUSH", "worqr:queues:q", *(str(number) for number in range(3000)))
    words = ["import", "worqr", old.url, "--into-url", valkey_url, "-n", client.core.namespace]
    command = [sys.executable, "-c", MAIN, *words, "--yes", "--json"]
    queue = client.queue("q")

    first = subprocess.Popen(command, stdout=subprocess.PIPE)
    until(lambda: queue.counts().waiting > 0, "some jobs are imported")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    came = queue.counts().waiting

    done = subprocess.run(command, capture_output=True, check=True)
    facts = json.loads(done.stdout)
    assert (facts["imported"], facts["imported_before"]) == (3000 - came, came)
    assert facts["verified"]
    found = [
        job.payload
        for page in range(3)
        for job in queue.jobs("waiting", offset=1000 * page, count=1000).jobs
    ]
    assert found == [str(number).encode() for number in range(3000)]
    assert client.audit().balanced
