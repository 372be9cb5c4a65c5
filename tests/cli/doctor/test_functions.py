"""doctor reports a server that refuses functions, and removes unused libraries on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

import headrace
from headrace.cli.connecting import ServerOptions
from headrace.cli.doctor.command import examine
from headrace.cli.doctor.finding import OK, WARNING, Finding
from headrace.engine import keys
from headrace.engine.script import PREFIX, Library
from headrace.operations.function_libraries import UNUSED_DAYS
from tests.cli.doctor.test_doctor import doctor
from tests.model.harness import GENERAL_PATH
from tests.support import servers
from tests.support.functions import functions_of, user_without

OLD = f"{PREFIX}0123456789ab"
FOREIGN = ("mylib", "headrace_tools")
LOADED = "loaded; libraries of other versions: "


@pytest.fixture
def own() -> Iterator[str]:
    """Return the URL of a server of the test's own, with a namespace."""
    with servers.valkey() as url:
        headrace.connect(url).close()
        yield url


@pytest.fixture
def admin(own: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(own) as found:
        yield found


def functions(url: str, *, remove: bool = False) -> Finding:
    """Return the finding of the check `functions`."""
    options = ServerOptions(url, "default")
    made = examine(options, remove=remove)
    return next(one for one in made if one.check == "functions")


def load(admin: redis.Redis, *names: str) -> None:
    for name in names:
        admin.function_load(
            f"#!lua name={name}\nredis.register_function('{name}_f', function() end)"
        )


@pytest.mark.parametrize("command", ["function", "fcall_ro"])
def test_user_who_may_not_use_functions_gets_a_warning(
    own: str, admin: redis.Redis, command: str
) -> None:
    admin.function_flush()

    found = functions(user_without(own, command))

    assert found.verdict == WARNING
    assert "every call runs a slower script" in found.found
    assert "function|load, fcall and fcall_ro" in found.advice
    assert functions(own).verdict == OK


def test_full_server_without_the_library_gets_a_warning(own: str, admin: redis.Redis) -> None:
    admin.config_set("maxmemory", "1")
    assert functions(own).verdict == OK
    admin.config_set("maxmemory", "0")
    admin.function_flush()
    admin.config_set("maxmemory", "1")

    assert functions(own).verdict == WARNING


def test_server_without_functions_gets_a_warning() -> None:
    with ExitStack() as running:
        port = servers.listen(running, None, *servers.WITHOUT_FUNCTIONS)
        url = f"redis://{servers.HOST}:{port}"
        headrace.connect(url).close()
        found = {one.check: one for one in examine(ServerOptions(url, "default"))}

    assert found["functions"].verdict == WARNING
    assert "every call runs a slower script" in found["functions"].found
    assert (found["books"].verdict, found["server"].verdict) == (OK, OK)


def test_libraries_of_other_versions_are_counted(own: str, admin: redis.Redis) -> None:
    older = Library(swaps=GENERAL_PATH)
    assert functions(own).found.startswith(f"{LOADED}0 in use, 0 without a client")
    load(admin, OLD, *FOREIGN)
    with headrace.connect(own, library=older) as old:
        old.queue("mail").put("x")

        found = functions(own)

    assert (found.verdict, found.advice) == (OK, "")
    assert found.found.startswith(f"{LOADED}1 in use, 1 without a client")
    assert f"after {UNUSED_DAYS} days" in found.found


def test_user_who_may_not_list_libraries_is_told_so(own: str) -> None:
    found = functions(user_without(own, "function|list"))

    assert found.verdict == OK
    assert "may not run FUNCTION LIST" in found.found


def test_unused_libraries_are_removed_on_request(
    own: str, admin: redis.Redis, tmp_path: Path
) -> None:
    load(admin, OLD, *FOREIGN)
    assert functions(own, remove=True).found.startswith(f"{LOADED}0 deleted, 0 in use, 1")
    [first_seen] = admin.hgetall(f"hr:{{default:0}}:{keys.LIBRARIES}").values()
    a_week_before = int(first_seen) - UNUSED_DAYS * 86_400_000
    admin.hset(f"hr:{{default:0}}:{keys.LIBRARIES}", OLD, a_week_before)
    assert functions(own).found.startswith(f"{LOADED}0 in use, 1 without a client")
    assert functions_of(admin, OLD) != set()

    output = doctor("--remove-libraries", "--url", own, cwd=tmp_path)

    assert f"{LOADED}1 deleted, 0 in use, 0 without a client" in output.stdout
    assert functions_of(admin, OLD) == set()
    for name in FOREIGN:
        assert functions_of(admin, name) == {f"{name}_f"}
