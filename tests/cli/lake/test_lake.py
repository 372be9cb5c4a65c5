"""The lake commands, and recovery from a killed sync."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import headrace
from headrace import Client
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import DataFile, LogRange
from headrace.operations.event_log import logs
from headrace.operations.lakes import mark_lake
from headrace.transport.drive import drive
from tests.cli.conftest import RunCommand


@pytest.fixture
def lake(client: Client, tmp_path: Path) -> Lake:
    """Return a lake that has the first five of twelve events."""
    client.queue("mail").put_many(range(12))
    [log] = drive(client.core.transport, logs(client.core))
    made = Lake.create(LocalFiles(tmp_path), client.core.namespace, [log.begun_ms])
    fifth = list(client.events())[4].entry_id
    file = DataFile(path="events/x", day=dt.date(2026, 11, 1), queue="mail", rows=5, bytes=2000)
    made.commit(
        made.snapshot(), "b", ranges=[LogRange(shard=0, after="0-0", to=fifth)], added=[file]
    )
    drive(client.core.transport, mark_lake(client, made.identity.id, {0: fifth}))
    return made


def test_status_shows_contents_and_lag(cli: RunCommand, lake: Lake) -> None:
    result = cli("lake", "status", "--lake", str(lake.files))
    assert (result.code, result.err) == (0, "")
    assert ["events", "5"] in result.rows
    assert ["files", "1,", "2", "kB"] in result.rows
    assert ["days", "2026-11-01", "to", "2026-11-01"] in result.rows
    [row] = [row for row in result.rows if row[:1] == ["0"]]
    assert row[:4] == ["0", "7", "0", "0"]

    facts = cli("lake", "status", "--lake", str(lake.files), "--json").json
    assert (facts["rows"], facts["missing"], facts["commits"]) == (5, 0, 1)
    assert facts["shards"][0]["behind"] == 7
    assert facts["warnings"] == []


def test_status_warns_about_a_large_lag(cli: RunCommand, client: Client, lake: Lake) -> None:
    client.config.set("events_count", 3)
    result = cli("lake", "status", "--lake", str(lake.files))
    assert (
        f"headrace: lake {lake.identity.id} is 8 events behind on shard 0, more than" in result.err
    )
    facts = cli("lake", "status", "--lake", str(lake.files), "--json").json
    assert len(facts["warnings"]) == 1


def test_status_without_a_lake_names_lake_sync(cli: RunCommand, tmp_path: Path) -> None:
    result = cli("lake", "status", "--lake", str(tmp_path))
    assert result.code == 1
    assert (
        result.err
        == f"headrace: there is no lake in {tmp_path}: create one with headrace lake sync\n"
    )


def test_status_does_not_load_spark_or_arrow(valkey_url: str, client: Client, lake: Lake) -> None:
    code = f"""
import sys
from headrace.cli.main import main
sys.argv = ["headrace", "lake", "status", "--lake", {str(lake.files)!r}]
try:
    main()
except SystemExit:
    pass
