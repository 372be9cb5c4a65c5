"""`headrace doctor`: every check, on real servers that are well and that are not."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client
from headrace.cli.doctor import machine, server
from headrace.cli.doctor.examine import examine, names, without_secrets
from headrace.cli.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, WARNING, Checked, Finding
from headrace.cli.doctor.namespace import log_length
from headrace.client.scratch import scratch_directory
from headrace.client.talk import drive
from headrace.client.talks.lakes import mark_lake
from headrace.engine.script import LIBRARY
from headrace.errors import InvalidArgument
from headrace.testing import open_with_clock
from tests import servers
from tests.engine.desk import Desk

MAIN = "from headrace.cli.main import main; main()"
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")} | {
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "FORCE_COLOR": "",
}
PAGE = Path(__file__).parent.parent.parent / "docs" / "operations.md"


@pytest.fixture
def own() -> Iterator[str]:
    """The URL of a server whose settings the test may change."""
    with servers.valkey() as url:
        yield url


@pytest.fixture
def name() -> str:
    return f"doctor-{uuid4().hex[:8]}"


@pytest.fixture
def client(valkey_url: str, name: str) -> Iterator[Client]:
    """A client whose clock is the server's: so is that of the doctor."""
    with headrace.connect(valkey_url, namespace=name) as found:
        yield found


def looked(url: str | None, name: str = "default") -> dict[str, Checked]:
    """The checks of the server and the namespace; those of this machine come last."""
    made = examine(url, name, from_environment=False)
    return {one.check: one for one in takewhile(lambda one: one.check != "versions", made)}


def doctor(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, "doctor", *arguments],
        cwd=cwd,
        env=PLAIN | environment,
        capture_output=True,
        text=True,
        check=False,
    )


# the command


def test_a_healthy_server_is_exit_code_0_and_a_line_for_each_check(tmp_path: Path) -> None:
    with servers.valkey() as url:
        with redis.Redis.from_url(url) as direct:
            direct.config_set("appendonly", "yes")
            servers.until(
                lambda: direct.info("persistence")["aof_rewrite_in_progress"] == 0, "AOF is on"
            )
        with headrace.connect(url) as hr:
            hr.queue("mail").put("x")
            hr.session("ann").serve("mail")

        told = doctor(cwd=tmp_path, HEADRACE_URL=url)

    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[-1] == f"{len(list(names()))} checks, problems: 0, warnings: 0"
    assert "\x1b" not in told.stdout
    assert f"{url}, from HEADRACE_URL" in lines[0]
    for check in names():
        assert any(f" {check} " in line for line in lines), check


def test_a_problem_is_exit_code_1_and_programs_are_told_the_same(tmp_path: Path) -> None:
    told = doctor("--json", cwd=tmp_path)

    found = json.loads(told.stdout)
    assert told.returncode == 1
    assert found["problems"] == 1
    [row] = [row for row in found["checks"] if row["verdict"] == PROBLEM]
    assert row == {
        "check": "server",
        "node": "",
        "verdict": "problem",
        "found": "no server runs here",
        "advice": "headrace up, or give the --url of a server",
    }
    assert not (tmp_path / ".headrace").exists(), "the doctor starts no server"


def test_warnings_alone_are_exit_code_0_unless_it_is_strict(own: str, tmp_path: Path) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.config_set("save", "3600 1")

    codes = [doctor(*more, "--url", own, cwd=tmp_path).returncode for more in ([], ["--strict"])]

    assert codes == [0, 1]


def test_on_a_terminal_it_is_a_table_with_colours(tmp_path: Path) -> None:
    # script(1) would do, but is not everywhere.
    code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    told = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-c", MAIN, "doctor"],
        cwd=tmp_path,
        env={
            name: value for name, value in PLAIN.items() if name not in ("NO_COLOR", "FORCE_COLOR")
        }
        | {"TERM": "xterm-256color", "COLUMNS": "80"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )

    assert told.returncode == 1
    assert b"\x1b[1;31mproblem" in told.stdout
    assert b"\x1b[32mok" in told.stdout


