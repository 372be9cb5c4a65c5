"""The permissions in docs/guides/operations.md are correct: enough for each user, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import takewhile

import pytest
import redis

import headrace
from headrace import Client, NoResult, ServerUnavailable
from headrace.cli.connecting import ServerOptions
from headrace.cli.doctor.command import examine
from headrace.cli.doctor.finding import OK, WARNING
from headrace.cli.events import newest
from headrace.engine import keys
from headrace.engine.rights import ROLES, acl_rules
from headrace.engine.script import LIBRARY, PREFIX, operations, source
from headrace.operations.function_libraries import UNUSED_DAYS
from tests.conftest import KINDS
from tests.docs.support.calls import (
    changes,
    make_every_call,
    observe,
    prepare_for_observer,
    produce,
    put_in_every_way,
    puts,
)
from tests.docs.support.rights import NAMESPACE, PAGE, USERS, add_users, rights
from tests.engine.support.lua_files import reached
from tests.proof import proves
from tests.support import servers
from tests.support.channels import commands
from tests.support.functions import forget_library, functions_of, has_library, words_of

SENT_BY_WORKERS = (
    "fcall fcall_ro function|load function|list function|delete client|list evalsha evalsha_ro "
    "script|load info cluster|slots ssubscribe ping xrange xrevrange xread"
)
SENT_BY_OBSERVERS = (
    "fcall_ro evalsha_ro script|load info cluster|slots ssubscribe ping xrange xrevrange xread"
)
OLD = f"{PREFIX}0123456789ab"


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A private server, because other tests would see its users and this namespace."""
    with getattr(servers, request.param)() as found:
        yield found


@pytest.fixture
def users(url: str) -> dict[str, str]:
    """The URL of the server for each user of the page."""
    return add_users(url)


