"""The app whose worker is counted; run as a script, it puts the jobs of one measurement.

The jobs are some calls of `nap` to warm up, a call of `gate`, the calls of `nap` that are counted,
and a second call of `gate`. In `gate` the worker waits, so that counting can start and stop while
the worker and the server are idle.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import headrace

# A worker prefetches jobs for the next 20 ms. A longer job leaves one job for each turn.
NAP = 0.03

app = headrace.App("instructions")


@app.task()
async def nap() -> None:
    """Sleep for one nap."""
    await asyncio.sleep(NAP)


@app.task()
async def gate(name: str) -> None:
    """Write the worker's pid into the file `name.reached`, then wait for the pipe `name.open`."""
    opened = asyncio.Event()
    pipe = os.open(f"{name}.open", os.O_RDONLY | os.O_NONBLOCK)
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe, opened.set)
    report_pid(name)
    await opened.wait()
    loop.remove_reader(pipe)
    os.close(pipe)


def report_pid(name: str) -> None:
    """Write the pid of this process to a file that appears only when it is complete."""
    Path(f"{name}.new").write_text(str(os.getpid()))
    Path(f"{name}.new").rename(f"{name}.reached")


def put_jobs(warm_up: int, turns: int, directory: str) -> None:
    """Put the jobs of one measurement; the files of the gates are in `directory`."""
    for name, naps in (("start", warm_up), ("end", turns)):
        os.mkfifo(f"{directory}/{name}.open")
        for _ in range(naps):
            nap.put()
        gate.put(f"{directory}/{name}")
    app.close()


if __name__ == "__main__":
    put_jobs(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
