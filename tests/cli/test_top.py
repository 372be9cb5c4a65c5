"""`headrace top`: what is read, what is made of it, how it is drawn, and the keys on a terminal."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from rich.console import Console

import headrace
from headrace import Client, Counts, Worker
from headrace.cli.top.drawing import fitting, frame, seen, sparkline
from headrace.cli.top.keys import State, keys_in, pressed
from headrace.cli.top.model import (
    ORDERS,
    WINDOW,
    History,
    Times,
    View,
    grown,
    quantile,
    rate,
    times,
)
from headrace.cli.top.snapshot import QUEUES, Day, Failures, Queue, Server, Snapshot, take
from tests.cli.terminal import KEPT, MAIN, on_a_terminal
from tests.docs.test_operations import rights
from tests.support.restartable import restartable
from tests.support.servers import until

PAGE = Path(__file__).parent.parent.parent / "docs" / "guides" / "top.md"
SERVER = Server("Valkey 9.1.2", 1, 2_000_000, 8_000_000, 12, 3, 7200)


# what is made of snapshots


def queue(put: int = 0, done: int = 0, waiting: int = 0, day: Day | None = None) -> Queue:
    return Queue(Counts(waiting, 0, 0, 0, 0, 0, 0, 0, paused=False), put, done, day)


def at(seconds: float, **queues: Queue) -> Snapshot:
    return Snapshot(seconds * 1000, SERVER, queues)


def view_of(*snapshots: Snapshot, order: str = "first use") -> View:
    history = History()
    for snapshot in snapshots:
        history.add(snapshot)
    return history.view(order)


def test_rates_are_what_the_books_grew_by_in_the_time_between() -> None:
    [row] = view_of(at(1, mail=queue(10, 5)), at(3, mail=queue(30, 6))).rows

    assert (row.put, row.done) == (10.0, 0.5)


def test_one_snapshot_tells_no_rates() -> None:
    [row] = view_of(at(1, mail=queue(10, 5))).rows

    assert (row.put, row.done, row.failed, row.wait) == (None, None, None, None)


def test_a_queue_that_is_new_or_was_begun_anew_has_no_rates_yet() -> None:
    view = view_of(at(1, old=queue(10, 5)), at(2, old=queue(3, 0), new=queue(1, 1)))

    assert [(row.put, row.done) for row in view.rows] == [(None, None), (None, None)]
    assert view.throughput == [0.0]


def test_a_clock_that_was_set_back_begins_anew() -> None:
    [row] = view_of(at(9, mail=queue(1)), at(5, mail=queue(2)), at(6, mail=queue(5))).rows

    assert row.put == 3.0
    assert rate(1, 2, 0) is None


def test_times_are_those_of_the_last_minute() -> None:
    def day(fast: int, slow: int) -> Day:
        return Day(7, 0, {"s0": fast, "m2": slow}, {"s3": slow})

    minute = WINDOW / 1000
    history = [
        at(0, mail=queue(day=day(0, 0))),
        at(1, mail=queue(day=day(5000, 0))),
        at(1 + minute, mail=queue(day=day(5060, 40))),
    ]
    [row] = view_of(*history).rows

    assert row.wait == Times(1, 180), "of what came before the last minute nothing is counted"
    assert row.run == Times(4, 4)


def test_a_new_day_begins_from_nothing() -> None:
    before = queue(day=Day(7, 50, {"s0": 1000}, {}))
    after = queue(day=Day(8, 2, {"s1": 4}, {}))

    [row] = view_of(at(1, mail=before), at(2, mail=after)).rows

    assert (row.failed, row.wait, row.run) == (2.0, Times(2, 2), None)


@pytest.mark.parametrize(
    ("bins", "half", "most"),
    [
        ({"s0": 1}, 1, 1),
        ({"s0": 95, "s59": 5}, 1, 1),
        ({"s0": 94, "s59": 6}, 1, 60),
        ({"m1": 1}, 120, 120),
        ({"q4": 1}, 4500, 4500),
        ({"h24": 1, "d3": 1}, 90_000, 345_600),
    ],
)
def test_a_part_is_reached_at_the_end_of_a_bin(bins: dict[str, int], half: int, most: int) -> None:
    assert times(bins) == Times(half, most)


def test_an_empty_histogram_tells_nothing() -> None:
    assert times({}) is None
    assert grown({"s0": 3}, {"s0": 3, "s1": 0}) == {}
    assert quantile({"s0": 1}, 1, 1.0) == 1


def test_throughput_is_that_of_all_queues_together() -> None:
    view = view_of(
        at(1, a=queue(), b=queue()),
        at(2, a=queue(done=3), b=queue(done=4)),
        at(4, a=queue(done=5), b=queue(done=4)),
    )

    assert view.throughput == [7.0, 1.0]


def test_orders() -> None:
    first = at(1, b=queue(done=0, waiting=1), a=queue(waiting=5), c=queue(waiting=3))
    second = at(2, b=queue(done=9, waiting=1), a=queue(waiting=5), c=queue(waiting=3))

    found = {
        order: "".join(row.name for row in view_of(first, second, order=order).rows)
        for order in ORDERS
    }

    assert found == {
        "first use": "bac",
        "name": "abc",
        "waiting": "acb",
        "running": "bac",
        "failed": "bac",
        "done/s": "bac",
    }


# keys


def after(keys: str, names: str = "abc", *, more: bool = False) -> State:
    state = State()
    for key in keys_in(keys):
        state = pressed(state, key, list(names), more=more)
    return state


def test_keys_change_what_is_chosen() -> None:
    assert after("q").over
    assert after("p").paused
    assert not after("pp").paused
    assert after("?").help
    assert after("\r").detail
    assert after("s").order == "name"
    assert after("s" * len(ORDERS)).order == "first use"
    assert after("xyz\x1b[5~\x1b") == State()


def test_the_selection_stays_within_the_queues() -> None:
    down, up = "\x1b[B", "\x1b[A"

    assert after(down).selected == "a"
    assert after(down * 3).selected == "c"
    assert after(down * 9).selected == "c"
    assert after(down * 3 + up).selected == "b"
    assert after(down + up).selected == "a"
    assert after(down, names="").selected is None


def test_pages_are_turned_where_there_are_more() -> None:
    right, left = "\x1b[C", "\x1bOD"

    assert after(right).offset == 0
    assert after(right, more=True).offset == QUEUES
    assert after(right + left, more=True).offset == 0
    assert after(left).offset == 0


# drawing

WORKER = Worker("ann", 2.5, None, "host-1 pid 7", ["mail", "post"], 4)
BUSY = Snapshot(
    61_000,
    SERVER,
    {
        "mail": Queue(
            Counts(1234, 5, 6, 7, 8, 9, 0, 0, paused=False),
            500,
            400,
            Day(0, 3, {"s0": 9}, {"s2": 9}),
            front=1000,
        ),
        "post": Queue(Counts(1, 0, 0, 0, 0, 0, 0, 0, paused=True), 1, 0),
    },
    workers=[WORKER],
    sessions=1,
    failures=[Failures("smtp", 8, 31_000)],
)
EARLIER = Snapshot(
    60_000, SERVER, {"mail": queue(480, 390, day=Day(0, 1, {}, {})), "post": queue()}
)


def drawn(
    state: State | None = None, width: int = 150, height: int = 30, trouble: str = ""
) -> list[str]:
    console = Console(width=width, height=height, record=True, quiet=True, color_system=None)
    view = view_of(EARLIER, BUSY)
    picture = frame(view, state or State(), width, height, where="shop", trouble=trouble)
    with console.capture() as captured:
        console.quiet = False
        console.print(picture)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_everything_is_drawn_where_there_is_room() -> None:
    text = "\n".join(drawn())

    assert "shop  00:01:01  Valkey 9.1.2  memory 2 MB of 8 MB  12 commands/s  3 clients" in text
    [mail] = [line.split() for line in drawn() if line.startswith("mail")]
    assert mail == [
        "mail", "1,234", "5", "6", "7", "8", "20.0", "10.0", "2.0",
        "<1", "s", "<1", "s", "<3", "s", "<3", "s", "60", "s",
    ]  # fmt: skip
    assert "post (paused)" in text
    assert "ann" in text
    assert "host-1 pid 7" in text
    assert "2.5 s" in text
    [smtp] = [line for line in drawn() if "smtp" in line]
    assert smtp.endswith("30 s ago")


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 100, 200])
@pytest.mark.parametrize("height", [1, 3, 8, 14, 50])
def test_any_size_can_be_drawn(width: int, height: int) -> None:
    lines = drawn(State(selected="post", detail=True), width, height)

    assert max(map(len, lines)) <= width
    if width >= 20:
        assert any(line.startswith(("mail", "post")) for line in lines)
    if width >= 40 and height >= 8:
        assert len(lines) <= height


def test_columns_go_where_there_is_no_room() -> None:
    assert fitting(20) == []
    assert fitting(34) == ["waiting"]
    assert fitting(52) == ["waiting", "running", "done/s"]
    assert len(fitting(150)) == 11


def test_no_connection_is_said_and_the_last_view_stays() -> None:
    lines = drawn(trouble="it is gone")

    assert lines[1] == "it is gone"
    assert any(line.startswith("mail") for line in lines)


def test_the_selected_queue_is_among_those_that_are_seen() -> None:
    names = [f"queue-{number}" for number in range(100)]
    view = view_of(at(1, **{name: queue() for name in names}))

    def shown(selected: str | None) -> list[str]:
        return [row.name for row in seen(view, State(selected=selected), 21)]

    assert shown(None) == names[:10]
    assert shown("queue-0") == names[:10]
    assert "queue-50" in shown("queue-50")
    assert shown("queue-99") == names[90:]


def test_names_give_the_terminal_no_orders() -> None:
    view = view_of(at(1, **{"\x9b31m[red]x": queue()}))
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(frame(view, State(), 80, 24, where="shop"))

    assert r"\x9b31m[red]x" in captured.get()


def test_a_sparkline_ends_with_the_newest() -> None:
    assert sparkline([8, 4, 0, 1], 10) == "█▄ ▁"
    assert sparkline([8, 4, 0, 1], 2) == " █"
    assert sparkline([0, 0], 2) == "  "
    assert sparkline([1], 0) == ""


# what is read


@pytest.fixture
def name() -> str:
    return f"top-{uuid4().hex[:8]}"


@pytest.fixture(params=[1, 3])
def client(valkey_url: str, name: str, request: pytest.FixtureRequest) -> Iterator[Client]:
    """The clock is the server's: so is that of top."""
    with headrace.connect(valkey_url, namespace=name, shards=request.param) as found:
        yield found


