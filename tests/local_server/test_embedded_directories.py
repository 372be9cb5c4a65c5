"""Embedded servers work in unusual directories, and report unusable directories."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import pytest
import redis

from headrace.errors import EmbeddedServerError
from headrace.local_server import embedded, server_process
from tests.local_server.test_embedded import pid_in
from tests.support.processes import gone
from tests.support.servers import until

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def test_path_too_long_for_a_socket_works(home: Path) -> None:
    deep = home.joinpath(*["a rather long name, with spaces? and #signs"] * 4)
    url = embedded.start(deep)
    link = server_process.reachable_socket(deep).parent

    assert len(server_process.reachable_socket(deep).as_posix()) <= server_process.LONGEST_ADDRESS
    with redis.Redis.from_url(url) as server:
        assert server.ping()
    assert embedded.start(deep) == url
    assert embedded.stop(deep)
    assert not link.is_symlink()


def test_directory_name_may_have_url_characters(home: Path) -> None:
    odd = home / "50% of #1, really?"

    with redis.Redis.from_url(embedded.start(odd)) as server:
        assert server.ping()
    assert embedded.stop(odd)


def test_socket_directory_open_to_others_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(home))
    (home / f"headrace-{os.getuid()}").mkdir()
    (home / f"headrace-{os.getuid()}").chmod(0o777)

    with pytest.raises(EmbeddedServerError, match="only this user can access"):
        embedded.start(home / ("long" * 30))


def test_symlink_and_its_target_share_one_server(home: Path) -> None:
    home.mkdir()
    link = home.with_name("link")
    link.symlink_to(home)

    assert embedded.start(link) == embedded.start(home)
    assert embedded.status(link) == embedded.status(home)


def test_each_directory_has_its_own_server(home: Path) -> None:
    other = home.with_name("other")
    assert embedded.start(home) != embedded.start(other)
    assert pid_in(home) != pid_in(other)

    assert embedded.stop(other)
    assert pid_in(home)


@ON_LINUX
def test_server_of_a_deleted_directory_is_replaced(home: Path) -> None:
    embedded.start(home)
    orphan = pid_in(home)
    shutil.rmtree(home)

    embedded.start(home)

    until(lambda: gone(orphan), "the orphan is dead")
    assert pid_in(home) != orphan


@ON_LINUX
def test_server_of_a_deleted_directory_can_be_stopped(home: Path) -> None:
    embedded.start(home)
    orphan = pid_in(home)
    shutil.rmtree(home)

    assert embedded.stop(home)
    until(lambda: gone(orphan), "the orphan is dead")
    assert not embedded.stop(home)


def test_file_instead_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(EmbeddedServerError, match="is a file"):
        embedded.start(tmp_path / "file")
    with pytest.raises(EmbeddedServerError, match="Not a directory"):
        embedded.start(tmp_path / "file" / "below")


@contextmanager
def as_user_without_permissions() -> Iterator[None]:
    """Run the block as another user if the tests run as root, because root may write anywhere."""
    if os.getuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_error_names_an_unwritable_directory(home: Path) -> None:
    home.parent.chmod(0o555)

    with as_user_without_permissions(), pytest.raises(EmbeddedServerError) as refused:
        embedded.start(home)
    assert str(refused.value) == f"cannot start a server in {home}: Permission denied"


def test_unreadable_data_are_reported(home: Path) -> None:
    embedded.start(home)
    embedded.stop(home)
    [manifest] = home.glob("appendonlydir/*.manifest")
    manifest.write_text("nonsense\n")

    with pytest.raises(EmbeddedServerError, match="manifest") as refused:
        embedded.start(home)
    assert str(home) in str(refused.value)


def test_error_without_a_server_binary_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "files", lambda _: None)

    with pytest.raises(EmbeddedServerError, match="pass its URL"):
        embedded.start(home)


def test_error_for_a_broken_binary_says_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "binary").write_bytes(b"")
    monkeypatch.setattr(server_process, "binary", lambda: home / "binary")

    with pytest.raises(EmbeddedServerError, match=r"cannot run .*binary .* pass its URL"):
        embedded.start(home)
