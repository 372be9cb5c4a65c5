"""Connect to every kind of server, and refuse every kind of wrong argument."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, assert_type
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import AsyncClient, InvalidArgument, NamespaceMismatch, ServerUnavailable
from headrace.client.connect import LAYOUT, ConnectArguments, ConnectOptions
from headrace.local_server import embedded, server_process
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.functions import forget_library, has_library, load_scripts
from tests.support.processes import start_python
from tests.support.servers import TlsServer, sentinel, tls_server, until


def fresh() -> str:
    return f"connect-{uuid4().hex}"


@pytest.mark.parametrize(
    ("form", "client_kind", "replica_has_library"),
    [
        ("function", "sync", True),
        ("function", "async", True),
        ("function", "sync", False),
        ("script", "async", False),
        pytest.param("script", "sync", True, marks=pytest.mark.long),
    ],
    indirect=["form"],
)
async def test_client_works_after_a_failover(
    client_kind: str, form: str, *, replica_has_library: bool
) -> None:
    with sentinel() as watched:
        url = f"redis+sentinel://{watched.host}:{watched.port}/{watched.service}"
        async with opened(client_kind, url, retry_for=30) as hr:
            ids = await got(hr.queue("mail").put_many(range(20)))
            [lease] = await got(hr.queue("mail").pop("w"))
            until(lambda: replicated(watched.primary), "the replica has all data")
            with redis.Redis(watched.host, watched.replica) as replica:
                if not replica_has_library:
                    forget_library(replica)
                elif form == "script":
                    load_scripts(replica, hr.core.library)
                assert has_library(replica, form, hr.core.library) == replica_has_library

            watched.kill_primary()

            assert await got(lease.complete("well")) == "complete"
            assert (await got(hr.result(ids[0]))).value == "well"
            assert (await got(hr.queue("mail").counts())).waiting == 19
            kinds = [event.kind for event in await listed(hr.events())]
            assert kinds == ["put"] * 20 + ["popped", "completed"]
            assert (await got(hr.audit())).problems == []


def replicated(primary: int) -> bool:
    found = server_process.ask(("127.0.0.1", primary), "INFO", "replication")
    facts = dict(line.split(":", 1) for line in found.splitlines() if ":" in line)
    return f"offset={facts['master_repl_offset']}," in facts["slave0"]


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_unknown_sentinel_service_raises_server_unavailable(client_kind: str) -> None:
    with sentinel() as watched:
        url = f"redis+sentinel://{watched.host}:{watched.port}/nonsense"
        with pytest.raises(ServerUnavailable, match="nonsense"):
            async with opened(client_kind, url, retry_for=0.1):
                pass


@pytest.fixture(scope="module")
def served() -> Iterator[TlsServer]:
    with tls_server() as found:
        if found is None:
            pytest.skip("no server with TLS here")
        yield found


@pytest.fixture
async def tls(served: TlsServer) -> AsyncIterator[TlsServer]:
    """A server with TLS; a test must leave no connection open."""
    with redis.Redis.from_url(served.url, ssl_ca_certs=str(served.ca)) as admin:

        def connections() -> int:
            return int(admin.info("clients")["connected_clients"])

        before = connections()
        yield served
        await asyncio.to_thread(
            until, lambda: connections() == before, "all connections are closed"
        )
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_user_logs_in_over_tls(client_kind: str, tls: TlsServer) -> None:
    url = f"{tls.url}?ssl_ca_certs={tls.ca}"
    async with opened(client_kind, url, namespace=fresh()) as hr:
        await got(hr.queue("mail").put("x", id="a"))
        [lease] = await got(hr.queue("mail").pop("w", wait=5))
        assert await got(lease.complete()) == "complete"
        assert await got(hr.queue("mail").pop("w", wait=0.01)) == []


async def test_large_payloads_pass_tls_in_both_directions(tls: TlsServer) -> None:
    url = f"{tls.url}?ssl_ca_certs={tls.ca}"
    async with opened("async", url, namespace=fresh()) as hr:
        large = ["x" * 1_000_000] * 20
        putting = asyncio.ensure_future(hr.queue("large").put_many(large))
        await asyncio.gather(*[hr.queue("small").put(number) for number in range(20)])

        assert [job.data for job in await hr.jobs(await putting)] == large


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
@pytest.mark.parametrize("login", ["headrace:wrong", "nobody:secret", ""])
async def test_refused_login_is_reported_at_once(
    client_kind: str, login: str, tls: TlsServer
) -> None:
    url = tls.url.replace("headrace:secret", login) + f"?ssl_ca_certs={tls.ca}"

    with pytest.raises(ServerUnavailable, match="check the user and the password") as refused:
        async with opened(client_kind, url, retry_for=600):
            pass

    assert refused.value.maybe_done is False
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_unknown_certificate_is_refused(client_kind: str, tls: TlsServer) -> None:
    with pytest.raises(ServerUnavailable, match="certificate"):
        async with opened(client_kind, tls.url, retry_for=0.1):
            pass


def test_missing_permission_is_named_in_the_error() -> None:
    with tls_server(rights="~hr:* &* +@all -xadd") as served:
        if served is None:
            pytest.skip("no server with TLS here")
        unable = pytest.raises(headrace.HeadraceError, match="can't run this command")
        with headrace.connect(f"{served.url}?ssl_ca_certs={served.ca}") as hr, unable:
            hr.queue("mail").put("x")


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost", "localhost:6379", "http://localhost", "redis:/localhost", "6379"),
        *("redis://host:port", "redis://host:99999", "redis://[::1", "redis+sentinel://host:1"),
        *("redis+sentinel://host/service", "redis+sentinel://:1/service"),
        *("redis+sentinel://host:1/service?db=x", "redis+sentinel://host:1/service?nonsense=1"),
        *(5, b"redis://localhost", ["redis://localhost"]),
    ],
)
def test_malformed_url_is_refused(url: Any) -> None:
    with pytest.raises(InvalidArgument, match="URL"):
        headrace.connect(url)


@pytest.mark.parametrize(
    "options",
    [
        {"namespace": ""},
        *({"namespace": f"a{char}b"} for char in ":{}*?[]\\ \t\u00a0"),
        {"namespace": "a\n"},
        {"namespace": None},
        {"shards": 0},
        {"shards": 1025},
        {"shards": "4"},
        {"codec": "pickle"},
        {"codec": None},
        {"limits": {"payload": 1}},
        {"library": "scripts"},
        {"timeout": 0},
        {"timeout": -1},
        {"retry_for": float("nan")},
    ],
)
async def test_invalid_arguments_of_connect_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        headrace.connect("redis://127.0.0.1:1", **options)
    with pytest.raises(InvalidArgument):
        await headrace.connect_async("redis://127.0.0.1:1", **options)


def test_unix_socket_path_may_have_special_characters(tmp_path: Path, valkey_url: str) -> None:
    link = tmp_path / "a b%41é"
    link.symlink_to(Path(valkey_url.removeprefix("unix://")).parent)

    with headrace.connect(
        server_process.url_of(link / server_process.SOCKET), namespace=fresh()
    ) as hr:
        assert hr.queue("mail").put("x")


def test_number_of_shards_of_a_namespace_is_fixed(valkey_url: str) -> None:
    name = fresh()
    headrace.connect(valkey_url, namespace=name, shards=4).close()

    with headrace.connect(valkey_url, namespace=name) as hr:
        assert hr.core.shards == 4
    with pytest.raises(NamespaceMismatch, match="created with 4 shards, not 2"):
        headrace.connect(valkey_url, namespace=name, shards=2)


def test_namespace_with_another_layout_is_refused(valkey_url: str) -> None:
    name = fresh()
    headrace.connect(valkey_url, namespace=name).close()
    with redis.Redis.from_url(valkey_url) as server:
        server.hset(f"hr:{{{name}:0}}:meta", "layout", "99")

    with pytest.raises(
        NamespaceMismatch, match=f"layout 99, but this version of Headrace uses layout {LAYOUT}"
    ):
        headrace.connect(valkey_url, namespace=name)


def test_namespaces_on_one_server_are_isolated(valkey_url: str) -> None:
    names = [fresh() for _ in range(2)]
    with (
        headrace.connect(valkey_url, namespace=names[0]) as one,
        headrace.connect(valkey_url, namespace=names[1]) as other,
    ):
        one.queue("mail").put("x", id="a")
        assert other.job("a") is None
        assert other.queues() == {}
        assert list(other.events()) == []


SHARER = """
import sys, headrace
hr = headrace.connect()
queue = hr.queue("mail")
for line in sys.stdin:
    if line == "put\\n":
        print(queue.put("from another process"), flush=True)
    else:
        print(queue.pop("w", wait=20)[0].complete(), flush=True)
