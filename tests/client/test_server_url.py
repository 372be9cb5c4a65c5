"""The URL of a server: malformed URLs, and passwords that must not appear anywhere."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace

import pytest

import headrace
from headrace.cli.connecting import ServerOptions
from headrace.client.connect import ConnectOptions
from headrace.compat.importing.source_server import SourceServer
from headrace.errors import InvalidArgument
from headrace.spark.options import ServerAddress
from headrace.worker.sidecar import SidecarOrder
from headrace.worker.supervised_process import Hello

SECRET = "s3cr3t"  # noqa: S105 - the tests look for this password

MALFORMED = (
    # Special characters in the password.
    f"redis://ada:{SECRET}/x@host:6379/0",
    f"redis://ada:12/{SECRET}@host:6379/0",
    f"redis://ada:{SECRET}#x@host:1",
    f"redis://ada:12#{SECRET}@host:1",
    f"redis://ada:{SECRET}?x@host:1",
    f"redis://ada:12?{SECRET}@host:1",
    f"redis://ada:12?{SECRET}=x@host:1",
    f"redis://ada:p[{SECRET}]@host:1",
    f"redis://ada:{SECRET}[@host:1",
    f"redis://ada:\u2100{SECRET}@host:1",
    # A missing host or a wrong port.
    f"redis://host:{SECRET}",
    f"redis://ada:12{SECRET}",
    f"redis://ada:{SECRET}@host:port/0",
    f"redis://ada:{SECRET}@[::1",
    f"redis://ada:{SECRET}@host:99999",
    # A missing or wrong scheme.
    f"redis:/ada:{SECRET}@host",
    f"ada:{SECRET}@host:6379",
    f"{SECRET}@host",
    f"{SECRET}:",
    SECRET,
    f"ftp://ada:{SECRET}@host",
    # Wrong options.
    *(
        f"redis://ada:{SECRET}@host:1?{option}={SECRET}"
        for option in (
            *("db", "socket_timeout", "protocol", "max_connections", "health_check_interval"),
            *("nonsense", SECRET),
        )
    ),
    f"rediss://ada:{SECRET}@host:1?ssl_cert_reqs={SECRET}",
    f"rediss://host:1?password={SECRET}&ssl_cert_reqs=none&protocol={SECRET}",
    f"redis://host:1?password={SECRET}&db=x",
    f"redis://host:1?password={SECRET}&{SECRET}",
    f"unix://ada:{SECRET}@/run/valkey.sock?db={SECRET}",
    # Sentinels.
    f"redis+sentinel://ada:{SECRET}@one,two/main",
    f"redis+sentinel://ada:{SECRET}@one:1",
    f"redis+sentinel://ada:{SECRET}/x@one:1/main",
    f"redis+sentinel://ada:12/{SECRET}@one:1/main",
    f"redis+sentinel://one:1,two:2/ada:{SECRET}@main",
    f"redis+sentinel://ada:{SECRET}@one:1/main?db={SECRET}",
)


def errors(error: BaseException | None) -> list[BaseException]:
    """Return an error, its causes and its contexts, even if a traceback does not show them."""
    if error is None:
        return []
    return [error, *errors(error.__cause__), *errors(error.__context__)]


def open_async(url: str) -> object:
    return headrace.connect_async(url)


USES: dict[str, Callable[[str], object]] = {
    "connect": headrace.connect,
    "connect_async": open_async,
    "App": lambda url: headrace.App("shop", url=url),
    "Spark": lambda url: ServerAddress.read({"url": url}),
    "import": SourceServer,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("url", MALFORMED)
def test_error_of_a_malformed_url_does_not_show_the_password(use: str, url: str) -> None:
    with pytest.raises(InvalidArgument, match=r"(?i)url") as caught:
        USES[use](url)

    for error in errors(caught.value):
        shown = "".join(traceback.format_exception(error)) + repr(error)
        assert SECRET not in shown
        assert "12" not in str(error)


def test_error_of_a_malformed_url_in_the_environment_does_not_show_the_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for url in MALFORMED:
        monkeypatch.setenv("HEADRACE_URL", url)
        with pytest.raises(InvalidArgument) as caught:
            headrace.App("shop")
        assert all(SECRET not in repr(error) for error in errors(caught.value))


def test_error_of_a_url_without_a_login_names_scheme_and_options() -> None:
    with pytest.raises(InvalidArgument, match="not with 'ftp'"):
        headrace.connect("ftp://host")
    with pytest.raises(InvalidArgument, match="check the options db, nonsense"):
        headrace.connect("redis://host?db=1&nonsense=2")


def test_sentinel_is_no_source_of_an_import() -> None:
    with pytest.raises(InvalidArgument, match="not a Sentinel"):
        SourceServer("redis+sentinel://one:1/main")


def test_texts_of_objects_do_not_show_the_password() -> None:
    url = f"redis://ada:{SECRET}@host"
    every = [
        ConnectOptions(url, "shop"),
        ServerOptions(url, "shop"),
        ServerAddress(url=url),
        replace(ServerAddress(url=url), namespace="shop"),
        Hello(url, "shop", ["mail"]),
        SidecarOrder(url, "shop", "ann", 1, 3.0),
        headrace.App("shop", url=url),
    ]

    for each in every:
        assert SECRET not in repr(each)
        assert SECRET not in str(each)
        assert "shop" in repr(each) or "default" in repr(each)
