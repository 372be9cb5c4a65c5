"""The commands `lake sync` and `lake compact`, in the Spark session of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Client
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from tests.cli.conftest import RunCommand, cli, client  # noqa: F401 - fixtures

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(600)]


def test_events_are_synced_and_files_compacted(
    cli: RunCommand,  # noqa: F811
    client: Client,  # noqa: F811
    tmp_path: Path,
) -> None:
    place = str(tmp_path)
    client.queue("mail").put_many(range(10))
    result = cli("lake", "sync", "--to", place)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("10 events in 1 file (")
    assert result.out.endswith(f"events/s, into {place}\n")
    assert cli("lake", "sync", "--to", place).out == f"Nothing new; the lake is in {place}.\n"
    assert cli("lake", "compact", "--lake", place).out == "Nothing to compact.\n"

    client.queue("mail").put_many(range(10))
    # The same lake can also be read through the JVM, with a file:// URL.
    output = cli("lake", "sync", "--to", f"file://{place}", "--json").json
    assert (output["batches"], output["events"], output["missing"], output["behind"]) == (
        1,
        10,
        0,
        0,
    )
    assert cli("lake", "compact", "--lake", place).out == "Merged 2 small files into 1.\n"
    output = cli("lake", "compact", "--lake", place, "--grace", "0", "--json").json
    assert output == {"groups": 0, "files_before": 0, "files_after": 0, "deleted": 2}
    assert Lake.open(LocalFiles(place)).snapshot().rows == 20
    facts = cli("lake", "status", "--lake", f"file://{place}", "--json").json
    assert (facts["rows"], facts["files"], facts["shards"][0]["behind"]) == (20, 1, 0)


def test_sync_reports_events_that_were_dropped_before_it(
    cli: RunCommand,  # noqa: F811
    client: Client,  # noqa: F811
    tmp_path: Path,
) -> None:
    client.queue("mail").put_many(range(500))
    client.core.transport.send([(0, ("XTRIM", client.core.key(0, "events"), "MAXLEN", 100))])
    result = cli("lake", "sync", "--to", str(tmp_path))
    assert result.code == 0
    assert "headrace: 400 events had been dropped before this sync" in result.err
    assert ["missing", "400"] in cli("lake", "status", "--lake", str(tmp_path)).rows


@pytest.mark.parametrize("span", ["soon", "-1", "5x"])
def test_invalid_duration_is_refused(cli: RunCommand, tmp_path: Path, span: str) -> None:  # noqa: F811
    for words in (["sync", "--interval", span], ["compact", "--grace", span]):
        result = cli("lake", *words, "--lake", str(tmp_path))
        assert result.code == 2
        assert "is not a duration" in result.err
