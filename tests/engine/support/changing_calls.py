"""A call for each operation that may change data, and a namespace in which each call does."""

from __future__ import annotations

from typing import Any

from headrace import Client
from headrace.engine import keys
from headrace.engine.call import Arg, Call, build, optional, pack
from headrace.operations.lakes import mark_lake
from headrace.operations.noted_workers import note_worker
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.engine.support.sink_scripts import SinkScripts
from tests.model.corruptions import one_in_every_state
from tests.model.jobs.checks.imported_jobs import job

Row = tuple[Arg, ...]
OPERATOR = ""
DELAY = 60


def prepare(hr: Client, clock: Clock) -> None:
    """Create the data that each call changes; the job "scheduled" becomes due."""
    one_in_every_state(hr, clock)
    hr.finish("running", "done")
    hr.queue("mail").put("held", id="held", priority=-1)
    assert hr.queue("mail").pop("ada")[0].id == "held"
    hr.session("bob", ttl=3600).serve("mail")
    hr.tags.add("waiting", "old")
    hr.feeds.create("news").publish("a", id="a")
    hr.feeds.create("line", sorted=True).publish_many(["a", "b"])
    hr.queue("mail").schedule("noon", "x", every=3600, delay=1800)
    hr.throttles.set("api", concurrency=1)
    drive(hr.core.transport, note_worker(hr.core, "noted"))
    drive(hr.core.transport, mark_lake(hr, "old", {0: "0-0"}))
    sink = SinkScripts(hr)
    sink.stage("staged", [("row", b"1")])
    sink.stage("unused", [("row", b"1")])
    sink.stage_and_prepare("prepared", "row", write="batch:prepared")
    sink.stage_and_commit("committed", "row", write="batch:committed")
    # The state of a transaction that several shards have published, and a field that the call of
    # open_namespace restores.
    published = ("HSET", hr.core.key(0, keys.transaction("published")), "state", "published")
    assert hr.core.transport.send(
        [(0, published), (0, ("HDEL", hr.core.key(0, keys.META), "created"))]
    ) == [1, 1]
    clock.tick(DELAY)