def work(client: Client, jobs: int) -> None:
    mail = client.queue("mail")
    mail.put_many([headrace.Put(number, id=f"job-{number}") for number in range(jobs)])
    session = client.session("ann", ttl=None)
    session.serve("mail")
    leases = mail.pop("ann", count=5)
    for lease in leases[:2]:
        lease.complete()
    leases[2].fail("smtp", "busy")


def test_a_snapshot_says_what_is_there(client: Client) -> None:
    work(client, 10)
    client.queue("empty").configure(retries=1)
    client.queue("empty").pause()

    found = take(client, seen=["mail"])

    mail = found.queues["mail"]
    assert mail.counts == client.queue("mail").counts()
    assert (mail.put, mail.done) == (10, 2)
    assert mail.day
    assert (mail.day.failures, sum(mail.day.wait.values()), sum(mail.day.run.values())) == (1, 5, 2)
    assert mail.front
    assert abs(found.at - mail.front) < 60_000
    assert found.queues["empty"] == Queue(client.queue("empty").counts(), 0, 0)
    assert found.queues["empty"].counts.paused
    [ann] = found.workers
    assert (ann.name, ann.queues, ann.jobs, found.sessions) == ("ann", ["mail"], 2, 1)
    [smtp] = found.failures
    assert (smtp.type, smtp.count) == ("smtp", 1)
    assert smtp.newest
    assert not found.more
    assert found.server.nodes == 1
    assert found.server.clients > 0


