"""The directory .headrace: only its owner may write to it or read it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import headrace
from headrace.cli.main import main
from headrace.errors import EmbeddedServerError
from headrace.lake.event_columns import gap_row
from headrace.lake.event_files import write_events
from headrace.lake.files import LocalFiles
from headrace.lake.lock import held
from headrace.local_server import embedded
from headrace.local_server.private_directory import NAME
from headrace.local_server.scratch import scratch_directory

OPEN_TO_OTHERS = 0o077


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a directory without .headrace, and set a umask that lets other users read files."""
    umask = os.umask(0o022)
    with scratch_directory() as path:
        monkeypatch.chdir(path)
        yield path
        monkeypatch.undo()
        if (path / NAME).is_dir():
            (path / NAME).chmod(0o700)
        embedded.stop(path / NAME)
    os.umask(umask)


def belongs_to_another_user(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / NAME).mkdir(mode=0o700)
    user = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: user + 1)


def is_writable_by_others(project: Path, _: pytest.MonkeyPatch) -> None:
    (project / NAME).mkdir()
    (project / NAME).chmod(0o777)


def is_writable_by_the_group(project: Path, _: pytest.MonkeyPatch) -> None:
    (project / NAME).mkdir()
    (project / NAME).chmod(0o770)


def links_to_a_writable_directory(project: Path, _: pytest.MonkeyPatch) -> None:
    (project / "elsewhere").mkdir()
    (project / "elsewhere").chmod(0o777)
    (project / NAME).symlink_to(project / "elsewhere")


def write_a_lake_file() -> None:
    LocalFiles(f"{NAME}/lake").create("x", b"")


def write_events_of_a_lake() -> None:
    write_events(Path(NAME, "lake"), "events", "batch", [gap_row(0, 1, 1, datetime.now(UTC))])


def lock_a_lake() -> None:
    with held(LocalFiles(f"{NAME}/lake"), "sync"):
        pass


USES: dict[str, Callable[[], object]] = {
    "start": embedded.start,
    "status": embedded.status,
    "stop": embedded.stop,
    "connect": lambda: headrace.connect().close(),
    "file": write_a_lake_file,
    "events": write_events_of_a_lake,
    "lock": lock_a_lake,
    "read": lambda: LocalFiles(f"{NAME}/lake").list(""),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "prepare",
    [
        belongs_to_another_user,
        is_writable_by_others,
        is_writable_by_the_group,
        links_to_a_writable_directory,
    ],
)
def test_directory_that_another_user_can_change_is_refused(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[Path, pytest.MonkeyPatch], None],
    use: str,
) -> None:
    prepare(project, monkeypatch)

    with pytest.raises(EmbeddedServerError, match="another user could receive the jobs"):
        USES[use]()

    assert list((project / NAME).iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_directory_of_another_user_is_refused(project: Path) -> None:
    (project / NAME).mkdir(mode=0o700)
    os.chown(project / NAME, 65534, 65534)

    with pytest.raises(EmbeddedServerError, match="belongs to uid 65534"):
        embedded.start()
    (project / NAME).rmdir()


@pytest.mark.parametrize("words", [("up",), ("down",), ("put", "mail", "1"), ("doctor",)])
def test_commands_explain_the_refusal(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    is_writable_by_others(project, monkeypatch)
    monkeypatch.delenv("HEADRACE_URL", raising=False)
    monkeypatch.setattr("sys.argv", ["headrace", *words])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    shown = capsys.readouterr()
    assert "has mode 777, so another user could receive the jobs" in shown.out + shown.err


def test_server_makes_the_directory_and_its_data_private(project: Path) -> None:
    with headrace.connect() as hr:
        hr.queue("mail").put("secret")

    every = [project / NAME, *(project / NAME).rglob("*")]
    assert any(path.suffix == ".aof" for path in every)
    for path in every:
        if path.name != embedded.LOCK:
            assert not mode(path) & OPEN_TO_OTHERS, path


def test_data_are_private_in_a_readable_directory(project: Path) -> None:
    (project / "data").mkdir(mode=0o755)
    try:
        embedded.start(project / "data")

        assert mode(project / "data") == 0o755
        for path in (project / "data").rglob("*"):
            if path.name != embedded.LOCK:
                assert not mode(path) & OPEN_TO_OTHERS, path
    finally:
        embedded.stop(project / "data")


@pytest.mark.parametrize("use", ["file", "events", "lock"])
def test_lake_makes_the_directory_private(project: Path, use: str) -> None:
    USES[use]()

    assert mode(project / NAME) == 0o700


def test_readable_directory_becomes_private(project: Path) -> None:
    (project / NAME).mkdir(mode=0o755)

    embedded.start()

    assert mode(project / NAME) == 0o700
