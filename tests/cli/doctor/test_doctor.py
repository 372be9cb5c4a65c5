"""The checks of `doctor`, on healthy and unhealthy servers."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client
from headrace.cli.connecting import ServerOptions
from headrace.cli.doctor import machine, namespace, server
from headrace.cli.doctor.command import examine, without_secrets
from headrace.cli.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, WARNING, Finding
from headrace.engine.script import LIBRARY, PREFIX
from headrace.errors import InvalidArgument
from headrace.operations.lakes import mark_lake
from headrace.testing import open_with_clock
from headrace.transport.drive import drive
from tests.docs.support.pages import ROOT
from tests.engine.support.sink_scripts import SinkScripts
from tests.support import servers

MAIN = "from headrace.cli.main import main; main()"
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")} | {
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "FORCE_COLOR": "",
}
PAGE = ROOT / "docs" / "guides" / "operations.md"


@pytest.fixture
def own() -> Iterator[str]:
    """Return the URL of a server whose settings the test may change."""
    with servers.valkey() as url:
        yield url


@pytest.fixture
def name() -> str:
    return f"doctor-{uuid4().hex[:8]}"


@pytest.fixture
def client(valkey_url: str, name: str) -> Iterator[Client]:
    """Return a client that uses the server's clock, as the doctor does."""
    with headrace.connect(valkey_url, namespace=name) as found:
        yield found


def names() -> list[str]:
    """Return the names of all checks."""
    of_nodes = [title for title, _ in server.CHECKS]
    of_namespace = [title for title, _ in namespace.CHECKS]
    return ["url", *of_nodes, "namespace", *of_namespace, *(title for title, _ in machine.CHECKS)]


def looked(url: str | None, name: str = "default") -> dict[str, Finding]:
    """Run the checks of the server and the namespace, without those of this machine."""
    made = examine(ServerOptions(url, name))
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


def test_healthy_server_exits_with_0_and_prints_a_line_per_check(tmp_path: Path) -> None:
    with servers.valkey() as url:
        with redis.Redis.from_url(url) as direct:
            direct.config_set("appendonly", "yes")
            servers.until(
                lambda: direct.info("persistence")["aof_rewrite_in_progress"] == 0, "AOF is on"
            )
        with headrace.connect(url) as hr:
            hr.queue("mail").put("x")
            hr.session("ann").serve("mail")

        output = doctor(cwd=tmp_path, HEADRACE_URL=url)

    assert (output.returncode, output.stderr) == (0, "")
    lines = output.stdout.splitlines()
    assert lines[-1] == f"{len(names())} checks, problems: 0, warnings: 0"
    assert "\x1b" not in output.stdout
    assert f"{url}, from HEADRACE_URL" in lines[1]
    for check in names():
        assert any(f" {check} " in line for line in lines), check


def test_problem_exits_with_1_and_is_in_the_json_output(tmp_path: Path) -> None:
    output = doctor("--json", cwd=tmp_path)

    found = json.loads(output.stdout)
    assert output.returncode == 1
    assert found["problems"] == 1
    [row] = [row for row in found["checks"] if row["verdict"] == PROBLEM]
    assert row == {
        "check": "server",
        "node": "",
        "verdict": "problem",
        "found": "no embedded server runs here",
        "advice": "run headrace up, or pass --url",
    }
    assert not (tmp_path / ".headrace").exists(), "the doctor starts no server"


def test_warnings_exit_with_1_only_with_strict(own: str, tmp_path: Path) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.config_set("save", "3600 1")

    codes = [doctor(*more, "--url", own, cwd=tmp_path).returncode for more in ([], ["--strict"])]

    assert codes == [0, 1]


def test_terminal_output_is_a_coloured_table(tmp_path: Path) -> None:
    # Not every system has script(1).
    code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    output = subprocess.run(
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

    assert output.returncode == 1
    assert b"\x1b[1;31mproblem" in output.stdout
    assert b"\x1b[32mok" in output.stdout


def test_invalid_namespace_is_a_one_line_error(tmp_path: Path, valkey_url: str) -> None:
    output = doctor("--url", valkey_url, "-n", "a b\n{", cwd=tmp_path)

    assert (output.returncode, output.stdout) == (2, "")
    assert len(output.stderr.splitlines()) == 1


# no side effects, no secrets


def test_missing_namespace_is_not_created(valkey_url: str, name: str) -> None:
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
        ("ann:secret@host", "an invalid URL"),
        ("secret", "an invalid URL"),
        ("redis://[secret", "an invalid URL"),
    ],
)
def test_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


