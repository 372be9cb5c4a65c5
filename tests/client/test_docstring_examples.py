"""The examples in the docstrings of the sync classes run."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import headrace
from headrace import Client, Feed, Group, Lease, Listener, Queue, Session
from headrace.client import method_groups
from headrace.operations.method import MethodGroup

CLASSES = [
    Client,
    Queue,
    Lease,
    Session,
    Group,
    Feed,
    Listener,
    method_groups.Feeds,
    method_groups.Tracking,
    *(
        kind
        for _, kind in inspect.getmembers(method_groups, inspect.isclass)
        if MethodGroup in kind.__mro__
    ),
]
# Examples that connect to a server of their own.
NOT_RUN = "headrace.connect"


def examples() -> Iterator[Any]:
    for kind in CLASSES:
        members = [("", kind), *inspect.getmembers(kind, inspect.isfunction)]
        for name, member in members:
            found = re.search(r"\n\n((?: {4}.*\n?)+)$", inspect.getdoc(member) or "")
            if not name.startswith("_") and found and NOT_RUN not in found[1]:
                # A listener without events waits for its whole timeout, so use a short timeout.
                example = textwrap.dedent(found[1]).replace("listen(wait=60)", "listen(wait=0.1)")
                yield pytest.param(example, id=f"{kind.__name__}.{name}")


@pytest.mark.parametrize("example", list(examples()))
def test_example_runs(hr: Client, example: str) -> None:
    queue = hr.queue("mail")
    queue.put_many([headrace.Put({"n": 1}, id=name) for name in ("order-7", "import-1")])
    hr.queue("reports").put({}, id="report", delay=60)
    queue.schedule("report", {}, every=60)
    queue.put("late")
    hr.queue("done").put(0, id="done")
    [done] = hr.queue("done").pop("worker-0")
    done.complete(1)
    hr.queue("imports").put(0, id="import-2")
    hr.queue("imports").pop("worker-2")
    hr.queue("reports").put({}, id="summary", depends_on=["import-1"])
    todo = hr.feeds.create("tasks", sorted=True)
    todo.publish_many({"write code": 1, "write tests": 2, "write docs": 3})
    names: dict[str, Any] = {
        "Fail": headrace.Fail,
        "Put": headrace.Put,
        "client": hr,
        "group": hr.group("photos"),
        "handle": str,
        "images": ["cat.png"],
        "job_id": "done",
        "leases": queue.pop("worker-1", count=3) if "leases" in example else [],
        "news": hr.feed("news"),
        "print": lambda *values: values,
        "queue": queue,
        "send": str,
        "session": hr.session("worker-3", ttl=60),
        "todo": todo,
        "url": "http://localhost",
        "yesterday": datetime.now(UTC),
    }
    for line in re.split(r"\n(?=lease\.)", example):
        if line.startswith("lease."):
            [names["lease"]] = queue.pop("worker-1")
        exec(line, names)  # noqa: S102 - our own docstrings
