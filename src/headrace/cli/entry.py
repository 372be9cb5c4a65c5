"""The entry point of the command `headrace`: Ctrl-C ends the process with exit code 130.

By default, Ctrl-C raises KeyboardInterrupt. While Python imports modules or ends, nothing catches
this exception, and the process would end with a traceback and by a signal.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

INTERRUPTED = 130


def main() -> None:
    """Run the command line, and handle Ctrl-C before and after the subcommand runs."""
    # A shell makes background processes ignore SIGINT; they keep ignoring it.
    ignores = signal.getsignal(signal.SIGINT) is not signal.default_int_handler

    def on_interrupt(handler: Callable[..., Any]) -> None:
        if not ignores:
            signal.signal(signal.SIGINT, handler)

    on_interrupt(_exit_at_once)
    try:
        # This import takes most of the time until the subcommand runs.
        from headrace.cli.main import main as run  # noqa: PLC0415

        on_interrupt(signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        on_interrupt(_exit_at_once)


def _exit_at_once(*_: object) -> None:
    os._exit(INTERRUPTED)
