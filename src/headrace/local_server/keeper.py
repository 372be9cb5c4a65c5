"""A program that runs a server until its owner closes the other end of stdin.

The pipe closes however the owner ends, also by kill -9. Then the program kills the server and
removes its directory. It is run by path, without site packages, and imports nothing of headrace.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys


def main() -> None:
    """Run a server: the first argument is its directory, the rest its command."""
    directory, *command = sys.argv[1:]
    keep(subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL))
    shutil.rmtree(directory, ignore_errors=True)


def keep(server: subprocess.Popen[bytes]) -> None:
    """Wait until the owner ends or sends a byte, then kill the server."""

    def end_with_server(*_: object) -> None:
        # The directory remains, so that the owner can read the log.
        if server.poll() is not None:
            sys.exit(1)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGCHLD, end_with_server)
    try:
        end_with_server()
        sys.stdin.buffer.read(1)
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