"""


def test_processes_share_the_embedded_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        other = start_python(SHARER)
        with headrace.connect() as hr:
            assert other.stdin
            assert other.stdout
            print("put", file=other.stdin, flush=True)
            job_id = other.stdout.readline().strip()
            [lease] = hr.queue("mail").pop("w")
            assert (lease.id, lease.data) == (job_id, "from another process")
            print("pop", file=other.stdin, flush=True)
            hr.queue("mail").put("from here")
            assert other.stdout.readline() == "complete\n"
        other.communicate()
        assert (tmp_path / ".headrace").is_dir()
    finally:
        embedded.stop(tmp_path / ".headrace")


# connect_async: with `async with` and with `await`


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[AsyncClient]:
    """The clients that were closed, in order."""
    found: list[AsyncClient] = []
    close = AsyncClient.close

    async def record(client: AsyncClient) -> None:
        found.append(client)
        await close(client)

    monkeypatch.setattr(AsyncClient, "close", record)
    return found


async def test_async_with_connects_and_closes_the_client(
    valkey_url: str, closed: list[AsyncClient]
) -> None:
    async with headrace.connect_async(valkey_url, namespace=fresh()) as client:
        assert_type(client, AsyncClient)
        assert await client.queue("mail").put("x", id="a") == "a"
        assert closed == []

    assert closed == [client]


async def test_await_returns_a_client_that_stays_open(valkey_url: str) -> None:
    client = await headrace.connect_async(valkey_url, namespace=fresh())

    assert_type(client, AsyncClient)
    assert await client.queue("mail").put("x", id="a") == "a"
    await client.close()


async def test_an_awaited_client_closes_at_the_end_of_its_block(
    valkey_url: str, closed: list[AsyncClient]
) -> None:
    async with await headrace.connect_async(valkey_url, namespace=fresh()) as client:
        assert await client.queue("mail").put("x", id="a") == "a"

    assert closed == [client]


async def test_connect_async_can_run_as_a_task(valkey_url: str) -> None:
    client = await asyncio.create_task(headrace.connect_async(valkey_url, namespace=fresh()))

    await client.close()


async def test_both_forms_of_connect_async_raise_errors_of_the_server(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/no.sock"
    with pytest.raises(ServerUnavailable):
        await headrace.connect_async(url, retry_for=0)
    with pytest.raises(ServerUnavailable):
        async with headrace.connect_async(url, retry_for=0):
            pass


def test_connect_async_checks_its_arguments_before_it_is_awaited() -> None:
    with pytest.raises(InvalidArgument, match="timeout"):
        headrace.connect_async(timeout=0)


@pytest.mark.parametrize("form", ["await", "async with"])
async def test_cancelling_connect_async_closes_its_connection(form: str) -> None:
    greeted, closed = asyncio.Event(), asyncio.Event()

    async def never_reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            greeted.set()
        writer.close()
        closed.set()

    async def connecting(url: str) -> None:
        if form == "await":
            await headrace.connect_async(url, timeout=60)
        else:
            async with headrace.connect_async(url, timeout=60):
                pass

    server = await asyncio.start_server(never_reply, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        attempt = asyncio.create_task(connecting(f"redis://127.0.0.1:{port}"))
        # Cancel the client while it waits for a reply. While a client sends, Python 3.11 can
        # swallow a cancellation.
        await asyncio.wait_for(greeted.wait(), 10)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await asyncio.wait_for(closed.wait(), 10)


def test_connect_accepts_every_option_of_a_client() -> None:
    _, _, *keywords = inspect.signature(ConnectOptions).parameters
    assert keywords == list(ConnectArguments.__annotations__)
