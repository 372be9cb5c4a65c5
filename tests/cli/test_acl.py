"""The command acl, and the commands that an observer and a producer may run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

import headrace
from headrace import Client, Queue, ServerUnavailable
from headrace.engine.rights import ROLES
from tests.cli.conftest import RunCommand, fail
from tests.support import servers
from tests.support.dump import dump
from tests.support.roles import user_url

READING = (
    "queues",
    "jobs mail",
    "jobs mail --state failed",
    "job waiting",
    "why waiting",
    "result done",
    "peek mail --count 5",
    "failures",
    "failures smtp",
    "workers",
    "schedules",
    "tags",
    "stats mail",
    "events",
    "audit",
    "configure mail",
    "config",
    "top",
)
CHANGING = (
    "cancel waiting",
    "retry --failure smtp",
    "pause mail",
    "resume mail",
    "release running",
    "timeout running",
    "sweep",
    "configure mail lease=5",
    "config retries=1",
)


@pytest.fixture
def busy(client: Client, mail: Queue) -> Queue:
    """A queue with something to show for each command."""
    mail.configure(lease=600)
    mail.put(1, id="done")
    [lease] = mail.pop("ann")
    lease.complete({"sent": True})
    mail.put(2)
    fail(mail, "smtp", "no route")
    client.session("ann", ttl=None).serve("mail")
    mail.put(3, id="running")
    mail.pop("ann")
    mail.put(4, id="waiting", tags=["a"])
    mail.schedule("noon", "x", cron="0 12 * * *")
    return mail


@pytest.fixture(params=["producer", "observer"])
def as_user(
    request: pytest.FixtureRequest,
    client: Client,
    valkey_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[], None]]:
    """A function that lets the next commands run as a user with a role."""
    with user_url(valkey_url, request.param, client.core.namespace) as url:
        yield lambda: monkeypatch.setenv("HEADRACE_URL", url)


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("command", READING)
def test_a_command_that_reads_shows_the_same_to_every_role(
    cli: RunCommand, as_user: Callable[[], None], command: str
) -> None:
    shown = cli(*command.split(), "--json")
    assert (shown.code, shown.err) == (0, "")

    as_user()

    found = cli(*command.split(), "--json")
    assert (found.code, found.err) == (0, "")
    assert without_times(found.out) == without_times(shown.out)


def without_times(out: str) -> list[str]:
    """Return the lines without those that depend on the time of the call."""
    return [line for line in out.splitlines() if '"at":' not in line]


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_changes_something_is_refused(
    cli: RunCommand, client: Client, as_user: Callable[[], None], command: str
) -> None:
    before = dump(client)
    as_user()

    refused = cli(*command.split())

    assert refused.code == 1
    assert "lacks a permission" in refused.err
    assert "nothing was changed" in refused.err
    assert dump(client) == before


@pytest.mark.usefixtures("busy")
def test_doctor_reports_what_a_role_may_not_check(
    cli: RunCommand, as_user: Callable[[], None]
) -> None:
    as_user()

    found = {one["check"]: one for one in cli("doctor", "--json").json["checks"]}

    assert {found[name]["verdict"] for name in ("namespace", "books", "functions")} == {"ok"}


def test_acl_prints_a_line_for_an_acl_file(cli: RunCommand, tmp_path: Path) -> None:
    lines = [cli("acl", role, "-n", "shop", "--user", f"{role}-1").out for role in ROLES]
    path = tmp_path / "users.acl"
    path.write_text("user default on nopass ~* &* +@all\n" + "".join(lines))
    with ExitStack() as running:
        port = servers.listen(running, None, "--aclfile", str(path))
        address = f"{servers.HOST}:{port}"
        headrace.connect(f"redis://{address}", namespace="shop").close()
        with redis.Redis.from_url(f"redis://{address}") as admin:
            for role in ROLES:
                url = f"redis://{role}-1:secret@{address}"
                with pytest.raises(ServerUnavailable, match="refused the login"):
                    headrace.connect(url, namespace="shop")
                admin.execute_command("ACL", "SETUSER", f"{role}-1", ">secret")
                with headrace.connect(url, namespace="shop") as hr:
                    assert hr.queues() == {}


def test_acl_prints_the_rules_as_json(cli: RunCommand) -> None:
    found = cli("acl", "worker", "-n", "shop", "--json").json

    line = cli("acl", "worker", "-n", "shop").out
    assert line == f"user worker on {' '.join(found['rules'])}\n"
    assert (found["user"], found["role"], found["namespace"]) == ("worker", "worker", "shop")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["boss"], "boss"),
        (["worker", "-n", "shop:eu"], "':'"),
        (["worker", "--user", "a b"], "user name"),
        (["worker", "--user", ""], "user name"),
        (["worker", "--shards", "0"], "shards"),
    ],
)
def test_acl_refuses_invalid_arguments(cli: RunCommand, words: list[str], message: str) -> None:
    refused = cli("acl", *words)

    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("shards", [1, 2, 12])
def test_rules_open_all_shards_of_one_namespace_and_no_other(
    valkey_url: str, role: str, shards: int
) -> None:
    name = f"acl-{role}-{shards}"
    headrace.connect(valkey_url, namespace=name, shards=shards).close()
    with (
        user_url(valkey_url, role, name, shards) as url,
        headrace.connect(url, namespace=name) as hr,
        redis.Redis.from_url(url) as direct,
    ):
        assert hr.core.shards == shards
        assert hr.audit().problems == []
        if role != "observer":
            hr.queue("mail").put_many(range(40))
            assert hr.queue("mail").counts().waiting == 40
        for other in (f"{name}:eu", f"{name}-2", f"{name}:0", "other", f"x{name}"):
            with pytest.raises(redis.exceptions.NoPermissionError):
                direct.get(f"hr:{{{other}:0}}:job:a")
            with pytest.raises(redis.exceptions.NoPermissionError):
                direct.fcall_ro(hr.core.library.operations["get"].name, 1, f"hr:{{{other}:0}}:")
