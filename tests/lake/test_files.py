from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.lake.files import LocalFiles


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "not yet there")


def test_what_was_created_is_read(files: LocalFiles) -> None:
    assert files.create("a/b/c.json", b"\0\xff")
    assert files.read("a/b/c.json") == b"\0\xff"


def test_a_file_is_created_once(files: LocalFiles) -> None:
    assert files.create("a", b"first")
    assert not files.create("a", b"second")
    assert files.read("a") == b"first"


def test_of_many_writers_one_creates(files: LocalFiles) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda n: files.create("same", b"%d" % n), range(64)))
    assert made.count(True) == 1
    assert files.read("same") == b"%d" % made.index(True)


def test_nothing_is_left_of_a_file_that_was_not_created(files: LocalFiles) -> None:
    files.create("a", b"")
    files.create("a", b"")
    assert [found.path for found in files.list("")] == ["a"]


def test_what_is_not_there_is_not_read(files: LocalFiles) -> None:
    with pytest.raises(FileNotFoundError):
        files.read("a")


def test_files_are_listed_at_any_depth(files: LocalFiles) -> None:
    for path in ("x/b", "x/a/c", "y"):
        files.create(path, b"12345")
    found = files.list("x")
    assert [file.path for file in found] == ["x/a/c", "x/b"]
    assert {file.size for file in found} == {5}
    assert files.list("nowhere") == []


def test_a_folder_is_deleted_with_all_in_it(files: LocalFiles) -> None:
    for path in ("x/b", "x/a/c", "y"):
        files.create(path, b"")
    files.delete("x")
    files.delete("y")
    files.delete("nowhere")
    assert files.list("") == []


def test_files_of_others_are_flushed(files: LocalFiles) -> None:
    files.create("x/y/z", b"")
    files.flush(["x/y/z"])
    with pytest.raises(FileNotFoundError):
        files.flush(["x/y/none"])
