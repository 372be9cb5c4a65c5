"""The library runs as server functions, or as a script if a server refuses functions."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from headrace.engine.script import LIBRARY, Library, operations, source
from headrace.local_server import server_process
from headrace.operations.core import SCRIPTS_FOR
from headrace.operations.requests import load
from headrace.testing import Clock, open_with_clock
from headrace.transport.drive import drive
from tests.engine.support.lua_files import reached
from tests.engine.test_script_calls import live
from tests.model.harness import GENERAL_PATH, snapshot
from tests.model.harness import opened as swapped_client
from tests.support.channels import commands
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.functions import FORMS, functions_of, user_without, words_of
from tests.support.restartable import Restartable, meanwhile
from tests.support.servers import until

WRITES = {
    *("SET", "SETNX", "MSET", "MSETNX", "DEL", "HSET", "HSETNX", "HDEL", "HINCRBY", "ZADD"),
    *("ZREM", "ZINCRBY", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "LPOP", "RPOP", "RPUSH"),
    *("LPUSH", "LTRIM", "XADD", "XTRIM", "SPUBLISH", "UNLINK", "RENAME"),
}


@contextmanager
def client_of(url: str, form: str, **options: Any) -> Iterator[tuple[Client, Clock]]:
    """Open a client with a settable clock that calls functions or scripts, as `form` says."""
    hr, clock = open_with_clock(url, **options)
    with hr:
        if form == "script":
            hr.core.use_scripts()
        yield hr, clock


# both forms


def test_both_forms_have_the_same_effect_and_replies(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, contents = [], []
    for form in FORMS:
        monkeypatch.setattr(os, "urandom", random.Random(1).randbytes)
        monkeypatch.setattr("headrace.operations.ids._unused_ids", [])
        with client_of(valkey_url, form, namespace="both-forms") as (hr, _):
            hr.core.transport.send([(0, ("FLUSHALL",))])
            with commands(valkey_url) as sent:
                results.append([told(step) for step in live(hr)])
            assert ("EVALSHA" in words_of(sent)) == (form == "script")
            assert ("FCALL" in words_of(sent)) == (form == "function")
            contents.append(snapshot(hr))
    assert results[0] == results[1]
    assert contents[0] == contents[1]


def told(step: Callable[[], object]) -> str:
    """Return the answer of a step as text, without addresses of objects."""
    return repr(step()).split(" object at ")[0]


@pytest.mark.parametrize("swaps", [{}, GENERAL_PATH], ids=["short path", "general path"])
def test_state_of_a_call_is_gone_in_the_next_call(url: str, swaps: dict[str, str]) -> None:
    hr, _ = swapped_client(url, swaps)
    with hr:
        for number in range(3):
            queue = hr.queue(f"mail {number}")
            queue.put_many(range(5), tags=["a"])
            assert (queue.counts().waiting, len(queue.pop("w", count=9))) == (5, 5)
            queue.configure(lease=number + 1, keep_count=0)
            assert queue.settings()["lease"] == number + 1
        assert dict(hr.tags.top()) == {"a": 15}
        assert hr.audit().problems == []


def test_state_of_a_failed_call_is_gone_in_the_next_call(url: str) -> None:
    text = source("ops/cancel").text
    broken = text.replace("-- uses   ", "-- uses   books ", 1).replace(
        "  answers[i] = answer(id, job)\n", "  book(job.queue, 'put', 5)\n  error('planted')\n"
    )
    assert "planted" in broken
    hr, _ = swapped_client(url, {"ops/cancel": broken})
    with hr:
        hr.queue("mail").put(1, id="a", tags=["x"])
        for _ in range(2):
            with pytest.raises(headrace.ScriptError, match="planted"):
                hr.cancel("a")
        hr.queue("mail").put(2, id="b", tags=["x"])
        assert [job.id for job in hr.queue("mail").peek(9)] == ["a", "b"]
        assert [event.kind for event in hr.events()] == ["put", "put"]
        assert hr.audit().problems == []


def test_two_shards_on_one_server_do_not_mix(url: str) -> None:
    hr, _ = open_with_clock(url, shards=2)
    with hr:
        hr.queue("mail").put_many(range(40))
        for shard in (0, 1):
            [waiting] = hr.core.transport.send(
                [(shard, ("ZCARD", hr.core.key(shard, "waiting:mail")))]
            )
            assert 0 < waiting < 40
        assert hr.queue("mail").counts().waiting == 40
        assert hr.audit().problems == []


# loading


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_an_unknown_function_is_loaded_and_the_call_repeated(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        with redis.Redis.from_url(server.url) as admin:
            admin.function_flush()
        with commands(server.url) as sent:
            await got(hr.queue("mail").put("x"))

        assert words_of(sent) == ["FCALL", "FUNCTION LOAD", "FCALL"]
        assert (await got(hr.queue("mail").counts())).waiting == 1


def test_load_loads_the_library_on_all_shards(server: Restartable) -> None:
    hr, _ = open_with_clock(server.url, shards=2)
    with hr, redis.Redis.from_url(server.url) as admin:
        admin.function_flush()
        drive(hr.core.transport, load(hr.core))

        names = functions_of(admin, hr.core.library.name)
        assert names == {hr.core.library.operations[op].name for op in operations()}
        assert not hr.core.uses_scripts


def test_library_that_another_client_has_just_loaded_is_used(server: Restartable) -> None:
    hr, _ = open_with_clock(server.url)
    with hr, commands(server.url) as sent:
        drive(hr.core.transport, load(hr.core))
        hr.queue("mail").put("x")
    assert words_of(sent)[-2:] == ["FUNCTION LOAD", "FCALL"]
    assert not hr.core.uses_scripts


def test_libraries_of_different_versions_work_side_by_side(server: Restartable) -> None:
    text = source("ops/counts").text
    head, _, body = text.partition("\n\n")
    newer = Library(swaps={"ops/counts": f"{head}\n\nlocal version = 2\n{body}"})
    assert newer.name != LIBRARY.name
    with headrace.connect(server.url) as old, headrace.connect(server.url, library=newer) as new:
        for number, hr in enumerate((old, new, old, new)):
            hr.queue("mail").put(number)
            assert hr.queue("mail").counts().waiting == number + 1
        assert [lease.data for lease in old.queue("mail").pop("w", count=2)] == [0, 1]
        assert [lease.data for lease in new.queue("mail").pop("w", count=2)] == [2, 3]
        assert old.audit().problems == new.audit().problems == []
        with redis.Redis.from_url(server.url) as admin:
            for version in (LIBRARY, newer):
                names = functions_of(admin, version.name)
                assert names == {version.operations[op].name for op in operations()}


# servers that refuse functions


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_user_who_may_not_load_functions_runs_scripts(
    client_kind: str, server: Restartable
) -> None:
    url = user_without(server.url, "function")
    with commands(server.url) as sent:
        async with opened(client_kind, url, namespace="n") as hr:
            await got(hr.queue("mail").put("x"))
            [lease] = await got(hr.queue("mail").pop("w"))
            await got(lease.complete())
            assert (await got(hr.audit())).problems == []
            assert hr.core.uses_scripts
    words = [word for word in words_of(sent) if word in {"FCALL", "EVALSHA"}]
    assert words.count("FCALL") == 1
    assert words.count("EVALSHA") > 4


def test_user_who_may_not_load_functions_uses_functions_that_are_loaded(
    server: Restartable,
) -> None:
    with headrace.connect(server.url) as first:
        first.queue("mail").put("x")
    url = user_without(server.url, "function")
    with commands(server.url) as sent, headrace.connect(url) as hr:
        assert hr.queue("mail").counts().waiting == 1
        assert not hr.core.uses_scripts
    assert "EVALSHA" not in words_of(sent)


def test_functions_are_tried_again_after_a_while(
    server: Restartable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with headrace.connect(user_without(server.url, "function")) as hr:
        assert hr.core.uses_scripts
        user_without(server.url)
        with commands(server.url) as sent:
            hr.queue("mail").put("x")
        assert set(words_of(sent)) <= {"EVALSHA", "SCRIPT LOAD"}

        later = time.monotonic() + SCRIPTS_FOR
        monkeypatch.setattr("headrace.operations.core.time.monotonic", lambda: later)
        with commands(server.url) as sent:
            hr.queue("mail").put("y")
        assert words_of(sent) == ["FCALL", "FUNCTION LOAD", "FCALL"]
        assert hr.queue("mail").counts().waiting == 2


def test_user_who_may_load_nothing_is_told_so(server: Restartable) -> None:
    url = user_without(server.url, "function", "script|load")

    with pytest.raises(ServerUnavailable, match="no permissions"):
        headrace.connect(url, retry_for=30)


def test_full_server_runs_what_needs_no_memory_as_a_script(server: Restartable) -> None:
    with headrace.connect(server.url) as hr, redis.Redis.from_url(server.url) as admin:
        hr.queue("mail").put_many(range(3))
        admin.function_flush()
        admin.config_set("maxmemory", "1")

        with pytest.raises(ServerUnavailable, match="free memory or raise maxmemory"):
            hr.queue("mail").put("one more")
        assert hr.core.uses_scripts
        [lease, *_] = hr.queue("mail").pop("w", count=2)
        lease.complete()
        counts = hr.queue("mail").counts()
        assert (counts.waiting, counts.running, counts.complete) == (1, 1, 1)
        assert hr.audit().problems == []


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_full_server_answers_calls_that_turn_out_to_change_nothing(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        await got(hr.queue("mail").put("x", id="a", on_exists="reject"))
        with redis.Redis.from_url(server.url) as admin:
            admin.config_set("maxmemory", "1")

        with pytest.raises(headrace.JobExists):
            await got(hr.queue("mail").put("x", id="a", on_exists="reject"))
        with pytest.raises(ServerUnavailable, match="free memory or raise maxmemory"):
            await got(hr.queue("mail").put("x", id="b", on_exists="reject"))
        assert (await got(hr.queue("mail").counts())).waiting == 1


@pytest.mark.parametrize("form", FORMS)
def test_full_server_runs_what_only_reads_in_both_forms(server: Restartable, form: str) -> None:
    with client_of(server.url, form) as (hr, _), redis.Redis.from_url(server.url) as admin:
        hr.queue("mail").put(1, id="a", tags=["x"])
        admin.config_set("maxmemory", "1")
        with commands(server.url) as sent:
            assert hr.queue("mail").counts().waiting == 1
            assert [job.id for job in hr.queue("mail").peek(1)] == ["a"]
            assert [job.id for job in hr.tags.jobs("x").jobs] == ["a"]
            assert hr.job("a") is not None
            assert (hr.queue("mail").stats().wait.count, list(hr.queues())) == (0, ["mail"])
            assert (hr.failures.counts(), hr.workers.list(), hr.audit().problems) == ({}, [], [])
        called = {word for word in words_of(sent) if word.startswith(("FCALL", "EVALSHA"))}
        assert called == {"FCALL_RO" if form == "function" else "EVALSHA_RO"}


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_replica_runs_what_only_reads_as_a_script(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        queue = hr.queue("mail")
        await got(queue.put("x"))
        with redis.Redis.from_url(server.url) as admin:
            admin.function_flush()
            server_process.ask(server.path, "REPLICAOF", "127.0.0.1", "1")

            assert (await got(queue.counts())).waiting == 1
            assert hr.core.uses_scripts

            def promote() -> None:
                until(lambda: refusals(admin) > 1, "the replica has refused a write")
                server_process.ask(server.path, "REPLICAOF", "NO", "ONE")

            with meanwhile(promote):
                await got(queue.put("y"))
        assert (await got(queue.counts())).waiting == 2


def refusals(server: redis.Redis) -> int:
    """Return how often a server has refused to write because it is a replica."""
    found = server.info("errorstats")
    return int(found.get("errorstat_READONLY", {}).get("count", 0))


# flags


@pytest.mark.parametrize("op", operations())
def test_an_operation_that_cannot_write_says_so(op: str) -> None:
    """A full server and a replica run only functions that declare to be read-only."""
    flags = source(f"ops/{op}").flags
    writes = {f"'{command}'" for command in WRITES}
    if not any(command in reached(op) for command in writes):
        assert flags == ("no-writes",)
    if flags == ("no-writes",):
        assert not any(command in source(f"ops/{op}").text for command in writes)
