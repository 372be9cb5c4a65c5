"""From a publish in one process to its being heard in another, beside a bare PUBLISH and SUBSCRIBE
of redis-py on the same server. Rounds of both are interleaved in one run; a message is sent when
the one before it was heard, so nothing queues up.
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


HEARD: dict[str, Callable[[str], Iterator[Any]]] = {"feed": items_of_feed, "bare": bare_messages}


def hear(kind: str, url: str, told: Connection) -> None:
    """In a process of its own: tells how long each message took, in seconds."""
    for item in HEARD[kind](url):
        told.send(0.0 if item is None else time.monotonic() - item["at"])


def compare(url: str, rounds: int) -> dict[str, list[list[float]]]:
    """Seconds from publish to hearing, by kind and round; the first round warms up."""
    feed = headrace.connect(url, namespace="bench").feeds.create("news")
    server = redis.Redis.from_url(url)

    def publish(body: Any) -> None:
        feed.publish(body)

    def publish_barely(body: Any) -> None:
        server.publish("news", json.dumps(body))

    publishers = {"feed": publish, "bare": publish_barely}
    context = multiprocessing.get_context("spawn")
    subscriptions, hearers = {}, []
    for kind in publishers:
        ours, theirs = context.Pipe()
        hearers.append(context.Process(target=hear, args=(kind, url, theirs)))
        hearers[-1].start()
        ours.recv()
        subscriptions[kind] = ours
    spent: dict[str, list[list[float]]] = {kind: [] for kind in publishers}
    for _ in range(rounds + 1):
        for kind, send in publishers.items():
            taken = []
            for _ in range(MESSAGES):
                send({"at": time.monotonic(), **BODY})
                taken.append(subscriptions[kind].recv())
            spent[kind].append(taken)
    for hearer in hearers:
        hearer.terminate()
        hearer.join()
    return {kind: found[1:] for kind, found in spent.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--url", help="a server that may be written to (default: a private Valkey)")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    chosen = parser.parse_args()
    if chosen.url:
        return report(chosen.url, chosen.rounds, chosen.json)
    with private_server() as url:
        return report(url, chosen.rounds, chosen.json)


def report(url: str, rounds: int, to_file: Path | None) -> int:
    console = Console()
    with console.status("publishing and hearing..."):
        spent = compare(url, rounds)
    table = Table("", "p50 us", "p99 us")
    figures: dict[str, Any] = {}
    for kind, found in spent.items():
        every = sorted(1e6 * seconds for one in found for seconds in one)
        figures[kind] = {"p50": statistics.median(every), "p99": every[len(every) * 99 // 100]}
        table.add_row(kind, *(f"{value:.0f}" for value in figures[kind].values()))
    console.print(table)
    medians = {kind: [statistics.median(one) for one in found] for kind, found in spent.items()}
    ratios = [ours / bare for ours, bare in zip(*medians.values(), strict=True)]
    figures["ratio"] = statistics.median(ratios)
    console.print(f"p50 of a feed is {figures['ratio']:.2f} times the bare one (at most {AT_MOST})")
    if to_file:
        to_file.write_text(json.dumps(figures, indent=2) + "\n")
    return int(figures["ratio"] > AT_MOST)


if __name__ == "__main__":
    sys.exit(main())
