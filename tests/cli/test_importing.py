"""import: what is shown and asked before anything comes, and what is said in the end."""

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
from tests.cli.conftest import Type
from tests.cli.terminal import MAIN, on_a_terminal
from tests.compat.importing.old import Old, line_of
from tests.servers import until

KEYS = "LPUSH worqr:queues:q a b\nLPUSH worqr:processes:q_1 r\nSADD worqr:workers w"


@pytest.fixture
def old(valkey_url: str) -> Iterator[Old]:
    found = Old(valkey_url)
    yield found
    found.close()


def test_nothing_is_brought_unless_somebody_agrees(typed: Type, client: Client, old: Old) -> None:
    old.lay(KEYS)

    said = typed("import", "worqr", old.url)
    assert said.code == 1
    assert said.rows[1][:3] == ["q", "running", "1"]
    assert said.out.endswith("3 things of worqr.\n")
    assert said.err == "headrace: nothing was brought; --yes brings it\n"

    only_counted = typed("import", "worqr", old.url, "--dry-run", "--json")
    assert only_counted.code == 0
    found = only_counted.json["found"]
    assert [(each["what"], each["count"]) for each in found] == [("running", 1), ("waiting", 2)]
    assert client.queues() == {}


def test_it_is_brought_verified_and_told(typed: Type, client: Client, old: Old) -> None:
    old.lay(KEYS)
    before = old.dump()

    said = typed("import", "worqr", old.url, "--yes")
    assert (said.code, said.out.splitlines()[-1]) == (0, "3 things brought; 3 verified.")
    assert line_of(client.queue("q")) == [b"r", b"a", b"b"]

    again = typed("import", "worqr", old.url, "--yes", "--json")
    facts = again.json
    assert (facts["brought"], facts["known"], facts["verified"], facts["deleted"]) == (
        *(0, 3),
        *(True, False),
    )
    assert old.dump() == before


def test_the_source_is_deleted_only_if_that_is_said(typed: Type, client: Client, old: Old) -> None:
    old.lay(f"{KEYS}\nSET mine x")

    said = typed("import", "worqr", old.url, "--yes", "--delete-source")

    assert said.out.endswith("3 things brought; 3 verified; deleted at the source.\n")
    assert set(old.dump()) == {b"mine", b"worqr:workers"}
    assert client.queue("q").counts().waiting == 3


def test_what_was_left_out_stays_and_that_is_said(typed: Type, old: Old) -> None:
    old.lay("HSET ql:j:a state waiting queue q data 1\nZADD ql:q:q-work 1 a\nSET ql:other x")

    said = typed("import", "qless", old.url, "--yes", "--delete-source")

    assert said.err == "left out: ql:other: this key is not known; it stays there\n"
    assert said.out.endswith("1 verified; deleted at the source but for what was left out.\n")
    assert set(old.dump()) == {b"ql:other"}


def test_what_makes_no_sense_is_refused(typed: Type, old: Old) -> None:
    some = typed("import", "worqr", old.url, "--delete-source", "--queue", "q")
    assert (some.code, some.err) == (
        2,
        "headrace: --delete-source deletes all of it: leave out --queue\n",
    )
    assert typed("import", "resque", old.url).code == 2
    assert typed("import", "worqr", "http://localhost").code == 2
    nothing = typed("import", "worqr", old.url)
    assert nothing.code == 1
    assert "has nothing of worqr" in nothing.err
    nobody = typed("import", "worqr", "redis://127.0.0.1:1/0")
    assert nobody.code == 1
    assert "did not answer" in nobody.err


def test_on_a_terminal_it_asks(client: Client, valkey_url: str, old: Old, tmp_path: Path) -> None:
    old.lay(KEYS)
    words = ("import", "worqr", old.url, "--into-url", valkey_url, "-n", client.core.namespace)

    with on_a_terminal(*words, cwd=tmp_path) as asked:
        asked.until("Bring 3 things")
        asked.press("n\r")
        assert asked.end() == 1
    assert client.queue("q").counts().waiting == 0


def test_killed_in_the_middle_it_goes_on(client: Client, valkey_url: str, old: Old) -> None:
    old.say("LPUSH", "worqr:queues:q", *(str(number) for number in range(3000)))
    words = ["import", "worqr", old.url, "--into-url", valkey_url, "-n", client.core.namespace]
    command = [sys.executable, "-c", MAIN, *words, "--yes", "--json"]
    queue = client.queue("q")

    first = subprocess.Popen(command, stdout=subprocess.PIPE)
    until(lambda: queue.counts().waiting > 0, "something has come")
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
