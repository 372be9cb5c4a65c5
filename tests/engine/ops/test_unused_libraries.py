"""unused_libraries: a sweep removes libraries of other versions that no client uses for a week."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
import redis

import headrace
from headrace import Client
from headrace.engine import keys
from headrace.engine.script import PREFIX, Library
from headrace.operations.function_libraries import UNUSED_DAYS
from headrace.testing import Clock, open_with_clock
from tests.model.harness import GENERAL_PATH
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.functions import functions_of, user_without
from tests.support.restartable import Restartable
from tests.support.servers import until

OLD = f"{PREFIX}0123456789ab"
# Libraries of other programs, some with names that resemble those of Headrace.
FOREIGN = ["mylib", "headrace_tools", f"{OLD}c", f"{PREFIX}ABCDEFABCDEF", "headrace"]


@pytest.fixture
def hr(server: Restartable) -> Iterator[Client]:
    client, _ = open_with_clock(server.url)
    with client:
        yield client


@pytest.fixture
def clock(hr: Client) -> Clock:
    return Clock(hr)


@pytest.fixture
def admin(server: Restartable) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as found:
        yield found


def load(admin: redis.Redis, *names: str) -> None:
    """Load libraries with one function each."""
    for name in names:
        admin.function_load(
            f"#!lua name={name}\nredis.register_function('{name}_f', function() end)"
        )


def noted(hr: Client, admin: redis.Redis) -> list[object]:
    return list(admin.hgetall(hr.core.key(0, keys.LIBRARIES)))


def test_a_library_of_another_version_is_removed_after_a_week(
    hr: Client, clock: Clock, admin: redis.Redis
) -> None:
    load(admin, OLD)
    hr.sweep()
    assert noted(hr, admin) == [OLD.encode()]

    clock.tick(timedelta(days=UNUSED_DAYS, milliseconds=-1))
    hr.sweep()
    assert functions_of(admin, OLD) == {f"{OLD}_f"}

    clock.tick(timedelta(milliseconds=1))
    hr.sweep()
    assert functions_of(admin, OLD) == set()
    assert noted(hr, admin) == []
    assert hr.core.library.operations["put"].name in functions_of(admin, hr.core.library.name)


def test_a_library_that_is_loaded_again_stays_another_week(
    hr: Client, clock: Clock, admin: redis.Redis
) -> None:
    load(admin, OLD)
    hr.sweep()
    clock.tick(timedelta(days=UNUSED_DAYS))
    hr.sweep()
    load(admin, OLD)

    hr.sweep()

    assert functions_of(admin, OLD) == {f"{OLD}_f"}
    clock.tick(timedelta(days=UNUSED_DAYS))
    hr.sweep()
    assert functions_of(admin, OLD) == set()


def test_removed_library_is_forgotten(hr: Client, clock: Clock, admin: redis.Redis) -> None:
    load(admin, OLD)
    hr.sweep()
    admin.function_delete(OLD)
    hr.sweep()
    assert noted(hr, admin) == []

    clock.tick(timedelta(days=UNUSED_DAYS))
    load(admin, OLD)
    hr.sweep()
    assert functions_of(admin, OLD) == {f"{OLD}_f"}


def test_libraries_of_other_programs_stay(hr: Client, clock: Clock, admin: redis.Redis) -> None:
    load(admin, OLD, *FOREIGN)
    for _ in range(3):
        hr.sweep()
        clock.tick(timedelta(days=UNUSED_DAYS))

    assert functions_of(admin, OLD) == set()
    for name in FOREIGN:
        assert functions_of(admin, name) == {f"{name}_f"}


# libraries in use


@pytest.fixture
def older(hr: Client) -> Library:
    """The library of another version."""
    return Library(swaps={**hr.core.library._swaps, **GENERAL_PATH})


def until_disconnected(admin: redis.Redis, library: Library) -> None:
    until(lambda: library.name not in str(admin.client_list()), "its clients have disconnected")


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_a_library_stays_while_a_client_of_its_version_is_connected(
    client_kind: str,
    hr: Client,
    clock: Clock,
    admin: redis.Redis,
    server: Restartable,
    older: Library,
) -> None:
    async with opened(client_kind, server.url, namespace="another", library=older) as old:
        await got(old.queue("mail").put("x"))
        for _ in range(3):
            hr.sweep()
            clock.tick(timedelta(days=UNUSED_DAYS))
        assert noted(hr, admin) == []
    await asyncio.to_thread(until_disconnected, admin, older)

    hr.sweep()
    clock.tick(timedelta(days=UNUSED_DAYS, milliseconds=-1))
    hr.sweep()
    assert older.operations["put"].name in functions_of(admin, older.name)
    clock.tick(timedelta(milliseconds=1))
    hr.sweep()
    assert functions_of(admin, older.name) == set()


def test_a_library_that_is_used_again_stays_another_week(
    hr: Client, clock: Clock, admin: redis.Redis, server: Restartable, older: Library
) -> None:
    with headrace.connect(server.url, namespace="another", library=older):
        pass
    until_disconnected(admin, older)
    hr.sweep()
    clock.tick(timedelta(days=UNUSED_DAYS))
    with headrace.connect(server.url, namespace="another", library=older):
        hr.sweep()
    until_disconnected(admin, older)

    hr.sweep()

    assert older.operations["put"].name in functions_of(admin, older.name)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_a_library_that_is_deleted_while_in_use_is_loaded_again(
    client_kind: str,
    hr: Client,
    clock: Clock,
    admin: redis.Redis,
    server: Restartable,
    older: Library,
) -> None:
    """A sweep by a user who may not list clients does not know which libraries are in use."""
    url, namespace = server.url, hr.core.namespace
    limited = user_without(url, "client|list")
    async with opened(client_kind, url, namespace=namespace, library=older) as old:
        with headrace.connect(limited, namespace=namespace, library=hr.core.library) as sweeper:
            await got(old.queue("mail").put("x"))
            leases = await got(old.queue("mail").pop("w"))
            for _ in range(2):
                sweeper.sweep()
                clock.tick(timedelta(days=UNUSED_DAYS))
        assert functions_of(admin, older.name) == set()

        await got(old.queue("mail").put("y"))
        assert older.operations["put"].name in functions_of(admin, older.name)
        admin.function_delete(older.name)
        done, [lease] = await got(old.queue("mail").complete_and_pop(leases, "w"))

    assert (done, lease.data) == (["complete"], "y")
    kinds = [event.kind for event in hr.events()]
    assert kinds == ["put", "popped", "put", "completed", "popped"]
    assert hr.audit().problems == []


def test_user_who_may_not_delete_libraries_can_sweep(
    hr: Client, clock: Clock, admin: redis.Redis, server: Restartable
) -> None:
    load(admin, OLD)
    url, library = user_without(server.url, "function|delete"), hr.core.library
    with headrace.connect(url, namespace=hr.core.namespace, library=library) as other:
        other.sweep()
        clock.tick(timedelta(days=UNUSED_DAYS))
        other.sweep()
    assert functions_of(admin, OLD) == {f"{OLD}_f"}