def test_a_wrong_name_of_a_namespace_is_one_line(tmp_path: Path, valkey_url: str) -> None:
    told = doctor("--url", valkey_url, "-n", "a b\n{", cwd=tmp_path)

    assert (told.returncode, told.stdout) == (2, "")
    assert len(told.stderr.splitlines()) == 1


# what it must not do


def test_a_namespace_that_is_not_there_is_not_made(valkey_url: str, name: str) -> None:
    found = looked(valkey_url, name)

    assert found["namespace"].verdict == NOT_APPLICABLE
    assert name in found["namespace"].found
    assert "books" not in found
    with redis.Redis.from_url(valkey_url) as direct:
        assert direct.keys(f"hr:{{{name}:*") == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://ann:secret@host:6379/0", "redis://host:6379/0"),
        ("redis://:secret@host", "redis://host"),
        ("redis://secret@host", "redis://host"),
        ("redis://host?password=secret", "redis://host"),
        ("unix://ann:secret@/run/valkey.sock?db=1", "unix:///run/valkey.sock"),
        ("redis+sentinel://ann:secret@a:1,b:2/main", "redis+sentinel://a:1,b:2/main"),
        ("redis://ann:sec/ret@host", "redis://..."),
        ("redis://ann:sec?ret@host", "redis://..."),
        ("redis://ann:sec#ret@host", "redis://..."),
        ("ann:secret@host", "a URL that cannot be read"),
        ("secret", "a URL that cannot be read"),
        ("redis://[secret", "a URL that cannot be read"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


@pytest.mark.parametrize(
    "url", ["secret", "redis://ann:sec/ret@host", "redis://ann:secret@127.0.0.1:1", "redis://[sec"]
)
def test_a_url_that_leads_nowhere_is_a_problem_told_without_the_password(url: str) -> None:
    found = looked(url)

    assert found["server"].verdict == PROBLEM
    assert not any("sec" in row.found.replace("seconds", "") for row in found.values())


def test_a_wrong_password_is_a_problem_and_not_shown(own: str) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.execute_command("ACL", "SETUSER", "ann", "on", ">right", "~*", "&*", "+@all")

    found = looked(own.replace("unix://", "unix://ann:secret@"))

    assert found["server"].verdict == PROBLEM
    assert not any("secret" in row.found + row.advice for row in found.values())


def test_a_bad_namespace_is_refused(valkey_url: str) -> None:
    with pytest.raises(InvalidArgument):
        looked(valkey_url, "")


# the server


def test_a_server_that_evicts_or_forgets_is_a_problem(own: str) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.config_set("maxmemory-policy", "allkeys-lru")
        first = looked(own)
        direct.config_set("maxmemory", "100mb")
        second = looked(own)
        direct.config_set("maxmemory", direct.info("memory")["used_memory"])
        third = looked(own)

    assert [found["eviction"].verdict for found in (first, second)] == [WARNING, PROBLEM]
    assert "noeviction" in second["eviction"].advice
    assert [found["memory"].verdict for found in (first, second, third)] == [OK, OK, PROBLEM]
    assert first["durability"].verdict == PROBLEM
    assert "loses every job" in first["durability"].found


def test_a_server_that_has_evicted_keys_is_a_problem_whatever_it_does_now(own: str) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.config_set("maxmemory-policy", "allkeys-lru")
        direct.set("old", "x")
        direct.config_set("maxmemory", "1")
        servers.until(lambda: direct.info("stats")["evicted_keys"] > 0, "a key is evicted")
        direct.config_set("maxmemory", "0")
        direct.config_set("maxmemory-policy", "noeviction")

        found = looked(own)["eviction"]

    assert found.verdict == PROBLEM
    assert "evicted keys" in found.found
    assert "headrace audit" in found.advice


def test_what_the_policies_of_the_aof_mean() -> None:
    found = [server.what_fsync_means(policy) for policy in ("always", "everysec", "no")]

    assert [one.verdict for one in found] == [OK, OK, WARNING]
    assert "loses nothing" in found[0].found
    assert "everysec" in found[2].advice


def test_an_old_server_is_too_old() -> None:
    assert [server.too_old(shown) for shown in ("6.2.14", "7.0.15", "8.2.1")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (server.fullness(74, 100, ""), OK),
        (server.fullness(75, 100, ""), WARNING),
        (server.fullness(90, 100, ""), PROBLEM),
        (server.crowd(79, 100), OK),
        (server.crowd(80, 100), WARNING),
        (server.crowd(95, 100), PROBLEM),
        (server.crowd(5, 0), OK),
        (server.distance(0.009, 1), OK),
        (server.distance(0.010, 1), WARNING),
        (log_length(1_101_000, 1_000_000), OK),
        (log_length(1_101_001, 1_000_000), WARNING),
        (machine.file_limit(1023), WARNING),
        (machine.file_limit(1024), OK),
        (machine.file_limit(resource.RLIM_INFINITY), OK),
        (machine.java_for_spark(None, spark=False), NOT_APPLICABLE),
        (machine.java_for_spark(11, spark=True), WARNING),
        (machine.java_for_spark(17, spark=True), OK),
        (machine.java_for_spark(11, spark=True, embedded="21.0.8"), OK),
        (machine.java_for_spark(None, spark=False, embedded="21.0.8"), NOT_APPLICABLE),
        (machine.pyspark_version(None), NOT_APPLICABLE),
        (machine.pyspark_version("4.1.3"), WARNING),
        (machine.pyspark_version("4.2.0"), OK),
        (machine.workers_python("python", sys.executable), OK),
        (machine.workers_python("false", shutil.which("false")), WARNING),
        (machine.workers_python("nowhere", None), WARNING),
    ],
)
def test_where_the_bounds_are(finding: Finding, verdict: str) -> None:
    assert finding.verdict == verdict
    assert bool(finding.advice) == (verdict != OK)


