"""A closed client has no connections and opens new ones when it is used again."""

from __future__ import annotations

import threading

import redis

from headrace import Client, Queue
from headrace.operations.requests import ask
from headrace.transport.drive import drive
from tests.support.servers import until


def test_closed_client_can_be_used_again(hr: Client, queue: Queue) -> None:
    job_id = queue.put("x")

    hr.close()
    hr.close()

    assert [job.id for job in queue.peek()] == [job_id]


def test_closed_client_leaves_no_connection(hr: Client, queue: Queue, url: str) -> None:
    with redis.Redis.from_url(url) as server:

        def connections() -> int:
            return int(server.info("clients")["connected_clients"])

        hr.close()
        before = connections()
        queue.put("x")
        queue.pop("w")
        queue.pop("w", wait=0.01)
        assert connections() == before + 2

        hr.close()

        until(lambda: connections() == before, "the connections are closed")


def test_empty_send_returns_at_once(hr: Client) -> None:
    assert drive(hr.core.transport, ask(hr.core, [])) == []


def test_following_events_ends_when_the_client_closes(hr: Client, queue: Queue) -> None:
    heard: list[str] = []
    hr.close()
    reading = threading.Thread(
        target=lambda: heard.extend(event.kind for event in hr.events(follow=True)), daemon=True
    )
    reading.start()
    queue.put("x")
    until(lambda: heard != [], "the event is received")
    assert reading.is_alive()

    hr.close()

    reading.join(10)
    assert not reading.is_alive()
