"""A server that is read, page by page, and not changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import redis

from headrace.errors import ImportRefused, InvalidArgument, ServerUnavailable

T = TypeVar("T")

PAGE = 500
TIMEOUT = 30.0
_GLOB = re.compile(rb"([\\*?\[\]^])")


def in_pages(every: Iterable[T], size: int = PAGE) -> Iterator[list[T]]:
    """Some at a time."""
    page: list[T] = []
    for one in every:
        page.append(one)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page


@contextmanager
def reading(key: bytes | None = None) -> Iterator[None]:
    """What goes wrong at the source, said as errors of Headrace."""
    try:
        yield
    except redis.ResponseError as error:
        asked = "" if key is None else f", asked for {key.decode(errors='backslashreplace')!r}"
        raise ImportRefused(f"the source answers{asked}: {error}") from error
    except redis.RedisError as error:
        raise ServerUnavailable(
            f"the source did not answer ({type(error).__name__}: {error}); is its URL right? What "
            "was brought stays: run the same command again",
            maybe_done=False,
        ) from error


class Source:
    """The keys of a server. Nothing here writes, but for what `watched` is used for."""

    def __init__(self, url: str) -> None:
        try:
            self._redis = redis.Redis.from_url(url, socket_timeout=TIMEOUT, protocol=2)
        except (ValueError, redis.RedisError) as error:
            raise InvalidArgument(
                "the URL of the source cannot be read; it is redis://user:password@host:port/db"
            ) from error
        options = self._redis.connection_pool.connection_kwargs
        where = options.get("path") or f"{options.get('host')}:{options.get('port')}"
        self.name = f"{where}/{options.get('db') or 0}"

    def close(self) -> None:
        self._redis.close()

    def keys(self, begins: bytes = b"", ends: bytes = b"") -> list[bytes]:
        """The keys that begin and end so, in their order."""
        pattern = _GLOB.sub(rb"\\\1", begins) + b"*" + _GLOB.sub(rb"\\\1", ends)
        with reading():
            return sorted(set(self._redis.scan_iter(match=pattern, count=PAGE)))

    def kinds(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """The types of keys; none is not there."""
        found: dict[bytes, str] = {}
        for page in in_pages(keys):
            kinds = self._many([("TYPE", key) for key in page])
            found |= {key: kind.decode() for key, kind in zip(page, kinds, strict=True)}
        return found

    def oldest_first(self, key: bytes) -> Iterator[bytes]:
        """The elements of a list into which is pushed at the left."""
        length = self._ask("LLEN", key)
        for first in range(1, length + 1, PAGE):
            yield from reversed(self._ask("LRANGE", key, -(first + PAGE - 1), -first))

    def newest_first(self, key: bytes) -> Iterator[bytes]:
        """The elements of a list from its left end on."""
        first = 0
        while page := self._ask("LRANGE", key, first, first + PAGE - 1):
            yield from page
            first += PAGE

    def lists(self, keys: Sequence[bytes]) -> list[list[bytes]]:
        """Several short lists; one that is not there is empty."""
        return self._many([("LRANGE", key, 0, -1) for key in keys])

    def members(self, key: bytes) -> list[bytes]:
        """The members of a set, in order of their bytes."""
        with reading(key):
            return sorted(set(self._redis.sscan_iter(key, count=PAGE)))

    def scored(self, key: bytes) -> Iterator[tuple[bytes, float]]:
        """The members of a sorted set with their scores, lowest first."""
        first = 0
        while page := self._ask("ZRANGE", key, first, first + PAGE - 1, "WITHSCORES"):
            yield from zip(page[::2], map(float, page[1::2]), strict=True)
            first += PAGE

    def fields(self, key: bytes) -> dict[bytes, bytes]:
        """A small hash."""
        return dict(self._ask("HGETALL", key))

    def hashes(self, keys: Sequence[bytes]) -> list[dict[bytes, bytes]]:
        """Several hashes; one that is not there is empty."""
        return self._many([("HGETALL", key) for key in keys])

    def have(self, keys: Sequence[bytes], field: bytes) -> list[bool]:
        """Which of several hashes have a field."""
        kinds = self.kinds(keys)
        found = [key for key in keys if kinds[key] == "hash"]
        return [bool(has) for has in self._many([("HEXISTS", key, field) for key in found])]

    def values(self, key: bytes, fields: Sequence[bytes]) -> list[bytes | None]:
        """Fields of a hash."""
        return list(self._ask("HMGET", key, *fields)) if fields else []

    def names(self, key: bytes) -> Iterator[bytes]:
        """The names of the fields of a hash."""
        with reading(key):
            for name, _ in self._redis.hscan_iter(key, count=PAGE):
                yield name

    def strings(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Strings; None where there is none."""
        return list(self._ask("MGET", *keys)) if keys else []

    @contextmanager
    def watched(self, keys: Iterable[bytes]) -> Iterator[Callable[[], None]]:
        """Yields what deletes these keys, all of them and only if none has changed meanwhile."""
        every = list(keys)
        with reading(), self._redis.pipeline() as pipe:
            for page in in_pages(every):
                pipe.watch(*page)

            def delete() -> None:
                pipe.multi()
                for page in in_pages(every):
                    pipe.unlink(*page)
                try:
                    pipe.execute()
                except redis.WatchError:
                    raise ImportRefused(
                        "the source has changed since it was verified, so nothing was deleted "
                        "there; stop whoever uses it and run the same command again"
                    ) from None

            yield delete

    def _ask(self, command: str, key: bytes, *more: Any) -> Any:
        with reading(key):
            return self._redis.execute_command(command, key, *more)

    def _many(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if not commands:
            return []
        with reading(), self._redis.pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*command)
            return list(pipe.execute())