def test_a_replica_that_is_behind_is_told_from_one_that_is_not() -> None:
    line = "ip=::1,port=6380,state={},offset=1,lag={}"

    assert [
        server.lags(line.format(*said))
        for said in (("online", 1), ("online", 11), ("wait_bgsave", 0))
    ] == [False, True, True]


def test_a_replica_is_seen_from_both_sides() -> None:
    with ExitStack() as running:
        primary = servers.listen(running, None, "--repl-diskless-sync-delay", "0")
        address = f"{servers.HOST} {primary}"
        replica = servers.listen(running, None, "--replicaof", address)
        with redis.Redis(port=primary) as direct:
            servers.until(
                lambda: (
                    "state=online" in str(direct.info("replication").get("slave0"))
                    or direct.info("replication").get("slave0", {}).get("state") == "online"
                ),
                "the replica is online",
            )

        seen = looked(f"redis://{servers.HOST}:{primary}")
        itself = looked(f"redis://{servers.HOST}:{replica}")

    assert (seen["replicas"].verdict, seen["replicas"].found) == (OK, "1, all up to date")
    assert itself["server"].verdict == PROBLEM
    assert "replica" in itself["server"].found


def test_slow_scripts_are_named_by_their_operation_and_arguments_are_not_shown() -> None:
    sha = LIBRARY["pop"].sha.encode()
    entries = [
        (3, 0, 150_000, [b"EVALSHA", sha, b"1", b"payload"]),
        (2, 0, 30_000, [b"evalsha", sha, b"1"]),
        (1, 0, 20_000, [b"KEYS", b"payload*"]),
        (0, 0, 11_000, [b"EVALSHA", b"0" * 40]),
    ]

    found = server.slowness(entries)

    assert found.verdict == WARNING
    assert found.found.startswith("Headrace's pop 2x, up to 150 ms; KEYS 1x, up to 20 ms; a script")
    assert "payload" not in found.found
    assert server.slowness(entries[1:]).verdict == OK
    assert server.slowness([]).verdict == OK


def test_a_slow_script_is_found_on_a_real_server(own: str) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.config_set("slowlog-log-slower-than", 0)
        with headrace.connect(own, namespace="slow") as hr:
            hr.queue("mail").put("x")

    found = looked(own, "slow")

    assert "Headrace's put " in found["slow scripts"].found
    assert "redis-py" in found["clients"].found


RIGHTS = "~hr:{shop:* &hr:{shop:* -@all +evalsha +script|load +ping +time +exists +hmget +hgetall"


