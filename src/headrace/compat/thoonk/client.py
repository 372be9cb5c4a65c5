"""The sync and async Thoonk clients, which create, open and delete feeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from headrace.client.client import Client
from headrace.compat.common import AsyncCompatClient, CompatClient
from headrace.compat.thoonk import registry
from headrace.compat.thoonk.errors import NotListening
from headrace.compat.thoonk.feeds import AsyncLeaf, AsyncSortedFeed, Leaf, SortedFeed
from headrace.compat.thoonk.handlers import ThoonkListener
from headrace.compat.thoonk.job_feeds import (
    AsyncThoonkJob,
    AsyncThoonkQueue,
    ThoonkJob,
    ThoonkQueue,
)
from headrace.compat.thoonk.registry import ThoonkFeed
from headrace.feeds import operations
from headrace.operations.core import Core
from headrace.operations.method import method
from headrace.transport.drive import Operation

GivenConfig = Mapping[str, Any] | str


class ThoonkBase:
    """The methods that Thoonk and AsyncThoonk share."""

    core: Core
    feed_classes: ClassVar[dict[str, type[ThoonkFeed]]]

    delete_feed = method(registry.delete_feed)
    feed_exists = method(operations.feed_exists)
    get_config = method(registry.get_config)
    get_feeds = method(registry.get_feeds)
    set_config = method(registry.set_config)

    @property
    def instance(self) -> str:
        """The id of this client in notices about created, configured and deleted feeds."""
        return self.core.instance

    @method
    def create_feed(self, feed: str, config: GivenConfig | None = None) -> Operation[Any]:
        """Create a feed with this config. Raises FeedExists if the feed already exists."""
        kind = yield from registry.create(self, feed, config)
        return self.feed_classes[kind](self.core, feed)

    @method
    def __getitem__(self, feed: str) -> Operation[Any]:
        """Return an existing feed as an object of the type that the feed's config names.

        Raises FeedDoesNotExist if the feed is missing.
        """
        kind = yield from registry.open_by_name(self, feed)
        return self.feed_classes[kind](self.core, feed)

    @method
    def leaf(self, feed: str, config: GivenConfig | None = None) -> Operation[Any]:
        """Open a leaf, or create it if it does not exist.

        Raises NotAllowed if the feed has another type.
        """
        return (yield from self._open(feed, config, registry.LEAF))

    feed = leaf

    @method
    def sorted_feed(self, feed: str, config: GivenConfig | None = None) -> Operation[Any]:
        """Open a sorted feed, or create it if it does not exist.

        Raises NotAllowed if the feed has another type.
        """
        return (yield from self._open(feed, config, registry.SORTED))

    @method
    def queue(self, feed: str, config: GivenConfig | None = None) -> Operation[Any]:
        """Open a queue, or create it if it does not exist.

        Raises NotAllowed if the feed has another type.
        """
        return (yield from self._open(feed, config, "queue"))

    @method
    def job(self, feed: str, config: GivenConfig | None = None) -> Operation[Any]:
        """Open a feed of jobs, or create it if it does not exist.

        Raises NotAllowed if the feed has another type.
        """
        return (yield from self._open(feed, config, "job"))

    def _open(self, feed: str, config: GivenConfig | None, kind: str) -> Operation[Any]:
        yield from registry.open_as(self, feed, config, kind)
        return self.feed_classes[kind](self.core, feed)


class Thoonk(ThoonkBase, CompatClient):
    """Feeds, queues and jobs with the API of thoonk. Threads may share a Thoonk.

    With listen=True, a background thread calls the handlers when feeds change.
    """

    feed_classes: ClassVar = {
        each.type: each for each in (Leaf, SortedFeed, ThoonkQueue, ThoonkJob)
    }

    def __init__(
        self, client: Client | str, namespace: str = "default", *, listen: bool = False
    ) -> None:
        super().__init__(client, namespace)
        self._listener: ThoonkListener | None = None
        if listen:
            self._listener = ThoonkListener(self.client.feeds.listen(), self.core)

    def register_handler(self, name: str, handler: Callable[..., Any], *, own: bool = True) -> None:
        """Call a function for every notice with this name.

        The names, with the arguments of the function, are create(feed), delete(feed), config(feed),
        publish(feed, item, id), edit(feed, item, id), retract(feed, id), position(feed, id, place)
        and missed(feed, count).

        With own=False, the function is not called when this client itself creates, configures or
        deletes a feed. Raises NotListening if the Thoonk was opened without listen=True.
        """
        if self._listener is None:
            raise NotListening
        self._listener.add(name, handler, own=own)

    def close(self) -> None:
        """Stop calling handlers, and close the client if this object opened it."""
        if self._listener is not None:
            self._listener.close()
        super().close()


class AsyncThoonk(ThoonkBase, AsyncCompatClient):
    """The asyncio form of Thoonk.

    AsyncThoonk has no handlers: iterate over `await client.feeds.listen()` instead.
    """

    feed_classes: ClassVar = {
        each.type: each for each in (AsyncLeaf, AsyncSortedFeed, AsyncThoonkQueue, AsyncThoonkJob)
    }
