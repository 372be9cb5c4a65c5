"""What the commands of a lake say, and what becomes of one whose sync is killed."""

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
from tests.cli.conftest import Type


@pytest.fixture
def lake(client: Client, tmp_path: Path) -> Lake:
    """A lake that has the first five of twelve events."""
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


def test_status_tells_what_the_lake_has_and_lacks(typed: Type, lake: Lake) -> None:
    said = typed("lake", "status", "--lake", str(lake.files))
    assert (said.code, said.err) == (0, "")
    assert ["events", "5"] in said.rows
    assert ["files", "1,", "2", "kB"] in said.rows
    assert ["days", "2026-11-01", "to", "2026-11-01"] in said.rows
    [row] = [row for row in said.rows if row[:1] == ["0"]]
    assert row[:4] == ["0", "7", "0", "0"]

    facts = typed("lake", "status", "--lake", str(lake.files), "--json").json
    assert (facts["rows"], facts["missing"], facts["commits"]) == (5, 0, 1)
    assert facts["shards"][0]["behind"] == 7
    assert facts["warnings"] == []


def test_a_lake_that_lags_is_told(typed: Type, client: Client, lake: Lake) -> None:
    client.config.set("events_count", 3)
    said = typed("lake", "status", "--lake", str(lake.files))
    assert f"headrace: lake {lake.identity.id} is 7 events behind on shard 0, more than" in said.err
    facts = typed("lake", "status", "--lake", str(lake.files), "--json").json
    assert len(facts["warnings"]) == 1


def test_status_without_a_lake_says_how_to_make_one(typed: Type, tmp_path: Path) -> None:
    said = typed("lake", "status", "--lake", str(tmp_path))
    assert said.code == 1
    assert (
        said.err
        == f"headrace: there is no lake in {tmp_path}: create one with headrace lake sync\n"
    )


def test_status_does_without_spark_and_arrow(valkey_url: str, client: Client, lake: Lake) -> None:
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
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    out, _, loaded = told.stdout.rpartition("loaded")
    assert "namespace" in out
    assert {"pyspark", "pyarrow", "pandas"}.isdisjoint(loaded.split())


def test_forget_lets_the_server_trim(
    typed: Type, client: Client, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("--lake", str(lake.files))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    said = typed("lake", "forget", *place)
    assert said.code == 1
    assert "has yet to take 7 events" in said.err
    assert len(client.lakes.list()) == 1

    said = typed("lake", "forget", *place, "--yes")
    assert said.out == f"The server no longer keeps events for lake {lake.identity.id}.\n"
    assert client.lakes.list() == []
    said = typed("lake", "forget", lake.identity.id, "--json")
    assert said.json == {"lake": lake.identity.id, "forgotten": False, "behind": 0}
    said = typed("lake", "status", *place)
    assert "The server keeps nothing for this lake" in said.out


def test_without_spark_the_extra_is_named(
    typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.cli.lake.starting.find_spec", lambda _name: None)
    for command in (["sync", "--to"], ["compact", "--lake"]):
        said = typed("lake", *command, str(tmp_path))
        assert said.code == 1
        assert said.err.endswith("pip install 'headrace[spark]'\n")


@contextmanager
def syncing(url: str, namespace: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A sync as a process group of its own, in which Spark runs too."""
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
def test_a_sync_that_is_killed_goes_on_where_it_was(
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
        said, chatter = second.communicate()
        assert second.returncode == 0
    assert said.splitlines()[-1].endswith(f"into {tmp_path}")
    assert chatter.splitlines() == [
        "starting Spark…",
        "ending after the batch at hand; Ctrl-C again ends now",
    ]
    assert numbers_in(lake) == [(0, number) for number in range(1, 3101)]
    assert client.lakes.list()[0].behind == 0


def test_a_lake_of_another_namespace_is_refused_before_spark_is_asked(
    typed: Type, valkey_url: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with headrace.connect(valkey_url, namespace="other"):
        monkeypatch.setenv("HEADRACE_NAMESPACE", "other")
        said = typed("lake", "sync", "--to", str(lake.files))
    assert said.code == 1
    assert "use a separate lake for each namespace" in said.err
    assert "starting Spark" not in said.err


@pytest.mark.parametrize("words", ["sync --to", "status --lake", "sql select --lake"])
def test_a_place_that_is_empty_is_refused(typed: Type, words: str) -> None:
    said = typed("lake", *words.split(), "")
    assert said.code == 2
    assert "it is empty" in said.err


def test_a_place_that_is_a_file_is_one_line(typed: Type, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    said = typed("lake", "status", "--lake", str(place))
    assert said.code == 1
    assert said.err.startswith("headrace: ")
    assert str(place) in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("into", ["", "x\ty", "x" * 251])
def test_jobs_are_not_made_anew_in_what_is_no_queue(typed: Type, into: str) -> None:
    said = typed("lake", "replay", "--where", "true", "--into", into, "--yes")
    assert said.code == 2
    assert "--into" in said.err
