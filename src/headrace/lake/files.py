"""The file storage of a lake. A file is written once and never changed."""

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
"""The folder of files that are being written. Only their writers read them."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file: its path relative to the root, its size, and when it was written (Unix seconds)."""

    path: str
    size: int
    written: float


class Files(Protocol):
    """A tree of files. Paths are relative to the root, with / as separator.

    str() of it is the location for messages.
    """

    @property
    def root(self) -> str:
        """The URL of the tree, for Spark."""

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError."""

    def create(self, path: str, content: bytes) -> bool:
        """Create a file atomically. Return False, and change nothing, if the file exists.

        The file survives a crash of the machine once this returns.
        """

    def flush(self, paths: Iterable[str]) -> None:
        """Make sure that files written by other processes survive a crash of the machine."""

    def list(self, folder: str) -> list[FileInfo]:
        """Return all files below a folder at any depth, sorted by path.

        The list is empty if the folder does not exist.
        """

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content. Do nothing if it does not exist."""


class LocalFiles:
    """Files in a directory of this machine."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).absolute()

    @property
    def root(self) -> str:
        """The directory as a file:// URL."""
        return f"file://{self._root}"

    def __str__(self) -> str:
        return str(self._root)

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError."""
        return (self._root / path).read_bytes()

    def create(self, path: str, content: bytes) -> bool:
        """Create a file atomically. Return False, and change nothing, if the file exists."""
        target = self._root / path
        _make_folder(target.parent)
        with _written(self._root / aside(), content) as complete:
            try:
                # Unlike a rename, a link never replaces an existing file.
                target.hardlink_to(complete)
            except FileExistsError:
                return False
            _flush(target.parent)
            return True

    def flush(self, paths: Iterable[str]) -> None:
        """Make sure that files written by other processes survive a crash of the machine."""
        written = [self._root / path for path in paths]
        folders = {folder for path in written for folder in self._folders(path)}
        for path in (*written, *folders):
            _flush(path)

    def _folders(self, path: Path) -> Iterator[Path]:
        for folder in path.parents:
            yield folder
            if folder == self._root:
                return

    def list(self, folder: str) -> list[FileInfo]:
        """Return all files below a folder at any depth, sorted by path.

        The list is empty if the folder does not exist.
        """
        return sorted(self._below(self._root / folder), key=lambda found: found.path)

    def _below(self, folder: Path) -> Iterator[FileInfo]:
        for place, _folders, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                # Another process may have deleted the file since.
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    inside = path.relative_to(self._root).as_posix()
                    yield FileInfo(inside, facts.st_size, facts.st_mtime)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content. Do nothing if it does not exist."""
        target = self._root / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


def still_folders(files: Files, folder: str, latest: float) -> set[str]:
    """Return the folders two levels below this one without a file written after `latest`."""
    written: dict[str, float] = {}
    for found in files.list(folder):
        parts = found.path.split("/")
        if len(parts) > folder.count("/") + 3:
            below = "/".join(parts[: folder.count("/") + 3])
            written[below] = max(found.written, written.get(below, 0.0))
    return {below for below, at in written.items() if at <= latest}


def aside() -> str:
    """Return a unique path for a file that is being written."""
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