print("loaded", *sys.modules)
"""
    env = {"HEADRACE_URL": valkey_url, "HEADRACE_NAMESPACE": client.core.namespace}
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    out, _, loaded = output.stdout.rpartition("loaded")
    assert "namespace" in out
    assert {"pyspark", "pyarrow", "pandas"}.isdisjoint(loaded.split())


def test_forget_removes_the_lake_from_the_server(
    cli: RunCommand, client: Client, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("--lake", str(lake.files))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    result = cli("lake", "forget", *place)
    assert result.code == 1
    assert "The lake lacks 7 events" in result.err
    assert len(client.lakes.list()) == 1

    result = cli("lake", "forget", *place, "--yes")
    assert result.out == f"The server no longer keeps events for lake {lake.identity.id}.\n"
    assert client.lakes.list() == []
    result = cli("lake", "forget", lake.identity.id, "--json")
    assert result.json == {"lake": lake.identity.id, "forgotten": False, "behind": 0}
    result = cli("lake", "status", *place)
    assert "The server keeps no events for this lake" in result.out


@pytest.mark.parametrize("package", ["pyspark", "pyarrow", "pandas"])
@pytest.mark.parametrize("command", ["sync", "compact"])
def test_error_names_the_extra_if_a_package_is_missing(command: str, package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
from headrace.cli.main import main
sys.argv = ["headrace", "lake", {command!r}]
main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.endswith(f"needs the package {package}: pip install 'headrace[spark]'\n")


@contextmanager
def syncing(url: str, namespace: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a sync, with its Spark processes, in a new process group."""
    process = subprocess.Popen(
        [Path(sys.executable).with_name("headrace"), "lake", "sync", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"HEADRACE_URL": url, "HEADRACE_NAMESPACE": namespace},
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def numbers_in(lake: Lake) -> list[tuple[int, int]]:
    root = Path(str(lake.files))
    tables = [pq.ParquetFile(root / file.path).read() for file in lake.snapshot().files]
    rows: list[Any] = [row for table in tables for row in table.to_pylist()]
    return sorted((row["shard"], row["number"]) for row in rows)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_killed_sync_continues_where_it_stopped(
    valkey_url: str, client: Client, tmp_path: Path
) -> None:
    mail = client.queue("mail")
    mail.put_many(range(3000))
    words = ("--to", str(tmp_path), "--follow", "--interval", "100ms", "--batch", "500")
    with syncing(valkey_url, client.core.namespace, *words, "--json") as first:
        assert first.stdout is not None
        batch = json.loads(first.stdout.readline())
        assert (batch["number"], batch["events"], batch["behind"]) == (1, 500, 2500)
        os.killpg(first.pid, signal.SIGKILL)
    lake = Lake.open(LocalFiles(tmp_path))
    assert lake.snapshot().number < 6
    assert client.lakes.list()[0].behind >= 3000 - lake.snapshot().rows

    mail.put_many(range(100))
    with syncing(valkey_url, client.core.namespace, *words) as second:
        assert second.stdout is not None
        assert second.stderr is not None
        while lake.snapshot().rows < 3100:
            assert second.stdout.readline(), second.stderr.read()
        os.kill(second.pid, signal.SIGINT)
        result, chatter = second.communicate()
        assert second.returncode == 0
    assert result.splitlines()[-1].endswith(f"into {tmp_path}")
    assert chatter.splitlines() == [
        "starting Spark…",
        "stopping after the current batch; press Ctrl-C again to stop now",
    ]
    assert numbers_in(lake) == [(0, number) for number in range(1, 3101)]
    assert client.lakes.list()[0].behind == 0


def test_lake_of_another_namespace_is_refused_before_spark_starts(
    cli: RunCommand, valkey_url: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with headrace.connect(valkey_url, namespace="other"):
        monkeypatch.setenv("HEADRACE_NAMESPACE", "other")
        result = cli("lake", "sync", "--to", str(lake.files))
    assert result.code == 1
    assert "use a separate lake for each namespace" in result.err
    assert "starting Spark" not in result.err


@pytest.mark.parametrize("words", ["sync --to", "status --lake", "sql select --lake"])
def test_empty_path_is_refused(cli: RunCommand, words: str) -> None:
    result = cli("lake", *words.split(), "")
    assert result.code == 2
    assert "the path is empty" in result.err


def test_path_of_a_file_is_a_one_line_error(cli: RunCommand, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    result = cli("lake", "status", "--lake", str(place))
    assert result.code == 1
    assert result.err.startswith("headrace: ")
    assert str(place) in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("into", ["", "x\ty", "x" * 251])
def test_replay_refuses_an_invalid_queue_name(cli: RunCommand, into: str) -> None:
    result = cli("lake", "replay", "--where", "true", "--into", into, "--yes")
    assert result.code == 2
    assert "--into" in result.err