def calls(hr: Client) -> dict[str, Call[Any]]:
    """Return a call for each operation that needs the role worker, by operation."""
    [token] = hr.core.transport.send([(0, ("HGET", hr.core.key(0, keys.session("bob")), "token"))])
    job_ids = {
        "cancel": "waiting",
        "heartbeat": "held",
        "requeue": "complete",
        "retry": "failed",
        "timeout": "held",
        "track": "waiting",
        "untrack": "running",
    }
    each: dict[str, list[Row]] = {op: [(job_id,)] for op, job_id in job_ids.items()}
    each |= {op: [("waiting",)] for op in ("depend", "prioritise", "tag", "untag")}
    each |= {
        "complete": [("held", OPERATOR, b"")],
        "config_set": [("retries", optional("3"))],
        "configure": [("lease", optional("1000"))],
        "discard": [("unused",)],
        "fail": [("held", OPERATOR, "io", "no route", b"", -1, b"")],
        "feed_insert": [("c", b"1")],
        "feed_move": [("2",)],
        "feed_publish": [("b", b"1")],
        "feed_retract": [("a",)],
        "finalize": [("0", 1, 0, 0, 0)],
        "heartbeat": [("held", OPERATOR, b"")],
        "forget_workers": [("noted",)],
        "import_items": [("item", b"1")],
        "import_jobs": [("job", "spare", "one", "mail", b"1", job("job").packed_fields(), b"")],
        "prepare": [("staged", 0, 1)],
        "release": [("held", OPERATOR)],
        "schedule": [(name, value) for name, value in _schedule(hr).items()],
        "stage": [(b"chunk",)],
        "sweep": [("mail",)],
        "throttle_delete": [("api",)],
        "throttle_set": [("other", 1, "none", -1)],
        "undepend": [("blocked",)],
        "unschedule": [("noon",)],
        "unused_libraries": [("headrace_0123456789ab",)],
    }
    of_feed = {"kind": "plain", "max_length": "7", "about": "", "instance": "i"}
    of_session = {"worker": "bob", "token": token}
    args: dict[str, dict[str, Arg]] = {
        "cancel": {"cascade": 1, "expected": b""},
        "cancel_matching": {"queue": "mail", "data": b'"waiting"', "at_most": 9, "cursor": b""},
        "commit": {
            "write": "batch:prepared",
            "batch": -1,
            "transaction": "prepared",
            "queue": "mail",
            "rows": 1,
            "parts": "",
        },
        "complete": {"next_queue": b"", "delay": 0, "parents": b""},
        "config_set": {"actor": "ada"},
        "configure": {"queue": "mail", "actor": "ada"},
        "delete_queue": {"queue": "mail", "at_most": 9},
        "depend": {"parents": pack(["scheduled"]), "state": ""},
        "discard": {"transaction": "", "coordinator": 0},
        "feed_configure": {"feed": "news", "continued": 0, **of_feed},
        "feed_delete": {"feed": "news", "instance": "i"},
        "feed_insert": {"feed": "line", "at_place": "first", "reference": ""},
        "feed_make": {"feed": "new", "open": 0, **of_feed},
        "feed_move": {"feed": "line", "at_place": "first", "reference": ""},
        "feed_numbers": {"feed": "line", "count": 1},
        "feed_publish": {"feed": "news", "touch": 0},
        "feed_retract": {"feed": "news"},
        "finalize": {"write": "batch:published", "transaction": "published"},
        "forget_lake": {"lake": "old"},
        "heartbeat": {"lease": 5000},
        "import_items": {"import_name": "test", "feed": "news"},
        "note_worker": {"worker": "ada"},
        "import_jobs": {"import_name": "test"},
        "log": {"id": "held", "token": OPERATOR, "line": "line", "keep": 9},
        "mark_lake": {"lake": "new", "entry": "0-0"},
        "open_namespace": {"shards": 1, "layout": 2, "ingress_ids": "ingress-"},
        "pop": {
            "queue": "mail",
            "worker": "w",
            "secret": "s",
            "count": 1,
            "lease": -1,
            "offer": 0,
        },
        "prepare": {
            "transaction": "new",
            "write": "batch:new",
            "queue": "mail",
            "on_exists": "move",
            "coordinator": 1,
        },
        "prepare_peek": {"queue": "mail"},
        "prioritise": {"priority": 7},
        "progress": {"id": "held", "token": OPERATOR, "share": 0.5, "note": "half"},
        "publish": {"transaction": "committed"},
        "release": {"position": "back", "delay": 0, "reason": "operator"},
        "requeue": {"queue": "", "delay": 0, "state": ""},
        "retry": {"delay": 0, "expected": b""},
        "schedule": {
            "id": "new",
            "queue": "mail",
            "version": "n",
            "seen": b"",
            "delay": 0,
            "import_name": b"",
            "import_id": b"",
        },
        "session_end": of_session,
        "session_renew": of_session,
        "session_serve": {**of_session, "queue": "other"},
        "session_start": {"worker": "eve", "token": "t", "ttl": 5000, "about": ""},
        "session_unserve": {**of_session, "queue": "mail"},
        "stage": {"attempt": "new", "position": 0},
        "tag": {"names": pack(["new"]), "most": 9},
        "take_result": {"id": "running"},
        "throttle_set": {"shards": 1},
        "track": {"most": 9, "actor": "ada"},
        "undepend": {"parents": b""},
        "untag": {"names": pack(["old"])},
        "untrack": {"actor": "ada"},
        "unused_libraries": {"days": 7},
    }
    return {
        op: build(op, lambda reply: reply, each.get(op, ()), **args.get(op, {}))
        for op in each.keys() | args.keys()
    }


def _schedule(hr: Client) -> dict[str, bytes]:
    """Return the fields of the schedule "noon"."""
    [pairs] = hr.core.transport.send([(0, ("HGETALL", hr.core.key(0, keys.schedule("noon"))))])
    assert isinstance(pairs, list)
    return {name.decode(): value for name, value in zip(pairs[::2], pairs[1::2], strict=True)}
