"""Measure the latency from a publish in one process to its delivery in another.

The baseline is a bare PUBLISH and SUBSCRIBE of redis-py on the same server. Rounds of both are
interleaved in one run. Each message is sent after the previous message was delivered, so messages
do not queue up.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import redis
from rich.console import Console
from rich.table import Table

import headrace
from headrace.local_server.scratch import private_server

BODY = {"title": "Bread", "body": "x" * 80}
MESSAGES = 1_000
AT_MOST = 2.0


def items_of_feed(url: str) -> Iterator[Any]:
    feed = headrace.connect(url, namespace="bench").feed("news")
    listening = feed.listen()
    yield None
    for event in listening:
        if event.kind == "published":
            yield event.item


def bare_messages(url: str) -> Iterator[Any]:
    subscription: Any = redis.Redis.from_url(url).pubsub()
    subscription.subscribe("news")
    for message in subscription.listen():
        if message["type"] == "subscribe":
            yield None
        else:
            yield json.loads(message["data"])


RECEIVERS: dict[str, Callable[[str], Iterator[Any]]] = {
    "feed": items_of_feed,
    "bare": bare_messages,
}


def receive(kind: str, url: str, results: Connection) -> None:
    """Report how long each message took, in seconds; this function runs in its own process."""
    for item in RECEIVERS[kind](url):
        results.send(0.0 if item is None else time.monotonic() - item["at"])


def compare(url: str, rounds: int) -> dict[str, list[list[float]]]:
    """Return the seconds from publish to delivery, by kind and round, without the warm-up."""
    feed = headrace.connect(url, namespace="bench").feeds.create("news")
    server = redis.Redis.from_url(url)

    def publish(body: Any) -> None:
        feed.publish(body)

    def publish_bare(body: Any) -> None:
        server.publish("news", json.dumps(body))

    publishers = {"feed": publish, "bare": publish_bare}
    context = multiprocessing.get_context("spawn")
    pipes, receivers = {}, []
    for kind in publishers:
        own_end, their_end = context.Pipe()
        receivers.append(context.Process(target=receive, args=(kind, url, their_end)))
        receivers[-1].start()
        own_end.recv()
        pipes[kind] = own_end
    spent: dict[str, list[list[float]]] = {kind: [] for kind in publishers}
    for _ in range(rounds + 1):
        for kind, send in publishers.items():
            taken = []
            for _ in range(MESSAGES):
                send({"at": time.monotonic(), **BODY})
                taken.append(pipes[kind].recv())
            spent[kind].append(taken)
    for receiver in receivers:
        receiver.terminate()
        receiver.join()
    return {kind: found[1:] for kind, found in spent.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--url", help="a server that may be written to (default: a private Valkey)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    chosen = parser.parse_args()
    if chosen.url:
        return report(chosen.url, chosen.rounds, chosen.json)
    with private_server() as url:
        return report(url, chosen.rounds, chosen.json)


def report(url: str, rounds: int, to_file: Path | None) -> int:
    console = Console()
    with console.status("publishing and receiving..."):
        spent = compare(url, rounds)
    table = Table("", "p50 us", "p99 us")
    figures: dict[str, Any] = {}
    for kind, found in spent.items():
        every = sorted(1e6 * seconds for one in found for seconds in one)
        figures[kind] = {"p50": statistics.median(every), "p99": every[len(every) * 99 // 100]}
        table.add_row(kind, *(f"{value:.0f}" for value in figures[kind].values()))
    console.print(table)
    medians = {kind: [statistics.median(one) for one in found] for kind, found in spent.items()}
    ratios = [feed / bare for feed, bare in zip(*medians.values(), strict=True)]
    figures["ratio"] = statistics.median(ratios)
    console.print(
        f"p50 of a feed is {figures['ratio']:.2f} times that of bare PUBLISH (at most {AT_MOST})"
    )
    if to_file:
        to_file.write_text(json.dumps(figures, indent=2) + "\n")
    return int(figures["ratio"] > AT_MOST)


if __name__ == "__main__":
    sys.exit(main())
