"""A program that runs a server until the owner (the parent process) closes the pipe to stdin.

The pipe closes even if the owner is killed with SIGKILL. When the pipe closes, the program kills
the server and removes the server's directory. The program is started by its path, without
site-packages, and does not import headrace.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys


def main() -> None:
    """Run a server. The first argument is the directory; the other arguments are the command."""
    directory, *command = sys.argv[1:]
    keep(subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL))
    shutil.rmtree(directory, ignore_errors=True)


def keep(server: subprocess.Popen[bytes]) -> None:
    """Wait until the owner ends or sends a byte, then kill the server."""

    def end_with_server(*_: object) -> None:
        # Exit without removing the directory, so that the owner can read the server's log.
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
