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

from headrace.local_server.private_directory import NAME, check_owner, make_folders

MAKING = ".making"
"""The folder for files that are still being written. Readers do not use this folder."""

GRACE = 3600.0
"""The number of seconds to keep replaced files, because a reader may still need them."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file: the path relative to the root, the size, and the time of writing (Unix seconds)."""

    path: str
    size: int
    written: float


class Files(Protocol):
    """A tree of files. Paths are relative to the root, with / as separator.

    `str(files)` is the location to show in messages.
    """

    @property
    def root(self) -> str:
        """The URL of the tree, for Spark."""

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError."""

    def create(self, path: str, content: bytes) -> bool:
        """Create a file atomically. If the file exists, return False and change nothing.

        When this method returns, the file survives a crash of the machine.
        """

    def flush(self, paths: Iterable[str]) -> None:
        """Make sure that files written by other processes survive a crash of the machine."""

    def list(self, folder: str) -> list[FileInfo]:
        """Return all files below a folder at any depth, sorted by path.

        The list is empty if the folder does not exist.
        """

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content. A missing file is not an error."""


class LocalFiles:
    """Files in a directory of this machine."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root).absolute()
        for folder in (self._root, *self._root.parents):
            if folder.name == NAME:
                check_owner(folder)

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
        """Create a file atomically. If the file exists, return False and change nothing."""
        target = self._root / path
        make_folder(target.parent)
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
        parents = {folder for path in written for folder in path.parents}
        folders = [folder for folder in parents if folder.is_relative_to(self._root)]
        for path in (*written, *folders):
            _flush(path)

    def list(self, folder: str) -> list[FileInfo]:
        """Return all files below a folder at any depth, sorted by path.

        The list is empty if the folder does not exist.
        """
        return sorted(self._below(self._root / folder), key=lambda found: found.path)

    def _below(self, folder: Path) -> Iterator[FileInfo]:
        for place, _folders, names in os.walk(folder):
            for name in names:
                path = Path(place, name)
                # Another process may have deleted the file in the meantime.
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    inside = path.relative_to(self._root).as_posix()
                    yield FileInfo(inside, facts.st_size, facts.st_mtime)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content. A missing file is not an error."""
        target = self._root / path
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


def still_folders(files: Files, folder: str, latest: float) -> set[str]:
    """Return the folders two levels below `folder` in which no file was written after `latest`."""
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
    make_folder(path.parent)
    try:
        with path.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, so that they survive a crash of the machine."""
    if not folder.is_dir():
        make_folders(folder)
        _flush(folder.parent)


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
