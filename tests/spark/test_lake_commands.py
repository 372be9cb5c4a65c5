"""The commands `lake sync` and `lake compact`, in the Spark session of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Client
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from tests.cli.conftest import Type, client, typed  # noqa: F401 - fixtures

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(600)]


def test_events_are_synced_and_files_compacted(
    typed: Type,  # noqa: F811
    client: Client,  # noqa: F811
    tmp_path: Path,
) -> None:
    place = str(tmp_path)
    client.queue("mail").put_many(range(10))
    said = typed("lake", "sync", "--to", place)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("10 events in 1 file (")
    assert said.out.endswith(f"events/s, into {place}\n")
    assert typed("lake", "sync", "--to", place).out == f"Nothing new; the lake is in {place}.\n"
    assert typed("lake", "compact", "--lake", place).out == "Nothing to compact.\n"

    client.queue("mail").put_many(range(10))
    # With a URL the lake is accessed through the JVM.
    told = typed("lake", "sync", "--to", f"file://{place}", "--json").json
    assert (told["batches"], told["events"], told["missing"], told["behind"]) == (1, 10, 0, 0)
    assert typed("lake", "compact", "--lake", place).out == "2 small files are now 1.\n"
    told = typed("lake", "compact", "--lake", place, "--grace", "0", "--json").json
    assert told == {"groups": 0, "files_before": 0, "files_after": 0, "deleted": 2}
    assert Lake.open(LocalFiles(place)).snapshot().rows == 20
    facts = typed("lake", "status", "--lake", f"file://{place}", "--json").json
    assert (facts["rows"], facts["files"], facts["shards"][0]["behind"]) == (20, 1, 0)


def test_sync_reports_trimmed_events(
    typed: Type,  # noqa: F811
    client: Client,  # noqa: F811
    tmp_path: Path,
) -> None:
    client.queue("mail").put_many(range(500))
    client.core.transport.send([(0, ("XTRIM", client.core.key(0, "events"), "MAXLEN", 100))])
    said = typed("lake", "sync", "--to", str(tmp_path))
    assert said.code == 0
    assert "headrace: 400 events had been dropped before the lake could take them" in said.err
    assert ["missing", "400"] in typed("lake", "status", "--lake", str(tmp_path)).rows


@pytest.mark.parametrize("span", ["soon", "-1", "5x"])
def test_invalid_duration_is_refused(typed: Type, tmp_path: Path, span: str) -> None:  # noqa: F811
    for words in (["sync", "--interval", span], ["compact", "--grace", span]):
        said = typed("lake", *words, "--lake", str(tmp_path))
        assert said.code == 2
        assert "is not a span" in said.err