@pytest.mark.parametrize(
    "url", ["secret", "redis://ann:sec/ret@host", "redis://ann:secret@127.0.0.1:1", "redis://[sec"]
)
def test_unusable_url_is_a_problem_without_the_password(url: str) -> None:
    found = looked(url)

    assert found["server"].verdict == PROBLEM
    assert not any("sec" in row.found.replace("seconds", "") for row in found.values())


def test_wrong_password_is_a_problem_and_not_shown(own: str) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.execute_command("ACL", "SETUSER", "ann", "on", ">right", "~*", "&*", "+@all")

    found = looked(own.replace("unix://", "unix://ann:secret@"))

    assert found["server"].verdict == PROBLEM
    assert not any("secret" in row.found + row.advice for row in found.values())


def test_empty_namespace_raises(valkey_url: str) -> None:
    with pytest.raises(InvalidArgument):
        looked(valkey_url, "")


# the server


def test_eviction_and_missing_durability_are_problems(own: str) -> None:
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


def test_past_evictions_are_a_problem_even_with_noeviction(own: str) -> None:
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


def test_fsync_policies() -> None:
    found = [server.fsync_policy(policy) for policy in ("always", "everysec", "no")]

    assert [one.verdict for one in found] == [OK, OK, WARNING]
    assert "loses nothing" in found[0].found
    assert "everysec" in found[2].advice


def test_versions_before_7_are_too_old() -> None:
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
        (server.connection_count(79, 100), OK),
        (server.connection_count(80, 100), WARNING),
        (server.connection_count(95, 100), PROBLEM),
        (server.connection_count(5, 0), OK),
        (server.round_trip(0.009, 1), OK),
        (server.round_trip(0.010, 1), WARNING),
        (namespace.log_length(1_101_000, 1_000_000), OK),
        (namespace.log_length(1_101_001, 1_000_000), WARNING),
        (machine.file_limit(1023), WARNING),
        (machine.file_limit(1024), OK),
        (machine.file_limit(resource.RLIM_INFINITY), OK),
        (machine.java_for_spark(None, None), WARNING),
        (machine.java_for_spark("/usr/lib/jvm/java-17", None), OK),
        (machine.java_for_spark(None, "21.0.8"), OK),
        (machine.pyspark_version(None), NOT_APPLICABLE),
        (machine.pyspark_version("4.1.3"), WARNING),
        (machine.pyspark_version("4.2.0"), OK),
        (machine.workers_python("python", sys.executable), OK),
        (machine.workers_python("false", shutil.which("false")), WARNING),
        (machine.workers_python("nowhere", None), WARNING),
    ],
)
def test_thresholds(finding: Finding, verdict: str) -> None:
    assert finding.verdict == verdict
    assert bool(finding.advice) == (verdict != OK)


def test_lagging_replica_is_detected_in_info() -> None:
    line = "ip=::1,port=6380,state={},offset=1,lag={}"

    assert [
        server.lags(line.format(*result))
        for result in (("online", 1), ("online", 11), ("wait_bgsave", 0))
    ] == [False, True, True]


def test_replica_is_reported_on_primary_and_replica() -> None:
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

    assert (seen["replicas"].verdict, seen["replicas"].found) == (OK, "1 replica, all up to date")
    assert itself["server"].verdict == PROBLEM
    assert "replica" in itself["server"].found


def test_slow_scripts_are_named_without_arguments() -> None:
    pop = LIBRARY.operations["pop"].function
    entries = [
        (3, 0, 150_000, [b"FCALL", pop, b"1", b"payload"]),
        (2, 0, 30_000, [b"fcall", pop, b"1"]),
        (1, 0, 20_000, [b"KEYS", b"payload*"]),
        (0, 0, 11_000, [b"EVALSHA", b"0" * 40]),
    ]

    found = server.slowness(entries)

    assert found.verdict == WARNING
    assert found.found.startswith(
        "Headrace's pop 2x, up to 150 ms; KEYS 1x, up to 20 ms; a function"
    )
    assert "payload" not in found.found
    assert server.slowness(entries[1:]).verdict == OK
    assert server.slowness([]).verdict == OK