def test_a_namespace_without_anything_can_be_looked_at(client: Client) -> None:
    found = take(client, seen=["mail"])

    assert (found.queues, found.workers, found.failures) == ({}, [], [])


def commands_of(client: Client, url: str, seen: list[str]) -> int:
    with redis.Redis.from_url(url) as direct:
        take(client, seen=seen)  # loads the scripts
        before = direct.info("stats")["total_commands_processed"]
        take(client, seen=seen)
        after = direct.info("stats")["total_commands_processed"]
    # The server counts the question, too, and what scripts call.
    return int(after - before - 1)


def test_a_refresh_takes_as_many_commands_however_many_jobs_there_are(
    client: Client, valkey_url: str
) -> None:
    work(client, 60)
    few = commands_of(client, valkey_url, ["mail"])
    client.queue("mail").put_many(range(5000))

    many = commands_of(client, valkey_url, ["mail"])

    assert few == many


def test_queues_are_paged_and_a_refresh_takes_no_more_commands_than_the_page_says(
    valkey_url: str, name: str
) -> None:
    with headrace.connect(valkey_url, namespace=name) as hr:
        for number in range(QUEUES + 5):
            hr.queue(f"queue-{number:03}").configure(retries=1)
        first, second = take(hr), take(hr, offset=QUEUES)
        taken = commands_of(hr, valkey_url, ["queue-000"])

    assert (len(first.queues), first.more) == (QUEUES, True)
    assert (len(second.queues), second.more) == (5, False)
    said = [int(number) for number in re.findall(r"\*\*(\d+)\*\*", PAGE.read_text())]
    fixed, a_queue, seen_more = said
    assert fixed + QUEUES * a_queue - 10 < taken <= fixed + QUEUES * a_queue + seen_more


