"""Headrace: a reliable, atomic, distributed work queue on Redis or Valkey."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from headrace import errors as errors
from headrace.errors import *  # noqa: F403 - every exception is public

if TYPE_CHECKING:
    from headrace.client.client import Client as Client
    from headrace.client.connect import ConnectArguments, PendingAsyncClient
    from headrace.public_names import *  # noqa: F403 - the table of public names

__version__ = "0.1.0"

_ERRORS = [
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.HeadraceError)
]


def connect(
    url: str | None = None, *, namespace: str = "default", **options: Unpack[ConnectArguments]
) -> Client:
    """Connect to a namespace on a server and return a sync client.

    Without a URL, the client uses the embedded server, which keeps its data in ./.headrace. The
    first client of a namespace creates the namespace and sets its number of `shards` (default 1).
    `codec` encodes data and results: "json" (the default), "msgpack", "raw" or a Codec. `limits`
    replaces the default Limits.

    The client waits up to `timeout` seconds for each reply (default 5). If a reply is lost, the
    client safely repeats the call for up to `retry_for` seconds (default 15). With
    `durability="aof"`, puts and outcomes wait until the server has written the call to its
    append-only file; a number means that many replicas. If the server does not confirm this within
    half of `timeout`, the call raises NotDurable.

    Raises InvalidArgument if an argument is invalid, ServerUnavailable if the server cannot be
    reached, and NamespaceMismatch if the namespace has another layout or number of shards.

        with headrace.connect("redis://localhost") as client:
            client.queue("mail").put({"to": "ada"})
    """
    from headrace.client import connect as connecting

    return connecting.connect(connecting.ConnectOptions(url, namespace, **options))


def connect_async(
    url: str | None = None, *, namespace: str = "default", **options: Unpack[ConnectArguments]
) -> PendingAsyncClient:
    """Connect to a namespace on a server with an asyncio client.

    The arguments and errors are those of `connect`. Use the result with `async with`, which closes
    the client at the end of the block, or with `await`, which returns the client.

        async with headrace.connect_async("redis://localhost") as client:
            await client.queue("mail").put({"to": "ada"})
    """
    from headrace.client import connect as connecting

    return connecting.PendingAsyncClient(connecting.ConnectOptions(url, namespace, **options))


def _public_names() -> dict[str, Any]:
    # Import these names on first use, because importing redis-py alone takes longer than the start
    # of most programs.
    names = vars(import_module("headrace.public_names"))
    return {name: value for name, value in names.items() if name[0].isupper()}


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted([*_public_names(), *_ERRORS, "connect", "connect_async"])
    if not name[0].isupper() or name not in _public_names():
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    return _public_names()[name]