def test_slow_script_is_found_on_a_real_server(own: str) -> None:
    with redis.Redis.from_url(own) as direct:
        direct.config_set("slowlog-log-slower-than", 0)
        with headrace.connect(own, namespace="slow") as hr:
            hr.queue("mail").put("x")

    found = looked(own, "slow")

    assert "Headrace's put " in found["slow scripts"].found
    assert "redis-py" in found["clients"].found


RIGHTS = "~hr:{shop:* &hr:{shop:* -@all +evalsha +script|load +ping +time +exists +hmget +hgetall"


def test_missing_right_is_reported_with_the_acl_command(own: str) -> None:
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
        assert (row.verdict, row.found) == (
            NOT_APPLICABLE,
            f"not checked: the user may not run {command}",
        )
        assert row.advice == f"allow the command with ACL SETUSER <user> {right}"
    assert refused["latency"].verdict == OK
    assert refused["namespace"].found == "'shop': layout 2, shards: 1"
    assert allowed["server"].verdict == OK
    assert allowed["durability"].verdict == WARNING
    assert with_aof["durability"].verdict == NOT_APPLICABLE
    assert "+config|get" in with_aof["durability"].advice


def test_missing_command_is_reported() -> None:
    with ExitStack() as running:
        port = servers.listen(running, None, "--rename-command", "SLOWLOG", "")
        found = looked(f"redis://{servers.HOST}:{port}")

    assert found["slow scripts"].verdict == NOT_APPLICABLE
    assert "provider" in found["slow scripts"].advice


def test_every_node_of_a_cluster_is_checked_once() -> None:
    with servers.cluster() as url:
        with headrace.connect(url, namespace="wide", shards=4) as hr:
            hr.queue("mail").put_many(range(10))
        load_on_primaries(url, old := f"{PREFIX}0123456789ab", old, f"{PREFIX}0123456789ac")
        by_another_name = url.replace("127.0.0.1", "localhost")
        found = list(examine(ServerOptions(by_another_name, "wide")))

    for check in ("server", "memory", "clients"):
        assert len({row.node for row in found if row.check == check}) == 3, check
    assert sum(row.check == "server" for row in found) == 3
    [functions] = [row for row in found if row.check == "functions"]
    assert "other versions: 0 in use, 2 without a client" in functions.found
    [books] = [row for row in found if row.check == "books"]
    assert books.found == "10 jobs in 1 queue: the books balance"


def load_on_primaries(url: str, *names: str) -> None:
    """Load one library with one function on each primary of a Cluster."""
    with redis.RedisCluster.from_url(url) as cluster:
        for node, name in zip(cluster.get_primaries(), names, strict=True):
            cluster.get_redis_connection(node).function_load(
                f"#!lua name={name}\nredis.register_function('{name}_f', function() end)"
            )


# the namespace


def test_quiet_namespace_is_ok(valkey_url: str, client: Client, name: str) -> None:
    client.queue("mail").put("x")
    client.queue("mail").pop("ann")

    found = looked(valkey_url, name)

    for check in ("namespace", "books", "overdue", "workers", "failures", "event log"):
        assert found[check].verdict == OK, found[check]
    assert found["schedules"].verdict == NOT_APPLICABLE
    assert found["lakes"].verdict == NOT_APPLICABLE
    assert found["writes"].verdict == NOT_APPLICABLE


def test_unpublished_write_is_a_warning(valkey_url: str, client: Client, name: str) -> None:
    SinkScripts(client).stage_and_commit("t", "job")
    found = looked(valkey_url, name)["writes"]
    assert (found.verdict, found.found) == (OK, "1 recent write, all published")

    client.core.transport.send(
        [(0, ("HSET", client.core.key(0, "write:batch:w"), "committed_at", 1))]
    )
    found = looked(valkey_url, name)["writes"]
    assert (found.verdict, found.advice) == (
        WARNING,
        "run headrace sweep, which publishes these writes",
    )


def test_advice_for_lost_rows_names_an_existing_method(
    valkey_url: str, client: Client, name: str
) -> None:
    SinkScripts(client).stage_and_commit("t", "job")
    key = client.core.key(0, "write:batch:w")
    client.core.transport.send([(0, ("HSET", key, "published_at", 1, "lost", "0=2"))])

    found = looked(valkey_url, name)["writes"]

    assert (found.verdict, found.found) == (WARNING, "the server has lost rows of 1 write: w")
    assert found.advice.startswith("client.writes.get(id).lost counts lost rows for each shard")
    written = client.writes.get("w")
    assert written is not None
    assert written.lost == {0: 2}


