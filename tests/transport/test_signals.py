"""Signal handlers run at any point, even in the middle of a call of the client."""

from __future__ import annotations

from uuid import uuid4

import hiredis
import pytest

import headrace
from headrace.transport.transport import _packed
from tests.support.processes import run_python

TIMES = "200"

COMMON = """
import signal, sys
import headrace

url, namespace, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
hr = headrace.connect(url, namespace=namespace)
queue = hr.queue("mail")
for _ in range(10):
    queue.put("before")
came = 0

def soon():
    signal.setitimer(signal.ITIMER_REAL, 0.008)
"""

INTERRUPTED = """
class Interrupted(BaseException):
    pass

def interrupt(*_):
    global came
    came += 1
    raise Interrupted

signal.signal(signal.SIGALRM, interrupt)
made = 0
while came < times:
    try:
        before = came
        soon()
        # Python ignores the exception if it is raised in a destructor.
        while came == before:
            queue.put("letter")
            made += 1
    except Interrupted:
        pass
print(made, queue.counts().waiting - 10)
"""

IN_BETWEEN = """
made = []

def put_in_between(*_):
    global came
    came += 1
    made.append(queue.put("in between"))
    if came < times:
        soon()

signal.signal(signal.SIGALRM, put_in_between)
soon()
while came < times:
    job_id = queue.put("letter")
    made.append(job_id)
    found = hr.job(job_id)
    assert found is not None and found.id == job_id, (found, job_id)
print(len(made), len(set(made)), queue.counts().waiting - 10)
"""


def test_call_continues_after_a_signal_handler(valkey_url: str) -> None:
    namespace = f"signals-{uuid4().hex}"

    done = run_python(COMMON + INTERRUPTED, valkey_url, namespace, TIMES)

    assert done.returncode == 0, done.stderr
    made, waiting = map(int, done.stdout.split())
    # An interrupted call may or may not have been carried out.
    assert 0 < made <= waiting <= made + int(TIMES)
    with headrace.connect(valkey_url, namespace=namespace) as hr:
        assert hr.audit().problems == []


def test_call_inside_a_signal_handler_does_not_disturb_the_outer_call(valkey_url: str) -> None:
    done = run_python(COMMON + IN_BETWEEN, valkey_url, f"signals-{uuid4().hex}", TIMES)

    assert done.returncode == 0, done.stderr
    made, different, waiting = map(int, done.stdout.split())
    assert int(TIMES) < made == different == waiting


def test_commands_contain_no_numbers_because_hiredis_crashes_on_them_in_a_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ("A", b"B", 7, -1, 0.5)
    wanted = hiredis.pack_command(words)  # type: ignore[arg-type]
    given: list[object] = []
    pack_command = hiredis.pack_command

    def noting(these: tuple[object, ...]) -> bytes:
        given.extend(these)
        return bytes(pack_command(these))  # type: ignore[arg-type]

    monkeypatch.setattr(hiredis, "pack_command", noting)

    assert _packed([words]) == wanted
    assert _packed([words, words]) == wanted + wanted
    assert {type(word) for word in given} == {str, bytes}
