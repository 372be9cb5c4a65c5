"""The nodes of a Cluster: move slots, add nodes and kill nodes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, cast

import redis
from redis.cluster import ClusterNode

from headrace.transport.topology import slot_of
from tests.support import servers
from tests.support.servers import until


def slot(hr: Any, shard: int) -> int:
    """Return the slot of a shard."""
    return slot_of(f"{hr.core.namespace}:{shard}")


class Nodes:
    """The nodes of a Cluster, each with a connection of its own."""

    def __init__(self, url: str) -> None:
        with redis.RedisCluster.from_url(url) as cluster:
            found = cast(list[ClusterNode], cluster.get_primaries())
            self.by_port: dict[int, redis.Redis] = {
                node.port: redis.Redis(node.host, node.port) for node in found
            }

    def of(self, slot: int) -> int:
        """Return the port of the node that claims a slot; other nodes may not know yet."""
        return next(port for port in self.by_port if self.told_by(port, slot) == port)

    def told_by(self, port: int, slot: int) -> int:
        """Return the port of the owner of a slot, according to any node."""
        for first, last, (_, owner, *_), *_ in self._ask(port, "CLUSTER SLOTS"):
            if first <= slot <= last:
                return int(owner)
        raise AssertionError(f"no node owns slot {slot}")

    def mislead(self, port: int, slot: int, owner: int) -> None:
        """Make one node believe that another node owns a slot."""
        owner_id = self._ask(owner, "CLUSTER MYID").decode()
        self._ask(port, f"CLUSTER SETSLOT {slot} NODE {owner_id}")

    def move(self, slot: int, target: int | None = None) -> None:
        """Move a slot with all its keys to another node, as an operator would.

        A node that has not learned of the last move may undo the next one, and drop the keys.
        """
        until(self._agree, "all nodes know the owner of each slot")
        source = self.of(slot)
        target = target or next(port for port in self.by_port if port != source)
        ids = {port: self._ask(port, "CLUSTER MYID").decode() for port in self.by_port}
        self._ask(target, f"CLUSTER SETSLOT {slot} IMPORTING {ids[source]}")
        self._ask(source, f"CLUSTER SETSLOT {slot} MIGRATING {ids[target]}")
        while keys := self._ask(source, f"CLUSTER GETKEYSINSLOT {slot} 100"):
            words = ("MIGRATE", "127.0.0.1", target, "", 0, 5000, "KEYS", *keys)
            assert self._send(source, *words) == b"OK"
        for port in (target, source, *self.by_port):
            self._ask(port, f"CLUSTER SETSLOT {slot} NODE {ids[target]}")

    def stick(self, slot: int) -> Callable[[], None]:
        """Begin to move a slot and move no key, so that no call succeeds; return how to go back."""
        until(self._agree, "all nodes know the last move")
        source = self.of(slot)
        target = next(port for port in self.by_port if port != source)
        for port, state, other in ((target, "IMPORTING", source), (source, "MIGRATING", target)):
            other_id = self._ask(other, "CLUSTER MYID").decode()
            self._ask(port, f"CLUSTER SETSLOT {slot} {state} {other_id}")

        def unstick() -> None:
            for port in (source, target):
                self._ask(port, f"CLUSTER SETSLOT {slot} STABLE")

        return unstick

    def stop(self, port: int) -> Callable[[], None]:
        """Stop a node without ending it; return a function that continues it."""
        pid = self._pid(port)
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT)

    def _agree(self) -> bool:
        """Return whether all nodes agree on the epoch and the slots of every node."""
        return len({self._view(port) for port in self.by_port}) == 1

    def _view(self, port: int) -> frozenset[tuple[str, ...]]:
        rows = [line.split() for line in self._ask(port, "CLUSTER NODES").decode().splitlines()]
        return frozenset((row[0], row[6], *row[8:]) for row in rows)

    def add(self, running: ExitStack) -> int:
        """Start a node that joins the Cluster without slots; return its port."""
        primaries = len(self.by_port)
        new = servers.listen(running, None, *servers.CLUSTER_NODE)
        self._ask(next(iter(self.by_port)), f"CLUSTER MEET {servers.HOST} {new}")
        self.by_port[new] = redis.Redis(servers.HOST, new)
        until(lambda: servers.is_whole(new, primaries), "the new node knows the Cluster")
        until(self._agree, "all nodes know the new node")
        return new

    def add_replica(self, running: ExitStack, primary: int) -> int:
        """Start a node that joins the Cluster as a replica of a primary; return its port."""
        new = self.add(running)
        primary_id = self._ask(primary, "CLUSTER MYID").decode()
        self._ask(new, f"CLUSTER REPLICATE {primary_id}")
        until(lambda: servers.is_online(new), "the replica has its data")
        return new

    def replace(self, primary: int, replica: int) -> None:
        """Kill a primary and let its replica take over."""
        self.lose(primary)
        self._ask(replica, "CLUSTER FAILOVER TAKEOVER")

    def lose(self, primary: int) -> str:
        """Kill a primary; return its id."""
        gone: str = self._ask(primary, "CLUSTER MYID").decode()
        self.kill(primary)
        del self.by_port[primary]
        return gone

    def take_over(self, replica: int, gone: str) -> None:
        """Make a replica the primary of its slots; let all nodes forget its old primary."""
        self._ask(replica, "CLUSTER FAILOVER TAKEOVER")
        until(self._agree, "all nodes know the new primary")
        for port in self.by_port:
            self._ask(port, f"CLUSTER FORGET {gone}")

    def kill(self, port: int) -> None:
        os.kill(self._pid(port), signal.SIGKILL)

    def _pid(self, port: int) -> int:
        return int(self.by_port[port].info("server")["process_id"])

    def _ask(self, port: int, command: str) -> Any:
        return self._send(port, *command.split())

    def _send(self, port: int, *words: Any) -> Any:
        # A pool counts each connection that it has ever made.
        connection: Any = redis.Connection(servers.HOST, port)
        connection.connect()
        try:
            connection.send_command(*words)
            return connection.read_response()
        finally:
            connection.disconnect()

    def close(self) -> None:
        for server in self.by_port.values():
            server.close()