def test_what_a_user_may_not_look_at_is_said_with_how_to_allow_it(own: str) -> None:
    with redis.Redis.from_url(own) as direct, headrace.connect(own, namespace="shop"):
        direct.execute_command("ACL", "SETUSER", "shop", "on", ">secret", *RIGHTS.split())
        address = own.replace("unix://", "unix://shop:secret@")
        refused = looked(address, "shop")
        direct.execute_command("ACL", "SETUSER", "shop", "+info")
        allowed = looked(address, "shop")
        direct.config_set("appendonly", "yes")
        with_aof = looked(address, "shop")

    for check, command, right in (
        ("server", "INFO", "+info"),
        ("eviction", "INFO", "+info"),
        ("slow scripts", "SLOWLOG GET", "+slowlog|get"),
        ("clients", "CLIENT LIST", "+client|list"),
    ):
        row = refused[check]
        assert (row.verdict, row.found) == (NOT_APPLICABLE, f"not looked at: may not run {command}")
        assert row.advice == f"allow it with ACL SETUSER <user> {right}"
    assert refused["latency"].verdict == OK
    assert refused["namespace"].found == "'shop': layout 2, shards: 1"
    assert allowed["server"].verdict == OK
    assert allowed["durability"].verdict == WARNING
    assert with_aof["durability"].verdict == NOT_APPLICABLE
    assert "+config|get" in with_aof["durability"].advice


def test_a_command_that_the_server_does_not_have_is_said_so() -> None:
    with ExitStack() as running:
        port = servers.listen(running, None, "--rename-command", "SLOWLOG", "")
        found = looked(f"redis://{servers.HOST}:{port}")

    assert found["slow scripts"].verdict == NOT_APPLICABLE
    assert "provider" in found["slow scripts"].advice


def test_every_node_of_a_cluster_is_looked_at_once() -> None:
    with servers.cluster() as url:
        with headrace.connect(url, namespace="wide", shards=4) as hr:
            hr.queue("mail").put_many(range(10))
        by_another_name = url.replace("127.0.0.1", "localhost")
        found = list(examine(by_another_name, "wide", from_environment=False))

    for check in ("server", "memory", "clients"):
        assert len({row.node for row in found if row.check == check}) == 3, check
    assert sum(row.check == "server" for row in found) == 3
    [books] = [row for row in found if row.check == "books"]
    assert books.found == "10 jobs in 1 queues: the books balance"


# the namespace


def test_a_quiet_namespace_is_well(valkey_url: str, client: Client, name: str) -> None:
    client.queue("mail").put("x")
    client.queue("mail").pop("ann")

    found = looked(valkey_url, name)

    for check in ("namespace", "books", "overdue", "workers", "failures", "event log"):
        assert found[check].verdict == OK, found[check]
    assert found["schedules"].verdict == NOT_APPLICABLE
    assert found["lakes"].verdict == NOT_APPLICABLE
    assert found["writes"].verdict == NOT_APPLICABLE


def test_a_write_that_nobody_publishes_is_a_warning(
    valkey_url: str, client: Client, name: str
) -> None:
    Desk(client).decided("b", "job")
    found = looked(valkey_url, name)["writes"]
    assert (found.verdict, found.found) == (OK, "1 lately, all published")

    client.core.wire.send([(0, ("HSET", client.core.key(0, "write:batch:w"), "committed_at", 1))])
    found = looked(valkey_url, name)["writes"]
    assert (found.verdict, found.advice) == (
        WARNING,
        "run headrace sweep, which publishes what is left of them",
    )


def test_a_lake_that_lags_is_a_warning(valkey_url: str, client: Client, name: str) -> None:
    drive(client.core.wire, mark_lake(client, "history", {0: "0-0"}))
    client.queue("mail").put_many(range(1200))
    found = looked(valkey_url, name)["lakes"]
    assert (found.verdict, found.found) == (OK, "1, at most 1,200 events behind")

    client.config.set("events_count", 50)
    found = looked(valkey_url, name)["lakes"]
    assert found.verdict == WARNING
    assert found.found.startswith("lake history is 1,200 events behind on shard 0, more than")
    assert looked(valkey_url, name)["event log"].verdict == OK

    client.config.set("events_cap", 100)
    client.queue("mail").put_many(range(1200))
    found = looked(valkey_url, name)["lakes"]
    assert "above 100 they are dropped" in found.found
    assert "were dropped before every lake had them" in found.found