@pytest.fixture
def admin(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as server:
        yield server


def granted(user: str) -> set[str]:
    """Return the commands that a user may run."""
    return {rule[1:] for rule in rights(user) if rule.startswith("+")}


def refused(admin: redis.Redis) -> set[str]:
    """Return the commands and keys that the server has refused."""
    return {_text(entry, "object") for entry in admin.execute_command("ACL", "LOG")}


def _text(entry: dict[str | bytes, bytes], name: str) -> str:
    return (entry.get(name) or entry[name.encode()]).decode()


# the lists of commands


def run_by(text: str) -> set[str]:
    """Return the commands of a server that a Lua text runs."""
    words = {word.lower() for word in re.findall(r"'([A-Z]+)'", text)}
    return words & _commands()


@cache
def _commands(*, reading: bool = False) -> set[str]:
    """Return the names of all commands, or of those that only read."""
    with servers.valkey() as url, redis.Redis.from_url(url) as server:
        return {
            name.decode() if isinstance(name, bytes) else name
            for name, about in server.command().items()
            if not reading or {"readonly", b"readonly"} & set(about["flags"])
        }


def test_worker_may_run_the_commands_of_clients_and_functions() -> None:
    assert granted("worker") == run_by(LIBRARY.text) | set(SENT_BY_WORKERS.split())


@pytest.mark.parametrize("role", ROLES)
def test_page_shows_the_rules_of_headrace_acl(role: str) -> None:
    assert " ".join(rights(role)) == " ".join(acl_rules(role, NAMESPACE))


def test_producer_may_run_the_commands_of_an_observer_and_those_that_add() -> None:
    added = {"fcall", "evalsha", "spublish"}
    writes = {"setnx", "msetnx", "hset", "hincrby", "zadd", "zincrby", "xadd"}
    assert granted("producer") == granted("observer") | added | writes
    assert not writes & _commands(reading=True)


def test_observer_may_run_the_commands_of_functions_that_only_read() -> None:
    only_read = [op for op in operations() if source(f"ops/{op}").flags == ("no-writes",)]
    run = set().union(*(run_by(reached(op)) for op in only_read))
    reads = (run & _commands(reading=True)) | {"time"}
    # These functions import a library that contains LINDEX, but never call its code with LINDEX.
    assert granted("observer") == (reads - {"lindex"}) | set(SENT_BY_OBSERVERS.split())
    assert f"%R~hr:{{{NAMESPACE}:0}}:*" in rights("observer")
    assert not any(rule.startswith("~") for rule in rights("observer"))


# users


def test_worker_can_make_every_call(form: str, users: dict[str, str], admin: redis.Redis) -> None:
    with headrace.connect(users["worker"], namespace=NAMESPACE) as hr:
        make_every_call(hr)

        assert hr.audit().problems == []
        assert newest(hr, 1, lambda _: True, {})
    assert has_library(admin, form)
    assert refused(admin) <= {"client|setinfo"}


def test_worker_can_delete_unused_libraries(users: dict[str, str], admin: redis.Redis) -> None:
    admin.function_load(f"#!lua name={OLD}\nredis.register_function('{OLD}_f', function() end)")
    with headrace.connect(users["worker"], namespace=NAMESPACE) as hr:
        hr.sweep()
        libraries = hr.core.key(0, keys.LIBRARIES)
        first_seen = int(admin.hgetall(libraries)[OLD.encode()])
        admin.hset(libraries, OLD, first_seen - UNUSED_DAYS * 86_400_000)
        hr.sweep()
    assert functions_of(admin, OLD) == set()
    assert refused(admin) <= {"client|setinfo"}


def test_producer_can_put_jobs_and_wait_for_results(
    form: str, url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    with (
        headrace.connect(url, namespace=NAMESPACE) as worker,
        headrace.connect(users["producer"], namespace=NAMESPACE) as hr,
    ):
        produce(hr, worker)
        assert hr.core.uses_scripts == (form == "script")
    assert refused(admin) <= {"client|setinfo"}


def test_producer_works_without_a_loaded_library_but_cannot_load_it(
    url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    headrace.connect(url, namespace=NAMESPACE).close()
    forget_library(admin)
    with headrace.connect(users["producer"], namespace=NAMESPACE) as hr:
        hr.queue("mail").put(1)
        assert hr.core.uses_scripts
        assert not has_library(admin, "function")
        with headrace.connect(url, namespace=NAMESPACE) as worker:
            [lease] = worker.queue("mail").pop("w")
            lease.complete()
            produce(hr, worker)
    assert refused(admin) <= {"client|setinfo", "function|load"}


def test_observer_can_read_everything(
    form: str, url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    with headrace.connect(url, namespace=NAMESPACE) as writer:
        prepare_for_observer(writer)
        with (
            commands(url) as sent,
            headrace.connect(users["observer"], namespace=NAMESPACE) as hr,
        ):
            observe(hr, writer)
    called = {word for word in words_of(sent) if word.endswith("_RO")}
    assert called == {"FCALL_RO" if form == "function" else "EVALSHA_RO"}
    assert refused(admin) <= {"client|setinfo"}


def test_observer_needs_every_permission(
    url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    # This test does not use these commands. A client needs them to run the library as a script,
    # over TCP, in a Cluster or after a pause.
    elsewhere = {"fcall_ro", "evalsha_ro", "script|load", "info", "cluster|slots", "ping"}
    for command in granted("observer") - elsewhere:
        admin.flushall()
        admin.execute_command("ACL", "SETUSER", "observer", f"-{command}")
        with headrace.connect(url, namespace=NAMESPACE) as writer:
            prepare_for_observer(writer)
            with pytest.raises(ServerUnavailable, match="lacks a permission"):  # noqa: SIM117
                with headrace.connect(users["observer"], namespace=NAMESPACE) as hr:
                    observe(hr, writer)
        admin.execute_command("ACL", "SETUSER", "observer", f"+{command}")


def test_observer_reads_without_a_loaded_library_but_cannot_load_it(
    url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    with headrace.connect(url, namespace=NAMESPACE) as writer:
        prepare_for_observer(writer)
        forget_library(admin)
        with headrace.connect(users["observer"], namespace=NAMESPACE) as hr:
            assert hr.queue("mail").counts().failed == 1
            assert hr.core.uses_scripts
            assert not has_library(admin, "function")
            observe(hr, writer)
    assert refused(admin) <= {"client|setinfo", "function|load"}


def test_producer_can_add_jobs_but_change_nothing(
    url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    with headrace.connect(url, namespace=NAMESPACE) as writer:
        prepare_for_observer(writer)
        before = contents(admin)
        with headrace.connect(users["producer"], namespace=NAMESPACE) as hr:
            for change in changes(hr):
                with pytest.raises(ServerUnavailable, match=r"lacks a permission.*nothing was"):
                    change()
            assert contents(admin) == before
            for put in puts(hr):
                put()
        assert contents(admin) != before


def test_producer_needs_every_permission(
    url: str, users: dict[str, str], admin: redis.Redis
) -> None:
    rules = acl_rules("producer", NAMESPACE)
    reads = {f"+{command}" for command in granted("observer")}
    # A client needs only one of these two commands.
    calling = {"+fcall", "+evalsha"}
    added = [rule for rule in rules if rule not in reads | calling and rule[:2] != "%R"]
    assert len(added) > len(granted("producer") - granted("observer"))
    for missing in added:
        admin.flushall()
        admin.execute_command(
            *("ACL", "SETUSER", "producer", "reset", "on", ">password"),
            *(rule for rule in rules if rule != missing),
        )
        with (
            headrace.connect(url, namespace=NAMESPACE) as worker,
            headrace.connect(users["producer"], namespace=NAMESPACE) as hr,
            pytest.raises(ServerUnavailable, match="lacks a permission"),
        ):
            use_every_permission(hr, worker)


def use_every_permission(hr: Client, worker: Client) -> None:
    first = put_in_every_way(hr, worker)
    with suppress(NoResult):
        hr.result(first, wait=0.5)


def contents(admin: redis.Redis) -> list[bytes | None]:
    """Return the contents of all keys."""
    return [admin.dump(key) for key in sorted(admin.keys())]


def test_observer_can_change_nothing(url: str, users: dict[str, str], admin: redis.Redis) -> None:
    with headrace.connect(url, namespace=NAMESPACE) as writer:
        prepare_for_observer(writer)
        before = contents(admin)
        with headrace.connect(users["observer"], namespace=NAMESPACE) as hr:
            for change in [*changes(hr), *puts(hr)]:
                with pytest.raises(ServerUnavailable, match=r"lacks a permission.*nothing was"):
                    change()
        with redis.Redis.from_url(users["observer"]) as direct:
            key = writer.core.key(0, keys.META)
            for command in (
                ("HSET", key, "layout", "1"),
                ("FCALL", LIBRARY.operations["put"].name, 1, key),
                ("EVALSHA", LIBRARY.operations["put"].script.sha, 1, key),
                ("FUNCTION", "DELETE", LIBRARY.name),
                ("FUNCTION", "LOAD", "REPLACE", LIBRARY.text),
                ("SPUBLISH", f"hr:{{{NAMESPACE}:0}}:queue:mail", "work 1"),
            ):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    direct.execute_command(*command)
            with pytest.raises(redis.exceptions.ResponseError, match="write"):
                direct.execute_command("FCALL_RO", LIBRARY.operations["cancel"].name, 1, key, "0")
        assert contents(admin) == before


@pytest.mark.parametrize(("loaded", "verdict"), [(True, OK), (False, WARNING)])
def test_observer_can_run_doctor(
    url: str, users: dict[str, str], admin: redis.Redis, *, loaded: bool, verdict: str
) -> None:
    headrace.connect(url, namespace=NAMESPACE).close()
    if not loaded:
        forget_library(admin)
    options = ServerOptions(users["observer"], NAMESPACE)
    made = examine(options)
    found = {one.check: one for one in takewhile(lambda one: one.check != "versions", made)}
    assert found["functions"].verdict == verdict
    assert found["books"].verdict == OK
    unchecked = {check for check, one in found.items() if "may not run" in one.found}
    assert unchecked == {"slow scripts", "clients", *(["functions"] if loaded else [])}


def test_worker_with_the_permissions_for_doctor_can_run_every_check(
    users: dict[str, str], admin: redis.Redis
) -> None:
    [more] = re.findall(r"of a worker: `([^`]+)`", PAGE.read_text())
    admin.execute_command("ACL", "SETUSER", "worker", *more.split())
    headrace.connect(users["worker"], namespace=NAMESPACE).close()
    options = ServerOptions(users["worker"], NAMESPACE)

    found = list(examine(options, remove=True))

    assert not [one for one in found if "may not run" in one.found]
    assert refused(admin) <= {"client|setinfo"}


@proves("R-01")
def test_pusher_can_only_push(users: dict[str, str]) -> None:
    key = f"hr:{{{NAMESPACE}:0}}:ingress:mail"
    with (
        headrace.connect(users["worker"], namespace=NAMESPACE) as hr,
        redis.Redis.from_url(users["pusher"]) as pusher,
    ):
        assert pusher.lpush(key, '"pushed"') == 1
        assert pusher.spublish(f"hr:{{{NAMESPACE}:0}}:queue:mail", "work 1") == 0
        for forbidden in (
            ("RPOP", key),
            ("LPUSH", f"{key}s", "x"),
            ("GET", f"hr:{{{NAMESPACE}:0}}:job:x"),
            ("SPUBLISH", f"hr:{{{NAMESPACE}:0}}:worker:w", "x"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                pusher.execute_command(*forbidden)

        assert [lease.data for lease in hr.queue("mail").pop("w")] == ["pushed"]


@pytest.mark.parametrize("user", [user for user in USERS if user != "pusher"])
def test_users_cannot_use_another_namespace(url: str, users: dict[str, str], user: str) -> None:
    headrace.connect(url, namespace="other").close()
    with pytest.raises(ServerUnavailable, match="nothing was changed"):
        headrace.connect(users[user], namespace="other")


@pytest.mark.parametrize(
    ("missing", "is_script"), [(["zadd"], True), (["fcall", "evalsha"], False)]
)
def test_missing_right_raises_an_error_that_names_the_page(
    users: dict[str, str], admin: redis.Redis, missing: list[str], *, is_script: bool
) -> None:
    with headrace.connect(users["worker"], namespace=NAMESPACE) as hr:
        admin.execute_command("ACL", "SETUSER", "worker", *(f"-{right}" for right in missing))

        with pytest.raises(ServerUnavailable, match=r"lacks a permission.*Rights") as refusal:
            hr.queue("mail").put(1)

    assert refusal.value.maybe_done is is_script
