"""Read-only access, page by page, to the server with the data of another system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

import redis

from headrace.client.server_url import SENTINEL, check_url
from headrace.close_on_exit import ClosesOnExit
from headrace.errors import ImportRefused, InvalidArgument, ServerUnavailable

T = TypeVar("T")

PAGE = 500
TIMEOUT = 30.0
_GLOB = re.compile(rb"([\\*?\[\]^])")


def in_pages(values: Iterable[T], size: int = PAGE) -> Iterator[list[T]]:
    """Yield the values in lists of at most `size` values."""
    left = iter(values)
    while page := list(islice(left, size)):
        yield page


@contextmanager
def _headrace_errors() -> Iterator[None]:
    try:
        yield
    except redis.ResponseError as error:
        raise ImportRefused(f"the source answered with an error: {error}") from error
    except redis.RedisError as error:
        raise ServerUnavailable(
            f"the source did not answer ({type(error).__name__}: {error}); check the URL of the "
            "source, then run the same command again: the import continues where it stopped",
            maybe_done=False,
        ) from error


class SourceServer(ClosesOnExit):
    """Read access to the keys of a server."""

    def __init__(self, url: str) -> None:
        check_url(url)
        if SENTINEL in url.partition("://")[0]:
            raise InvalidArgument("the URL of the source must name a server, not a Sentinel")
        self._redis = redis.Redis.from_url(url, socket_timeout=TIMEOUT, protocol=2)
        options = self._redis.connection_pool.connection_kwargs
        where = options.get("path") or f"{options.get('host')}:{options.get('port')}"
        self.name = f"{where}/{options.get('db') or 0}"

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()

    def keys(self, prefix: bytes = b"", suffix: bytes = b"") -> list[bytes]:
        """Return the keys with this prefix and this suffix, in sorted order."""
        pattern = _GLOB.sub(rb"\\\1", prefix) + b"*" + _GLOB.sub(rb"\\\1", suffix)
        with _headrace_errors():
            return sorted(set(self._redis.scan_iter(match=pattern, count=PAGE)))

    def kinds(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the types of keys; the type of a missing key is "none"."""
        found: dict[bytes, str] = {}
        for page in in_pages(keys):
            kinds = self._pipeline([("TYPE", key) for key in page])
            found |= {key: kind.decode() for key, kind in zip(page, kinds, strict=True)}
        return found

    def kind(self, key: bytes) -> str:
        """Return the type of a key, or "none" if the key is missing."""
        return self.kinds([key])[key]

    def oldest_first(self, key: bytes) -> Iterator[bytes]:
        """Yield the elements of a list from right to left; LPUSH adds new elements at the left."""
        length = self._ask("LLEN", key)
        for first in range(1, length + 1, PAGE):
            yield from reversed(self._ask("LRANGE", key, -(first + PAGE - 1), -first))

    def newest_first(self, key: bytes) -> Iterator[bytes]:
        """Return the elements of a list from left to right, read page by page."""
        return chain.from_iterable(self._pages("LRANGE", key))

    def lists(self, keys: Sequence[bytes]) -> list[list[bytes]]:
        """Return several short lists; a missing list is empty."""
        return self._pipeline([("LRANGE", key, 0, -1) for key in keys])

    def members(self, key: bytes) -> list[bytes]:
        """Return the members of a set, sorted by their bytes."""
        return sorted(self._ask("SMEMBERS", key))

    def scored(self, key: bytes) -> Iterator[tuple[bytes, float]]:
        """Yield the members of a sorted set with their scores, the lowest score first."""
        for page in self._pages("ZRANGE", key, "WITHSCORES"):
            yield from zip(page[::2], map(float, page[1::2]), strict=True)

    def fields(self, key: bytes) -> dict[bytes, bytes]:
        """Return the fields of a small hash."""
        return dict(self._ask("HGETALL", key))

    def text_fields(self, key: bytes) -> dict[str, str]:
        """Return the fields of a small hash as text."""
        return {
            name.decode(errors="replace"): value.decode(errors="replace")
            for name, value in self.fields(key).items()
        }

    def hashes(self, keys: Sequence[bytes]) -> list[dict[bytes, bytes]]:
        """Return several hashes; a missing hash is empty."""
        return self._pipeline([("HGETALL", key) for key in keys])

    def any_has(self, keys: Iterable[bytes], field: bytes) -> bool:
        """Return whether at least one of these hashes has the field."""
        return any(
            any(self._pipeline([("HEXISTS", key, field) for key in page]))
            for page in in_pages(keys)
        )

    def values(self, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of these fields of a hash; None for a missing field."""
        return list(self._ask("HMGET", key, *fields)) if fields else []

    def names(self, key: bytes) -> list[bytes]:
        """Return the field names of a hash."""
        return list(self._ask("HKEYS", key))

    def strings(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of string keys; None for a missing key."""
        return list(self._ask("MGET", *keys)) if keys else []

    def _pages(self, command: str, key: bytes, *more: Any) -> Iterator[list[bytes]]:
        first = 0
        while page := self._ask(command, key, first, first + PAGE - 1, *more):
            yield page
            first += PAGE

    def _ask(self, *command: Any) -> Any:
        [reply] = self._pipeline([command])
        return reply

    def _pipeline(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the replies. redis-py adds the command to the message of an error."""
        with _headrace_errors(), self._redis.pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*command)
            return list(pipe.execute())
