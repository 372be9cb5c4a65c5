"""Files: what a lake asks of the place where it lies. A file is made once and never changed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MAKING = ".making"
"""The folder of files that are being written; nobody but their writers looks at them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file below a folder: its path from the root, its size, when it was written (seconds)."""

    path: str
    size: int
    written: float


class Files(Protocol):
    """A tree of files. Paths are from the root on, with / between names. As text: where it is."""

    @property
    def root(self) -> str:
        """Where the tree is, as Spark is told."""

    def read(self, path: str) -> bytes:
        """What a file holds; raises FileNotFoundError."""

    def create(self, path: str, content: bytes) -> bool:
        """Makes a file, whole or not at all; False if there is one, which stays as it is.

        When it returns the file outlives a crash of the machine.
        """

    def flush(self, paths: Iterable[str]) -> None:
        """Sees to it that files which others have written outlive a crash of the machine."""

    def list(self, folder: str) -> list[Found]:
        """All files below a folder, at any depth, by path; none if there is no such folder."""

    def delete(self, path: str) -> None:
        """Removes a file, or a folder with all that is in it; fine if there is none."""


class LocalFiles:
    """Files in a directory of this machine."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).absolute()

    @property
    def root(self) -> str:
        """The directory, as a path whose scheme says that it is on this machine."""
        return f"file://{self._root}"

    def __str__(self) -> str:
        return str(self._root)

    def read(self, path: str) -> bytes:
        """What a file holds; raises FileNotFoundError."""
        return (self._root / path).read_bytes()

    def create(self, path: str, content: bytes) -> bool:
        """Makes a file, whole or not at all; False if there is one, which stays as it is."""
        target = self._root / path
        _make_folder(target.parent)
        with _written(self._root / aside(), content) as complete:
            try:
                # Unlike a rename, a link never takes the place of what is there.
                target.hardlink_to(complete)
            except FileExistsError:
                return False
            _flush(target.parent)
            return True

    def flush(self, paths: Iterable[str]) -> None:
        """Sees to it that files which others have written outlive a crash of the machine."""
        written = [self._root / path for path in paths]
        folders = {folder for path in written for folder in self._folders(path)}
        for path in (*written, *folders):
            _flush(path)

    def _folders(self, path: Path) -> Iterator[Path]:
        for folder in path.parents:
            yield folder
            if folder == self._root:
                return

    def list(self, folder: str) -> list[Found]:
        """All files below a folder, at any depth, by path; none if there is no such folder."""
        return sorted(self._below(self._root / folder), key=lambda found: found.path)

    def _below(self, folder: Path) -> Iterator[Found]:
        for place, _folders, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                # It may have gone since its folder was read.
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    inside = path.relative_to(self._root).as_posix()
                    yield Found(inside, facts.st_size, facts.st_mtime)

    def delete(self, path: str) -> None:
        """Removes a file, or a folder with all that is in it; fine if there is none."""
        target = self._root / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


def still_folders(files: Files, folder: str, latest: float) -> set[str]:
    """The folders two levels below this one in which nothing was written after a time."""
    written: dict[str, float] = {}
    for found in files.list(folder):
        parts = found.path.split("/")
        if len(parts) > folder.count("/") + 3:
            below = "/".join(parts[: folder.count("/") + 3])
            written[below] = max(found.written, written.get(below, 0.0))
    return {below for below, at in written.items() if at <= latest}


def aside() -> str:
    """A path that nobody else takes, for a file that is being written."""
    return f"{MAKING}/{secrets.token_hex(8)}"


@contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    _make_folder(path.parent)
    try:
        with path.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _flush(folder.parent)


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
