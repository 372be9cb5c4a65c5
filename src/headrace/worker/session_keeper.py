"""Keep the sessions of workers alive, on each shard independently."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.client.client import Client
from headrace.errors import HeadraceError
from headrace.operations.sessions import KeptSession, keep
from headrace.transport.connection import CONNECTION_ERRORS
from headrace.transport.drive import drive
from headrace.transport.transport import Unreachable


class SessionKeeper:
    """Renews sessions in one namespace. An unreachable shard does not delay the other shards."""

    def __init__(self, client: Client) -> None:
        self._core = client.core
        self._failing: set[int] = set()

    def keep(self, kept: Sequence[KeptSession]) -> tuple[list[KeptSession], HeadraceError | None]:
        """Renew sessions and start those that have not started or have ended.

        Return the sessions that had ended on a shard, and the error of a shard that failed.
        """
        transport = self._core.transport
        ended: list[KeptSession] = []
        failure: HeadraceError | None = None
        silent_nodes = set()
        # Shards that failed last time come last, because a silent node takes a whole timeout.
        for shard in sorted(range(self._core.shards), key=self._failing.__contains__):
            node = transport.node_of(shard)
            if node in silent_nodes:
                self._failing.add(shard)
                continue
            try:
                ended += drive(transport, keep(self._core, shard, kept))
                self._failing.discard(shard)
            except HeadraceError as error:
                failure = error
                self._failing.add(shard)
                if isinstance(error.__cause__, (Unreachable, *CONNECTION_ERRORS)):
                    silent_nodes.add(node)
        if silent_nodes:
            transport.refresh()
        return ended, failure
