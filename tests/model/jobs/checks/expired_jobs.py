"""A check that housekeeping deletes what reads already hide."""

from __future__ import annotations

from tests.model.harness import opened


def expired_jobs_are_deleted(url: str, swaps: dict[str, str]) -> None:
    """Raise unless a pop deletes a completed job whose retention has ended."""
    client, clock = opened(url, swaps)
    with client:
        queue = client.queue("mail")
        queue.configure(keep_age=60, result_ttl=30)
        queue.put("x", id="old")
        queue.pop("w")[0].complete("result")
        clock.tick(60)
        assert client.job("old") is None
        queue.pop("w")
        record = client.core.key(0, "job:old")
        assert client.core.transport.send([(0, ("EXISTS", record))]) == [0]
