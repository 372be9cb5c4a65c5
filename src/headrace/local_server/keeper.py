"""A program that runs a server for as long as its owner holds the other end of stdin.

However the owner ends, also by kill -9, the pipe closes: then the server is killed and its
directory removed. Run by path and without site packages, so it imports nothing of headrace.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys


def main() -> None:
    """Keep a server: the first argument is its directory, the rest its command."""
    directory, *command = sys.argv[1:]
    keep(subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL))
    shutil.rmtree(directory, ignore_errors=True)


def keep(server: subprocess.Popen[bytes]) -> None:
    """Return once the owner is gone or says so, and the server is dead."""

    def end_with_server(*_: object) -> None:
        # Its directory stays: an owner who asks why finds the log there.
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
