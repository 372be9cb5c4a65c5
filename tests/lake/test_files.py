from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.lake.files import LocalFiles


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "not yet there")


def test_created_file_is_read(files: LocalFiles) -> None:
    assert files.create("a/b/c.json", b"\0\xff")
    assert files.read("a/b/c.json") == b"\0\xff"


def test_existing_file_is_not_overwritten(files: LocalFiles) -> None:
    assert files.create("a", b"first")
    assert not files.create("a", b"second")
    assert files.read("a") == b"first"


def test_one_of_many_writers_creates_the_file(files: LocalFiles) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda n: files.create("same", b"%d" % n), range(64)))
    assert made.count(True) == 1
    assert files.read("same") == b"%d" % made.index(True)


def test_refused_create_leaves_no_temporary_file(files: LocalFiles) -> None:
    files.create("a", b"")
    files.create("a", b"")
    assert [found.path for found in files.list("")] == ["a"]


def test_reading_missing_file_raises(files: LocalFiles) -> None:
    with pytest.raises(FileNotFoundError):
        files.read("a")


def test_files_are_listed_at_any_depth(files: LocalFiles) -> None:
    for path in ("x/b", "x/a/c", "y"):
        files.create(path, b"12345")
    found = files.list("x")
    assert [file.path for file in found] == ["x/a/c", "x/b"]
    assert {file.size for file in found} == {5}
    assert files.list("nowhere") == []


def test_folder_is_deleted_with_its_content(files: LocalFiles) -> None:
    for path in ("x/b", "x/a/c", "y"):
        files.create(path, b"")
    files.delete("x")
    files.delete("y")
    files.delete("nowhere")
    assert files.list("") == []


def test_flush_accepts_files_of_other_writers(files: LocalFiles) -> None:
    files.create("x/y/z", b"")
    files.flush(["x/y/z"])
    with pytest.raises(FileNotFoundError):
        files.flush(["x/y/none"])