def test_the_rights_of_the_namespace_are_enough(valkey_url: str) -> None:
    with (
        redis.Redis.from_url(valkey_url) as direct,
        headrace.connect(valkey_url, namespace="shop") as hr,
    ):
        work(hr, 10)
        direct.execute_command("ACL", "SETUSER", "shop", *rights("shop"))
        address = valkey_url.replace("unix://", "unix://shop:password@")
        with headrace.connect(address, namespace="shop") as allowed:
            found = take(allowed, seen=["mail"])
        direct.execute_command("ACL", "SETUSER", "shop", "-info")
        with headrace.connect(address, namespace="shop") as allowed:
            blind = take(allowed, seen=["mail"])

    assert found.queues.keys() == {"mail"}
    assert found.server.version
    assert blind.queues.keys() == {"mail"}
    assert blind.server == Server()


# the command


def top(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, "top", *arguments],
        cwd=cwd,
        env=KEPT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def busy(valkey_url: str, name: str) -> Iterator[Client]:
    with headrace.connect(valkey_url, namespace=name) as found:
        work(found, 10)
        yield found


def test_without_a_terminal_it_prints_one_picture_and_ends(
    busy: Client, valkey_url: str, name: str, tmp_path: Path
) -> None:
    told = top("--url", valkey_url, "-n", name, "--interval", "0.1", cwd=tmp_path)

    assert (told.returncode, told.stderr) == (0, "")
    assert "\x1b" not in told.stdout
    assert any(line.split()[:2] == ["mail", "5"] for line in told.stdout.splitlines())
    assert "smtp" in told.stdout
    assert busy.core.namespace in told.stdout


def test_programs_get_one_object(busy: Client, valkey_url: str, name: str, tmp_path: Path) -> None:
    told = top("--url", valkey_url, "-n", name, "--interval", "0.1", "--json", cwd=tmp_path)

    found = json.loads(told.stdout)
    [row] = found["rows"]
    assert (row["name"], row["counts"]["waiting"], row["put"]) == ("mail", 5, 0.0)
    assert [worker["name"] for worker in found["workers"]] == ["ann"]
    assert busy.queue("mail").counts().waiting == 5


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    told = top("--url", "redis://ann:secret@127.0.0.1:1", cwd=tmp_path)

    assert (told.returncode, told.stdout) == (1, "")
    assert len(told.stderr.splitlines()) == 1
    assert "secret" not in told.stderr