def test_lagging_lake_is_a_warning(valkey_url: str, client: Client, name: str) -> None:
    drive(client.core.transport, mark_lake(client, "history", {0: "0-0"}))
    client.queue("mail").put_many(range(1200))
    found = looked(valkey_url, name)["lakes"]
    assert (found.verdict, found.found) == (OK, "1 lake, at most 1,200 events behind")

    client.config.set("events_count", 50)
    found = looked(valkey_url, name)["lakes"]
    assert found.verdict == WARNING
    assert found.found.startswith("lake history is 1,201 events behind on shard 0, more than")
    assert looked(valkey_url, name)["event log"].verdict == OK

    client.config.set("events_cap", 100)
    client.queue("mail").put_many(range(1200))
    found = looked(valkey_url, name)["lakes"]
    assert "shard 0: the server keeps at most 100 events for a lake" in found.found
    assert "events of shard 0 that a lake had not copied" in found.found


def test_unbalanced_books_are_a_problem(valkey_url: str, client: Client, name: str) -> None:
    client.queue("mail").put("x")
    with redis.Redis.from_url(valkey_url) as direct:
        direct.hincrby(f"hr:{{{name}:0}}:books:mail", "waiting", 1)

    found = looked(valkey_url, name)["books"]

    assert found.verdict == PROBLEM
    assert "the books say 2 waiting, but 1 exist" in found.found


def test_overdue_jobs_are_a_warning(valkey_url: str, name: str) -> None:
    """The test's clock is far in the past, so everything is overdue."""
    hr, _ = open_with_clock(valkey_url, namespace=name)
    with hr:
        mail = hr.queue("mail")
        mail.put_many(["a", "b"])
        mail.pop("ann", count=2, lease=30)
        hr.queue("post").put("c", delay=5)
        mail.schedule("nightly", "clean", every=60)

        found = looked(valkey_url, name)

    assert found["overdue"].verdict == WARNING
    assert "mail has 2 expired leases, post has 1 due job" in found["overdue"].found
    assert found["schedules"].verdict == WARNING
    assert "nightly" in found["schedules"].found


def test_unserved_queue_is_a_warning(valkey_url: str, client: Client, name: str) -> None:
    for queue in ("served", "held", "paused", "alone"):
        client.queue(queue).put_many(["x", "y"])
    client.session("ann", ttl=None).serve("served")
    client.queue("held").pop("bob")
    client.queue("paused").pause()

    found = looked(valkey_url, name)["workers"]

    assert found.verdict == WARNING
    assert found.found.endswith("no worker with a session: alone (2 waiting)")


def test_only_failures_of_the_last_hour_are_a_warning(
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
    assert fresh.found == "1 failed job in mail, 1 of them in the last hour"


def test_unknown_layout_is_a_problem(valkey_url: str, client: Client, name: str) -> None:
    assert client.queues() == {}
    with redis.Redis.from_url(valkey_url) as direct:
        direct.hset(f"hr:{{{name}:0}}:meta", "layout", 99)

    found = looked(valkey_url, name)

    assert found["namespace"].verdict == PROBLEM
    assert "layout 99" in found["namespace"].found
    assert "books" not in found


def test_control_characters_in_names_are_escaped(
    valkey_url: str, client: Client, name: str, tmp_path: Path
) -> None:
    client.queue("\x9b31mred").put("x")

    output = doctor("--url", valkey_url, "-n", name, cwd=tmp_path)

    assert "\x9b" not in output.stdout
    assert "\\x9b31mred (1 waiting)" in output.stdout


# this machine


def test_java_is_checked_only_if_pyspark_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_version", lambda _: None)
    assert machine.java().verdict == NOT_APPLICABLE

    monkeypatch.undo()
    session = import_module("headrace.spark.session")
    monkeypatch.setattr(session, "installed_java", lambda: "/usr/lib/jvm")
    assert machine.java().found == "Java in /usr/lib/jvm; only the pipeline needs PySpark and Java"


def test_docs_list_every_check() -> None:
    section = PAGE.read_text().partition("## Doctor\n")[2].partition("\n## ")[0]

    listed = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]

    assert listed[2:] == list(names())
