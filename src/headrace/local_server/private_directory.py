"""The directory .headrace, to which only its owner has access.

The directory contains the socket of the embedded server, the data of all jobs, and often a lake. If
another user could write to the directory, this user could run a server on the socket and receive
the jobs.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import EmbeddedServerError

NAME = ".headrace"
PRIVATE = 0o700


def make_private(directory: Path) -> None:
    """Create a directory for this user alone, if it does not exist, and check its owner."""
    directory.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    check_owner(directory)


def make_folders(folder: Path) -> None:
    """Create a folder and its parents. A parent named .headrace becomes private."""
    for each in (*reversed(folder.parents), folder):
        if each.name == NAME:
            make_private(each)
    folder.mkdir(parents=True, exist_ok=True)


def check_owner(directory: Path) -> None:
    """Raise EmbeddedServerError if another user owns a directory or may write to it.

    A missing directory is not an error. A directory named .headrace also becomes unreadable to
    other users.
    """
    try:
        found = directory.stat()
    except FileNotFoundError:
        return
    user, mode = os.geteuid(), found.st_mode & 0o7777
    if found.st_uid != user or mode & 0o022:
        raise EmbeddedServerError(
            f"{directory} belongs to uid {found.st_uid} and has mode {mode:o}, so "
            f"another user could receive the jobs of this user (uid {user}); run chown and "
            "chmod 700, remove the directory, or pass the URL of another server"
        )
    if directory.name == NAME and mode & 0o077:
        directory.chmod(PRIVATE)