@pytest.mark.parametrize("interval", ["0", "-1", "x", "1e9"])
def test_a_wrong_interval_is_wrong_usage(interval: str, tmp_path: Path) -> None:
    assert top("--interval", interval, cwd=tmp_path).returncode == 2


# on a terminal


def arguments(url: str, name: str) -> list[str]:
    return ["top", "--url", url, "-n", name, "--interval", "0.1"]


def test_keys_on_a_real_terminal(busy: Client, valkey_url: str, name: str, tmp_path: Path) -> None:
    busy.queue("archive").put("x")
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("archive")
        assert "\x1b[?1049h" in terminal.text
        terminal.press("s")
        terminal.until("by name")
        terminal.press("\x1b[B\r")
        terminal.until("put 1 in all, done 0")
        terminal.press("\r")
        terminal.until("smtp")
        terminal.press("p")
        terminal.until("view paused")
        terminal.press("?")
        terminal.until("next sort order")
        terminal.press("?p")
        terminal.until("by name  ? help")
        busy.queue("fresh").put("x")
        terminal.until("fresh")
        terminal.press("q")

        assert terminal.end() == 0
        assert terminal.as_it_was()


@pytest.mark.parametrize(
    ("how", "code"),
    [("\x03", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["ctrl-c", "terminate", "hang up"],
)
def test_the_terminal_is_as_it_was_however_it_ends(
    busy: Client, valkey_url: str, name: str, tmp_path: Path, how: str | signal.Signals, code: int
) -> None:
    assert busy.queues()
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("mail")
        if isinstance(how, str):
            terminal.press(how)
        else:
            terminal.process.send_signal(how)

        assert terminal.end() == code
        assert terminal.as_it_was()
        assert "Traceback" not in terminal.text


def test_pages_of_queues_on_a_real_terminal(valkey_url: str, name: str, tmp_path: Path) -> None:
    with headrace.connect(valkey_url, namespace=name) as hr:
        for number in range(QUEUES + 1):
            hr.queue(f"queue-{number:03}").configure(retries=1)
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("queue-000")
        terminal.press("\x1b[C")
        terminal.until(f"queue-{QUEUES}")
        terminal.press("\x1b[D")
        terminal.until("queue-000")
        terminal.press("q")

        assert terminal.end() == 0


def test_another_size_is_drawn_at_once(
    busy: Client, valkey_url: str, name: str, tmp_path: Path
) -> None:
    assert busy.queues()
    command = ["top", "--url", valkey_url, "-n", name, "--interval", "3600"]
    with on_a_terminal(*command, cwd=tmp_path, columns=40, lines=6) as terminal:
        assert "oldest" not in terminal.until("mail")
        terminal.resize(150, 30)
        terminal.until("oldest")
        terminal.press("q")

        assert terminal.end() == 0


def test_it_goes_on_when_the_server_comes_back(tmp_path: Path) -> None:
    with restartable() as server:
        with headrace.connect(server.url, namespace="shop") as hr:
            hr.queue("mail").put("x")
        with on_a_terminal(*arguments(server.url, "shop"), cwd=tmp_path) as terminal:
            terminal.until("mail")
            server.kill()
            terminal.until("no connection, trying again")
            server.start()
            terminal.text = ""
            terminal.until("done/s 0.0")
            server.kill()
            terminal.text = ""
            terminal.until("no connection, trying again")
            terminal.press("q")

            assert terminal.end() == 0
            assert terminal.as_it_was()


def test_a_fault_is_told_when_the_terminal_is_back(
    busy: Client, valkey_url: str, name: str, tmp_path: Path
) -> None:
    """Something else has made a key of another type of one of ours."""
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("mail")
        with redis.Redis.from_url(valkey_url) as direct:
            [waiting] = busy.queue("mail").peek(1)
            direct.set(f"hr:{{{name}:0}}:job:{waiting.id}", b"nonsense")

        assert terminal.end() == 1
        assert terminal.as_it_was()
        until(lambda: "Traceback" in terminal.text or "headrace:" in terminal.text, "it is told")