def test_books_that_do_not_balance_are_a_problem(
    valkey_url: str, client: Client, name: str
) -> None:
    client.queue("mail").put("x")
    with redis.Redis.from_url(valkey_url) as direct:
        direct.hincrby(f"hr:{{{name}:0}}:books:mail", "waiting", 1)

    found = looked(valkey_url, name)["books"]

    assert found.verdict == PROBLEM
    assert "the books say 2 waiting, there are 1" in found.found


def test_what_is_overdue_and_nobody_pops_is_a_warning(valkey_url: str, name: str) -> None:
    """The clock of the test stands at a moment long past."""
    hr, _ = open_with_clock(valkey_url, namespace=name)
    with hr:
        mail = hr.queue("mail")
        mail.put_many(["a", "b"])
        mail.pop("ann", count=2, lease=30)
        hr.queue("post").put("c", delay=5)
        mail.schedule("nightly", "clean", every=60)

        found = looked(valkey_url, name)

    assert found["overdue"].verdict == WARNING
    assert "mail has 2 lost leases, post has 1 due jobs" in found["overdue"].found
    assert found["schedules"].verdict == WARNING
    assert "nightly" in found["schedules"].found


def test_a_queue_that_no_worker_serves_is_a_warning(
    valkey_url: str, client: Client, name: str
) -> None:
    for queue in ("served", "held", "paused", "alone"):
        client.queue(queue).put_many(["x", "y"])
    client.session("ann", ttl=None).serve("served")
    client.queue("held").pop("bob")
    client.queue("paused").pause()

    found = looked(valkey_url, name)["workers"]

    assert found.verdict == WARNING
    assert "serves alone (2 waiting)," in found.found


def test_failures_of_the_last_hour_are_a_warning_older_ones_are_not(
    valkey_url: str, client: Client, name: str
) -> None:
    client.queue("mail").put("x")
    [lease] = client.queue("mail").pop("ann")
    lease.fail("smtp", "busy")
    fresh = looked(valkey_url, name)["failures"]

    old, _ = open_with_clock(valkey_url, namespace=f"{name}-old")
    with old:
        old.queue("mail").put("x")
        old.queue("mail").pop("ann")[0].fail("smtp", "busy")
        stale = looked(valkey_url, f"{name}-old")["failures"]

    assert (fresh.verdict, stale.verdict) == (WARNING, OK)
    assert fresh.found == "1 jobs are failed, 1 of them since an hour, in mail"


def test_a_namespace_of_another_layout_is_a_problem(
    valkey_url: str, client: Client, name: str
) -> None:
    assert client.queues() == {}
    with redis.Redis.from_url(valkey_url) as direct:
        direct.hset(f"hr:{{{name}:0}}:meta", "layout", 99)

    found = looked(valkey_url, name)

    assert found["namespace"].verdict == PROBLEM
    assert "layout 99" in found["namespace"].found
    assert "books" not in found


def test_names_of_others_give_the_terminal_no_orders(
    valkey_url: str, client: Client, name: str, tmp_path: Path
) -> None:
    client.queue("\x9b31mred").put("x")

    told = doctor("--url", valkey_url, "-n", name, cwd=tmp_path)

    assert "\x9b" not in told.stdout
    assert "\\x9b31mred (1 waiting)" in told.stdout


# this machine


def test_the_version_of_java_is_read() -> None:
    with scratch_directory() as home:
        (home / "bin").mkdir()
        program = home / "bin" / "java"
        for said, version in (('openjdk version "17.0.9"', 17), ('java version "1.8.0_1"', 8)):
            program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
            program.chmod(0o755)
            assert machine._java_version({"JAVA_HOME": str(home)}) == version
        program.unlink()
        assert machine._java_version({"JAVA_HOME": str(home)}) is None


def test_the_page_lists_every_check() -> None:
    section = PAGE.read_text().partition("## Doctor\n")[2].partition("\n## ")[0]

    listed = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]

    assert listed[2:] == list(names())
