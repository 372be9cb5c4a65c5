"""Check and split the URL of a server.

A URL may contain a password, and a part of a malformed URL may be a part of the password. An error
therefore quotes no part of a URL that could be secret.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from redis.connection import ConnectionPool, parse_url

from headrace.errors import InvalidArgument
from headrace.transport.topology import Address

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")
SENTINEL = "+sentinel"

_INVALID = (
    "invalid URL; write the URL as redis://user:password@host:port/database and percent-encode "
    "special characters in user and password"
)


def check_url(url: object) -> None:
    """Raise InvalidArgument unless the URL names a server and redis-py accepts its options."""
    if not isinstance(url, str):
        raise InvalidArgument(f"the URL must be a str, not {type(url).__name__}")
    # Raise outside an `except` block. Otherwise the new error would refer to an error of redis-py
    # or urllib, which may quote the password.
    if fault := _fault_of(url):
        raise InvalidArgument(fault)


def _fault_of(url: str) -> str:
    options = ""
    try:
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            return _wrong_scheme(url, parts.scheme)
        options = _names_of_options(url, parts)
        if parts.scheme.endswith(SENTINEL):
            split_sentinel_url(url, parse_url)
            url = _url_of_primary(parts)
        elif parts.scheme != "unix" and "@" in parts.path + parts.fragment:
            return _INVALID
        ConnectionPool(**dict(parse_url(url))).make_connection()
    except InvalidArgument as error:
        return str(error)
    except Exception:  # noqa: BLE001 - redis-py passes the options to functions that may raise any error
        return _INVALID + options
    return ""


def _wrong_scheme(url: str, scheme: str) -> str:
    given = f", not with {scheme!r}" if url.lower().startswith(f"{scheme}://") else ""
    return f"the URL must begin with {', '.join(f'{each}://' for each in SCHEMES)}{given}"


def _names_of_options(url: str, parts: SplitResult) -> str:
    """Return a hint that names the options. Raises ValueError for an option without a value."""
    named = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    if not named or "@" in url:
        return ""
    return f"; check the options {', '.join(name for name, _ in named)}"


def split_sentinel_url(
    url: str, parse: Callable[[str], Any]
) -> tuple[list[Address], str, dict[str, Any]]:
    """Return hosts, service and options of redis+sentinel://user:password@a:1,b:2/service."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    service = parts.path.strip("/")
    hosts = [host.rpartition(":") for host in netloc.split(",")]
    named = service and "@" not in service + parts.fragment
    if not named or not all(name and port.isdigit() for name, _, port in hosts):
        raise InvalidArgument(
            "a Sentinel URL must have the form redis+sentinel://host:port,host:port/service, with "
            "special characters percent-encoded"
        )
    options = dict(parse(_url_of_primary(parts)))
    if options.pop("connection_class", None) is not None:
        options["ssl"] = True
    del options["host"]
    return [(name, int(port)) for name, _, port in hosts], service, options


def _url_of_primary(parts: SplitResult) -> str:
    """Return a URL for the primary server, with the login and options of a Sentinel URL."""
    login, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme.removesuffix(SENTINEL)}://{login}{at}localhost/?{parts.query}"
